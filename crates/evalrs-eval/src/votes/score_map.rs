//! The scores that recorded values stand for: letters, words, codes of other tools; and which values stand for none.

use serde_json::Value;

use evalrs_base::diagnostic::clipped;
use evalrs_base::python::strip;

/// The meaning of a value that is not a score.
pub(crate) const ERROR: &str = "error";

/// The verdict of one vote.
#[derive(Clone, Debug, PartialEq)]
pub enum VoteValue {
    /// A score, on the scale of the voter.
    Score(f64),
    /// No score: what stood in its place.
    Failed(String),
}

/// The meanings of values, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreMap {
    /// The values and the meaning of each.
    pub entries: Vec<(String, VoteMeaning)>,
    /// Whether true and false, however they are written, are 1 and 0: on a scale from 0 to 1.
    pub takes_truths: bool,
}

/// The meaning of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VoteMeaning {
    /// This score.
    Score(f64),
    /// No score: the vote failed.
    Error,
}

impl VoteMeaning {
    /// Reads a number, or `error`.
    pub fn of(text: &str) -> Option<Self> {
        match text.trim() {
            ERROR => Some(Self::Error),
            number => finite(number).map(Self::Score),
        }
    }
}

impl ScoreMap {
    /// The meaning of `value`; none if it is null, which is no value. What the map does not name is a number, or
    /// else an error that says why.
    pub fn read(&self, value: Option<&Value>) -> Result<Option<VoteValue>, String> {
        let value = value.filter(|value| !value.is_null() && value.as_str() != Some(""));
        let written = value.map_or_else(|| "null".to_owned(), as_text);
        let entries = self.entries.iter().map(|(name, meaning)| (name.as_str(), *meaning));
        if let Some(meaning) = meaning_of(&entries, value) {
            return Ok(Some(match meaning {
                VoteMeaning::Score(score) => VoteValue::Score(score),
                VoteMeaning::Error => VoteValue::Failed(written),
            }));
        }
        let Some(value) = value else { return Ok(None) };
        let truth = truth(&written).filter(|_| self.takes_truths);
        match number(value).or(truth) {
            Some(number) => Ok(Some(VoteValue::Score(number))),
            None => Err(self.refusal(value)),
        }
    }

    fn refusal(&self, value: &Value) -> String {
        let message = format!("the score is {}, not a number", clipped(&value.to_string()));
        if self.entries.is_empty() {
            return message;
        }
        let names: Vec<String> =
            self.entries.iter().take(12).map(|(name, _)| format!("`{}`", clipped(name))).collect();
        format!("{message}, and none of {}", names.join(", "))
    }
}

/// What a map of values has for `value`, or for null: under its text, under `true` or `false` however these are written, or
/// under the number that it is, such as `1` for 1.0 and for the text "1.0"; in this order.
pub(crate) fn meaning_of<'m, M>(
    entries: &(impl Iterator<Item = (&'m str, M)> + Clone),
    value: Option<&Value>,
) -> Option<M> {
    let written = value.map_or_else(|| "null".to_owned(), as_text);
    let named = |is_it: &dyn Fn(&str) -> bool| {
        entries.clone().find(|(name, _)| is_it(name)).map(|(_, meaning)| meaning)
    };
    named(&|name| name == written)
        .or_else(|| {
            truth(&written).and_then(|_| named(&|name| name.eq_ignore_ascii_case(&written)))
        })
        .or_else(|| {
            let number = number(value?)?;
            named(&|name| finite(name) == Some(number))
        })
}

/// The value as a map names it: text without white space around it, anything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => strip(text).to_owned(),
        other => other.to_string(),
    }
}

/// 1 for `true` and 0 for `false`, also as Python writes them.
fn truth(written: &str) -> Option<f64> {
    let is = |word: &str| written.eq_ignore_ascii_case(word);
    if is("true") { Some(1.0) } else { is("false").then_some(0.0) }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|number| number.is_finite()),
        Value::String(text) => finite(text),
        _ => None,
    }
}

/// A finite number; zero has no sign.
fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite()).map(|number| number + 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ScoreMap, VoteMeaning, VoteValue};

    fn map(entries: &[(&str, &str)]) -> ScoreMap {
        let entry = |(name, meaning): &(&str, &str)| {
            ((*name).to_owned(), VoteMeaning::of(meaning).unwrap())
        };
        ScoreMap { entries: entries.iter().map(entry).collect(), takes_truths: false }
    }

    fn told(map: &ScoreMap, value: &Value) -> String {
        match map.read(Some(value)) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(VoteValue::Score(score))) => score.to_string(),
            Ok(Some(VoteValue::Failed(text))) => format!("failed: {text}"),
            Err(message) => message,
        }
    }

    #[test]
    fn values_are_mapped_first_and_numbers_after() {
        let of = map(&[
            ("Tie", "0"),
            ("garbage", "error"),
            ("2", "-1"),
            ("true", "1"),
            ("null", "error"),
        ]);
        for (value, expected) in [
            (json!("Tie"), "0"),
            (json!(" Tie\n"), "0"),
            (json!("garbage"), "failed: garbage"),
            (json!(1), "1"),
            (json!("1.5"), "1.5"),
            (json!(2), "-1"),
            (json!(2.0), "-1"),
            (json!("2"), "-1"),
            (json!(true), "1"),
            (json!("True"), "1"),
            (json!(null), "failed: null"),
            (json!(""), "failed: null"),
            (
                json!("tie"),
                "the score is \"tie\", not a number, and none of `Tie`, `garbage`, `2`, `true`, `null`",
            ),
        ] {
            assert_eq!(told(&of, &value), expected, "{value}");
        }
        let none = ScoreMap::default();
        for (value, expected) in [
            (json!(null), "nothing"),
            (json!(""), "nothing"),
            (json!(-0.0), "0"),
            (json!("NaN"), "the score is \"NaN\", not a number"),
            (json!(true), "the score is true, not a number"),
            (json!([1]), "the score is [1], not a number"),
        ] {
            assert_eq!(told(&none, &value).replace("-0", "0"), expected, "{value}");
        }
        let truths = ScoreMap { takes_truths: true, ..ScoreMap::default() };
        for (value, expected) in [(json!(true), "1"), (json!("False"), "0"), (json!(0.5), "0.5")] {
            assert_eq!(told(&truths, &value), expected, "{value}");
        }
    }

    #[test]
    fn meanings_are_numbers_or_error() {
        for (text, expected) in [
            ("0", Some(VoteMeaning::Score(0.0))),
            (" 1e3", Some(VoteMeaning::Score(1000.0))),
            ("error", Some(VoteMeaning::Error)),
            ("Error", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(VoteMeaning::of(text), expected, "{text}");
        }
    }
}
