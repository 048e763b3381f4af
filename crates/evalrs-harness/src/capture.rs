//! The records of prompts that an agent was given: what `capture` writes of one conversation, and `trials` of several.
//!
//! They are views of what is kept of a conversation: its lines are read by the adapter again.

use serde_json::{Value, json};

use super::lines::{JsonRecord, members_of};
use super::record::{GraderResult, grader_input};
use super::trial_rates::TrialRates;
use evalrs_eval::adapter::{Adapter, TurnReader, Update, said, steps};
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_model::outcome::Usage;

/// Puts a member into a record.
fn put(record: &mut JsonRecord, name: &str, value: impl Into<Value>) {
    record.insert(name.to_owned(), value.into());
}

/// What an agent did for a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CapturedPrompt {
    pub output: String,
    pub trajectory: Vec<Value>,
    /// What is kept of the conversation; none if it could not begin.
    pub answer: Option<TargetAnswer>,
    /// The usage, if reported.
    pub usage: Option<Usage>,
    /// When it began, in milliseconds since 1970.
    pub start: u64,
    /// What kept the agent from being run, why it failed, or what kept the grader from grading.
    pub errors: Vec<String>,
    /// Whether the result of a turn says that it failed.
    pub says_failed: bool,
    /// Why what it did is not kept, if it is not.
    pub problem: Option<String>,
    /// The folder that was the agent's own.
    pub folder: Option<String>,
    pub score: Option<GraderResult>,
}

impl CapturedPrompt {
    /// What is kept of a conversation, read by the adapter.
    pub(crate) fn read(adapter: &Adapter, answer: TargetAnswer, usage: Option<Usage>) -> Self {
        let mut updates: Vec<(Update, u64)> = Vec::new();
        let mut last = String::new();
        let mut says_failed = false;
        for turn in &answer.lines {
            let mut reader = TurnReader::new(adapter);
            for line in turn {
                if reader.line(&line.1, line.0) {
                    break;
                }
            }
            let mut turn = reader.finish();
            updates.append(&mut turn.updates);
            last = turn.answer;
            says_failed |= turn.has_failed;
        }
        Self {
            output: if last.is_empty() { said(&updates) } else { last },
            trajectory: steps(&updates),
            start: answer.started_at.unwrap_or(0),
            says_failed,
            usage,
            answer: Some(answer),
            ..Self::default()
        }
    }

    /// An agent that could not be run.
    pub(crate) fn failed(message: String, now: u64) -> Self {
        Self { errors: vec![message], start: now, ..Self::default() }
    }

    fn duration(&self) -> u64 {
        self.answer.as_ref().map_or(0, |answer| answer.duration_ms)
    }

    /// The input of a grader. `cwd` is where the agent worked, where that was said.
    pub(crate) fn grader_input(&self, prompt: &JsonRecord, cwd: Option<&str>) -> String {
        let output = Value::from(self.output.as_str());
        let trajectory = Value::from(self.trajectory.clone());
        let cwd = cwd.map(Value::from);
        grader_input(|name| match name {
            "output" => Some(&output),
            "trajectory" => Some(&trajectory),
            "cwd" => cwd.as_ref(),
            name => prompt.get(name),
        })
    }

    /// The record of a prompt that was given to the agent once.
    pub(crate) fn record(&self, prompt: &JsonRecord, agent: &str) -> JsonRecord {
        let mut record = members_of(prompt, &["id", "input"]);
        put(&mut record, "output", self.output.as_str());
        if self.answer.is_some() {
            record.extend(hint(prompt));
        }
        put(&mut record, "trajectory", self.trajectory.clone());
        put(&mut record, "metadata", self.metadata(prompt, agent));
        put(&mut record, "timing", self.timing());
        put(&mut record, "toolErrors", self.has_tool_errors());
        if !self.errors.is_empty() {
            put(&mut record, "errors", self.errors.clone());
        }
        if let Some(score) = &self.score {
            put(&mut record, "score", json!(score));
            record.extend(score.outcome.clone().map(|found| ("outcome".to_owned(), json!(found))));
        }
        record
    }

