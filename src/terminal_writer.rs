//! What text goes through on its way to a terminal: whatever names and texts of others it holds, it obeys none of them.

use std::io::{Result, Write};

use evalrs_base::text::shown;

/// Writes text with marks that reorder it and control characters beyond ASCII shown. Escape sequences pass: they
/// are colours of evalrs, those of others are taken out where texts are put together.
#[derive(Debug)]
pub struct HarmlessWriter<W> {
    inner: W,
    /// The beginning of a character whose rest was not written yet.
    begun: Vec<u8>,
}

impl<W: Write> HarmlessWriter<W> {
    /// One that writes to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, begun: Vec::new() }
    }
}

impl<W: Write> Write for HarmlessWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut text = std::mem::take(&mut self.begun);
        text.extend(bytes);
        self.begun = text.split_off(text.len() - unfinished(&text));
        self.inner.write_all(shown(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

/// How many bytes at the end begin a character that does not end there.
fn unfinished(text: &[u8]) -> usize {
    let is_begun = |length: &usize| match text[text.len() - length] {
        0xf0..=0xf7 => *length < 4,
        0xe0..=0xef => *length < 3,
        0xc0..=0xdf => *length < 2,
        _ => false,
    };
    (1..=text.len().min(3)).find(is_begun).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::HarmlessWriter;

    #[test]
    fn what_a_terminal_obeys_is_shown_wherever_it_is_cut() {
        let text = "a\u{202e}b \u{1b}[1mé𝄞\u{9b}31m ⟨\u{2066}⟩\n";
        let expected = "a⟨U+202E⟩b \u{1b}[1mé𝄞⟨U+009B⟩31m ⟨⟨U+2066⟩⟩\n";
        for length in 1..=text.len() {
            let mut written = Vec::new();
            let mut writer = HarmlessWriter::new(&mut written);
            for part in text.as_bytes().chunks(length) {
                writer.write_all(part).unwrap();
            }
            assert_eq!(String::from_utf8(written).unwrap(), expected, "in pieces of {length}");
        }
        let mut written = Vec::new();
        HarmlessWriter::new(&mut written).write_all(b"\x9b31m \xff").unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "\u{fffd}31m \u{fffd}");
    }
}
