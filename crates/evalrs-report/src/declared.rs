//! The metrics that a suite declares, as the reports for people show them: a table of numbers with their intervals.

use super::intervals::{FEWEST, methods_of, value_or_dash, value_within};
use super::page::{Block, Column, Page, Table, Text, doubtful, faint, quoted, text};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, cut_middle};
use evalrs_metrics::metric::declared::{MetricValue, UngroupedResults};
use evalrs_statistics::interval::ConfidenceInterval;

/// The columns that the name of a metric may take.
const NAME: usize = 32;

/// The columns that the name of a group may take, where the terminal has them.
const GROUP_NAME: usize = 60;

/// The least length, in characters, of what all names of groups begin or end with that is left out.
const SHARED: usize = 12;

/// The groups of one metric that are shown.
const GROUPS: usize = 12;

/// The groups that are named of those in which a metric is not defined.
const NAMED: usize = 5;

/// The largest confusion matrix that is shown, in classes.
const CLASSES: usize = 8;

/// Adds a table of them, if any is declared.
pub(super) fn add(metrics: &OrderedMap<MetricValue>, page: &mut Page) {
    let columns = ["value [95 %]", "n", "errors"].map(Column::numbers);
    let names = [Column::names("metric"), Column::words("kind")];
    let mut table = Table::new(names.into_iter().chain(columns));
    for (name, metric) in &metrics.0 {
        let interval = metric.interval.filter(|_| metric.n >= FEWEST);
        table.row([
            quoted(name),
            metric.kind.as_str().into(),
            value_within(metric.value, interval).into(),
            metric.n.to_string().into(),
            match metric.errors {
                0 => Text::default(),
                errors => doubtful(&errors.to_string()),
            },
        ]);
        add_groups(metric, &mut table);
    }
    table.extend_notes(methods(metrics).map(|methods| faint(&methods)));
    for remark in metrics.0.iter().flat_map(|(name, metric)| remarks(name, metric)) {
        table.note(quoted(&remark));
    }
    page.add(Block::Table(table.without_empty_columns()));
}

fn add_groups(metric: &MetricValue, table: &mut Table) {
    let names: Vec<&str> = metric.groups.0.iter().map(|(name, _)| name.as_str()).collect();
    for (name, (_, group)) in told_apart(&names).iter().zip(&metric.groups.0).take(GROUPS) {
        let weight = group.weight.map_or_else(String::new, |weight| format!("weight {weight}"));
        let interval = group.interval.filter(|_| group.n >= FEWEST);
        let value = value_within(group.value, interval).into();
        let n = group.n.to_string().into();
        table.row([
            text!["  ", quoted(&cut_middle(name, GROUP_NAME))],
            weight.into(),
            value,
            n,
            Text::default(),
        ]);
    }
}

/// Names without what all of them begin and end with, where that is long: of long names the middle is what tells them apart.
fn told_apart(names: &[&str]) -> Vec<String> {
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else {
        return names.iter().map(|name| (*name).to_owned()).collect();
    };
    let alike = |at: &dyn Fn(&str, usize) -> Option<char>| {
        let is_shared = |place: &usize| {
            let own = at(first, *place);
            own.is_some() && others.iter().all(|other| at(other, *place) == own)
        };
        let shared = (0..first.chars().count()).take_while(is_shared).count();
        // A word is left out whole or not at all.
        let is_word = |place: usize| at(first, place).is_some_and(char::is_alphanumeric);
        let whole = (0..=shared).rev().find(|end| *end == 0 || !is_word(end - 1) || !is_word(*end));
        whole.filter(|length| *length >= SHARED).unwrap_or(0)
    };
    let before = alike(&|name, place| name.chars().nth(place));
    let after = alike(&|name, place| name.chars().rev().nth(place));
    let shorter = |name: &&str| {
        let length = name.chars().count();
        if length <= before + after {
            return (*name).to_owned();
        }
        let kept: String = name.chars().skip(before).take(length - before - after).collect();
        let [start, end] = [before, after].map(|left_out| if left_out > 0 { "…" } else { "" });
        format!("{start}{kept}{end}")
    };
    names.iter().map(shorter).collect()
}

