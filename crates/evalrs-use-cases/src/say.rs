//! Says what is wrong with something a user wrote.

use std::io::Write;

use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::text::count;

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
