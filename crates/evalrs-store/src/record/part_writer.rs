//! Writes results in several files, and has those that an earlier record has, too, be other names of its files.

use std::collections::HashMap;
use std::io;

use super::file::digest_of;
use super::parts::{PartReader, ResultsPart, write_each};
use super::result_files::{PartFile, PartList, open_results, part_path, write_list};
use super::spliced::SplicedPart;
use evalrs_base::file_path::join;
use evalrs_system::System;

/// How large a file is before the next begins. More of them take longer to give names to, and an edit writes one.
const FULL: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// The least that is worth a file of its own beside one that is the same as before.
const LEAST: usize = FULL / 4;

/// The results of an earlier record.
pub(super) struct EarlierFiles<'a> {
    folder: &'a str,
    reader: PartReader<'a>,
    /// Its files by their first byte; nothing where they are one.
    by_start: HashMap<u64, PartFile>,
    by_digest: HashMap<String, String>,
}

impl<'a> EarlierFiles<'a> {
    /// None where the record has no results.
    pub(super) fn open(system: &'a dyn System, folder: &'a str) -> Option<Self> {
        let reader = PartReader::new(open_results(system, folder).ok()?);
        let list = PartList::read(system, folder).map_or_else(Vec::new, |list| list.parts);
        let by_digest = list.iter().map(|part| (part.digest.clone(), part.name.clone())).collect();
        let mut next = 0;
        let by_start = list.into_iter().map(|part| {
            let from = next;
            next += part.bytes;
            (from, part)
        });
        let by_start = by_start.collect();
        Some(Self { folder, reader, by_start, by_digest })
    }
}

/// Results that are written in several files.
pub(super) struct WrittenParts {
    /// Their digest: that of the list of the files.
    pub digest: String,
    /// Where each part of the results stands.
    pub places: Vec<ResultsPart>,
}

/// Writes the parts of results into the record in `folder`. If one cannot be written, none is left.
pub(super) fn write_parts<'a>(
    system: &dyn System,
    folder: &str,
    parts: impl Iterator<Item = SplicedPart<'a>>,
    earlier: Option<EarlierFiles<'_>>,
) -> io::Result<WrittenParts> {
    let written = write_all(system, folder, parts, earlier);
    if written.is_err() {
        // What cannot be removed either has no list, so that nobody reads it.
        let _ = system.remove_folder(&join(folder, "results"));
    }
    written
}

fn write_all<'a>(
    system: &dyn System,
    folder: &str,
    parts: impl Iterator<Item = SplicedPart<'a>>,
    earlier: Option<EarlierFiles<'_>>,
) -> io::Result<WrittenParts> {
    system.make_folder(&join(folder, "results"))?;
    let mut writer = PartWriter {
        system,
        folder,
        earlier,
        same: None,
        next: Vec::new(),
        written: Vec::new(),
        bytes: 0,
    };
    let mut places = Vec::new();
    for part in parts {
        let from = writer.end();
        let lines = match part {
            SplicedPart::Same(part) => {
                writer.add_same(part)?;
                part.lines
            }
            SplicedPart::Judged(judged) => {
                writer.copy_same()?;
                let earlier = writer.earlier.as_mut().ok_or(io::ErrorKind::NotFound)?;
                judged.write(&mut earlier.reader, &mut writer.next)?
            }
            SplicedPart::New(results) => {
                writer.copy_same()?;
                write_each(results, &mut writer.next)?
            }
        };
        places.push(ResultsPart { from, bytes: writer.end() - from, lines });
        if writer.next.len() >= FULL {
            writer.write()?;
        }
    }
    writer.copy_same()?;
    writer.write()?;
    let (text, digest) = PartList::new(writer.written).text()?;
    write_list(system, folder, &text)?;
    Ok(WrittenParts { digest, places })
}

struct PartWriter<'a, 'e> {
    system: &'a dyn System,
    folder: &'a str,
    earlier: Option<EarlierFiles<'e>>,
    /// The beginning of a file of the earlier record, as far as it is the same.
    same: Option<ResultsPart>,
    /// The beginning of the next file.
    next: Vec<u8>,
    written: Vec<PartFile>,
    /// How many bytes are in these.
    bytes: u64,
}

