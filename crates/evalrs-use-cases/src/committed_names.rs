//! The names of committed files: each suite of a workspace has one of its own.

use crate::context::SuiteContext;
use crate::error::Error;
use evalrs_base::file_path::{join, non_empty};
use evalrs_base::file_text::FileText;
use evalrs_engine::session::Session;
use evalrs_suite::{Files, suite_name};
use evalrs_system::{FileBytes, System};

/// The longest part of a name that is the suite's, in characters.
const NAME: usize = 100;
/// How many names of files and folders are looked at: a workspace may lie in something large.
const LOOKED_AT: usize = 20_000;
/// How deep folders are looked into.
const DEPTH: usize = 12;
/// Files larger than this are not suites, in bytes.
const LARGEST: usize = 4 << 20;

/// The name of the suite's file of committed judgments. Where another suite of the workspace would have the same, both
/// have the digest of their path in it. What is to be pruned must be the suite's alone.
pub fn committed_name(
    session: &Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    prune: bool,
) -> Result<String, Error> {
    let name = session.suite().map(|suite| suite.name.clone()).unwrap_or_default();
    let path = session.root.suite(&session.db).path(&session.db);
    let path = surroundings.in_workspace(path, system);
    // What it extends is part of it.
    let parts = session.digests().into_keys().map(|part| surroundings.in_workspace(&part, system));
    let parts: Vec<String> = parts.chain([path.clone()]).collect();
    let mut search = Search { surroundings, system, left: LOOKED_AT, found: Vec::new() };
    // Without settings the folder of the suite is its workspace, and every folder below is another one's.
    let settings = system.read(&join(&surroundings.root, "evalrs.toml"));
    let has_settings = matches!(settings, FileBytes::Bytes(_));
    search.look(&surroundings.root, if has_settings { DEPTH } else { 0 });
    let plain = file_name(&name);
    let is_same = |(other, name): &(String, String)| {
        !parts.contains(other) && file_name(name).to_lowercase() == plain.to_lowercase()
    };
    let is_shared = search.found.iter().any(is_same);
    let is_outside =
        surroundings.in_workspace(&surroundings.committed_dir, system).starts_with('/');
    if prune && !is_shared && (search.left == 0 || is_outside) {
        let message = "another suite may keep judgments in the same file, so nothing is dropped";
        return Err(Error::plain(message, "write to a separate file with `-o FILE`"));
    }
    let name = if is_shared { with_path(&plain, &path) } else { plain };
    Ok(format!("{name}.judgments.jsonl"))
}

/// A name that only the suite at `path` has.
pub fn with_path(plain: &str, path: &str) -> String {
    format!("{plain}-{}", &blake3::hash(path.as_bytes()).to_hex()[..8])
}

/// A suite's name as the name of a file.
pub fn file_name(name: &str) -> String {
    let harmless =
        |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let plain: String = name.chars().map(harmless).collect();
    if plain.chars().count() <= NAME && plain.len() <= 2 * NAME {
        return plain;
    }
    // Longer ones no file system takes.
    let start: String = plain.chars().take(NAME / 2).collect();
    format!("{start}-{}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}

/// The suites of a workspace.
struct Search<'a> {
    surroundings: &'a SuiteContext,
    system: &'a dyn System,
    /// How many names are looked at yet.
    left: usize,
    /// Path and name of each suite.
    found: Vec<(String, String)>,
}

impl Search<'_> {
    fn look(&mut self, folder: &str, depth: usize) {
        let names = self.system.list(non_empty(folder)).unwrap_or_default();
        // That is another workspace.
        if folder != self.surroundings.root && names.iter().any(|name| name == "evalrs.toml") {
            return;
        }
        for name in names {
            let Some(left) = self.left.checked_sub(1) else { return };
            self.left = left;
            let path = join(folder, &name);
            let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
            if matches!(ending.as_str(), "yaml" | "yml") {
                if let Some(name) = suite_name(&path, self) {
                    self.found.push((self.surroundings.in_workspace(&path, self.system), name));
                }
            } else if depth > 0 && is_looked_into(&name) {
                self.look(&path, depth - 1);
            }
        }
    }
}

/// Whether a folder of this name may hold suites: not what tools fill.
fn is_looked_into(name: &str) -> bool {
    !name.starts_with('.') && !matches!(name, "node_modules" | "target" | "__pycache__" | "venv")
}

impl Files for Search<'_> {
    fn text(&self, path: &str) -> FileText {
        let bytes = self.system.read(path).into_bytes().ok();
        let bytes = bytes.filter(|bytes| bytes.len() <= LARGEST);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.map_or(FileText::Missing, |text| FileText::Text(text.into()))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.surroundings.environment.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_suites_are_names_of_files() {
        for (name, expected) in
            [("s", "s"), ("in use", "in-use"), ("../a/b", "..-a-b"), ("é", "é"), ("", "")]
        {
            assert_eq!(file_name(name), expected);
        }
        let [left, right] = ["x", "y"].map(|end| file_name(&("é".repeat(300) + end)));
        assert!(left != right && left.len() < 200, "{left} {right}");
    }
}
