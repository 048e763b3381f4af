//! Typed access to the fields of a mapping, every problem reported with its place.
//!
//! It knows trees, declarations of fields and diagnostics, and nothing of suites; `evalrs.toml` is read through it too.
//! A reader takes what it needs and then calls [`FieldSet::finish`], which reports what is not declared or not there. Null
//! is the same as absent.
//! Leniency is that of YAML 1.1: `yes` is a truth value, `"1e-3"` a number, `3.0` a whole number where
//! one is expected; but a number is never text, since `model: 4` is a slip more often than a name.

use crate::section::{FieldShape, FieldSpec, MAX_SECONDS, Section};
use evalrs_base::diagnostic::{Diagnostic, Place, Severity, suggest};
use evalrs_base::text::enumerated;
use evalrs_base::yaml::source::{SourceSpan, Sources};
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};

/// The most problems that are shown: a generated suite may repeat one slip thousands of times.
const MAX_PROBLEMS: usize = 200;

/// What [`FieldShape::Seconds`] is as a number, but for 0.
const SECONDS: FieldShape =
    FieldShape::Number(0.0, MAX_SECONDS, "more than 0 and at most 86400 seconds");

/// The most choices that are listed beside a value.
const MAX_CHOICES: usize = 8;

/// What was found wrong so far, and the texts it stands in.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
    /// How many problems are not shown, and the last of them.
    unseen: usize,
    last_unseen: Option<Diagnostic>,
}

