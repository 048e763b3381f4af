//! Judgments that were made elsewhere, as rows of a file: whose they are, the score, and why.
//!
//! Pure reading of rows. Which actions they are the outcomes of is found out by whoever imports them.

use serde_json::Value;

use super::score_map::{ScoreMap, VoteValue};
use evalrs_base::path::{Row, lookup};

/// What a field of a judgment is called in a row by default.
const NAMES: [(JudgmentField, &[&str]); 7] = [
    (JudgmentField::Id, &["id", "sample_id"]),
    (JudgmentField::Model, &["model"]),
    (JudgmentField::Trial, &["trial"]),
    (JudgmentField::Judge, &["judge", "who"]),
    (JudgmentField::Vote, &["vote"]),
    (JudgmentField::Score, &["score"]),
    (JudgmentField::Rationale, &["rationale", "feedback", "explanation", "reason"]),
];

/// A field of a judgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgmentField {
    /// The sample.
    Id,
    /// The model that was run.
    Model,
    /// The repetition of the target.
    Trial,
    /// Who judged: a model of a panel, a person.
    Judge,
    /// Which of the judge's votes it is, from 0.
    Vote,
    /// The score, on the judge's own scale: a value, a list with one a vote, or one in each of several fields.
    Score,
    /// Why: a text, or a list with one text a vote.
    Rationale,
}

impl JudgmentField {
    /// The field that `--fields` calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, names)| names[0] == name).map(|(field, _)| *field)
    }

    /// Whether several paths may be named, which are votes side by side.
    pub fn takes_columns(self) -> bool {
        matches!(self, Self::Score | Self::Rationale | Self::Judge)
    }

    /// The constant value `text` of a field in every row, if it is not a path into any: judge, model, and numbers of
    /// trials and votes can be the same in all of them.
    fn constant(self, text: &str) -> Option<Value> {
        match self {
            Self::Model | Self::Judge => Some(Value::from(text)),
            Self::Trial | Self::Vote => text.parse::<u32>().ok().map(Value::from),
            Self::Id | Self::Score | Self::Rationale => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(field, _)| *field == self).map_or("", |(_, names)| names[0])
    }

    /// The names of all fields.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, names)| names[0])
    }
}

/// Where the fields of judgments stand in a row, and what their scores are written as.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgmentLayout {
    /// The paths of a field. Of the score, why it was given and who gave it there may be several: a vote each.
    pub fields: Vec<(JudgmentField, Vec<String>)>,
    /// What values stand for.
    pub map: ScoreMap,
}

impl JudgmentLayout {
    /// The paths of a field, if set.
    pub fn paths(&self, field: JudgmentField) -> Option<&[String]> {
        self.fields.iter().find(|(named, _)| *named == field).map(|(_, paths)| paths.as_slice())
    }
}

/// One judgment.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    /// The sample.
    pub id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition of the target, from 0, if the row says so.
    pub trial: Option<u32>,
    /// Who judged, if the row says so.
    pub judge: Option<String>,
    /// Which of the judge's votes it is; none takes the next.
    pub vote: Option<u32>,
    /// The score on the judge's own scale, or that there is none.
    pub value: VoteValue,
    /// Why; empty if not given.
    pub rationale: String,
    /// The digest of the answer that was judged, in files that evalrs writes.
    pub answer: Option<String>,
}

/// What a row calls the digest of the answer that was judged.
pub const OF_ANSWER: &str = "of_answer";

/// What a row without a score calls what stood in its place.
pub const NO_SCORE: &str = "error";

/// Reads the judgments of one file.
pub struct JudgmentReader<'a> {
    layout: &'a JudgmentLayout,
    /// What fields are in every row, whose paths lead nowhere in any of them; by their place among the paths of a field.
    constants: Vec<(JudgmentField, usize, Value)>,
}

impl<'a> JudgmentReader<'a> {
    /// A reader of the file that has these rows.
    pub fn new<'r>(
        layout: &'a JudgmentLayout,
        rows: &(impl Iterator<Item = &'r str> + Clone),
    ) -> Self {
        let leads_somewhere =
            |path: &String| rows.clone().any(|row| lookup(&Row::new(row).value(), path).is_some());
        let of_field = |(field, paths): &(JudgmentField, Vec<String>)| {
            let constant = |(at, path): (usize, &String)| {
                let constant = field.constant(path)?;
                (!leads_somewhere(path)).then_some((*field, at, constant))
            };
            paths.iter().enumerate().filter_map(constant).collect::<Vec<_>>()
        };
        Self { layout, constants: layout.fields.iter().flat_map(of_field).collect() }
    }

    /// The judgments of one row: several if its score is a list, or is in several fields.
    pub fn judgments(&self, row: Row<'_>) -> Result<Vec<Judgment>, String> {
        let row = row.value();
        let one = |field| self.value(&row, field, 0);
        let id = match one(JudgmentField::Id) {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err("the row has no id".to_owned()),
        };
        let model = one(JudgmentField::Model).and_then(written);
        let trial = whole(one(JudgmentField::Trial), "trial")?;
        let answer = row.get(OF_ANSWER).and_then(Value::as_str).map(str::to_owned);
        let vote = whole(one(JudgmentField::Vote), "vote")?;
        let all = self.cast(&row, vote)?.into_iter();
        let all = all.map(|CastVote { judge, vote, value, rationale }| {
            let id = id.clone();
            let model = model.clone();
            let answer = answer.clone();
            Judgment { id, model, trial, judge, vote, value, rationale, answer }
        });
        Ok(all.collect())
    }

