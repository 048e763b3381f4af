//! What several people say of one verdict, as one label.
//!
//! A person has one opinion of a verdict: of several lines of theirs the one that says more about it. Of passes and fails the
//! majority counts, and a tie is no label; of scores the mean does. Lines that name nobody are of one person, who is unknown.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::RowProblem;
use super::label_value::{LabelValue, is_for_unnamed};
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_base::exact::mean;
use evalrs_base::text::count;
use evalrs_model::spec::LabelPick;

/// What a person says beside a label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelNote {
    /// Why, in their words.
    pub comment: Option<Box<str>>,
    /// The kind of failure, a name that they chose.
    pub category: Option<Box<str>>,
}

/// A line of a file of labels: what one person says of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelLine {
    /// Of this model alone.
    pub model: Option<String>,
    /// Of this trial alone, from 0.
    pub trial: Option<u32>,
    /// For this grader alone.
    pub grader: Option<String>,
    /// The digest of the submission that it is of; none if it is of any.
    pub submission: Option<String>,
    /// The person; none where that is not known.
    pub who: Option<Box<str>>,
    /// When it was given, as RFC 3339, where the line says it.
    pub at: Option<Box<str>>,
    /// The label; never one for each of some graders.
    pub said: LabelValue,
    /// How the answer was picked for labelling, if known.
    pub picked: Option<LabelPick>,
    /// What the person says beside it.
    pub note: LabelNote,
}

impl LabelLine {
    /// Whether it is of this model and trial.
    pub fn is_of(&self, model: Option<&str>, trial: u32) -> bool {
        self.model.as_deref().is_none_or(|named| Some(named) == model)
            && self.trial.is_none_or(|named| named == trial)
    }

    /// Whether it is for this grader.
    pub fn is_for(&self, grader: &str) -> bool {
        match &self.grader {
            Some(named) => named == grader,
            None => is_for_unnamed(grader),
        }
    }

    /// Lines that say more come first.
    pub fn rank(&self) -> [bool; 4] {
        let is_of_any = self.submission.is_none();
        [self.grader.is_none(), self.trial.is_none(), self.model.is_none(), is_of_any]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelOf {
    pub id: String,
    /// Of this model alone.
    pub model: Option<String>,
    /// Of this trial alone, from 0.
    pub trial: Option<u32>,
    /// For this grader alone.
    pub grader: Option<String>,
    /// The digest of the submission that it is of; none if it is of any.
    pub submission: Option<String>,
}

/// Who gave a label, and on which line.
#[derive(Clone, Debug)]
pub(super) struct OnePerson {
    pub who: Option<String>,
    pub line: u32,
    /// When, as RFC 3339 in UTC, which sorts by time; empty if not known.
    pub at: String,
    /// How the answer was picked for labelling, if known.
    pub picked: Option<LabelPick>,
    pub note: LabelNote,
}

/// Whom a file calls a person whose name is not known.
pub const UNKNOWN: &str = "unknown";

/// The person of a line that calls them `who`; none where that is nobody's name.
pub(crate) fn person(who: &Value) -> Option<String> {
    let name = match who {
        Value::Null => return None,
        Value::String(name) => name.trim().to_owned(),
        other => other.to_string(),
    };
    (!name.is_empty() && name != UNKNOWN).then_some(name)
}

/// Labels in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct GivenLabels {
    places: HashMap<LabelOf, usize>,
    all: Vec<(LabelOf, Vec<PersonLabel>)>,
}

#[derive(Debug)]
struct PersonLabel {
    said: LabelValue,
    by: OnePerson,
}

impl GivenLabels {
    /// Adds a label; an error if its person gave another one and neither is newer, or if others gave one of another
    /// kind. Branches of git that are merged line by line may leave two of one person.
    pub(super) fn add(
        &mut self,
        of: LabelOf,
        said: LabelValue,
        by: OnePerson,
    ) -> Result<(), RowProblem> {
        let at = *self.places.entry(of).or_insert_with_key(|of| {
            self.all.push((of.clone(), Vec::new()));
            self.all.len() - 1
        });
        let (LabelOf { id, .. }, given) = &mut self.all[at];
        if let Some(earlier) = given.iter_mut().find(|earlier| earlier.by.who == by.who) {
            if earlier.said == said {
                return Ok(());
            }
            if !earlier.by.at.is_empty() && !by.at.is_empty() && earlier.by.at != by.at {
                if by.at > earlier.by.at {
                    *earlier = PersonLabel { said, by };
                }
                return Ok(());
            }
            let message =
                format!("`{}` has another label on line {}", clipped(id), earlier.by.line);
            return Err(RowProblem::new(message).hint(
                "remove one of the lines, or distinguish them by `model`, `trial`, `grader` or `who`",
            ));
        }
        let is_score_too = is_score(&said);
        if let Some(earlier) = given.iter().find(|one| is_score(&one.said) != is_score_too) {
            let line = earlier.by.line;
            let id = clipped(id);
            let problem = RowProblem::new(if is_score_too {
                format!("one reviewer gave `{id}` a score, another a pass or fail on line {line}")
            } else {
                format!("one reviewer gave `{id}` a pass or fail, another a score on line {line}")
            });
            return Err(problem.hint(
                "set which scores pass with `map` of `labels`: `map: {5: pass, 1: \
                              fail}`",
            ));
        }
        given.push(PersonLabel { said, by });
        Ok(())
    }

