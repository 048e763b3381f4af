//! The `scale` of a judge: the range that it scores in.

use crate::fields::Findings;
use crate::section::{FINITE, Section, section};
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_model::spec::Scale;

pub(crate) static SCALE: Section = section!["`scale`",
    "min": FINITE, needed "`scale` has no `min`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 0";
    "max": FINITE, needed "`scale` has no `max`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 1";
];

/// Reads `scale: {min, max}`; 0 to 1 is the default and counts as none.
pub(crate) fn scale(field: &YamlEntry, findings: &mut Findings) -> Option<Scale> {
    if !matches!(field.value.value, Yaml::Map(_)) {
        let hint = "write `scale: {min: 1, max: 5}`";
        findings.wrong_type(field, "a mapping").hint = Some(hint.to_owned());
        return None;
    }
    let inner = findings.fields(field, &SCALE)?;
    let min = inner.number("min", findings);
    let max = inner.number("max", findings);
    inner.finish(findings);
    let min = min?;
    let max = max?;
    if min >= max {
        findings.error(field.value.span, "`scale` must have a `min` below its `max`");
        return None;
    }
    if !(max - min).is_finite() {
        findings.error(field.value.span, "`scale` is too wide: `max` minus `min` must be finite");
        return None;
    }
    Some(Scale { min, max }).filter(|scale| *scale != Scale::UNIT)
}
