//! The lines of one sample in the records of earlier runs, each file read once and on demand.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use memchr::memmem::Finder;
use serde_json::Value;

use super::read::{PastLine, PastRun, each_line_of};
use super::result_files::line_paths;
use evalrs_system::{FileIdentity, System};

/// Reads the lines of one sample.
pub struct SampleLines<'a> {
    sample: &'a str,
    system: &'a dyn System,
    read: RefCell<Vec<(FileIdentity, Rc<[PastLine]>)>>,
    /// The records that were looked into.
    looked_into: RefCell<BTreeSet<String>>,
}

impl fmt::Debug for SampleLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleLines({})", self.sample)
    }
}

impl<'a> SampleLines<'a> {
    /// Of `sample`; nothing is read yet.
    pub fn new(sample: &'a str, system: &'a dyn System) -> Self {
        Self { sample, system, read: RefCell::default(), looked_into: RefCell::default() }
    }

    /// Its lines in the record of `past`. What runs have in common is read once.
    pub fn of(&self, past: &PastRun) -> Rc<[PastLine]> {
        self.looked_into.borrow_mut().insert(past.folder.clone());
        let files = line_paths(self.system, &past.folder).into_iter();
        let lines: Vec<Rc<[PastLine]>> = files.map(|path| self.of_file(&path)).collect();
        match lines.as_slice() {
            [lines] => Rc::clone(lines),
            several => several.iter().flat_map(|lines| lines.iter().cloned()).collect(),
        }
    }

    fn of_file(&self, path: &str) -> Rc<[PastLine]> {
        let Some(identity) = self.system.identity(path) else { return self.read_from(path) };
        let mut read = self.read.borrow_mut();
        if let Some((_, lines)) = read.iter().find(|(known, _)| *known == identity) {
            return Rc::clone(lines);
        }
        let lines = self.read_from(path);
        read.push((identity, Rc::clone(&lines)));
        lines
    }

    /// Whether somebody has wanted those of `past`.
    pub fn were_read(&self, past: &PastRun) -> bool {
        self.looked_into.borrow().contains(&past.folder)
    }

    fn read_from(&self, path: &str) -> Rc<[PastLine]> {
        let Ok(mut file) = self.system.open(path) else { return Rc::default() };
        let written = written_id(self.sample);
        let finder = Finder::new(&written);
        let mut lines = Vec::new();
        each_line_of(&mut *file, &|line| finder.find(line).is_some(), &mut |line| {
            if line.sample_id == self.sample {
                lines.push(line);
            }
        });
        lines.into()
    }
}

/// An id as it stands in a line: evalrs wrote that, and writes an id in one way only.
pub fn written_id(id: &str) -> String {
    let quoted = Value::from(id).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// The id of a line as it is written there; none where the line does not begin as evalrs begins it.
pub fn id_in(line: &[u8]) -> Option<&str> {
    let format = line.strip_prefix(br#"{"format":"#)?;
    let digits = format.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = format[digits..].strip_prefix(br#","sample_id":""#)?;
    let mut end = 0;
    loop {
        end += memchr::memchr2(b'"', b'\\', text.get(end..)?)?;
        if text[end] == b'"' {
            return std::str::from_utf8(&text[..end]).ok();
        }
        end += 2;
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{SampleLines, id_in, written_id};
    use crate::record::read::runs;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn ids_are_found_as_they_are_written() {
        for id in ["a", "", "é \" \\", "\\\"", "\n\u{1}"] {
            let line = serde_json::json!({"sample_id": id}).to_string();
            let line = line.replacen('{', "{\"format\":12,", 1);
            assert_eq!(id_in(line.as_bytes()), Some(written_id(id).as_str()), "{line}");
            let cut = line.strip_suffix("\"}").unwrap();
            assert_eq!(id_in(cut.as_bytes()), None, "{cut}");
        }
        for line in ["", "{}", r#"{"sample_id":"a","format":1}"#, r#"{"format":1,"sample_id":7}"#] {
            assert_eq!(id_in(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn lines_of_the_sample_are_read_and_runs_that_share_a_file_are_read_once() {
        let header = r#"{"format": 1, "suite": "s"}"#;
        let results = "\"a\", but no line\n\
            {\"format\":2,\"sample_id\":\"a\",\"trial\":0}\n\
            {\"format\":2,\"sample_id\":\"b\",\"input\":\"a\"}\n\
            {\"format\":2,\"sample_id\":\"a\",\"trial\":1}\n";
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", header),
            ("h/runs/2/header.json", header),
            ("h/runs/3/header.json", header),
            ("h/runs/1/results.jsonl", results),
            ("h/runs/3/results.jsonl", "{\"format\":2,\"sample_id\":\"b\"}\n"),
        ]);
        assert!(system.link("h/runs/1/results.jsonl", "h/runs/2/results.jsonl"));
        let lines = SampleLines::new("a", &system);
        let found: Vec<_> = runs(&system, "h", "s").map(|past| lines.of(&past)).collect();
        let trials: Vec<Vec<u32>> =
            found.iter().map(|lines| lines.iter().map(|line| line.trial).collect()).collect();
        assert_eq!(trials, [vec![], vec![0, 1], vec![0, 1]]);
        assert!(Rc::ptr_eq(&found[1], &found[2]), "the file was read again");
    }
}
