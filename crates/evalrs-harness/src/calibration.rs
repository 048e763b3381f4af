//! The report that people mark when they check a grader: each sample with what it was given and why.

use std::fmt::Write;

use serde_json::Value;

use super::json::number;
use super::lines::JsonRecord;
use super::record::GraderResult;
use super::words::{fenced, first, shortened, shown, text_of};

/// The characters of an output that are shown.
const OUTPUT: usize = 500;
/// The characters of what a step says that are shown.
const STEP: usize = 100;
/// Trajectories of this many steps are shown whole.
const STEPS: usize = 5;

/// A result to be checked by somebody.
#[derive(Clone, Debug)]
pub(crate) struct SampledResult {
    /// The result as it was recorded, with its score.
    pub record: JsonRecord,
    /// What another grader says of it.
    pub rescored: Option<GraderResult>,
}

/// The report, without a line break at its end. `generated` is the time, RFC 3339.
pub(crate) fn report(samples: &[SampledResult], generated: &str) -> String {
    let mut text = format!(
        "# Grader Calibration Report\n\nGenerated: {generated}\nSamples: {}\n\n## Instructions\n\n\
         Read each sample and mark one box:\n\n\
         - [ ] **Valid failure**: the agent failed, and the grader is right\n\
         - [ ] **Grader bug**: the agent was right, and the grader is wrong\n\
         - [ ] **Ambiguous**: the task or the hint allows both\n\n---\n",
        samples.len()
    );
    for (at, sample) in samples.iter().enumerate() {
        write_sample(&mut text, at + 1, sample);
    }
    text.truncate(text.trim_end().len());
    text
}

fn write_sample(
    to: &mut String,
    ordinal: usize,
    SampledResult { record, rescored }: &SampledResult,
) {
    let mut block = |lines: &str| to.extend(["\n", lines, "\n"]);
    block(&format!("## Sample {ordinal}: {}", text_of(record, "id")));
    block(&format!("**Input:** {}", input(record.get("input"))));
    let hint = text_of(record, "hint");
    if !hint.is_empty() {
        block(&format!("**Hint:** {hint}"));
    }
    block(&format!("**Output:** {}", shortened(text_of(record, "output"), OUTPUT)));
    if let Some(score) = record.get("score") {
        let pass = score["pass"].as_bool().unwrap_or_default();
        let points = score["score"].as_f64().unwrap_or_default();
        block(&format!("**Original Score:** {}", verdict(pass, points)));
        let reasoning = score["reasoning"].as_str().unwrap_or_default();
        if !reasoning.is_empty() {
            block(&format!("**Reasoning:** {reasoning}"));
        }
    }
    if let Some(GraderResult { pass, score, reasoning, .. }) = rescored {
        block(&format!("**Re-scored:** {}", verdict(*pass, *score)));
        if let Some(reasoning) = reasoning.as_deref().filter(|text| !text.is_empty()) {
            block(&format!("**Re-score Reasoning:** {reasoning}"));
        }
    }
    block(&format!("**Trajectory Snippet:**\n\n{}", fenced(&snippet(record.get("trajectory")))));
    block("**Review:**\n\n- [ ] Valid failure\n- [ ] Grader bug\n- [ ] Ambiguous");
    block("---");
}

fn verdict(pass: bool, score: f64) -> String {
    format!("{} ({})", if pass { "PASS" } else { "FAIL" }, number(score))
}

fn input(value: Option<&Value>) -> String {
    match value {
        Some(Value::Array(turns)) => {
            turns.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        }
        other => other.map(shown).unwrap_or_default(),
    }
}

