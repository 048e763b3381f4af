//! Texts and numbers as the reports of agent-eval-harness show them.

use serde_json::Value;

use super::json::to_json;
use super::lines::JsonRecord;

/// The number with this many decimals, as JavaScript writes it: of two that are equally near, the one further from
/// zero (ECMA-262, `Number.prototype.toFixed`).
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let size = value.abs();
    // Digits that show every tie there can be with so few decimals.
    let exact = format!("{size:.80}");
    let rest = exact.split_once('.').and_then(|(_, fraction)| fraction.get(decimals..));
    let is_tie = rest
        .and_then(|rest| rest.strip_prefix('5'))
        .is_some_and(|rest| rest.bytes().all(|byte| byte == b'0'));
    let rounded = format!("{:.decimals$}", if is_tie { size.next_up() } else { size });
    if value < 0.0 { format!("-{rounded}") } else { rounded }
}

/// A share in percent, with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", fixed(share * 100.0, 1))
}

/// The first characters of a text.
pub(crate) fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at])
}

/// The first characters of a text, and dots if there are more.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let shown = first(text, most);
    if shown.len() < text.len() { format!("{shown}...") } else { shown.to_owned() }
}

/// The lines between fences that none of them can close.
pub(crate) fn fenced(lines: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for char in lines.chars() {
        run = if char == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{lines}{fence}")
}

/// An input as text: its turns joined. One that is neither text nor turns is its JSON.
pub(crate) fn joined_input(input: Option<&Value>, separator: &str) -> String {
    match input {
        Some(Value::Array(turns)) => turns.iter().map(shown).collect::<Vec<_>>().join(separator),
        input => input.map(shown).unwrap_or_default(),
    }
}

/// A string as it is, anything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| to_json(value), str::to_owned)
}

/// The member of this name as text; empty if it is something else.
pub(crate) fn text_of<'v>(record: &'v JsonRecord, name: &str) -> &'v str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a call of a tool failed in a record.
pub(crate) fn has_tool_errors(record: &JsonRecord) -> bool {
    record.get("toolErrors") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::{fixed, percent, shortened};

    #[test]
    fn decimals_are_rounded_as_javascript_rounds_them() {
        // What `n.toFixed(d)` gives in node 20.
        for (value, decimals, expected) in [
            (2.5, 0, "3"),
            (0.125, 2, "0.13"),
            (0.0625, 3, "0.063"),
            (1.005, 2, "1.00"),
            (1.45, 1, "1.4"),
            (8.345, 2, "8.35"),
            (0.5, 0, "1"),
            (-2.5, 0, "-3"),
            (1234.5678, 1, "1234.6"),
            (0.0, 3, "0.000"),
            (99.95, 1, "100.0"),
        ] {
            assert_eq!(fixed(value, decimals), expected, "{value} {decimals}");
        }
        assert_eq!(percent(2.0 / 3.0), "66.7%");
        assert_eq!(shortened("aéb", 2), "aé...");
        assert_eq!(shortened("aé", 2), "aé");
    }
}
