//! How a line of a segment says what its body has in common with an earlier line:
//! `"v":{…,"like":{"at":<offset>,"c":"<8 hex>","parts":[<place>,<from>,<to>,…]}}`.
//!
//! Judgments of one grader are asked with the same system message, schema and settings: all ingredients but one or two. A line
//! has its outcome and what is its own; of each part that is not, it says where it is to be put into the rest, and which
//! bytes they are of the body in the line that starts at `offset` of the segment. That one is whole, and is told by its
//! checksum. Whoever does not know it still reads a JSON object with the outcome in it. Pure.

use std::fmt::Write as _;

use crate::line::blob_reference::split_end;
use crate::line::elements::elements_of;

/// The prefix of the offset of the whole line.
const HEAD: &str = r#","like":{"at":"#;
/// Between offset and checksum.
const CHECKSUM: &str = r#","c":""#;
/// Between the checksum and the parts.
const PARTS: &str = r#"","parts":["#;
/// The end of all.
const END: &str = "]}}";

/// A body that has parts of the body of an earlier line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedText<'a> {
    /// Where the line of the other body starts in the segment, in bytes.
    pub at: u32,
    pub checksum: u32,
    /// What is put into `own`, front to back.
    pub parts: Vec<Part>,
    /// The body without its parts and its last brace.
    pub own: &'a str,
}

/// Bytes of the other body, and where they belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Before which byte of what is the body's own.
    pub place: u32,
    /// The first byte of the other body.
    pub from: u32,
    /// The byte after the last one.
    pub to: u32,
}

impl<'a> SharedText<'a> {
    /// Reads the replacement of a body in a line. None if it is a body, which is told by its end alone.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_suffix(END)?;
        let (rest, list) = split_end(rest, |byte| byte.is_ascii_digit() || byte == b',');
        let rest = rest.strip_suffix(PARTS)?;
        let (rest, hex) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
        let checksum = u32::from_str_radix(hex, 16).ok()?;
        let rest = rest.strip_suffix(CHECKSUM)?;
        let (rest, at) = split_end(rest, |byte| byte.is_ascii_digit());
        let own = rest.strip_suffix(HEAD)?;
        Some(Self { at: at.parse().ok()?, checksum, parts: parts_of(list)?, own })
    }

    /// Appends the text of the line, except `own`, which the writer has written.
    pub(crate) fn append_reference(&self, out: &mut String) {
        let Self { at, checksum, parts, .. } = self;
        // Writing to a string cannot fail.
        let _ = write!(out, "{HEAD}{at}{CHECKSUM}{checksum:08x}{PARTS}");
        for (number, Part { place, from, to }) in parts.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let _ = write!(out, "{comma}{place},{from},{to}");
        }
        out.push_str(END);
    }

    /// The whole body, put together with the `other` one; none if that cannot be the one that was meant.
    pub(crate) fn whole(&self, other: &str) -> Option<String> {
        let shared: usize =
            self.parts.iter().map(|part| part.to.saturating_sub(part.from) as usize).sum();
        let mut body = String::with_capacity(self.own.len() + shared + 1);
        let mut taken = 0;
        for Part { place, from, to } in &self.parts {
            body.push_str(self.own.get(taken..*place as usize)?);
            body.push_str(other.get(*from as usize..*to as usize)?);
            taken = *place as usize;
        }
        body.push_str(self.own.get(taken..)?);
        body.push('}');
        Some(body)
    }

    /// What is left of the body where the other one cannot be read: all but its ingredients. Those that are its own are
    /// not what its key was made of.
    pub(crate) fn incomplete(&self) -> String {
        let mut body = format!("{}}}", self.own);
        let elements = elements_of(&body).unwrap_or_default();
        if let (Some(first), Some(last)) = (elements.first(), elements.last()) {
            body.replace_range(first.start..last.end, "");
        }
        body
    }
}

fn parts_of(list: &str) -> Option<Vec<Part>> {
    let numbers: Option<Vec<u32>> = list.split(',').map(|number| number.parse().ok()).collect();
    let numbers = numbers?;
    let triples = numbers.chunks(3).map(|numbers| match *numbers {
        [place, from, to] => Some(Part { place, from, to }),
        _ => None,
    });
    triples.collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, SharedText};

    fn text(shared: &SharedText<'_>) -> String {
        let mut text = shared.own.to_owned();
        shared.append_reference(&mut text);
        text
    }

    #[test]
    fn a_reference_is_read_as_it_was_written_and_put_together() {
        let other = r#"{"a":["one","two","three"]}"#;
        let part = |place, from, to| Part { place, from, to };
        let cases = [
            (vec![part(6, 6, 18)], r#"{"b":["four"]"#, r#"{"b":["one","two","four"]}"#),
            (
                vec![part(6, 6, 12), part(12, 17, 25)],
                r#"{"b":["four"]"#,
                r#"{"b":["one","four","three"]}"#,
            ),
            (vec![part(6, 6, 25)], r#"{"b":[]"#, r#"{"b":["one","two","three"]}"#),
        ];
        for (parts, own, whole) in cases {
            let shared = SharedText { at: 4_294_967_295, checksum: 0xab, parts, own };
            let text = text(&shared);
            assert_eq!(SharedText::parse(&text), Some(shared.clone()), "{text}");
            assert_eq!(shared.whole(other).as_deref(), Some(whole));
            for json in [text, shared.incomplete()] {
                serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
            }
        }
    }

    #[test]
    fn what_is_left_without_the_other_body_has_no_ingredients() {
        let own = r#"{"outcome":{"reply":{"text":"a"}},"ingredients":[{"name":"user"},{"name":"vote"}],"at":"now""#;
        let shared = SharedText { at: 0, checksum: 0, parts: Vec::new(), own };
        let left = r#"{"outcome":{"reply":{"text":"a"}},"ingredients":[],"at":"now"}"#;
        assert_eq!(shared.incomplete(), left);
    }

    #[test]
    fn parts_that_cannot_be_are_put_nowhere() {
        for (place, from, to) in [(3, 0, 1), (0, 1, 0), (0, 0, 9), (1, 0, 1), (0, 1, 2)] {
            let parts = vec![Part { place, from, to }];
            assert_eq!(
                SharedText { at: 0, checksum: 0, parts, own: "é" }.whole("éa"),
                None,
                "{place} {from} {to}"
            );
        }
    }

    #[test]
    fn only_what_is_written_so_is_a_reference() {
        let good = r#"{"a":1,"like":{"at":7,"c":"0123abcd","parts":[1,2,3]}}"#;
        assert!(SharedText::parse(good).is_some());
        let cases = [
            "{}".to_owned(),
            "]}}".to_owned(),
            good.replace(":7", ":"),
            good.replace(":7", ":-7"),
            good.replace(":7", ":4294967296"),
            good.replace("0123abcd", "0123abcx"),
            good.replace("0123abcd", "éabcdef"),
            good.replace("1,2,3", ""),
            good.replace("1,2,3", "1,2"),
            good.replace("1,2,3", "1,2,3,"),
            good.replace("1,2,3", "1,2,4294967296"),
            good.replace("like", "likes"),
            good.replace("}}", r#"},"b":1}"#),
        ];
        for text in cases {
            assert_eq!(SharedText::parse(&text), None, "{text}");
        }
    }
}
