//! `evalrs list`: what suites can use, from the registry.

use serde_json::Value;

use crate::cli::{ListArgs, ListedKind};
use evalrs_base::text::columns;
use evalrs_suite::registry;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(crate) fn list(args: &ListArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let entries = match args.what {
        ListedKind::Graders => registry::graders(),
        ListedKind::Extractors => registry::extractors(),
        ListedKind::Targets => registry::targets(),
        ListedKind::Providers => registry::providers(),
    };
    if args.json {
        console.write_json(&entries)?;
        return Ok(ExitStatus::Success);
    }
    let indent = entries.iter().map(|entry| entry.id.len()).max().unwrap_or_default() + 2;
    for entry in &entries {
        write_wrapped(entry.id, entry.description, indent, console)?;
        let options = entry.option_names();
        if !options.is_empty() {
            write_wrapped("", &format!("options: {}", options.join(", ")), indent, console)?;
        }
        for (name, fact) in &entry.facts {
            write_wrapped("", &format!("{name}: {}", in_words(fact)), indent, console)?;
        }
    }
    Ok(ExitStatus::Success)
}

/// A fact without its brackets and quotes.
fn in_words(fact: &Value) -> String {
    match fact {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let members = members.iter().map(|(name, why)| format!("{name} ({})", in_words(why)));
            members.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Writes `head` and, from column `indent` on, `text`, in as many lines as the terminal needs.
fn write_wrapped(
    head: &str,
    text: &str,
    indent: usize,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    write!(console.out, "{head:indent$}")?;
    let mut column = indent;
    for (at, word) in text.split(' ').enumerate() {
        let words = columns(word);
        if at > 0 && column + 1 + words > console.width {
            write!(console.out, "\n{:indent$}{word}", "")?;
            column = indent + words;
        } else {
            let gap = usize::from(at > 0);
            write!(console.out, "{:gap$}{word}", "")?;
            column += gap + words;
        }
    }
    writeln!(console.out)
}
