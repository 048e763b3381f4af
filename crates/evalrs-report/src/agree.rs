//! How far two sides agree, for people and as JSON.

use serde::Serialize;

use super::human::disputed_line;
use super::intervals::{FEWEST, percent_within};
use super::page::{Block, Column, Page, Table, Text, faint, quoted, text};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, score, score_or_dash};
use evalrs_metrics::metric::annotators::DisputedCase;
use evalrs_metrics::metric::sides::SideAgreement;
use evalrs_statistics::classes::AverageScores;

/// The agreement of two sides: the shape of `agree --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreementReport {
    /// The version of this shape.
    pub format: u32,
    /// The suite.
    pub suite: String,
    /// The first side, as it was typed.
    pub one: String,
    /// The second.
    pub other: String,
    /// Over all cases.
    pub all: SideAgreement,
    /// Model or tag → over its cases; null unless that was asked.
    pub by: Option<OrderedMap<SideAgreement>>,
    /// The cases on which people differ, where a side is their labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disputed: Vec<DisputedCase>,
}

/// The agreement in one line, then by group and by class, then coefficients.
pub fn page(report: &AgreementReport) -> Page {
    let all = &report.all;
    let mut page = Page::default();
    page.add(Block::Heading(heading(report)));
    page.add(Block::Table(by_group(report)));
    page.add(Block::Table(confusion(report)));
    page.add(Block::Table(classes(all)));
    let disputed = !report.disputed.is_empty();
    let disputed =
        disputed.then(|| disputed_line("labels", &report.disputed, "`--json` lists all"));
    page.add(Block::lines(disputed));
    page.add(Block::lines(coefficients(report)));
    page
}

fn heading(report: &AgreementReport) -> Text {
    let all = &report.all;
    let [one, other] = [&report.one, &report.other].map(|side| quoted(side));
    let kappa =
        all.kappa.plain.map_or_else(String::new, |kappa| format!(", kappa {}", score(kappa)));
    let agreement = format!("{} equal{kappa}, {}", equal(all), count(all.n, "case"));
    let mut heading = text![one.clone(), " against ", other.clone(), ": ", agreement];
    for (missing, side) in [(all.only_other, one), (all.only_one, other)] {
        if missing > 0 {
            heading.push(text![format!(", {missing} without "), side]);
        }
    }
    heading
}

/// The share of equal values, in percent, and its interval where there are enough cases.
fn equal(found: &SideAgreement) -> String {
    percent_within(found.equal, found.equal_interval.filter(|_| found.n >= FEWEST))
}

/// A row for each model or tag.
fn by_group(report: &AgreementReport) -> Table {
    let titles = ["n", "equal", "kappa", "quadratic", "Spearman", "F1"].map(Column::numbers);
    let mut table = Table::new([Column::names("")].into_iter().chain(titles));
    let groups = report.by.as_ref().map_or(&[][..], |groups| &groups.0);
    let kappas = groups
        .iter()
        .map(|(_, found)| [found.kappa.plain, found.kappa.quadratic].map(score_or_dash));
    let repeats = kappas.clone().all(|[plain, quadratic]| plain == quadratic);
    for ((group, found), [plain, quadratic]) in groups.iter().zip(kappas) {
        let cells = [
            found.n.to_string(),
            equal(found),
            plain,
            if repeats { String::new() } else { quadratic },
            score_or_dash(found.correlation.spearman),
            score_or_dash(found.macro_average.map(|average| average.f1)),
        ];
        table.row([quoted(group)].into_iter().chain(cells.map(Text::from)));
    }
    table.without_empty_columns()
}

/// How often which was taken for which: a row for each class of the second side.
fn confusion(report: &AgreementReport) -> Table {
    let Some(found) = &report.all.confusion else { return Table::default() };
    let corner = text![quoted(&report.other), " \\ ", quoted(&report.one)];
    let classes = found.classes.iter().map(|class| Column::numbers(quoted(class)));
    let mut table =
        Table::new([Column::names(corner)].into_iter().chain(classes)).folding_columns();
    for (class, counts) in found.classes.iter().zip(&found.counts) {
        let counts = counts.iter().map(|count| count.to_string().into());
        table.row([quoted(class)].into_iter().chain(counts));
    }
    table
}

fn classes(found: &SideAgreement) -> Table {
    let titles = ["n", "precision", "recall", "F1"].map(Column::numbers);
    let mut table = Table::new([Column::names("class")].into_iter().chain(titles));
    for class in &found.classes {
        let numbers =
            [class.precision, class.recall, class.f1].map(|value| score_or_dash(value).into());
        let cells = [quoted(&class.class), class.support.to_string().into()];
        table.row(cells.into_iter().chain(numbers));
    }
    for (name, average) in
        [("mean of classes", found.macro_average), ("mean by n", found.weighted_average)]
    {
        let Some(AverageScores { precision, recall, f1 }) = average else { continue };
        let numbers = [precision, recall, f1].map(|value| score(value).into());
        table.row([name.into(), found.n.to_string().into()].into_iter().chain(numbers));
    }
    // It is the mean recall, unless a class never occurs.
    let recall = score_or_dash(found.macro_average.map(|average| average.recall));
    let balanced = found.balanced_accuracy.map(score).filter(|balanced| *balanced != recall);
    table.extend_notes(balanced.map(|value| faint(&format!("balanced accuracy {value}"))));
    table
}