    /// What each person says of every verdict.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, LabelLine)> {
        let all = self.all.iter().flat_map(|(of, given)| given.iter().map(move |one| (of, one)));
        all.map(|(of, one)| {
            let line = LabelLine {
                model: of.model.clone(),
                trial: of.trial,
                grader: of.grader.clone(),
                submission: of.submission.clone(),
                who: one.by.who.as_deref().map(Box::from),
                at: Some(one.by.at.as_str()).filter(|at| !at.is_empty()).map(Box::from),
                said: one.said.clone(),
                picked: one.by.picked,
                note: one.by.note.clone(),
            };
            (&*of.id, line)
        })
    }

    /// Says of how many verdicts as many people say that they pass as that they fail.
    pub(super) fn ties(&self, path: &str) -> Option<Diagnostic> {
        let is_tie = |given: &[PersonLabel]| together(given.iter().map(|one| &one.said)).is_none();
        let ties = self.all.iter().filter(|(_, given)| is_tie(given)).count();
        let message = format!(
            "{}: as many reviewers pass the answer as fail it, so it has no label",
            count(ties, "tie")
        );
        (ties > 0).then(|| Diagnostic::warning(Place::file(path), message))
    }
}

fn is_score(said: &LabelValue) -> bool {
    matches!(said, LabelValue::Number(_))
}

/// One opinion of each person, of lines about one verdict of which those that say more come first.
pub fn opinions<'a>(lines: impl Iterator<Item = &'a LabelLine>) -> Vec<&'a LabelLine> {
    let mut found: Vec<&LabelLine> = Vec::new();
    for line in lines {
        if found.iter().all(|earlier| earlier.who != line.who) {
            found.push(line);
        }
    }
    found
}

/// The one label of what people say; none of a tie, or where nobody says something.
pub fn label_of(opinions: &[&LabelLine]) -> Option<LabelValue> {
    let [first, ..] = opinions else { return None };
    // Who says whether it passes and who gives a score cannot be averaged: what says more about the verdict counts.
    let kind = is_score(&first.said);
    together(opinions.iter().map(|one| &one.said).filter(|said| is_score(said) == kind))
}

/// How the answer was picked for labelling: sampled if one of them was sampled, whatever others
/// did.
pub fn pick_of(opinions: &[&LabelLine]) -> Option<LabelPick> {
    let is_drawn = opinions.iter().any(|one| one.picked == Some(LabelPick::Random));
    if is_drawn { Some(LabelPick::Random) } else { opinions.first()?.picked }
}

/// One label of those that people gave; none of a tie.
fn together<'a>(said: impl Iterator<Item = &'a LabelValue>) -> Option<LabelValue> {
    let all: Vec<&LabelValue> = said.collect();
    if let [only] = *all {
        return Some(only.clone());
    }
    let scores = all.iter().filter_map(|said| match said {
        LabelValue::Number(score) => Some(*score),
        _ => None,
    });
    if let Some(score) = mean(&scores.collect::<Vec<f64>>()) {
        return Some(LabelValue::Number(score));
    }
    let says = |pass: bool| all.iter().filter(|said| ***said == LabelValue::Pass(pass)).count();
    let [passes, fails] = [says(true), says(false)];
    (passes != fails).then_some(LabelValue::Pass(passes > fails))
}
