//! How many judgments there are of a submission, and how they become one score.

use crate::fields::FieldSet;
use crate::section::FieldShape::{self, Choice, Whole};
use crate::section::{Section, names, section};
use evalrs_model::spec::Combine;

pub(crate) const COMBINES: [(&str, Combine); 3] =
    [("median", Combine::Median), ("mean", Combine::Mean), ("majority", Combine::Majority)];

pub(crate) const COMBINE: FieldShape = Choice(&names(&COMBINES));

pub(crate) const VOTE_COUNT: FieldShape = Whole(1, 1000, "a whole number between 1 and 1000");

pub(crate) static VOTES: Section = section!["`votes`",
    "n": VOTE_COUNT, needed "`votes` has no `n`", "" => "independent judgments by each judge";
    "combine": COMBINE => "how votes become one score";
];

/// How many votes there are, and what is made of them.
pub(crate) struct Votes {
    pub count: u32,
    pub combine: Combine,
}

/// Reads `votes: 3` or `votes: {n: 3, combine: mean}`, and `combine: mean` beside either.
pub(crate) fn votes(fields: &FieldSet<'_>) -> Votes {
    let beside = fields.take("combine");
    let mut count = fields.take("votes");
    let mut inside = None;
    let mapping = count.filter(|votes| votes.is_mapping());
    if let Some(inner) = mapping.and_then(|votes| votes.fields(&VOTES)) {
        count = inner.take("n");
        inside = inner.take("combine");
        inner.finish();
    }
    if let (Some(beside), Some(_)) = (beside, inside) {
        beside.error_at_key("`combine` is said twice: here and in `votes`", "keep one");
    }
    let count = count.and_then(|field| field.whole(VOTE_COUNT));
    let combine = beside.or(inside).and_then(|field| field.choice(&COMBINES));
    Votes { count: count.unwrap_or(1), combine: combine.unwrap_or_default() }
}
