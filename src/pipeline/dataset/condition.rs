//! What the names in conditions on rows stand for.

use super::fields::FIELDS;
use super::row::OpenedRow;
use crate::base::path::lookup;
use crate::pipeline::expression::{Operand, RowCondition};

/// What is known of a case without a look at single fields.
const IDENTITY: [&str; 4] = ["id", "model", "trial", "tags"];

/// Before a path of the row, where a name could be one of ours.
const ROW: &str = "row.";

/// Where rows hold what the name in a condition stands for; none of what every case has or may have.
pub(crate) fn sought_path(name: &str) -> Option<&str> {
    let path = name.strip_prefix(ROW).unwrap_or(name);
    let is_ours = FIELDS.iter().any(|(ours, _)| *ours == name) || IDENTITY.contains(&name);
    (!is_ours).then_some(path)
}

impl OpenedRow<'_> {
    /// Whether the condition holds of the row.
    pub(crate) fn holds(&self, condition: &RowCondition) -> bool {
        condition.holds(&|name| self.operand(name))
    }

    /// What a name in a condition stands for: who the case is, one of our fields, or a path of the row.
    pub(crate) fn operand(&self, name: &str) -> Operand {
        if IDENTITY.contains(&name) {
            return self.of_identity(name);
        }
        if FIELDS.iter().any(|(ours, _)| *ours == name) {
            return self.field(name).map_or(Operand::Nothing, Operand::from);
        }
        // The field may stand elsewhere, or be the text of a cell.
        let of_metadata = name.strip_prefix("metadata.").and_then(|path| {
            let metadata = self.field("metadata")?;
            lookup(&metadata, path).cloned()
        });
        let path = name.strip_prefix(ROW).unwrap_or(name);
        of_metadata.or_else(|| self.at_path(path)).map_or(Operand::Nothing, Operand::from)
    }

    fn of_identity(&self, name: &str) -> Operand {
        let Ok(identity) = self.identity() else { return Operand::Nothing };
        let text = |text: Option<String>| text.map_or(Operand::Nothing, Operand::Text);
        match name {
            "id" => text(identity.id),
            "model" => text(identity.model),
            "trial" => Operand::Number(f64::from(identity.trial)),
            _ => Operand::List(identity.tags.into_iter().map(Operand::Text).collect()),
        }
    }
}
