//! Whether a reader believes a head: it names the writers, and their keys.

use std::collections::BTreeMap;
use std::fmt;

use crate::head::ReadHead;
use crate::keys::PublicKey;

/// Whom a reader believes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReaderTrust {
    /// The writers, in the order of the file.
    pub believe: Vec<String>,
    /// Writer → its keys. It may have several while one takes the place of another.
    pub keys: BTreeMap<String, Vec<PublicKey>>,
    /// Keys that are not believed any more.
    pub revoked: Vec<Revocation>,
    /// Whether the place of a log says enough: nobody else can write there.
    pub by_prefix: bool,
}

/// A key that was lost or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    pub key: PublicKey,
    /// The last head that it is believed for; none if it is believed for none.
    pub after: Option<u64>,
}

/// Why a head is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It is not a head, or its signature is wrong.
    Unreadable(String),
    /// It stands in the log of another writer than it says.
    OtherWriter(String),
    /// It stands at another place of the log than it says.
    OtherPlace(u64),
    /// Nobody signed it.
    Unsigned,
    /// It is signed with a key that is none of this writer's.
    OtherKey(PublicKey),
    /// It is signed with a key that was revoked.
    Revoked(PublicKey),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::OtherWriter(writer) => write!(f, "it is of the log of `{writer}`"),
            Self::OtherPlace(seq) => write!(f, "it is head {seq} of the log"),
            Self::Unsigned => f.write_str("it is not signed"),
            Self::OtherKey(key) => {
                write!(f, "it is signed with {key}, which is not a key of this writer")
            }
            Self::Revoked(key) => write!(f, "it is signed with {key}, which is revoked"),
        }
    }
}

impl ReaderTrust {
    /// The head at the place `seq` of the log of `writer`, if it is believed.
    pub fn read(&self, writer: &str, seq: u64, bytes: &[u8]) -> Result<ReadHead, Doubt> {
        let read = ReadHead::read(bytes).map_err(Doubt::Unreadable)?;
        if read.head.writer != writer {
            return Err(Doubt::OtherWriter(read.head.writer));
        }
        if read.head.seq != seq {
            return Err(Doubt::OtherPlace(read.head.seq));
        }
        let Some(key) = read.signed_by else {
            return if self.by_prefix { Ok(read) } else { Err(Doubt::Unsigned) };
        };
        let is_own = self.keys.get(writer).is_some_and(|keys| keys.contains(&key));
        if !is_own && !self.by_prefix {
            return Err(Doubt::OtherKey(key));
        }
        let revoked = self.revoked.iter().find(|revoked| revoked.key == key);
        match revoked {
            Some(revoked) if revoked.after.is_none_or(|after| seq > after) => {
                Err(Doubt::Revoked(key))
            }
            _ => Ok(read),
        }
    }
}

/// Whether a text is the name of a writer: it is a part of paths.
pub fn is_writer(name: &str) -> bool {
    let is_taken = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_taken)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Doubt, ReaderTrust, Revocation, is_writer};
    use crate::head::LogHead;
    use crate::keys::WriterKey;

    #[test]
    fn only_what_a_writer_signed_at_its_place_is_believed() {
        let [(ci, _), (fork, _)] = [(); 2].map(|()| WriterKey::generate().unwrap());
        let keys = BTreeMap::from([
            ("ci".to_owned(), vec![ci.public()]),
            ("fork".to_owned(), vec![fork.public()]),
        ]);
        let trust = ReaderTrust { believe: vec!["ci".to_owned()], keys, ..ReaderTrust::default() };
        let head = LogHead::after("ci", 1, None, Vec::new());
        let by = |key| head.written(key).unwrap();
        assert!(trust.read("ci", 1, &by(Some(&ci))).is_ok());
        for (writer, seq, bytes, doubt) in [
            ("ci", 1, by(None), Doubt::Unsigned),
            ("ci", 1, by(Some(&fork)), Doubt::OtherKey(fork.public())),
            ("ci", 2, by(Some(&ci)), Doubt::OtherPlace(1)),
            ("fork", 1, by(Some(&ci)), Doubt::OtherWriter("ci".to_owned())),
        ] {
            assert_eq!(trust.read(writer, seq, &bytes), Err(doubt));
        }
        // A key is believed for what it signed before it was lost.
        let second = LogHead { seq: 2, ..head.clone() }.written(Some(&ci)).unwrap();
        let after = |after| ReaderTrust {
            revoked: vec![Revocation { key: ci.public(), after }],
            ..trust.clone()
        };
        assert!(after(Some(1)).read("ci", 1, &by(Some(&ci))).is_ok());
        assert_eq!(after(Some(1)).read("ci", 2, &second), Err(Doubt::Revoked(ci.public())));
        assert_eq!(after(None).read("ci", 1, &by(Some(&ci))), Err(Doubt::Revoked(ci.public())));
        let by_prefix = ReaderTrust { by_prefix: true, ..trust };
        assert!(by_prefix.read("ci", 1, &by(None)).is_ok());
        assert!(matches!(by_prefix.read("ci", 1, b"{"), Err(Doubt::Unreadable(_))));
    }

    #[test]
    fn names_of_writers_are_parts_of_paths() {
        for name in ["ci", "team-a_2"] {
            assert!(is_writer(name));
        }
        for name in ["", "..", "a/b", "A", "a b", "é", &"a".repeat(65)] {
            assert!(!is_writer(name), "{name}");
        }
    }
}
