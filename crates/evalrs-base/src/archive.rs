//! Zip archives: which files they hold, and what those say, within a limit; and archives of our own.
//!
//! What is read is written nowhere. A member whose path leads out of the archive, or is not UTF-8, is none.

use std::io::{self, Write};

use rawzip::{
    CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipArchiveWriter, ZipSliceArchive,
};

use super::compression::{UnpackError, read_within};

/// The most members that are listed.
const MAX_MEMBERS: usize = 200_000;

/// An archive in memory.
pub struct Archive<'a> {
    archive: ZipSliceArchive<&'a [u8]>,
    members: Vec<ArchiveMember>,
}

/// A file in an archive.
struct ArchiveMember {
    path: String,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

impl<'a> Archive<'a> {
    /// Reads what an archive holds, sorted by path.
    pub fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let archive = ZipArchive::from_slice(bytes)
            .map_err(|error| format!("it is not a zip archive, or it is damaged: {error}"))?;
        let mut members = Vec::new();
        let mut entries = archive.entries();
        while let Some(entry) =
            entries.next_entry().map_err(|error| format!("the archive is damaged: {error}"))?
        {
            let Ok(path) = entry.file_path().try_normalize() else { continue };
            let path = path.as_str();
            // What macOS puts beside files of others.
            if entry.is_dir() || path.starts_with("__MACOSX/") {
                continue;
            }
            let path = path.to_owned();
            let method = entry.compression_method();
            members.push(ArchiveMember { path, place: entry.wayfinder(), method });
            if members.len() > MAX_MEMBERS {
                return Err(format!("the archive has more than {MAX_MEMBERS} files"));
            }
        }
        members.sort_by(|a, b| a.path.cmp(&b.path));
        // Of two members of one name the later one counts, as where both are unpacked.
        members.reverse();
        members.dedup_by(|later, first| later.path == first.path);
        members.reverse();
        Ok(Self { archive, members })
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.path.as_str())
    }

    /// The names in a folder of the archive, sorted; none if it is not a folder. Its root is empty
    /// text.
    pub fn list(&self, folder: &str) -> Option<Vec<String>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.members.partition_point(|member| *member.path < *prefix);
        let inside =
            self.members[from..].iter().map_while(|member| member.path.strip_prefix(&prefix));
        let mut names: Vec<String> =
            inside.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    /// The bytes of the member at `path`, if there are at most `limit`.
    pub fn read(&self, path: &str, limit: usize) -> Result<Vec<u8>, String> {
        let at = self.members.binary_search_by(|member| (*member.path).cmp(path));
        let member = at.ok().and_then(|at| self.members.get(at));
        let member = member.ok_or("no such file in the archive")?;
        let damaged = |error: &dyn std::fmt::Display| format!("the archive is damaged: {error}");
        let entry = self.archive.get_entry(member.place).map_err(|error| damaged(&error))?;
        let data = entry.data();
        let read = match member.method {
            CompressionMethod::STORE => read_within(entry.verifying_reader(data), limit),
            CompressionMethod::DEFLATE => {
                let decoder = flate2::bufread::DeflateDecoder::new(data);
                read_within(entry.verifying_reader(decoder), limit)
            }
            CompressionMethod::ZSTD => zstd::stream::read::Decoder::with_buffer(data)
                .map_err(UnpackError::Damaged)
                .and_then(|decoder| read_within(entry.verifying_reader(decoder), limit)),
            other => return Err(format!("unsupported compression: {other}")),
        };
        read.map_err(|error| error.to_string())
    }
}

/// Writes an archive, file by file. Nothing in it says when: the same files give the same bytes.
pub struct ArchiveWriter<W: Write>(ZipArchiveWriter<W>);

impl<W: Write> ArchiveWriter<W> {
    pub fn new(to: W) -> Self {
        Self(ZipArchiveWriter::new(to))
    }

    /// Adds the file `path`, whose bytes `write` writes.
    pub fn add(
        &mut self,
        path: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = self.0.new_file(path).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().map_err(io::Error::other)?;
        let level = flate2::Compression::default();
        let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, level));
        write(&mut writer)?;
        let (encoder, descriptor) = writer.finish().map_err(io::Error::other)?;
        encoder.finish()?;
        entry.finish(descriptor).map_err(io::Error::other)?;
        Ok(())
    }

    /// Ends the archive.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish().map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, ArchiveWriter};

    fn zip(members: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = ArchiveWriter::new(Vec::new());
        for (path, text) in members {
            archive.add(path, &mut |to| to.write_all(text.as_bytes())).unwrap();
        }
        archive.finish().unwrap()
    }

    #[test]
    fn archives_are_folders() {
        let bytes = zip(&[
            ("b/x.json", "1"),
            ("a.json", "2"),
            ("b/c/y.json", "3"),
            ("__MACOSX/._a.json", "?"),
            ("a.json", "4"),
        ]);
        let archive = Archive::open(&bytes).unwrap();
        let listed = |folder: &str| archive.list(folder).map(|names| names.join(" "));
        assert_eq!(listed("").as_deref(), Some("a.json b"));
        assert_eq!(listed("b").as_deref(), Some("c x.json"));
        assert_eq!(listed("b/c").as_deref(), Some("y.json"));
        assert_eq!((listed("b/x.json"), listed("z")), (None, None));
        assert_eq!(archive.read("b/c/y.json", 1), Ok(b"3".to_vec()));
        assert_eq!(archive.read("a.json", 1), Ok(b"4".to_vec()));
        assert!(archive.read("a.json", 0).unwrap_err().contains("exceeds"));
        assert!(archive.read("nothing", 9).is_err());
    }

    #[test]
    fn what_is_damaged_is_said() {
        assert!(Archive::open(b"").is_err());
        assert!(Archive::open(b"PK\x05\x06 no archive").is_err());
        let mut bytes = zip(&[("a.json", "some text that is long enough to be compressed")]);
        bytes[45] ^= 0xff;
        let archive = Archive::open(&bytes).unwrap();
        assert!(archive.read("a.json", 1 << 20).is_err());
    }
}
