//! Finds the files of a dataset: those of a pattern, a folder or an archive, in the order of their paths.
//!
//! Folders are listed through the trace, which so knows what would bring a further file: a new one in any of them is seen.

use std::collections::BTreeMap;

use super::files_read::ReadTrace;
use evalrs_base::archive::Archive;
use evalrs_base::compression::{MAX_UNPACKED, unpacked_within};
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::dataset::files::format_of;
use evalrs_model::spec::{DatasetSpec, SampleUnit};
use evalrs_suite::is_archive;
use evalrs_system::glob::{GlobLimits, braces, expand_within};

/// The most files of a dataset, and the most folders that are looked into for them.
const LIMITS: GlobLimits = GlobLimits { files: 100_000, folders: 200_000 };

/// A file of a dataset of several.
#[derive(Debug)]
pub(crate) struct FoundFile {
    /// As messages name it.
    pub shown: String,
    /// Its path below the folder that the dataset's path begins with.
    pub name: String,
    /// How many parts of that are the folder which is its sample, where one is.
    pub depth: usize,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct FoundFiles {
    pub files: Vec<FoundFile>,
    /// The name of the folder that the dataset's path begins with.
    pub root: String,
}

/// Where the path of a dataset leads: the folder it begins with, and patterns below that.
#[derive(Debug, PartialEq, Eq)]
struct PathPattern {
    folder: String,
    /// Of files; one of archives if there is a `member`.
    pattern: String,
    /// Of the members of archives.
    member: Option<String>,
}

/// The files of `dataset`; none if its path is one file that is not an archive, or nothing at all.
pub(crate) fn find(
    dataset: &DatasetSpec,
    trace: &ReadTrace<'_>,
) -> Result<Option<FoundFiles>, String> {
    let Some(pattern) = pattern_of(dataset, trace) else { return Ok(None) };
    let list = |folder: &str| trace.list(non_empty(&join(&pattern.folder, folder)));
    let files = matching(&pattern.pattern, &list)?;
    let mut reader =
        FileReader { dataset, trace, left: MAX_UNPACKED, files: Vec::new(), skipped: Vec::new() };
    for (name, depth) in files {
        let path = join(&pattern.folder, &name);
        match (&pattern.member, is_archive(&name)) {
            (member, true) => reader.archive(&path, &name, member.as_deref())?,
            (None, false) => reader.file(path, name, depth)?,
            (Some(_), false) => {}
        }
    }
    if reader.files.is_empty() {
        return Err(reader.nothing(&pattern));
    }
    let root = pattern.folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let root = if matches!(root, "." | "..") { "" } else { root };
    Ok(Some(FoundFiles { files: reader.files, root: root.to_owned() }))
}

/// The pattern that the path of a dataset is; none if it is one file.
fn pattern_of(dataset: &DatasetSpec, trace: &ReadTrace<'_>) -> Option<PathPattern> {
    let (folder, written) = dataset.path.split_at(dataset.folder.min(dataset.path.len()));
    let is_pattern = |part: &str| part.contains(['*', '?', '[', '{']);
    if !written.split('/').any(|part| is_pattern(part) || is_archive(part)) {
        trace.list(non_empty(&dataset.path))?;
        let folder = dataset.path.trim_end_matches('/').to_owned();
        let pattern = if dataset.sample == SampleUnit::Folder { "*/**" } else { "**" };
        return Some(PathPattern { folder, pattern: pattern.to_owned(), member: None });
    }
    // A file may have the name of a pattern.
    if dataset.sample != SampleUnit::Folder && !is_archive(written) && trace.is_file(&dataset.path)
    {
        return None;
    }
    let parts: Vec<&str> = written.split('/').collect();
    let fixed = parts.iter().take_while(|part| !is_pattern(part) && !is_archive(part)).count();
    let archive = parts.iter().position(|part| is_archive(part)).map(|at| at + 1);
    let end = archive.filter(|end| *end < parts.len()).unwrap_or(parts.len());
    let member = parts[end..].join("/");
    Some(PathPattern {
        folder: format!("{folder}{}", parts[..fixed].join("/")),
        pattern: parts[fixed..end].join("/"),
        member: (!member.is_empty()).then_some(member),
    })
}

/// The files that a pattern matches, each with the number of parts of its path that are the folder of its sample.
fn matching(
    pattern: &str,
    list: &dyn Fn(&str) -> Option<Vec<String>>,
) -> Result<BTreeMap<String, usize>, String> {
    let mut found = BTreeMap::new();
    let plain = braces(pattern).ok_or("it expands to too many patterns")?;
    for pattern in plain {
        let expanded = expand_within(std::slice::from_ref(&pattern), list, LIMITS);
        if let Some(problem) = expanded.problem {
            return Err(format!("{problem}; circular links can cause this too"));
        }
        for name in expanded.files {
            let depth = sample_depth(&pattern, &name);
            found.entry(name).or_insert(depth);
        }
    }
    if found.len() > LIMITS.files {
        return Err(format!("it matches more than {} files", LIMITS.files));
    }
    Ok(found)
}

/// How many parts of `name` are the folder of its sample: those up to the last folder with a wildcard, but for a `**` that
/// ends the pattern.
fn sample_depth(pattern: &str, name: &str) -> usize {
    let parts: Vec<&str> = pattern.split('/').collect();
    let folders = name.split('/').count() - 1;
    let ends_deep = parts.last() == Some(&"**");
    let above = &parts[..parts.len() - 1];
    if ends_deep && !above.contains(&"**") {
        return above.len().min(folders);
    }
    let fixed = above.iter().rev().take_while(|part| !part.contains(['*', '?', '['])).count();
    if fixed == above.len() { folders } else { folders.saturating_sub(fixed) }
}

struct FileReader<'a> {
    dataset: &'a DatasetSpec,
    trace: &'a ReadTrace<'a>,
    /// How many bytes may still be taken out of archives and compressed files.
    left: usize,
    files: Vec<FoundFile>,
    /// Some names that show no format.
    skipped: Vec<String>,
}

