//! How every format for people says how far verdicts can be relied on: what trials tell, and how far verdicts agree with
//! the labels of people, and judges and votes with each other. A line a grader.

use unicode_width::UnicodeWidthStr;

use super::digest::label;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, cut, cut_middle, percent, wrapped};
use evalrs_metrics::calibration::changed_parts;
use evalrs_metrics::metric::agreement::{Agreement, Alpha, PairAgreement};
use evalrs_metrics::metric::annotators::{AnnotatorAgreement, DisputedCase};
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::{FEWEST_LABELS, PeopleEstimate};
use evalrs_metrics::metric::trials::ScoreVariance;
use evalrs_metrics::results::Summary;
use evalrs_metrics::results::calibration::GraderCalibration;
use evalrs_metrics::results::trials::{Straddler, TrialsSummary};
use evalrs_statistics::prediction_powered::PredictionPoweredMean;

/// The columns that the name of a grader may take.
const GRADER: usize = 24;

/// What a coefficient is that has no value.
const UNDEFINED: &str = "not defined";

/// The graders whose trials are told of, and the samples that are named of each.
const TRIALS: usize = 8;
const NAMED: usize = 3;

/// Where all cases stand on which people differ.
const IN_SUMMARY: &str = "`disputed` in summary.json lists all";

/// The columns that the id of a sample may take.
const SAMPLE: usize = 32;

/// One line for each of the first graders whose trials differ, one for each that has several judgments a submission, and
/// one for each that has labels, in the order of the suite.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let trials = summary.trials.0.iter().filter(|(_, trials)| differs(trials)).take(TRIALS);
    let trials = trials.map(|(grader, trials)| trials_line(&cut(grader, GRADER), trials));
    let people = summary.people.0.iter();
    trials
        .chain(told(&summary.agreement, votes_line))
        .chain(told(&summary.label_agreement, line))
        .chain(told(&summary.held_out, held_out_line))
        .chain(told(&summary.annotators, annotators_line))
        .chain(told(&summary.disputed, |grader, cases| disputed_line(grader, cases, IN_SUMMARY)))
        .chain(calibration_lines(summary))
        .chain(people.flat_map(|(grader, found)| people_lines(&cut(grader, GRADER), found)))
        .collect()
}

/// A line for each grader, which says its name.
fn told<T>(
    graders: &OrderedMap<T>,
    line: impl Fn(&str, &T) -> String,
) -> impl Iterator<Item = String> {
    graders.0.iter().map(move |(grader, found)| line(&cut(grader, GRADER), found))
}

/// Whether any trial differs from the others: else there is nothing to look at.
fn differs(trials: &TrialsSummary) -> bool {
    let has_straddlers = trials.straddlers.as_ref().is_some_and(|all| !all.is_empty());
    !trials.flaky.is_empty() || has_straddlers
}

/// The same for a screen of so many columns: a line that is too long goes on in further ones.
pub(crate) fn lines_within(summary: &Summary, width: usize) -> Vec<String> {
    let broken = lines(summary).into_iter().flat_map(|line| {
        if line.width() <= width {
            return vec![line];
        }
        let room = width.saturating_sub(2);
        let mut lines = match line.split_once("; ") {
            Some((first, rest)) => {
                let first = std::iter::once(format!("{first};"));
                first.chain(wrapped(rest, room)).collect()
            }
            None => wrapped(&line, room),
        };
        lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, "  "));
        lines
    });
    broken.collect()
}

fn trials_line(grader: &str, trials: &TrialsSummary) -> String {
    let TrialsSummary { samples, fewest, most, flaky, variance, straddlers } = trials;
    let each = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let of = count(*samples, "sample");
    let named = listed(flaky, |flaky| {
        let name = result_name(&flaky.sample_id, flaky.model.as_deref(), None);
        format!("{name} {}/{}", flaky.passes, flaky.trials)
    });
    let mut parts = vec![format!("{grader}, {each} trials of {of}: {} flaky{named}", flaky.len())];
    parts.extend(variance.as_ref().map(variance_shown));
    let straddlers = straddlers.as_deref().filter(|straddlers| !straddlers.is_empty());
    parts.extend(straddlers.map(|straddlers| {
        format!(
            "{} with votes on both sides of the threshold{}",
            count(straddlers.len(), "submission"),
            listed(straddlers, straddler_name)
        )
    }));
    parts.join("; ")
}

fn variance_shown(variance: &ScoreVariance) -> String {
    let ScoreVariance { between, within, icc, stderr } = *variance;
    format!(
        "variance of scores {between:.4} between samples, {within:.4} within, ICC(1) {}, stderr {stderr:.4}",
        coefficient(icc)
    )
}

fn straddler_name(one: &Straddler) -> String {
    let name = result_name(&one.sample_id, one.model.as_deref(), Some(one.trial));
    let turn = one.turn.map_or_else(String::new, |turn| format!(" [turn {turn}]"));
    format!("{name}{turn} {}/{}", one.passes, one.votes)
}

