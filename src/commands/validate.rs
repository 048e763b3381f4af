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
use crate::suite::canonical::canonical;

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
        1 => writeln!(err, "1 error"),
        errors => writeln!(err, "{errors} errors"),
    }
}

fn describe(path: &str, session: &Session, out: &mut dyn Write) -> std::io::Result<()> {
    let (db, root) = (&session.db, session.root);
    let selection = crate::db::queries::selection(db, root);
    let Some(suite) = session.suite() else { return Ok(()) };
    writeln!(out, "{path}: valid")?;
    writeln!(out, "  suite    {} ({})", suite.name, crate::db::queries::suite(db, root).dialect)?;
    let models = selection.models.iter().flatten().count();
    let models = if models > 1 { format!(", {models} models") } else { String::new() };
    writeln!(
        out,
        "  dataset  {}: {} samples, {} evaluated, {} results{models}",
        suite.dataset.path, selection.all_samples, selection.samples, selection.cases
    )?;
    for grader in &suite.graders {
        let how = match &grader.kind {
            crate::suite::GraderKind::Tool(tool) => tool.function.clone(),
            crate::suite::GraderKind::Rubric(rubric) => format!("rubric, {}", rubric.model),
        };
        writeln!(out, "  grader   {}: {how} of {}", grader.name, grader.extractor.name)?;
    }
    match &suite.gate {
        Some(gate) => writeln!(out, "  gate     {}", crate::gate::rule(gate)),
        None => writeln!(out, "  gate     none: the exit code is 0 whatever the scores"),
    }
}
