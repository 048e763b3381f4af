//! The head of a log: the objects that a writer's log consists of now, signed.
//!
//! A head is never changed: each push writes the next one. It names the digest of the head before, so that a log has one past.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::keys::{PublicKey, WriterKey, bytes, hex};

/// What is signed before the text, so that no signature for something else is one of a head.
const CONTEXT: &[u8] = b"evalrs log head v1\n";
/// The version of a head.
const FORMAT: u32 = 1;
/// The most bytes of a head: some ten thousand objects.
pub const MOST_BYTES: usize = 4 << 20;
/// The most bytes of an object, packed.
pub const MOST_PACKED: u64 = 64 << 20;
/// The most bytes of an object, unpacked.
pub const MOST_UNPACKED: u64 = 512 << 20;
/// The most objects in a log.
const MOST_OBJECTS: usize = 10_000;

/// What a log consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHead {
    pub format: u32,
    /// Whose log it is.
    pub writer: String,
    /// How many heads the log has had, this one included.
    pub seq: u64,
    /// The digest of the head before; none of the first.
    pub previous: Option<String>,
    /// The objects, in the order in which they were written.
    pub segments: Vec<SegmentName>,
}

/// An object with outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentName {
    /// The SHA-256 digest of its bytes.
    pub sha256: String,
    /// How many those are.
    pub bytes: u64,
    /// How many they stand for.
    pub unpacked: u64,
    /// How many outcomes it has.
    pub outcomes: u64,
}

/// A head as it was read, with who signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadHead {
    pub head: LogHead,
    /// The key whose signature it has; none where it has none.
    pub signed_by: Option<PublicKey>,
    /// The digest of its bytes.
    pub digest: String,
}

impl LogHead {
    /// The head of `writer` at the place `seq`, after `before`, with these objects.
    pub fn after(
        writer: &str,
        seq: u64,
        before: Option<&ReadHead>,
        segments: Vec<SegmentName>,
    ) -> Self {
        Self {
            format: FORMAT,
            writer: writer.to_owned(),
            seq,
            previous: before.map(|before| before.digest.clone()),
            segments,
        }
    }

    /// Whether it lists the object of that digest.
    pub fn lists(&self, sha256: &str) -> bool {
        self.segments.iter().any(|segment| segment.sha256 == sha256)
    }

    /// Its bytes: a line of JSON, and where there is a key a line with that and the signature.
    pub fn written(&self, key: Option<&WriterKey>) -> Result<Vec<u8>, String> {
        let mut text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        text.push('\n');
        if let Some(key) = key {
            let signature = key.sign(&signed(text.as_bytes()));
            text.extend([key.public().to_string().as_str(), " ", &hex(&signature), "\n"]);
        }
        Ok(text.into_bytes())
    }
}

impl ReadHead {
    /// Reads a head; says why it is none. A signature that is wrong is none.
    pub fn read(read: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(read).map_err(|_| "it is not UTF-8".to_owned())?;
        let (line, rest) = text.split_once('\n').ok_or("it breaks off")?;
        let head: LogHead =
            serde_json::from_str(line).map_err(|error| format!("it is not a head: {error}"))?;
        if head.format != FORMAT {
            return Err(format!("its format is {}, and this version reads {FORMAT}", head.format));
        }
        if head.segments.len() > MOST_OBJECTS {
            return Err(format!("it lists more than {MOST_OBJECTS} objects"));
        }
        if let Some(wrong) = head.segments.iter().find_map(SegmentName::fault) {
            return Err(wrong);
        }
        let message = signed(&text.as_bytes()[..=line.len()]);
        let signed_by = match rest.trim_end_matches('\n').split_once(' ') {
            None if rest.is_empty() => None,
            None => return Err("its signature breaks off".to_owned()),
            Some((key, signature)) => {
                let key: PublicKey = key.parse()?;
                let signature: Option<[u8; 64]> = bytes(signature);
                let is_right =
                    signature.is_some_and(|signature| key.has_signed(&message, &signature));
                if !is_right {
                    return Err("its signature is wrong".to_owned());
                }
                Some(key)
            }
        };
        Ok(Self { head, signed_by, digest: sha256(read) })
    }
}

impl SegmentName {
    /// What is wrong with it.
    fn fault(&self) -> Option<String> {
        let Self { sha256, bytes: packed, unpacked, .. } = self;
        if bytes::<32>(sha256).is_none() {
            return Some("it lists an object whose name is not a digest".to_owned());
        }
        let is_large = *packed > MOST_PACKED || *unpacked > MOST_UNPACKED;
        is_large.then(|| {
            format!("it lists an object of {packed} bytes for {unpacked}, which is too large")
        })
    }
}

fn signed(text: &[u8]) -> Vec<u8> {
    [CONTEXT, text].concat()
}

/// The SHA-256 digest as hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use super::{LogHead, ReadHead, SegmentName, sha256};
    use crate::keys::WriterKey;

    fn segment() -> SegmentName {
        SegmentName { sha256: sha256(b"x"), bytes: 1, unpacked: 2, outcomes: 3 }
    }

    #[test]
    fn a_head_is_read_as_it_was_signed() {
        let (key, _) = WriterKey::generate().unwrap();
        let first = LogHead::after("ci", 1, None, vec![segment()]);
        let bytes = first.written(Some(&key)).unwrap();
        let read = ReadHead::read(&bytes).unwrap();
        assert_eq!((&read.head, read.signed_by), (&first, Some(key.public())));
        let second = LogHead::after("ci", 2, Some(&read), Vec::new());
        assert_eq!((second.seq, second.previous.as_deref()), (2, Some(sha256(&bytes).as_str())));
        let plain = ReadHead::read(&second.written(None).unwrap()).unwrap();
        assert_eq!((plain.head, plain.signed_by), (second, None));
    }

    #[test]
    fn no_byte_of_a_signed_head_can_be_changed() {
        let (key, _) = WriterKey::generate().unwrap();
        let head = LogHead::after("ci", 1, None, vec![segment()]);
        let bytes = head.written(Some(&key)).unwrap();
        for at in 0..bytes.len() {
            for change in [1, 0x20] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let read = ReadHead::read(&changed);
                assert!(
                    read.as_ref().is_err()
                        || *read.as_ref().unwrap() == ReadHead::read(&bytes).unwrap(),
                    "byte {at}: {read:?}"
                );
            }
        }
        for cut in 0..bytes.len() {
            // Without its last line it is a head that nobody signed.
            let read = ReadHead::read(&bytes[..cut]);
            assert!(
                read.map_or(true, |read| read.signed_by.is_none() || cut + 1 == bytes.len()),
                "{cut}"
            );
        }
    }

    #[test]
    fn names_that_are_no_digests_and_giants_are_refused() {
        for wrong in [
            SegmentName { sha256: "../../../etc/passwd".to_owned(), ..segment() },
            SegmentName { bytes: u64::MAX, ..segment() },
            SegmentName { unpacked: 1 << 40, ..segment() },
        ] {
            let head = LogHead::after("ci", 1, None, vec![wrong]);
            assert!(ReadHead::read(&head.written(None).unwrap()).is_err());
        }
        for text in ["", "\n", "{}\n", "[]\nx", "{\"format\": 9}\n"] {
            assert!(ReadHead::read(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