impl Findings {
    /// Reports an error; the diagnostic is returned for a label and a hint.
    pub(crate) fn error(
        &mut self,
        span: SourceSpan,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Error, span, message.into())
    }

    pub(crate) fn warning(
        &mut self,
        span: SourceSpan,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Warning, span, message.into())
    }

    fn push(&mut self, severity: Severity, span: SourceSpan, message: String) -> &mut Diagnostic {
        if self.diagnostics.len() >= MAX_PROBLEMS {
            self.unseen += 1;
            let place = Place::file(self.sources.path(span.file));
            return self.last_unseen.insert(Diagnostic::error(place, message));
        }
        let place = self.sources.place(span);
        self.add(Diagnostic { severity, ..Diagnostic::error(place, message) })
    }

    /// Adds a diagnostic. One that several parts of a suite run into, as with a shared file, is reported once.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        let known = self.diagnostics.iter().position(|known| {
            (known.severity, &known.place, &known.message)
                == (diagnostic.severity, &diagnostic.place, &diagnostic.message)
        });
        let at = known.unwrap_or_else(|| {
            self.diagnostics.push(diagnostic);
            self.diagnostics.len() - 1
        });
        &mut self.diagnostics[at]
    }

    /// The diagnostics in the order of the files, as they were read, and of the lines in them.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        let sources = &self.sources;
        self.diagnostics.sort_by_key(|diagnostic| {
            let place = diagnostic.place.as_ref();
            place.map(|place| (sources.index(&place.path), place.line, place.column))
        });
        if let Some(Diagnostic { place: Some(place), .. }) = self.last_unseen {
            let message = format!("{} further problems are not shown", self.unseen);
            self.diagnostics.push(Diagnostic::error(place, message));
        }
        self.diagnostics
    }

    /// Whether there is an error, as against warnings.
    pub(crate) fn failed(&self) -> bool {
        self.unseen > 0 || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Reports that `field` is of another type than `expected`.
    pub(crate) fn wrong_type(&mut self, field: &YamlEntry, expected: &str) -> &mut Diagnostic {
        let message = format!("`{}` must be {expected}, not {}", field.key, field.value.noun());
        self.error(field.value.span, message)
    }

    pub(crate) fn text(&mut self, field: &YamlEntry) -> Option<String> {
        match &field.value.value {
            Yaml::Str(text) if text.is_empty() => {
                self.error(field.value.span, format!("`{}` is empty", field.key));
                None
            }
            Yaml::Str(text) => Some(text.clone()),
            Yaml::Seq(_) | Yaml::Map(_) => {
                self.wrong_type(field, "text");
                None
            }
            _ => {
                self.wrong_type(field, "text").hint = Some("put the value in quotes".to_owned());
                None
            }
        }
    }

    /// The value as a finite number within the bounds of `shape`.
    pub(crate) fn number(&mut self, field: &YamlEntry, shape: FieldShape) -> Option<f64> {
        let Some(value) = as_number(&field.value) else {
            self.wrong_type(field, "a number");
            return None;
        };
        let (least, greatest, words) = match shape.but_for_null() {
            FieldShape::Number(least, greatest, words) => (least, greatest, words),
            _ => (f64::MIN, f64::MAX, "finite"),
        };
        if (least..=greatest).contains(&value) {
            return Some(value);
        }
        self.error(field.value.span, format!("`{}` must be {words}", field.key));
        None
    }

    /// The value as a number of seconds, more than 0.
    pub(crate) fn seconds(&mut self, field: &YamlEntry) -> Option<f64> {
        let seconds = self.number(field, SECONDS)?;
        if seconds > 0.0 {
            return Some(seconds);
        }
        let message = format!("`{}` must be more than 0 seconds", field.key);
        self.error(field.value.span, message);
        None
    }

    /// The value as a whole number within the bounds of `shape`.
    pub(crate) fn whole<N: TryFrom<i64>>(
        &mut self,
        field: &YamlEntry,
        shape: FieldShape,
    ) -> Option<N> {
        let (range, words) = match shape {
            FieldShape::Whole(least, greatest, words) => (least..=greatest, words),
            _ => (i64::MIN..=i64::MAX, "a whole number"),
        };
        let value = match &field.value.value {
            Yaml::Int(value) => Some(*value),
            Yaml::Str(text) if field.value.style != Style::Interpolated => text.trim().parse().ok(),
            Yaml::Float(_) | Yaml::Str(_) => as_number(&field.value).and_then(whole),
            _ => None,
        };
        match value.or_else(|| as_number(&field.value).and_then(whole)) {
            Some(value) if range.contains(&value) => N::try_from(value).ok(),
            None if as_number(&field.value).is_none() => {
                self.wrong_type(field, "a whole number");
                None
            }
            _ => {
                self.error(field.value.span, format!("`{}` must be {words}", field.key));
                None
            }
        }
    }

    pub(crate) fn truth(&mut self, field: &YamlEntry) -> Option<bool> {
        match &field.value.value {
            Yaml::Bool(value) => return Some(*value),
            Yaml::Int(0) => return Some(false),
            Yaml::Int(1) => return Some(true),
            Yaml::Str(text) => match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "y" | "true" | "1" => return Some(true),
                "no" | "off" | "n" | "false" | "0" => return Some(false),
                _ => {}
            },
            _ => {}
        }
        self.wrong_type(field, "`true` or `false`");
        None
    }

    /// The value as a list of texts; one text is a list of one.
    pub(crate) fn texts(&mut self, field: &YamlEntry) -> Option<Vec<String>> {
        match &field.value.value {
            Yaml::Str(_) => self.text(field).map(|text| vec![text]),
            Yaml::Seq(items) => {
                let texts = items.iter().map(|item| {
                    if let Yaml::Str(text) = &item.value {
                        return Some(text.clone());
                    }
                    let noun = item.noun();
                    self.error(
                        item.span,
                        format!("an item of `{}` must be text, not {noun}", field.key),
                    )
                    .hint = Some("put the value in quotes".to_owned());
                    None
                });
                texts.collect::<Vec<_>>().into_iter().collect()
            }
            _ => {
                self.wrong_type(field, "a list of texts");
                None
            }
        }
    }

    /// The value as one of `choices`, by name.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        field: &YamlEntry,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(field)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.unknown(field, &text, &field.key, &names);
        None
    }

    /// Reports that `text`, the value of `field`, is not one of `names`.
    pub(crate) fn unknown(
        &mut self,
        field: &YamlEntry,
        text: &str,
        what: &str,
        names: &[&str],
    ) -> &mut Diagnostic {
        let message = match field.value.style {
            Style::Interpolated => format!("`{}` is set to an unknown {what}", field.key),
            _ => format!("unknown {what} `{text}`"),
        };
        let likely = suggest(text, names.iter().copied())
            .filter(|_| field.value.style != Style::Interpolated);
        let hint = likely.map(|name| format!("did you mean `{name}`?"));
        // `exact-match` is `exact_match`, and need not be read twice.
        let again = |name: &str| name.contains('-') && names.contains(&&*name.replace('-', "_"));
        let shown: Vec<&str> = names.iter().copied().filter(|name| !again(name)).collect();
        let diagnostic = self.error(field.value.span, message);
        if shown.len() <= MAX_CHOICES {
            (diagnostic.label, diagnostic.hint) = (Some(one_of(&shown)), hint);
        } else {
            diagnostic.hint = hint.or_else(|| Some(some_of(&shown)));
        }
        diagnostic
    }

    /// The entries of a mapping; reports anything else.
    pub(crate) fn entries<'n>(&mut self, field: &'n YamlEntry) -> Option<&'n [YamlEntry]> {
        if let Yaml::Map(entries) = &field.value.value {
            return Some(entries);
        }
        self.wrong_type(field, "a mapping");
        None
    }

    /// The fields of a mapping that is a `section`; reports anything else.
    pub(crate) fn fields<'n>(
        &mut self,
        field: &'n YamlEntry,
        section: &'static Section,
    ) -> Option<FieldSet<'n>> {
        let owner = Some(field.key_span);
        Some(FieldSet { owner, ..FieldSet::new(self.entries(field)?, section) })
    }
}