/// What stands below the table: why there is no number, groups that are not shown, the classes.
fn remarks(name: &str, metric: &MetricValue) -> Vec<String> {
    let name = cut_middle(name, NAME);
    let problems = metric.problem.iter().chain(&metric.interval_problem);
    let problem = problems.map(|problem| format!("{name}: {problem}"));
    let more = metric.groups.0.len().saturating_sub(GROUPS);
    let more = (more > 0).then(|| format!("{name}: {} not shown", count(more, "group")));
    let undefined = (!metric.undefined.is_empty()).then(|| {
        let names: Vec<&str> = metric.undefined.iter().map(String::as_str).take(NAMED).collect();
        let more = if metric.undefined.len() > NAMED { ", …" } else { "" };
        let counted = count(metric.undefined.len(), "group");
        format!("{name}: not defined in {counted}: {}{more}", names.join(", "))
    });
    let native = metric
        .native
        .map(|native| format!("{name}: {} on its own scale", value_or_dash(Some(native))));
    let ungrouped =
        metric.ungrouped.as_ref().map(|left_out| format!("{name}: {}", outside(left_out)));
    let remarks = problem.chain(undefined).chain(native).chain(more).chain(ungrouped);
    remarks.chain(confusion(&name, metric)).collect()
}

/// How many results are in no group, and what they have where groups are told apart.
fn outside(left_out: &UngroupedResults) -> String {
    const SOME: usize = 3;
    let UngroupedResults { n, values } = left_out;
    let mut named: Vec<String> =
        values.iter().take(SOME).map(|value| format!("`{}`", cut_middle(value, NAME))).collect();
    if values.len() > SOME {
        named.push("…".to_owned());
    }
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    format!("{} in no group{named}", count(*n, "result"))
}

/// A line a class: what results of it were taken for.
fn confusion(name: &str, metric: &MetricValue) -> Vec<String> {
    let Some(matrix) = metric.confusion.as_ref().filter(|matrix| matrix.classes.len() <= CLASSES)
    else {
        return Vec::new();
    };
    let of_class = |(class, counts): (&String, &Vec<usize>)| {
        let taken = matrix.classes.iter().zip(counts).filter(|(_, count)| **count > 0);
        let taken: Vec<String> = taken.map(|(other, count)| format!("{count} {other}")).collect();
        (!taken.is_empty()).then(|| {
            format!("{name}: of {}, taken for {}", cut_middle(class, NAME), taken.join(", "))
        })
    };
    matrix.classes.iter().zip(&matrix.counts).filter_map(of_class).collect()
}

/// How the intervals of all that is shown were made.
fn methods(metrics: &OrderedMap<MetricValue>) -> Option<String> {
    let enough = |n: usize, interval: Option<ConfidenceInterval>| interval.filter(|_| n >= FEWEST);
    let of_metric = |metric: &'_ MetricValue| {
        let groups = metric.groups.0.iter().take(GROUPS);
        let groups = groups.filter_map(|(_, group)| enough(group.n, group.interval));
        enough(metric.n, metric.interval).into_iter().chain(groups).collect::<Vec<_>>()
    };
    methods_of(metrics.0.iter().flat_map(|(_, metric)| of_metric(metric)))
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    #[test]
    fn names_of_groups_are_without_what_all_of_them_share() {
        for (names, expected) in [
            (&["a / a_few_shot_0-255", "b / b_few_shot_0-255"][..], &["a / a…", "b / b…"][..]),
            (&["runs/2024-01-01/one", "runs/2024-01-01/other"], &["…one", "…other"]),
            // Little of it stays, as does what only some share.
            (&["maths.json", "physics.json"], &["maths.json", "physics.json"]),
            (
                &["a_few_shot_0-255", "b_few_shot_0-255", "c"],
                &["a_few_shot_0-255", "b_few_shot_0-255", "c"],
            ),
            (
                &["internationalisation", "internationality"],
                &["internationalisation", "internationality"],
            ),
            (&["the only one there is"], &["the only one there is"]),
            (&[], &[]),
        ] {
            assert_eq!(told_apart(names), expected, "{names:?}");
        }
    }
}
