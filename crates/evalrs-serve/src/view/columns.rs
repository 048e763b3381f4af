//! The columns that a list of cases can have beside grades: what their rows can be sorted, filtered and grouped by.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use super::rows::{IndexedRow, RunRows};
use super::suite_facts::{KnownFacts, SuiteFacts};
use evalrs_base::diagnostic::{clipped, suggest};
use evalrs_base::ordered_map::OrderedMap;

/// What the name of a column of metadata begins with.
const METADATA: &str = "metadata.";

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseColumn {
    /// The tokens of the judges.
    Tokens,
    /// What the judges cost, in US dollars.
    Cost,
    /// How long the answer took, in seconds.
    Latency,
    /// How often the agent called a tool.
    ToolCalls,
    Tags,
    /// The beginning of the input.
    Input,
    /// The beginning of the reference answer.
    GroundTruth,
    /// A key of the metadata of rows.
    Metadata(String),
}

/// The columns that every run may have.
pub(crate) const COLUMNS: [CaseColumn; 7] = [
    CaseColumn::Tokens,
    CaseColumn::Cost,
    CaseColumn::Latency,
    CaseColumn::ToolCalls,
    CaseColumn::Tags,
    CaseColumn::Input,
    CaseColumn::GroundTruth,
];

impl CaseColumn {
    /// The column with a name, or why there is none.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        if let Some(key) = name.strip_prefix(METADATA).filter(|key| !key.is_empty()) {
            return Ok(Self::Metadata(key.to_owned()));
        }
        COLUMNS.into_iter().find(|column| column.name() == name).ok_or_else(|| {
            let names = COLUMNS.map(|column| column.name());
            let meant = suggest(name, names.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            format!("there is no column `{}`{meant}", clipped(name))
        })
    }

    pub(crate) fn name(&self) -> String {
        let name = match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Latency => "latency",
            Self::ToolCalls => "tool_calls",
            Self::Tags => "tags",
            Self::Input => "input",
            Self::GroundTruth => "ground_truth",
            Self::Metadata(key) => return format!("{METADATA}{key}"),
        };
        name.to_owned()
    }

    /// Whether the suite has it, and not the record.
    pub(crate) fn is_of_suite(&self) -> bool {
        matches!(self, Self::Latency | Self::ToolCalls | Self::Tags | Self::Metadata(_))
    }
}

/// The rows of a run with all columns that are known.
pub(crate) struct RowColumns {
    pub rows: Arc<RunRows>,
    /// What the suite says of them; none where nobody wants that, or it is not known.
    pub facts: Option<Arc<SuiteFacts>>,
}

impl RowColumns {
    /// What a row has in a column: a number, a text, or the texts of tags; null where it is not recorded.
    pub(crate) fn value(&self, row: &IndexedRow, column: &CaseColumn) -> Value {
        let facts = if column.is_of_suite() { self.facts_of(row) } else { None };
        value_of(row, facts, column)
    }

    /// What the suite says of a row.
    fn facts_of(&self, row: &IndexedRow) -> Option<KnownFacts<'_>> {
        let model = self.rows.model_of(row);
        self.facts.as_ref()?.case(&row.sample_id, model, row.trial)
    }

    /// All columns that rows may have something in.
    pub(crate) fn names(&self) -> Vec<CaseColumn> {
        let keys = self.facts.iter().flat_map(|facts| &facts.keys);
        COLUMNS.into_iter().chain(keys.cloned().map(CaseColumn::Metadata)).collect()
    }

    /// What a row has in columns, without those where it has nothing.
    pub(crate) fn values(&self, row: &IndexedRow, columns: &[CaseColumn]) -> OrderedMap<Value> {
        let all = columns.iter().map(|column| (column.name(), self.value(row, column)));
        OrderedMap(all.filter(|(_, value)| !value.is_null()).collect())
    }

    /// The columns of which some row has something, and of how many that is so.
    pub(crate) fn known(&self) -> Vec<KnownColumn> {
        let columns = self.names();
        let unknown =
            |column: &CaseColumn| KnownColumn { name: column.name(), is_number: true, rows: 0 };
        let mut found: Vec<KnownColumn> = columns.iter().map(unknown).collect();
        for row in &self.rows.rows {
            let facts = self.facts_of(row);
            for (column, known) in columns.iter().zip(&mut found) {
                let value = value_of(row, facts, column);
                if !value.is_null() {
                    known.rows += 1;
                    known.is_number &= value.is_number();
                }
            }
        }
        found.retain(|known| known.rows > 0);
        found
    }
}

/// What a row, of which the suite says these facts, has in a column.
fn value_of(row: &IndexedRow, facts: Option<KnownFacts<'_>>, column: &CaseColumn) -> Value {
    let text = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    let found = match column {
        CaseColumn::Tokens => row.spend.tokens.map(Value::from),
        CaseColumn::Cost => row.spend.cost.map(Value::from),
        CaseColumn::Latency => facts.and_then(KnownFacts::seconds).map(Value::from),
        CaseColumn::ToolCalls => facts.and_then(KnownFacts::tool_calls).map(Value::from),
        CaseColumn::Tags => facts.map(|facts| facts.tags().cloned().collect()),
        CaseColumn::Input => Some(text(&row.input)),
        CaseColumn::GroundTruth => Some(text(&row.ground_truth)),
        CaseColumn::Metadata(key) => facts.and_then(|facts| facts.metadata(key).cloned()),
    };
    found.filter(|value| value.as_array().is_none_or(|tags| !tags.is_empty())).unwrap_or_default()
}

/// A column that a run has.
#[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct KnownColumn {
    /// Its name, as `columns`, `sort` and `where` take it.
    name: String,
    /// Whether all its values are numbers.
    is_number: bool,
    /// The results that have a value in it.
    rows: usize,
}

/// The order of values: numbers before texts.
pub(crate) fn compared(one: &Value, other: &Value) -> Ordering {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => shown(one).cmp(&shown(other)),
    }
}

/// A value as a reader and an address write it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, CaseColumn};

    #[test]
    fn names_are_read_as_they_are_written() {
        let metadata = CaseColumn::Metadata("a b.c".to_owned());
        for column in COLUMNS.into_iter().chain([metadata]) {
            assert_eq!(CaseColumn::named(&column.name()), Ok(column));
        }
        let unknown = "there is no column `token`; did you mean `tokens`?";
        assert_eq!(CaseColumn::named("token"), Err(unknown.to_owned()));
        assert!(CaseColumn::named("metadata.").is_err() && CaseColumn::named("").is_err());
    }
}
