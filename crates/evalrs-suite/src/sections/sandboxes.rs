//! What a suite says of the sandbox of a program: its kind and its limits.

use crate::fields::Field;
use crate::section::FieldShape::{AnyOf, Choice, Mapping, Text, Whole};
use crate::section::{FINITE, FieldShape, Section, names, section};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{Sandbox, SandboxKind};

pub(crate) const SANDBOX_SHAPE: FieldShape =
    AnyOf(&[Choice(&names(&SANDBOXES)), Mapping(&SANDBOX)]);

pub(crate) static SANDBOX: Section = section!["`sandbox`",
    "kind": Choice(&names(&SANDBOXES)), needed "`sandbox` has no `kind`", "write `kind: none`, `kind: auto` or `kind: bubblewrap`" => "what programs are kept from";
    "memory": AnyOf(&[FINITE, Text]) => "the most memory: bytes, or an amount such as `512MB`";
    "cpu": Whole(1, 86_400, "a whole number of seconds, 1 to 86400") => "the most seconds of processor time";
];

/// What a sandbox may be, by name.
pub(crate) const SANDBOXES: [(&str, SandboxKind); 3] = [
    ("none", SandboxKind::None),
    ("auto", SandboxKind::Auto),
    ("bubblewrap", SandboxKind::Bubblewrap),
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
            let kind = field.choice(&SANDBOXES)?;
            return Some(Sandbox { kind, ..Sandbox::default() });
        }
    }
    let inner = field.fields(&SANDBOX)?;
    let kind = inner.choice("kind", &SANDBOXES);
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
