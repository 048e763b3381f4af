//! What the blocks of plain lines share: how they are indented and broken, and what the session spent in words.

use anstyle::Style;

use crate::board::Spending;
use evalrs_base::price::Cost;
use evalrs_base::text::{columns, count, sanitize, wrapped};

/// The indentation of every line of a block but the first.
pub(super) const INDENT: &str = "  ";

/// Text in a style, on as many lines as it takes.
pub(super) fn prose(text: &str, style: Style, width: usize) -> Vec<String> {
    let text = sanitize(text);
    if columns(&text) <= width {
        return vec![format!("{style}{text}{style:#}")];
    }
    let lines = wrapped(&text, width.saturating_sub(INDENT.len()));
    let indents = std::iter::once("").chain(std::iter::repeat(INDENT));
    indents.zip(lines).map(|(indent, line)| format!("{indent}{style}{line}{style:#}")).collect()
}

/// What the session spent of what it may: money where it is known or limited, and judgments.
pub(super) fn session(spent: &Spending) -> String {
    let money = match (spent.session.cost, spent.budget) {
        (cost, Some(budget)) => format!("{} of {budget}, ", cost.unwrap_or(Cost::ZERO)),
        (Some(cost), None) => format!("{cost}, "),
        (None, None) => String::new(),
    };
    let calls = match spent.max_calls {
        Some(most) => format!("{} of {}", spent.calls, judgments(most)),
        None => judgments(spent.calls),
    };
    format!("{money}{calls}")
}

pub(super) fn judgments(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "judgment")
}
