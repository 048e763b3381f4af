//! A vote of a judge that did not fail, and what it said in each order where two submissions are compared.

/// A vote that did not fail.
pub(super) struct ScoredVote {
    /// The score on the judge's own scale.
    pub native: f64,
    /// Why.
    pub rationale: String,
    /// What was said in each order, where two submissions are compared.
    pub orders: Option<Orders>,
}

/// What a judge said in each order, from the view of the submission: 1.0 it wins, 0.5 neither, 0.0 it loses.
pub(super) struct Orders {
    pub forward: f64,
    pub reversed: f64,
    pub is_one_text: bool,
}

impl Orders {
    /// Both orders together: what they agree on, else a tie.
    pub(super) fn score(&self) -> f64 {
        if self.forward.total_cmp(&self.reversed).is_eq() { self.forward } else { 0.5 }
    }

    /// The place that the judge favoured, if it favoured one: the submission did better there. A text that is
    /// compared with itself has no place.
    pub(super) fn favoured(&self) -> Option<&'static str> {
        match self.forward.total_cmp(&self.reversed) {
            _ if self.is_one_text => None,
            std::cmp::Ordering::Greater => Some("first"),
            std::cmp::Ordering::Less => Some("second"),
            std::cmp::Ordering::Equal => None,
        }
    }
}
