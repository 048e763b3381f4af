//! The field `sees` of targets: that answers rest on the id of the sample, which then is in keys.

use super::fields::FieldSet;
use super::reader::Reader;
use super::section::FieldShape::{self, AnyOf, Choice, ListOf};
use evalrs_model::spec::SampleMember;

/// What a target may see.
pub(super) const SEES: FieldShape = AnyOf(&[Choice(NAMES), ListOf(&Choice(NAMES))]);

const NAMES: &[&str] = &[SampleMember::Id.name()];

/// What a target says that it sees.
pub(super) fn seen(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Vec<SampleMember> {
    let Some(field) = fields.take("sees") else { return Vec::new() };
    let names = reader.findings.texts(field).unwrap_or_default();
    if let Some(other) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        let message = format!("`sees` of a target names the `id` alone, not `{other}`");
        reader.findings.error(field.value.span, message).hint =
            Some("what else it is handed is in its key anyway: write `sees: [id]`".to_owned());
    }
    if names.is_empty() { Vec::new() } else { vec![SampleMember::Id] }
}
