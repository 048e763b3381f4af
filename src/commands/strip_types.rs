//! `evalrs strip-types`: a module without its types, for workers that run graders in node. No command for people.

use serde_json::json;

use evalrs_typescript::strip;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Prints `{"format", "code", "exports"}`, or `{"error": {"message", "line", "column"}}` and fails.
pub(crate) fn strip_types(file: &str, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let bytes = console.system.read(file).into_bytes();
    let source =
        bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()));
    let stripped = match source {
        Ok(source) => strip(file, &source),
        Err(message) => {
            writeln!(console.out, "{}", json!({"error": {"message": message}}))?;
            return Ok(ExitStatus::UserError);
        }
    };
    Ok(match stripped {
        Ok(stripped) => {
            let format = if stripped.is_module { "module" } else { "commonjs" };
            writeln!(
                console.out,
                "{}",
                json!({"format": format, "code": stripped.code, "exports": stripped.exports})
            )?;
            ExitStatus::Success
        }
        Err(problem) => {
            let place =
                json!({"message": problem.message, "line": problem.line, "column": problem.column});
            writeln!(console.out, "{}", json!({"error": place}))?;
            ExitStatus::UserError
        }
    })
}
