//! Graders that are deterministic functions, or functions of a Python file.

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{Anything, Choice, MapOf, Text};
use crate::section::{FieldSpec, Section, fields};
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::options::{options, report};
use crate::sections::programs::PROGRAM_SETTINGS;
use crate::sections::{program_files, programs, votes};
use evalrs_model::spec::{GraderKind, Language, Role, ToolSpec};

pub(crate) static TOOL: Section = Section::new("a tool grader", &[TOOL_KIND, SUBMISSION, FUNCTION]);

/// A function of a Python file.
pub(crate) static PYTHON_TOOL: Section =
    Section::new("a tool grader", &[TOOL_KIND, SUBMISSION, FUNCTION, PROGRAM_SETTINGS]);

const TOOL_KIND: &[FieldSpec] = fields![
    "kind": Choice(&["tool"]), required => "a deterministic function, or a Python function";
];

const FUNCTION: &[FieldSpec] = fields![
    "config": MapOf(&Anything) => "the options of the function";
    "function": Text, needed "a tool grader needs a `function`", "for example `function: contains`" => "the function; `file.py:name` is a function of a Python file";
];

pub(crate) fn tool(
    entry: Field<'_>,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderKind> {
    let config_field = fields.take("config");
    let config = options(config_field);
    let field = fields.take("function")?;
    let function = field.text()?;
    if program_files::is_python(&function) {
        if let Some(config) = config_field {
            let hint = "write it into the file, or into the `metadata` of the rows";
            config.error_at_key("functions of Python files have no `config`", hint);
        }
        fields.read_as(&PYTHON_TOOL);
        let spec = program_files::python(field, &function, Role::Grade);
        let spec = programs::with_sight(spec, fields);
        let spec = programs::with_settings(spec, field, fields, reader)?;
        return Some(GraderKind::Program(Box::new(spec)));
    }
    if !reader.registry.graders.contains(&function.as_str()) {
        if Language::of_file(&function) == Language::JavaScript || function.contains('/') {
            let hint = format!("write `kind: program` and `path: {function}`");
            return field.refuse(&format!("`{function}` is a file, not a grading function"), &hint);
        }
        return field.unknown(&function, "grading function", reader.registry.graders);
    }
    let mut spec = ToolSpec { function, config: config? };
    votes::join_path(&mut spec, field);
    let problems = (reader.registry.check_grader)(&spec);
    report(&problems, entry.value.get("config"), field);
    Some(GraderKind::Tool(spec))
}