/// The steps that tell most of a trajectory, a line each: all of a short one, else its beginning, middle and end.
fn snippet(trajectory: Option<&Value>) -> String {
    let steps = trajectory.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let count = steps.len();
    let chosen: Vec<&Value> = if count <= STEPS {
        steps.iter().collect()
    } else {
        [0, 1, count / 2, count - 2, count - 1].map(|at| &steps[at]).to_vec()
    };
    let mut lines = String::new();
    for step in chosen {
        let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = match text("type") {
            "tool_call" => writeln!(lines, "[tool_call] {}: {}", text("name"), text("status")),
            "plan" => {
                let entries = step["entries"].as_array().map_or(0, Vec::len);
                writeln!(lines, "[plan] {entries} entries")
            }
            kind => writeln!(lines, "[{kind}] {}...", first(text("content"), STEP)),
        };
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SampledResult, report, snippet};
    use crate::record::GraderResult;
    use crate::words::fenced;

    #[test]
    fn a_sample_shows_what_decides_it() {
        let record = json!({
            "id": "a", "input": ["one", "two"], "hint": "h", "output": "é".repeat(501),
            "score": {"pass": false, "score": 0.5, "reasoning": "no é"},
            "trajectory": [
                {"type": "thought", "content": "hm", "timestamp": 0},
                {"type": "tool_call", "name": "Read", "status": "failed", "timestamp": 1},
                {"type": "plan", "entries": [1, 2], "timestamp": 2},
            ],
        });
        let rescored =
            GraderResult {
                pass: true, score: 1.0, reasoning: Some("é".to_owned()), outcome: None
            };
        let plain =
            json!({"id": "b", "input": "q", "output": "o", "score": {"pass": false, "score": 0}});
        let samples = [(record, Some(rescored)), (plain, None)].map(|(record, rescored)| {
            SampledResult { record: record.as_object().unwrap().clone(), rescored }
        });
        let text = report(&samples, "2026-01-01T00:00:00Z").replace(&"é".repeat(500), "(500 é)");
        insta::assert_snapshot!(text, @r"
        # Grader Calibration Report

        Generated: 2026-01-01T00:00:00Z
        Samples: 2

        ## Instructions

        Read each sample and mark one box:

        - [ ] **Valid failure**: the agent failed, and the grader is right
        - [ ] **Grader bug**: the agent was right, and the grader is wrong
        - [ ] **Ambiguous**: the task or the hint allows both

        ---

        ## Sample 1: a

        **Input:** one,two

        **Hint:** h

        **Output:** (500 é)...

        **Original Score:** FAIL (0.5)

        **Reasoning:** no é

        **Re-scored:** PASS (1)

        **Re-score Reasoning:** é

        **Trajectory Snippet:**

        ```
        [thought] hm...
        [tool_call] Read: failed
        [plan] 2 entries
        ```

        **Review:**

        - [ ] Valid failure
        - [ ] Grader bug
        - [ ] Ambiguous

        ---

        ## Sample 2: b

        **Input:** q

        **Output:** o

        **Original Score:** FAIL (0)

        **Trajectory Snippet:**

        ```
        ```

        **Review:**

        - [ ] Valid failure
        - [ ] Grader bug
        - [ ] Ambiguous

        ---
        ");
        let empty = report(&[], "now");
        assert!(empty.contains("Samples: 0\n") && empty.ends_with("---"), "{empty}");
    }

    #[test]
    fn long_trajectories_are_shown_by_beginning_middle_and_end() {
        let steps = |count: usize| -> Value {
            (0..count).map(|at| json!({"type": "message", "content": at.to_string()})).collect()
        };
        for (count, expected) in
            [(0, ""), (5, "01234"), (6, "01345"), (7, "01356"), (100, "0 1 50 98 99")]
        {
            let lines = snippet(Some(&steps(count)));
            let shown: Vec<&str> = lines
                .lines()
                .map(|line| line.trim_start_matches("[message] ").trim_end_matches("..."))
                .collect();
            let gap = if count > 9 { " " } else { "" };
            assert_eq!(shown.join(gap), expected);
        }
    }

    #[test]
    fn nothing_closes_the_fence() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("````\n"), "`````\n````\n`````");
    }
}
