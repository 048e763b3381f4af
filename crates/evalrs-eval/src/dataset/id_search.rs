//! Finds the rows that may be of a sample by their text, before they are read.
//!
//! An id stands in its row as it is: a row is JSON text, whatever the format of its file. Some writers of JSON escape
//! characters that need not be; rows with such an escape may have any id.

use memchr::memmem::Finder;

/// How long the digests are that stand for ids of rows without one.
const CONTENT_ID: usize = 12;

/// Looks for the rows of one sample.
#[derive(Clone, Debug)]
pub struct IdSearch {
    id: Finder<'static>,
    escape: Finder<'static>,
}

impl IdSearch {
    /// For the rows with this id; none if it cannot be found by the text of a row.
    pub fn of(id: &str) -> Option<Self> {
        // Other characters are escaped by many writers, and each in several ways.
        let is_written_so = |byte: u8| matches!(byte, b' '..=b'~') && !br#""\/"#.contains(&byte);
        if id.is_empty() || !id.bytes().all(is_written_so) || may_be_of_content(id) {
            return None;
        }
        let id = Finder::new(id).into_owned();
        Some(Self { id, escape: Finder::new(br"\u00") })
    }

    /// Whether a row may have the id.
    pub fn may_have(&self, row: &str) -> bool {
        let row = row.as_bytes();
        self.id.find(row).is_some()
            || self.escape.find_iter(row).any(|at| matches!(row.get(at + 4), Some(b'2'..=b'7')))
    }
}

/// Whether an id may be the digest of a row, or that and the number of a row that says the same.
fn may_be_of_content(id: &str) -> bool {
    let Some((digest, rest)) = id.split_at_checked(CONTENT_ID) else { return false };
    digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && (rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::IdSearch;

    #[test]
    fn a_row_is_found_however_its_id_is_written() {
        for (id, row, may_be) in [
            ("sample-17", r#"{"id": "sample-17"}"#, true),
            ("17", r#"{"id": 17}"#, true),
            ("sample-17", r#"{"id": "sample-\u0031\u0037"}"#, true),
            ("a<b", r#"{"id": "a\u003cb"}"#, true),
            ("sample-17", r#"{"id": "sample-18"}"#, false),
            ("sample-17", r#"{"id": "sample-18", "input": "caf\u00e9 \u0007"}"#, false),
            ("sample-17", r#"{"id": "sample-18", "input": "\u00"}"#, false),
        ] {
            let search = IdSearch::of(id).expect(id);
            assert_eq!(search.may_have(row), may_be, "{id} in {row}");
        }
    }

    #[test]
    fn ids_that_may_be_written_otherwise_or_nowhere_are_not_looked_for() {
        for id in ["", "café", "a/b", "a\"b", "a\\b", "a\nb", "0123456789ab", "0123456789ab-2"] {
            assert!(IdSearch::of(id).is_none(), "{id}");
        }
        for id in ["0123456789abc", "0123456789a", "0123456789ag"] {
            assert!(IdSearch::of(id).is_some(), "{id}");
        }
    }
}
