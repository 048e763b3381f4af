//! Names of results in a comparison, alone and in sentences.

use crate::digest::label;
use crate::page::{Text, quoted, text};
use evalrs_base::text::cut;
use evalrs_metrics::diff::{CaseName, Diff};

/// How many names a sentence has.
pub(super) const NAMED: usize = 8;

/// The columns of a name, where there are several.
pub(super) const NAME: usize = 60;

/// The names, and how many more there are of all.
pub(super) fn listed(names: Vec<Text>, all: usize) -> Text {
    let more = match all.saturating_sub(names.len()) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    text![Text::joined(names, ", "), more]
}

/// Whether results are to be told apart by their trials.
pub(super) fn has_trials(diff: &Diff) -> bool {
    let cases = [&diff.cases.only_before, &diff.cases.only_now].map(|only| &only.first);
    let names = cases.into_iter().flatten().chain(diff.moved.iter().map(|moved| &moved.case));
    names.into_iter().any(|name| name.trial > 0)
}

/// The name of a result: its sample, its model, and its trial where there are several.
pub(super) fn case_label(case: &CaseName, trials: bool) -> Text {
    let name = label(&case.sample_id, case.model.as_deref(), trials.then_some(case.trial));
    quoted(&cut(&name, NAME))
}