/// The names of the first, behind a colon, and how many more there are.
fn listed<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let named: Vec<String> = all.iter().take(NAMED).map(name).collect();
    match all.len().saturating_sub(NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!(": {}", named.join(", ")),
        rest => format!(": {} and {rest} more", named.join(", ")),
    }
}

fn result_name(sample: &str, model: Option<&str>, trial: Option<u32>) -> String {
    let model = model.map(|model| cut_middle(model, GRADER));
    label(&cut_middle(sample, SAMPLE), model.as_deref(), trial)
}

fn votes_line(grader: &str, agreement: &Agreement) -> String {
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
        "{grader}, {} each on {judged}: exact agreement {}; kappa {}, quadratic-weighted kappa {}, alpha {alpha}",
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

/// What people would have said of everything: the share of passes, and where labels are scores the mean.
fn people_lines(grader: &str, estimate: &PeopleEstimate) -> Vec<String> {
    let PeopleEstimate { labels, chosen, .. } = *estimate;
    if labels < FEWEST_LABELS {
        let by_choice = match chosen {
            0 => String::new(),
            chosen => format!(", not counting {chosen} that somebody chose"),
        };
        return vec![format!(
            "{grader} has {}, too few to estimate what people would have said: {FEWEST_LABELS} are needed{by_choice}",
            count(labels, "label")
        )];
    }
    let percent = |value: f64| format!("{:.1}%", value * 100.0);
    let rate = estimate.pass_rate.map(|rate| {
        let bounds = [rate.interval.low, rate.interval.high].map(|bound| bound * 100.0);
        let [low, high] = bounds.map(|bound| format!("{bound:.1}"));
        let estimated = format!("would pass {} [{low}, {high}]", percent(rate.mean));
        let bias = format!("{:.1} points", rate.bias.abs() * 100.0);
        people_line(grader, &rate, labels, &estimated, &bias)
    });
    let mean = estimate.mean.map(|mean| {
        let interval = mean.interval;
        let estimated =
            format!("would score {:.3} [{:.3}, {:.3}]", mean.mean, interval.low, interval.high);
        people_line(grader, &mean, labels, &estimated, &format!("{:.3}", mean.bias.abs()))
    });
    rate.into_iter().chain(mean).collect()
}

fn people_line(
    grader: &str,
    found: &PredictionPoweredMean,
    labels: usize,
    estimated: &str,
    bias: &str,
) -> String {
    let PredictionPoweredMean { saved, most_saved, bias: signed, .. } = *found;
    let more = if signed < 0.0 { "less" } else { "more" };
    let labels_counted = count(labels, "label");
    let known = format!("{grader}: people {estimated} by {labels_counted} of a random part");
    let bias = format!("on those the grader says {bias} {more}");
    if found.tuning <= 0.0 {
        return format!("{known} alone; {bias} and saves no label");
    }
    let needed = (labels as f64 / (1.0 - saved)).round();
    let [saved, most] = [saved, most_saved].map(|share| share * 100.0);
    format!(
        "{known} (PPI++); {bias}; labels alone would need {needed} ({saved:.0}% saved, at most {most:.0}%)"
    )
}

/// How far graders agreed with people when `calibrate` compared them, and what of them is other since.
pub fn calibration_lines(summary: &Summary) -> Vec<String> {
    let lines = summary.calibration.0.iter().map(|(grader, found)| {
        let grader = cut(grader, GRADER);
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
            below => format!("; BELOW what is asked for: {}", below.join(", ")),
        };
        let held_out = found.calibration.held_out;
        let held_out = held_out.map_or_else(String::new, |told| {
            format!("; held out {} on {}", told.shown(), count(told.n, "label"))
        });
        let agreement = percent(agreement);
        format!(
            "{grader} compared with {labels}{stale}: agreement {agreement}{interval}, kappa {kappa}{below}{held_out}"
        )
    });
    lines.collect()
}

fn line(grader: &str, agreement: &LabelAgreement) -> String {
    let LabelAgreement { n, without_verdict, false_pass, false_fail, .. } = *agreement;
    let stale = match agreement.stale {
        0 => String::new(),
        1 => "; 1 label is of an earlier answer and does not count".to_owned(),
        stale => format!("; {stale} labels are of earlier answers and do not count"),
    };
    if n == 0 {
        return format!("{grader} has no verdict for {}{stale}", count(without_verdict, "label"));
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
        "{grader} agrees with {}: accuracy {}, kappa {kappa}; {false_passes}, {}{left_out}{stale}",
        count(n, "label"),
        percent(agreement.accuracy),
        count(false_fail, "false fail"),
    )
}

/// What is told of labels that are held out: the bound first, which holds however often was asked.
fn held_out_line(grader: &str, told: &HeldOutAgreement) -> String {
    format!("{grader}: held-out agreement {} on {}", told.shown(), count(told.n, "label"))
}