/// The means of both sides and the coefficients that are defined, a line for each kind.
fn coefficients(report: &AgreementReport) -> Vec<Text> {
    let SideAgreement { kappa, alpha, correlation, auc, .. } = report.all;
    let weighted = [("linear", kappa.linear), ("quadratic", kappa.quadratic)];
    // Those of two classes are the kappa in the heading.
    let are_weighted =
        [kappa.linear, kappa.quadratic].map(score_or_dash) != [kappa.plain; 2].map(score_or_dash);
    let means = [(&report.one, report.all.mean_one), (&report.other, report.all.mean_other)];
    let means = means.map(|(side, mean)| Some(text![quoted(side), " ", score(mean?)]));
    let means = Text::joined(means.into_iter().flatten(), ", ");
    let lines = [
        if means.is_empty() { means } else { text!["mean: ", means] },
        if are_weighted { coefficient("weighted kappa", &weighted) } else { Text::default() },
        coefficient(
            "Krippendorff's alpha",
            &[
                ("nominal", alpha.nominal),
                ("ordinal", alpha.ordinal),
                ("interval", alpha.interval),
                ("ratio", alpha.ratio),
            ],
        ),
        coefficient(
            "correlation",
            &[
                ("Pearson", correlation.pearson),
                ("Spearman", correlation.spearman),
                ("Kendall's tau-b", correlation.kendall),
            ],
        ),
        coefficient("area under the curve", &[("", auc)]),
    ];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// The values that are defined, in one line: one of them where all are the same, as those of two classes are.
fn coefficient(kind: &str, values: &[(&str, Option<f64>)]) -> Text {
    let values = values.iter().filter_map(|(name, value)| Some((*name, score((*value)?))));
    let values: Vec<(&str, String)> = values.collect();
    let Some((_, first)) = values.first() else { return Text::default() };
    if values.iter().all(|(_, value)| value == first) {
        return format!("{kind}: {first}").into();
    }
    let values: Vec<String> =
        values.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{kind}: {}", values.join(", ")).into()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::{AgreementReport, page};
    use crate::page::markdown;
    use crate::page::terminal::{PageScreen, write};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_base::text::columns;
    use evalrs_metrics::metric::annotators::DisputedCase;
    use evalrs_metrics::metric::sides::{SideAgreement, SidePair, SideValue};

    /// What both sides say of each case, in pairs.
    fn agreement(said: &[(&str, &str)]) -> SideAgreement {
        let value = |text: &str| {
            let value = SideValue { class: text.to_owned(), number: text.parse().ok() };
            (text != "-").then_some(value)
        };
        let pairs: Vec<SidePair> = (0..)
            .zip(said)
            .map(|(sample, (one, other))| SidePair { sample, one: value(one), other: value(other) })
            .collect();
        SideAgreement::of(&pairs)
    }

    fn report(said: &[(&str, &str)]) -> AgreementReport {
        AgreementReport {
            format: 1,
            suite: "support".to_owned(),
            one: "quality".to_owned(),
            other: "labels".to_owned(),
            all: agreement(said),
            by: None,
            disputed: Vec::new(),
        }
    }

    fn shown(report: &AgreementReport, width: usize) -> String {
        let mut out = Vec::new();
        write(&page(report), PageScreen { width, cuts: false }, &mut out).unwrap();
        let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        text
    }

    const SCORES: [(&str, &str); 8] = [
        ("1", "1"),
        ("2", "1"),
        ("2", "2"),
        ("3", "3"),
        ("3", "2"),
        ("3", "3"),
        ("1", "-"),
        ("-", "2"),
    ];

    fn of_scores() -> AgreementReport {
        let groups = [("short", &SCORES[..4]), ("long", &SCORES[4..])];
        let groups = groups.map(|(name, said)| (name.to_owned(), agreement(said)));
        AgreementReport { by: Some(OrderedMap(groups.to_vec())), ..report(&SCORES) }
    }

    #[test]
    fn scores_have_groups_classes_and_coefficients() {
        insta::assert_snapshot!(shown(&of_scores(), 80), @r"
        quality against labels: 66.7% [22.3, 95.7] equal, kappa 0.500, 6 cases, 1
          without quality, 1 without labels

               n  equal  kappa  quadratic  Spearman     F1
        short  4  75.0%  0.636      0.800     0.833  0.778
        long   2  50.0%  0.000      0.000         -  0.333

        labels \ quality  1  2  3
        1                 1  1  0
        2                 0  1  1
        3                 0  0  2

        class            n  precision  recall     F1
        1                2      1.000   0.500  0.667
        2                2      0.500   0.500  0.500
        3                2      0.667   1.000  0.800
        mean of classes  6      0.722   0.667  0.656
        mean by n        6      0.722   0.667  0.656

        mean: quality 2.333, labels 2.000
        weighted kappa: linear 0.625, quadratic 0.750
        Krippendorff's alpha: nominal 0.532, ordinal 0.764, interval 0.761, ratio 0.717
        correlation: Pearson 0.822, Spearman 0.839, Kendall's tau-b 0.783
        ");
        insta::assert_snapshot!(shown(&of_scores(), 120), @r"
        quality against labels: 66.7% [22.3, 95.7] equal, kappa 0.500, 6 cases, 1 without quality, 1 without labels

               n  equal  kappa  quadratic  Spearman     F1
        short  4  75.0%  0.636      0.800     0.833  0.778
        long   2  50.0%  0.000      0.000         -  0.333

        labels \ quality  1  2  3
        1                 1  1  0
        2                 0  1  1
        3                 0  0  2

        class            n  precision  recall     F1
        1                2      1.000   0.500  0.667
        2                2      0.500   0.500  0.500
        3                2      0.667   1.000  0.800
        mean of classes  6      0.722   0.667  0.656
        mean by n        6      0.722   0.667  0.656

        mean: quality 2.333, labels 2.000
        weighted kappa: linear 0.625, quadratic 0.750
        Krippendorff's alpha: nominal 0.532, ordinal 0.764, interval 0.761, ratio 0.717
        correlation: Pearson 0.822, Spearman 0.839, Kendall's tau-b 0.783
        ");
    }

    #[test]
    fn scores_fit_into_60_columns() {
        insta::assert_snapshot!(shown(&of_scores(), 60), @r"
        quality against labels: 66.7% [22.3, 95.7] equal, kappa
          0.500, 6 cases, 1 without quality, 1 without labels

               n  equal  kappa  quadratic  Spearman     F1
        short  4  75.0%  0.636      0.800     0.833  0.778
        long   2  50.0%  0.000      0.000         -  0.333

        labels \ quality  1  2  3
        1                 1  1  0
        2                 0  1  1
        3                 0  0  2

        class            n  precision  recall     F1
        1                2      1.000   0.500  0.667
        2                2      0.500   0.500  0.500
        3                2      0.667   1.000  0.800
        mean of classes  6      0.722   0.667  0.656
        mean by n        6      0.722   0.667  0.656

        mean: quality 2.333, labels 2.000
        weighted kappa: linear 0.625, quadratic 0.750
        Krippendorff's alpha: nominal 0.532, ordinal 0.764,
          interval 0.761, ratio 0.717
        correlation: Pearson 0.822, Spearman 0.839, Kendall's
          tau-b 0.783
        ");
    }

    #[test]
    fn of_two_classes_nothing_is_shown_twice() {
        let said = [("pass", "pass"), ("fail", "fail"), ("pass", "fail"), ("pass", "pass")];
        let mut report = report(&said);
        let case = DisputedCase { sample_id: "s1".to_owned(), ..DisputedCase::default() };
        report.disputed = vec![case];
        insta::assert_snapshot!(shown(&report, 80), @r"
        quality against labels: 75.0% equal, kappa 0.500, 4 cases

        labels \ quality  fail  pass
        fail                 1     1
        pass                 0     2

        class            n  precision  recall     F1
        fail             2      1.000   0.500  0.667
        pass             2      0.667   1.000  0.800
        mean of classes  4      0.833   0.750  0.733
        mean by n        4      0.833   0.750  0.733

        labels: reviewers differ on 1 case: s1; `--json` lists all

        Krippendorff's alpha: 0.533
        ");
    }

    #[test]
    fn hostile_names_are_harmless_and_many_classes_fold() {
        let name = "row.\u{1b}[2J`a` | <b>@team\r\n::error::";
        let classes: Vec<String> = (0..12).map(|at| format!("class number {at}")).collect();
        let said: Vec<(&str, &str)> = classes.iter().map(|class| (&**class, &**class)).collect();
        let report = AgreementReport { one: name.to_owned(), ..report(&said) };
        let text = shown(&report, 60);
        assert!(classes.iter().all(|class| text.contains(class)), "{text}");
        assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{text:?}");
        let text = markdown::shown(&page(&report));
        assert!(text.starts_with("### <code>row&#46;&#96;a&#96; &#124; &#60;b&#62;&#64;team &#58;&#58;error&#58;&#58;</code> against `labels`: 100.0%"), "{text}");
    }
}
