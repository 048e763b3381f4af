//! Finds where what a suite says of its rubrics is written.

use crate::fields::{FieldSet, Findings};
use crate::sections::rubric_file::RubricText;
use evalrs_base::yaml::source::{SourceSpan, Sources};
use evalrs_base::yaml::tree::YamlEntry;
use evalrs_eval::lint::rubric_places::{RubricPlaces, WrittenText};

/// The text of a span, where it is written.
fn written(span: SourceSpan, sources: &Sources) -> Option<WrittenText> {
    let text = sources.text(span.file)?;
    let start = span.start as usize;
    let end = span.end as usize;
    let from = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let to = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at);
    Some(WrittenText {
        path: sources.path(span.file).to_owned(),
        first_line: memchr::memchr_iter(b'\n', &text.as_bytes()[..from]).count() + 1,
        lines: text.get(from..to)?.to_owned(),
        start: start - from,
        end: end - from,
    })
}

/// The places of a grader's rubric.
pub(crate) fn rubric_places(
    entry: &YamlEntry,
    fields: &FieldSet<'_>,
    text: &RubricText,
    findings: &Findings,
) -> RubricPlaces {
    let place = |span: SourceSpan| findings.sources.place(span);
    let panel = fields.take("panel").map(|field| field.key_span);
    let model = panel.or_else(|| fields.take("model").map(|field| field.value.span));
    let threshold = fields.take("pass_threshold").map(|field| field.value.span);
    let unfenced = fields.take("fence").or_else(|| fields.take("unfenced"));
    let unfenced = unfenced.map(|field| field.key_span);
    let parts = text.parts.iter().filter_map(|part| written(*part, &findings.sources));
    RubricPlaces {
        grader: place(entry.key_span),
        model: place(model.unwrap_or(entry.key_span)),
        threshold: place(threshold.unwrap_or(entry.key_span)),
        unfenced: place(unfenced.unwrap_or(entry.key_span)),
        parts: parts.collect(),
    }
}
