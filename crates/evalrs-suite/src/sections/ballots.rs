//! How many judgments there are of a submission, in which range they are, and how they are combined into one score.

use strum::VariantNames;

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{self, Choice, Whole};
use crate::section::{FINITE, Section, section};
use evalrs_model::spec::{Combine, Scale};

pub(crate) const COMBINE: FieldShape = Choice(Combine::VARIANTS);

pub(crate) const VOTE_COUNT: FieldShape = Whole(1, 1000, "a whole number between 1 and 1000");

pub(crate) static VOTES: Section = section!["`votes`",
    "n": VOTE_COUNT, needed "`votes` has no `n`", "" => "independent judgments by each judge";
    "combine": COMBINE => "how votes are combined into one score";
];

/// How many votes there are, and what is made of them.
pub(crate) struct Votes {
    pub count: u32,
    pub combine: Combine,
}

/// Reads `votes: 3` or `votes: {n: 3, combine: mean}`, and `combine: mean` beside either.
pub(crate) fn votes(fields: &FieldSet<'_>) -> Votes {
    votes_with(fields.take("combine"), fields)
}

/// The same where `combine` beside it means something else.
pub(crate) fn votes_alone(fields: &FieldSet<'_>) -> Votes {
    votes_with(None, fields)
}

fn votes_with(beside: Option<Field<'_>>, fields: &FieldSet<'_>) -> Votes {
    let mut count = fields.take("votes");
    let mut inside = None;
    let mapping = count.filter(|votes| votes.is_mapping());
    if let Some(inner) = mapping.and_then(|votes| votes.fields(&VOTES)) {
        count = inner.take("n");
        inside = inner.take("combine");
        inner.finish();
    }
    if let (Some(beside), Some(_)) = (beside, inside) {
        beside.error_at_key("`combine` is set twice: here and in `votes`", "keep one");
    }
    let count = count.and_then(|field| field.whole(VOTE_COUNT));
    let combine = beside.or(inside).and_then(Field::variant);
    Votes { count: count.unwrap_or(1), combine: combine.unwrap_or_default() }
}

/// The range that a judge scores in.
pub(crate) static SCALE: Section = section!["`scale`",
    "min": FINITE, needed "`scale` has no `min`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 0";
    "max": FINITE, needed "`scale` has no `max`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 1";
];

/// Reads `scale: {min, max}`; 0 to 1 is the default and counts as none.
pub(crate) fn scale(field: Field<'_>) -> Option<Scale> {
    if !field.is_mapping() {
        return field.wrong_type("a mapping", "write `scale: {min: 1, max: 5}`");
    }
    let inner = field.fields(&SCALE)?;
    let min = inner.number("min");
    let max = inner.number("max");
    inner.finish();
    let min = min?;
    let max = max?;
    if min >= max {
        return field.refuse("`scale` must have a `min` below its `max`", "");
    }
    if !(max - min).is_finite() {
        return field.refuse("`scale` is too wide: `max` minus `min` must be finite", "");
    }
    Some(Scale { min, max }).filter(|scale| *scale != Scale::UNIT)
}
