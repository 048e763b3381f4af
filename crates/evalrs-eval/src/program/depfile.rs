//! What a program was seen to load, to look for in vain and to read: the text of the entry that its base key leads to.
//!
//! What it looks for while it is loaded rests on its files alone, and is found out from scratch whenever one of them is
//! another: so a list says the same wherever it was made. What only calls look for is added to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The most files of which it is kept that they were read.
const MOST_READS: usize = 1_000;

/// What a program was seen to load, and what else decides what it loads. Paths are seen from the suite's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Depfile {
    /// The files that it loaded, and those that list them.
    pub files: BTreeSet<String>,
    /// Where it looked for a file that was not there: one that is there by now may be loaded instead.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub missed: BTreeSet<String>,
    /// The files that it read without declaring them, each with the digests of what it read. They are in no key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reads: BTreeMap<String, BTreeSet<String>>,
    /// What keys say of the files that it loaded when it was loaded, as far as that is known of each; none where it was
    /// not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<BTreeMap<String, String>>,
    /// Which of the files and the missed ones only calls looked for.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub late: BTreeSet<String>,
}

impl Depfile {
    /// Reads the text of an entry.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The text of an entry.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a program loads these files, given their current state, as it did when it was loaded: then the listing
    /// also has everything else it looks for.
    pub fn is_as_loaded(&self, files: &[(String, String)]) -> bool {
        let Some(loaded) = &self.loaded else { return false };
        files.iter().all(|(path, now)| self.late.contains(path) || loaded.get(path) == Some(now))
    }

    /// What only calls look for, and what was read.
    #[must_use]
    pub fn of_calls(&self) -> Self {
        Self {
            files: self.files.intersection(&self.late).cloned().collect(),
            missed: self.missed.intersection(&self.late).cloned().collect(),
            reads: self.reads.clone(),
            ..Self::default()
        }
    }

    /// What a load from scratch came upon, with what it loaded of the files, takes the place of what was listed, but for
    /// what calls looked for.
    #[must_use]
    pub fn loaded_anew(mut self, loaded: BTreeMap<String, String>, before: &Self) -> Self {
        self.loaded = Some(loaded);
        self.extend(&before.of_calls());
        self
    }

    /// Adds what calls came upon. Says whether that was more.
    pub fn extend(&mut self, more: &Self) -> bool {
        // A path that was missed and then loaded counts for more.
        let lengths = |it: &Self| (it.files.len(), it.missed.len());
        let before = lengths(self);
        let is_new = |path: &&String| !self.files.contains(*path) && !self.missed.contains(*path);
        let late: Vec<String> =
            more.files.iter().chain(&more.missed).filter(is_new).cloned().collect();
        // What was missed at first and loaded by a call is what calls look for.
        self.late.extend(more.files.intersection(&self.missed).cloned().chain(late));
        self.files.extend(more.files.iter().cloned());
        self.missed.extend(more.missed.iter().cloned());
        // A program of which a file was missed and then loaded depends on that file, whether it is there or not.
        self.missed.retain(|path| !self.files.contains(path));
        let mut is_more = lengths(self) != before;
        for (path, digests) in &more.reads {
            if self.reads.contains_key(path) || self.reads.len() < MOST_READS {
                let known = self.reads.entry(path.clone()).or_default();
                let count = known.len();
                known.extend(digests.iter().cloned());
                is_more |= known.len() > count;
            }
        }
        is_more
    }

    /// The folders in which it was looked for files that were not there.
    pub fn folders(&self) -> BTreeSet<&str> {
        let paths = self.missed.iter();
        paths.map(|path| &path[..path.rfind('/').map_or(0, |at| at.max(1))]).collect()
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
        Depfile {
            files: set(files),
            missed: set(missed),
            reads: reads.collect(),
            ..Depfile::default()
        }
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
        assert_eq!(Depfile::read(r#"["a.py"]"#), None);
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
                late(depfile(&["a.py", "b.py"], &["c.py"], &[("r.txt", &["1"])]), &["b.py"]),
            ),
            (
                depfile(&["d.py"], &["e.py"], &[]),
                true,
                late(
                    depfile(&["a.py", "d.py"], &["b.py", "c.py", "e.py"], &[("r.txt", &["1"])]),
                    &["d.py", "e.py"],
                ),
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

    fn late(depfile: Depfile, late: &[&str]) -> Depfile {
        Depfile { late: set(late), ..depfile }
    }

    #[test]
    fn a_load_from_scratch_leaves_of_what_was_listed_what_calls_look_for() {
        let digests = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), format!("{name} 1"))).collect()
        };
        let before = late(depfile(&["h.py", "x.py"], &["h", "y.py"], &[]), &["x.py", "y.py"]);
        let now = depfile(&["h/__init__.py"], &["z.py"], &[]);
        let all = now.loaded_anew(digests(&["h/__init__.py"]), &before);
        let expected =
            late(depfile(&["h/__init__.py", "x.py"], &["y.py", "z.py"], &[]), &["x.py", "y.py"]);
        assert_eq!(all, Depfile { loaded: Some(digests(&["h/__init__.py"])), ..expected });
        assert!(!depfile(&[], &[], &[]).is_as_loaded(&[]));
        let state = |path: &str, state: &str| (path.to_owned(), state.to_owned());
        let same = state("h/__init__.py", "h/__init__.py 1");
        for (files, is_same) in [
            (vec![same.clone()], true),
            (vec![same.clone(), state("x.py", "2")], true),
            (vec![state("h/__init__.py", "2")], false),
            // One that was missed is there.
            (vec![same.clone(), state("z.py", "1")], false),
            (vec![same, state("y.py", "1")], true),
        ] {
            assert_eq!(all.is_as_loaded(&files), is_same, "{files:?}");
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
