//! What a report for people keeps of the results: the first failures, and what could not be graded.
//!
//! One pass, and bounded memory however many results there are. A failure is a grade that was made and did
//! not pass; a grade that could not be made is no failure and is kept apart.

use super::origin::first_text;
use evalrs_base::text::cut_middle;
use evalrs_eval::grade::{is_bare_mismatch, is_of_nothing, with_compared};
use evalrs_metrics::results::report::{BriefResult, BriefResults, Report};
use evalrs_metrics::results::{GradeLine, ResultLine};
use evalrs_model::outcome::quoted;

/// The most distinct messages that are told apart; beyond them, errors are only counted.
const MESSAGES: usize = 200;

/// The longest rationale that is kept, in characters.
const RATIONALE: usize = 2000;

/// How much is kept of an input, in characters.
const INPUT: usize = 100;

/// How much is shown of what a judge replied in place of a verdict, in characters.
const QUOTED: usize = 40;

/// The columns that a name may take where a line holds several: of a sample, of a model.
const SAMPLE: usize = 32;
const MODEL: usize = 20;

/// What was found in one pass over the results.
#[derive(Debug, Default)]
pub struct ReportDigest {
    /// The first failures in dataset order, as many as asked for.
    pub failures: Vec<FailedResult>,
    /// All failures.
    pub failed: usize,
    /// Grades that could not be made, by message: the most frequent first, then as they came.
    pub errors: Vec<ErrorGroup>,
    /// All grades that could not be made.
    pub errored: usize,
    /// Grades of 0.0 because there was nothing to grade.
    pub empty: usize,
    /// Whether some sample has more than one trial.
    pub trials: bool,
}

/// A grade that did not pass.
#[derive(Debug)]
pub struct FailedResult {
    pub sample_id: String,
    pub model: Option<String>,
    pub trial: u32,
    pub grader: String,
    /// The position of its result.
    pub at: usize,
    /// The beginning of its input.
    pub input: String,
    pub score: f64,
    pub rationale: String,
}

/// Grades that could not be made for the same reason.
#[derive(Debug)]
pub struct ErrorGroup {
    pub kind: String,
    pub message: String,
    /// What the judge of the first of them replied in place of a verdict.
    reply: Option<String>,
    pub count: usize,
    /// The first of them: its sample and its grader.
    pub sample_id: String,
    pub grader: String,
    /// The position of its result.
    pub at: usize,
    /// The beginning of its input.
    pub input: String,
}

impl ReportDigest {
    /// Reads all results and keeps the first `keep` failures.
    pub fn of(report: &Report<'_>, keep: usize) -> Self {
        Self::of_graders(report, keep, &|_| true)
    }

    /// The same of results that are there.
    pub fn of_lines(lines: impl Iterator<Item = ResultLine>, keep: usize) -> Self {
        let whole: Vec<_> = lines.map(|line| BriefResult::Whole(Box::new(line))).collect();
        Self::of_briefs(Box::new(whole.into_iter()), keep, &|_| true)
    }

    /// The same of some of the graders.
    pub fn of_graders(report: &Report<'_>, keep: usize, counts: &dyn Fn(&str) -> bool) -> Self {
        let briefs = report.briefs.map_or_else(
            || -> BriefResults<'_> {
                Box::new((report.results)().map(|line| BriefResult::Whole(Box::new(line))))
            },
            |briefs| briefs(keep),
        );
        // The failure of a rubric says which of its criteria are not met.
        let counts = |name: &str| counts(name) && !report.summary.is_of_rubric(name);
        Self::of_briefs(briefs, keep, &counts)
    }

    /// The same of results that were read already.
    pub fn of_briefs(
        results: BriefResults<'_>,
        keep: usize,
        counts: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut digest = Self::default();
        for (at, result) in results.enumerate() {
            match result {
                BriefResult::Whole(result) => digest.add(at, &result, keep, counts),
                BriefResult::Failed { trial, graders } => {
                    digest.trials |= trial > 0;
                    digest.failed += graders.iter().filter(|grader| counts(grader)).count();
                }
            }
        }
        // Stable: groups of equal size stay in the order of their first member.
        digest.errors.sort_by_key(|group| std::cmp::Reverse(group.count));
        for group in &mut digest.errors {
            if let Some(reply) = group.reply.take() {
                // First: where lines are cut, the message says no more than the kind.
                group.message = format!("replied {}: {}", quoted(&reply, QUOTED), group.message);
            }
        }
        digest
    }

    /// That some grades are of nothing, if some are: they are verdicts, but probably of an agent that crashed.
    pub(crate) fn empty_line(&self) -> Option<String> {
        match self.empty {
            0 => None,
            1 => Some("1 grade is 0.0 because there was nothing to grade".to_owned()),
            empty => Some(format!("{empty} grades are 0.0 because there was nothing to grade")),
        }
    }

    fn add(&mut self, at: usize, result: &ResultLine, keep: usize, counts: &dyn Fn(&str) -> bool) {
        self.trials |= result.trial > 0;
        for (grader, grade) in result.grades.0.iter().filter(|(grader, _)| counts(grader)) {
            self.empty += usize::from(is_of_nothing(&grade.rationale));
            if let Some(error) = &grade.error {
                self.errored += 1;
                let mut same = self.errors.iter_mut();
                let same = same.find(|of| of.message == error.message && of.kind == error.kind);
                if let Some(group) = same {
                    group.count += 1;
                } else if self.errors.len() < MESSAGES {
                    self.errors.push(ErrorGroup {
                        kind: error.kind.clone(),
                        message: error.message.clone(),
                        reply: replied(grade).map(str::to_owned),
                        count: 1,
                        sample_id: result.sample_id.clone(),
                        grader: grader.clone(),
                        at,
                        input: first_text(&result.input).chars().take(INPUT).collect(),
                    });
                }
            } else if !grade.pass {
                self.failed += 1;
                if self.failures.len() < keep {
                    self.failures.push(failure(at, result, grader, grade));
                }
            }
        }
    }
}

