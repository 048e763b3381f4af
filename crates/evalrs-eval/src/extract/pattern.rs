//! The `pattern` extractor: Python's `re.search` and `re.findall` over the newest message that matches.
//!
//! `group` means two things, as it always has: a group of the match if one match is asked for, but, of all
//! matches of a pattern with two groups or more, an index into the captures from 0. One difference to
//! `findall`: after an empty match the search goes on one character further, so a pattern that prefers
//! nothing over something (`|a`) finds only the nothing.

use std::sync::Arc;

use python_re::{Captures, Regex, RegexProblem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::extractor::{ExtractorInfo, options};
use super::view::ExtractError;
use crate::options::{problem, schema};
use evalrs_model::spec::OptionProblem;

pub(super) const PATTERN: ExtractorInfo = ExtractorInfo {
    id: "pattern",
    name: "Pattern",
    description: "What a pattern matches in the newest assistant message that matches it.",
    options: schema::<PatternOptions>,
    compile: |config| {
        let pattern = PatternExtractor::new(config)?;
        Ok(Arc::new(move |from| pattern.extract(from.said().rev())))
    },
};

/// Options of `pattern`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PatternOptions {
    /// A pattern of Python's `re`.
    pattern: String,
    /// The group to take, by number or name; 0 is the whole match. With `search_all` and two groups or more, the capture, counted from 0.
    #[schemars(extend("type" = ["integer", "string"], "default" = 0))]
    group: Option<Value>,
    /// Whether all matches of the message are taken, joined with one space.
    #[serde(default)]
    search_all: bool,
}

/// A pattern and what is taken of its matches.
struct PatternExtractor {
    regex: Regex,
    search_all: bool,
    group: usize,
}

impl PatternExtractor {
    /// Compiles the pattern and finds the group.
    fn new(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let PatternOptions { pattern, group, search_all } = options(config)?;
        let wrong = |name: &str, message| vec![problem(vec![name.to_owned()], message)];
        let regex = Regex::new(&pattern).map_err(|error| {
            wrong("pattern", format!("`pattern` is not a valid pattern: {error}"))
        })?;
        let group = match group {
            Some(group) => group_index(&regex, &group, search_all)
                .map_err(|message| wrong("group", message))?,
            None if search_all && regex.group_count() > 0 => 1,
            None => 0,
        };
        Ok(Self { regex, search_all, group })
    }

    /// What matches in the first of `texts` that matches at all; nothing if none does.
    fn extract<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<String, ExtractError> {
        for text in texts {
            let Some(first) =
                self.regex.captures_at(text, 0).map_err(|problem| failed(&problem))?
            else {
                continue;
            };
            if self.search_all {
                return self.all(first, text).map_err(|problem| failed(&problem));
            }
            return Ok(self.group_of(&first, text).to_owned());
        }
        Ok(String::new())
    }

    fn all(&self, first: Captures, text: &str) -> Result<String, RegexProblem> {
        let mut found = Vec::new();
        let mut next = Some(first);
        while let Some(captures) = next {
            found.push(self.group_of(&captures, text));
            next = match after(&captures, text) {
                Some(start) => self.regex.captures_at(text, start)?,
                None => None,
            };
        }
        Ok(found.join(" "))
    }

    /// The text of the group; empty if it took no part.
    fn group_of<'t>(&self, captures: &Captures, text: &'t str) -> &'t str {
        let group = captures.groups.get(self.group).cloned().flatten();
        group.and_then(|span| text.get(span)).unwrap_or_default()
    }
}

/// Where the search goes on after a match, if the text is not over.
fn after(captures: &Captures, text: &str) -> Option<usize> {
    let whole = captures.groups.first()?.clone()?;
    if !whole.is_empty() {
        return Some(whole.end);
    }
    text.get(whole.end..)?.chars().next().map(|skipped| whole.end + skipped.len_utf8())
}

/// The group of the match that the option `group` names.
fn group_index(regex: &Regex, group: &Value, search_all: bool) -> Result<usize, String> {
    let count = regex.group_count();
    if search_all && count < 2 {
        return Ok(count);
    }
    let found = match group {
        Value::String(name) if !search_all => regex.group_index(name),
        Value::Number(number) if search_all => {
            number.as_i64().and_then(|number| capture_index(number, count))
        }
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .filter(|group| *group <= count),
        _ => None,
    };
    let counted = if search_all { ", counted from 0 in `search_all`" } else { "" };
    let what = if search_all { "capture" } else { "group" };
    found.ok_or_else(|| format!("no {what} {group}: the pattern has {count}{counted}"))
}

/// The group of the capture that Python indexes with `number`: from 0, negative from the end.
fn capture_index(number: i64, count: usize) -> Option<usize> {
    let from_end = usize::try_from(number.unsigned_abs()).ok()?;
    match number {
        0.. => (from_end < count).then_some(from_end + 1),
        _ => (from_end <= count).then(|| count - from_end + 1),
    }
}

fn failed(problem: &RegexProblem) -> ExtractError {
    ExtractError::Pattern(problem.to_string())
}
