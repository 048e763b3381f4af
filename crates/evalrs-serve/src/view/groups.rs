//! The results of a run in groups: by model, by tag, or by a key of metadata, with what graders and people say of each.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::{CaseColumn, RowColumns, shown};
use super::labels::RunLabels;
use super::rows::VerdictState;
use evalrs_base::ordered_map::OrderedMap;

/// The most groups that are told.
const MOST_GROUPS: usize = 200;

/// What groups are made by.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum GroupKey {
    /// The model that was run.
    Model,
    /// Tags, or a key of metadata.
    Column(CaseColumn),
}

impl TryFrom<String> for GroupKey {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name == "model" {
            return Ok(Self::Model);
        }
        match CaseColumn::named(&name) {
            Ok(column @ (CaseColumn::Tags | CaseColumn::Metadata(_))) => Ok(Self::Column(column)),
            _ => Err("groups are made by `model`, `tags` or `metadata.KEY`".to_owned()),
        }
    }
}

/// The results of a group.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct GroupView {
    /// The model, the tag, or the value of the key; null for results without one.
    name: Option<String>,
    /// How many results it has.
    cases: usize,
    /// Grader → what it says of them.
    #[schema(value_type = std::collections::BTreeMap<String, GroupGrader>)]
    graders: OrderedMap<GroupGrader>,
}

/// What a grader says of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct GroupGrader {
    /// Verdicts.
    verdicts: usize,
    /// Their mean score; null without verdicts.
    mean: Option<f64>,
    /// Those that do not pass.
    failed: usize,
    /// Results that could not be graded.
    errored: usize,
    /// Verdicts with a human label.
    labels: usize,
    /// Those of them that agree with it.
    agreed: usize,
    #[serde(skip)]
    sum: f64,
}

/// The groups of some results.
#[derive(Debug, Default)]
pub(crate) struct FoundGroups {
    /// The largest first, at most 200.
    pub groups: Vec<GroupView>,
    /// How many there are.
    pub total: usize,
}

impl RowColumns {
    /// The groups of these rows. A result with several tags is in several of them.
    pub(crate) fn groups(&self, rows: &[usize], by: &GroupKey, labels: &RunLabels) -> FoundGroups {
        let mut places: HashMap<Option<String>, usize> = HashMap::new();
        let mut groups: Vec<GroupView> = Vec::new();
        for at in rows {
            for name in self.group_names(*at, by) {
                let place = *places.entry(name).or_insert_with_key(|name| {
                    groups.push(self.empty_group(name.clone()));
                    groups.len() - 1
                });
                self.count(*at, &mut groups[place], labels);
            }
        }
        groups.sort_by(|one, other| {
            other.cases.cmp(&one.cases).then_with(|| one.name.cmp(&other.name))
        });
        let total = groups.len();
        groups.truncate(MOST_GROUPS);
        for (_, grader) in groups.iter_mut().flat_map(|group| &mut group.graders.0) {
            grader.mean = (grader.verdicts > 0).then(|| grader.sum / grader.verdicts as f64);
        }
        FoundGroups { groups, total }
    }

    fn empty_group(&self, name: Option<String>) -> GroupView {
        let graders = self.rows.graders.iter();
        let graders = graders.map(|grader| (grader.name.clone(), GroupGrader::default()));
        GroupView { name, cases: 0, graders: OrderedMap(graders.collect()) }
    }

    fn group_names(&self, at: usize, by: &GroupKey) -> Vec<Option<String>> {
        let row = &self.rows.rows[at];
        match by {
            GroupKey::Model => vec![self.rows.model_of(row).map(str::to_owned)],
            GroupKey::Column(column) => match self.value(row, column) {
                Value::Null => vec![None],
                Value::Array(tags) => tags.iter().map(|tag| Some(shown(tag))).collect(),
                value => vec![Some(shown(&value))],
            },
        }
    }

    fn count(&self, at: usize, group: &mut GroupView, labels: &RunLabels) {
        let row = &self.rows.rows[at];
        group.cases += 1;
        let graders = self.rows.graders.iter().zip(&row.verdicts);
        for ((grader, verdict), (_, sum)) in graders.zip(&mut group.graders.0) {
            sum.errored += usize::from(verdict.state == VerdictState::Errored);
            let Some(passed) = verdict.state.passed() else { continue };
            sum.verdicts += 1;
            sum.sum += verdict.score;
            sum.failed += usize::from(!passed);
            let label = self.rows.people(row, grader, *verdict, labels).label;
            if let Some(agrees) = label.and_then(|label| label.agrees) {
                sum.labels += 1;
                sum.agreed += usize::from(agrees);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CaseColumn, GroupKey};

    #[test]
    fn groups_are_by_what_filters_know() {
        let key = |name: &str| GroupKey::try_from(name.to_owned());
        assert_eq!(key("model"), Ok(GroupKey::Model));
        assert_eq!(key("tags"), Ok(GroupKey::Column(CaseColumn::Tags)));
        assert_eq!(key("metadata.a"), Ok(GroupKey::Column(CaseColumn::Metadata("a".to_owned()))));
        for name in ["", "tokens", "metadata.", "input"] {
            assert!(key(name).is_err(), "{name}");
        }
    }
}
