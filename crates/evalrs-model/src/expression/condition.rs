//! Conditions on rows: `not improper and 'refund' in tags`.

use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use super::operand::Operand;
use super::parse::parse;
use super::vocabulary::Vocabulary;
use super::{Expression, ExpressionProblem};

/// A condition on a row, read and checked. Its text says all of it.
#[derive(Clone, Debug)]
pub struct RowCondition(Expression);

impl RowCondition {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Self, ExpressionProblem> {
        let trimmed = text.trim();
        let start = text.len() - text.trim_start().len();
        parse(trimmed, Vocabulary::Rows).map(Self).map_err(|problem| problem.moved(start))
    }

    /// As it was written, without white space around it.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What it names of rows, each once.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// Whether it holds for the row that `of` reads. A row of which it cannot be computed is none.
    pub fn holds(&self, of: &dyn Fn(&str) -> Operand) -> bool {
        self.0.root.value(&|name| Ok(of(name))).is_ok_and(|value| value.is_true())
    }
}

impl PartialEq for RowCondition {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for RowCondition {}

impl Hash for RowCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl Serialize for RowCondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}
