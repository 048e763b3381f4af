//! What a label says, as it is written: in a row, or in a line of a file.
//!
//! It is written on the scale of whichever grader it is compared with, so what is written is kept as it is until that is known.

use serde_json::Value;

use super::fields::{RowProblem, some_of};
use crate::votes::score_map::meaning_of;
use evalrs_base::diagnostic::clipped;
use evalrs_model::spec::{Label, LabelMeaning, Scale, rubric_of};

/// How labels are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelNotation<'a> {
    /// Whether they are cells of CSV: text, also where it is a number.
    pub cells: bool,
    /// What is written, and what it means.
    pub map: &'a [(String, LabelMeaning)],
    /// The outputs of the row, by model, each of which may have a label of its own.
    pub outputs: &'a [(String, String)],
}

/// The scales of the graders of a suite, in its order.
pub(crate) type Scales = [(String, Scale)];

/// A label as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelValue {
    /// Whether it passes.
    Pass(bool),
    /// A score on the scale of the grader.
    Number(f64),
    /// One for each of some graders.
    Each(Box<[(String, LabelValue)]>),
    /// One for each output of the row, in their order.
    ByOutput(Box<[Option<LabelValue>]>),
    /// A value that is not a label.
    Strange,
}

/// Whether a label that names no grader is one for this grader: who says that an answer is good says nothing of one criterion.
pub fn is_for_unnamed(grader: &str) -> bool {
    rubric_of(grader).is_none()
}

