//! Rubric files: their front matter, and the files they include.
//!
//! A file whose first line is `---` begins with YAML, up to the next such line; everything else is text and kept
//! verbatim, but for a byte-order mark and the ends of lines: those are line feeds, as in YAML, so that a rubric is the
//! same one on a system that checks it out with others. Included texts come first, each file once, so that no file can
//! grow without bound. The rubrics of suites and those that rows name are both read here; what the settings mean is read
//! elsewhere.

use std::borrow::Cow;
use std::sync::Arc;

use crate::fields::{Field, FieldSet};
use crate::files::Files;
use crate::findings::Findings;
use crate::load::FileLookups;
use crate::reader::Reader;
use crate::section::FieldShape::{Mapping, Text, Texts, Truth};
use crate::section::{FRACTION, FieldSpec, Section, fields};
use crate::sections::allow::ALLOW;
use crate::sections::ballots::SCALE;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::source::{SourceSpan, Sources, normal};
use evalrs_base::yaml::tree::{self, Yaml, YamlEntry, YamlNode};
use evalrs_eval::lint::rubric_places::{RubricPlaces, WrittenText};

/// What a rubric file may say before its text.
pub(crate) static FRONT_MATTER: Section = Section::new(
    "the front matter of a rubric",
    &[
        fields![
            "include": Texts => "files whose texts are put before its own";
        ],
        FRONT_SETTINGS,
    ],
);

/// What front matter can say of a grader.
pub(crate) const FRONT_SETTINGS: &[FieldSpec] = fields![
    "model": Text => "the judge model";
    "scale": Mapping(&SCALE) => "the range that the judge scores in";
    "fence": Truth => "whether texts in the rubric get tags around them";
    "unfenced": Texts => "placeholders whose texts get no tags";
    "pass_threshold": FRACTION => "the least score that passes";
    "allow": ALLOW => "warnings about this rubric to switch off, by name";
    "allow_unknown": Truth => "whether unknown names in braces are sent as they are";
];

/// How deep rubric files may include one another.
const MAX_DEPTH: usize = 16;

/// How many files a rubric may include in all.
const MAX_FILES: usize = 500;

const RULE: &str =
    "if a rubric begins with a rule, put a blank line before it or write the rule as `***`";

/// The text of a rubric, and where it is from.
#[derive(Debug, Default)]
pub(crate) struct RubricText {
    /// The text, a template.
    pub text: String,
    /// Where its parts are written.
    pub parts: Vec<SourceSpan>,
    /// The settings of its front matter.
    pub front: Vec<YamlEntry>,
}

impl RubricText {
    /// Where `{name}` is written in it, else the name of its `grader`.
    pub(crate) fn find(&self, name: &str, grader: Field<'_>) -> SourceSpan {
        let placeholder = format!("{{{name}}}");
        let sources = grader.findings.sources();
        let found = self.parts.iter().map(|part| (*part, sources.find(*part, &placeholder)));
        let written = found.into_iter().find(|(part, span)| part != span);
        written.map_or(grader.key_span, |(_, span)| span)
    }
}

/// The rubric file of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRubric {
    /// The rubric without front matter and with everything it includes.
    pub text: FileText,
    /// What is wrong inside of it, or with the files it includes.
    pub problems: Vec<Diagnostic>,
}

/// A file cut at its front matter: that with the line before it, and the text behind. None if it is never closed.
pub(crate) fn cut(file: &str) -> Option<(&str, &str)> {
    let is_rule = |line: &&str| line.trim_end() == "---";
    let mut lines = file.split_inclusive('\n');
    let Some(first) = lines.next().filter(is_rule) else { return Some(("", file)) };
    let mut end = first.len();
    for line in lines {
        if is_rule(&line) {
            let text = &file[end + line.len()..];
            return Some((&file[..end], text.trim_start_matches(['\r', '\n'])));
        }
        end += line.len();
    }
    None
}

