//! How far verdicts can be relied on, in words: how far they agree with human labels, and judges, votes and reviewers with each
//! other. A line for each grader.

use super::digest::label;
use super::page::{Text, quoted, text};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, cut, cut_middle, percent};
use evalrs_metrics::calibration::changed_parts;
use evalrs_metrics::metric::agreement::{Agreement, Alpha, PairAgreement};
use evalrs_metrics::metric::annotators::{AnnotatorAgreement, DisputedCase};
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::{FEWEST_LABELS, PeopleEstimate};
use evalrs_metrics::results::Summary;
use evalrs_metrics::results::calibration::{GraderCalibration, ReportedCalibration};
use evalrs_metrics::results::trials::{Straddler, TrialsSummary};
use evalrs_statistics::prediction_powered::PredictionPoweredMean;

/// The columns that the name of a grader may take.
const GRADER: usize = 24;

/// What a coefficient is that has no value.
const UNDEFINED: &str = "not defined";

/// The samples that are named of a grader.
const NAMED: usize = 3;

/// Where all cases are listed on which reviewers differ.
const IN_SUMMARY: &str = "`disputed` in summary.json lists all";

/// The columns that the id of a sample may take.
const SAMPLE: usize = 32;

/// A line for each grader with labels or a calibration, in the order of the suite; in detail also one for each whose votes or
/// reviewers differ.
pub(crate) fn lines(summary: &Summary, details: bool) -> Vec<Text> {
    let agreement = told(&summary.label_agreement, |found| vec![agreement_of(found)]);
    let held_out = told(&summary.held_out, |found| vec![held_out(found)]);
    let people = told(&summary.people, people);
    let mut lines: Vec<Text> =
        agreement.chain(held_out).chain(calibration_lines(summary)).chain(people).collect();
    if details {
        lines.extend(
            summary.trials.0.iter().filter_map(|(grader, found)| split_votes(grader, found)),
        );
        lines.extend(told(&summary.agreement, |found| vec![votes(found)]));
        lines.extend(told(&summary.annotators, |found| vec![annotators(found)]));
        let disputed = summary.disputed.0.iter();
        lines.extend(disputed.map(|(grader, cases)| disputed_line(grader, cases, IN_SUMMARY)));
    }
    lines
}

/// The lines of each grader, behind its name.
fn told<T>(graders: &OrderedMap<T>, say: fn(&T) -> Vec<String>) -> impl Iterator<Item = Text> {
    let graders = graders.0.iter();
    graders.flat_map(move |(grader, found)| {
        say(found).into_iter().map(move |line| text![quoted(&cut(grader, GRADER)), line])
    })
}

/// The submissions whose votes are split, if there are any.
fn split_votes(grader: &str, trials: &TrialsSummary) -> Option<Text> {
    let straddlers = trials.straddlers.as_deref().filter(|straddlers| !straddlers.is_empty())?;
    let submissions = count(straddlers.len(), "submission");
    let name = |one: &Straddler| {
        let name = result_name(&one.sample_id, one.model.as_deref(), Some(one.trial));
        let turn = one.turn.map_or_else(String::new, |turn| format!(" [turn {turn}]"));
        text![quoted(&name), format!("{turn} {}/{}", one.passes, one.votes)]
    };
    let what = format!(": {submissions} with votes on both sides of the threshold");
    Some(text![quoted(&cut(grader, GRADER)), what, listed(straddlers, name)])
}

/// The names of the first, behind a colon, and how many more there are.
pub(crate) fn listed<T>(all: &[T], name: impl Fn(&T) -> Text) -> Text {
    let named = Text::joined(all.iter().take(NAMED).map(name), ", ");
    match all.len().saturating_sub(NAMED) {
        _ if all.is_empty() => named,
        0 => text![": ", named],
        rest => text![": ", named, format!(" and {rest} more")],
    }
}

fn result_name(sample: &str, model: Option<&str>, trial: Option<u32>) -> String {
    let model = model.map(|model| cut_middle(model, GRADER));
    label(&cut_middle(sample, SAMPLE), model.as_deref(), trial)
}

