//! `evalrs calibrate`: samples failures for people to judge whether the grader is right.

use std::io::Write;

use serde_json::Value;

use super::grading::{CallableGrader, checked, read, say_ignored, write_text};
use crate::args::harness::CalibrateArgs;
use crate::calibration::{SampledResult, report};
use crate::check;
use crate::lines::JsonRecord;
use crate::record::{GraderResult, grader_input};
use crate::sample::sample;
use crate::words::text_of;
use evalrs_model::spec::Role;
use evalrs_use_cases::calibration::calibrate_suite;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Samples graded results and reports them, graded again if a grader is named.
pub(crate) fn calibrate(
    args: &CalibrateArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    if let Some(suite) = &args.suite {
        return calibrate_suite(suite, &args.options(), console);
    }
    let path = args.file.as_deref();
    let path = path.ok_or_else(|| Error::harness_usage("results.jsonl path is required"))?;
    say_ignored(&args.ignored, console.err)?;
    let grader = args.program.grader.as_deref();
    let grading = grader
        .map(|grader| CallableGrader::load(grader, Role::Grade, &args.program, console))
        .transpose()?;
    let bytes = read(path, console.system)?;
    let results = checked(&bytes, "result", check::results)?;
    let population: Vec<JsonRecord> = results
        .into_iter()
        .flat_map(|(_, results)| results)
        .filter(|result| is_sampled(result, args.include_passes))
        .collect();
    if population.is_empty() {
        let what = if args.include_passes { "No scored results" } else { "No failures" };
        writeln!(console.err, "{what} found in results")?;
        return Ok(ExitStatus::Success);
    }
    let wanted = usize::try_from(args.sample).unwrap_or(0);
    let mut samples: Vec<SampledResult> = sample(population.len(), wanted, args.seed)
        .into_iter()
        .map(|at| SampledResult { record: population[at].clone(), rescored: None })
        .collect();
    if let Some(grading) = grading
        && rescore(grading, &mut samples, console)?
    {
        return Ok(ExitStatus::Interrupted);
    }
    let text = report(&samples, &console.system.now().to_string());
    write_text(&text, args.output.as_deref(), console)?;
    Ok(ExitStatus::Success)
}

/// Whether a result can be sampled: it has a score, and that is a failure.
fn is_sampled(result: &JsonRecord, include_passes: bool) -> bool {
    let score = result.get("score").and_then(|score| score.get("pass"));
    score.and_then(Value::as_bool).is_some_and(|pass| include_passes || !pass)
}

/// Grades every sample with another grader. Says whether somebody said stop.
fn rescore(
    grading: CallableGrader<'_>,
    samples: &mut [SampledResult],
    console: &mut Console<'_>,
) -> Result<bool, Error> {
    let ids: Vec<String> =
        samples.iter().map(|sample| text_of(&sample.record, "id").to_owned()).collect();
    // The folder of the agent is not there any more.
    let input = |sample: &SampledResult| {
        grader_input(|name| sample.record.get(name).filter(|_| name != "cwd"))
    };
    let inputs: Vec<String> = samples.iter().map(input).collect();
    let mut rescored = samples.iter_mut();
    let name = |at: usize| format!("in the result `{}`", ids.get(at).map_or("", String::as_str));
    let mut take = |result: GraderResult, _: &mut dyn Write| {
        if let Some(sample) = rescored.next() {
            sample.rescored = Some(result);
        }
        Ok(())
    };
    let graded = grading.grade(inputs.into_iter(), &mut take, &name, console.err)?;
    Ok(graded.interrupted)
}
