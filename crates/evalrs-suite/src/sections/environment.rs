//! What surrounds a program: the variables that it sees (`env`) and what it is kept from (`sandbox`).

use serde_json::{Value, json};
use strum::VariantNames;

use crate::fields::Field;
use crate::secrets::SECRECIES;
use crate::section::FieldShape::{self, AnyOf, Choice, ListOf, MapOf, Mapping, Text, Whole};
use crate::section::{FINITE, Section, section};
use evalrs_base::yaml::tree::{Yaml, YamlNode};
use evalrs_model::spec::{Sandbox, SandboxKind, Variable};

pub(crate) const ENVIRONMENT: FieldShape =
    AnyOf(&[Text, ListOf(&AnyOf(&[Text, MapOf(&Choice(&["secret", "plain"]))]))]);

/// The variables that a program sees: `[MODEL, {NAME: secret}, {MY_TOKEN: plain}]`. What is written instead of a name may
/// be a secret, and is hidden.
pub(crate) fn variables(field: Field<'_>) -> Option<Vec<Variable>> {
    if field.is_mapping() {
        return not_a_list(field);
    }
    let is_list = matches!(field.value.value, Yaml::Seq(_));
    let nodes = field.value.items();
    let mut all = Vec::with_capacity(nodes.len());
    let mut wrong = Vec::new();
    for node in nodes {
        match &node.value {
            Yaml::Str(text) if is_variable(text) && !text.is_empty() => {
                all.push(Variable::named(text));
            }
            Yaml::Str(text) => wrong.push((text, node)),
            Yaml::Map(_) if is_list => {
                all.extend(declared_variables(field, node).unwrap_or_default());
            }
            _ if is_list => {
                field.refuse_item::<()>(node);
            }
            // It says what is wrong.
            _ => drop(field.texts()?),
        }
    }
    // All of them first, because each is shown with its whole line.
    for (_, node) in &wrong {
        field.findings.hide(node.span);
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
        field.findings.error(node.span, message, &hint);
    }
    all.sort();
    if let Some(pair) = all.windows(2).find(|pair| is_contradiction(pair)) {
        field.error(&format!("`{}` is both `secret` and `plain`", pair[0].name), "name it once");
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
fn not_a_list(field: Field<'_>) -> Option<Vec<Variable>> {
    let entries = field.entries()?;
    for entry in &entries {
        entry.hide();
    }
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    // Secrets were taken out before, names and all.
    let names = if names.is_empty() { "NAME".to_owned() } else { names.join(", ") };
    let message = "`env` must be a list of names, not a mapping";
    field.refuse_at_key(message, &format!("write `env: [{names}]`: {VALUES_ARE}"))
}

/// The variables of an item that says whether they are secrets.
fn declared_variables(field: Field<'_>, item: &YamlNode) -> Option<Vec<Variable>> {
    let mut all = Vec::new();
    for entry in item.entries().iter().map(|entry| Field { entry, ..field }) {
        let name = entry.key.clone();
        if name.is_empty() || !is_variable(&name) {
            return entry.refuse_at_key("this is not the name of an environment variable", "");
        }
        let said = match &entry.value.value {
            Yaml::Str(text) => SECRECIES.iter().find(|(word, _)| word == text),
            _ => None,
        };
        let Some((_, is_secret)) = said else {
            entry.hide();
            let message = format!("`{name}` must be `secret` or `plain`");
            let hint =
                format!("write `{{{name}: secret}}` to keep its value out of keys; {VALUES_ARE}");
            return entry.refuse(&message, &hint);
        };
        all.push(Variable { name, is_secret: *is_secret });
    }
    if all.is_empty() {
        let hint = "write `NAME` or `{NAME: secret}`";
        field.findings.error(item.span, "an item of `env` is empty", hint);
    }
    Some(all)
}

/// Whether `name` can be the name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A variable that a program sees; whether it is a secret where its name does not tell.
pub(crate) fn written(variable: &Variable) -> Value {
    if variable.is_plainly_named() {
        return json!(variable.name);
    }
    json!({&variable.name: if variable.is_secret { "secret" } else { "plain" }})
}

pub(crate) const SANDBOX_SHAPE: FieldShape =
    AnyOf(&[Choice(SandboxKind::VARIANTS), Mapping(&SANDBOX)]);

pub(crate) static SANDBOX: Section = section!["`sandbox`",
    "kind": Choice(SandboxKind::VARIANTS), needed "`sandbox` has no `kind`", "write `kind: none`, `kind: auto` or `kind: bubblewrap`" => "`auto` is bubblewrap where it is installed and works, else none; with `bubblewrap` nothing runs without it";
    "memory": AnyOf(&[FINITE, Text]) => "the most memory: bytes, or an amount such as `512MB`";
    "cpu": Whole(1, 86_400, "a whole number of seconds, 1 to 86400") => "the most seconds of processor time";
];

/// Reads `sandbox: auto` and `sandbox: {kind: auto, memory: 512MB, cpu: 30}`.
pub(crate) fn sandbox(field: Field<'_>) -> Option<Sandbox> {
    match &field.value.value {
        Yaml::Bool(wanted) => {
            let kind = if *wanted { "auto" } else { "none" };
            let hint = format!("write `sandbox: {kind}`");
            return field.wrong_type("`none`, `auto` or `bubblewrap`", &hint);
        }
        Yaml::Map(_) => {}
        _ => {
            let kind = field.variant()?;
            return Some(Sandbox { kind, ..Sandbox::default() });
        }
    }
    let inner = field.fields(&SANDBOX)?;
    let kind = inner.variant("kind");
    let memory = inner.take("memory").and_then(bytes);
    let cpu_seconds = inner.whole("cpu");
    inner.finish();
    Some(Sandbox { kind: kind?, memory, cpu_seconds })
}

/// An amount of memory: bytes, or a number with a unit.
fn bytes(field: Field<'_>) -> Option<u64> {
    const MIN_BYTES: f64 = 1e6;
    const MAX_BYTES: f64 = 9e15;
    const UNITS: [(&str, f64); 10] = [
        ("", 1.0),
        ("b", 1.0),
        ("k", 1e3),
        ("kb", 1e3),
        ("m", 1e6),
        ("mb", 1e6),
        ("g", 1e9),
        ("gb", 1e9),
        ("mib", 1_048_576.0),
        ("gib", 1_073_741_824.0),
    ];
    let amount = match &field.value.value {
        Yaml::Int(bytes) => Some(*bytes as f64),
        Yaml::Float(bytes) => Some(*bytes),
        Yaml::Str(text) => {
            let text = text.trim();
            let end = text.find(|char: char| char.is_alphabetic()).unwrap_or(text.len());
            let unit = text[end..].trim().to_ascii_lowercase();
            let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
            let number = text[..end].trim().replace('_', "").parse::<f64>().ok();
            factor.zip(number).map(|(factor, number)| factor * number)
        }
        _ => return field.wrong_type("an amount of memory", "for example `memory: 512MB`"),
    };
    match amount {
        Some(bytes) if (MIN_BYTES..=MAX_BYTES).contains(&bytes) => Some(bytes.round() as u64),
        Some(_) => {
            let message = format!("`{}` must be at least 1 MB", field.key);
            field.refuse(&message, "give a unit, for example `memory: 512MB`")
        }
        None => {
            let message = format!("`{}` is not an amount of memory", field.key);
            field.refuse(&message, "for example `memory: 512MB` or `memory: 2GiB`")
        }
    }
}
