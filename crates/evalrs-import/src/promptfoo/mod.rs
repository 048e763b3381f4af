//! Configurations and results of promptfoo.
//!
//! A configuration becomes a suite whose rows are its tests with each prompt; results become rows with what was answered and
//! what promptfoo said of it. Templates are rendered here, so that rows say plainly what is asked and looked for.

mod assertions;
mod case;
mod code;
mod components;
mod config;
mod config_reader;
mod csv_cases;
mod database;
mod files;
mod judged;
mod kinds;
mod mapped_assertion;
mod prompts;
mod providers;
mod regex;
mod results;
mod rows;
mod suite;
mod template;
mod trajectory;
#[cfg(test)]
mod tests;
mod vars;

use super::imported::{ImportError, ImportedSource};
use super::source::ImportSource;
use config_reader::ConfigReader;
use evalrs_base::file_path::folder_of;
use files::{ConfigFiles, is_javascript};
use suite::{SuiteBuilder, name_of};

/// The names of its configurations, those that are read first.
const CONFIGS: [&str; 6] = [
    "promptfooconfig.yaml",
    "promptfooconfig.yml",
    "promptfooconfig.json",
    "promptfooconfig.js",
    "promptfooconfig.mjs",
    "promptfooconfig.ts",
];

/// Whether a source is promptfoo's.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    if source.is_folder() {
        return file_in(source).is_some();
    }
    let name = source.path.rsplit('/').next().unwrap_or_default();
    // A database may be larger than what is read of a source.
    if name.starts_with("promptfooconfig.") || name == database::FILE {
        return true;
    }
    if database::recognizes(source.head()) {
        return true;
    }
    let head = String::from_utf8_lossy(source.head());
    results::recognizes(&head) || is_config(&head)
}

/// The configuration in a folder, or the database of promptfoo's own.
fn file_in(source: &ImportSource<'_>) -> Option<String> {
    let names = source.list(&source.path)?;
    let mut known = CONFIGS.iter().chain([&database::FILE]);
    let found = known.find(|known| names.iter().any(|name| name == *known))?;
    Some(source.beside(found))
}

/// Whether a text has the sections of a configuration at its outermost level.
fn is_config(text: &str) -> bool {
    if text.contains("promptfoo.dev/config-schema.json") {
        return true;
    }
    let has = |name: &str| {
        text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
            || text.contains(&format!("\"{name}\":"))
    };
    let sections = ["prompts", "providers", "targets", "tests", "defaultTest", "scenarios"];
    has("prompts") && sections[1..].iter().filter(|name| has(name)).count() >= 2
        || has("providers") && (has("tests") || has("scenarios"))
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let path = if source.is_folder() {
        file_in(source).ok_or_else(|| {
            let folder = &source.path;
            ImportError::unreadable(
                format!("`{folder}` has neither a configuration nor a database of promptfoo"),
                format!("its name is {}", CONFIGS[..3].join(", ")),
            )
        })?
    } else {
        source.path.clone()
    };
    if is_javascript(&path) {
        let message = format!("`{path}` is a program, which is not run");
        let hint = "write it as YAML, or import its results: `promptfoo eval -o results.json`";
        return Err(ImportError::unreadable(message, hint));
    }
    if files::ending(&path) == "db" || database::recognizes(source.head()) {
        return database::import(&path, source);
    }
    let unreadable = |why: String| {
        ImportError::unread(&path, why, "name a configuration or results of promptfoo")
    };
    let text = source.text(&path).map_err(unreadable)?;
    if results::recognizes(&text) {
        return results::import(&path, &text, source);
    }
    let files = ConfigFiles::new(source, folder_of(&path));
    let root = files.parsed(&path, &text).map_err(ImportError::Diagnostics)?;
    if root.entries().is_empty() {
        return Err(unreadable("it is not a mapping".to_owned()));
    }
    let mut reader = ConfigReader::new(&root, &files);
    let config = reader.read();
    for provider in &config.providers {
        providers::note_secrets(&provider.config, &provider.place, source);
    }
    let name = name_of(&path, config.description.as_deref());
    let builder = SuiteBuilder::new(&files, reader.imported);
    Ok(rows::suites(&config, &name, builder))
}
