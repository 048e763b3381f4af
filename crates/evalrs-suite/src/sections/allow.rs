//! The field `allow`: warnings that a suite, a grader or a rubric does not want.

use strum::VariantNames;

use crate::fields::Field;
use crate::section::FieldShape::{self, AnyOf, Choice, ListOf};
use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::Lint;

/// Names of warnings.
pub(crate) const ALLOW: FieldShape =
    AnyOf(&[Choice(Lint::VARIANTS), ListOf(&Choice(Lint::VARIANTS))]);

/// The warnings that are not wanted.
pub(crate) fn allowed(field: Field<'_>) -> Vec<Lint> {
    let names = field.texts().unwrap_or_default();
    let mut lints = Vec::new();
    for (name, item) in names.iter().zip(field.value.items()) {
        if let Ok(lint) = name.parse() {
            lints.push(lint);
            continue;
        }
        let hint = match suggest(name, Lint::VARIANTS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: `{}`", Lint::VARIANTS.join("`, `")),
        };
        field.findings.error(item.span, &format!("unknown warning `{name}`"), &hint);
    }
    lints
}
