//! Typed access to the fields of a mapping, every problem reported with its place.
//!
//! It knows trees, declarations of fields and diagnostics, and nothing of suites; `evalrs.toml` is read through it too.
//! A reader takes what it needs and then calls [`FieldSet::finish`], which reports what is not declared or not there. Null
//! is the same as absent.
//! Leniency is that of YAML 1.1: `yes` is a truth value, `"1e-3"` a number, `3.0` a whole number where
//! one is expected; but a number is never text, since `model: 4` is a slip more often than a name.

use std::ops::Deref;
use std::str::FromStr;

use strum::VariantNames;

use crate::findings::Findings;
use crate::section::{FieldShape, FieldSpec, MAX_SECONDS, Section};
use evalrs_base::diagnostic::{Diagnostic, suggest};
use evalrs_base::text::enumerated;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};

/// What [`FieldShape::Seconds`] is as a number, but for 0.
const SECONDS: FieldShape =
    FieldShape::Number(0.0, MAX_SECONDS, "more than 0 and at most 86400 seconds");

/// The most choices that are listed beside a value.
const MAX_CHOICES: usize = 8;

/// A field, and where its problems are reported. Every hint may be empty, which is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'n> {
    pub entry: &'n YamlEntry,
    pub findings: &'n Findings,
}

impl Deref for Field<'_> {
    type Target = YamlEntry;

    fn deref(&self) -> &YamlEntry {
        self.entry
    }
}

impl<'n> Field<'n> {
    /// Reports an error at the value.
    pub(crate) fn error(self, message: &str, hint: &str) {
        self.findings.error(self.value.span, message, hint);
    }

    /// The same for a reader that then has nothing to give.
    pub(crate) fn refuse<T>(self, message: &str, hint: &str) -> Option<T> {
        self.findings.refuse(self.value.span, message, hint)
    }

    /// Reports an error at the name.
    pub(crate) fn error_at_key(self, message: &str, hint: &str) {
        self.findings.error(self.key_span, message, hint);
    }

    /// The same for a reader that then has nothing to give.
    pub(crate) fn refuse_at_key<T>(self, message: &str, hint: &str) -> Option<T> {
        self.findings.refuse(self.key_span, message, hint)
    }

    /// Reports that the value is of another type than `expected`.
    pub(crate) fn wrong_type<T>(self, expected: &str, hint: &str) -> Option<T> {
        self.refuse(&format!("`{}` must be {expected}, not {}", self.key, self.value.noun()), hint)
    }

    /// Hides the value from all that is reported after this.
    pub(crate) fn hide(self) {
        self.findings.hide(self.value.span);
    }

    pub(crate) fn is_mapping(self) -> bool {
        matches!(self.value.value, Yaml::Map(_))
    }

    pub(crate) fn text(self) -> Option<String> {
        match &self.value.value {
            Yaml::Str(text) if text.is_empty() => {
                self.refuse(&format!("`{}` is empty", self.key), "")
            }
            Yaml::Str(text) => Some(text.clone()),
            Yaml::Seq(_) | Yaml::Map(_) => self.wrong_type("text", ""),
            _ => self.wrong_type("text", "put the value in quotes"),
        }
    }

    /// The value as a path, joined to the folder of the file that wrote it.
    pub(crate) fn path(self) -> Option<String> {
        Some(self.joined(&self.text()?))
    }

    /// A path in the value, joined to the folder of its file.
    pub(crate) fn joined(self, path: &str) -> String {
        self.findings.sources().join(self.value.span.file, path)
    }

    /// The value as a finite number within the bounds of `shape`.
    pub(crate) fn number(self, shape: FieldShape) -> Option<f64> {
        let Some(value) = as_number(&self.value) else { return self.wrong_type("a number", "") };
        let (least, greatest, words) = match shape.but_for_null() {
            FieldShape::Number(least, greatest, words) => (least, greatest, words),
            _ => (f64::MIN, f64::MAX, "finite"),
        };
        if (least..=greatest).contains(&value) {
            return Some(value);
        }
        self.refuse(&format!("`{}` must be {words}", self.key), "")
    }

    /// The value as a number of seconds, more than 0.
    pub(crate) fn seconds(self) -> Option<f64> {
        let seconds = self.number(SECONDS)?;
        if seconds > 0.0 {
            return Some(seconds);
        }
        self.refuse(&format!("`{}` must be more than 0 seconds", self.key), "")
    }

