//! Programs of the user, wherever a suite names one: a file that is run or a function of a Python file, and how.
//!
//! No file is looked for here. `path` and `cwd` are joined to the folder of the file that wrote them, as paths are
//! everywhere; `inputs` stay relative to the suite's folder, because they are part of keys.

use super::fields::{FieldSet, Findings};
use super::headers::is_variable;
use super::reader::Reader;
use super::sandboxes;
use super::sections::{ALL_MEMBERS, MEMBERS};
use evalrs_base::diagnostic::{Place, suggest};
use evalrs_base::yaml::source::{SourceSpan, Sources};
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};
use evalrs_eval::program::UncallablePart;
use evalrs_model::spec::{Language, ProgramSpec, Repeat, Role, SampleMember, Variable};

/// What may be said of a variable, and whether it is a secret then.
pub(super) const SECRECIES: [(&str, bool); 2] = [("secret", true), ("plain", false)];

/// What `path` is called elsewhere.
const ALIASES: [&str; 5] = ["script", "command", "file", "program", "function"];

/// What people write before a file to run it.
const INTERPRETERS: [&str; 10] =
    ["python", "python3", "node", "bun", "deno", "bash", "sh", "ruby", "uv", "npx"];

/// Where a suite says what of a program. Kept beside the spec, so that moving a line does not change the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramPlaces {
    /// Where its file is named.
    pub file: Place,
    /// Where its runtime is set.
    pub runtime: Option<Place>,
    /// Where each of its inputs stands, as [`ProgramSpec::inputs`] has it.
    pub inputs: Vec<(String, Place)>,
    /// Where the folder is named that it runs in.
    pub cwd: Option<Place>,
}

impl ProgramPlaces {
    /// Where a part is set; where the program is named, if the suite does not set it.
    pub fn of(&self, part: &UncallablePart) -> &Place {
        let said = match part {
            UncallablePart::File => None,
            UncallablePart::Runtime => self.runtime.as_ref(),
            UncallablePart::Cwd => self.cwd.as_ref(),
            UncallablePart::Inputs(input) => {
                let is_it = |known: &String| input.as_ref().is_none_or(|input| input == known);
                let found = self.inputs.iter().find(|(known, _)| is_it(known));
                found.map(|(_, place)| place)
            }
        };
        said.unwrap_or(&self.file)
    }
}

/// The same before all that is secret is known.
#[derive(Debug)]
pub(super) struct Spans {
    spec: ProgramSpec,
    file: SourceSpan,
    runtime: Option<SourceSpan>,
    inputs: Vec<(String, SourceSpan)>,
    cwd: Option<SourceSpan>,
}

impl Spans {
    /// The program and its places. Called only when everything is read, so that all secrets are masked.
    pub(crate) fn places(self, sources: &Sources) -> (ProgramSpec, ProgramPlaces) {
        let place = |span| sources.place(span);
        let inputs = self.inputs.into_iter().map(|(input, span)| (input, place(span)));
        let places = ProgramPlaces {
            file: place(self.file),
            runtime: self.runtime.map(place),
            inputs: inputs.collect(),
            cwd: self.cwd.map(place),
        };
        (self.spec, places)
    }
}

/// Reads the program of a grader of `kind: program`.
pub(super) fn program(
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

/// Reads what the program is handed of the sample besides what every program is.
pub(super) fn with_sight(
    spec: Option<ProgramSpec>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let sees = fields.take("sees").map_or_else(Vec::new, |field| members(field, reader));
    let mut spec = spec?;
    // What the text of a suite names is seen in any case.
    spec.sees.extend(sees);
    spec.sees.sort();
    spec.sees.dedup();
    Some(spec)
}

/// The members that `field` names, each once and in their order.
fn members(field: &YamlEntry, reader: &mut Reader<'_>) -> Vec<SampleMember> {
    let names = reader.findings.texts(field).unwrap_or_default();
    if matches!(&field.value.value, Yaml::Str(text) if text == ALL_MEMBERS) {
        return SampleMember::ALL.to_vec();
    }
    for (name, node) in names.iter().zip(items(field)) {
        if !MEMBERS.contains(&name.as_str()) {
            let message = format!("a sample has no `{name}` that a program could see");
            let known = suggest(name, MEMBERS.iter().copied());
            reader.findings.error(node.span, message).hint = Some(match known {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("write `{ALL_MEMBERS}`, or some of {}", MEMBERS.join(", ")),
            });
        }
    }
    let is_named = |member: &SampleMember| names.iter().any(|name| name == member.name());
    SampleMember::ALL.into_iter().filter(is_named).collect()
}

/// The program in the file that `field` names, or the function of it.
fn file(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
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

/// Whether a name is `file.py:name`, a function of a Python file, or was probably meant to be.
pub(super) fn is_python(name: &str) -> bool {
    name.contains(".py:") || is_python_file(name)
}

fn is_python_file(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending == "py")
}

/// File and function of `file:name`.
fn function_of(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(file, name)| !file.is_empty() && !name.contains(['/', '\\']))
}

