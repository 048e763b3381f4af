//! What the names in conditions on rows stand for.

use super::fields::{FIELDS, RowSpec};
use super::row::{OpenedRow, RowRecord};
use evalrs_base::path::lookup;
use evalrs_model::expression::{Operand, RowCondition};

/// What is known of a case without a look at single fields.
const IDENTITY: [&str; 4] = ["id", "model", "trial", "tags"];

/// Before a path of the row, where a name could be one of ours.
const ROW: &str = "row.";

/// The path in rows of a name in a condition; none for names that every case has or may have.
pub(crate) fn sought_path(name: &str) -> Option<&str> {
    let path = name.strip_prefix(ROW).unwrap_or(name);
    (!is_ours(name) && !IDENTITY.contains(&name)).then_some(path)
}

fn is_ours(name: &str) -> bool {
    FIELDS.iter().any(|(ours, _)| *ours == name)
}

/// Whether the condition leaves a case out. One that cannot be read as a row at all is a mistake, whatever the condition.
pub fn is_left_out(
    record: RowRecord<'_>,
    spec: &RowSpec,
    condition: Option<&RowCondition>,
) -> bool {
    let Some(condition) = condition else { return false };
    OpenedRow::new(record, spec).is_ok_and(|row| !row.holds(condition))
}

impl OpenedRow<'_> {
    /// Whether the condition holds of the row.
    pub fn holds(&self, condition: &RowCondition) -> bool {
        condition.holds(&|name| self.operand(name))
    }

    /// The meaning of a name in a condition: the identity of the case, one of our fields, or a path of
    /// the row.
    pub fn operand(&self, name: &str) -> Operand {
        if IDENTITY.contains(&name) {
            return self.of_identity(name);
        }
        if is_ours(name) {
            return self.field(name).map_or(Operand::Nothing, Operand::from);
        }
        // The field may stand elsewhere, or be the text of a cell.
        let of_metadata = name
            .strip_prefix("metadata.")
            .and_then(|path| lookup(&self.field("metadata")?, path).cloned());
        let path = name.strip_prefix(ROW).unwrap_or(name);
        of_metadata.or_else(|| self.at_path(path)).map_or(Operand::Nothing, Operand::from)
    }

    fn of_identity(&self, name: &str) -> Operand {
        // What a row is said to be left out by may be all of it that can be read.
        let read = match name {
            "id" => self.id().map(|id| id.map(Operand::Text)),
            "model" => self.run().map(|run| run.model.map(Operand::Text)),
            "trial" => self.run().map(|run| Some(Operand::Number(f64::from(run.trial?)))),
            _ => self
                .tags()
                .map(|tags| Some(Operand::List(tags.into_iter().map(Operand::Text).collect()))),
        };
        read.ok().flatten().unwrap_or(Operand::Nothing)
    }
}
