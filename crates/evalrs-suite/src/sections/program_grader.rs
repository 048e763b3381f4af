//! Graders that are programs of the user: a file, or JavaScript in the suite.

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::Text;
use crate::section::{FieldSpec, Section, fields};
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::program_files::{function_of, is_python_file, python, written_call};
use crate::sections::programs::{self, PROGRAM_SETTINGS, with_settings, with_sight};
use crate::written::extend;
use evalrs_base::yaml::tree::{Style, Yaml};
use evalrs_model::spec::{Language, ProgramSpec, Role};

/// A program of the user that grades.
pub(crate) static PROGRAM: Section = Section::new(
    "a program grader",
    &[
        &[FieldSpec::kind(&["program"], "a program of yours")],
        SUBMISSION,
        fields![
            "path": Text, needed "a program grader needs a `path`", "for example `path: graders/policy.py`" => "the file, from the suite's folder; `file.py:name` is a function in it";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// A program of the user that grades, with its text in the suite.
pub(crate) static INLINE_PROGRAM: Section = Section::new(
    "a program grader",
    &[
        &[FieldSpec::kind(&["program"], "a program of yours")],
        SUBMISSION,
        fields![
            "javascript": Text, required => "a JavaScript expression, or a function body with `return`, which replaces a file";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// What `path` is called elsewhere.
const ALIASES: [&str; 5] = ["script", "command", "file", "program", "function"];

/// What people write before a file to run it.
const INTERPRETERS: [&str; 10] =
    ["python", "python3", "node", "bun", "deno", "bash", "sh", "ruby", "uv", "npx"];

/// Reads the program of a grader of `kind: program`.
pub(crate) fn program(
    entry: Field<'_>,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let aliases = fields.refuse(|name| ALIASES.contains(&name));
    for alias in aliases {
        let message = format!("a program grader has no field `{}`", alias.key);
        let hint = match &alias.value.value {
            Yaml::Str(text) if alias.value.style != Style::Interpolated => {
                format!("write `path: {text}`")
            }
            _ => "write `path: FILE`".to_owned(),
        };
        alias.error_at_key(&message, &hint);
    }
    let inline = fields.take("javascript");
    let field = inline.or_else(|| fields.take("path"));
    let spec = match inline {
        Some(field) => javascript(field, fields),
        None => field.and_then(file),
    };
    let spec = with_sight(spec, fields);
    with_settings(spec, field.unwrap_or(entry), fields, reader)
}

/// The grader whose text is the value of `field`.
fn javascript(field: Field<'_>, fields: &mut FieldSet<'_>) -> Option<ProgramSpec> {
    let text = field.text()?;
    if let Some(path) = fields.refuse(|name| name == "path").into_iter().next() {
        return path.refuse_at_key("a program grader has a `path` or `javascript`, not both", "");
    }
    if text.trim().is_empty() {
        let hint = "write an expression, for example `submission.length < 200`";
        return field.refuse("`javascript` is empty", hint);
    }
    if text.contains("=>") && text.trim_start().starts_with("export ") {
        let message = "`javascript` is an expression or the body of a function, not a module";
        return field.refuse(message, "write a file and `path: FILE`");
    }
    Some(ProgramSpec::of_javascript(text))
}

/// The program in the file that `field` names, or the function of it.
pub(crate) fn file(field: Field<'_>) -> Option<ProgramSpec> {
    let text = field.text()?;
    if let Some((first, rest)) = text.split_once(' ')
        && INTERPRETERS.contains(&first)
    {
        let hint = format!("write `path: {}` and `runtime: {first}`", rest.trim());
        return field.refuse("`path` is one file, not a command line", &hint);
    }
    if let Some((file, _)) = function_of(&text) {
        if is_python_file(file) {
            return python(field, &text, Role::Grade);
        }
        if Language::of_file(file) == Language::JavaScript {
            let message = "evalrs always calls `grade` of a module";
            return field.refuse(message, &format!("write `path: {file}`"));
        }
    }
    Some(ProgramSpec::of_file(field.path()?))
}

/// A program, named by a field, and its settings.
pub(crate) fn written_program(field: &str, spec: &ProgramSpec, path: &str) -> Value {
    let mut program = match &spec.inline {
        Some(text) => json!({"javascript": text}),
        None => json!({field: written_call(spec)}),
    };
    extend(&mut program, programs::written(spec, path));
    program
}
