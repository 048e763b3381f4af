//! What both explanations are made of: the name of a result, and names with values.

use crate::digest::label;
use crate::page::{Column, Table, Text, faint, quoted, strong, text};

/// The lines that a value may take on a terminal that cuts.
const LINES: usize = 4;

/// What a result is called.
pub(super) fn heading(sample: &str, model: Option<&str>, trial: Option<u32>, suite: &str) -> Text {
    let name = label(sample, model, trial);
    text![strong("sample"), "  ", quoted(&name), " of ", quoted(suite)]
}

/// Of which turn a judge is called and in which order answers are compared, where that is to be shown.
pub(super) fn called_how(turn: Option<usize>, reversed: Option<bool>) -> String {
    let turn = turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
    let order = match reversed {
        None => "",
        Some(false) => ", in order",
        Some(true) => ", in reverse order",
    };
    format!("{turn}{order}")
}

/// Names and values, a line each.
pub(super) struct FieldTable(pub Table);

impl FieldTable {
    pub(super) fn new() -> Self {
        Self(Table::new([Column::names(""), Column::words("").of_lines(LINES)]))
    }

    pub(super) fn add(&mut self, name: &str, value: impl Into<Text>) {
        let value = value.into();
        let value = if value.is_empty() { faint("(empty)") } else { value };
        self.0.row([faint(name), value]);
    }

    pub(super) fn extend<'n>(&mut self, fields: impl IntoIterator<Item = (&'n str, Text)>) {
        fields.into_iter().for_each(|(name, value)| self.add(name, value));
    }
}