    /// The value as a whole number within the bounds of `shape`.
    pub(crate) fn whole<N: TryFrom<i64>>(self, shape: FieldShape) -> Option<N> {
        let (range, words) = match shape.but_for_null() {
            FieldShape::Whole(least, greatest, words) => (least..=greatest, words),
            _ => (i64::MIN..=i64::MAX, "a whole number"),
        };
        let number = as_number(&self.value);
        let value = match &self.value.value {
            Yaml::Int(value) => Some(*value),
            Yaml::Str(text) if self.value.style != Style::Interpolated => text.trim().parse().ok(),
            _ => None,
        };
        match value.or_else(|| number.and_then(whole)) {
            Some(value) if range.contains(&value) => N::try_from(value).ok(),
            None if number.is_none() => self.wrong_type("a whole number", ""),
            _ => self.refuse(&format!("`{}` must be {words}", self.key), ""),
        }
    }

    pub(crate) fn truth(self) -> Option<bool> {
        let truth = match &self.value.value {
            Yaml::Bool(value) => Some(*value),
            Yaml::Int(0) => Some(false),
            Yaml::Int(1) => Some(true),
            Yaml::Str(text) => match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "y" | "true" | "1" => Some(true),
                "no" | "off" | "n" | "false" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        truth.or_else(|| self.wrong_type("`true` or `false`", ""))
    }

    /// The value as a list of texts; one text is a list of one.
    pub(crate) fn texts(self) -> Option<Vec<String>> {
        match &self.value.value {
            Yaml::Str(_) => self.text().map(|text| vec![text]),
            Yaml::Seq(items) => {
                let texts = items.iter().map(|item| match &item.value {
                    Yaml::Str(text) => Some(text.clone()),
                    _ => self.refuse_item(item),
                });
                texts.collect::<Vec<_>>().into_iter().collect()
            }
            _ => self.wrong_type("a list of texts", ""),
        }
    }

    /// Reports that an item of the list is not text.
    pub(crate) fn refuse_item<T>(self, item: &YamlNode) -> Option<T> {
        let message = format!("an item of `{}` must be text, not {}", self.key, item.noun());
        self.findings.refuse(item.span, &message, "put the value in quotes")
    }

    /// The value as one of the variants of `T`, by name.
    pub(crate) fn variant<T: FromStr + VariantNames>(self) -> Option<T> {
        let text = self.text()?;
        text.parse().ok().or_else(|| self.unknown(&text, &self.key, T::VARIANTS))
    }

    /// The value as one of `choices`, by name.
    pub(crate) fn choice<T: Copy>(self, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.unknown(&text, &self.key, &names)
    }

    /// Reports that `text`, the value, is not one of `names`.
    pub(crate) fn unknown<T>(self, text: &str, what: &str, names: &[&str]) -> Option<T> {
        self.not_one_of(names, text, &self.unknown_message(text, what), None)
    }

    pub(crate) fn unknown_message(self, text: &str, what: &str) -> String {
        match self.value.style {
            Style::Interpolated => format!("`{}` is set to an unknown {what}", self.key),
            _ => format!("unknown {what} `{text}`"),
        }
    }

    /// Reports in the words of `message` that `text` is not one of `names`; `otherwise` is the hint where it is like none
    /// of them.
    pub(crate) fn not_one_of<T>(
        self,
        names: &[&str],
        text: &str,
        message: &str,
        otherwise: Option<String>,
    ) -> Option<T> {
        let likely = suggest(text, names.iter().copied())
            .filter(|_| self.value.style != Style::Interpolated);
        let likely = likely.map(|name| format!("did you mean `{name}`?"));
        // `exact-match` is `exact_match`, and need not be read twice.
        let again = |name: &str| name.contains('-') && names.contains(&&*name.replace('-', "_"));
        let shown: Vec<&str> = names.iter().copied().filter(|name| !again(name)).collect();
        let error = Diagnostic::error(self.findings.place(self.value.span), message);
        let (error, hint) = if shown.len() <= MAX_CHOICES {
            (error.label(one_of(&shown)), likely.or(otherwise))
        } else {
            (error, likely.or_else(|| Some(some_of(&shown))))
        };
        self.findings.report(error, &hint.unwrap_or_default());
        None
    }

    /// The value of `name`, if the value is a mapping that has it.
    pub(crate) fn inner(self, name: &str) -> Option<Self> {
        self.entry.value.entry(name).map(|entry| Self { entry, ..self })
    }

    /// The entries of a mapping; reports anything else.
    pub(crate) fn entries(self) -> Option<Vec<Self>> {
        let Yaml::Map(entries) = &self.entry.value.value else {
            return self.wrong_type("a mapping", "");
        };
        Some(entries.iter().map(|entry| Self { entry, ..self }).collect())
    }

    /// The fields of a mapping that is a `section`; reports anything else.
    pub(crate) fn fields(self, section: &'static Section) -> Option<FieldSet<'n>> {
        self.entries()?;
        let owner = Some(self.key_span);
        Some(FieldSet {
            owner,
            ..FieldSet::new(self.entry.value.entries(), section, self.findings)
        })
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
    /// The value of fields that are absent or null. Its names are known.
    defaults: &'n [YamlEntry],
    section: &'static Section,
    /// The place that names the owner of the fields.
    owner: Option<SourceSpan>,
    /// Names that were refused elsewhere.
    refused: Vec<&'n str>,
    pub findings: &'n Findings,
}

impl<'n> FieldSet<'n> {
    pub(crate) fn new(
        entries: &'n [YamlEntry],
        section: &'static Section,
        findings: &'n Findings,
    ) -> Self {
        Self { entries, defaults: &[], section, owner: None, refused: Vec::new(), findings }
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
    pub(crate) fn take(&self, name: &str) -> Option<Field<'n>> {
        self.take_or_null(name).filter(|field| field.value.value != Yaml::Null)
    }

    /// The field `name`, unless it is absent.
    pub(crate) fn take_or_null(&self, name: &str) -> Option<Field<'n>> {
        let said = self.entries.iter().find(|entry| entry.key == name);
        let entry = match said {
            Some(said) if said.value.value != Yaml::Null => Some(said),
            said => self.defaults.iter().find(|entry| entry.key == name).or(said),
        };
        Some(Field { entry: entry?, findings: self.findings })
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.take(name)?.text()
    }

    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        self.take(name)?.texts()
    }

    pub(crate) fn path(&self, name: &str) -> Option<String> {
        self.take(name)?.path()
    }

    pub(crate) fn truth(&self, name: &str) -> Option<bool> {
        self.take(name)?.truth()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.take(name)?.number(self.shape(name))
    }

    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        self.take(name)?.seconds()
    }