/// The text with every end of a line a line feed.
pub(crate) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Reads the rubric at `path`, which `from` names, and everything it includes.
pub(crate) fn read(path: &str, from: SourceSpan, reader: &mut Reader<'_>) -> Option<RubricText> {
    let loader = RubricLoader::new(reader.files, &mut reader.looked, reader.findings);
    loader.load(path, Some(from), NamedBy::Grader)
}

/// Reads the rubric at `path`, which a row names; it includes nothing outside of `folder`, the suite's.
pub fn row_rubric(path: &str, folder: &str, files: &dyn Files) -> RowRubric {
    let file = match files.text(path) {
        FileText::Text(text) => text,
        text => return RowRubric { text, problems: Vec::new() },
    };
    let mut looked = FileLookups::default();
    let findings = Findings::default();
    let loader = RubricLoader::new(files, &mut looked, &findings);
    let loader = RubricLoader { folder: Some(folder), ..loader };
    let read = loader.load(path, None, NamedBy::Row);
    if let Some(RubricText { text, .. }) = &read
        && text.trim().is_empty()
    {
        findings.add(Diagnostic::error(Place::file(path), "the rubric is empty"));
    }
    let problems = findings.finish();
    let text = match (problems.first(), read) {
        (Some(problem), _) => FileText::Unreadable(problem.message.clone()),
        (None, None) => FileText::Unread,
        (None, Some(read)) if *read.text == *file => FileText::Text(file),
        (None, Some(read)) => FileText::Text(Arc::from(read.text)),
    };
    RowRubric { text, problems }
}

/// What refers to a rubric file, which decides what its front matter may set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedBy {
    Grader,
    Row,
    Included,
}

/// What front matter says.
struct FrontMatter {
    settings: Vec<YamlEntry>,
    /// The paths of included files, each with its place.
    includes: Vec<(String, SourceSpan)>,
}

struct RubricLoader<'a> {
    files: &'a dyn Files,
    looked: &'a mut FileLookups,
    findings: &'a Findings,
    /// What nothing may be included from outside of.
    folder: Option<&'a str>,
    /// The files that led here, by normal path.
    above: Vec<String>,
    /// Every file that was included so far, by normal path.
    included: Vec<String>,
    parts: Vec<(SourceSpan, String)>,
}