fn failure(at: usize, result: &ResultLine, grader: &str, grade: &GradeLine) -> FailedResult {
    FailedResult {
        sample_id: result.sample_id.clone(),
        model: result.model.clone(),
        trial: result.trial,
        grader: grader.to_owned(),
        at,
        input: first_text(&result.input).chars().take(INPUT).collect(),
        score: grade.score,
        rationale: reason(result, grader, grade).chars().take(RATIONALE).collect(),
    }
}

/// What a judge replied in place of a verdict.
fn replied(grade: &GradeLine) -> Option<&str> {
    let reply = grade.metadata.get("reply")?.as_str()?;
    (!reply.trim().is_empty()).then_some(reply)
}

/// The rationale of a grade for people. One that only says no to a comparison with the ground truth of the row is followed
/// by what was expected and what came: records hold both anyway, and their rationale is fixed.
pub(crate) fn reason(result: &ResultLine, grader: &str, grade: &GradeLine) -> String {
    let rationale = &grade.rationale;
    match (result.submission_of(grader), result.ground_truth.as_str()) {
        (Some(submission), Some(truth)) if is_bare_mismatch(rationale) => {
            with_compared(rationale, truth, submission)
        }
        _ => rationale.clone(),
    }
}

/// The name of one result: `id [model] [trial n]`, the trial only where there are several.
pub(crate) fn label(sample_id: &str, model: Option<&str>, trial: Option<u32>) -> String {
    let model = model.map_or_else(String::new, |model| format!(" [{model}]"));
    let trial = trial.map_or_else(String::new, |trial| format!(" [trial {trial}]"));
    format!("{sample_id}{model}{trial}")
}

/// The name of a result, every part of it harmless and cut by itself.
pub fn case_name(sample_id: &str, model: Option<&str>, trial: Option<u32>) -> String {
    let sample_id = cut_middle(sample_id, SAMPLE);
    let model = model.map(|model| cut_middle(model, MODEL));
    label(&sample_id, model.as_deref(), trial)
}

impl FailedResult {
    /// The name of its result.
    pub fn label(&self, trials: bool) -> String {
        label(&self.sample_id, self.model.as_deref(), trials.then_some(self.trial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evalrs_test_runs as fixtures;

    #[test]
    fn a_rationale_that_only_says_no_is_followed_by_what_was_compared() {
        let mut result = fixtures::graded(0, 0.0);
        let (grader, grade) = result.grades.0[0].clone();
        result.ground_truth = "Paris".into();
        result.submission = "x".repeat(100);
        for (rationale, expected) in [
            (
                "Exact match: False",
                format!("Exact match: False (expected `Paris`, found `{}…`)", "x".repeat(60)),
            ),
            ("Exact match: True", "Exact match: True".to_owned()),
            ("too rude", "too rude".to_owned()),
            // These compare nothing with the ground truth.
            ("Tool calls: 5 of at most 3: False", "Tool calls: 5 of at most 3: False".to_owned()),
            ("One of 2 accepted values: False", "One of 2 accepted values: False".to_owned()),
            ("No tool errors: False (1 failed)", "No tool errors: False (1 failed)".to_owned()),
        ] {
            let grade = GradeLine { rationale: rationale.to_owned(), ..grade.clone() };
            assert_eq!(reason(&result, &grader, &grade), expected);
        }
        result.ground_truth = serde_json::Value::Null;
        let grade = GradeLine { rationale: "Exact match: False".to_owned(), ..grade };
        assert_eq!(reason(&result, &grader, &grade), "Exact match: False");
    }

    #[test]
    fn errors_are_grouped_and_are_no_failures() {
        let run = fixtures::Run {
            results: (0..1000)
                .map(|at| match at % 4 {
                    0 => fixtures::errored(at, "timeout", "no answer"),
                    1 if at < 500 => fixtures::errored(at, "reply", "no score"),
                    1 => fixtures::errored(at, "reply", &format!("odd {at}")),
                    2 => fixtures::graded(at, 0.2),
                    _ => fixtures::graded(at, 1.0),
                })
                .collect(),
            ..fixtures::empty()
        };
        let digest = ReportDigest::of_lines(run.results.iter().cloned(), 3);
        assert_eq!((digest.failed, digest.errored, digest.trials), (250, 500, false));
        let ids: Vec<_> = digest.failures.iter().map(|failure| &failure.sample_id).collect();
        assert_eq!(ids, ["s2", "s6", "s10"]);
        let groups: Vec<_> = digest
            .errors
            .iter()
            .take(3)
            .map(|group| (group.message.as_str(), group.count, group.sample_id.as_str()))
            .collect();
        assert_eq!(
            groups,
            [("no answer", 250, "s0"), ("no score", 125, "s1"), ("odd 501", 1, "s501")]
        );
        assert_eq!(digest.errors.len(), 127);
    }

    #[test]
    fn labels_name_what_there_is() {
        assert_eq!(label("a", None, None), "a");
        assert_eq!(label("a", Some("m"), Some(2)), "a [m] [trial 2]");
    }
}