/// The function that `text`, the value of `field`, names as `file.py:name`.
pub(super) fn python(
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

/// Reads the settings of a program that `named` names, also of one that is wrong, so that they are known.
pub(super) fn with_settings(
    spec: Option<ProgramSpec>,
    named: &YamlEntry,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    with_settings_and(spec, named, fields, None, reader)
}

/// The same with a folder that it gets a copy of, as the suite's folder sees it.
pub(super) fn with_settings_and(
    spec: Option<ProgramSpec>,
    named: &YamlEntry,
    fields: &FieldSet<'_>,
    template: Option<String>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let runtime_field = fields.take("runtime");
    let cwd_field = fields.take("cwd");
    let runtime = runtime_field.and_then(|field| runtime(field, reader));
    let inputs = fields.take("inputs").and_then(|field| paths(field, reader)).unwrap_or_default();
    let outputs = fields.take("outputs").and_then(|field| paths(field, reader)).unwrap_or_default();
    let env = fields.take("env").and_then(|field| variables(field, &mut reader.findings));
    let cwd = cwd_field.and_then(|field| reader.path(field));
    let own =
        fields.take("sandbox").and_then(|field| sandboxes::sandbox(field, &mut reader.findings));
    let repeat = repeat(fields, &mut reader.findings);
    let timeout = fields.seconds("timeout", &mut reader.findings);
    let mut spec = spec?;
    spec.runtime = runtime.or(spec.runtime);
    spec.inputs = sorted(inputs.iter().map(|(input, _)| input).chain(&template).cloned().collect());
    spec.template = template;
    spec.outputs = sorted(outputs.into_iter().map(|(output, _)| output).collect());
    spec.env = env.unwrap_or_default();
    spec.cwd = cwd;
    spec.sandbox = own.unwrap_or_else(|| reader.sandbox.clone());
    spec.repeat = repeat;
    if let Some(seconds) = timeout {
        spec.timeout_ms = ((seconds * 1000.0).round() as u64).max(1);
    }
    reader.programs.push(Spans {
        spec: spec.clone(),
        file: named.value.span,
        runtime: runtime_field.map(|field| field.value.span),
        inputs,
        cwd: cwd_field.map(|field| field.value.span),
    });
    Some(spec)
}

/// A program that runs as `other` does, whose settings are those of both.
pub(super) fn beside(
    spec: ProgramSpec,
    named: &YamlEntry,
    other: &ProgramSpec,
    reader: &mut Reader<'_>,
) -> ProgramSpec {
    let spec = ProgramSpec {
        runtime: other.runtime.clone(),
        env: other.env.clone(),
        cwd: other.cwd.clone(),
        sandbox: other.sandbox.clone(),
        timeout_ms: other.timeout_ms,
        ..spec
    };
    reader.programs.push(Spans {
        spec: spec.clone(),
        file: named.value.span,
        runtime: None,
        inputs: Vec::new(),
        cwd: None,
    });
    spec
}

/// What runs a program: a name to be found, or a path.
fn runtime(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<String> {
    let text = reader.findings.text(field)?;
    if text.contains('/') {
        return reader.path(field);
    }
    if let Some((first, _)) = text.trim().split_once(char::is_whitespace) {
        let message = "`runtime` is one program, without arguments";
        reader.findings.error(field.value.span, message).hint =
            Some(format!("write `runtime: {first}`"));
        return None;
    }
    Some(text)
}

/// Files, folders and patterns as the suite's folder sees them, each with its place.
fn paths(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<Vec<(String, SourceSpan)>> {
    let texts = reader.findings.texts(field)?;
    let mut all = Vec::with_capacity(texts.len());
    for (text, node) in texts.iter().zip(items(field)) {
        if text.trim().is_empty() {
            reader.findings.error(node.span, format!("an item of `{}` is empty", field.key)).hint =
                Some("name a file, a folder, or a pattern such as `data/*.json`".to_owned());
        }
        all.push((reader.findings.sources.relative_to_suite(node.span.file, text), node.span));
    }
    Some(all)
}

fn items(field: &YamlEntry) -> &[YamlNode] {
    match &field.value.value {
        Yaml::Seq(items) => items,
        _ => std::slice::from_ref(&field.value),
    }
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts.dedup();
    texts
}

/// The variables that a program sees: `[MODEL, {NAME: secret}, {MY_TOKEN: plain}]`. What is written instead of a name may
/// be a secret, and is hidden.
fn variables(field: &YamlEntry, findings: &mut Findings) -> Option<Vec<Variable>> {
    if let Yaml::Map(entries) = &field.value.value {
        return not_a_list(field, entries, findings);
    }
    let is_list = matches!(field.value.value, Yaml::Seq(_));
    let nodes = items(field);
    let mut all = Vec::with_capacity(nodes.len());
    let mut wrong = Vec::new();
    for node in nodes {
        match &node.value {
            Yaml::Str(text) if is_variable(text) && !text.is_empty() => {
                all.push(Variable::named(text));
            }
            Yaml::Str(text) => wrong.push((text, node)),
            Yaml::Map(entries) if is_list => {
                all.extend(declared_variables(entries, node, findings).unwrap_or_default());
            }
            _ if is_list => {
                let message = format!("an item of `env` must be text, not {}", node.noun());
                findings.error(node.span, message).hint =
                    Some("put the value in quotes".to_owned());
            }
            // It says what is wrong.
            _ => drop(findings.texts(field)?),
        }
    }
    // All of them first, because each is shown with its whole line.
    for (_, node) in &wrong {
        findings.sources.hide(node.span);
    }
    for (text, node) in wrong {
        let (message, hint) = match text.split_once('=') {
            Some((name, _)) if is_variable(name) && !name.is_empty() => (
                "`env` names variables and does not set them",
                format!("write `{name}`; {VALUES_ARE}"),
            ),
            _ => (
                "this is not the name of an environment variable",
                format!("write names alone, for example `env: [OPENAI_API_KEY]`; {VALUES_ARE}"),
            ),
        };
        findings.error(node.span, message).hint = Some(hint);
    }
    all.sort();
    if let Some(pair) = all.windows(2).find(|pair| is_contradiction(pair)) {
        let message = format!("`{}` is both `secret` and `plain`", pair[0].name);
        findings.error(field.value.span, message).hint = Some("name it once".to_owned());
    }
    all.dedup();
    Some(all)
}

/// Where the values of variables are.
const VALUES_ARE: &str = "their values come from the environment or from `.env`";

/// Whether a variable is declared both secret and plain. One without either is what its name suggests.
fn is_contradiction(pair: &[Variable]) -> bool {
    matches!(pair, [one, other] if one.name == other.name && one.is_secret != other.is_secret)
}

/// `env` is a mapping: that looks as if it set variables.
fn not_a_list(
    field: &YamlEntry,
    entries: &[YamlEntry],
    findings: &mut Findings,
) -> Option<Vec<Variable>> {
    for entry in entries {
        findings.sources.hide(entry.value.span);
    }
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    // Secrets were taken out before, names and all.
    let names = if names.is_empty() { "NAME".to_owned() } else { names.join(", ") };
    let message = "`env` must be a list of names, not a mapping";
    findings.error(field.key_span, message).hint =
        Some(format!("write `env: [{names}]`: {VALUES_ARE}"));
    None
}

/// The variables of an item that says whether they are secrets.
fn declared_variables(
    entries: &[YamlEntry],
    node: &YamlNode,
    findings: &mut Findings,
) -> Option<Vec<Variable>> {
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.key.clone();
        if name.is_empty() || !is_variable(&name) {
            findings.error(entry.key_span, "this is not the name of an environment variable");
            return None;
        }
        let said = match &entry.value.value {
            Yaml::Str(text) => SECRECIES.iter().find(|(word, _)| word == text),
            _ => None,
        };
        let Some((_, is_secret)) = said else {
            findings.sources.hide(entry.value.span);
            let message = format!("`{name}` must be `secret` or `plain`");
            findings.error(entry.value.span, message).hint = Some(format!(
                "write `{{{name}: secret}}` to keep its value out of keys; {VALUES_ARE}"
            ));
            return None;
        };
        all.push(Variable { name, is_secret: *is_secret });
    }
    if all.is_empty() {
        findings.error(node.span, "an item of `env` is empty").hint =
            Some("write `NAME` or `{NAME: secret}`".to_owned());
    }
    Some(all)
}

/// Reads `cache: false` and `deterministic: check`.
fn repeat(fields: &FieldSet<'_>, findings: &mut Findings) -> Repeat {
    let is_kept = fields.truth("cache", findings).unwrap_or(true);
    let deterministic = fields.take("deterministic");
    let is_checked = deterministic.is_some_and(|field| match &field.value.value {
        Yaml::Str(text) if text == "check" => true,
        Yaml::Bool(true) => false,
        value => {
            let hint = match value {
                Yaml::Bool(false) => "a program that gives different results has `cache: false`",
                _ => "write `deterministic: check` to run it twice for some samples",
            };
            let message = "`deterministic` must be `true` or `check`";
            findings.error(field.value.span, message).hint = Some(hint.to_owned());
            false
        }
    });
    match (is_kept, is_checked) {
        (false, true) => {
            if let Some(field) = deterministic {
                let message = "a program with `cache: false` is run anew every time: there is nothing to check";
                findings.error(field.key_span, message).hint = Some("keep one".to_owned());
            }
            Repeat::Always
        }
        (false, false) => Repeat::Always,
        (true, true) => Repeat::Sometimes,
        (true, false) => Repeat::Never,
    }
}
