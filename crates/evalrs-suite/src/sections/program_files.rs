//! What a suite names to be run: a file, a function of a Python file, a command.

use crate::fields::Field;
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
pub(crate) fn python(field: Field<'_>, text: &str, role: Role) -> Option<ProgramSpec> {
    let (file, name) = function_of(text).unwrap_or((text, ""));
    if name.is_empty() || !is_python_file(file) {
        let (message, hint) = if is_python_file(file) {
            (format!("`{file}` is a file, not a function"), format!("write `{file}:NAME`"))
        } else {
            let message = format!("`{text}` does not name a function of a Python file");
            (message, "write `file.py:NAME`".to_owned())
        };
        return field.refuse(&message, &hint);
    }
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|char| char.is_alphanumeric() || char == '_');
    if !is_name {
        let message = format!("`{name}` is not the name of a Python function");
        return field.refuse(&message, "write `file.py:NAME`");
    }
    Some(ProgramSpec::new(field.joined(file), Language::Python, name, role))
}

/// The program of a command that is written as its words.
pub(crate) fn words(field: Field<'_>, role: Role) -> Option<ProgramSpec> {
    let words = field.texts()?;
    let Some((program, arguments)) = words.split_first() else {
        let message = format!("`{}` is empty", field.key);
        return field.refuse(&message, "for example `[python3, agent.py]`");
    };
    if arguments.is_empty() && program.trim().contains(char::is_whitespace) {
        let list: Vec<&str> = program.split_whitespace().collect();
        let message = format!("`{}` is a list of words, not a line for a shell", field.key);
        return field.refuse(&message, &format!("write `{}: [{}]`", field.key, list.join(", ")));
    }
    Some(command_line(field, program, arguments, role))
}

/// The program of a command: one with a slash is a file of the suite's folder, another is installed.
pub(crate) fn command_line(
    field: Field<'_>,
    program: &str,
    arguments: &[String],
    role: Role,
) -> ProgramSpec {
    let is_file = program.contains('/');
    let path = if is_file { field.joined(program) } else { String::new() };
    let runtime = (!is_file).then(|| program.to_owned());
    let arguments = arguments.to_vec();
    ProgramSpec { runtime, arguments, ..ProgramSpec::new(path, Language::Executable, "", role) }
}

/// A function of a Python file, or a module that exports `name`.
pub(crate) fn module_or_function(field: Field<'_>, role: Role, name: &str) -> Option<ProgramSpec> {
    let text = field.text()?;
    if is_python(&text) {
        return python(field, &text, role);
    }
    if Language::of_file(&text) == Language::JavaScript {
        let path = field.path()?;
        return Some(ProgramSpec::new(path, Language::JavaScript, name, role));
    }
    let message = format!("`{text}` names neither a function of a Python file nor a module");
    let hint =
        format!("write `agent.py:{name}`, or a `.ts`, `.js` or `.mjs` file that exports `{name}`");
    field.refuse(&message, &hint)
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