impl FileReader<'_> {
    /// Whether records of a file of this name can be read; else it is none of the dataset.
    fn wants(&mut self, name: &str) -> bool {
        let is_known =
            self.dataset.sample != SampleUnit::Record || format_of(name, self.dataset).is_some();
        if !is_known && self.skipped.len() < 3 {
            self.skipped.push(name.to_owned());
        }
        is_known
    }

    fn file(&mut self, path: String, name: String, depth: usize) -> Result<(), String> {
        if self.wants(&name) {
            let read = self.trace.read(&path);
            let bytes = read.and_then(|bytes| unpacked_within(&name, bytes, &mut self.left));
            let bytes = bytes.map_err(|reason| in_file(self.dataset, &path, reason))?;
            self.files.push(FoundFile { shown: path, name, depth, bytes });
        }
        Ok(())
    }

    fn archive(&mut self, path: &str, name: &str, member: Option<&str>) -> Result<(), String> {
        let dataset = self.dataset;
        let said = |reason: String| in_file(dataset, path, reason);
        let bytes = self.trace.read(path).map_err(said)?;
        let archive = Archive::open(&bytes).map_err(said)?;
        // Inspect writes its samples so.
        let is_inspect = name.to_ascii_lowercase().ends_with(".eval");
        let default = if is_inspect { "samples/*.json" } else { "**" };
        let members =
            matching(member.unwrap_or(default), &|folder| archive.list(folder)).map_err(said)?;
        for (inside, depth) in members {
            let own = format!("{name}/{inside}");
            if !self.wants(&inside) {
                continue;
            }
            let bytes = archive.read(&inside, self.left).map_err(said)?;
            self.left -= bytes.len();
            let bytes = unpacked_within(&inside, bytes, &mut self.left).map_err(said)?;
            let depth = depth + 1 + name.matches('/').count();
            let shown = format!("{path}/{inside}");
            self.files.push(FoundFile { shown, name: own, depth, bytes });
        }
        Ok(())
    }

    /// Why no files were found.
    fn nothing(&self, pattern: &PathPattern) -> String {
        if !self.skipped.is_empty() {
            let names = self.skipped.join("`, `");
            return format!(
                "no file there has a name that shows its format, only `{names}`: set `format: json` or another format"
            );
        }
        match &pattern.member {
            Some(member) => format!("no archive there has a file `{member}`"),
            None => "no such file".to_owned(),
        }
    }
}

/// Names the file that a reason is about, where it is not the one that the suite names.
fn in_file(dataset: &DatasetSpec, path: &str, reason: String) -> String {
    if path == dataset.path { reason } else { format!("`{path}`: {reason}") }
}

#[cfg(test)]
mod tests {
    use super::sample_depth;

    #[test]
    fn a_sample_is_the_folder_of_the_last_wildcard() {
        for (pattern, name, depth) in [
            ("*/*.json", "a/x.json", 1),
            ("*/input.txt", "a/input.txt", 1),
            ("*/agent/trace.jsonl", "a/agent/trace.jsonl", 1),
            ("*/*/result.json", "m/a/result.json", 2),
            ("m-*/runs/*/agent/x.json", "m-1/runs/a/agent/x.json", 3),
            ("**/result.json", "m/a/result.json", 2),
            ("**/agent/result.json", "m/a/agent/result.json", 2),
            ("*/**", "a/agent/x.json", 1),
            ("**", "a/x.json", 0),
            ("*.json", "x.json", 0),
        ] {
            assert_eq!(sample_depth(pattern, name), depth, "{pattern}");
        }
    }
}
