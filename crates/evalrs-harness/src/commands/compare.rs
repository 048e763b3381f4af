//! `evalrs compare`: the results of several runs beside each other, and who won each prompt.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use super::grading::{CallTotals, CallableGrader, StopReason};
use crate::args::views::CompareArgs;
use crate::compare::report::{Comparison, Strategy, grader_input, ranks, ranks_of};
use crate::compare::run_file::{RunFile, RunFormat, check_labels, detect_all, records};
use crate::compare::settings::ComparisonSettings;
use crate::compare::{ComparedRun, Matchups, RunRank};
use evalrs_base::text::{count, sanitize};
use evalrs_eval::program::reply::rankings;
use evalrs_model::spec::{ProgramSpec, Role};
use evalrs_system::FileBytes;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// The options, once they are checked.
struct ComparisonRequest<'a> {
    strategy: Strategy,
    /// Only with the strategy that takes one.
    grader: Option<&'a str>,
    is_markdown: bool,
}

/// Compares the runs that the command line names.
pub(crate) fn compare(args: &CompareArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let files = run_files(args)?;
    let bytes = read_all(&files, console)?;
    let request = request(args)?;
    let format = format(args, &files, &bytes)?;
    let mut runs = Vec::with_capacity(files.len());
    for (RunFile { label, path }, bytes) in files.into_iter().zip(&bytes) {
        runs.push(ComparedRun::new(label, records(path.as_str(), bytes, format).map_err(usage)?));
    }
    let settings = ComparisonSettings::of(&console.system.environment());
    console.warn(&settings.warnings)?;
    let matchups = Matchups::of(&runs);
    if args.progress {
        say_compared(&runs, &matchups, format, console.err)?;
    }
    let ranks = match request.grader {
        None => ranks(&matchups, format, request.strategy, &settings),
        Some(grader) => match ranks_by_grader(grader, args, &runs, format, console)? {
            Some(ranks) => ranks,
            None => return Ok(ExitStatus::Interrupted),
        },
    };
    let now = console.system.now().to_string();
    let is_statistical = request.strategy == Strategy::Statistical;
    let intervals = is_statistical.then_some(settings.bootstrap);
    let comparison = Comparison::of(&runs, &ranks, format, intervals, &now);
    let text = if request.is_markdown { comparison.markdown() } else { comparison.json() };
    let text = format!("{text}\n");
    match &args.output {
        Some(path) => console.system.write(path, &mut |to| to.write_all(text.as_bytes()))?,
        None => console.out.write_all(text.as_bytes())?,
    }
    Ok(ExitStatus::Success)
}

fn usage(message: impl AsRef<str>) -> Error {
    let lines: Vec<String> = message.as_ref().lines().map(sanitize).collect();
    Error::harness_usage(lines.join("\n"))
}

/// The files in the order in which they are compared: those without a flag come first.
fn run_files(args: &CompareArgs) -> Result<Vec<RunFile>, Error> {
    let words = args.files.iter().chain(&args.run);
    let files: Vec<RunFile> = words.map(|word| RunFile::named(word, cfg!(windows))).collect();
    if files.len() < 2 {
        return Err(usage(
            "At least 2 result files required for comparison (evalrs compare old:a.jsonl new:b.jsonl)",
        ));
    }
    check_labels(&files).map_err(usage)?;
    Ok(files)
}

fn read_all(files: &[RunFile], console: &Console<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let read: Vec<FileBytes> = files.iter().map(|file| console.system.read(&file.path)).collect();
    let missing = files.iter().zip(&read).filter(|(_, bytes)| **bytes == FileBytes::Missing);
    let missing: Vec<String> =
        missing.map(|(file, _)| format!("  {}: {}", file.label, file.path)).collect();
    if !missing.is_empty() {
        return Err(usage(format!("Result file(s) not found:\n{}", missing.join("\n"))));
    }
    let bytes = |(file, bytes): (&RunFile, FileBytes)| {
        let wrong = |reason| usage(format!("cannot read `{}`: {reason}", file.path));
        bytes.into_bytes().map_err(wrong)
    };
    files.iter().zip(read).map(bytes).collect()
}

