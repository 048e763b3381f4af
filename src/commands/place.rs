//! Where a suite's workspace, store and settings are.

use std::collections::BTreeMap;

use super::Console;
use crate::error::Error;
use crate::store::{Committed, Layered, OutcomeStore, SegmentStore};
use crate::system::{FileBytes, System, folder_of, join};
use crate::workspace::{Workspace, read_workspace};

/// What surrounds a suite.
#[derive(Debug)]
pub struct Surroundings {
    /// The root of the workspace: the nearest folder upwards with an `evalrs.toml`, else the suite's folder.
    pub root: String,
    /// What `evalrs.toml` says.
    pub workspace: Workspace,
    /// The folder of the store.
    pub cache_dir: String,
    /// The environment, with what `.env` files add to it.
    pub environment: BTreeMap<String, String>,
}

impl Surroundings {
    /// Finds what surrounds the suite at `suite`.
    pub fn find(suite: &str, cache_dir: Option<&str>, system: &dyn System) -> Result<Self, Error> {
        let folder = folder_of(suite);
        let (root, workspace) = workspace_of(folder, system)?;
        let cache_dir = match (cache_dir, &workspace.cache_dir) {
            (Some(said), _) => said.to_owned(),
            (None, Some(said)) => join(&root, said),
            (None, None) => join(&root, "cache"),
        };
        let environment = environment(folder, system)?;
        Ok(Self { root, workspace, cache_dir, environment })
    }

    /// The store, over the judgments committed beside it.
    pub fn store(&self, console: &mut Console<'_>) -> Result<Box<dyn OutcomeStore>, Error> {
        let mut committed = Committed::default();
        for path in committed_files(&self.cache_dir, console.system) {
            match console.system.read(&path).into_bytes() {
                Ok(bytes) => committed.add(&path, &bytes),
                Err(reason) => writeln!(
                    console.err,
                    "warning: cannot read the judgments in `{path}`: {reason}"
                )?,
            }
        }
        let segments = SegmentStore::open(&self.cache_dir);
        Ok(Box::new(Layered::new(Box::new(segments), committed)))
    }
}

/// The files of committed judgments in the folder of a store, sorted.
pub fn committed_files(dir: &str, system: &dyn System) -> Vec<String> {
    let names = system.list(dir).unwrap_or_default().into_iter();
    names.filter(|name| name.ends_with(".judgments.jsonl")).map(|name| join(dir, &name)).collect()
}

fn workspace_of(folder: &str, system: &dyn System) -> Result<(String, Workspace), Error> {
    let mut candidate = system.absolute(if folder.is_empty() { "." } else { folder });
    let mut shown = folder.to_owned();
    loop {
        let path = join(&shown, "evalrs.toml");
        if let FileBytes::Bytes(bytes) = system.read(&join(&candidate, "evalrs.toml")) {
            let text = String::from_utf8_lossy(&bytes);
            let (workspace, diagnostics) = read_workspace(&path, &text);
            if diagnostics.iter().any(crate::diagnostic::Diagnostic::is_error) {
                return Err(Error::Diagnostics(diagnostics));
            }
            return Ok((shown, workspace));
        }
        let parent = folder_of(&candidate).to_owned();
        if parent == candidate || parent.is_empty() {
            return Ok((folder.to_owned(), Workspace::default()));
        }
        shown = shorter(&shown, &parent);
        candidate = parent;
    }
}

/// The folder above `shown`: relative as long as it can be, so that messages stay short.
fn shorter(shown: &str, absolute: &str) -> String {
    match shown.trim_end_matches("/.") {
        "" | "." => absolute.to_owned(),
        shown if shown.starts_with('/') || shown.contains("..") => absolute.to_owned(),
        shown => folder_of(shown).to_owned(),
    }
}

/// The process's environment, then `.env` beside the suite, then `.env` in the working directory.
fn environment(folder: &str, system: &dyn System) -> Result<BTreeMap<String, String>, Error> {
    let mut environment = system.environment();
    let beside = join(folder, ".env");
    let mut paths = vec![beside.as_str()];
    if beside != ".env" {
        paths.push(".env");
    }
    for path in paths {
        let FileBytes::Bytes(bytes) = system.read(path) else { continue };
        for item in dotenvy::from_read_iter(bytes.as_slice()) {
            // The error of the parser quotes the line, which may hold a secret.
            let (name, value) = item.map_err(|_| {
                Error::plain(
                    format!("`{path}` holds a line that is no `NAME=value`"),
                    "quote values that contain spaces or `#`",
                )
            })?;
            environment.entry(name).or_insert(value);
        }
    }
    Ok(environment)
}