    /// What was voted in a row whose vote, if it says so, is `vote`.
    fn cast(&self, row: &Value, vote: Option<u32>) -> Result<Vec<CastVote>, String> {
        if let Some(columns) = self.layout.paths(JudgmentField::Score).filter(|it| it.len() > 1) {
            if vote.is_some() {
                return Err(
                    "the row has the number of one vote, but scores in several fields".to_owned()
                );
            }
            return self.of_columns(row, columns.len());
        }
        let score = self.value(row, JudgmentField::Score, 0);
        let rationale = self.value(row, JudgmentField::Rationale, 0);
        let judge = self.value(row, JudgmentField::Judge, 0).and_then(written);
        let Some(Value::Array(scores)) = score.filter(|_| vote.is_none()) else {
            let failed = || {
                row.get(NO_SCORE)
                    .and_then(Value::as_str)
                    .filter(|it| !it.is_empty())
                    .map(|it| VoteValue::Failed(it.to_owned()))
            };
            let value =
                self.layout.map.read(score)?.or_else(failed).ok_or("the row has no score")?;
            return Ok(vec![CastVote { judge, vote, value, rationale: text(rationale) }]);
        };
        let of = |(at, score): (usize, &Value)| {
            let value = self.layout.map.read(Some(score))?.ok_or("a score of the list is null")?;
            let rationale = match rationale {
                Some(Value::Array(texts)) => text(texts.get(at)),
                other => text(other),
            };
            Ok(CastVote { judge: judge.clone(), vote: u32::try_from(at).ok(), value, rationale })
        };
        scores.iter().enumerate().map(of).collect()
    }

    /// The votes of a row that stand in fields of their own. Who left one empty has not voted.
    fn of_columns(&self, row: &Value, columns: usize) -> Result<Vec<CastVote>, String> {
        let judges = self.layout.paths(JudgmentField::Judge).map_or(0, <[String]>::len);
        let mut all = Vec::new();
        for at in 0..columns {
            let score = self.value(row, JudgmentField::Score, at);
            let Some(value) = self.layout.map.read(score)? else { continue };
            let of_column = |field| self.value(row, field, at);
            let judge = match judges {
                0 | 1 => self.value(row, JudgmentField::Judge, 0),
                _ => of_column(JudgmentField::Judge),
            };
            all.push(CastVote {
                judge: judge.and_then(written),
                // Judges of their own have votes of their own.
                vote: if judges > 1 { None } else { u32::try_from(at).ok() },
                value,
                rationale: text(of_column(JudgmentField::Rationale)),
            });
        }
        Ok(all)
    }

    /// The value of a field in a row, where it has several of them the one `at` its place.
    fn value<'v>(&'v self, row: &'v Value, field: JudgmentField, at: usize) -> Option<&'v Value> {
        if let Some((.., constant)) = self.constants.iter().find(|it| (it.0, it.1) == (field, at)) {
            return Some(constant);
        }
        let value = match self.layout.paths(field) {
            Some(paths) => lookup(row, paths.get(at)?),
            None if at > 0 => None,
            None => {
                let names =
                    NAMES.iter().find(|(named, _)| *named == field).map(|(_, names)| *names);
                names.unwrap_or_default().iter().find_map(|name| row.get(name))
            }
        };
        // An empty cell of a CSV file is no value.
        value.filter(|value| !value.is_null() && value.as_str() != Some(""))
    }
}

/// A vote of a row.
struct CastVote {
    judge: Option<String>,
    vote: Option<u32>,
    value: VoteValue,
    rationale: String,
}

