//! YAML text as a tree that remembers the place of every key and value.
//!
//! It knows YAML and nothing of suites. The tree is built from the events of serde-saphyr's parser, not through
//! serde: the events carry exact spans and quoting, a reader that stops at the first wrong type could not
//! report every problem at once, and serde's recursion takes 35 KB of stack a level in a debug build, too much
//! for 128 levels of an untrusted file. An alias is expanded in place; its values point to where they are
//! written.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, StrInput};

use super::scalar::{self, Scalar};
use super::source::{SourceSpan, Sources};
use super::{mistakes, syntax};
use crate::diagnostic::{Diagnostic, Place};

/// The most bytes a suite file may have.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The deepest nesting of mappings and lists.
pub(crate) const MAX_DEPTH: usize = 128;
/// The most keys written twice that are reported.
const MAX_DUPLICATES: usize = 50;
/// The most values that anchors and aliases may copy.
const MAX_COPIES: usize = 100_000;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    pub span: SourceSpan,
    pub style: Style,
    pub value: Yaml,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes, a list or a mapping.
    Plain,
    /// A scalar in quotes or a block.
    Quoted,
    /// A scalar with text of the environment in it, which no message may show.
    Interpolated,
}

/// What a node says.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// Nothing, `null` or `~`.
    Null,
    /// `true` or `false`; `yes` and `no` are text.
    Bool(bool),
    Int(i64),
    /// A number with a fraction or exponent or beyond 64 bits, finite.
    Float(f64),
    Str(String),
    Seq(Vec<YamlNode>),
    /// A mapping, in the order written, each key once.
    Map(Vec<YamlEntry>),
}

/// One entry of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlEntry {
    pub key: String,
    pub key_span: SourceSpan,
    pub value: YamlNode,
}

impl YamlNode {
    pub fn to_json(&self) -> Value {
        match &self.value {
            Yaml::Null => Value::Null,
            Yaml::Bool(value) => Value::from(*value),
            Yaml::Int(value) => Value::from(*value),
            Yaml::Float(value) => Value::from(*value),
            Yaml::Str(text) => Value::from(text.as_str()),
            Yaml::Seq(items) => items.iter().map(Self::to_json).collect(),
            Yaml::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }

    /// What is there, in words for messages: `text`, `a number`, …
    pub fn noun(&self) -> &'static str {
        match &self.value {
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "true or false",
            Yaml::Int(_) | Yaml::Float(_) => "a number",
            Yaml::Str(_) => "text",
            Yaml::Seq(_) => "a list",
            Yaml::Map(_) => "a mapping",
        }
    }