fn votes(agreement: &Agreement) -> String {
    let Agreement { items, raters, complete, .. } = *agreement;
    let judged = match items - complete {
        0 => count(items, "submission"),
        _ => format!("{complete} of {}", count(items, "submission")),
    };
    let alpha = match agreement.krippendorff_alpha {
        Alpha { nominal: None, interval: None } => UNDEFINED.to_owned(),
        Alpha { nominal, interval } => {
            format!("{} (nominal), {} (interval)", coefficient(nominal), coefficient(interval))
        }
    };
    format!(
        ", {} each on {judged}: exact agreement {}; kappa {}, quadratic-weighted kappa {}, alpha {alpha}",
        count(raters, "vote"),
        percent(agreement.all_equal),
        of_pairs(agreement, |pair| pair.cohen_kappa),
        of_pairs(agreement, |pair| pair.quadratic_weighted_kappa),
    )
}

/// A coefficient of each two raters: from the least to the greatest.
fn of_pairs(agreement: &Agreement, of: fn(&PairAgreement) -> Option<f64>) -> String {
    let mut values: Vec<f64> = agreement.pairs.0.iter().filter_map(|(_, pair)| of(pair)).collect();
    values.sort_by(f64::total_cmp);
    let least = coefficient(values.first().copied());
    let greatest = coefficient(values.last().copied());
    if least == greatest { least } else { format!("{least} to {greatest}") }
}

/// A coefficient of agreement, or that it has no value.
pub fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(|| UNDEFINED.to_owned(), |value| format!("{:.2}", value + 0.0))
}

/// A kappa and its interval: `0.70 (0.48 to 0.92)`.
fn kappa_within(kappa: Option<f64>, interval: Option<(f64, f64)>) -> String {
    kappa.zip(interval).map_or_else(
        || UNDEFINED.to_owned(),
        |(kappa, (low, high))| format!("{kappa:.2} ({low:.2} to {high:.2})"),
    )
}

/// What human labels of everything would say: the share of passes, and where labels are scores the mean.
fn people(estimate: &PeopleEstimate) -> Vec<String> {
    let PeopleEstimate { labels, chosen, .. } = *estimate;
    if labels < FEWEST_LABELS {
        let by_choice = match chosen {
            0 => String::new(),
            chosen => format!(", beside {chosen} that were not chosen at random"),
        };
        return vec![format!(
            " has {}, too few to estimate human ratings: {FEWEST_LABELS} are needed{by_choice}",
            count(labels, "label")
        )];
    }
    let percent = |value: f64| format!("{:.1}%", value * 100.0);
    let rate = estimate.pass_rate.map(|rate| {
        let bounds = [rate.interval.low, rate.interval.high].map(|bound| bound * 100.0);
        let [low, high] = bounds.map(|bound| format!("{bound:.1}"));
        let estimated = format!("pass rate {} [{low}, {high}]", percent(rate.mean));
        let bias = format!("{:.1} points", rate.bias.abs() * 100.0);
        people_line(&rate, labels, &estimated, &bias)
    });
    let mean = estimate.mean.map(|mean| {
        let interval = mean.interval;
        let estimated =
            format!("mean score {:.3} [{:.3}, {:.3}]", mean.mean, interval.low, interval.high);
        people_line(&mean, labels, &estimated, &format!("{:.3}", mean.bias.abs()))
    });
    rate.into_iter().chain(mean).collect()
}

fn people_line(
    found: &PredictionPoweredMean,
    labels: usize,
    estimated: &str,
    bias: &str,
) -> String {
    let PredictionPoweredMean { saved, most_saved, bias: signed, .. } = *found;
    let side = if signed < 0.0 { "lower" } else { "higher" };
    let labels_counted = count(labels, "random label");
    let known = format!(": estimated human {estimated} from {labels_counted}");
    let bias = format!("on those the grader is {bias} {side}");
    if found.tuning <= 0.0 {
        return format!("{known} alone; {bias} and saves no labels");
    }
    let needed = (labels as f64 / (1.0 - saved)).round();
    let [saved, most] = [saved, most_saved].map(|share| share * 100.0);
    format!(
        "{known} (PPI++); {bias}; labels alone would need {needed} ({saved:.0}% saved, at most {most:.0}%)"
    )
}

