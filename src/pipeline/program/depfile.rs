//! What a program was seen to load, to look for in vain and to read: the text of the entry that its base key leads to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The most files of which it is kept that they were read.
const MOST_READS: usize = 1_000;

/// What a program was seen to load, and what else decides what it loads. Paths are seen from the suite's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Depfile {
    /// The files that it loaded, and those that said which ones it loads.
    pub files: BTreeSet<String>,
    /// Where it looked for a file that was not there: one that is there by now may be loaded instead.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub missed: BTreeSet<String>,
    /// The files that it read without declaring them, each with the digests of what it read. They are in no key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reads: BTreeMap<String, BTreeSet<String>>,
}

impl Depfile {
    /// Reads the text of an entry.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Reads the text of an entry of the time when nothing but files was listed.
    pub(crate) fn read_files(text: &str) -> Option<Self> {
        let files = serde_json::from_str(text).ok()?;
        Some(Self { files, ..Self::default() })
    }

    /// The text of an entry.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Adds what another one lists. Says whether that was more.
    pub(crate) fn extend(&mut self, more: &Self) -> bool {
        let before = self.len();
        self.files.extend(more.files.iter().cloned());
        self.missed.extend(more.missed.iter().cloned());
        // A program of which a file was missed and then loaded depends on that file, whether it is there or not.
        self.missed.retain(|path| !self.files.contains(path));
        let is_more = self.len() != before;
        let mut has_read = false;
        for (path, digests) in &more.reads {
            if self.reads.contains_key(path) || self.reads.len() < MOST_READS {
                let known = self.reads.entry(path.clone()).or_default();
                let count = known.len();
                known.extend(digests.iter().cloned());
                has_read |= known.len() > count;
            }
        }
        is_more || has_read
    }

    /// How much it lists of what keys hold: a path that was missed and then loaded counts for more.
    fn len(&self) -> (usize, usize) {
        (self.files.len(), self.missed.len())
    }

    /// The folders in which it was looked for files that were not there.
    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        let folder = |path: &String| path.rfind('/').map_or(0, |at| at.max(1));
        self.missed.iter().map(|path| &path[..folder(path)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{Depfile, MOST_READS};

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn depfile(files: &[&str], missed: &[&str], reads: &[(&str, &[&str])]) -> Depfile {
        let reads = reads.iter().map(|(path, digests)| ((*path).to_owned(), set(digests)));
        Depfile { files: set(files), missed: set(missed), reads: reads.collect() }
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        for (all, text) in [
            (Depfile::default(), r#"{"files":[]}"#),
            (
                depfile(&["a.py"], &["b", "b.py"], &[("r.txt", &["1", "2"])]),
                r#"{"files":["a.py"],"missed":["b","b.py"],"reads":{"r.txt":["1","2"]}}"#,
            ),
        ] {
            assert_eq!(all.to_text(), text);
            assert_eq!(Depfile::read(text), Some(all));
        }
        assert_eq!(Depfile::read_files(r#"["a.py"]"#), Some(depfile(&["a.py"], &[], &[])));
        assert_eq!(Depfile::read(r#"["a.py"]"#), None);
        assert_eq!(Depfile::read_files(r#"{"files":[]}"#), None);
    }

    #[test]
    fn what_is_seen_later_is_added() {
        let first = depfile(&["a.py"], &["b.py", "c.py"], &[("r.txt", &["1"])]);
        for (more, is_more, expected) in [
            (depfile(&[], &[], &[]), false, first.clone()),
            (depfile(&["a.py"], &["b.py"], &[("r.txt", &["1"])]), false, first.clone()),
            (
                depfile(&["b.py"], &[], &[]),
                true,
                depfile(&["a.py", "b.py"], &["c.py"], &[("r.txt", &["1"])]),
            ),
            // What was loaded once is not missed any more, whatever is seen of it.
            (depfile(&[], &["a.py"], &[]), false, first.clone()),
            (
                depfile(&[], &[], &[("r.txt", &["2"])]),
                true,
                depfile(&["a.py"], &["b.py", "c.py"], &[("r.txt", &["1", "2"])]),
            ),
        ] {
            let mut all = first.clone();
            assert_eq!(all.extend(&more), is_more, "{more:?}");
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn no_more_reads_are_kept_than_can_be_looked_at() {
        let reads = (0..MOST_READS + 9).map(|at| (at.to_string(), set(&["1"])));
        let more = Depfile { reads: reads.collect::<BTreeMap<_, _>>(), ..Depfile::default() };
        let mut all = Depfile::default();
        assert!(all.extend(&more));
        assert_eq!(all.reads.len(), MOST_READS);
        assert!(!all.extend(&more));
    }
}
