//! The lines of one sample in the records of earlier runs, each file read once and on demand.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use memchr::memmem::Finder;
use serde_json::Value;

use super::read::{PastLine, PastRun, RESULTS};
use evalrs_base::file_path::join;
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

    /// Its lines in the record of `past`. Runs that found the same share their file.
    pub fn of(&self, past: &PastRun) -> Rc<[PastLine]> {
        self.looked_into.borrow_mut().insert(past.folder.clone());
        let Some(identity) = self.system.identity(&join(&past.folder, RESULTS)) else {
            return self.read_from(past);
        };
        let mut read = self.read.borrow_mut();
        if let Some((_, lines)) = read.iter().find(|(known, _)| *known == identity) {
            return Rc::clone(lines);
        }
        let lines = self.read_from(past);
        read.push((identity, Rc::clone(&lines)));
        lines
    }

    /// Whether somebody has wanted those of `past`.
    pub fn were_read(&self, past: &PastRun) -> bool {
        self.looked_into.borrow().contains(&past.folder)
    }

    fn read_from(&self, past: &PastRun) -> Rc<[PastLine]> {
        let written = written_id(self.sample);
        let finder = Finder::new(&written);
        let mut lines = Vec::new();
        past.each_line_that(self.system, &|line| finder.find(line).is_some(), &mut |line| {
            if line.sample_id == self.sample {
                lines.push(line);
            }
        });
        lines.into()
    }
}

/// An id as it stands in a line: evalrs wrote that, and writes an id in one way only.
pub(super) fn written_id(id: &str) -> String {
    let quoted = Value::from(id).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::SampleLines;
    use crate::record::read::runs;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

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