fn annotators_line(grader: &str, found: &AnnotatorAgreement) -> String {
    let verdicts = found.alpha.map_or_else(|| UNDEFINED.to_owned(), |alpha| format!("{alpha:.2}"));
    let scores = found.alpha_of_scores;
    let scores = scores.map_or_else(String::new, |alpha| format!(", of scores {alpha:.2}"));
    let people = match found.people {
        0 | 1 => "people".to_owned(),
        people => format!("{people} people"),
    };
    format!(
        "{grader}: {people} agree in {} of {} on {}; Krippendorff's alpha {verdicts}{scores}",
        percent(found.agreement),
        count(found.pairs, "pair"),
        count(found.cases, "case"),
    )
}

/// On which cases people differ: the first of them, and where all are.
pub fn disputed_line(grader: &str, cases: &[DisputedCase], all: &str) -> String {
    let named = listed(cases, |of| {
        let trial = (of.trial > 0).then_some(of.trial);
        result_name(&of.sample_id, of.model.as_deref(), trial)
    });
    format!("{grader}: people differ on {}{named}; {all}", count(cases.len(), "case"))
}

#[cfg(test)]
mod tests {
    use super::{line, lines, lines_within};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::metric::agreement::agreement;
    use evalrs_metrics::metric::annotators::AnnotatorAgreement;
    use evalrs_metrics::metric::labels::LabelAgreement;
    use evalrs_metrics::results::trials::Straddler;
    use evalrs_test_runs as fixtures;

    /// The votes on each submission, a digit each.
    fn votes(items: &[&str]) -> evalrs_metrics::metric::agreement::Agreement {
        let score = |char: char| char.to_digit(10).map(f64::from);
        let rows: Vec<Vec<Option<f64>>> =
            items.iter().map(|item| item.chars().map(score).collect()).collect();
        agreement(&rows)
    }

    #[test]
    fn how_far_votes_agree_is_one_line() {
        let mut run = fixtures::empty();
        run.summary.agreement = OrderedMap(vec![
            ("two".to_owned(), votes(&["11", "12", "22", "22"])),
            ("three".to_owned(), votes(&["123", "222", "311", "33."])),
            ("same".to_owned(), votes(&["55", "55"])),
        ]);
        insta::assert_snapshot!(lines(&run.summary).join("\n"), @r"
        two, 2 votes each on 4 submissions: exact agreement 75.0%; kappa 0.50, quadratic-weighted kappa 0.50, alpha 0.53 (nominal), 0.53 (interval)
        three, 3 votes each on 3 of 4 submissions: exact agreement 33.3%; kappa 0.00 to 0.50, quadratic-weighted kappa -1.00 to 0.67, alpha 0.38 (nominal), 0.08 (interval)
        same, 2 votes each on 2 submissions: exact agreement 100.0%; kappa not defined, quadratic-weighted kappa not defined, alpha not defined
        ");
        insta::assert_snapshot!(lines_within(&run.summary, 60)[..3].join("\n"), @r"
        two, 2 votes each on 4 submissions: exact agreement 75.0%;
          kappa 0.50, quadratic-weighted kappa 0.50, alpha 0.53
          (nominal), 0.53 (interval)
        ");
    }

    #[test]
    fn what_trials_tell_is_one_line() {
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
        let mut more = trials.clone();
        more.fewest = 1;
        more.variance = None;
        more.flaky = (0..5).map(|_| more.flaky[0].clone()).collect();
        more.straddlers = None;
        run.summary.trials.0.push(("more".to_owned(), more));
        insta::assert_snapshot!(lines(&run.summary).join("\n"), @r"
        accuracy, 2 trials of 2 samples: 2 flaky: s1 [m:1,x] 1/2, <s|2> [m:1,x] 1/2; variance of scores 0.0000 between samples, 0.5000 within, ICC(1) -1.00, stderr 0.3536; 1 submission with votes on both sides of the threshold: s1 [trial 1] [turn 0] 1/3
        more, 1 to 2 trials of 2 samples: 5 flaky: s1 [m:1,x] 1/2, s1 [m:1,x] 1/2, s1 [m:1,x] 1/2 and 2 more
        ");
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
        let lines = [found, unnamed].map(|found| super::annotators_line("quality", &found));
        insta::assert_snapshot!(lines.join("\n"), @r"
        quality: 3 people agree in 93.5% of 2997 pairs on 999 cases; Krippendorff's alpha 0.87, of scores 0.88
        quality: people agree in 100.0% of 1 pair on 1 case; Krippendorff's alpha not defined
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
        let lines = [judged, all_alike, unjudged].map(|agreement| line("helpful", &agreement));
        insta::assert_snapshot!(lines.join("\n"), @r"
        helpful agrees with 40 labels: accuracy 85.0%, kappa 0.70 (0.48 to 0.92); 4 false passes, 2 false fails
        helpful agrees with 1 label: accuracy 100.0%, kappa not defined; 0 false passes, 0 false fails; 3 labels without a verdict
        helpful has no verdict for 1 label
        ");
    }
}
