//! `evalrs grade`: records in, the same records with a score out, each as soon as all before it are graded.

use std::io::Write;

use serde_json::Value;

use super::grading::{CallableGrader, GradingTotals, checked, file_or_stdin, say_ignored};
use crate::args::harness::GradeArgs;
use crate::check;
use crate::json::number;
use crate::lines::{InlineLine, JsonRecord};
use crate::record::{GraderResult, grader_input, with_score};
use evalrs_base::text::{count, sanitize};
use evalrs_model::spec::Role;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Grades every record of a file. The file as a whole is checked, and the grader loaded, before anything else is done.
pub(crate) fn grade(args: &GradeArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let grader = args.program.grader.as_deref();
    let grader = grader.ok_or_else(|| Error::harness_usage("--grader is required"))?;
    say_ignored(&args.ignored, console.err)?;
    let grading = CallableGrader::load(grader, Role::Grade, &args.program, console)?;
    let bytes = file_or_stdin(args.file.as_deref(), "extracted results", console.system)?;
    // Records are read again when it is their turn: all of them at once would be large.
    let records = checked(&bytes, "JSON", |line| check::graded(line).map(drop))?;
    let lines: Vec<InlineLine<'_>> = records.into_iter().map(|(line, ())| line).collect();
    let Console { system, out, err, .. } = console;
    let mut out: Box<dyn Write + '_> = match &args.output {
        Some(path) => system.create(path)?,
        None => Box::new(&mut **out),
    };
    if args.progress {
        writeln!(err, "grading {}", count(lines.len(), "record"))?;
    }
    let graded = grade_lines(grading, args.progress, &lines, out.as_mut(), *err)?;
    out.flush()?;
    if args.progress {
        let GradingTotals { passed, failed, cached, called, .. } = graded;
        writeln!(err, "{passed} passed, {failed} failed; {cached} cached, {called} called")?;
    }
    Ok(match graded {
        GradingTotals { interrupted: true, .. } => ExitStatus::Interrupted,
        GradingTotals { failed: 1.., .. } => ExitStatus::GateFailed,
        _ => ExitStatus::Success,
    })
}

fn grade_lines(
    grading: CallableGrader<'_>,
    has_progress: bool,
    lines: &[InlineLine<'_>],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<GradingTotals, Error> {
    let mut next = 0;
    let mut take = |result: GraderResult, err: &mut dyn Write| {
        let record = record(lines[next]);
        next += 1;
        if has_progress {
            let id = shown(&record, next);
            let verdict = if result.pass { "PASS" } else { "FAIL" };
            let score = number(result.score);
            writeln!(err, "[{next}/{}] {id}: {verdict} {score}", lines.len())?;
        }
        // One write a record: who reads along sees whole lines.
        out.write_all((with_score(record, &result) + "\n").as_bytes())?;
        Ok(())
    };
    let inputs = lines.iter().map(|line| {
        let record = record(*line);
        grader_input(|name| record.get(name))
    });
    let name = |at: usize| format!("at line {}", lines.get(at).map_or(0, |line| line.number));
    grading.grade(inputs, &mut take, &name, err)
}

/// The record on a line that was checked.
fn record(line: InlineLine<'_>) -> JsonRecord {
    check::graded(line).unwrap_or_default()
}

/// How a record is called: its id, or its ordinal.
fn shown(record: &JsonRecord, ordinal: usize) -> String {
    match record.get("id") {
        Some(Value::String(id)) => sanitize(id),
        Some(id @ Value::Number(_)) => id.to_string(),
        _ => format!("record {ordinal}"),
    }
}
