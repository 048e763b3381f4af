//! The report of an import: `IMPORT.md` for people, one object for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::imported::{ImportedSource, NotMapped};
use super::reading::text_at;
use super::secrets::{FoundSecret, SecretFindings};
use evalrs_base::text::count;
use evalrs_eval::dataset::split::split;
use evalrs_model::spec::DatasetFormat;

/// The name of the report.
pub const REPORT: &str = "IMPORT.md";

/// The message if no suite can be run.
pub const NO_SUITE: &str = "no suite was made: no part of it can run";

/// An account of an import.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// The version of this form.
    format: u32,
    kind: String,
    source: String,
    folder: String,
    suites: Vec<ReportedSuite>,
    /// By the kind of part: `assertions`, `providers`.
    parts: BTreeMap<&'static str, PartCounts>,
    not_mapped: Vec<NotMapped>,
    secrets: Vec<FoundSecret>,
    notes: Vec<String>,
    /// Commands to go on with.
    next: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ReportedSuite {
    file: String,
    rows: usize,
    outputs: usize,
    labels: usize,
    graders: usize,
}

/// How many parts of a kind mapped.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct PartCounts {
    mapped: usize,
    not_mapped: usize,
}

impl SourceReport {
    /// The account of what the importer `kind` made of `source` for `folder`.
    pub fn new(kind: &str, source: &str, folder: &str, imported: &ImportedSource) -> Self {
        let mut parts: BTreeMap<&'static str, PartCounts> = BTreeMap::new();
        for (part, mapped) in &imported.mapped {
            parts.entry(part).or_default().mapped += mapped;
        }
        for left_out in &imported.not_mapped {
            parts.entry(left_out.part).or_default().not_mapped += 1;
        }
        Self {
            format: 1,
            kind: kind.to_owned(),
            source: source.to_owned(),
            folder: folder.to_owned(),
            suites: suites(imported),
            parts,
            not_mapped: imported.not_mapped.clone(),
            secrets: Vec::new(),
            notes: imported.notes.clone(),
            next: next(folder, imported),
        }
    }

    /// Names the removed keys, and removes them from the report.
    pub(crate) fn leave_out_keys(&mut self, secrets: &SecretFindings) {
        let told = |text: &mut String| *text = secrets.take_out(std::mem::take(text));
        for part in &mut self.not_mapped {
            told(&mut part.what);
            told(&mut part.reason);
        }
        self.notes.iter_mut().for_each(told);
        self.secrets = secrets.found();
    }

    /// Whether there is a suite.
    pub fn has_suites(&self) -> bool {
        !self.suites.is_empty()
    }

    /// Where `IMPORT.md` is.
    pub fn path(&self) -> String {
        format!("{}/{REPORT}", self.folder.trim_end_matches('/'))
    }

    /// `IMPORT.md`.
    pub fn markdown(&self) -> String {
        let mut lines = vec![
            format!("# Imported from {}\n\nSource: {}\n", self.kind, code(&self.source)),
            "| suite | rows | recorded outputs | labels | graders |\n|---|--:|--:|--:|--:|"
                .to_owned(),
        ];
        for ReportedSuite { file, rows, outputs, labels, graders } in &self.suites {
            lines.push(format!("| {} | {rows} | {outputs} | {labels} | {graders} |", code(file)));
        }
        lines.push("\n| part | mapped | not mapped |\n|---|--:|--:|".to_owned());
        for (part, PartCounts { mapped, not_mapped }) in &self.parts {
            lines.push(format!("| {part} | {mapped} | {not_mapped} |"));
        }
        if !self.notes.is_empty() {
            lines.push("\n## To know\n".to_owned());
        }
        lines.extend(self.notes.iter().map(|note| format!("- {}", line(note))));
        lines.push("\n## Not mapped\n".to_owned());
        let is_whole = self.not_mapped.is_empty();
        let head = "| where | what | why |\n|---|---|---|";
        lines.push(if is_whole { "Everything was mapped." } else { head }.to_owned());
        for NotMapped { place, what, reason, .. } in &self.not_mapped {
            let place = code(&place.to_string());
            lines.push(format!("| {place} | {} | {} |", cell(what), cell(reason)));
        }
        if !self.secrets.is_empty() {
            lines.push("\n## Keys that were removed\n\nNo file of this folder contains them. Name the environment variable of each, and rotate any key that was ever committed.\n".to_owned());
        }
        for FoundSecret { place, what } in &self.secrets {
            lines.push(format!("- {}: {what}", code(&place.to_string())));
        }
        if !self.next.is_empty() {
            lines.push(format!("\n## Next\n\n```sh\n{}\n```", self.next.join("\n")));
        }
        lines.join("\n") + "\n"
    }

    /// The summary on the terminal.
    pub fn summary(&self) -> String {
        let mut lines =
            vec![format!("imported {} ({}) into {}", self.source, self.kind, self.folder)];
        for ReportedSuite { file, rows, graders, .. } in &self.suites {
            lines.push(format!("  {file}: {}, {}", count(*rows, "row"), count(*graders, "grader")));
        }
        for (part, PartCounts { mapped, not_mapped }) in &self.parts {
            lines.push(format!("  {part}: {mapped} mapped, {not_mapped} not mapped"));
        }
        for FoundSecret { place, what } in &self.secrets {
            lines.push(format!("  removed a secret: {place}: {what}"));
        }
        let is_whole = self.not_mapped.is_empty();
        let told = if is_whole { "everything mapped" } else { "not mapped, with reasons" };
        lines.push(format!("{told}: {}", self.path()));
        lines.push(if self.suites.is_empty() { NO_SUITE } else { "\nnext:" }.to_owned());
        lines.extend(self.next.iter().map(|command| format!("  {command}")));
        lines.join("\n")
    }
}

fn suites(imported: &ImportedSource) -> Vec<ReportedSuite> {
    let reported = imported.suites.iter().map(|suite| ReportedSuite {
        file: format!("{}.yaml", suite.file),
        rows: suite.rows.len() + copied_rows(&suite.suite, imported) + imported.referenced,
        // What was recorded and what people said stand in the rows.
        outputs: 0,
        labels: 0,
        graders: suite.suite["graders"].as_object().map_or(0, serde_json::Map::len),
    });
    reported.collect()
}

/// The rows of a dataset that is copied as it was.
fn copied_rows(suite: &Value, imported: &ImportedSource) -> usize {
    let Some(path) = text_at(suite, &["/dataset/path", "/dataset"]) else { return 0 };
    let copy = imported.files.iter().find(|file| file.path == path);
    copy.zip(DatasetFormat::of_name(path))
        .and_then(|(copy, format)| split(path, &copy.text, format).ok())
        .map_or(0, |rows| rows.len())
}

fn next(folder: &str, imported: &ImportedSource) -> Vec<String> {
    if imported.suites.is_empty() {
        return Vec::new();
    }
    let mut next = vec![format!("cd {folder}")];
    for suite in &imported.suites {
        for command in ["validate", "plan", "run"] {
            next.push(format!("evalrs {command} {}.yaml", suite.file));
        }
    }
    next
}

/// A text on one line that is not read as Markdown.
fn code(text: &str) -> String {
    format!("`{}`", line(text).replace('`', "'").replace('|', "\\|"))
}

fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

/// A text on one line.
fn line(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.collect::<String>().replace('<', "&lt;")
}
