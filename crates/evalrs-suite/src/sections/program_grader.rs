//! Graders that are programs of the user: a file, or JavaScript that stands in the suite.

use serde_json::{Value, json};

use crate::fields::FieldSet;
use crate::reader::Reader;
use crate::section::FieldShape::{Choice, Text};
use crate::section::{Section, fields};
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::program_files::{function_of, is_python_file, python, written_call};
use crate::sections::programs::{self, PROGRAM_SETTINGS, with_settings, with_sight};
use crate::written::extend;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry};
use evalrs_model::spec::{Language, ProgramSpec, Role};

/// A program of the user that grades.
pub(crate) static PROGRAM: Section = Section::new(
    "a program grader",
    &[
        fields![
            "kind": Choice(&["program"]), required => "a program of yours";
        ],
        SUBMISSION,
        fields![
            "path": Text, needed "a program grader needs a `path`", "for example `path: graders/policy.py`" => "the file; `file.py:name` is a function of it";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// A program of the user that grades, and whose text stands in the suite.
pub(crate) static INLINE_PROGRAM: Section = Section::new(
    "a program grader",
    &[
        fields![
            "kind": Choice(&["program"]), required => "a program of yours";
        ],
        SUBMISSION,
        fields![
            "javascript": Text, required => "an expression of JavaScript, or the body of a function with `return`, in place of a file";
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
    entry: &YamlEntry,
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
        reader.findings.error(alias.key_span, message).hint = Some(hint);
    }
    let inline = fields.take("javascript");
    let field = inline.or_else(|| fields.take("path"));
    let spec = match inline {
        Some(field) => javascript(field, fields, reader),
        None => field.and_then(|field| file(field, reader)),
    };
    let spec = with_sight(spec, fields, reader);
    with_settings(spec, field.unwrap_or(entry), fields, reader)
}

/// The grader whose text is the value of `field`.
fn javascript(
    field: &YamlEntry,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let text = reader.findings.text(field)?;
    if let Some(path) = fields.refuse(|name| name == "path").into_iter().next() {
        let message = "a program grader has a `path` or `javascript`, not both";
        reader.findings.error(path.key_span, message);
        return None;
    }
    if text.trim().is_empty() {
        reader.findings.error(field.value.span, "`javascript` is empty").hint =
            Some("write an expression, for example `submission.length < 200`".to_owned());
        return None;
    }
    if text.contains("=>") && text.trim_start().starts_with("export ") {
        let message = "`javascript` is an expression or the body of a function, not a module";
        reader.findings.error(field.value.span, message).hint =
            Some("write a file and `path: FILE`".to_owned());
        return None;
    }
    Some(ProgramSpec::of_javascript(text))
}

/// The program in the file that `field` names, or the function of it.
pub(crate) fn file(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
    let text = reader.findings.text(field)?;
    if let Some((first, rest)) = text.split_once(' ')
        && INTERPRETERS.contains(&first)
    {
        let message = "`path` is one file, not a command line";
        reader.findings.error(field.value.span, message).hint =
            Some(format!("write `path: {}` and `runtime: {first}`", rest.trim()));
        return None;
    }
    if let Some((file, _)) = function_of(&text) {
        if is_python_file(file) {
            return python(field, &text, Role::Grade, reader);
        }
        if Language::of_file(file) == Language::JavaScript {
            let message = "what is called in a module is always its `grade`";
            reader.findings.error(field.value.span, message).hint =
                Some(format!("write `path: {file}`"));
            return None;
        }
    }
    Some(ProgramSpec::of_file(reader.path(field)?))
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
