//! The text of a rubric where it is written, and the file that has another text there.
//!
//! A rubric is a file, or a value of YAML: `prompt`, `preamble`, a criterion. A value is replaced where it stands, so that
//! comments, order and everything else of the file stay. What comes out is read again: nothing but the rubric may differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::files::Files;
use crate::findings::Findings;
use crate::interpolate::escape;
use crate::load::{FileLookups, load};
use crate::sections::rubric_file::{cut, with_line_feeds};
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::source::{SourceSpan, Sources};
use evalrs_base::yaml::tree::{self, Style, Yaml, YamlNode};
use evalrs_model::spec::rubric_of;

/// The only grader of older suites has this name.
const DEFAULT: &str = "default";
/// What some editors begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A rubric as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricInFile {
    /// The file.
    pub path: String,
    /// Its text, without front matter and without what it includes.
    pub text: String,
    /// Whether it is part of a YAML file.
    pub is_inline: bool,
    /// Whether it is a criterion's question.
    pub is_criterion: bool,
    site: RubricSite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RubricSite {
    /// All of a file but its front matter.
    File,
    /// A value of a suite, in which `${` begins a variable.
    SuiteValue(SourceSpan),
    /// A value of a file of criteria.
    Value(SourceSpan),
}

/// Why a rubric is not edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RubricProblem {
    /// No grader has the name, or it has no rubric.
    Unknown(String),
    /// It cannot be written where it stands.
    Fixed(String),
    /// The text cannot be one.
    Text(String),
}

/// The rubric of `grader` in the suite at `suite`.
pub fn written_rubric(
    suite: &str,
    grader: &str,
    files: &dyn Files,
) -> Result<RubricInFile, RubricProblem> {
    let findings = Findings::default();
    let root = load(suite, files, &mut FileLookups::default(), &findings);
    let root = root.ok_or_else(|| fixed("the suite cannot be read"))?;
    let reading = RubricReading { files, findings: &findings };
    let written = graders(&root).find(|(name, _)| *name == grader);
    if let Some((_, node)) = written {
        return reading.of_grader(grader, node);
    }
    let unknown = || RubricProblem::Unknown(format!("the suite has no grader `{grader}`"));
    let (rubric, criterion) = rubric_of(grader).ok_or_else(unknown)?;
    let (_, node) = graders(&root).find(|(name, _)| *name == rubric).ok_or_else(unknown)?;
    reading.of_criterion(node, criterion)
}

/// The files of a suite that have these rubrics, grader → text: path → what the file says then.
pub fn with_rubrics<'a>(
    suite: &str,
    rubrics: impl IntoIterator<Item = (&'a str, &'a str)>,
    files: &dyn Files,
) -> Result<BTreeMap<String, String>, RubricProblem> {
    let mut edited = EditedFiles { below: files, texts: BTreeMap::new() };
    for (grader, text) in rubrics {
        if text.trim().is_empty() {
            return Err(RubricProblem::Text("a rubric is not empty".to_owned()));
        }
        let text = &*with_line_feeds(text);
        let written = written_rubric(suite, grader, &edited)?;
        let FileText::Text(file) = edited.text(&written.path) else {
            return Err(fixed(&format!("`{}` cannot be read", written.path)));
        };
        let edit = written.file_with(&file, text)?;
        edited.texts.insert(written.path.clone(), edit);
        let now = written_rubric(suite, grader, &edited)?;
        if now.text != text {
            return Err(RubricProblem::Text(format!(
                "`{}` cannot say this text where the rubric is: edit the file",
                written.path
            )));
        }
    }
    Ok(edited.texts)
}

fn fixed(why: &str) -> RubricProblem {
    RubricProblem::Fixed(why.to_owned())
}

/// Files of which some say something else.
struct EditedFiles<'a> {
    below: &'a dyn Files,
    texts: BTreeMap<String, String>,
}

impl Files for EditedFiles<'_> {
    fn text(&self, path: &str) -> FileText {
        let own = self.texts.get(path).map(|text| FileText::Text(Arc::from(text.as_str())));
        own.unwrap_or_else(|| self.below.text(path))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.below.env(name)
    }
}

/// The graders of a suite as they are written.
fn graders(root: &YamlNode) -> impl Iterator<Item = (&str, &YamlNode)> {
    let named = root.get("graders").into_iter().flat_map(YamlNode::entries);
    let named = named.map(|entry| (entry.key.as_str(), &entry.value));
    named.chain(root.get("grader").map(|node| (DEFAULT, node)))
}

