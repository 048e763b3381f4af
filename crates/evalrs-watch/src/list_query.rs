//! The filter and order of a list of verdicts: pure data and sorting.

use std::cmp::Ordering;

use super::board::{VerdictFilter, VerdictId};

/// By what verdicts are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOrder {
    /// As they stand in the dataset, grader by grader within a case.
    Dataset,
    /// By score, errors first, then the lowest.
    Score,
    /// What does not agree with people any more and what broke first, then the farthest.
    Movement,
    /// By the distance of the score from the label of a person, the farthest first.
    Distance,
    /// By the characters of the submission, the longest first.
    Length,
    /// As they are to be labelled.
    Turn,
}

impl ListOrder {
    /// Every order, as a key goes through them.
    pub(super) const ALL: [Self; 5] =
        [Self::Movement, Self::Score, Self::Distance, Self::Length, Self::Dataset];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dataset => "dataset",
            Self::Score => "score",
            Self::Movement => "movement",
            Self::Distance => "distance",
            Self::Length => "length",
            Self::Turn => "turn",
        }
    }

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

impl VerdictFilter {
    /// The order of what it lists, unless another one is chosen.
    pub fn order(self) -> ListOrder {
        match self {
            Self::Moved => ListOrder::Movement,
            Self::Failing => ListOrder::Score,
            Self::Disagreeing | Self::FalsePass | Self::FalseFail => ListOrder::Distance,
            Self::ToLabel => ListOrder::Turn,
            Self::Disputed | Self::Errors | Self::All => ListOrder::Dataset,
        }
    }
}

/// The query of a list of verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Which verdicts.
    pub filter: VerdictFilter,
    /// Leaves those whose sample id, grader, input or submission holds it, in whatever case; empty leaves all.
    pub search: String,
    /// Leaves those of samples that have this tag.
    pub tag: Option<String>,
    /// Leaves those of the grader with this key in the suite.
    pub grader: Option<String>,
    /// Another order than that of the filter.
    pub order: Option<ListOrder>,
    /// Whether the last come first.
    pub is_reversed: bool,
}

impl ListQuery {
    /// What a filter lists, in its own order.
    pub fn of(filter: VerdictFilter) -> Self {
        Self { filter, ..Self::default() }
    }

    /// The order of the list.
    pub fn order(&self) -> ListOrder {
        self.order.unwrap_or_else(|| self.filter.order())
    }

    /// Whether only a part of what the filter lists is shown.
    pub(super) fn is_narrowed(&self) -> bool {
        !self.search.is_empty() || self.tag.is_some() || self.grader.is_some()
    }

    /// Shows all that the filter lists.
    pub(super) fn widen(&mut self) {
        self.search.clear();
        self.tag = None;
        self.grader = None;
    }

    /// Chooses the next order, that of the filter among them. Without labels there is no distance from them.
    pub(super) fn next_order(&mut self, has_labels: bool) {
        let mut next = self.order().next();
        if next == ListOrder::Distance && !has_labels {
            next = next.next();
        }
        self.order = (next != self.filter.order()).then_some(next);
        self.is_reversed = false;
    }
}

/// The rows by their keys, the least first or, if reversed, the greatest. Equals stay as they are; those without a key come
/// last either way.
pub(super) fn arranged<K>(
    rows: Vec<VerdictId>,
    is_reversed: bool,
    key: impl Fn(VerdictId) -> Option<K>,
    compare: impl Fn(&K, &K) -> Ordering,
) -> Vec<VerdictId> {
    let mut keyed: Vec<(Option<K>, VerdictId)> = rows.into_iter().map(|id| (key(id), id)).collect();
    keyed.sort_by(|(left, _), (right, _)| match (left, right) {
        (Some(left), Some(right)) if is_reversed => compare(right, left),
        (Some(left), Some(right)) => compare(left, right),
        (left, right) => left.is_none().cmp(&right.is_none()),
    });
    keyed.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::{ListOrder, ListQuery, arranged};
    use crate::board::{VerdictFilter, VerdictId};

    #[test]
    fn rows_without_a_key_are_last_and_equals_stay() {
        let keys = [Some(0.5), None, Some(0.1), Some(0.5), Some(-1.0), None];
        let rows = |cases: &[u128]| -> Vec<VerdictId> {
            cases.iter().map(|case| VerdictId { case: *case, grader: 0 }).collect()
        };
        let check = |is_reversed: bool, expected: &[u128]| {
            let key = |id: VerdictId| keys[usize::try_from(id.case).unwrap()];
            let all = rows(&[0, 1, 2, 3, 4, 5]);
            assert_eq!(arranged(all, is_reversed, key, f64::total_cmp), rows(expected));
        };
        check(false, &[4, 2, 0, 3, 1, 5]);
        check(true, &[0, 3, 2, 4, 1, 5]);
    }

    #[test]
    fn each_filter_has_its_order_until_another_is_chosen() {
        let table = [
            (VerdictFilter::Moved, "movement"),
            (VerdictFilter::Failing, "score"),
            (VerdictFilter::Disagreeing, "distance"),
            (VerdictFilter::FalsePass, "distance"),
            (VerdictFilter::FalseFail, "distance"),
            (VerdictFilter::Disputed, "dataset"),
            (VerdictFilter::ToLabel, "turn"),
            (VerdictFilter::Errors, "dataset"),
            (VerdictFilter::All, "dataset"),
        ];
        for (filter, expected) in table {
            let query = ListQuery::of(filter);
            assert_eq!(query.order().name(), expected, "{filter:?}");
            let chosen = ListQuery { order: Some(ListOrder::Length), ..query };
            assert_eq!(chosen.order(), ListOrder::Length, "{filter:?}");
        }
    }

    #[test]
    fn a_key_goes_through_every_order() {
        let mut order = ListOrder::Movement;
        for expected in ["score", "distance", "length", "dataset", "movement"] {
            order = order.next();
            assert_eq!(order.name(), expected);
        }
    }

    #[test]
    fn a_key_goes_through_the_orders_of_use_and_back_to_that_of_the_filter() {
        let table: [(VerdictFilter, bool, &[&str]); 3] = [
            (VerdictFilter::All, true, &["movement", "score", "distance", "length", "dataset"]),
            (VerdictFilter::Moved, false, &["score", "length", "dataset", "movement"]),
            (VerdictFilter::FalsePass, true, &["length", "dataset", "movement", "score"]),
        ];
        for (filter, has_labels, expected) in table {
            let mut query = ListQuery { is_reversed: true, ..ListQuery::of(filter) };
            for name in expected {
                query.next_order(has_labels);
                assert_eq!((query.order().name(), query.is_reversed), (*name, false), "{filter:?}");
            }
            query.next_order(has_labels);
            if filter == VerdictFilter::FalsePass {
                assert_eq!(query.order, None, "the order of the filter is none that is chosen");
            }
        }
    }

    #[test]
    fn widening_leaves_filter_and_order() {
        let mut query = ListQuery {
            filter: VerdictFilter::All,
            search: "x".to_owned(),
            tag: Some("vip".to_owned()),
            grader: Some("tone".to_owned()),
            order: Some(ListOrder::Score),
            is_reversed: true,
        };
        assert!(query.is_narrowed());
        let kept = ListQuery { search: String::new(), tag: None, grader: None, ..query.clone() };
        query.widen();
        assert!(query == kept && !query.is_narrowed());
    }
}
