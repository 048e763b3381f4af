//! The end of what a process writes to its standard error.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::Start;

/// The bytes of it that are kept and shown.
pub(super) const KEPT: usize = 4096;
/// The bytes that are read at once.
const CHUNK: usize = 1 << 14;

/// The last bytes that a process wrote. More than is shown is kept, so that a secret which the beginning of the tail
/// would cut in two is still found.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    most: usize,
}

impl Tail {
    pub(super) fn of(start: &Start) -> Self {
        let longest = start.env.iter().map(|(_, secret)| secret.reveal().len()).max();
        Self { bytes: Vec::new(), most: KEPT + longest.unwrap_or(0) }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Moving the rest to the front each time would cost more than keeping it twice.
        if self.bytes.len() > 2 * self.most {
            self.bytes.drain(..self.bytes.len() - self.most);
        }
    }

    /// Its text without secrets, trimmed; none where there is none.
    pub(super) fn text(&self, start: &Start) -> Option<String> {
        let text = start.without_secrets(&String::from_utf8_lossy(&self.bytes));
        let text = last(text.trim(), KEPT);
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// The last bytes of a text, at most this many, from the beginning of a character.
pub(super) fn last(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

/// The first bytes of a text, at most this many, up to the end of a character.
pub(super) fn first(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

pub(super) type SharedTail = Arc<Mutex<Tail>>;

/// The text in a shared tail.
pub(super) fn text_of(tail: &SharedTail, start: &Start) -> Option<String> {
    tail.lock().unwrap_or_else(PoisonError::into_inner).text(start)
}

/// Reads a stream to its end into a tail, and hands every chunk to `see`.
pub(super) async fn read(
    mut from: impl AsyncRead + Unpin,
    tail: &SharedTail,
    mut see: impl FnMut(&[u8]),
) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..count]);
        see(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_data::start_of;
    use super::{KEPT, Tail, first, last};
    use crate::Secret;

    #[test]
    fn a_secret_at_the_cut_does_not_show() {
        let mut start = start_of("/g");
        start.env = vec![("API_KEY".to_owned(), Secret::new("sk-abcdefghi".to_owned()))];
        for before in 0..20 {
            let mut tail = Tail::of(&start);
            tail.push("x".repeat(3 * KEPT).as_bytes());
            tail.push(b"sk-abcdefghi");
            tail.push("y".repeat(KEPT - before).as_bytes());
            let text = tail.text(&start).unwrap();
            assert!(text.len() <= KEPT);
            assert!(!text.contains("abc") && !text.contains("gh"), "{before}");
        }
        assert_eq!(Tail::of(&start).text(&start), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(last("aéb", 2), "b");
        assert_eq!(last("aéb", 3), "éb");
        assert_eq!(first("aéb", 2), "a");
        assert_eq!(first("aéb", 9), "aéb");
    }
}