    /// The record of what the agent wrote. Of a line for a shell, what it wrote to standard error is an error.
    pub(crate) fn raw_record(&self, prompt: &JsonRecord, is_shell: bool) -> JsonRecord {
        let mut record = members_of(prompt, &["id", "input"]);
        record.extend(hint(prompt));
        put(&mut record, "metadata", metadata_of(prompt));
        let answer = self.answer.as_ref();
        let lines = answer.into_iter().flat_map(|answer| answer.lines.iter().flatten());
        let lines: Vec<_> = lines.filter(|line| !(is_shell && line.1.trim().is_empty())).collect();
        let texts: Value = lines.iter().map(|line| line.1.as_str()).collect();
        put(&mut record, "rawLines", texts);
        let times: Value = lines.iter().map(|line| line.0).collect();
        put(&mut record, "rawTimes", times);
        let mut timing = self.timing();
        timing.retain(|name, _| {
            matches!(name.as_str(), "start" | "end" | "sessionCreation" | "total")
        });
        put(&mut record, "timing", timing);
        let stderr = answer.and_then(|answer| answer.row.get("stderr")).and_then(Value::as_str);
        let told = self.errors.first().or(self.problem.as_ref()).map(String::as_str);
        let error = told.or(stderr.filter(|_| is_shell));
        record.extend(error.map(|error| ("error".to_owned(), json!(error))));
        record
    }

    fn has_tool_errors(&self) -> bool {
        let has_failed = |step: &Value| step["type"] == "tool_call" && step["status"] == "failed";
        self.answer.is_none() || self.has_timed_out() || self.trajectory.iter().any(has_failed)
    }

    fn has_timed_out(&self) -> bool {
        let exit = self.answer.as_ref().and_then(|answer| answer.exit);
        exit.is_some_and(|exit| exit.timed_out)
    }

    fn metadata(&self, prompt: &JsonRecord, agent: &str) -> JsonRecord {
        let mut metadata = metadata_of(prompt);
        put(&mut metadata, "agent", agent);
        put(&mut metadata, "trajectoryRichness", richness(&self.trajectory));
        let turns = prompt.get("input").and_then(Value::as_array).map_or(1, Vec::len);
        put(&mut metadata, "turnCount", turns);
        if let Some(folder) = &self.folder {
            put(&mut metadata, "workspaceDir", folder.as_str());
        }
        if let Some(exit) = self.answer.as_ref().and_then(|answer| answer.exit) {
            put(&mut metadata, "exitCode", json!(exit.code));
            if exit.timed_out {
                put(&mut metadata, "signal", "SIGTERM");
            }
            put(&mut metadata, "timedOut", exit.timed_out);
        }
        metadata
    }

    fn timing(&self) -> JsonRecord {
        let mut timing = JsonRecord::new();
        put(&mut timing, "start", self.start);
        put(&mut timing, "end", self.start + self.duration());
        if let Some(first) = self.trajectory.first().and_then(|step| step["timestamp"].as_u64()) {
            put(&mut timing, "firstResponse", first);
        }
        put(&mut timing, "sessionCreation", 0);
        put(&mut timing, "total", self.duration());
        if let Some(usage) = self.usage {
            put(&mut timing, "inputTokens", usage.input);
            put(&mut timing, "outputTokens", usage.output);
        }
        timing
    }

    /// The entry of a trial; `number` counts from 1.
    fn trial(&self, number: usize) -> Value {
        let mut entry = JsonRecord::new();
        put(&mut entry, "trialNum", number);
        put(&mut entry, "output", self.output.as_str());
        put(&mut entry, "trajectory", self.trajectory.clone());
        put(&mut entry, "duration", self.duration());
        if let Some(error) = self.errors.first() {
            put(&mut entry, "pass", false);
            put(&mut entry, "reasoning", format!("Error: {error}"));
        } else if let Some(Value::Object(score)) = self.score.as_ref().map(|score| json!(score)) {
            entry.extend(score);
        }
        Value::Object(entry)
    }

