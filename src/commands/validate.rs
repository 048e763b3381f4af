//! `evalrs validate`: every problem in every file, at once.

use std::io::Write;

use crate::cli::ValidateArgs;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::text::{count, enumerated};
use evalrs_engine::session::Session;
use evalrs_eval::grade;
use evalrs_eval::program::UncallablePart;
use evalrs_exec::programs::check::check;
use evalrs_graph::folds::label_count;
use evalrs_graph::inputs::Overrides;
use evalrs_model::spec::{GraderKind, GraderSpec, Language, RewardSpec};
use evalrs_suite::canonical::canonical;
use evalrs_suite::{RollableSuite, RollupReading};
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::new_session;
use evalrs_use_cases::rollup::{self, is_rollup_file, reading, rollable};
use evalrs_use_cases::say::say;
use evalrs_use_cases::suites::suite_files;

pub(crate) fn validate(
    args: &ValidateArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let mut all = Vec::new();
    let mut known = Vec::new();
    for suite in &suite_files(&args.suites, console.system)? {
        if is_rollup_file(suite, console.system) {
            all.extend(validate_rollup(suite, None, args, console)?);
            continue;
        }
        let surroundings = SuiteContext::find(suite, None, console.system)?;
        let overrides = Overrides {
            cached: args.cached.clone(),
            labels: args.labels.clone(),
            ..Overrides::default()
        };
        let mut session = new_session(suite, &surroundings, overrides);
        let mut diagnostics = session.load(console.system);
        diagnostics.extend(check_programs(&session, console.system));
        let is_valid = !diagnostics.iter().any(Diagnostic::is_error);
        if !args.json {
            say(&diagnostics, console.err)?;
        }
        if let (true, Some(read)) = (is_valid && args.canonical, session.suite()) {
            write!(console.out, "{}", canonical(read, suite))?;
        } else if is_valid && !args.json {
            describe(suite, &session, console.out)?;
        }
        known.push(is_valid.then(|| rollable(&session)));
        all.extend(diagnostics);
    }
    if let Some(path) = &args.rollup {
        let known: Option<Vec<RollableSuite>> = known.into_iter().collect();
        all.extend(validate_rollup(path, known.as_deref(), args, console)?);
    }
    let is_valid = !all.iter().any(Diagnostic::is_error);
    if args.json {
        let object = serde_json::json!({"format": 1, "valid": is_valid, "diagnostics": all});
        writeln!(console.out, "{object:#}")?;
    }
    Ok(if is_valid { ExitStatus::Success } else { ExitStatus::UserError })
}

/// Checks a roll-up: what it names, too, where all suites are known.
fn validate_rollup(
    path: &str,
    suites: Option<&[RollableSuite]>,
    args: &ValidateArgs,
    console: &mut Console<'_>,
) -> std::io::Result<Vec<Diagnostic>> {
    let RollupReading { rollup, diagnostics } = reading(path, suites, console.system);
    if args.json {
        return Ok(diagnostics);
    }
    say(&diagnostics, console.err)?;
    match rollup {
        Some(spec) if suites.is_some() => rollup::describe(path, &spec, console.out)?,
        Some(_) => writeln!(
            console.out,
            "{path}: a well-formed roll-up; to check the names in it: `evalrs validate SUITE … --rollup {path}`"
        )?,
        None => {}
    }
    Ok(diagnostics)
}

/// Errors in the files of programs, as far as their syntax shows.
fn check_programs(session: &Session, system: &dyn System) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for start in session.starts() {
        let FileBytes::Bytes(bytes) = system.read(&start.spec.path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let Some(problem) = check(&start, &text) else { continue };
        let path = start.spec.path.as_str();
        // What lacks its end is found wrong in the line after the last.
        let line = problem.line.checked_sub(1).and_then(|at| text.split('\n').nth(at));
        let place = match line {
            // What is wrong with starting an executable is not about a line in it.
            None if start.spec.language == Language::Executable => {
                session.place_of(&start.spec, &UncallablePart::File)
            }
            None => Place::file(path),
            Some(line) => {
                let at = line.char_indices().nth(problem.column.saturating_sub(1));
                let at = at.map_or(line.len(), |(at, _)| at);
                let place = Place::in_line(path, problem.line, line, at..line.len());
                Place { column: problem.column, ..place }
            }
        };
        let found = Diagnostic::error(place, problem.message);
        problems.push(match problem.suggestion {
            Some(near) => found.hint(format!("did you mean `{near}`?")),
            None => found,
        });
    }
    problems
}

fn describe(path: &str, session: &Session, out: &mut dyn Write) -> std::io::Result<()> {
    let db = &session.db;
    let root = session.root;
    let selection = evalrs_graph::queries::selection(db, root);
    let Some(suite) = session.suite() else { return Ok(()) };
    writeln!(out, "{path}: valid")?;
    writeln!(out, "  suite    {}", suite.name)?;
    let samples = if selection.samples == selection.all_samples {
        count(selection.samples, "sample")
    } else {
        format!("{} of {}", selection.samples, count(selection.all_samples, "sample"))
    };
    let results = count(selection.cases, "result");
    let models = selection.models.iter().flatten().count();
    let models = if models > 1 { format!(", {models} models") } else { String::new() };
    writeln!(out, "  dataset  {}: {samples}, {results}{models}", suite.dataset.path)?;
    for grader in &suite.graders {
        writeln!(out, "  grader   {}: {}", grader.name, how(grader))?;
    }
    for grader in session.graders() {
        if let Some(labels) = label_count(db, *grader) {
            writeln!(out, "  labels   {}: {}", grader.name(db), labels.shown())?;
        }
    }
    match &suite.gate {
        Some(gate) => writeln!(out, "  gate     {}", evalrs_metrics::gate::rule(gate)),
        None => writeln!(out, "  gate     none: the exit code is 0 whatever the scores"),
    }
}

/// How a grader grades, and what.
fn how(grader: &GraderSpec) -> String {
    let not = if grader.negated { "not " } else { "" };
    let only = grader.only.as_ref().map(|only| format!(", only `{}`", only.text()));
    format!("{not}{}{}", what_is_graded(grader), only.unwrap_or_default())
}

fn what_is_graded(grader: &GraderSpec) -> String {
    let extractor = &grader.extractor.name;
    match &grader.kind {
        GraderKind::Tool(tool) => {
            let what = match grade::find(&tool.function) {
                Some(_) if grade::reads_trajectory(tool) => "the trajectory",
                // Functions that only may look at the row grade the submission.
                Some(info) if grade::reads_row(tool) && !info.needs_ground_truth => "the row",
                _ => extractor.as_str(),
            };
            format!("{} of {what}", tool.function)
        }
        GraderKind::Rubric(rubric) => {
            let models = rubric.judges.iter().map(|judge| judge.model.as_str()).collect::<Vec<_>>();
            let task = match (&rubric.embedding, &rubric.compare_to) {
                (Some(_), _) => "similarity",
                (None, Some(_)) => "comparison",
                (None, None) => "rubric",
            };
            format!("{task} of {extractor}, by {}", enumerated(&models, "and"))
        }
        GraderKind::Program(program) => format!("{} of {extractor}", program.shown()),
        GraderKind::Reward(RewardSpec::Expression(expression)) => expression.text.clone(),
        GraderKind::Reward(RewardSpec::Criteria(spec)) => {
            format!("{} of its criteria", spec.combine.text())
        }
        GraderKind::Reward(RewardSpec::Program(program)) => {
            format!("{} of all grades", program.shown())
        }
    }
}