    pub(crate) fn whole<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        self.take(name)?.whole(self.shape(name))
    }

    pub(crate) fn variant<T: FromStr + VariantNames>(&self, name: &str) -> Option<T> {
        self.take(name)?.variant()
    }

    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        self.take(name)?.choice(choices)
    }

    /// The `entries` of a mapping inside this one, and those `fields` of this one that it does not say itself.
    pub(crate) fn inherited(&self, fields: &[FieldSpec], entries: &[YamlEntry]) -> Vec<YamlEntry> {
        let of_this = fields.iter().filter_map(|field| self.take_or_null(field.name));
        let absent = of_this.filter(|field| entries.iter().all(|entry| entry.key != field.key));
        entries.iter().chain(absent.map(|field| field.entry)).cloned().collect()
    }

    /// Every field whose name `is_refused`; the caller reports them.
    pub(crate) fn refuse(&mut self, is_refused: fn(&str) -> bool) -> Vec<Field<'n>> {
        let refused = self.entries.iter().filter(|entry| is_refused(&entry.key));
        let refused: Vec<&YamlEntry> = refused.collect();
        self.refused.extend(refused.iter().map(|entry| entry.key.as_str()));
        let findings = self.findings;
        refused.into_iter().map(|entry| Field { entry, findings }).collect()
    }

    /// The field with the first or the second name; both are an error.
    pub(crate) fn take_either(&self, first: &str, second: &str) -> Option<Field<'n>> {
        match (self.take(first), self.take(second)) {
            (Some(_), Some(other)) => other.refuse_at_key(
                &format!("`{first}` and `{second}` are two names of one field"),
                "keep one",
            ),
            (one, other) => one.or(other),
        }
    }

    /// Reports every field that is not declared, and those that must be there and are not. Of what was refused, one was
    /// probably meant to be such a field.
    pub(crate) fn finish(self) {
        let owner = self.owner.filter(|_| self.refused.is_empty());
        for FieldSpec { name, missing: [message, hint], .. } in self.section.fields() {
            if let Some(owner) = owner.filter(|_| !message.is_empty() && self.take(name).is_none())
            {
                self.findings.error(owner, message, hint);
            }
        }
        let known: Vec<&str> = self.section.fields().map(|field| field.name).collect();
        for entry in self.entries {
            let name = entry.key.as_str();
            if known.contains(&name) || self.refused.contains(&name) {
                continue;
            }
            let hint = match suggest(name, known.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known fields: `{}`", known.join("`, `")),
            };
            let message = format!("{} has no field `{name}`", self.section.owner);
            self.findings.error(entry.key_span, &message, &hint);
        }
    }
}
