//! `evalrs explain run.zip SAMPLE`: what the file of a run says of a sample. The suite in it is not read: it may be a stranger's.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::ExplainArgs;
use evalrs_base::text::{sanitize, score};
use evalrs_metrics::results::{GradeLine, ResultLine};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, StoredOutcome};
use evalrs_store::run_archive::RunArchive;
use evalrs_store::{Entry, read_lines};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::check_entry;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::run_files::{not_readable, read_run_file};

/// Explains the grades of a sample by the file of a run.
pub(super) fn explain_recorded(
    args: &ExplainArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let path = &args.suite;
    if args.prompt {
        return Err(Error::plain(
            "`--prompt` writes requests again, which needs the suite",
            format!("unpack `{path}`: its folder `files` is the workspace of the run"),
        ));
    }
    let bytes = read_run_file(path, console.system)?;
    let archive = RunArchive::open(&bytes).map_err(|reason| not_readable(path, &reason))?;
    let lines = archive.lines_of(&args.sample).map_err(|reason| not_readable(path, &reason))?;
    let is_wanted = |line: &ResultLine| {
        args.trial.is_none_or(|trial| trial == line.trial)
            && (args.model.is_none() || args.model == line.model)
    };
    let lines: Vec<ResultLine> = lines.into_iter().filter(is_wanted).collect();
    if lines.is_empty() {
        return Err(Error::plain(
            sanitize(&format!("the run {} has no result of `{}`", archive.index.id, args.sample)),
            format!("`evalrs report {path} --format jsonl` lists its samples"),
        ));
    }
    let outcomes = outcomes(path, &archive)?;
    let explained: Vec<ExplainedLine<'_>> = lines
        .iter()
        .map(|line| ExplainedLine::of(line, args.grader.as_deref(), &outcomes))
        .collect();
    if args.json {
        let results: Vec<Value> = explained.iter().map(ExplainedLine::value).collect();
        console.write_json(&json!({
            "format": 1, "run": archive.index.id, "suite": archive.header.suite, "sample_id": args.sample, "results": results,
        }))?;
        return Ok(ExitStatus::Success);
    }
    for explained in &explained {
        explained.write(console)?;
    }
    Ok(ExitStatus::Success)
}

/// Key → outcome, of all that the file has.
fn outcomes(
    path: &str,
    archive: &RunArchive<'_>,
) -> Result<BTreeMap<ActionKey, StoredOutcome>, Error> {
    if !archive.index.is_whole {
        return Ok(BTreeMap::new());
    }
    let lines = archive.outcomes().map_err(|reason| not_readable(path, &reason))?;
    let mut outcomes = BTreeMap::new();
    read_lines(path, &lines, &check_entry, &mut |entry: Entry| {
        if let Ok(stored) = serde_json::from_str(&entry.body) {
            outcomes.insert(entry.key, stored);
        }
    });
    Ok(outcomes)
}

/// A result, with the outcomes that its grades rest on.
struct ExplainedLine<'a> {
    line: &'a ResultLine,
    grades: Vec<(&'a str, &'a GradeLine, Option<&'a StoredOutcome>)>,
}

impl<'a> ExplainedLine<'a> {
    fn of(
        line: &'a ResultLine,
        grader: Option<&str>,
        outcomes: &'a BTreeMap<ActionKey, StoredOutcome>,
    ) -> Self {
        let wanted =
            line.grades.0.iter().filter(|(name, _)| grader.is_none_or(|wanted| wanted == name));
        let grades = wanted.map(|(name, grade)| {
            let key = grade.key.as_deref().and_then(ActionKey::parse);
            (name.as_str(), grade, key.and_then(|key| outcomes.get(&key)))
        });
        Self { line, grades: grades.collect() }
    }

    fn value(&self) -> Value {
        let grades = self.grades.iter().map(|(name, grade, stored)| {
            ((*name).to_owned(), json!({"grade": grade, "outcome": stored}))
        });
        let Self { line, .. } = self;
        json!({
            "sample_id": line.sample_id, "model": line.model, "trial": line.trial, "input": line.input,
            "ground_truth": line.ground_truth, "graders": grades.collect::<serde_json::Map<_, _>>(),
        })
    }

    fn write(&self, console: &mut Console<'_>) -> std::io::Result<()> {
        let Self { line, grades } = self;
        let model = line.model.as_deref().map_or_else(String::new, |model| format!(", {model}"));
        let trial = if line.trial > 0 { format!(", trial {}", line.trial) } else { String::new() };
        let mut said = vec![("sample".to_owned(), format!("{}{model}{trial}", line.sample_id))];
        said.push(("input".to_owned(), shown(&line.input)));
        said.push(("expected".to_owned(), shown(&line.ground_truth)));
        for (name, grade, stored) in grades {
            let verdict = match (&grade.error, grade.pass) {
                (Some(_), _) => "error".to_owned(),
                (None, pass) => {
                    format!("{}, {}", score(grade.score), if pass { "passed" } else { "failed" })
                }
            };
            said.push((String::new(), String::new()));
            said.push(((*name).to_owned(), verdict));
            said.push(("rationale".to_owned(), grade.rationale.clone()));
            said.push((
                "submission".to_owned(),
                line.submission_of(name).unwrap_or_default().to_owned(),
            ));
            said.push(("key".to_owned(), grade.key.clone().unwrap_or_default()));
            let Some(stored) = stored else { continue };
            let reply = match &stored.outcome {
                Outcome::Reply(reply) => &reply.text,
                Outcome::Failure(failure) => &failure.message,
            };
            said.push(("reply".to_owned(), reply.clone()));
            said.push(("called".to_owned(), format!("{} by {}", stored.at, stored.by)));
        }
        for (name, text) in said {
            if name.is_empty() || !text.is_empty() {
                writeln!(
                    console.out,
                    "{}",
                    format!("{:<11} {}", sanitize(&name), sanitize(&text)).trim_end()
                )?;
            }
        }
        writeln!(console.out)
    }
}

/// A value as people read it: texts without quotes, nothing of null.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
