//! `evalrs validate-refs`: a reference answer that its own grader fails shows that one of them is wrong.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use super::grading::{CallableGrader, GradingTotals, checked, read, say_ignored, write_text};
use crate::args::harness::ValidateRefsArgs;
use crate::check;
use crate::json::to_json;
use crate::lines::JsonRecord;
use crate::record::{GraderResult, grader_input};
use crate::words::text_of;
use evalrs_base::text::{count, sanitize};
use evalrs_model::spec::Role;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// What a grader says of a reference.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidationResult {
    id: String,
    reference: String,
    passes: bool,
    grader_result: GraderResult,
}

/// Grades the reference of every case that has one. Nothing is written unless all of them could be graded.
pub(crate) fn validate_refs(
    args: &ValidateRefsArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let path = args.file.as_deref();
    let path = path.ok_or_else(|| Error::harness_usage("prompts.jsonl path is required"))?;
    let grader = args.program.grader.as_deref();
    let grader =
        grader.ok_or_else(|| Error::harness_usage("--grader is required for validate-refs"))?;
    say_ignored(&args.ignored, console.err)?;
    let grading = CallableGrader::load(grader, Role::Grade, &args.program, console)?;
    let bytes = read(path, console.system)?;
    let cases: Vec<JsonRecord> = checked(&bytes, "prompt", check::prompt)?
        .into_iter()
        .map(|(_, case)| case)
        .filter(|case| case.contains_key("reference"))
        .collect();
    if cases.is_empty() {
        writeln!(console.err, "No prompts with reference solutions found")?;
        return Ok(ExitStatus::Success);
    }
    writeln!(console.err, "Validating {}...", count(cases.len(), "reference solution"))?;
    let mut results = Vec::with_capacity(cases.len());
    let graded = grade_all(grading, &cases, &mut results, console.err)?;
    if graded.interrupted {
        return Ok(ExitStatus::Interrupted);
    }
    let lines: Vec<String> = results.iter().map(to_json).collect();
    write_text(&lines.join("\n"), args.output.as_deref(), console)?;
    summarize(&results, graded, console.err)?;
    Ok(if graded.failed > 0 { ExitStatus::GateFailed } else { ExitStatus::Success })
}

fn grade_all(
    grading: CallableGrader<'_>,
    cases: &[JsonRecord],
    results: &mut Vec<ValidationResult>,
    err: &mut dyn Write,
) -> Result<GradingTotals, Error> {
    let no_steps = json!([]);
    let inputs = cases.iter().map(|case| {
        grader_input(|name| match name {
            "output" => case.get("reference"),
            "trajectory" => Some(&no_steps),
            "cwd" => None,
            name => case.get(name),
        })
    });
    let name = |at: usize| {
        format!("in the case `{}`", cases.get(at).map_or("", |case| text_of(case, "id")))
    };
    let mut take = |grader_result: GraderResult, err: &mut dyn Write| {
        let case = &cases[results.len()];
        let id = text_of(case, "id").to_owned();
        let passes = grader_result.pass;
        writeln!(err, "  {} {}", if passes { '✓' } else { '✗' }, sanitize(&id))?;
        let reference = text_of(case, "reference").to_owned();
        results.push(ValidationResult { id, reference, passes, grader_result });
        Ok(())
    };
    grading.grade(inputs, &mut take, &name, err)
}

fn summarize(
    results: &[ValidationResult],
    GradingTotals { passed, failed, .. }: GradingTotals,
    err: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(err, "Results: {passed} passed, {failed} failed")?;
    if failed == 0 {
        return Ok(());
    }
    writeln!(err, "References that fail:")?;
    for ValidationResult { id, grader_result, .. } in results.iter().filter(|one| !one.passes) {
        let reasoning = grader_result.reasoning.as_deref().unwrap_or("no reasoning");
        writeln!(err, "  {}: {}", sanitize(id), sanitize(reasoning))?;
    }
    Ok(())
}
