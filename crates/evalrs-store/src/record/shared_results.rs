//! Results that say what an earlier record says: their bytes stand on disk once, under a name in each record.
//!
//! Where all is the same that they are made of, they are the same. Else whether they are is known only at their end. So
//! nothing is written as long as they are the same, and what was the same is copied once they differ. evalrs replaces records by renaming, never in place, so that it changes nothing under the
//! other name. So that an editor which writes in place does not either, the files are read-only; what did so all the same is
//! found by the digest of what was written.

use std::io::{self, BufRead, BufWriter, Read, Write};

use super::result_files::{FileCheck, check_results, link_results, results_stamp};
use evalrs_system::{FileIdentity, System, WriteStamp};

/// Gives the results of one record names in another, too, if nobody has written them since they had this `stamp` and this `digest`.
pub(super) fn share(
    system: &dyn System,
    [earlier, folder]: [&str; 2],
    stamp: &WriteStamp,
    digest: &str,
) -> bool {
    results_stamp(system, earlier).as_ref() == Some(stamp)
        && check_results(system, earlier, digest) == FileCheck::Same
        && link_results(system, earlier, folder)
        && results_stamp(system, folder).as_ref() == Some(stamp)
}

/// Writes a file, or gives the one at `earlier` its name where `contents` writes those very bytes. Whatever becomes of the
/// earlier one meanwhile, the file is what `contents` writes, which may be asked for it again.
pub(super) fn write_or_share(
    system: &dyn System,
    path: &str,
    earlier: Option<&str>,
    contents: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let Some(shared) = earlier.and_then(|earlier| SharedFile::open(system, earlier)) else {
        return system.write(path, contents);
    };
    let SharedFile { path: earlier, identity, compared, copied } = shared;
    let mut opened = Some((compared, copied));
    let mut ended = SharingEnd::Written;
    let written = system.write(path, &mut |file| {
        let Some((compared, copied)) = opened.take() else { return contents(file) };
        let mut sharing =
            SharingWriter { compared: Some(compared), copied, same: 0, file, broken: false };
        let written = {
            let mut out = BufWriter::with_capacity(1 << 16, &mut sharing);
            contents(&mut out).and_then(|()| out.flush())
        };
        ended = sharing.end(written.is_ok());
        match ended {
            SharingEnd::Written => written,
            // Nothing that was written here is to stay.
            SharingEnd::Same | SharingEnd::Broken => Err(io::Error::other("written elsewhere")),
        }
    });
    // What has that name by now may be another file: a session replaces its results at each save.
    let is_shared = ended == SharingEnd::Same
        && system.link(earlier, path)
        && system.identity(path) == Some(identity);
    match ended {
        SharingEnd::Written => written,
        SharingEnd::Same if is_shared => Ok(()),
        SharingEnd::Same | SharingEnd::Broken => system.write(path, contents),
    }
}

/// Passes on what is written, and hashes it.
pub(super) struct HashingWriter<'a> {
    pub out: &'a mut dyn Write,
    pub hasher: blake3::Hasher,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How a file came out that may be the same as an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharingEnd {
    /// It differs, and was written.
    Written,
    /// It is the same, and nothing was written.
    Same,
    /// The earlier one could not be read.
    Broken,
}

/// An earlier file, opened twice.
struct SharedFile<'a> {
    path: &'a str,
    identity: FileIdentity,
    compared: Box<dyn BufRead>,
    copied: Box<dyn BufRead>,
}

impl<'a> SharedFile<'a> {
    /// None where a later name cannot be guaranteed to lead to it.
    fn open(system: &dyn System, path: &'a str) -> Option<Self> {
        let identity = system.identity(path)?;
        let [compared, copied] = [system.open(path).ok()?, system.open(path).ok()?];
        // Else one of them may be another file.
        let is_same = system.identity(path) == Some(identity);
        is_same.then_some(Self { path, identity, compared, copied })
    }
}

/// Writes nothing as long as it is the same as what is compared.
struct SharingWriter<'a> {
    /// What is compared; none once it differs.
    compared: Option<Box<dyn BufRead>>,
    /// The same file from its beginning.
    copied: Box<dyn BufRead>,
    /// This many bytes were the same.
    same: u64,
    file: &'a mut dyn Write,
    /// Whether the earlier file could not be read.
    broken: bool,
}

impl SharingWriter<'_> {
    /// How it came out, once all is written that could be: what is the same to the end needs no file of its own.
    fn end(&mut self, is_whole: bool) -> SharingEnd {
        if is_whole && let Some(compared) = &mut self.compared {
            match compared.fill_buf() {
                Ok([]) => return SharingEnd::Same,
                Ok(_) => self.broken |= self.differ().is_err(),
                Err(_) => self.broken = true,
            }
        }
        if self.broken { SharingEnd::Broken } else { SharingEnd::Written }
    }

    fn differ(&mut self) -> io::Result<()> {
        self.compared = None;
        let copied = io::copy(&mut Read::take(&mut self.copied, self.same), self.file)?;
        if copied == self.same { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn write_or_compare(&mut self, bytes: &[u8]) -> io::Result<usize> {
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
        Ok(0)
    }
}

impl Write for SharingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.write_or_compare(bytes).inspect_err(|_| self.broken = true)? {
            0 => self.file.write(bytes),
            same => Ok(same),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{share, write_or_share};
    use crate::record::file::digest_of;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

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
    fn what_is_not_what_was_written_gets_no_other_name() {
        let system = MemorySystem::with(&[("h/0/results.jsonl", "one\n")]);
        let stamp = system.stamp("h/0/results.jsonl").unwrap();
        let digest = digest_of(&system, "h/0/results.jsonl").unwrap();
        assert_eq!(digest, blake3::hash(b"one\n").to_hex().as_str());
        assert!(!share(&system, ["h/0", "h/1"], &stamp, &blake3::hash(b"two\n").to_hex()));
        assert_eq!(system.linked(), 0);
        assert!(share(&system, ["h/0", "h/1"], &stamp, &digest));
    }

    #[test]
    fn what_has_the_earlier_name_by_now_may_be_another_file() {
        let system = MemorySystem::with(&[("0", "one\ntwo\n")]);
        write_or_share(&system, "1", Some("0"), &mut |out| {
            out.write_all(b"one\n")?;
            system.set("0", "of a later save\n");
            out.write_all(b"two\n")
        })
        .unwrap();
        assert_eq!(system.read("1").into_bytes().unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn an_error_on_the_way_is_one_of_the_record() {
        let system = MemorySystem::with(&[("0", "one\n")]);
        let failed =
            write_or_share(&system, "1", Some("0"), &mut |_| Err(std::io::Error::other("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
    }
}
