//! What the user chose to be listed, and how.

use crate::board::VerdictFilter;
use crate::list_query::{ListOrder, ListQuery};

/// What the user chose. What is not chosen is as it is worth seeing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListChoices {
    /// The filter; before one is chosen, what is worth seeing.
    pub filter: Option<VerdictFilter>,
    /// The search, as typed.
    pub search: String,
    /// The tag of the samples.
    pub tag: Option<String>,
    /// The key of the grader.
    pub grader: Option<String>,
    /// Another order than that of the filter.
    pub order: Option<ListOrder>,
    /// Whether the last come first.
    pub is_reversed: bool,
}

impl ListChoices {
    /// What is asked for; `unasked` is the filter where none was chosen.
    pub(super) fn query(&self, unasked: VerdictFilter) -> ListQuery {
        ListQuery {
            filter: self.filter.unwrap_or(unasked),
            search: self.search.clone(),
            tag: self.tag.clone(),
            grader: self.grader.clone(),
            order: self.order,
            is_reversed: self.is_reversed,
        }
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
    pub(super) fn next_order(&mut self, filter: VerdictFilter, has_labels: bool) {
        let of_filter = filter.order();
        let mut next = self.order.unwrap_or(of_filter).next();
        if next == ListOrder::Distance && !has_labels {
            next = next.next();
        }
        self.order = (next != of_filter).then_some(next);
        self.is_reversed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::ListChoices;
    use crate::board::VerdictFilter;

    #[test]
    fn a_key_goes_through_the_orders_of_use_and_back_to_that_of_the_filter() {
        let table: [(VerdictFilter, bool, &[&str]); 3] = [
            (VerdictFilter::All, true, &["movement", "score", "distance", "length", "dataset"]),
            (VerdictFilter::Moved, false, &["score", "length", "dataset", "movement"]),
            (VerdictFilter::FalsePass, true, &["length", "dataset", "movement", "score"]),
        ];
        for (filter, has_labels, expected) in table {
            let mut choices = ListChoices { is_reversed: true, ..ListChoices::default() };
            for name in expected {
                choices.next_order(filter, has_labels);
                let query = choices.query(filter);
                assert_eq!((query.order().name(), query.is_reversed), (*name, false), "{filter:?}");
            }
            choices.next_order(filter, has_labels);
            if filter == VerdictFilter::FalsePass {
                assert_eq!(choices.order, None, "the order of the filter is none that is chosen");
            }
        }
    }

    #[test]
    fn widening_leaves_filter_and_order() {
        let mut choices = ListChoices {
            filter: Some(VerdictFilter::All),
            search: "x".to_owned(),
            tag: Some("vip".to_owned()),
            grader: Some("tone".to_owned()),
            order: Some(crate::list_query::ListOrder::Score),
            is_reversed: true,
        };
        assert!(choices.is_narrowed());
        let kept =
            ListChoices { search: String::new(), tag: None, grader: None, ..choices.clone() };
        choices.widen();
        assert!(choices == kept && !choices.is_narrowed());
    }
}