fn request(args: &CompareArgs) -> Result<ComparisonRequest<'_>, Error> {
    let strategy = Strategy::named(&args.strategy).ok_or_else(|| {
        usage(format!(
            "Invalid strategy '{}'. Use: weighted, statistical, or custom",
            args.strategy
        ))
    })?;
    let grader = args.program.grader.as_deref().filter(|_| strategy == Strategy::Custom);
    if strategy == Strategy::Custom && grader.is_none() {
        return Err(usage("--grader is required when using --strategy custom"));
    }
    let is_markdown = match args.format.as_deref() {
        Some("json") => false,
        Some("markdown") => true,
        Some(other) => {
            return Err(usage(format!("Invalid format '{other}'. Use: json or markdown")));
        }
        None => args.output.as_deref().is_some_and(|path| {
            let extension = Path::new(path).extension().map(OsStr::to_ascii_lowercase);
            extension.is_some_and(|extension| extension == "md" || extension == "markdown")
        }),
    };
    Ok(ComparisonRequest { strategy, grader, is_markdown })
}

fn format(args: &CompareArgs, files: &[RunFile], bytes: &[Vec<u8>]) -> Result<RunFormat, Error> {
    match args.input_format.as_str() {
        "capture" => Ok(RunFormat::Capture),
        "trials" => Ok(RunFormat::Trials),
        "auto" => {
            let all = files.iter().zip(bytes).map(|(file, bytes)| (file.path.as_str(), &bytes[..]));
            detect_all(&all.collect::<Vec<_>>()).map_err(usage)
        }
        other => {
            Err(usage(format!("Invalid input format '{other}'. Use: auto, capture, or trials")))
        }
    }
}

fn say_compared(
    runs: &[ComparedRun],
    matchups: &Matchups<'_>,
    format: RunFormat,
    err: &mut dyn Write,
) -> std::io::Result<()> {
    for ComparedRun { label, records } in runs {
        writeln!(err, "{}: {}", sanitize(label), count(records.len(), "record"))?;
    }
    let prompts = count(matchups.prompts, "prompt");
    let compared = matchups.compared.len();
    writeln!(err, "comparing {format} results: {prompts}, {compared} of them in several runs")
}

/// The grader's ranks for every prompt that is compared; none if the user interrupted.
fn ranks_by_grader(
    path: &str,
    args: &CompareArgs,
    runs: &[ComparedRun],
    format: RunFormat,
    console: &mut Console<'_>,
) -> Result<Option<Vec<Vec<RunRank>>>, Error> {
    let grading = CallableGrader::load(path, Role::Compare, &args.program, console)?;
    let matchups = Matchups::of(runs);
    let compared = &matchups.compared;
    let name = |at: usize| {
        format!("at the prompt `{}`", compared.get(at).map_or("", |matchup| matchup.id))
    };
    let mut ranks: Vec<Vec<RunRank>> = Vec::with_capacity(compared.len());
    let mut take = |_: &ProgramSpec, text: &str, _: &mut dyn Write| {
        let rankings = rankings(text).map_err(StopReason::invalid)?;
        let ranked =
            ranks_of(&rankings, &compared[ranks.len()], runs).map_err(StopReason::invalid)?;
        ranks.push(ranked);
        Ok(())
    };
    let inputs = compared.iter().map(|matchup| grader_input(matchup, runs, format));
    let CallTotals { cached, called, interrupted } =
        grading.call(inputs, &mut take, &name, console.err)?;
    if args.progress {
        writeln!(console.err, "{cached} cached, {called} called")?;
    }
    Ok((!interrupted).then_some(ranks))
}