impl PartWriter<'_, '_> {
    /// How many bytes there are by now.
    fn end(&self) -> u64 {
        self.bytes + self.next.len() as u64 + self.same.map_or(0, |same| same.bytes)
    }

    /// Adds a part of the earlier results. A whole file of these gets another name; less is copied.
    fn add_same(&mut self, part: ResultsPart) -> io::Result<()> {
        let so_far = match self.same.take() {
            Some(same) if same.end() == part.from => {
                ResultsPart { bytes: same.bytes + part.bytes, ..same }
            }
            other => {
                self.same = other;
                self.copy_same()?;
                let begins_file = self.file_at(part.from).is_some();
                let may_end = self.next.is_empty() || self.next.len() >= LEAST;
                if !begins_file || !may_end {
                    return self.copy(part);
                }
                self.write()?;
                part
            }
        };
        let file = self.file_at(so_far.from).cloned();
        match file.filter(|file| file.bytes == so_far.bytes) {
            Some(file) => self.name_again(file),
            None => {
                self.same = Some(so_far);
                Ok(())
            }
        }
    }

    fn file_at(&self, from: u64) -> Option<&PartFile> {
        self.earlier.as_ref()?.by_start.get(&from)
    }

    fn copy(&mut self, part: ResultsPart) -> io::Result<()> {
        let earlier = self.earlier.as_mut().ok_or(io::ErrorKind::NotFound)?;
        earlier.reader.copy(part, &mut self.next)
    }

    /// Copies what is the same, if it is not a whole file.
    fn copy_same(&mut self) -> io::Result<()> {
        self.same.take().map_or(Ok(()), |same| self.copy(same))
    }

    /// A file of the earlier record is the next one.
    fn name_again(&mut self, file: PartFile) -> io::Result<()> {
        let name = self.next_name();
        let path = part_path(self.folder, &name);
        let earlier = self.earlier.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let old = part_path(earlier.folder, &file.name);
        if !self.system.link(&old, &path) {
            let bytes = self.system.read(&old).into_bytes().map_err(io::Error::other)?;
            self.system.write(&path, &mut |out| out.write_all(&bytes))?;
            self.system.protect(&path);
        }
        self.bytes += file.bytes;
        self.written.push(PartFile { name, ..file });
        Ok(())
    }

    /// Writes the next file, unless it would be empty. It may be one of the earlier record.
    fn write(&mut self) -> io::Result<()> {
        if self.next.is_empty() {
            return Ok(());
        }
        let digest = blake3::hash(&self.next).to_hex().to_string();
        let file = PartFile { name: String::new(), bytes: self.next.len() as u64, digest };
        if let Some(old) = self.same_file(&file.digest) {
            self.next.clear();
            return self.name_again(PartFile { name: old, ..file });
        }
        let name = self.next_name();
        let path = part_path(self.folder, &name);
        let next = std::mem::take(&mut self.next);
        self.system.write(&path, &mut |out| out.write_all(&next))?;
        self.system.protect(&path);
        self.next = next;
        self.next.clear();
        self.bytes += file.bytes;
        self.written.push(PartFile { name, ..file });
        Ok(())
    }

    /// The earlier file with this digest, if it still has it.
    fn same_file(&self, digest: &str) -> Option<String> {
        let earlier = self.earlier.as_ref()?;
        let name = earlier.by_digest.get(digest)?;
        let found = digest_of(self.system, &part_path(earlier.folder, name));
        (found.as_deref() == Some(digest)).then(|| name.clone())
    }