    fn passes(&self) -> bool {
        self.errors.is_empty() && self.score.as_ref().is_some_and(|score| score.pass)
    }
}

/// The record of a prompt that was given to the agent several times. `base` is the folder that holds those of the trials.
pub(crate) fn trials_record(
    prompt: &JsonRecord,
    agent: &str,
    trials: &[CapturedPrompt],
    is_graded: bool,
    base: Option<&str>,
) -> JsonRecord {
    let mut record = members_of(prompt, &["id", "input"]);
    record.extend(hint(prompt));
    put(&mut record, "k", trials.len());
    let entries: Value =
        trials.iter().zip(1..).map(|(trial, number)| trial.trial(number)).collect();
    put(&mut record, "trials", entries);
    let mut metadata = metadata_of(prompt);
    put(&mut metadata, "agent", agent);
    metadata.extend(base.map(|base| ("workspaceDir".to_owned(), json!(base))));
    put(&mut record, "metadata", metadata);
    let passes = trials.iter().filter(|trial| trial.passes()).count();
    if let Some(rates) = TrialRates::of(passes, trials.len()).filter(|_| is_graded) {
        put(&mut record, "passRate", rates.share);
        put(&mut record, "passAtK", rates.at_least_one);
        put(&mut record, "passExpK", rates.all);
    }
    record
}

/// The hint of a prompt, unless it is empty.
fn hint(prompt: &JsonRecord) -> Option<(String, Value)> {
    let hint = prompt.get("hint").filter(|hint| **hint != "")?;
    Some(("hint".to_owned(), hint.clone()))
}

fn metadata_of(prompt: &JsonRecord) -> JsonRecord {
    prompt.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The level of detail of a trajectory.
fn richness(trajectory: &[Value]) -> &'static str {
    if trajectory.iter().any(|step| step["type"] != "message") {
        "full"
    } else if trajectory.is_empty() {
        "minimal"
    } else {
        "messages-only"
    }
}

