//! A suite file and what it extends, as one tree.
//!
//! It knows files, trees and how they merge; what the fields mean is read elsewhere. Mappings merge key by key,
//! everything else (lists too) is replaced; every value keeps the place in the file it came from. Literal keys of
//! APIs are taken out of each file by `secrets`, before anything else can see them.

use std::sync::Arc;

use crate::fields::Field;
use crate::files::Files;
use crate::findings::Findings;
use crate::interpolate::interpolate;
use crate::secrets::{SecretScope, take_secrets};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::source::{SourceSpan, normal};
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::DatasetFormat;

/// How many files may extend one another.
const MAX_EXTENDS: usize = 16;

/// A suite that works, for those who have none.
pub(crate) const MINIMAL: &str = "a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and \
     `graders: {accuracy: {kind: tool, function: contains}}`";

/// What files were looked at while a suite was read.
#[derive(Debug, Default)]
pub(crate) struct FileLookups {
    /// Every file, in the order it was needed.
    pub files: Vec<String>,
    /// Those whose text is not known yet.
    pub unread: Vec<String>,
    /// The file that each rubric is written in, by grader.
    pub rubrics: Vec<(String, String)>,
}

impl FileLookups {
    /// The text of the file at `path`, if it is known; otherwise says why at `from`.
    pub(crate) fn text(
        &mut self,
        path: &str,
        from: Option<SourceSpan>,
        files: &dyn Files,
        findings: &Findings,
    ) -> Option<Arc<str>> {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
        let message = match files.text(path) {
            FileText::Text(text) => return Some(text),
            FileText::Unread => {
                if !self.unread.iter().any(|known| known == path) {
                    self.unread.push(path.to_owned());
                }
                return None;
            }
            FileText::NoText(diagnostic) => {
                findings.add(*diagnostic);
                return None;
            }
            FileText::Missing => format!("the file `{path}` does not exist"),
            FileText::Unreadable(why) => format!("cannot read `{path}`: {why}"),
        };
        let place = from.map_or_else(|| Place::file(path), |span| findings.place(span));
        findings.add(Diagnostic::error(place, message));
        None
    }
}

/// Reads the file at `path` and everything it extends into one tree, with every variable replaced.
pub(crate) fn load(
    path: &str,
    files: &dyn Files,
    looked: &mut FileLookups,
    findings: &Findings,
) -> Option<YamlNode> {
    let mut loader = Loader { files, looked, findings, above: Vec::new() };
    let mut root = loader.file(path, None)?;
    interpolate(&mut root, files, findings);
    Some(root)
}

struct Loader<'a> {
    files: &'a dyn Files,
    looked: &'a mut FileLookups,
    findings: &'a Findings,
    /// The files that led here, by normal path.
    above: Vec<String>,
}

/// Whether the name of a file says that it holds rows, and can be no suite.
fn holds_rows(path: &str) -> bool {
    let format = DatasetFormat::of_name(path);
    format.is_some_and(|format| !matches!(format, DatasetFormat::Yaml | DatasetFormat::Json))
}

impl Loader<'_> {
    fn file(&mut self, path: &str, from: Option<SourceSpan>) -> Option<YamlNode> {
        if holds_rows(path) {
            let hint = format!("a suite names it: {}", MINIMAL.replace("dataset.jsonl", path));
            let place = from.map_or_else(|| Place::file(path), |span| self.findings.place(span));
            let message = format!("`{path}` is a dataset, and not a suite");
            self.findings.add(Diagnostic::error(place, message).hint(hint));
            return None;
        }
        let text = self.looked.text(path, from, self.files, self.findings)?;
        let mut root = self.findings.parse(path, &text)?;
        take_secrets(&mut root, SecretScope::Suite, self.findings);
        match &root.value {
            Yaml::Map(_) => {}
            Yaml::Null => {
                let empty = Diagnostic::error(Place::file(path), "the file is empty").hint(MINIMAL);
                self.findings.add(empty);
                return None;
            }
            _ => {
                let message = format!("a suite is a mapping, not {}", root.noun());
                return self.findings.refuse(root.span, &message, MINIMAL);
            }
        }
        match take_entry(&mut root, "extends") {
            Some(extends) if extends.value.value != Yaml::Null => self.extend(path, extends, root),
            _ => Some(root),
        }
    }

    fn extend(&mut self, path: &str, mut extends: YamlEntry, over: YamlNode) -> Option<YamlNode> {
        interpolate(&mut extends.value, self.files, self.findings);
        let base = Field { entry: &extends, findings: self.findings }.path()?;
        self.above.push(normal(path));
        let span = extends.value.span;
        if self.above.contains(&normal(&base)) {
            let circle = self.above.join("` → `");
            let message = format!("this suite extends itself: `{circle}` → `{}`", normal(&base));
            return self.findings.refuse(span, &message, "");
        }
        if self.above.len() > MAX_EXTENDS {
            let message = format!("more than {MAX_EXTENDS} suites extend one another");
            return self.findings.refuse(span, &message, "");
        }
        let base = self.file(&base, Some(span))?;
        self.above.pop();
        Some(merge(base, over))
    }
}

/// `over` laid over `base`.
fn merge(base: YamlNode, over: YamlNode) -> YamlNode {
    let (mut entries, news) = match (base.value, over.value) {
        (Yaml::Map(entries), Yaml::Map(news)) => (entries, news),
        (_, value) => return YamlNode { value, ..over },
    };
    for new in news {
        match entries.iter_mut().find(|old| old.key == new.key) {
            Some(old) => {
                let nothing =
                    YamlNode { span: old.value.span, style: Style::Plain, value: Yaml::Null };
                let under = std::mem::replace(&mut old.value, nothing);
                *old = YamlEntry { value: merge(under, new.value), ..new };
            }
            None => entries.push(new),
        }
    }
    YamlNode { span: over.span, style: over.style, value: Yaml::Map(entries) }
}

fn take_entry(root: &mut YamlNode, key: &str) -> Option<YamlEntry> {
    let Yaml::Map(entries) = &mut root.value else { return None };
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at))
}
