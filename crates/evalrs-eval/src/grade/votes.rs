//! The grader of recorded votes: it combines them, and never calls a judge.
//!
//! Votes stand in fields of the row, or in a file of their own, which whoever plans has read. A vote of another answer
//! than the one that is graded does not count: nobody knows what that voter would say now.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::combined::{combined, pair_agreement, spread};
use super::fields::without_row;
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::recorded::{RecordedScale, outside, scale_problem, score_scale};
use super::verdict::Grade;
use crate::options::{problem, read};
use crate::votes::answer_digest;
use crate::votes::judgments::{JudgmentField, JudgmentLayout};
use crate::votes::score_map::{ERROR, ScoreMap, VoteMeaning, VoteValue};
use evalrs_base::diagnostic::clipped;
use evalrs_base::json_syntax::as_text;
use evalrs_base::text::count;
use evalrs_model::spec::{Combine, OptionProblem, Scale, ToolSpec};

/// What a suite calls the grader.
pub const ID: &str = "recorded_votes";

/// The kind of the error of an answer that nobody voted on.
const NO_VOTES: &str = "no_votes";

/// The most votes that a rationale names.
const SHOWN_VOTES: usize = 12;

pub(super) const RECORDED_VOTES: GraderInfo = GraderInfo {
    id: ID,
    name: "Recorded votes",
    description: "Combines recorded votes of reviewers or other judges, and calls no judge.",
    reads_row: true,
    scoring: "the votes combined, mapped to 0.0 to 1.0 if they have a scale",
    ..GraderInfo::of::<RecordedVotes>()
};

/// Options of `recorded_votes`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecordedVotes {
    /// The dotted path of the votes in the row, or several paths; a list there is several votes. If absent, a file has
    /// the votes.
    #[serde(default)]
    votes: Option<OneOrMany>,
    /// The file of votes; if absent, the one that `evalrs cache import` keeps beside the suite.
    #[serde(default)]
    path: Option<String>,
    /// The path of id, model, trial, judge, vote, score and rationale in the file's rows.
    #[serde(default)]
    fields: Option<BTreeMap<String, OneOrMany>>,
    /// Written value → score; `error` is a failed vote. Other values are numbers.
    #[serde(default)]
    map: Option<BTreeMap<String, MappedVote>>,
    /// The range of the votes; 0 to 1 if absent.
    #[serde(default)]
    scale: Option<RecordedScale>,
    /// How votes become one score.
    #[serde(default)]
    combine: VoteCombination,
    /// The result of an answer without votes.
    #[serde(default)]
    missing: MissingVotes,
}

/// How votes become one score.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum VoteCombination {
    /// The middle vote; of an even number, the mean of the middle two.
    #[default]
    Median,
    /// The mean.
    Mean,
    /// The most frequent vote; of several such, their mean.
    Majority,
}

impl From<VoteCombination> for Combine {
    fn from(combine: VoteCombination) -> Self {
        match combine {
            VoteCombination::Median => Self::Median,
            VoteCombination::Mean => Self::Mean,
            VoteCombination::Majority => Self::Majority,
        }
    }
}

/// The result of an answer without votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum MissingVotes {
    /// Not applicable.
    #[default]
    NotApplicable,
    /// An error.
    Error,
}

// A text, or several. (A schema would repeat a doc comment.)
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, with = "Value", extend(
    "type" = ["string", "array"],
    "items" = {"type": "string", "minLength": 1},
    "minLength" = 1,
    "minItems" = 1,
))]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

// A score, or the word for none.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(inline, with = "Value", extend("type" = ["number", "string"]))]
struct MappedVote(VoteMeaning);

impl TryFrom<Value> for MappedVote {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        VoteMeaning::of(&as_text(&value))
            .map(Self)
            .ok_or_else(|| format!("a score is a number or `{ERROR}`"))
    }
}

/// A file of votes, as a grader names it.
#[derive(Clone, Debug, PartialEq)]
pub struct VoteFileSpec {
    /// Its path; none is the file beside the suite.
    pub path: Option<String>,
    /// How its rows are read.
    pub layout: JudgmentLayout,
}

