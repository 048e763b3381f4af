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

use super::extractor::{ExtractError, ExtractorInfo, options as read};
use crate::options::{self, problem, schema};
use evalrs_model::spec::OptionProblem;

pub(super) const PATTERN: ExtractorInfo = ExtractorInfo {
    id: "pattern",
    name: "Pattern",
    description: "The match of a Python pattern, in the newest assistant message that it matches.",
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
    fn new(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let PatternOptions { pattern, group, search_all } = read(config)?;
        let regex = options::pattern(&pattern)?;
        let group = match group {
            Some(group) => group_index(&regex, &group, search_all)
                .map_err(|message| vec![problem(&["group"], message)])?,
            None if search_all && regex.group_count() > 0 => 1,
            None => 0,
        };
        Ok(Self { regex, search_all, group })
    }

    /// What matches in the first of `texts` that matches at all; nothing if none does.
    fn extract<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<String, ExtractError> {
        let most = if self.search_all { usize::MAX } else { 1 };
        for text in texts {
            let found: Result<Vec<&str>, RegexProblem> = self
                .regex
                .find_all(text)
                .take(most)
                .map(|found| Ok(self.group_of(&found?, text)))
                .collect();
            let found = found.map_err(|problem| ExtractError::Pattern(problem.to_string()))?;
            if !found.is_empty() {
                return Ok(found.join(" "));
            }
        }
        Ok(String::new())
    }

    /// The text of the group; empty if it took no part.
    fn group_of<'t>(&self, captures: &Captures, text: &'t str) -> &'t str {
        let group = captures.groups.get(self.group).cloned().flatten();
        group.and_then(|span| text.get(span)).unwrap_or_default()
    }
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
    let from_start = if number < 0 { number + i64::try_from(count).ok()? } else { number };
    usize::try_from(from_start).ok().filter(|index| *index < count).map(|index| index + 1)
}