impl<'a> RubricLoader<'a> {
    fn new(files: &'a dyn Files, looked: &'a mut FileLookups, findings: &'a Findings) -> Self {
        Self {
            files,
            looked,
            findings,
            folder: None,
            above: Vec::new(),
            included: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn load(
        mut self,
        path: &str,
        from: Option<SourceSpan>,
        named_by: NamedBy,
    ) -> Option<RubricText> {
        let front = self.file(path, from, named_by)?;
        let mut text = String::new();
        let last = self.parts.len().saturating_sub(1);
        for (at, (_, part)) in self.parts.iter().enumerate() {
            if at < last {
                text.push_str(part.trim_end());
                text.push_str("\n\n");
            } else {
                text.push_str(part);
            }
        }
        let parts = self.parts.into_iter().map(|(span, _)| span).collect();
        Some(RubricText { text, parts, front })
    }

    /// Reads one file and what it includes; gives the settings of its front matter.
    fn file(
        &mut self,
        path: &str,
        from: Option<SourceSpan>,
        named_by: NamedBy,
    ) -> Option<Vec<YamlEntry>> {
        let text = self.looked.text(path, from, self.files, self.findings)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let text = &*with_line_feeds(text);
        let file = self.findings.add_source(path, text);
        let Some((front, body)) = cut(text) else {
            let message = "the front matter of this rubric is never closed";
            let hint = with_rule(Some("end it with a line `---`"));
            return self.findings.refuse(SourceSpan::new(file, 0..3), message, &hint);
        };
        let FrontMatter { settings, includes } = self.front(front, file, named_by)?;
        self.above.push(normal(path));
        let mut is_whole = true;
        for (path, span) in includes {
            is_whole &= self.include(&path, span).is_some();
        }
        self.above.pop();
        if !body.trim().is_empty() {
            let span = SourceSpan::new(file, text.len() - body.len()..text.len());
            self.parts.push((span, body.to_owned()));
        }
        is_whole.then_some(settings)
    }

    fn front(&mut self, text: &str, file: u32, named_by: NamedBy) -> Option<FrontMatter> {
        let mut problems = Vec::new();
        let root = tree::parse_part(text, file, &self.findings.sources(), &mut problems);
        for mut problem in problems {
            problem.hint = Some(with_rule(problem.hint.as_deref()));
            self.findings.add(problem);
        }
        let root = root?;
        let entries = match root.value {
            Yaml::Map(entries) => entries,
            Yaml::Null => Vec::new(),
            _ => {
                let message = format!("front matter is a mapping, not {}", root.noun());
                return self.findings.refuse(root.span, &message, &with_rule(None));
            }
        };
        let fields = FieldSet::new(&entries, &FRONT_MATTER, self.findings);
        let include = fields.take("include");
        for field in FRONT_SETTINGS.iter().filter_map(|field| fields.take(field.name)) {
            self.check_setting(field, named_by);
        }
        let known = self.findings.diagnostics.borrow().len();
        fields.finish();
        for problem in &mut self.findings.diagnostics.borrow_mut()[known..] {
            problem.hint = Some(with_rule(problem.hint.as_deref()));
        }
        let includes = include.map(|field| self.includes(field)).unwrap_or_default();
        let is_setting =
            |entry: &YamlEntry| FRONT_SETTINGS.iter().any(|setting| setting.name == entry.key);
        let settings = entries.into_iter().filter(is_setting);
        Some(FrontMatter { settings: settings.collect(), includes })
    }

    fn check_setting(&self, field: Field<'_>, named_by: NamedBy) {
        let (whose, hint) = match named_by {
            NamedBy::Grader => return self.refuse_variables(&field.value),
            NamedBy::Row => ("the rubric of a row", "set it in the suite"),
            NamedBy::Included => {
                ("an included file", "set it in the rubric that includes the file, or in the suite")
            }
        };
        field.error_at_key(&format!("`{}` has no effect in {whose}", field.key), hint);
    }

    /// Reports `${NAME}`: it would be taken for the text itself.
    fn refuse_variables(&self, node: &YamlNode) {
        match &node.value {
            Yaml::Str(text) if text.contains("${") => {
                let message = "variables are replaced in suites only, not in rubric files";
                self.findings.error(node.span, message, "write this in the suite");
            }
            Yaml::Seq(items) => items.iter().for_each(|item| self.refuse_variables(item)),
            _ => {}
        }
    }

    /// The paths of `include`, each with its place.
    fn includes(&self, field: Field<'_>) -> Vec<(String, SourceSpan)> {
        self.refuse_variables(&field.value);
        let paths = field.texts().unwrap_or_default();
        let spans = field.value.items().iter().map(|item| item.span);
        paths.into_iter().zip(spans).collect()
    }

    fn include(&mut self, path: &str, span: SourceSpan) -> Option<()> {
        let path = self.findings.sources().join(span.file, path);
        let name = normal(&path);
        if self.above.contains(&name) {
            let message = format!("this rubric includes itself: {} → `{name}`", self.chain());
            return self.findings.refuse(span, &message, "");
        }
        if self.above.len() > MAX_DEPTH {
            let chain = self.chain();
            let message =
                format!("more than {MAX_DEPTH} rubric files include one another: {chain}");
            return self.findings.refuse(span, &message, "");
        }
        if self.folder.is_some_and(|folder| !is_inside(folder, &name)) {
            let hint = "the rubric of a row includes files beside the suite or below it";
            return self.findings.refuse(span, "`include` leads out of the suite's folder", hint);
        }
        if self.included.contains(&name) {
            return Some(());
        }
        if self.included.len() >= MAX_FILES {
            let message = format!("a rubric includes at most {MAX_FILES} files");
            return self.findings.refuse(span, &message, "");
        }
        self.included.push(name);
        self.file(&path, Some(span), NamedBy::Included).map(|_| ())
    }

    /// The files that led here, for messages; of many, the first and the last.
    fn chain(&self) -> String {
        let names: Vec<String> = self.above.iter().map(|name| format!("`{name}`")).collect();
        match &names[..] {
            [first, second, _, .., last] if names.len() > 5 => {
                format!("{first} → {second} → … → {last}")
            }
            names => names.join(" → "),
        }
    }
}

fn with_rule(hint: Option<&str>) -> String {
    hint.map_or_else(|| RULE.to_owned(), |hint| format!("{hint} ({RULE})"))
}

/// Whether the normal path `name` is in `folder` or below it.
fn is_inside(folder: &str, name: &str) -> bool {
    let folder = normal(folder);
    match folder.as_str() {
        "" => !name.starts_with(['/', '\\']) && name.split('/').all(|part| part != ".."),
        folder => name
            .strip_prefix(folder.trim_end_matches('/'))
            .is_some_and(|rest| rest.starts_with('/')),
    }
}

/// The text of a span, where it is written.
fn written(span: SourceSpan, sources: &Sources) -> Option<WrittenText> {
    let text = sources.text(span.file)?;
    let start = span.start as usize;
    let end = span.end as usize;
    let from = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let to = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at);
    Some(WrittenText {
        path: sources.path(span.file).to_owned(),
        first_line: memchr::memchr_iter(b'\n', &text.as_bytes()[..from]).count() + 1,
        lines: text.get(from..to)?.to_owned(),
        start: start - from,
        end: end - from,
    })
}

/// The places of a grader's rubric.
pub(crate) fn rubric_places(
    entry: Field<'_>,
    fields: &FieldSet<'_>,
    text: &RubricText,
) -> RubricPlaces {
    let place = |span: SourceSpan| entry.findings.place(span);
    let panel = fields.take("panel").map(|field| field.key_span);
    let model = panel.or_else(|| fields.take("model").map(|field| field.value.span));
    let threshold = fields.take("pass_threshold").map(|field| field.value.span);
    let unfenced = fields.take("fence").or_else(|| fields.take("unfenced"));
    let unfenced = unfenced.map(|field| field.key_span);
    let parts = text.parts.iter().filter_map(|part| written(*part, &entry.findings.sources()));
    RubricPlaces {
        grader: place(entry.key_span),
        model: place(model.unwrap_or(entry.key_span)),
        threshold: place(threshold.unwrap_or(entry.key_span)),
        unfenced: place(unfenced.unwrap_or(entry.key_span)),
        parts: parts.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, is_inside};

    #[test]
    fn front_matter_stands_between_two_rules_at_the_top() {
        for (file, expected) in [
            ("Judge.\n", Some(("", "Judge.\n"))),
            ("", Some(("", ""))),
            ("---\nmodel: m\n---\nJudge.\n", Some(("---\nmodel: m\n", "Judge.\n"))),
            ("---  \r\nmodel: m\r\n---\r\n\r\nA\r\n", Some(("---  \r\nmodel: m\r\n", "A\r\n"))),
            ("---\n---\n\n  A\n---\nB", Some(("---\n", "  A\n---\nB"))),
            ("---\nmodel: m\n---", Some(("---\nmodel: m\n", ""))),
            ("\n---\nA\n---\n", Some(("", "\n---\nA\n---\n"))),
            (" ---\nA\n---\n", Some(("", " ---\nA\n---\n"))),
            ("----\nA\n", Some(("", "----\nA\n"))),
            ("---\nA\n", None),
            ("---", None),
        ] {
            assert_eq!(cut(file), expected, "{file:?}");
        }
    }

    #[test]
    fn files_of_a_row_stay_in_the_folder() {
        for (folder, name, expected) in [
            ("", "a.txt", true),
            (".", "x/a.txt", true),
            ("", "../a.txt", false),
            ("", "/etc/passwd", false),
            ("s", "s/a.txt", true),
            ("./s/", "s/a.txt", true),
            ("s", "st/a.txt", false),
            ("s", "a.txt", false),
            ("../s", "../s/a.txt", true),
            ("../s", "../a.txt", false),
            ("/", "/a.txt", true),
        ] {
            assert_eq!(is_inside(folder, name), expected, "{folder} {name}");
        }
    }
}
