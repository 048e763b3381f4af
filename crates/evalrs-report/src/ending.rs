//! Why a run exits with 3 or 4, in one sentence with its cure.

use super::digest::{ErrorGroup, ReportDigest};
use super::page::{Text, command, quoted, text};
use evalrs_base::text::count;
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
    /// How many judgments are out in batches.
    pub out: usize,
    /// Why its judges may not be relied on, where that alone decided the exit code.
    pub uncalibrated: Vec<String>,
}

/// The exit code of a run that is incomplete or undecided.
const INCOMPLETE: u8 = 3;
/// That of one whose judgments are out in batches.
const IN_BATCH: u8 = 4;

impl RunEnding {
    /// Whether grades that could not be made decided the exit code.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.code == INCOMPLETE
    }

    /// Whether judgments that are out in batches did.
    pub(crate) fn is_in_batch(&self) -> bool {
        self.code == IN_BATCH
    }

    /// Why the exit code is 3 or 4, and what to do; nothing for other codes. `suite` is named as on the command line.
    pub fn reason(&self, gate: &GateReport, digest: &ReportDigest, suite: &str) -> Option<Text> {
        if self.is_in_batch() {
            let out = count(self.out, "judgment");
            let verb = if self.out == 1 { "is" } else { "are" };
            let run = command(&format!("evalrs run {suite}"));
            return Some(text![format!("{out} {verb} out in a batch: "), run, " collects them"]);
        }
        if !self.is_incomplete() {
            return None;
        }
        if self.store_failed {
            return Some("results could not be kept: see the error above, then rerun".into());
        }
        if !self.uncalibrated.is_empty() {
            let doubts = quoted(&self.uncalibrated.join("; "));
            let calibrate = command(&format!("evalrs calibrate --suite {suite}"));
            return Some(text![doubts, ": ", calibrate, " compares judges with human labels"]);
        }
        if gate.first_lack().is_some() {
            let [label, labels, flag] = ["label", "labels", "--labels FILE"].map(command);
            return Some(text![
                "the gate needs human labels: ",
                label,
                " in rows, ",
                labels,
                " in the suite, or ",
                flag
            ]);
        }
        let Some(group) = digest.errors.first() else {
            return Some(match (self.out_of_budget, self.in_vain) {
                (true, _) => "the budget is used up".into(),
                (false, 0) => "nothing was graded that the gate could decide on".into(),
                (false, in_vain) => format!(
                    "{} could not be refreshed and stayed as cached: see the error above, then refresh again",
                    count(in_vain, "judgment")
                )
                .into(),
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
            let what = format!("the budget is used up and {what}: rerun with a larger one");
            return Some(what.into());
        }
        // What was not asked was given up because of what failed, which has the better cure.
        let failed = digest.errors.iter().find(|group| group.kind != "not_asked");
        Some(text![what, ": ", cure(failed.unwrap_or(group), suite)])
    }
}

/// What would make the grades of a group.
pub(crate) fn cure(group: &ErrorGroup, suite: &str) -> Text {
    let run = command(&format!("evalrs run {suite}"));
    match group.kind.as_str() {
        "not_stored" if group.message.starts_with(STORED_ELSEWHERE) => text![
            "they are cached for another endpoint: write that one as ",
            command("endpoint:"),
            " in ",
            quoted(suite),
            ", or set the variable of its base URL as it was"
        ],
        "not_stored" => text![
            "run ",
            run,
            " with an API key, then ",
            command(&format!("evalrs cache export {suite}")),
            ", and commit the file"
        ],
        "no_ground_truth" => text!["give each row a ", command("ground_truth")],
        "no_output" => text![
            "record an answer, or write ",
            command("missing: empty"),
            " in the suite's ",
            command("dataset")
        ],
        "timeout" | "connection" | "rate_limited" | "server" | "deadline" | "killed"
        | "not_asked" | "not_kept" => {
            text!["rerun ", run, ": it makes only the missing calls"]
        }
        "not_found" => text!["check the address and the model, then rerun ", run],
        "unauthorized" | "no_credit" => {
            text!["check the API key, the account and the model, then rerun ", run]
        }
        "unloadable" => text!["fix the program, then rerun ", run],
        "bad_request" | "invalid_reply" | "refused" | "filtered" | "truncated" | "empty_reply"
        | "exception" | "exit" | "output_limit" => text![
            "fix the cause and rerun, or retry cached failures with ",
            command(&format!("evalrs run {suite} --retry-errors"))
        ],
        _ => {
            text!["for more, run ", command(&format!("evalrs explain {suite} {}", group.sample_id))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evalrs_test_runs as fixtures;

    fn reason(ending: &RunEnding, status: Option<GateStatus>, kinds: &[&str]) -> Option<String> {
        let errors = kinds.iter().enumerate().map(|(at, kind)| fixtures::errored(at, kind, "why"));
        let gate = GateReport { status, ..GateReport::default() };
        let reason = ending.reason(&gate, &ReportDigest::of_lines(errors, 0), "a/suite.yaml");
        reason.map(|reason| reason.to_string())
    }

    #[test]
    fn what_is_not_found_is_fixed_at_the_address() {
        let incomplete = RunEnding { code: 3, ..RunEnding::default() };
        let reason = reason(&incomplete, None, &["not_found"]).unwrap_or_default();
        assert!(reason.contains("check the address and the model, then rerun"), "{reason}");
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
        3 grades could not be made: rerun `evalrs run a/suite.yaml`: it makes only the missing calls
        1 grade could not be made: fix the cause and rerun, or retry cached failures with `evalrs run a/suite.yaml --retry-errors`
        1 grade could not be made: for more, run `evalrs explain a/suite.yaml s0`
        nothing was graded that the gate could decide on
        3 grades could not be made, and the gate depends on them: fix the cause and rerun, or retry cached failures with `evalrs run a/suite.yaml --retry-errors`
        2 judgments could not be refreshed and stayed as cached: see the error above, then refresh again
        the budget is used up and 2 grades could not be made: rerun with a larger one
        results could not be kept: see the error above, then rerun
        -
        ");
    }
}
