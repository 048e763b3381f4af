//! The field `allow`: warnings that a suite, a grader or a rubric does not want.

use crate::fields::Field;
use crate::section::FieldShape::{self, AnyOf, Choice, ListOf};
use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::Lint;

/// Names of warnings.
pub(crate) const ALLOW: FieldShape = AnyOf(&[Choice(LINTS), ListOf(&Choice(LINTS))]);

/// The names of all warnings that can be silenced.
const LINTS: &[&str] = &{
    let mut names = [""; Lint::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Lint::ALL[at].name();
        at += 1;
    }
    names
};

/// The warnings that are not wanted.
pub(crate) fn allowed(field: Field<'_>) -> Vec<Lint> {
    let names = field.texts().unwrap_or_default();
    let mut lints = Vec::new();
    for (name, item) in names.iter().zip(field.value.items()) {
        if let Some(lint) = Lint::ALL.into_iter().find(|lint| lint.name() == name) {
            lints.push(lint);
            continue;
        }
        let known = Lint::ALL.map(Lint::name);
        let hint = match suggest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are `{}`", known.join("`, `")),
        };
        field.findings.error(item.span, &format!("no warning is called `{name}`"), &hint);
    }
    lints
}