    fn next_name(&self) -> String {
        format!("{:06}.jsonl", self.written.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::ops::Range;

    use super::{EarlierFiles, FULL, WrittenParts, write_parts};
    use crate::record::part_writer::part_path;
    use crate::record::parts::ResultsPart;
    use crate::record::result_files::{
        FileCheck, PartList, check_results, link_results, open_results, result_paths, results_stamp,
    };
    use crate::record::spliced::SplicedPart;
    use evalrs_metrics::results::ResultLine;
    use evalrs_metrics::results::report::write_line;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;
    use evalrs_test_runs as fixtures;

    /// Results of a chunk.
    type ChunkResults = Vec<ResultLine>;

    fn chunk(first: usize, lines: usize) -> ChunkResults {
        (first..first + lines).map(|at| fixtures::graded(at, (at % 10) as f64 / 10.0)).collect()
    }

    fn text(chunks: &[ChunkResults]) -> String {
        let mut text = Vec::new();
        chunks.iter().flatten().for_each(|line| write_line(line, &mut text).unwrap());
        String::from_utf8(text).unwrap()
    }

    /// A record of these chunks, and where they stand in it.
    #[derive(Clone)]
    struct WrittenChunks {
        folder: String,
        chunks: Vec<ChunkResults>,
        places: Vec<ResultsPart>,
        digest: String,
    }

    fn write(
        system: &MemorySystem,
        folder: &str,
        chunks: Vec<ChunkResults>,
        earlier: Option<&WrittenChunks>,
    ) -> WrittenChunks {
        let mut end = 0;
        let mut parts = Vec::new();
        for lines in &chunks {
            let same = earlier.and_then(|earlier| {
                let at = earlier.chunks.iter().position(|other| other == lines)?;
                let place = earlier.places[at];
                (place.from >= end).then_some(place)
            });
            end = same.map_or(end, ResultsPart::end);
            parts.push(match same {
                Some(place) => SplicedPart::Same(place),
                None => SplicedPart::New(Box::new(lines.clone().into_iter())),
            });
        }
        let files = earlier.and_then(|earlier| EarlierFiles::open(system, &earlier.folder));
        let written = write_parts(system, folder, parts.into_iter(), files).unwrap();
        let WrittenParts { digest, places } = written;
        WrittenChunks { folder: folder.to_owned(), chunks, places, digest }
    }

    fn read(system: &MemorySystem, folder: &str) -> String {
        let mut text = String::new();
        open_results(system, folder).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn check(system: &MemorySystem, written: &WrittenChunks, what: &str) {
        let expected = text(&written.chunks);
        assert!(read(system, &written.folder) == expected, "{what}");
        let same = check_results(system, &written.folder, &written.digest);
        assert_eq!(same, FileCheck::Same, "{what}");
        let mut next = 0;
        for (place, lines) in written.places.iter().zip(&written.chunks) {
            let of_chunk = text(std::slice::from_ref(lines));
            assert_eq!((place.from, place.bytes), (next, of_chunk.len() as u64), "{what}");
            next = place.end();
        }
        assert_eq!(next, expected.len() as u64, "{what}");
        let list = PartList::read(system, &written.folder).unwrap();
        let largest = written.places.iter().map(|place| place.bytes).max().unwrap_or_default();
        let most = 2 * FULL as u64 + largest;
        assert!(list.parts.iter().all(|part| (1..most).contains(&part.bytes)), "{what}: {list:?}");
    }

    /// The files that are not the same as one of the record before.
    fn new_files(system: &MemorySystem, before: &str, now: &str) -> usize {
        let identities = |folder: &str| -> Vec<_> {
            let paths = result_paths(system, folder);
            paths.iter().skip(1).map(|path| system.identity(path).unwrap()).collect()
        };
        let old = identities(before);
        identities(now).iter().filter(|identity| !old.contains(identity)).count()
    }

    fn first(chunks: Range<usize>) -> Vec<ChunkResults> {
        chunks.map(|at| chunk(at * 5, 5)).collect()
    }

    #[test]
    fn what_two_records_have_in_common_stands_on_disk_once() {
        let system = MemorySystem::with(&[]);
        let before = write(&system, "h/runs/0", first(0..60), None);
        check(&system, &before, "the first");
        let files = result_paths(&system, "h/runs/0").len() - 1;
        assert!(files > 8, "{files}");
        let edited = |edit: fn(&mut Vec<ChunkResults>)| {
            let mut chunks = before.chunks.clone();
            edit(&mut chunks);
            chunks
        };
        for (at, what, chunks, most) in [
            (1, "nothing", edited(|_| {}), 0),
            (2, "a chunk", edited(|chunks| chunks[30] = chunk(900, 5)), 1),
            (3, "the first chunk", edited(|chunks| chunks[0] = chunk(900, 4)), 1),
            (4, "the last chunk", edited(|chunks| chunks[59] = chunk(900, 9)), 1),
            (5, "one more", edited(|chunks| chunks.push(chunk(900, 5))), 2),
            (6, "one less", edited(|chunks| _ = chunks.remove(30)), 1),
            (7, "one in between", edited(|chunks| chunks.insert(30, chunk(900, 5))), 2),
            (8, "much in between", edited(|chunks| chunks.insert(30, chunk(900, 99))), 4),
            (9, "all others", edited(|chunks| *chunks = first(100..140)), usize::MAX),
        ] {
            let folder = format!("h/runs/{at}");
            let now = write(&system, &folder, chunks.clone(), Some(&before));
            check(&system, &now, what);
            let new = new_files(&system, "h/runs/0", &folder);
            assert!(new <= most, "{what}: {new} new files");
            // Where nobody knows what is the same, it is found by its bytes as far as files begin where they did.
            let unknown = WrittenChunks { chunks: Vec::new(), ..before.clone() };
            let folder = format!("h/runs/{at}-unknown");
            let now = write(&system, &folder, chunks, Some(&unknown));
            check(&system, &now, what);
            assert!(new_files(&system, "h/runs/0", &folder) <= files, "{what}");
        }
        assert_eq!(new_files(&system, "h/runs/0", "h/runs/1-unknown"), 0);
        // No record needs another one.
        system.remove_folder("h/runs/0").unwrap();
        assert_eq!(read(&system, "h/runs/1"), text(&before.chunks));
    }

    #[test]
    fn after_any_edits_all_is_there_in_order() {
        let mut random = fastrand::Rng::with_seed(7);
        let system = MemorySystem::with(&[]);
        let mut last = write(&system, "h/runs/0", first(0..40), None);
        for round in 1..300 {
            let mut chunks = last.chunks.clone();
            for _ in 0..random.usize(0..4) {
                let at = random.usize(0..=chunks.len());
                let lines = chunk(random.usize(0..5_000), random.usize(0..12));
                match random.u32(0..4) {
                    0 => chunks.insert(at, lines),
                    1 if at < chunks.len() => chunks[at] = lines,
                    2 if at < chunks.len() => _ = chunks.remove(at),
                    _ if at < chunks.len() => chunks.rotate_left(at),
                    _ => {}
                }
            }
            last = write(&system, &format!("h/runs/{round}"), chunks, Some(&last));
            check(&system, &last, &format!("round {round}"));
        }
    }

    #[test]
    fn parts_that_are_gone_or_edited_are_named() {
        let system = MemorySystem::with(&[]);
        let written = write(&system, "r", first(0..20), None);
        let path = part_path("r", "000001.jsonl");
        let bytes = system.read(&path).into_bytes().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let stamp = results_stamp(&system, "r");
        for (what, edit, is_readable) in [
            ("longer", Some(format!("{text}{{}}\n")), true),
            ("cut", Some(text[..20].to_owned()), false),
            ("other", Some(text.replace("0.5", "0.6")), true),
            ("gone", None, false),
        ] {
            match &edit {
                Some(text) => system.set(&path, text),
                None => system.remove(&path),
            }
            let found = check_results(&system, "r", &written.digest);
            let name = "results/000001.jsonl".to_owned();
            let expected =
                if edit.is_some() { FileCheck::Edited(name) } else { FileCheck::Gone(name) };
            assert_eq!(found, expected, "{what}");
            let mut all = String::new();
            let read = open_results(&system, "r").unwrap().read_to_string(&mut all);
            assert_eq!(read.is_ok(), is_readable, "{what}");
            assert_ne!(results_stamp(&system, "r"), stamp, "{what}");
        }
        system.set(&path, &text);
        assert!(link_results(&system, "r", "again"));
        assert_eq!(read(&system, "again"), read(&system, "r"));
        system.set("r/results/parts.json", "{}");
        assert!(open_results(&system, "r").is_err());
        let found = check_results(&system, "r", &written.digest);
        assert_eq!(found, FileCheck::Edited("results/parts.json".to_owned()));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let system = MemorySystem::with(&[]);
        let missing = ResultsPart { from: 4_000, bytes: 9, lines: 1 };
        let parts =
            [SplicedPart::New(Box::new(chunk(0, 90).into_iter())), SplicedPart::Same(missing)];
        assert!(write_parts(&system, "r", parts.into_iter(), None).is_err());
        assert_eq!(system.list("r/results"), None);
    }
}