struct RubricReading<'a> {
    files: &'a dyn Files,
    findings: &'a Findings,
}

impl RubricReading<'_> {
    fn of_grader(&self, name: &str, node: &YamlNode) -> Result<RubricInFile, RubricProblem> {
        if let Some(path) = node.get("prompt_path") {
            return self.of_file(path);
        }
        if node.get("builtin").is_some() {
            return Err(fixed("the rubric is built-in: copy it into the suite to edit it"));
        }
        let Some(value) = node.get("prompt").or_else(|| node.get("preamble")) else {
            let has_criteria = node.get("criteria").is_some();
            let why = if has_criteria { ": its criteria have" } else { "" };
            return Err(RubricProblem::Unknown(format!("`{name}` has no rubric{why}")));
        };
        self.value(value, RubricSite::SuiteValue(value.span))
    }

    fn of_file(&self, named: &YamlNode) -> Result<RubricInFile, RubricProblem> {
        let path = self.path(named)?;
        let FileText::Text(file) = self.files.text(&path) else {
            return Err(fixed(&format!("`{path}` cannot be read")));
        };
        let file = with_line_feeds(file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&file));
        let (_, text) = cut(&file).ok_or_else(|| fixed("its front matter is never closed"))?;
        let text = text.to_owned();
        let site = RubricSite::File;
        Ok(RubricInFile { path, text, is_inline: false, is_criterion: false, site })
    }

    fn of_criterion(&self, node: &YamlNode, name: &str) -> Result<RubricInFile, RubricProblem> {
        let Some(criteria) = node.get("criteria") else {
            return Err(fixed("the criteria are built-in: copy them into the suite to edit them"));
        };
        let is_of_suite = criteria.text().is_none();
        let of_file;
        let criteria = if is_of_suite {
            criteria
        } else {
            let path = self.path(criteria)?;
            let FileText::Text(text) = self.files.text(&path) else {
                return Err(fixed(&format!("`{path}` cannot be read")));
            };
            of_file = self.findings.parse(&path, &text);
            of_file.as_ref().ok_or_else(|| fixed(&format!("`{path}` cannot be read")))?
        };
        let unknown = || RubricProblem::Unknown(format!("the rubric has no criterion `{name}`"));
        let criterion = criteria.get(name).ok_or_else(unknown)?;
        let value = criterion.get("question").unwrap_or(criterion);
        let site = if is_of_suite {
            RubricSite::SuiteValue(value.span)
        } else {
            RubricSite::Value(value.span)
        };
        Ok(RubricInFile { is_criterion: true, ..self.value(value, site)? })
    }

    fn value(&self, node: &YamlNode, site: RubricSite) -> Result<RubricInFile, RubricProblem> {
        let path = self.findings.sources().path(node.span.file).to_owned();
        if node.style == Style::Interpolated {
            return Err(fixed(&format!("it has a variable in it: edit `{path}`")));
        }
        let text = node.text().ok_or_else(|| fixed("it is not a text"))?.to_owned();
        Ok(RubricInFile { path, text, is_inline: true, is_criterion: false, site })
    }

    /// The path that a value names, from the folder of its file.
    fn path(&self, node: &YamlNode) -> Result<String, RubricProblem> {
        let path = node.text().ok_or_else(|| fixed("its path is not a text"))?;
        Ok(self.findings.sources().join(node.span.file, path))
    }
}

impl RubricInFile {
    /// What its file says with `text` in its place; `file` is what it says now.
    fn file_with(&self, file: &str, text: &str) -> Result<String, RubricProblem> {
        let unmarked = file.strip_prefix(BYTE_ORDER_MARK);
        let plain = unmarked.unwrap_or(file);
        let lines = with_line_feeds(plain);
        let edited = match self.site {
            RubricSite::File => of_file(&lines, text)?,
            RubricSite::SuiteValue(span) => of_value(plain, span, &escape(text))?,
            RubricSite::Value(span) => of_value(plain, span, text)?,
        };
        let is_crlf = plain.contains("\r\n");
        let edited = if is_crlf { with_line_feeds(&edited).replace('\n', "\r\n") } else { edited };
        Ok(unmarked.map(|_| BYTE_ORDER_MARK).into_iter().chain(edited.chars()).collect())
    }
}