/// A text, or the meaning of one.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn whole(value: Option<&Value>, name: &str) -> Result<Option<u32>, String> {
    let Some(value) = value else { return Ok(None) };
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or_else(|| format!("`{name}` is {value}, not a whole number from 0"))
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
    use super::{JudgmentField, JudgmentLayout, JudgmentReader};
    use crate::votes::score_map::{ScoreMap, VoteMeaning, VoteValue};
    use evalrs_base::path::Row;

    /// `id vote judge score rationale` of each judgment of a row.
    fn told(row: &str, layout: &JudgmentLayout) -> String {
        let reader = JudgmentReader::new(layout, &[row].into_iter());
        let read = match reader.judgments(Row::new(row)) {
            Ok(read) => read,
            Err(message) => return message,
        };
        let of = |one: &super::Judgment| {
            let vote = one.vote.map_or("-".to_owned(), |vote| vote.to_string());
            let value = match &one.value {
                VoteValue::Score(score) => score.to_string(),
                VoteValue::Failed(text) => format!("!{text}"),
            };
            let judge = one.judge.as_deref().unwrap_or("-");
            format!("{} {vote} {judge} {value} {}", one.id, one.rationale).trim_end().to_owned()
        };
        read.iter().map(of).collect::<Vec<_>>().join(", ")
    }

    fn layout(fields: &[(JudgmentField, &[&str])]) -> JudgmentLayout {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let fields = fields.iter().map(|(field, paths)| (*field, owned(paths))).collect();
        JudgmentLayout { fields, map: ScoreMap::default() }
    }

    #[test]
    fn rows_hold_one_judgment_or_one_a_vote() {
        let plain = JudgmentLayout::default();
        let moved = layout(&[
            (JudgmentField::Id, &["idx"]),
            (JudgmentField::Score, &["gpt.score"]),
            (JudgmentField::Rationale, &["why"]),
        ]);
        for (row, layout, expected) in [
            (r#"{"id": "a", "score": 4, "rationale": "r"}"#, &plain, "a - - 4 r"),
            (r#"{"sample_id": 7, "score": "0.5", "feedback": "f"}"#, &plain, "7 - - 0.5 f"),
            (r#"{"id": "a", "vote": "2", "score": 1}"#, &plain, "a 2 - 1"),
            (r#"{"id": "a", "who": "eve", "score": 1}"#, &plain, "a - eve 1"),
            (
                r#"{"idx": 1, "gpt": {"score": [4, 5]}, "why": ["x", "y"]}"#,
                &moved,
                "1 0 - 4 x, 1 1 - 5 y",
            ),
            (r#"{"id": "a", "score": [3], "rationale": ["z"]}"#, &plain, "a 0 - 3 z"),
            (r#"{"id": "a", "score": [], "rationale": "z"}"#, &plain, ""),
        ] {
            assert_eq!(told(row, layout), expected, "{row}");
        }
    }

    #[test]
    fn columns_are_votes_and_what_no_row_has_is_the_same_in_all() {
        let columns: &[&str] = &["one", "two", "three"];
        let row = r#"{"id": "a", "one": 2, "two": "", "three": "1", "why": "w", "n": "m"}"#;
        let scores = (JudgmentField::Score, columns);
        for (fields, expected) in [
            (layout(&[scores]), "a 0 - 2, a 2 - 1"),
            (layout(&[scores, (JudgmentField::Judge, &["people"])]), "a 0 people 2, a 2 people 1"),
            (layout(&[scores, (JudgmentField::Judge, &["n"])]), "a 0 m 2, a 2 m 1"),
            (
                layout(&[scores, (JudgmentField::Rationale, &["none", "none", "why"])]),
                "a 0 - 2, a 2 - 1 w",
            ),
            (
                layout(&[scores, (JudgmentField::Vote, &["1"])]),
                "the row has the number of one vote, but scores in several fields",
            ),
            (layout(&[(JudgmentField::Score, &["one"]), (JudgmentField::Vote, &["1"])]), "a 1 - 2"),
            (layout(&[(JudgmentField::Score, &["four"])]), "the row has no score"),
            (layout(&[(JudgmentField::Id, &["four"])]), "the row has no id"),
        ] {
            assert_eq!(told(row, &fields), expected, "{fields:?}");
        }
        let seats =
            layout(&[(JudgmentField::Score, &["x", "y"]), (JudgmentField::Judge, &["p", "q"])]);
        let row = r#"{"id": "a", "x": 1, "y": 2, "p": "eve", "q": "bob"}"#;
        assert_eq!(told(row, &seats), "a - eve 1, a - bob 2");
    }

    #[test]
    fn values_are_mapped_and_may_be_failures() {
        let entries = [("Tie", VoteMeaning::Score(0.0)), ("garbage", VoteMeaning::Error)];
        let entries = entries.map(|(name, meaning)| (name.to_owned(), meaning)).to_vec();
        let map = ScoreMap { entries, takes_truths: false };
        let mapped = JudgmentLayout { map, ..JudgmentLayout::default() };
        assert_eq!(
            told(r#"{"id": "a", "score": ["Tie", "garbage", 1]}"#, &mapped),
            "a 0 - 0, a 1 - !garbage, a 2 - 1"
        );
    }

    #[test]
    fn what_is_no_judgment_says_why() {
        for (row, why) in [
            (r#"{"score": 1}"#, "the row has no id"),
            (r#"{"id": "", "score": 1}"#, "the row has no id"),
            (r#"{"id": "a"}"#, "the row has no score"),
            (r#"{"id": "a", "score": ""}"#, "the row has no score"),
            (r#"{"id": "a", "score": "high"}"#, "the score is \"high\", not a number"),
            (r#"{"id": "a", "score": [1, null]}"#, "a score of the list is null"),
            (r#"{"id": "a", "score": "NaN"}"#, "the score is \"NaN\", not a number"),
            (r#"{"id": "a", "score": 1, "vote": -1}"#, "`vote` is -1, not a whole number from 0"),
            (
                r#"{"id": "a", "score": 1, "trial": 0.5}"#,
                "`trial` is 0.5, not a whole number from 0",
            ),
        ] {
            assert_eq!(told(row, &JudgmentLayout::default()), why);
        }
    }
}
