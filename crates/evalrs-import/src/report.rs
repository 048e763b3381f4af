//! What is said of an import: `IMPORT.md` for people, one object for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::imported::ImportedSource;
use super::reading::text_at;
use super::secrets::SecretFindings;
use evalrs_base::text::count;
use evalrs_eval::dataset::split::split;
use evalrs_model::spec::DatasetFormat;

/// The name of the report.
pub(crate) const REPORT: &str = "IMPORT.md";

/// What is said where there is nothing to run.
pub const NO_SUITE: &str = "no suite was made: nothing in it can be run";

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
    parts: BTreeMap<String, PartCounts>,
    not_mapped: Vec<ReportedPart>,
    secrets: Vec<ReportedSecret>,
    notes: Vec<String>,
    /// Commands to go on with.
    next: Vec<String>,
}

/// A suite that was written.
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

/// A part that did not map.
#[derive(Clone, Debug, Serialize)]
struct ReportedPart {
    part: &'static str,
    file: String,
    line: usize,
    what: String,
    reason: String,
}

/// A key that was left out.
#[derive(Clone, Debug, Serialize)]
struct ReportedSecret {
    file: String,
    line: usize,
    what: String,
}

impl SourceReport {
    /// The account of what the importer `kind` made of `source` for `folder`.
    pub fn new(kind: &str, source: &str, folder: &str, imported: &ImportedSource) -> Self {
        let mut parts: BTreeMap<String, PartCounts> = BTreeMap::new();
        for (part, mapped) in &imported.mapped {
            parts.entry((*part).to_owned()).or_default().mapped += mapped;
        }
        for left_out in &imported.not_mapped {
            parts.entry(left_out.part.to_owned()).or_default().not_mapped += 1;
        }
        let not_mapped = imported.not_mapped.iter().map(|left_out| ReportedPart {
            part: left_out.part,
            file: left_out.place.file.clone(),
            line: left_out.place.line,
            what: left_out.what.clone(),
            reason: left_out.reason.clone(),
        });
        Self {
            format: 1,
            kind: kind.to_owned(),
            source: source.to_owned(),
            folder: folder.to_owned(),
            suites: suites(imported),
            parts,
            not_mapped: not_mapped.collect(),
            secrets: Vec::new(),
            notes: imported.notes.clone(),
            next: next(folder, imported),
        }
    }

    /// Names the keys that were left out, and takes them out of what is told.
    pub(crate) fn leave_out_keys(&mut self, secrets: &SecretFindings) {
        let told = |text: &mut String| *text = secrets.take_out(std::mem::take(text));
        for part in &mut self.not_mapped {
            told(&mut part.what);
            told(&mut part.reason);
        }
        self.notes.iter_mut().for_each(told);
        let found = secrets.found().into_iter().map(|secret| ReportedSecret {
            file: secret.place.file,
            line: secret.place.line,
            what: secret.what,
        });
        self.secrets = found.collect();
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
        let mut text = String::new();
        let written = self.write_markdown(&mut text);
        debug_assert!(written.is_ok(), "a text takes everything");
        text
    }

    fn write_markdown(&self, to: &mut String) -> std::fmt::Result {
        writeln!(to, "# Imported from {}\n\nSource: {}\n", self.kind, code(&self.source))?;
        writeln!(
            to,
            "| suite | rows | recorded outputs | labels | graders |\n|---|--:|--:|--:|--:|"
        )?;
        for suite in &self.suites {
            let ReportedSuite { file, rows, outputs, labels, graders } = suite;
            writeln!(to, "| {} | {rows} | {outputs} | {labels} | {graders} |", code(file))?;
        }
        writeln!(to, "\n| part | mapped | not mapped |\n|---|--:|--:|")?;
        for (part, counts) in &self.parts {
            writeln!(to, "| {part} | {} | {} |", counts.mapped, counts.not_mapped)?;
        }
        if !self.notes.is_empty() {
            writeln!(to, "\n## To know\n")?;
            self.notes.iter().try_for_each(|note| writeln!(to, "- {}", line(note)))?;
        }
        writeln!(to, "\n## Not mapped\n")?;
        if self.not_mapped.is_empty() {
            writeln!(to, "Everything was mapped.")?;
        } else {
            writeln!(to, "| where | what | why |\n|---|---|---|")?;
        }
        for ReportedPart { file, line, what, reason, .. } in &self.not_mapped {
            writeln!(to, "| {} | {} | {} |", place(file, *line), cell(what), cell(reason))?;
        }
        if !self.secrets.is_empty() {
            writeln!(to, "\n## Keys that were left out\n")?;
            writeln!(
                to,
                "They are nowhere in this folder. Name the variable of the environment that holds one, and change a key that was committed.\n"
            )?;
        }
        for ReportedSecret { file, line, what } in &self.secrets {
            writeln!(to, "- {}: {what}", place(file, *line))?;
        }
        if self.next.is_empty() {
            return Ok(());
        }
        writeln!(to, "\n## Next\n\n```sh")?;
        self.next.iter().try_for_each(|command| writeln!(to, "{command}"))?;
        writeln!(to, "```")
    }

    /// What stands on the terminal.
    pub fn summary(&self) -> String {
        let mut lines =
            vec![format!("imported {} ({}) into {}", self.source, self.kind, self.folder)];
        for ReportedSuite { file, rows, graders, .. } in &self.suites {
            lines.push(format!("  {file}: {}, {}", count(*rows, "row"), count(*graders, "grader")));
        }
        for (part, PartCounts { mapped, not_mapped }) in &self.parts {
            lines.push(format!("  {part}: {mapped} mapped, {not_mapped} not mapped"));
        }
        for ReportedSecret { file, line, what } in &self.secrets {
            lines.push(format!("  left out, a secret: {}: {what}", place_text(file, *line)));
        }
        let told = if self.not_mapped.is_empty() {
            "all of it mapped"
        } else {
            "what did not map, and why"
        };
        lines.push(format!("{told}: {}", self.path()));
        if self.suites.is_empty() {
            lines.push(NO_SUITE.to_owned());
        } else {
            lines.push("\nnext:".to_owned());
        }
        lines.extend(self.next.iter().map(|command| format!("  {command}")));
        lines.join("\n")
    }
}

fn suites(imported: &ImportedSource) -> Vec<ReportedSuite> {
    let reported = imported.suites.iter().map(|suite| ReportedSuite {
        file: format!("{}.yaml", suite.file),
        rows: suite.rows.len() + copied_rows(&suite.suite, imported),
        outputs: suite.outputs.len(),
        labels: suite.labels.len(),
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

fn place_text(file: &str, line: usize) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}

fn place(file: &str, line: usize) -> String {
    code(&place_text(file, line))
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
