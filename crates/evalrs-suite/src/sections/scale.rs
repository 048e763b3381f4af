//! The `scale` of a judge: the range that it scores in.

use crate::fields::Field;
use crate::section::{FINITE, Section, section};
use evalrs_model::spec::Scale;

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