/// The file of votes that a grader reads, if it is one of votes that do not stand in the row.
pub fn vote_file(spec: &ToolSpec) -> Option<VoteFileSpec> {
    let options = of_votes(spec)?;
    if options.votes.is_some() {
        return None;
    }
    let layout = options.layout().ok()?;
    Some(VoteFileSpec { path: options.path, layout })
}

/// Whether a grader is one of recorded votes.
pub fn is_of_votes(spec: &ToolSpec) -> bool {
    RECORDED_VOTES.is_called(&spec.function)
}

/// The scale of the recorded scores or votes that a grader takes over, if it does and they have one.
pub fn recorded_scale(spec: &ToolSpec) -> Option<Scale> {
    of_votes(spec).map_or_else(|| score_scale(spec), |options| options.scale.map(Scale::from))
}

fn of_votes(spec: &ToolSpec) -> Option<RecordedVotes> {
    let options: RecordedVotes = is_of_votes(spec).then(|| read(&spec.config).ok())??;
    options.problems().is_empty().then_some(options)
}

/// A vote, as far as it could be read.
struct CountedVote<'a> {
    /// On the scale of the votes, or why there is no score.
    score: Result<f64, String>,
    rationale: &'a str,
}

impl GraderOptions for RecordedVotes {
    fn problems(&self) -> Vec<OptionProblem> {
        let scale = self.scale();
        let mut problems: Vec<OptionProblem> = scale_problem(scale).into_iter().collect();
        for (value, MappedVote(meaning)) in self.map.iter().flatten() {
            if matches!(meaning, VoteMeaning::Score(score) if !scale.contains(*score)) {
                problems.push(outside(value, scale));
            }
        }
        for (name, is_there) in [("path", self.path.is_some()), ("fields", self.fields.is_some())] {
            if is_there && self.votes.is_some() {
                let message =
                    format!("`{name}` is of votes in a file, and `votes` of fields of the row");
                problems.push(problem(&[name], message));
            }
        }
        problems.extend(self.layout().err().map(|message| problem(&["fields"], message)));
        problems
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let votes = match &self.votes {
            Some(paths) => self.of_row(paths.all(), subject),
            None => self.of_file(subject),
        };
        let cast: Vec<&CountedVote<'_>> = votes.iter().flatten().collect();
        let scores: Vec<f64> =
            cast.iter().filter_map(|vote| vote.score.as_ref().ok().copied()).collect();
        if !cast.is_empty() && scores.len() * 2 <= cast.len() {
            let failed = cast.iter().find_map(|vote| vote.score.as_ref().err());
            return Err(Grade::failed("invalid_score", failed.cloned().unwrap_or_default()));
        }
        let Some(native) = combined(self.combine.into(), scores.clone()) else {
            return Err(self.of_none(subject));
        };
        let unit = self.scale().unit(native).clamp(0.0, 1.0);
        let grade = Grade::new(unit, rationale(&cast, native, &scores));
        Ok(grade.with_metadata(self.metadata(&votes, native, subject)))
    }
}

impl RecordedVotes {
    fn scale(&self) -> Scale {
        self.scale.map_or(Scale::UNIT, Scale::from)
    }

    fn map(&self) -> ScoreMap {
        let entries = self.map.iter().flatten().map(|(value, vote)| (value.clone(), vote.0));
        ScoreMap { entries: entries.collect(), takes_truths: self.scale.is_none() }
    }

    /// How the rows of the file are read, or what is wrong with its fields.
    fn layout(&self) -> Result<JudgmentLayout, String> {
        let mut fields = Vec::new();
        for (name, paths) in self.fields.iter().flatten() {
            let Some(field) = JudgmentField::named(name) else {
                let names: Vec<&str> = JudgmentField::names().collect();
                return Err(format!("a vote has no `{name}`: it has {}", names.join(", ")));
            };
            let paths = paths.all().to_vec();
            if paths.len() > 1 && !field.takes_columns() {
                return Err(format!("`{name}` is one field"));
            }
            fields.push((field, paths));
        }
        Ok(JudgmentLayout { fields, map: self.map() })
    }

