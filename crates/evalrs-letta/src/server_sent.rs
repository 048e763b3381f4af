//! Server-sent events, cut out of a body that arrives in pieces.
//!
//! Only what events are made of: which one ends a conversation is said by [`super::stream`].

/// Cuts a body into events, of which it gives what they carry: their `data` lines, joined by line feeds. What has no end yet
/// waits for more.
#[derive(Debug, Default)]
pub(crate) struct EventCutter {
    /// The bytes of a line that has not ended.
    line: Vec<u8>,
    /// The `data` of an event that has not ended; none before its first.
    data: Option<String>,
    /// Whether the last byte was a carriage return, whose line feed may come next.
    was_return: bool,
}

impl EventCutter {
    /// The events that end in this piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for byte in bytes {
            let is_second = *byte == b'\n' && self.was_return;
            self.was_return = *byte == b'\r';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
        }
        events
    }

    /// The bytes that wait for the end of their event.
    pub(crate) fn waiting(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    /// The event that ends with the body: a server that is cut off leaves out the empty line.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.end_line().or_else(|| self.data.take())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let line = String::from_utf8_lossy(&line);
        // Comments begin with a colon, and names of events say nothing that their data does not.
        let said = line.strip_prefix("data")?;
        let said = if said.is_empty() { said } else { said.strip_prefix(':')? };
        let said = said.strip_prefix(' ').unwrap_or(said);
        match &mut self.data {
            None => self.data = Some(said.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(said);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::EventCutter;

    fn cut(pieces: &[&str]) -> Vec<String> {
        let mut cutter = EventCutter::default();
        let mut events: Vec<String> =
            pieces.iter().flat_map(|piece| cutter.push(piece.as_bytes())).collect();
        events.extend(cutter.end());
        events
    }

    #[test]
    fn events_are_cut_wherever_the_body_is() {
        for (pieces, expected) in [
            (&[][..], &[][..]),
            (&["data: a\n\ndata: b\n\n"], &["a", "b"]),
            (&["da", "ta: a", "\n", "\nda", "ta:b\n\n"], &["a", "b"]),
            (&["data: a\r", "\n\r\ndata: b\r\n\r\n"], &["a", "b"]),
            (&["data: a\r\rdata: b\r\r"], &["a", "b"]),
            (&["event: error\ndata: a\nid: 1\nretry: 2\n\n"], &["a"]),
            (&[": keep-alive\n\ndata\n\n"], &[""]),
            (&["data: a\ndata:  b\n\n"], &["a\n b"]),
            (&["dataset: a\n\n"], &[]),
            (&["data: a"], &["a"]),
            (&["data: a\n"], &["a"]),
            (&["data: \u{e9}\n\n"], &["\u{e9}"]),
        ] {
            assert_eq!(cut(pieces), expected, "{pieces:?}");
            let whole = pieces.concat();
            let bytes: Vec<&str> = whole.split_inclusive(|_: char| true).collect();
            assert_eq!(cut(&bytes), expected, "{pieces:?} letter by letter");
        }
        let mut cutter = EventCutter::default();
        cutter.push(b"data: ab\ndata: c");
        assert_eq!(cutter.waiting(), "ab".len() + "data: c".len());
    }
}
