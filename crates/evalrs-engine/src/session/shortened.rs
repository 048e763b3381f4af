//! Cuts a long list of problems short: rows that are wrong are mostly wrong in one way.

use std::collections::HashMap;

use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_eval::dataset::split::SHOWN_PROBLEMS;

/// Problems with the same sentence that are shown: the rest are one mistake made in every row.
const SHOWN_ALIKE: usize = 3;

/// The first problems, of those that are alike fewer still, and how many more there are.
pub fn shortened(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let all = diagnostics.len();
    let mut alike: HashMap<String, usize> = HashMap::new();
    diagnostics.retain(|diagnostic| {
        let seen = alike.entry(diagnostic.message.clone()).or_insert(0);
        *seen += 1;
        *seen <= SHOWN_ALIKE
    });
    diagnostics.truncate(SHOWN_PROBLEMS);
    let more = all - diagnostics.len();
    if let (1.., Some(last)) = (more, diagnostics.last()) {
        let path = last.place.as_ref().map(|place| place.path.clone()).unwrap_or_default();
        let message = match more {
            1 => "1 more problem of this file is not shown".to_owned(),
            more => format!("{more} more problems of this file are not shown"),
        };
        diagnostics.push(Diagnostic::error(Place::file(path), message));
    }
    diagnostics
}