    /// Its text; none if it is not text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Yaml::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Its entries; none if it is not a mapping.
    pub fn entries(&self) -> &[YamlEntry] {
        match &self.value {
            Yaml::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Its items, where it is a list; it is a list of one otherwise.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Yaml::Seq(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// The entry of `key`, if this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&YamlEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value of `key`, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }
}

/// Reads the one YAML document in `text`, which becomes a file of `sources`. An empty file is null.
///
/// Problems go to `diagnostics`; without a tree, at least one error does.
pub fn parse(
    path: &str,
    text: &str,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<YamlNode> {
    if text.len() > MAX_BYTES {
        let message = "the file is larger than 4 MB, the most a suite may have";
        let hint = "put the samples into a dataset file of their own";
        diagnostics.push(Diagnostic::error(Place::file(path), message).hint(hint));
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file = sources.add(path, text);
    if let Some(at) = text.find('\0') {
        let place = sources.place(SourceSpan::new(file, at..at + 1));
        let message = "there is a NUL character here: this is not a text file";
        diagnostics.push(Diagnostic::error(place, message));
        return None;
    }
    parse_part(text, file, sources, diagnostics)
}

/// Reads the one YAML document in `text`, with which `file` of `sources` begins.
pub fn parse_part(
    text: &str,
    file: u32,
    sources: &Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<YamlNode> {
    let mut builder = Builder { text, file, ..Builder::default() };
    let root = builder.read();
    for (key, first, second) in builder.duplicates.into_iter().take(MAX_DUPLICATES) {
        diagnostics.push(duplicate(sources, &key, first, second));
    }
    match root {
        Ok(root) => Some(root),
        Err((problem, span)) => {
            diagnostics.push(problem.diagnostic(sources.place(span)));
            None
        }
    }
}

fn duplicate(sources: &Sources, key: &str, first: SourceSpan, second: SourceSpan) -> Diagnostic {
    let first = sources.place(first);
    let message = format!("`{key}` is written twice in this mapping");
    let hint = format!("the first is on line {}, column {}", first.line, first.column);
    Diagnostic::error(sources.place(second), message).label("the second time").hint(hint)
}

type PlacedProblem = (syntax::YamlProblem, SourceSpan);

/// The root, once it is complete.
type MaybeRoot = Result<Option<YamlNode>, PlacedProblem>;

/// Builds the tree from the parser's events with a stack of its own, so that depth costs no stack of ours.
#[derive(Default)]
struct Builder<'t> {
    text: &'t str,
    file: u32,
    open: Vec<OpenNode>,
    anchors: BTreeMap<usize, YamlNode>,
    copies: usize,
    duplicates: Vec<(String, SourceSpan, SourceSpan)>,
}

/// A list or mapping whose end has not come yet.
struct OpenNode {
    span: SourceSpan,
    anchor: Option<usize>,
    inside: Inside,
}

enum Inside {
    Seq(Vec<YamlNode>),
    Map {
        entries: Vec<YamlEntry>,
        seen: BTreeMap<String, SourceSpan>,
        key: Option<(String, SourceSpan, Style)>,
        merged: Vec<YamlNode>,
    },
}

impl<'t> Builder<'t> {
    fn read(&mut self) -> Result<YamlNode, PlacedProblem> {
        let mut root = None;
        let options = granit_parser::options! {
            flow_nesting_limit: MAX_DEPTH + 1,
            block_nesting_limit: MAX_DEPTH + 1,
            emit_comments: false,
        };
        for event in Parser::<StrInput<'t>>::new_from_str_with_options(self.text, options) {
            let (event, span) = event.map_err(|error| {
                let at = error.marker().byte_offset().unwrap_or(self.text.len());
                if let Some(mistake) = mistakes::mistake(self.text, at, error.kind()) {
                    let span = SourceSpan::new(self.file, mistake.span.clone());
                    return (syntax::YamlProblem::Mistake(mistake), span);
                }
                let next = self.text.get(at..).and_then(|rest| rest.chars().next());
                let end = at + next.map_or(0, char::len_utf8);
                (syntax::YamlProblem::Scan(error), SourceSpan::new(self.file, at..end))
            })?;
            let span = self.span(&span);
            if matches!(event, Event::DocumentStart(..)) && root.is_some() {
                return Err((syntax::YamlProblem::SecondDocument, span));
            }
            if let Some(node) = self.event(&event, span)? {
                root = Some(node);
            }
        }
        let nothing = YamlNode {
            span: SourceSpan::new(self.file, 0..0),
            style: Style::Plain,
            value: Yaml::Null,
        };
        Ok(root.unwrap_or(nothing))
    }

    /// Takes one event; gives the root once it is complete.
    fn event(&mut self, event: &Event<'_>, span: SourceSpan) -> MaybeRoot {
        let anchor = event.anchor_id();
        match event {
            Event::Scalar(text, style, ..) => {
                let node = scalar_node(text, *style, event.tag(), span)?;
                self.anchor(anchor, &node)?;
                self.attach(node, Some(text))
            }
            Event::SequenceStart(..) => self.begin(span, anchor, Inside::Seq(Vec::new())),
            Event::MappingStart(..) => {
                let inside = Inside::Map {
                    entries: Vec::new(),
                    seen: BTreeMap::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.begin(span, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(id).cloned() else {
                    return Err((syntax::YamlProblem::AliasOfItself, span));
                };
                self.count_copies(&node, span)?;
                let key = node.text().map(str::to_owned);
                self.attach(node, key.as_deref())
            }
            _ => Ok(None),
        }
    }

    fn begin(&mut self, span: SourceSpan, anchor: Option<usize>, inside: Inside) -> MaybeRoot {
        if self.open.len() >= MAX_DEPTH {
            return Err((syntax::YamlProblem::TooDeep, span));
        }
        self.open.push(OpenNode { span, anchor, inside });
        Ok(None)
    }

    fn end(&mut self, end: SourceSpan) -> MaybeRoot {
        let Some(OpenNode { span, anchor, inside }) = self.open.pop() else { return Ok(None) };
        let span = SourceSpan { end: self.trimmed_end(span.start, end.end), ..span };
        let value = match inside {
            Inside::Seq(items) => Yaml::Seq(items),
            Inside::Map { mut entries, mut seen, merged, .. } => {
                for entry in merged.iter().flat_map(YamlNode::entries) {
                    if seen.insert(entry.key.clone(), entry.key_span).is_none() {
                        entries.push(entry.clone());
                    }
                }
                Yaml::Map(entries)
            }
        };
        let node = YamlNode { span, style: Style::Plain, value };
        self.anchor(anchor, &node)?;
        self.attach(node, None)
    }

    /// Keeps a copy of an anchored value for its aliases.
    fn anchor(&mut self, anchor: Option<usize>, node: &YamlNode) -> Result<(), PlacedProblem> {
        if let Some(id) = anchor {
            self.count_copies(node, node.span)?;
            self.anchors.insert(id, node.clone());
        }
        Ok(())
    }

    fn count_copies(&mut self, node: &YamlNode, span: SourceSpan) -> Result<(), PlacedProblem> {
        let (count, height) = measure(node);
        self.copies += count;
        if self.copies > MAX_COPIES {
            return Err((syntax::YamlProblem::TooManyCopies, span));
        }
        if self.open.len() + height > MAX_DEPTH {
            return Err((syntax::YamlProblem::TooDeep, span));
        }
        Ok(())
    }

    /// Puts a complete node where it belongs. `key_text` is what it says if it turns out to be a key.
    fn attach(&mut self, node: YamlNode, key_text: Option<&str>) -> MaybeRoot {
        let Some(open) = self.open.last_mut() else { return Ok(Some(node)) };
        match &mut open.inside {
            Inside::Seq(items) => items.push(node),
            Inside::Map { entries, seen, key, merged } => match key.take() {
                None => match key_text {
                    Some(text) if !(text.is_empty() && node.style == Style::Plain) => {
                        *key = Some((text.to_owned(), node.span, node.style));
                    }
                    _ => return Err((syntax::YamlProblem::KeyIsNoText, node.span)),
                },
                Some((name, span, Style::Plain)) if name == "<<" => match node.value {
                    Yaml::Map(_) => merged.push(node),
                    Yaml::Seq(items) if items.iter().all(|item| item.noun() == "a mapping") => {
                        merged.extend(items);
                    }
                    _ => return Err((syntax::YamlProblem::MergeOfNoMapping, span)),
                },
                Some((name, key_span, _)) => {
                    if let Some(first) = seen.get(&name) {
                        self.duplicates.push((name, *first, key_span));
                    } else {
                        seen.insert(name.clone(), key_span);
                        entries.push(YamlEntry { key: name, key_span, value: node });
                    }
                }
            },
        }
        Ok(None)
    }

    fn span(&self, span: &granit_parser::Span) -> SourceSpan {
        let range = span.byte_range().unwrap_or_default();
        let span = SourceSpan::new(self.file, range);
        SourceSpan { end: self.trimmed_end(span.start, span.end), ..span }
    }

    /// The end without the white space the parser counts to blocks.
    fn trimmed_end(&self, start: u32, end: u32) -> u32 {
        let written = self.text.get(start as usize..end as usize).unwrap_or_default();
        start + u32::try_from(written.trim_end().len()).unwrap_or_default()
    }
}

fn scalar_node(
    text: &str,
    style: ScalarStyle,
    tag: Option<&granit_parser::Tag>,
    span: SourceSpan,
) -> Result<YamlNode, PlacedProblem> {
    let plain = style == ScalarStyle::Plain;
    let typed = match tag.map(|tag| (tag.core_suffix(), tag.suffix())) {
        None => plain,
        Some((Some("str"), _) | (_, "" | "!")) => false,
        Some((Some("int" | "float" | "bool" | "null"), _)) => true,
        Some(_) => return Err((syntax::YamlProblem::UnknownTag, span)),
    };
    let value = match if typed { scalar::resolve(text) } else { Scalar::Text } {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(value) => Yaml::Bool(value),
        Scalar::Int(value) => Yaml::Int(value),
        Scalar::Float(value) if !value.is_finite() => {
            return Err((syntax::YamlProblem::NotFinite, span));
        }
        Scalar::Float(value) => Yaml::Float(value),
        Scalar::Text => Yaml::Str(text.to_owned()),
    };
    let style = if plain { Style::Plain } else { Style::Quoted };
    Ok(YamlNode { span, style, value })
}

/// How many values a node holds, and how many levels of lists and mappings.
fn measure(node: &YamlNode) -> (usize, usize) {
    let inner: Vec<&YamlNode> = match &node.value {
        Yaml::Seq(items) => items.iter().collect(),
        Yaml::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        _ => return (1, 0),
    };
    inner.into_iter().map(measure).fold((1, 1), |(count, height), (more, inner_height)| {
        (count + more, height.max(inner_height + 1))
    })
}

#[cfg(test)]
mod tests;
