//! How a line names a body that is kept as a blob: `"v":{…,"blob":{"blake3":"<64 hex>","bytes":<count>,"reply":true}}`.
//!
//! Before the reference stands the outline of the body, so that versions which know no blobs read an entry that is no
//! outcome: they say so and leave the line where it is. What a reader decides by, before it opens the blob, is told by
//! the reference itself.

use crate::entry::{BODY_LIMIT, EntryRank, is_reply};
use crate::line::outline::outline;

/// The prefix of the digest.
const HEAD: &str = r#""blob":{"blake3":""#;
/// Between digest and size.
const MIDDLE: &str = r#"","bytes":"#;
/// Between the size and whether the body is a reply.
const RANK: &str = r#","reply":"#;

/// A body that is kept as a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobReference {
    /// The blake3 digest of the body.
    pub digest: [u8; 32],
    /// The bytes of the body.
    pub bytes: u32,
    /// Whether the body holds a reply.
    pub is_reply: bool,
    /// What the line says of the body.
    pub outline: String,
}

impl BlobReference {
    /// The reference to `body`, which has no more than [`BODY_LIMIT`] bytes.
    pub fn to(body: &str) -> Self {
        Self {
            digest: *blake3::hash(body.as_bytes()).as_bytes(),
            bytes: body.len() as u32,
            is_reply: is_reply(body),
            outline: outline(body),
        }
    }

    /// What decides which entry of a key wins, but for ties.
    pub fn rank(&self, generation: u32) -> EntryRank {
        EntryRank { is_reply: self.is_reply, generation }
    }

    /// The digest in hexadecimal digits, which the file is named after.
    pub(crate) fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }

    /// The text in the line instead of the body.
    pub fn to_text(&self) -> String {
        let start = self.outline.strip_suffix('}').unwrap_or("{");
        let comma = if start.len() > 1 { "," } else { "" };
        let Self { bytes, is_reply, .. } = self;
        format!("{start}{comma}{HEAD}{}{MIDDLE}{bytes}{RANK}{is_reply}}}}}", self.hex())
    }

    /// Reads the replacement of a body in a line. None if it is a body, which is told by its end alone: bodies are
    /// long, and there are many.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_suffix("}}")?;
        let (rest, is_reply) = match (rest.strip_suffix("true"), rest.strip_suffix("false")) {
            (Some(rest), _) => (rest, true),
            (_, Some(rest)) => (rest, false),
            _ => return None,
        };
        let rest = rest.strip_suffix(RANK)?;
        let (rest, size) = split_end(rest, |byte| byte.is_ascii_digit());
        let bytes = size.parse::<u32>().ok().filter(|size| *size as usize <= BODY_LIMIT)?;
        let rest = rest.strip_suffix(MIDDLE)?;
        let (rest, hex) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
        let digest = *blake3::Hash::from_hex(hex).ok()?.as_bytes();
        let outline = rest.strip_suffix(HEAD)?;
        let outline = format!("{}}}", outline.strip_suffix(',').unwrap_or(outline));
        Some(Self { digest, bytes, is_reply, outline })
    }
}

/// Splits off the longest end of a text that has only these ASCII characters.
pub(crate) fn split_end(text: &str, is_in: impl Fn(u8) -> bool) -> (&str, &str) {
    let length = text.bytes().rev().take_while(|byte| is_in(*byte)).count();
    text.split_at(text.len() - length)
}

#[cfg(test)]
mod tests {
    use super::BlobReference;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        let long = "x".repeat(1000);
        let bodies = [
            ("{}".to_owned(), "{}", false),
            (format!(r#"{{"a":"{long}"}}"#), "{}", false),
            (format!(r#"{{"at":"now","a":"{long}"}}"#), r#"{"at":"now"}"#, false),
            (
                format!(r#"{{"outcome":{{"reply":{{"text":"{long}"}}}}}}"#),
                r#"{"outcome":{"reply":{}}}"#,
                true,
            ),
        ];
        for (body, outline, is_reply) in bodies {
            let reference = BlobReference::to(&body);
            assert_eq!((reference.outline.as_str(), reference.is_reply), (outline, is_reply));
            assert_eq!(reference.bytes as usize, body.len());
            let text = reference.to_text();
            assert_eq!(BlobReference::parse(&text), Some(reference), "{text}");
            serde_json::from_str::<serde::de::IgnoredAny>(&text).unwrap();
        }
    }

    #[test]
    fn only_what_is_written_so_is_a_reference() {
        let hex = "0f".repeat(32);
        let good = format!(r#"{{"a":1,"blob":{{"blake3":"{hex}","bytes":7,"reply":true}}}}"#);
        assert!(BlobReference::parse(&good).is_some());
        let cases = [
            "{}".to_owned(),
            "}}".to_owned(),
            "true}}".to_owned(),
            r#"{"a":{"reply":true}}"#.to_owned(),
            good.replace("true", "1"),
            good.replace(":7", ":"),
            good.replace(":7", ":-7"),
            good.replace(":7", ":67108865"),
            good.replace(":7", ":99999999999999999999"),
            good.replace("0f", "0g"),
            good.replace("0f0f0f", "éf0f"),
            good.replace("blob", "blub"),
            good.replace("}}", r#"},"b":1}"#),
        ];
        for text in cases {
            assert_eq!(BlobReference::parse(&text), None, "{text}");
        }
    }
}
