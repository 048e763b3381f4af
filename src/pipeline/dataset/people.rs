//! What several people say of one verdict, as one label.
//!
//! Of passes and fails the majority counts, and a tie is no label; of scores the mean does.

use std::collections::HashMap;

use super::fields::RowProblem;
use super::label_value::LabelValue;
use crate::base::diagnostic::{Diagnostic, Place, clipped};
use crate::base::exact::mean;
use crate::base::text::count;
use crate::pipeline::spec::LabelPick;

/// What a label is of.
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
    /// When, as RFC 3339 in UTC, which sorts by time; empty if that is not said.
    pub at: String,
    /// How the answer came to be labelled, if that is said.
    pub picked: Option<LabelPick>,
}

/// What one person says of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedOpinion {
    /// Their name, if that is known.
    pub who: Option<Box<str>>,
    /// What they say.
    pub said: LabelValue,
}

/// The one label of all people.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JoinedLabel {
    pub said: LabelValue,
    pub picked: Option<LabelPick>,
}

/// Labels in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct GivenLabels {
    places: HashMap<LabelOf, usize>,
    all: Vec<(LabelOf, Vec<PersonLabel>)>,
}

/// What one person said.
#[derive(Debug)]
struct PersonLabel {
    said: LabelValue,
    by: OnePerson,
}

impl GivenLabels {
    /// Adds a label; an error if its person gave another one and it is not said which is newer, or if others gave one of
    /// another kind. Branches of git that are merged line by line may leave two of one person.
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
                "remove one of the lines, or say with `model`, `trial` or `grader` what each is of, or with `who` whose it is",
            ));
        }
        let is_other = |earlier: &&PersonLabel| is_score(&earlier.said) != is_score(&said);
        if let Some(earlier) = given.iter().find(is_other) {
            let line = earlier.by.line;
            let message = format!(
                "one person gave `{}` a score, another says on line {line} whether it passes",
                clipped(id)
            );
            let swapped = format!(
                "one person says of `{}` whether it passes, another gave it a score on line {line}",
                clipped(id)
            );
            let problem = RowProblem::new(if is_score(&said) { message } else { swapped });
            return Err(
                problem.hint("`map` of `labels` says which scores pass: `map: {5: pass, 1: fail}`")
            );
        }
        given.push(PersonLabel { said, by });
        Ok(())
    }

    /// The label of each verdict that has one.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&LabelOf, JoinedLabel)> {
        let joined = |given: &[PersonLabel]| {
            let said = together(given)?;
            // What one of them drew is drawn, whatever others did.
            let is_drawn = given.iter().any(|one| one.by.picked == Some(LabelPick::Random));
            let first = given.first().and_then(|one| one.by.picked);
            let picked = if is_drawn { Some(LabelPick::Random) } else { first };
            Some(JoinedLabel { said, picked })
        };
        self.all.iter().filter_map(move |(of, given)| Some((of, joined(given)?)))
    }

    /// What each person says of every verdict, where somebody says who they are or several say something.
    pub(super) fn people(&self) -> impl Iterator<Item = (&LabelOf, Vec<NamedOpinion>)> {
        let opinion = |one: &PersonLabel| NamedOpinion {
            who: one.by.who.as_deref().map(Box::from),
            said: one.said.clone(),
        };
        let is_of_somebody =
            |given: &[PersonLabel]| given.len() > 1 || given.iter().any(|one| one.by.who.is_some());
        let those = self.all.iter().filter(move |(_, given)| is_of_somebody(given));
        those.map(move |(of, given)| (of, given.iter().map(opinion).collect()))
    }

    /// Says of how many verdicts as many people say that they pass as that they fail.
    pub(super) fn ties(&self, path: &str) -> Option<Diagnostic> {
        let ties = self.all.iter().filter(|(_, given)| together(given).is_none()).count();
        let message = format!(
            "{}: as many people say that the answer passes as that it fails, which counts as no label",
            count(ties, "tie")
        );
        (ties > 0).then(|| Diagnostic::warning(Place::file(path), message))
    }
}

fn is_score(said: &LabelValue) -> bool {
    matches!(said, LabelValue::Number(_))
}

/// One label of those that people gave; none of a tie.
fn together(given: &[PersonLabel]) -> Option<LabelValue> {
    if let [only] = given {
        return Some(only.said.clone());
    }
    let scores = given.iter().filter_map(|one| match one.said {
        LabelValue::Number(score) => Some(score),
        _ => None,
    });
    if let Some(score) = mean(&scores.collect::<Vec<f64>>()) {
        return Some(LabelValue::Number(score));
    }
    let says = |pass: bool| given.iter().filter(|one| one.said == LabelValue::Pass(pass)).count();
    let [passes, fails] = [says(true), says(false)];
    (passes != fails).then_some(LabelValue::Pass(passes > fails))
}
