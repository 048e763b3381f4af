//! Results that say what an earlier record says: their bytes stand on disk once, under a name in each record.
//!
//! Whether they do is known only at their end. So nothing is written as long as they are the same, and what was the same
//! is copied once they differ. Records are written once and replaced by renaming, never in place, so neither name can
//! change what the other one reads.

use std::io::{self, BufRead, BufWriter, Read, Write};

use crate::base::system::System;

/// Writes a file, or gives the one at `earlier` its name where `contents` writes those very bytes.
pub(super) fn write_or_share(
    system: &dyn System,
    path: &str,
    earlier: Option<&str>,
    contents: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let read = |earlier| Some((system.open(earlier).ok()?, system.open(earlier).ok()?));
    let mut earlier_bytes = earlier.and_then(read);
    let mut is_same = false;
    let written = system.write(path, &mut |file| {
        let Some((compared, copied)) = earlier_bytes.take() else { return contents(file) };
        let mut sharing = SharingWriter { compared: Some(compared), copied, same: 0, file };
        let mut out = BufWriter::with_capacity(1 << 16, &mut sharing);
        contents(&mut out)?;
        out.flush()?;
        drop(out);
        is_same = sharing.is_same_to_the_end()?;
        // Nothing was written, and nothing is to be.
        if is_same { Err(io::Error::other("the same as an earlier record")) } else { Ok(()) }
    });
    match earlier {
        Some(earlier) if is_same => share_or_copy(system, earlier, path),
        _ => written,
    }
}

fn share_or_copy(system: &dyn System, earlier: &str, path: &str) -> io::Result<()> {
    if system.link(earlier, path) {
        return Ok(());
    }
    system.write(path, &mut |file| io::copy(&mut system.open(earlier)?, file).map(drop))
}

/// Writes nothing as long as it is the same as what is compared.
struct SharingWriter<'a> {
    /// What is compared; none once it differs.
    compared: Option<Box<dyn BufRead>>,
    /// The same file from its beginning.
    copied: Box<dyn BufRead>,
    /// So many bytes were the same.
    same: u64,
    file: &'a mut dyn Write,
}

impl SharingWriter<'_> {
    /// Whether all was the same, and no more is there. Else it is written now.
    fn is_same_to_the_end(&mut self) -> io::Result<bool> {
        let Some(compared) = &mut self.compared else { return Ok(false) };
        if compared.fill_buf()?.is_empty() {
            return Ok(true);
        }
        self.differ()?;
        Ok(false)
    }

    fn differ(&mut self) -> io::Result<()> {
        self.compared = None;
        io::copy(&mut Read::take(&mut self.copied, self.same), self.file).map(drop)
    }
}

impl Write for SharingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(compared) = &mut self.compared {
            let there = compared.fill_buf()?;
            let length = there.len().min(bytes.len());
            if length > 0 && there[..length] == bytes[..length] {
                compared.consume(length);
                self.same += length as u64;
                return Ok(length);
            }
            if !bytes.is_empty() {
                self.differ()?;
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::write_or_share;
    use crate::base::system::System;
    use crate::base::system::memory::MemorySystem;

    #[test]
    fn what_is_written_is_what_was_said_whatever_stands_in_the_earlier_record() {
        let said = "one\ntwo\nthree\n";
        for (earlier, is_shared) in [
            (Some(said), true),
            (Some("one\ntwo\nthree\nfour\n"), false),
            (Some("one\ntwo\n"), false),
            (Some("one\ntwO\nthree\n"), false),
            (Some(""), false),
            (None, false),
        ] {
            let system = MemorySystem::default();
            if let Some(text) = earlier {
                system.set("0/results.jsonl", text);
            }
            write_or_share(&system, "1/results.jsonl", Some("0/results.jsonl"), &mut |out| {
                said.split_inclusive('\n').try_for_each(|line| out.write_all(line.as_bytes()))
            })
            .unwrap();
            let written = system.read("1/results.jsonl").into_bytes().unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), said, "{earlier:?}");
            assert_eq!(system.linked(), usize::from(is_shared), "{earlier:?}");
        }
    }

    #[test]
    fn an_error_on_the_way_is_one_of_the_record() {
        let system = MemorySystem::with(&[("0", "one\n")]);
        let failed =
            write_or_share(&system, "1", Some("0"), &mut |_| Err(std::io::Error::other("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
    }
}
