//! Runs of a suite over time: what each came to, where their numbers stop being comparable, and whether they slide.
//!
//! A number means what its grader, the judge behind it and the questions make of it. Where one of these changes, a trend
//! starts anew. The target may change: that is what is measured. Knows lines, not files.

pub mod against_people;
pub mod line;
pub mod slide;

use serde::Serialize;

use self::against_people::{AgreesLess, agree_less};
pub use self::line::{
    GraderDigests, HISTORY_FORMAT, HistoryAgreement, HistoryDeclared, HistoryLine, HistoryMetric,
    digest, says_more,
};
use self::slide::Slide;
use super::gate::GateReport;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;

/// The runs of a suite: the shape of `history --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryReport {
    /// The runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// Graders whose means go down, by the last run.
    pub slides: Vec<Slide>,
}

/// A run among those before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// The run.
    pub id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Grader → its result.
    pub metrics: OrderedMap<HistoryMetric>,
    /// Metric that the suite declares → its result.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub declared: OrderedMap<HistoryDeclared>,
    /// The status of the gate.
    pub gate: GateReport,
    /// What it spent, in US dollars.
    pub cost: Option<Cost>,
    /// Grader → the digest of what decides its grades.
    pub digests: OrderedMap<String>,
    /// The digest of the input.
    pub dataset: Option<String>,
    /// The digest of a live target.
    pub target: Option<String>,
    /// What changed against the run before it.
    pub breaks: Vec<HistoryBreak>,
    /// Graders whose mean went up while they agree less with people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agree_less: Vec<AgreesLess>,
}

/// The lines of a suite as runs, each with what changed before it.
pub fn runs_of_lines(lines: &[HistoryLine]) -> Vec<HistoryRun> {
    let runs = lines.iter().enumerate().map(|(at, line)| {
        let digests = line.digests.0.iter().map(|(name, parts)| (name.clone(), parts.whole()));
        HistoryRun {
            id: line.id.clone(),
            started: line.started.clone(),
            metrics: line.metrics.clone(),
            declared: line.declared.clone(),
            gate: line.gate.clone(),
            cost: line.cost,
            digests: OrderedMap(digests.collect()),
            dataset: line.dataset.clone(),
            target: line.target.clone(),
            breaks: breaks(&lines[..at], line),
            agree_less: agree_less(&lines[..at], line),
        }
    });
    runs.collect()
}

/// What changed between two runs, so that numbers before and after it are not of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryBreak {
    /// The grader whose numbers it breaks; none for all of them.
    pub grader: Option<String>,
    /// The declared metric whose numbers it breaks, and no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What changed.
    pub what: ChangedPart,
    /// The same in words.
    pub text: String,
}

/// What a number rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedPart {
    /// The rubric of a grader.
    Rubric,
    /// The judges of a grader.
    Model,
    /// Other settings of a grader.
    Settings,
    /// The questions.
    Dataset,
    /// What is evaluated.
    Target,
    /// What the suite says of a declared metric.
    Metric,
}

