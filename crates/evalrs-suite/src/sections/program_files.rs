//! What a suite names to be run: a file, a function of a Python file, a command.

use crate::reader::Reader;
use evalrs_base::yaml::tree::YamlEntry;
use evalrs_model::spec::{Language, ProgramSpec, Role};

/// Whether a name is `file.py:name`, a function of a Python file, or was probably meant to be.
pub(crate) fn is_python(name: &str) -> bool {
    name.contains(".py:") || is_python_file(name)
}

pub(crate) fn is_python_file(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending == "py")
}

/// File and function of `file:name`.
pub(crate) fn function_of(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(file, name)| !file.is_empty() && !name.contains(['/', '\\']))
}

/// The function that `text`, the value of `field`, names as `file.py:name`.
pub(crate) fn python(
    field: &YamlEntry,
    text: &str,
    role: Role,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let span = field.value.span;
    let (file, name) = function_of(text).unwrap_or((text, ""));
    if name.is_empty() || !is_python_file(file) {
        let (message, hint) = if is_python_file(file) {
            (format!("`{file}` is a file, not a function"), format!("write `{file}:NAME`"))
        } else {
            let message = format!("`{text}` does not name a function of a Python file");
            (message, "write `file.py:NAME`".to_owned())
        };
        reader.findings.error(span, message).hint = Some(hint);
        return None;
    }
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|char| char.is_alphanumeric() || char == '_');
    if !is_name {
        let message = format!("`{name}` is not the name of a Python function");
        reader.findings.error(span, message).hint = Some("write `file.py:NAME`".to_owned());
        return None;
    }
    let path = reader.findings.sources.join(span.file, file);
    Some(ProgramSpec::new(path, Language::Python, name, role))
}

/// The program of a command: one with a slash is a file of the suite's folder, another is installed.
pub(crate) fn words(field: &YamlEntry, role: Role, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
    let words = reader.findings.texts(field)?;
    let Some((program, arguments)) = words.split_first() else {
        reader.findings.error(field.value.span, format!("`{}` is empty", field.key)).hint =
            Some("for example `[python3, agent.py]`".to_owned());
        return None;
    };
    if arguments.is_empty() && program.trim().contains(char::is_whitespace) {
        let list: Vec<&str> = program.split_whitespace().collect();
        let message = format!("`{}` is a list of words, not a line for a shell", field.key);
        reader.findings.error(field.value.span, message).hint =
            Some(format!("write `{}: [{}]`", field.key, list.join(", ")));
        return None;
    }
    let is_file = program.contains('/');
    let path = if is_file {
        reader.findings.sources.join(field.value.span.file, program)
    } else {
        String::new()
    };
    let mut spec = ProgramSpec::new(path, Language::Executable, "", role);
    spec.runtime = (!is_file).then(|| program.clone());
    spec.arguments = arguments.to_vec();
    Some(spec)
}

/// A function of a Python file, or a module that exports `name`.
pub(crate) fn module_or_function(
    field: &YamlEntry,
    role: Role,
    name: &str,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let text = reader.findings.text(field)?;
    if is_python(&text) {
        return python(field, &text, role, reader);
    }
    if Language::of_file(&text) == Language::JavaScript {
        let path = reader.path(field)?;
        return Some(ProgramSpec::new(path, Language::JavaScript, name, role));
    }
    let message = format!("`{text}` names neither a function of a Python file nor a module");
    reader.findings.error(field.value.span, message).hint = Some(format!(
        "write `agent.py:{name}`, or a `.ts`, `.js` or `.mjs` file that exports `{name}`"
    ));
    None
}

/// A program's file, and its function where the file has several.
pub(crate) fn written_call(spec: &ProgramSpec) -> String {
    match spec.language {
        Language::Python => format!("{}:{}", spec.path, spec.function),
        Language::Executable | Language::JavaScript => spec.path.clone(),
    }
}

/// The words of a command.
pub(crate) fn written_words(program: &ProgramSpec) -> Vec<String> {
    let first = match program.path.as_str() {
        "" => program.runtime.clone(),
        // A name without a slash is one that is looked for.
        path if !path.contains('/') => Some(format!("./{path}")),
        path => Some(path.to_owned()),
    };
    first.into_iter().chain(program.arguments.iter().cloned()).collect()
}
