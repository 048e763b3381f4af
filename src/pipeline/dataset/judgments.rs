//! Judgments that were made elsewhere, as rows of a file: whose they are, the score, and why.
//!
//! Pure reading of rows. Which actions they are the outcomes of is found out by whoever imports them.

use serde_json::Value;

use crate::base::path::{Row, lookup};

/// What a field of a judgment is called in a row if nobody says.
const NAMES: [(JudgmentField, &[&str]); 7] = [
    (JudgmentField::Id, &["id", "sample_id"]),
    (JudgmentField::Model, &["model"]),
    (JudgmentField::Trial, &["trial"]),
    (JudgmentField::Judge, &["judge"]),
    (JudgmentField::Vote, &["vote"]),
    (JudgmentField::Score, &["score"]),
    (JudgmentField::Rationale, &["rationale", "feedback", "explanation", "reason"]),
];

/// A field of a judgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JudgmentField {
    /// The sample.
    Id,
    /// The model that was run.
    Model,
    /// The repetition of the target.
    Trial,
    /// The model that judged, where the grader has a panel.
    Judge,
    /// Which of the judge's votes it is, from 0.
    Vote,
    /// The score, on the judge's own scale: a number, or a list with one number a vote.
    Score,
    /// Why: a text, or a list with one text a vote.
    Rationale,
}

impl JudgmentField {
    /// The field that `--fields` calls `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, names)| names[0] == name).map(|(field, _)| *field)
    }

    /// The names of all fields.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, names)| names[0])
    }
}

/// One judgment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judgment {
    /// The sample.
    pub id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition of the target, from 0.
    pub trial: u32,
    /// The model that judged, if the row says so.
    pub judge: Option<String>,
    /// Which of the judge's votes it is; none takes the next.
    pub vote: Option<u32>,
    /// The score on the judge's own scale.
    pub score: f64,
    /// Why; empty if nothing is said.
    pub rationale: String,
}

/// The judgments of one row: several if its score is a list. `paths` say where fields stand that go by other names.
pub(crate) fn judgments(
    row: Row<'_>,
    paths: &[(JudgmentField, String)],
) -> Result<Vec<Judgment>, String> {
    let row = row.value();
    let get = |field: JudgmentField| value(&row, field, paths);
    let id = match get(JudgmentField::Id) {
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return Err("the row has no id".to_owned()),
    };
    let model = get(JudgmentField::Model).and_then(Value::as_str).map(str::to_owned);
    let judge = get(JudgmentField::Judge).and_then(Value::as_str).map(str::to_owned);
    let trial = whole(get(JudgmentField::Trial), "trial")?.unwrap_or(0);
    let vote = whole(get(JudgmentField::Vote), "vote")?;
    let rationale = get(JudgmentField::Rationale);
    let scores: Vec<&Value> = match get(JudgmentField::Score) {
        None | Some(Value::Null) => return Err("the row has no score".to_owned()),
        Some(Value::Array(scores)) if vote.is_none() => scores.iter().collect(),
        Some(score) => vec![score],
    };
    let is_list = scores.len() > 1
        || vote.is_none() && get(JudgmentField::Score).is_some_and(Value::is_array);
    let of = |(at, score): (usize, &Value)| {
        Ok(Judgment {
            id: id.clone(),
            model: model.clone(),
            trial,
            judge: judge.clone(),
            vote: if is_list { u32::try_from(at).ok() } else { vote },
            score: number(score)?,
            rationale: match rationale {
                Some(Value::Array(texts)) if is_list => text(texts.get(at)),
                other => text(other),
            },
        })
    };
    scores.into_iter().enumerate().map(of).collect()
}

fn value<'v>(
    row: &'v Value,
    field: JudgmentField,
    paths: &[(JudgmentField, String)],
) -> Option<&'v Value> {
    let said = paths.iter().find(|(said, _)| *said == field);
    let value = match said {
        Some((_, path)) => lookup(row, path),
        None => {
            let names = NAMES.iter().find(|(named, _)| *named == field).map(|(_, names)| *names);
            names.unwrap_or_default().iter().find_map(|name| row.get(name))
        }
    };
    // An empty cell of a CSV file is no value.
    value.filter(|value| !value.is_null() && value.as_str() != Some(""))
}