/// What changed since `earlier` runs, the last of which is the one before: of each grader since it was last there, then
/// what is common to all.
fn breaks(earlier: &[HistoryLine], now: &HistoryLine) -> Vec<HistoryBreak> {
    let mut all = Vec::new();
    for (grader, new) in &now.digests.0 {
        let Some(old) = earlier.iter().rev().find_map(|line| line.digests.get(grader)) else {
            continue;
        };
        for (differs, what, word) in [
            (old.rubric != new.rubric, ChangedPart::Rubric, "rubric"),
            (old.model != new.model, ChangedPart::Model, "judge model"),
            (old.settings != new.settings, ChangedPart::Settings, "settings"),
        ] {
            if differs {
                let text = format!("{grader}: {word} changed");
                all.push(HistoryBreak { grader: Some(grader.clone()), metric: None, what, text });
            }
        }
    }
    for (metric, new) in &now.declared.0 {
        let old = earlier.iter().rev().find_map(|line| line.declared.get(metric));
        if old.is_some_and(|old| old.definition != new.definition) {
            let text = format!("{metric}: metric changed");
            let metric = Some(metric.clone());
            all.push(HistoryBreak { grader: None, metric, what: ChangedPart::Metric, text });
        }
    }
    let Some(before) = earlier.last() else { return all };
    let whole = [
        (before.dataset != now.dataset, ChangedPart::Dataset, "dataset changed"),
        (before.target != now.target, ChangedPart::Target, "target changed"),
    ];
    for (_, what, text) in whole.into_iter().filter(|(differs, ..)| *differs) {
        all.push(HistoryBreak { grader: None, metric: None, what, text: text.to_owned() });
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::line::DIGITS;
    use super::*;

    fn grader(settings: &Value) -> GraderDigests {
        GraderDigests::of(settings.as_object().unwrap())
    }

    fn rubric(prompt: &str, model: &str, threshold: f64) -> GraderDigests {
        grader(&json!({"name": "q", "pass_threshold": threshold, "prompt": prompt, "model": model,
            "judges": [{"provider": "openai", "model": model, "temperature": 0}]}))
    }

    fn line(id: &str, digests: GraderDigests, mean: f64) -> HistoryLine {
        let metric = HistoryMetric {
            n: 100,
            mean: Some(mean),
            stderr: Some(0.01),
            ..HistoryMetric::default()
        };
        HistoryLine {
            format: HISTORY_FORMAT,
            id: id.to_owned(),
            suite: "s.yaml".to_owned(),
            started: String::new(),
            metrics: OrderedMap(vec![("q".to_owned(), metric)]),
            declared: OrderedMap::default(),
            gate: GateReport::default(),
            digests: OrderedMap(vec![("q".to_owned(), digests)]),
            dataset: Some("d".to_owned()),
            target: None,
            cost: None,
        }
    }

    #[test]
    fn what_changed_is_named() {
        let old = line("a", rubric("Good?", "m", 0.5), 0.5);
        let with = |digests: GraderDigests| line("b", digests, 0.5);
        let data = HistoryLine { dataset: Some("e".to_owned()), ..old.clone() };
        let target = HistoryLine { target: Some("t".to_owned()), ..old.clone() };
        let other = HistoryLine {
            digests: OrderedMap(vec![("k".to_owned(), rubric("x", "y", 1.0))]),
            ..old.clone()
        };
        let declares = |definition: &str| HistoryLine {
            declared: OrderedMap(vec![(
                "f1".to_owned(),
                HistoryDeclared { definition: definition.to_owned(), ..HistoryDeclared::default() },
            )]),
            ..old.clone()
        };
        let redefined = breaks(&[declares("1"), old.clone()], &declares("2"));
        assert_eq!((redefined.len(), redefined[0].text.as_str()), (1, "f1: metric changed"));
        assert_eq!((&redefined[0].grader, redefined[0].metric.as_deref()), (&None, Some("f1")));
        for (now, expected) in [
            (declares("1"), &[][..]),
            (with(rubric("Good?", "m", 0.5)), &[]),
            (with(rubric("Kind?", "m", 0.5)), &["q: rubric changed"]),
            (with(rubric("Good?", "n", 0.5)), &["q: judge model changed"]),
            (with(rubric("Good?", "m", 0.6)), &["q: settings changed"]),
            (
                with(rubric("Kind?", "n", 0.6)),
                &["q: rubric changed", "q: judge model changed", "q: settings changed"],
            ),
            (data, &["dataset changed"]),
            (target, &["target changed"]),
            (other, &[]),
        ] {
            let found = breaks(std::slice::from_ref(&old), &now);
            let found: Vec<String> = found.into_iter().map(|one| one.text).collect();
            assert_eq!(found, expected);
        }
        let without = HistoryLine { digests: OrderedMap::default(), ..old.clone() };
        let found = breaks(&[old, without], &with(rubric("Kind?", "m", 0.5)));
        assert_eq!(found[0].text, "q: rubric changed", "a grader that was away");
        assert!(breaks(&[], &with(rubric("Kind?", "m", 0.5))).is_empty());
    }

    #[test]
    fn graders_without_judges_have_settings_alone() {
        let tool = grader(&json!({"name": "q", "function": "contains", "pass_threshold": 1.0}));
        assert_eq!(
            (tool.rubric.is_none(), tool.model.is_none(), tool.settings.len()),
            (true, true, DIGITS)
        );
        assert_ne!(tool.whole(), rubric("", "", 1.0).whole());
        let other =
            json!({"seed": null, "pass_threshold": 1.0, "function": "contains", "name": "q"});
        assert_eq!(tool, grader(&other), "order and what says nothing");
    }

    #[test]
    fn the_same_figures_say_no_more() {
        let old = line("a", rubric("Good?", "m", 0.5), 0.5);
        let again = HistoryLine {
            id: "b".to_owned(),
            started: "later".to_owned(),
            cost: Cost::from_dollars(1.0),
            ..old.clone()
        };
        assert!(!says_more(&old, &again));
        assert!(says_more(&old, &line("b", rubric("Good?", "m", 0.5), 0.51)));
        assert!(says_more(&old, &line("b", rubric("Kind?", "m", 0.5), 0.5)));
    }
}