    /// The grade of an answer that nobody voted on.
    fn of_none(&self, subject: &Subject<'_>) -> Grade {
        let given = subject.votes.map_or(0, |given| given.votes.iter().flatten().count());
        let why = match given {
            0 => "nobody voted on it".to_owned(),
            given => format!("{} of another answer", count(given, "vote")),
        };
        match self.missing {
            MissingVotes::Error => Grade::failed(NO_VOTES, why),
            MissingVotes::NotApplicable => Grade::not_applicable(why),
        }
    }

    fn metadata(
        &self,
        votes: &[Option<CountedVote<'_>>],
        native: f64,
        subject: &Subject<'_>,
    ) -> Map<String, Value> {
        let score = |vote: &Option<CountedVote<'_>>| vote.as_ref()?.score.as_ref().ok().copied();
        let natives: Vec<f64> = votes.iter().filter_map(score).collect();
        let failed = votes.iter().flatten().count() - natives.len();
        let mut metadata = Map::new();
        let mut put = |name: &str, value: Value| drop(metadata.insert(name.to_owned(), value));
        put("votes", votes.iter().map(score).collect());
        if natives.len() > 1 {
            put("agreement", json!(pair_agreement(&natives)));
            put("spread", json!(spread(&natives)));
        }
        if self.scale.is_some() {
            put("native_score", json!(native));
        }
        if failed > 0 {
            put("failed_votes", json!(failed));
        }
        if let Some(given) = subject.votes.filter(|given| !given.voters.is_empty()) {
            put("voters", json!(*given.voters));
        }
        metadata
    }

    /// The votes in fields of the row; none where a field is empty.
    fn of_row(&self, paths: &[String], subject: &Subject<'_>) -> Vec<Option<CountedVote<'_>>> {
        let map = self.map();
        let mut votes = Vec::new();
        for path in paths {
            let path = without_row(path);
            let read = |value: Option<&Value>| {
                let score = match map.read(value) {
                    Ok(None) => return None,
                    Ok(Some(value)) => self.on_scale(&value),
                    Err(message) => Err(message),
                };
                let score = score.map_err(|why| format!("`{}`: {why}", clipped(path)));
                Some(CountedVote { score, rationale: "" })
            };
            match subject.row.get(path) {
                Some(Value::Array(all)) => votes.extend(all.iter().map(|one| read(Some(one)))),
                one => votes.push(read(one.as_ref())),
            }
        }
        votes
    }

    /// The votes that a file has on the answer.
    fn of_file<'a>(&self, subject: &Subject<'a>) -> Vec<Option<CountedVote<'a>>> {
        let Some(given) = subject.votes else { return Vec::new() };
        let digest = answer_digest(subject.submission);
        let votes = given.votes.iter().map(|vote| {
            let vote = vote.as_ref()?;
            let is_of_answer = vote.answer.as_ref().is_none_or(|answer| *answer == digest);
            is_of_answer.then(|| CountedVote {
                score: self.on_scale(&vote.value),
                rationale: &vote.rationale,
            })
        });
        votes.collect()
    }

    fn on_scale(&self, value: &VoteValue) -> Result<f64, String> {
        match value {
            VoteValue::Score(score) if self.scale().contains(*score) => Ok(score + 0.0),
            VoteValue::Score(score) => {
                let Scale { min, max } = self.scale();
                Err(format!("the vote is {score}, not within {min} to {max}"))
            }
            VoteValue::Failed(written) => Err(format!("the vote is `{}`", clipped(written))),
        }
    }
}

/// Why the votes came to `native`: what the nearest of them says, else the votes.
fn rationale(votes: &[&CountedVote<'_>], native: f64, scores: &[f64]) -> String {
    let told = votes.iter().filter(|vote| !vote.rationale.is_empty());
    let scored = told.filter_map(|vote| Some((vote.score.as_ref().ok()?, vote.rationale)));
    let distance = |score: &f64| (score - native).abs();
    let nearest = scored.min_by(|(one, _), (other, _)| distance(one).total_cmp(&distance(other)));
    if let Some((_, rationale)) = nearest {
        return rationale.to_string();
    }
    let shown: Vec<String> = scores.iter().take(SHOWN_VOTES).map(f64::to_string).collect();
    let rest = if scores.len() > SHOWN_VOTES { ", …" } else { "" };
    format!("{}: {}{rest}", count(scores.len(), "vote"), shown.join(", "))
}
