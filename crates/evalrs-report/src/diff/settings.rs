//! What was edited between two evaluations.

use serde_json::Value;

use super::names::listed;
use crate::page::{Block, Page, Text, changed, faint, quoted, text};
use evalrs_base::text::{count, cut};
use evalrs_metrics::diff::{Diff, SettingChange};

/// How many settings and files that differ are shown.
const SHOWN: usize = 20;

/// From so many columns on, a setting is shown as what changed in it.
const LONG: usize = 40;

/// The columns of a value.
const VALUE: usize = 60;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// Adds the settings that differ, and the files.
pub(super) fn add(diff: &Diff, page: &mut Page) {
    let rest = diff.settings.len().saturating_sub(SHOWN);
    let rest = (rest > 0).then(|| faint(&format!("{} more", count(rest, "setting"))));
    let settings = diff.settings.iter().take(SHOWN).map(setting);
    page.add(Block::lines(settings.chain(rest).chain(files(diff))));
}

fn setting(change: &SettingChange) -> Text {
    let is_digest = change.path.ends_with(".blake3");
    let is_long = |text: &str| text.len() > LONG || text.contains('\n');
    let changed = match (&change.before, &change.now) {
        (Some(Value::String(before)), Some(Value::String(now)))
            if !is_digest && (is_long(before) || is_long(now)) =>
        {
            changed(before, now)
        }
        _ => Text::default(),
    };
    let value = |value: &Option<Value>| match value {
        None | Some(Value::Null) => "(absent)".into(),
        Some(Value::String(text)) if is_digest => {
            quoted(&text.chars().take(DIGITS).collect::<String>())
        }
        Some(value) => quoted(&cut(&value.to_string(), VALUE)),
    };
    let changed = if changed.is_empty() {
        text![value(&change.before), " → ", value(&change.now)]
    } else {
        changed
    };
    text![quoted(&cut(&change.path, VALUE)), ": ", changed]
}

fn files(diff: &Diff) -> Option<Text> {
    let name = |change: &SettingChange| {
        let only = match (&change.before, &change.now) {
            (None, _) => " (new)",
            (_, None) => " (gone)",
            _ => "",
        };
        text![quoted(&change.path), only]
    };
    let named: Vec<Text> = diff.files.iter().take(SHOWN).map(name).collect();
    (!named.is_empty()).then(|| text!["files that differ: ", listed(named, diff.files.len())])
}