fn whole(value: Option<&Value>, name: &str) -> Result<Option<u32>, String> {
    let Some(value) = value else { return Ok(None) };
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or_else(|| format!("`{name}` is {value}, not a whole number from 0"))
}

fn number(value: &Value) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| format!("the score is {value}, not a number"))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{JudgmentField, judgments};
    use crate::base::path::Row;

    type Short<'a> = (&'a str, Option<u32>, f64, &'a str);

    fn check(row: &str, paths: &[(JudgmentField, &str)], expected: Result<&[Short<'_>], &str>) {
        let paths: Vec<(JudgmentField, String)> =
            paths.iter().map(|(field, path)| (*field, (*path).to_owned())).collect();
        let read = judgments(Row::new(row), &paths);
        let short = |read: &'_ [super::Judgment]| -> Vec<(String, Option<u32>, f64, String)> {
            read.iter()
                .map(|one| (one.id.clone(), one.vote, one.score, one.rationale.clone()))
                .collect()
        };
        let owned = |expected: &[Short<'_>]| -> Vec<(String, Option<u32>, f64, String)> {
            expected
                .iter()
                .map(|(id, vote, score, why)| ((*id).to_owned(), *vote, *score, (*why).to_owned()))
                .collect()
        };
        assert_eq!(
            read.map(|read| short(&read)),
            expected.map(owned).map_err(str::to_owned),
            "{row}"
        );
    }

    #[test]
    fn rows_hold_one_judgment_or_one_a_vote() {
        check(r#"{"id": "a", "score": 4, "rationale": "r"}"#, &[], Ok(&[("a", None, 4.0, "r")]));
        check(
            r#"{"sample_id": 7, "score": "0.5", "feedback": "f"}"#,
            &[],
            Ok(&[("7", None, 0.5, "f")]),
        );
        check(r#"{"id": "a", "vote": "2", "score": 1}"#, &[], Ok(&[("a", Some(2), 1.0, "")]));
        let votes: &[Short<'_>] = &[("1", Some(0), 4.0, "x"), ("1", Some(1), 5.0, "y")];
        let paths = [
            (JudgmentField::Id, "idx"),
            (JudgmentField::Score, "gpt.score"),
            (JudgmentField::Rationale, "why"),
        ];
        check(r#"{"idx": 1, "gpt": {"score": [4, 5]}, "why": ["x", "y"]}"#, &paths, Ok(votes));
        check(
            r#"{"id": "a", "score": [3], "rationale": ["z"]}"#,
            &[],
            Ok(&[("a", Some(0), 3.0, "z")]),
        );
        check(r#"{"id": "a", "score": [], "rationale": "z"}"#, &[], Ok(&[]));
    }

    #[test]
    fn what_is_no_judgment_says_why() {
        for (row, why) in [
            (r#"{"score": 1}"#, "the row has no id"),
            (r#"{"id": "", "score": 1}"#, "the row has no id"),
            (r#"{"id": "a"}"#, "the row has no score"),
            (r#"{"id": "a", "score": ""}"#, "the row has no score"),
            (r#"{"id": "a", "score": "high"}"#, "the score is \"high\", not a number"),
            (r#"{"id": "a", "score": [1, null]}"#, "the score is null, not a number"),
            (r#"{"id": "a", "score": "NaN"}"#, "the score is \"NaN\", not a number"),
            (r#"{"id": "a", "score": 1, "vote": -1}"#, "`vote` is -1, not a whole number from 0"),
            (
                r#"{"id": "a", "score": 1, "trial": 0.5}"#,
                "`trial` is 0.5, not a whole number from 0",
            ),
        ] {
            check(row, &[], Err(why));
        }
    }
}
