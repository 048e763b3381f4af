//! The files of a configuration: YAML and JSON with the lines of their values, paths and patterns from its folder.

use std::cell::RefCell;

use serde_json::Value;

use crate::imported::SourcePlace;
use crate::source::ImportSource;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::join;
use evalrs_base::yaml::source::Sources;
use evalrs_base::yaml::tree::{self, YamlNode};
use evalrs_system::glob;

/// How deep files may name files.
const MAX_DEPTH: usize = 16;

/// A reader of what a configuration names.
pub(super) struct ConfigFiles<'a> {
    source: &'a ImportSource<'a>,
    /// The folder that paths start from.
    pub folder: String,
    sources: RefCell<Sources>,
    depth: RefCell<usize>,
}

impl<'a> ConfigFiles<'a> {
    pub(super) fn new(source: &'a ImportSource<'a>, folder: &str) -> Self {
        Self {
            source,
            folder: folder.to_owned(),
            sources: RefCell::default(),
            depth: RefCell::default(),
        }
    }

    /// The path of a reference: `file://a/b.txt` from the configuration's folder.
    pub(super) fn path(&self, reference: &str) -> String {
        join(&self.folder, relative(reference))
    }

    /// The text of a file by its reference.
    pub(super) fn text(&self, reference: &str) -> Result<String, String> {
        self.source.text(&self.path(reference))
    }

    /// The tree of a YAML or JSON file by its reference.
    pub(super) fn tree(&self, reference: &str) -> Result<YamlNode, String> {
        let path = self.path(reference);
        let text = self.source.text(&path)?;
        self.parsed(&path, &text).map_err(|diagnostics| {
            let first = diagnostics.first();
            first.map_or_else(|| "it is not YAML".to_owned(), |first| first.message.clone())
        })
    }

    /// The tree of a text from the file at `path`.
    pub(super) fn parsed(&self, path: &str, text: &str) -> Result<YamlNode, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let mut sources = self.sources.borrow_mut();
        let tree = tree::parse(path, text, &mut sources, &mut diagnostics);
        tree.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)).ok_or(diagnostics)
    }

    /// The place of a value.
    pub(super) fn place(&self, node: &YamlNode) -> SourcePlace {
        let place = self.sources.borrow().place(node.span);
        SourcePlace::new(place.path, place.line)
    }

    /// Reads what a file names, unless files name each other in a circle.
    pub(super) fn nested<T>(&self, read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        if *self.depth.borrow() >= MAX_DEPTH {
            return Err(format!("files name files more than {MAX_DEPTH} deep"));
        }
        *self.depth.borrow_mut() += 1;
        let read = read();
        *self.depth.borrow_mut() -= 1;
        read
    }

    /// The files that match a path or pattern, as references from the configuration's folder, sorted.
    pub(super) fn matching(&self, reference: &str) -> Vec<String> {
        let pattern = relative(reference);
        if !is_pattern(pattern) {
            let exists = self.source.bytes(&self.path(pattern)).is_ok();
            return exists.then(|| pattern.to_owned()).into_iter().collect();
        }
        let list = |folder: &str| self.source.list(&join(&self.folder, folder));
        glob::expand(&[pattern.trim_start_matches("./").to_owned()], &list).files
    }

    /// Why a path or pattern matches no file.
    pub(super) fn why_none(&self, reference: &str) -> String {
        let pattern = relative(reference);
        let read = if is_pattern(pattern) {
            Ok(Vec::new())
        } else {
            self.source.bytes(&self.path(pattern))
        };
        read.err().unwrap_or_else(|| "no readable file matches".to_owned())
    }

    /// Whether a text holds a live key.
    pub(super) fn holds_secret(&self, text: &str) -> bool {
        self.source.holds_secret(text)
    }
}

/// A reference without its scheme.
pub(super) fn relative(reference: &str) -> &str {
    let path = reference.strip_prefix("file://").unwrap_or(reference);
    path.strip_prefix("./").unwrap_or(path)
}

/// Whether a path has wildcards.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The ending of a path, in lower case.
pub(super) fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

/// The path and the function of `path/file.py:function`.
pub(super) fn path_and_function(reference: &str) -> (String, Option<String>) {
    match reference.rsplit_once(':') {
        Some((path, function)) if path.len() > 1 && !function.contains('/') => {
            (path.to_owned(), Some(function.to_owned()))
        }
        _ => (reference.to_owned(), None),
    }
}

/// Whether a path is one of JavaScript or TypeScript.
pub(super) fn is_javascript(path: &str) -> bool {
    matches!(ending(path).as_str(), "js" | "cjs" | "mjs" | "ts" | "cts" | "mts")
}

/// A value that JavaScript would write into a text.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number_text(number),
        Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Bool(value) => value.to_string(),
    }
}

/// A number as JavaScript writes it: `1` of 1.0.
pub(super) fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value)
            if !number.is_i64()
                && !number.is_u64()
                && value.fract() == 0.0
                && value.abs() < 1e21 =>
        {
            format!("{value:.0}")
        }
        _ => number.to_string(),
    }
}