/// `expected a, b or c`.
fn one_of(names: &[&str]) -> String {
    if names.is_empty() {
        return "expected nothing".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("expected {}", enumerated(&names, "or"))
}

/// The same of many: the first of them.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    if names.len() <= SHOWN + 1 {
        return one_of(names);
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    format!("expected {}, or one of {} more", shown.join(", "), names.len() - SHOWN)
}

fn as_number(node: &YamlNode) -> Option<f64> {
    match &node.value {
        Yaml::Int(value) => Some(*value as f64),
        Yaml::Float(value) => Some(*value),
        Yaml::Str(text) => text.trim().parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

/// The whole number that `value` is, if it is one that a float holds exactly.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

/// The fields of one mapping, as a section declares them.
#[derive(Debug)]
pub(crate) struct FieldSet<'n> {
    entries: &'n [YamlEntry],
    /// What stands for fields that are absent or null. Its names are known.
    defaults: &'n [YamlEntry],
    section: &'static Section,
    /// Where that is said which has the fields.
    owner: Option<SourceSpan>,
    /// Names that were refused elsewhere.
    refused: Vec<&'n str>,
}

impl<'n> FieldSet<'n> {
    pub(crate) fn new(entries: &'n [YamlEntry], section: &'static Section) -> Self {
        Self { entries, defaults: &[], section, owner: None, refused: Vec::new() }
    }

    /// Takes them for those of another section: which one is known once some of them are read.
    pub(crate) fn read_as(&mut self, section: &'static Section) {
        self.section = section;
    }

    /// The same with `defaults` in the place of fields that are absent or null.
    pub(crate) fn over(self, defaults: &'n [YamlEntry]) -> Self {
        Self { defaults, ..self }
    }

    /// What the field `name` takes.
    fn shape(&self, name: &str) -> FieldShape {
        let field = self.section.fields().find(|field| field.name == name);
        debug_assert!(field.is_some(), "{} declares no `{name}`", self.section.owner);
        field.map_or(FieldShape::Anything, |field| field.shape)
    }

    /// The field `name`, unless it is absent or null.
    pub(crate) fn take(&self, name: &str) -> Option<&'n YamlEntry> {
        self.take_or_null(name).filter(|entry| entry.value.value != Yaml::Null)
    }

    /// The field `name`, unless it is absent.
    pub(crate) fn take_or_null(&self, name: &str) -> Option<&'n YamlEntry> {
        let said = self.entries.iter().find(|entry| entry.key == name);
        match said {
            Some(said) if said.value.value != Yaml::Null => Some(said),
            said => self.defaults.iter().find(|entry| entry.key == name).or(said),
        }
    }

    pub(crate) fn text(&self, name: &str, findings: &mut Findings) -> Option<String> {
        findings.text(self.take(name)?)
    }

    pub(crate) fn texts(&self, name: &str, findings: &mut Findings) -> Option<Vec<String>> {
        findings.texts(self.take(name)?)
    }

    pub(crate) fn truth(&self, name: &str, findings: &mut Findings) -> Option<bool> {
        findings.truth(self.take(name)?)
    }

    /// The field `name` as a number within its declared bounds.
    pub(crate) fn number(&self, name: &str, findings: &mut Findings) -> Option<f64> {
        findings.number(self.take(name)?, self.shape(name))
    }

    /// The field `name` as a number of seconds, more than 0.
    pub(crate) fn seconds(&self, name: &str, findings: &mut Findings) -> Option<f64> {
        findings.seconds(self.take(name)?)
    }

    /// The field `name` as a whole number within its declared bounds.
    pub(crate) fn whole<N: TryFrom<i64>>(&self, name: &str, findings: &mut Findings) -> Option<N> {
        findings.whole(self.take(name)?, self.shape(name))
    }

    pub(crate) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        findings.choice(self.take(name)?, choices)
    }

    /// The `entries` of a mapping inside this one, and those `fields` of this one that it does not say itself.
    pub(crate) fn inherited(&self, fields: &[FieldSpec], entries: &[YamlEntry]) -> Vec<YamlEntry> {
        let of_this = fields.iter().filter_map(|field| self.take_or_null(field.name));
        let absent = of_this.filter(|field| entries.iter().all(|entry| entry.key != field.key));
        entries.iter().chain(absent).cloned().collect()
    }

    /// Every field whose name `is_refused`; the caller reports them.
    pub(crate) fn refuse(&mut self, is_refused: fn(&str) -> bool) -> Vec<&'n YamlEntry> {
        let refused: Vec<&YamlEntry> =
            self.entries.iter().filter(|entry| is_refused(&entry.key)).collect();
        self.refused.extend(refused.iter().map(|entry| entry.key.as_str()));
        refused
    }

    /// The field that goes by the first or the second name; both are an error.
    pub(crate) fn take_either(
        &self,
        first: &str,
        second: &str,
        findings: &mut Findings,
    ) -> Option<&'n YamlEntry> {
        match (self.take(first), self.take(second)) {
            (Some(_), Some(other)) => {
                let message = format!("`{first}` and `{second}` are two names of one field");
                findings.error(other.key_span, message).hint = Some("keep one".to_owned());
                None
            }
            (one, other) => one.or(other),
        }
    }

    /// Reports every field that is not declared, and those that must be there and are not. Of what was refused, one was
    /// probably meant to be such a field.
    pub(crate) fn finish(self, findings: &mut Findings) {
        let owner = self.owner.filter(|_| self.refused.is_empty());
        for FieldSpec { name, missing: [message, hint], .. } in self.section.fields() {
            if let Some(owner) = owner.filter(|_| !message.is_empty() && self.take(name).is_none())
            {
                let hint = (!hint.is_empty()).then(|| (*hint).to_owned());
                findings.error(owner, *message).hint = hint;
            }
        }
        let known: Vec<&str> = self.section.fields().map(|field| field.name).collect();
        for entry in self.entries {
            let name = entry.key.as_str();
            if known.contains(&name) || self.refused.contains(&name) {
                continue;
            }
            let likely = suggest(name, known.iter().copied());
            let hint = match likely {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known fields: `{}`", known.join("`, `")),
            };
            let message = format!("{} has no field `{name}`", self.section.owner);
            findings.error(entry.key_span, message).hint = Some(hint);
        }
    }
}