impl LabelValue {
    /// What `value` says; none if it says nothing.
    pub fn of(value: &Value, notation: &LabelNotation<'_>) -> Option<Self> {
        let LabelNotation { cells, outputs, .. } = *notation;
        let may_hold_json =
            |cell: &str| cell.starts_with('{') || (cell.starts_with('[') && !outputs.is_empty());
        match value {
            Value::String(cell) if cells && may_hold_json(cell.trim_start()) => {
                match serde_json::from_str(cell) {
                    Ok(held @ (Value::Object(_) | Value::Array(_))) => Self::of(&held, notation),
                    _ => Some(Self::Strange),
                }
            }
            Value::Array(items) if !outputs.is_empty() && items.len() == outputs.len() => {
                Some(Self::by_output(items.iter().map(Some), notation))
            }
            Value::Object(members) if are_outputs(members, outputs) => {
                let own = outputs.iter().map(|(model, _)| members.get(model));
                Some(Self::by_output(own, notation))
            }
            Value::Object(graders) => {
                let of_grader = |value: &Value| match Self::of(value, notation)? {
                    Self::Each(_) => Some(Self::Strange),
                    said => Some(said),
                };
                let each = graders
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), of_grader(value)?)));
                Some(Self::Each(each.collect()))
            }
            value => Self::plain(value, notation),
        }
    }

    /// One for each output, in their order.
    pub(crate) fn by_output<'v>(
        values: impl Iterator<Item = Option<&'v Value>>,
        notation: &LabelNotation<'_>,
    ) -> Self {
        let of_one = LabelNotation { outputs: &[], ..*notation };
        Self::ByOutput(values.map(|value| Self::of(value?, &of_one)).collect())
    }

    fn plain(value: &Value, notation: &LabelNotation<'_>) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let entries = notation.map.iter().map(|(written, meaning)| (written.as_str(), *meaning));
        match meaning_of(&entries, Some(value)) {
            Some(LabelMeaning::Pass(pass)) => return Some(Self::Pass(pass)),
            Some(LabelMeaning::Score(score)) => return Some(Self::Number(score)),
            None => {}
        }
        let cells = notation.cells;
        Some(match value {
            Value::Null => return None,
            Value::Bool(pass) => Self::Pass(*pass),
            Value::Number(number) => Self::number(number.as_f64()),
            Value::String(text) => {
                let word = text.trim().to_ascii_lowercase();
                match word.as_str() {
                    "" => return None,
                    "pass" | "passed" => Self::Pass(true),
                    "fail" | "failed" => Self::Pass(false),
                    "true" | "false" if cells => Self::Pass(word == "true"),
                    number if cells => Self::number(number.parse().ok()),
                    _ => Self::Strange,
                }
            }
            Value::Array(_) | Value::Object(_) => Self::Strange,
        })
    }

    fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Strange, Self::Number)
    }

    /// The same for these graders, where it names none; for all if no graders are given.
    pub(crate) fn for_graders(self, names: &[String]) -> Self {
        match self {
            said if names.is_empty() => said,
            Self::Each(each) => Self::Each(each),
            Self::ByOutput(items) => Self::ByOutput(
                items.into_iter().map(|item| item.map(|said| said.for_graders(names))).collect(),
            ),
            said => Self::Each(names.iter().map(|name| (name.clone(), said.clone())).collect()),
        }
    }

    /// What it says of one of the outputs for `grader`.
    pub fn of_case(&self, grader: &str, output: usize) -> Option<&Self> {
        match self {
            Self::Each(each) => match &each.iter().find(|(name, _)| name == grader)?.1 {
                Self::ByOutput(items) => items.get(output)?.as_ref(),
                said => Some(said),
            },
            Self::ByOutput(items) => items.get(output)?.as_ref()?.of_case(grader, output),
            said => is_for_unnamed(grader).then_some(said),
        }
    }

    /// All that it says for `grader`: a label, or one for each output.
    pub fn all_for<'v>(&'v self, grader: &str) -> Vec<&'v Self> {
        match self {
            Self::Each(each) => {
                let own = each.iter().filter(|(name, _)| name == grader);
                own.flat_map(|(_, said)| said.of_each_output()).collect()
            }
            Self::ByOutput(items) => {
                items.iter().flatten().flat_map(|said| said.all_for(grader)).collect()
            }
            said if is_for_unnamed(grader) => vec![said],
            _ => Vec::new(),
        }
    }

    fn of_each_output(&self) -> Vec<&Self> {
        match self {
            Self::ByOutput(items) => items.iter().flatten().collect(),
            said => vec![said],
        }
    }

    /// The label on the scale of a grader; none if it is none there.
    pub fn on(&self, scale: Scale) -> Option<Label> {
        match self {
            Self::Pass(pass) => Some(Label::Pass(*pass)),
            Self::Number(number) => {
                scale.contains(*number).then(|| Label::Score(scale.unit(*number).clamp(0.0, 1.0)))
            }
            Self::Each(_) | Self::ByOutput(_) | Self::Strange => None,
        }
    }

    /// What is wrong with it where it must be a label: it is one for no grader that it is meant for. It may name
    /// graders of other suites.
    pub fn problem(&self, scales: &Scales) -> Option<RowProblem> {
        let neither = |what: String, scales: &Scales| {
            RowProblem::new(format!("{what} is {}", not_a_label(scales)))
                .label("expected a score, true, false, \"pass\" or \"fail\"")
        };
        let reads = |said: &Self, scale: Scale| said.on(scale).is_some();
        match self {
            Self::Each(each) => each.iter().find_map(|(name, said)| {
                let known = scales.iter().find(|(grader, _)| grader == name)?;
                let what = format!("the `label` for `{}`", clipped(name));
                let is_read = said.all_for(name).into_iter().all(|one| reads(one, known.1));
                (!is_read).then(|| neither(what, std::slice::from_ref(known)))
            }),
            Self::ByOutput(items) => items.iter().flatten().find_map(|said| said.problem(scales)),
            said if scales.iter().any(|(_, scale)| reads(said, *scale)) => None,
            _ => Some(neither("`label`".to_owned(), scales)),
        }
    }
}

/// The problem of a label, with what the map of the suite has, or that it may have one: the likely fix.
pub(crate) fn beside_map(problem: RowProblem, map: &[(String, LabelMeaning)]) -> RowProblem {
    const SOME: usize = 12;
    if map.is_empty() {
        return problem
            .hint("for other words, set `labels: {map: {good: pass, bad: fail}}` in the suite");
    }
    let told = map.iter().map(|(written, meaning)| {
        let meaning = match meaning {
            LabelMeaning::Pass(true) => "pass".to_owned(),
            LabelMeaning::Pass(false) => "fail".to_owned(),
            LabelMeaning::Score(score) => score.to_string(),
        };
        format!("`{}: {meaning}`", clipped(written))
    });
    problem.hint(format!("`map` of `labels` in the suite has {}", some_of(told, SOME)))
}

/// A value that is not a label on any of the scales, in words.
pub fn not_a_label(scales: &Scales) -> String {
    let mut ranges: Vec<String> = Vec::new();
    for (_, Scale { min, max }) in scales {
        let range = format!("{min} to {max}");
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    format!("neither a score from {} nor pass or fail", ranges.join(" or "))
}

/// Whether an object has a member for each of some outputs, and no others.
fn are_outputs(members: &serde_json::Map<String, Value>, outputs: &[(String, String)]) -> bool {
    !members.is_empty() && members.keys().all(|name| outputs.iter().any(|(model, _)| model == name))
}