/// How far graders agreed with labels when `calibrate` compared them, and what of them is other since.
pub fn calibration_lines(summary: &Summary) -> Vec<Text> {
    told(&summary.calibration, |found| vec![calibration(found)]).collect()
}

fn calibration(found: &ReportedCalibration) -> String {
    let GraderCalibration { n, agreement, agreement_interval, .. } = found.calibration;
    let interval = agreement_interval.map_or_else(String::new, |(low, high)| {
        format!(" [{:.1}, {:.1}]", low * 100.0, high * 100.0)
    });
    let kappa = kappa_within(found.calibration.kappa, found.calibration.kappa_interval);
    let labels = count(n, "label");
    let stale = match found.stale.as_slice() {
        [] => String::new(),
        stale => format!(", STALE, {} since", changed_parts(stale)),
    };
    let below = match found.below.as_slice() {
        [] => String::new(),
        below => format!("; {}", below.join(", ")),
    };
    let held_out = found.calibration.held_out;
    let held_out = held_out.map_or_else(String::new, |told| {
        format!("; held out {} on {}", told.shown(), count(told.n, "label"))
    });
    let agreement = percent(agreement);
    format!(
        " compared with {labels}{stale}: agreement {agreement}{interval}, kappa {kappa}{below}{held_out}"
    )
}

fn agreement_of(agreement: &LabelAgreement) -> String {
    let LabelAgreement { n, without_verdict, false_pass, false_fail, .. } = *agreement;
    let stale = match agreement.stale {
        0 => String::new(),
        1 => "; 1 label of an earlier answer is left out".to_owned(),
        stale => format!("; {stale} labels of earlier answers are left out"),
    };
    if n == 0 {
        return format!(" has no verdict for {}{stale}", count(without_verdict, "label"));
    }
    let kappa = kappa_within(agreement.kappa, agreement.kappa_interval);
    let left_out = match without_verdict {
        0 => String::new(),
        without => format!("; {} without a verdict", count(without, "label")),
    };
    let false_passes = match false_pass {
        1 => "1 false pass".to_owned(),
        passes => format!("{passes} false passes"),
    };
    format!(
        " agrees with {}: accuracy {}, kappa {kappa}; {false_passes}, {}{left_out}{stale}",
        count(n, "label"),
        percent(agreement.accuracy),
        count(false_fail, "false fail"),
    )
}

/// What is reported of held-out labels: the bound first, which holds for any number of queries.
fn held_out(told: &HeldOutAgreement) -> String {
    format!(": held-out agreement {} on {}", told.shown(), count(told.n, "label"))
}

fn annotators(found: &AnnotatorAgreement) -> String {
    let verdicts = found.alpha.map_or_else(|| UNDEFINED.to_owned(), |alpha| format!("{alpha:.2}"));
    let scores = found.alpha_of_scores;
    let scores = scores.map_or_else(String::new, |alpha| format!(", of scores {alpha:.2}"));
    let people = match found.people {
        0 | 1 => "reviewers".to_owned(),
        people => format!("{people} reviewers"),
    };
    format!(
        ": {people} agree in {} of {} on {}; Krippendorff's alpha {verdicts}{scores}",
        percent(found.agreement),
        count(found.pairs, "pair"),
        count(found.cases, "case"),
    )
}

