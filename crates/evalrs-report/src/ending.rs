//! Why a run exits with 3, in one sentence with its cure.

use super::digest::{ErrorGroup, ReportDigest};
use evalrs_base::text::{count, sanitize};
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_model::outcome::STORED_ELSEWHERE;

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunEnding {
    /// The exit code.
    pub code: u8,
    /// Whether the budget was used up.
    pub out_of_budget: bool,
    /// Whether results could not be kept.
    pub store_failed: bool,
    /// How many judgments were to be asked anew and were not answered, so that what was stored stays.
    pub in_vain: usize,
    /// Why its judges may not be relied on, where that alone decided the exit code.
    pub uncalibrated: Vec<String>,
}

/// The exit code of a run that is incomplete or undecided.
const INCOMPLETE: u8 = 3;

impl RunEnding {
    /// Whether grades that could not be made decided the exit code.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.code == INCOMPLETE
    }

    /// Why the exit code is 3, and what to do; nothing for other codes. `suite` is named as on the command line.
    pub fn reason(&self, gate: &GateReport, digest: &ReportDigest, suite: &str) -> Option<String> {
        if !self.is_incomplete() {
            return None;
        }
        if self.store_failed {
            return Some(
                "results could not be kept: see the error above, then run it again".to_owned(),
            );
        }
        if !self.uncalibrated.is_empty() {
            return Some(format!(
                "{}: `evalrs calibrate --suite {}` compares judges with labels of people",
                sanitize(&self.uncalibrated.join("; ")),
                sanitize(suite)
            ));
        }
        if gate.first_lack().is_some() {
            return Some(
                "the gate needs labels of people: `label` in rows, `labels` in the suite, or `--labels FILE`"
                    .to_owned(),
            );
        }
        let Some(group) = digest.errors.first() else {
            return Some(match (self.out_of_budget, self.in_vain) {
                (true, _) => "the budget is used up".to_owned(),
                (false, 0) => "nothing was graded that the gate could decide on".to_owned(),
                (false, in_vain) => format!(
                    "{} could not be refreshed and stayed as stored: see the error above, then refresh again",
                    count(in_vain, "judgment")
                ),
            });
        };
        let errors = count(digest.errored, "grade");
        let what = match gate.status {
            Some(GateStatus::Undecided) => {
                format!("{errors} could not be made, and the gate depends on them")
            }
            _ => format!("{errors} could not be made"),
        };
        if self.out_of_budget {
            return Some(format!(
                "the budget is used up and {what}: run it again with a larger one"
            ));
        }
        // What was not asked was given up because of what failed, which has the better cure.
        let failed = digest.errors.iter().find(|group| group.kind != "not_asked");
        Some(format!("{what}: {}", cure(failed.unwrap_or(group), suite)))
    }
}

/// What would make the grades of a group.
pub(crate) fn cure(group: &ErrorGroup, suite: &str) -> String {
    let suite = sanitize(suite);
    match group.kind.as_str() {
        "not_stored" if group.message.starts_with(STORED_ELSEWHERE) => format!(
            "they are stored for another endpoint: write that one as `endpoint:` in {suite}, or set the variable of its base URL as it was"
        ),
        "not_stored" => format!(
            "run `evalrs run {suite}` with an API key, then `evalrs cache export {suite}`, and commit the file"
        ),
        "no_ground_truth" => "give each row a `ground_truth`".to_owned(),
        "no_output" => {
            "record an answer, or say `missing: empty` in the suite's `dataset`".to_owned()
        }
        "timeout" | "connection" | "rate_limited" | "server" | "deadline" | "killed"
        | "not_asked" | "not_kept" => {
            format!("run `evalrs run {suite}` again: it asks only for what is missing")
        }
        "not_found" => {
            format!("check the address and the model, then run `evalrs run {suite}` again")
        }
        "unauthorized" | "no_credit" => {
            format!(
                "check the API key, the account and the model, then run `evalrs run {suite}` again"
            )
        }
        "unloadable" => format!("mend the program, then run `evalrs run {suite}` again"),
        "bad_request" | "invalid_reply" | "refused" | "filtered" | "truncated" | "empty_reply"
        | "exception" | "exit" | "output_limit" => format!(
            "mend the cause and run it again, or retry what is cached with `evalrs run {suite} --retry-errors`"
        ),
        _ => format!("`evalrs explain {suite} {}` tells more", sanitize(&group.sample_id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evalrs_test_runs as fixtures;

    fn reason(ending: &RunEnding, status: Option<GateStatus>, kinds: &[&str]) -> Option<String> {
        let errors = kinds.iter().enumerate().map(|(at, kind)| fixtures::errored(at, kind, "why"));
        let gate = GateReport { status, ..GateReport::default() };
        ending.reason(&gate, &ReportDigest::of_lines(errors, 0), "a/suite.yaml")
    }

    #[test]
    fn what_is_not_found_is_mended_at_the_address() {
        let incomplete = RunEnding { code: 3, ..RunEnding::default() };
        let reason = reason(&incomplete, None, &["not_found"]).unwrap_or_default();
        assert!(reason.contains("check the address and the model, then run"), "{reason}");
    }

    #[test]
    fn the_reason_of_exit_code_3_names_its_cure() {
        let incomplete = RunEnding { code: 3, ..RunEnding::default() };
        let undecided = Some(GateStatus::Undecided);
        let cases = [
            reason(&incomplete, undecided, &["not_stored"]),
            reason(&incomplete, Some(GateStatus::Failed), &["not_stored", "timeout", "timeout"]),
            reason(&incomplete, None, &["invalid_reply"]),
            reason(&incomplete, None, &["argument"]),
            reason(&incomplete, undecided, &[]),
            reason(&incomplete, undecided, &["not_asked", "not_asked", "invalid_reply"]),
            reason(&RunEnding { in_vain: 2, ..incomplete.clone() }, None, &[]),
            reason(
                &RunEnding { out_of_budget: true, ..incomplete.clone() },
                None,
                &["not_asked"; 2],
            ),
            reason(&RunEnding { store_failed: true, ..incomplete }, None, &["timeout"]),
            reason(&RunEnding { code: 1, ..RunEnding::default() }, None, &["timeout"]),
        ];
        let lines = cases.map(|reason| reason.unwrap_or_else(|| "-".to_owned()));
        insta::assert_snapshot!(lines.join("\n"), @r"
        1 grade could not be made, and the gate depends on them: run `evalrs run a/suite.yaml` with an API key, then `evalrs cache export a/suite.yaml`, and commit the file
        3 grades could not be made: run `evalrs run a/suite.yaml` again: it asks only for what is missing
        1 grade could not be made: mend the cause and run it again, or retry what is cached with `evalrs run a/suite.yaml --retry-errors`
        1 grade could not be made: `evalrs explain a/suite.yaml s0` tells more
        nothing was graded that the gate could decide on
        3 grades could not be made, and the gate depends on them: mend the cause and run it again, or retry what is cached with `evalrs run a/suite.yaml --retry-errors`
        2 judgments could not be refreshed and stayed as stored: see the error above, then refresh again
        the budget is used up and 2 grades could not be made: run it again with a larger one
        results could not be kept: see the error above, then run it again
        -
        ");
    }
}