/// A rubric file with another text behind its front matter.
fn of_file(file: &str, text: &str) -> Result<String, RubricProblem> {
    let (_, old) = cut(file).unwrap_or(("", file));
    let front = &file[..file.len() - old.len()];
    let edited = format!("{front}{text}");
    let is_kept = cut(&edited).is_some_and(|(_, now)| now == text);
    is_kept.then_some(edited).ok_or_else(|| {
        let why = "a rubric file begins neither with a line `---` nor, below its front matter, with an empty line";
        RubricProblem::Text(why.to_owned())
    })
}

/// A YAML file with another text at `span`: in the first form in which nothing else changes.
fn of_value(file: &str, span: SourceSpan, text: &str) -> Result<String, RubricProblem> {
    let parsed = |text: &str| tree::parse("", text, &mut Sources::default(), &mut Vec::new());
    let unreadable = || fixed("the file cannot be read");
    let root = parsed(file).ok_or_else(unreadable)?;
    let mut pointer = String::new();
    if !find(&root, span, &mut pointer) {
        return Err(unreadable());
    }
    let mut wanted = root.to_json();
    if let Some(value) = wanted.pointer_mut(&pointer) {
        *value = Value::from(text);
    }
    let start = header(&file[..span.start as usize]);
    let end = span.end as usize;
    let [before, old, after] = [&file[..start], &file[start..end], &file[end..]];
    let forms = forms(old, before, text);
    let edits = forms.iter().map(|form| format!("{before}{form}{after}"));
    let mut kept = edits.filter(|edit| parsed(edit).is_some_and(|now| now.to_json() == wanted));
    kept.next().ok_or_else(|| fixed("other parts of the file use the same text: edit the file"))
}

/// Where a value begins before which a file says this: the text of a block has its `|` on the line before.
fn header(before: &str) -> usize {
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    if line == 0 || !before[line..].trim().is_empty() {
        return before.len();
    }
    // The text may begin with empty lines.
    let above = before[..line].trim_end();
    let start = above.rfind('\n').map_or(0, |at| at + 1);
    let marks = [": |", ": >", "- |", "- >"];
    let marks = marks.into_iter().filter_map(|mark| above[start..].find(mark));
    marks.min().map_or(before.len(), |at| start + at + 2)
}

/// The JSON pointer of the value at `span`, added to `pointer`.
fn find(node: &YamlNode, span: SourceSpan, pointer: &mut String) -> bool {
    let is_here = |node: &YamlNode| node.span.start == span.start && node.span.end == span.end;
    if is_here(node) && node.text().is_some() {
        return true;
    }
    let length = pointer.len();
    let inner: Vec<(String, &YamlNode)> = match &node.value {
        Yaml::Map(entries) => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            entries.iter().map(|entry| (escaped(&entry.key), &entry.value)).collect()
        }
        Yaml::Seq(items) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
        }
        _ => return false,
    };
    inner.into_iter().any(|(name, node)| {
        pointer.truncate(length);
        pointer.push('/');
        pointer.push_str(&name);
        find(node, span, pointer)
    })
}

/// How `text` may be written in the place of `old`, what reads best first.
fn forms(old: &str, before: &str, text: &str) -> Vec<String> {
    let quoted = Value::from(text).to_string();
    let is_block = old.starts_with(['|', '>']);
    let is_line = !text.contains('\n');
    let first = old.lines().next().filter(|_| is_block).unwrap_or_default();
    let rest = first.find(' ').map_or("", |at| &first[at..]);
    let comment = if rest.trim_start().starts_with('#') { rest } else { "" };
    let block = block(before, text, comment);
    if is_line && !is_block {
        let own = if old.starts_with(['"', '\'']) { quoted.clone() } else { text.to_owned() };
        return vec![own, quoted, block];
    }
    vec![block, quoted]
}

/// The text as a literal block, indented below the line of its key, with the `comment` of the block before.
fn block(before: &str, text: &str, comment: &str) -> String {
    let line = before.rsplit('\n').next().unwrap_or_default();
    // The dash of a list item is part of the indentation of its keys.
    let indent = line.len() - line.trim_start_matches([' ', '-']).len() + 2;
    let chomp = match text {
        text if text.ends_with("\n\n") || text == "\n" => "+",
        text if text.ends_with('\n') => "",
        _ => "-",
    };
    let has_indent = text.trim_start_matches('\n').starts_with(' ');
    let indicator = if has_indent { "2" } else { "" };
    let mut block = format!("|{indicator}{chomp}{comment}");
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.extend(std::iter::repeat_n(' ', indent));
            block.push_str(line);
        }
    }
    block
}

#[cfg(test)]
mod tests;