/// On which cases reviewers differ: the first of them, and where all are.
pub fn disputed_line(grader: &str, cases: &[DisputedCase], all: &str) -> Text {
    let named = listed(cases, |of| {
        let trial = (of.trial > 0).then_some(of.trial);
        quoted(&result_name(&of.sample_id, of.model.as_deref(), trial))
    });
    let differ = format!(": reviewers differ on {}", count(cases.len(), "case"));
    text![quoted(&cut(grader, GRADER)), differ, named, "; ", all]
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::page::Text;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::metric::agreement::agreement;
    use evalrs_metrics::metric::annotators::AnnotatorAgreement;
    use evalrs_metrics::metric::labels::LabelAgreement;
    use evalrs_metrics::results::Summary;
    use evalrs_metrics::results::trials::Straddler;
    use evalrs_test_runs as fixtures;

    fn shown(summary: &Summary) -> String {
        lines(summary, true).iter().map(Text::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The votes on each submission, a digit each.
    fn voted(items: &[&str]) -> evalrs_metrics::metric::agreement::Agreement {
        let score = |char: char| char.to_digit(10).map(f64::from);
        let rows: Vec<Vec<Option<f64>>> =
            items.iter().map(|item| item.chars().map(score).collect()).collect();
        agreement(&rows)
    }

    #[test]
    fn how_far_votes_agree_is_one_line() {
        let mut run = fixtures::empty();
        run.summary.agreement = OrderedMap(vec![
            ("two".to_owned(), voted(&["11", "12", "22", "22"])),
            ("three".to_owned(), voted(&["123", "222", "311", "33."])),
            ("same".to_owned(), voted(&["55", "55"])),
        ]);
        insta::assert_snapshot!(shown(&run.summary), @r"
        two, 2 votes each on 4 submissions: exact agreement 75.0%; kappa 0.50, quadratic-weighted kappa 0.50, alpha 0.53 (nominal), 0.53 (interval)
        three, 3 votes each on 3 of 4 submissions: exact agreement 33.3%; kappa 0.00 to 0.50, quadratic-weighted kappa -1.00 to 0.67, alpha 0.38 (nominal), 0.08 (interval)
        same, 2 votes each on 2 submissions: exact agreement 100.0%; kappa not defined, quadratic-weighted kappa not defined, alpha not defined
        ");
    }

    #[test]
    fn split_votes_are_one_line() {
        let mut run = fixtures::hostile();
        let (_, trials) = &mut run.summary.trials.0[0];
        trials.straddlers = Some(vec![Straddler {
            sample_id: "s1".to_owned(),
            model: None,
            trial: 1,
            turn: Some(0),
            passes: 1,
            votes: 3,
        }]);
        insta::assert_snapshot!(shown(&run.summary), @"accuracy: 1 submission with votes on both sides of the threshold: s1 [trial 1] [turn 0] 1/3");
    }

    #[test]
    fn people_among_themselves_are_one_line() {
        let found = AnnotatorAgreement {
            cases: 999,
            people: 3,
            pairs: 2997,
            agreement: Some(0.935),
            alpha: Some(0.867),
            alpha_of_scores: Some(0.877),
        };
        let unnamed = AnnotatorAgreement {
            cases: 1,
            people: 0,
            pairs: 1,
            agreement: Some(1.0),
            alpha: None,
            alpha_of_scores: None,
        };
        let lines = [found, unnamed].map(|found| super::annotators(&found));
        insta::assert_snapshot!(lines.join("\n"), @r"
        : 3 reviewers agree in 93.5% of 2997 pairs on 999 cases; Krippendorff's alpha 0.87, of scores 0.88
        : reviewers agree in 100.0% of 1 pair on 1 case; Krippendorff's alpha not defined
        ");
    }

    #[test]
    fn agreement_is_one_line() {
        let judged = LabelAgreement {
            n: 40,
            both_pass: 20,
            false_pass: 4,
            false_fail: 2,
            both_fail: 14,
            accuracy: Some(0.85),
            kappa: Some(0.7),
            kappa_interval: Some((0.48, 0.917)),
            ..LabelAgreement::default()
        };
        let all_alike = LabelAgreement {
            n: 1,
            accuracy: Some(1.0),
            kappa: None,
            kappa_interval: None,
            without_verdict: 3,
            false_pass: 0,
            false_fail: 0,
            ..judged
        };
        let unjudged = LabelAgreement { without_verdict: 1, ..LabelAgreement::default() };
        let lines = [judged, all_alike, unjudged].map(|agreement| super::agreement_of(&agreement));
        insta::assert_snapshot!(lines.join("\n"), @r"
        agrees with 40 labels: accuracy 85.0%, kappa 0.70 (0.48 to 0.92); 4 false passes, 2 false fails
        agrees with 1 label: accuracy 100.0%, kappa not defined; 0 false passes, 0 false fails; 3 labels without a verdict
        has no verdict for 1 label
        ");
    }
}
