//! `evalrs validate`: every problem in every file, at once.

use std::io::Write;

use super::Console;
use super::place::Surroundings;
use crate::cli::ValidateArgs;
use crate::db::Database;
use crate::db::inputs::Overrides;
use crate::diagnostic::Diagnostic;
use crate::driver::session::Session;
use crate::error::{Error, ExitStatus};
use crate::grade::registry;
use crate::report::text::count;
use crate::suite::canonical::canonical;
use crate::suite::{GraderKind, GraderSpec};

/// Checks every suite and says what is wrong.
pub fn validate(args: &ValidateArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let mut all = Vec::new();
    for suite in &args.suites {
        let overrides = Overrides { cached: args.cached.clone(), ..Overrides::default() };
        let surroundings = Surroundings::find(suite, None, console.system)?;
        let mut session =
            Session::new(Database::default(), suite, surroundings.environment, overrides);
        let diagnostics = session.load(console.system);
        let is_valid = !diagnostics.iter().any(Diagnostic::is_error);
        if !args.json {
            say(&diagnostics, console.err)?;
        }
        if let (true, Some(suite)) = (is_valid && args.canonical, session.suite()) {
            write!(console.out, "{}", canonical(suite))?;
        } else if is_valid && !args.json {
            describe(suite, &session, console.out)?;
        }
        all.extend(diagnostics);
    }
    if args.json {
        let valid = !all.iter().any(Diagnostic::is_error);
        let object = serde_json::json!({"format": 1, "valid": valid, "diagnostics": all});
        writeln!(console.out, "{object:#}")?;
    }
    Ok(if all.iter().any(Diagnostic::is_error) {
        ExitStatus::UserError
    } else {
        ExitStatus::Success
    })
}

/// Writes diagnostics with a blank line between them, and how many there are.
pub fn say(diagnostics: &[Diagnostic], err: &mut dyn Write) -> std::io::Result<()> {
    for diagnostic in diagnostics {
        writeln!(err, "{}\n", diagnostic.render(true))?;
    }
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    match errors {
        0 => Ok(()),
        errors => writeln!(err, "{}", count(errors, "error")),
    }
}

fn describe(path: &str, session: &Session, out: &mut dyn Write) -> std::io::Result<()> {
    let (db, root) = (&session.db, session.root);
    let selection = crate::db::queries::selection(db, root);
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
    match &suite.gate {
        Some(gate) => writeln!(out, "  gate     {}", crate::gate::rule(gate)),
        None => writeln!(out, "  gate     none: the exit code is 0 whatever the scores"),
    }
}

/// How a grader grades, and what.
fn how(grader: &GraderSpec) -> String {
    let extractor = &grader.extractor.name;
    match &grader.kind {
        GraderKind::Tool(tool)
            if registry::find(&tool.function).is_some_and(|info| info.reads_trajectory) =>
        {
            format!("{} of the trajectory", tool.function)
        }
        GraderKind::Tool(tool) => format!("{} of {extractor}", tool.function),
        GraderKind::Rubric(rubric) => {
            let models = rubric.judges.iter().map(|judge| judge.model.as_str()).collect::<Vec<_>>();
            let task = if rubric.compare_to.is_some() { "comparison" } else { "rubric" };
            format!("{task} of {extractor}, by {}", listed(&models))
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        names => names.concat(),
    }
}