/// The folder of a prompt of this id: a name that every system takes, and that leads nowhere else.
pub(crate) fn folder_name(id: &str) -> String {
    let safe = |char: char| match char {
        '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' => '_',
        char if char.is_control() => '_',
        char => char,
    };
    let name: String = id.chars().take(80).map(safe).collect();
    format!("prompt-{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CapturedPrompt, folder_name, trials_record};
    use crate::json::to_json;
    use crate::record::GraderResult;
    use evalrs_eval::adapter::{Adapter, BUILT_IN};
    use evalrs_eval::target::answer::{AgentExit, TargetAnswer, TimedLine};
    use evalrs_model::outcome::Usage;

    fn captured(timed_out: bool) -> CapturedPrompt {
        let lines = [
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}}),
            json!({"type": "result", "result": "done"}),
        ];
        let line = |(line, at): (&Value, u64)| TimedLine(at, line.to_string());
        let answer = TargetAnswer {
            started_at: Some(1000),
            duration_ms: 50,
            exit: Some(AgentExit { code: None, timed_out }),
            lines: vec![lines.iter().zip([5, 30, 45]).map(line).collect()],
            ..TargetAnswer::default()
        };
        let adapter = Adapter::read(BUILT_IN[0].1).unwrap();
        let usage = Usage::of_tokens(3, 2);
        CapturedPrompt::read(&adapter, answer, Some(usage))
    }

    fn prompt() -> super::JsonRecord {
        let prompt = json!({"id": "a", "input": ["q", "r"], "hint": "h", "reference": "x", "metadata": {"agent": "own", "k": 1}});
        prompt.as_object().unwrap().clone()
    }

    #[test]
    fn a_record_is_a_view_of_what_is_kept() {
        let mut captured = captured(false);
        let expected = r#"{"id":"a","input":["q","r"],"output":"done","hint":"h","trajectory":[{"type":"tool_call","name":"Read","status":"completed","input":{},"timestamp":5,"output":"x","duration":25}],"metadata":{"agent":"claude-code","k":1,"trajectoryRichness":"full","turnCount":2,"exitCode":null,"timedOut":false},"timing":{"start":1000,"end":1050,"firstResponse":5,"sessionCreation":0,"total":50,"inputTokens":3,"outputTokens":2},"toolErrors":false}"#;
        assert_eq!(to_json(&captured.record(&prompt(), "claude-code")), expected);
        let input = captured.grader_input(&prompt(), Some("/w"));
        assert!(
            input.starts_with(r#"{"input":["q","r"],"output":"done","hint":"h","trajectory":[{"#)
        );
        assert!(input.ends_with(r#""metadata":{"agent":"own","k":1},"cwd":"/w"}"#), "{input}");
        captured.errors.push("the grader failed".to_owned());
        let record = captured.record(&prompt(), "c");
        assert_eq!(
            (&record["errors"], &record["output"]),
            (&json!(["the grader failed"]), &json!("done"))
        );
        let late = super::tests::captured(true).record(&prompt(), "c");
        assert_eq!(
            (&late["toolErrors"], &late["metadata"]["signal"]),
            (&json!(true), &json!("SIGTERM"))
        );
    }

    #[test]
    fn an_agent_that_cannot_be_run_leaves_an_error() {
        let record = CapturedPrompt::failed("no agent".to_owned(), 7).record(&prompt(), "c");
        let expected = r#"{"id":"a","input":["q","r"],"output":"","trajectory":[],"metadata":{"agent":"c","k":1,"trajectoryRichness":"minimal","turnCount":2},"timing":{"start":7,"end":7,"sessionCreation":0,"total":0},"toolErrors":true,"errors":["no agent"]}"#;
        assert_eq!(to_json(&record), expected);
    }

    #[test]
    fn trials_have_rates_where_they_are_graded() {
        let graded = |pass| {
            let score = GraderResult { pass, score: 0.5, reasoning: None, outcome: None };
            CapturedPrompt {
                output: "o".to_owned(),
                score: Some(score),
                ..CapturedPrompt::default()
            }
        };
        let trials = [graded(true), graded(false), CapturedPrompt::failed("crashed".to_owned(), 1)];
        let record = trials_record(&prompt(), "c", &trials, true, Some("/d"));
        let names: Vec<&String> = record.keys().collect();
        assert_eq!(
            names,
            ["id", "input", "hint", "k", "trials", "metadata", "passRate", "passAtK", "passExpK"]
        );
        assert_eq!(record["metadata"], json!({"agent": "c", "k": 1, "workspaceDir": "/d"}));
        let first = json!({"trialNum": 1, "output": "o", "trajectory": [], "duration": 0, "pass": true, "score": 0.5});
        assert_eq!(record["trials"][0], first);
        assert_eq!(record["trials"][2]["reasoning"], "Error: crashed");
        assert!((record["passAtK"].as_f64().unwrap() - 19.0 / 27.0).abs() < 1e-12);
        let plain = trials_record(&prompt(), "c", &trials[2..], false, None);
        assert!(!plain.contains_key("passRate") && plain["trials"][0]["pass"] == json!(false));
    }

    #[test]
    fn folders_lead_nowhere_else() {
        for (id, expected) in [
            ("a b", "prompt-a b"),
            ("../x", "prompt-.._x"),
            ("a\n<>:\"/\\|?*", "prompt-a__________"),
            ("", "prompt-"),
        ] {
            assert_eq!(folder_name(id), expected);
        }
        assert_eq!(folder_name(&"x".repeat(300)).len(), 87);
    }
}
