//! The table that metrics are computed from: a row for each result, a column for each series and field.

use std::collections::HashMap;

use evalrs_model::expression::Operand;
use evalrs_model::spec::{Scale, nine_digits};

/// What a series holds for one result.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Nothing: no label, no field, or a grader that has nothing to say.
    Missing,
    /// A grade that could not be made.
    Errored,
    /// A value.
    Is(ReadValue),
}

/// A value of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadValue {
    /// As a number from 0 to 1 of scores, as it is of fields; none of texts.
    pub number: Option<f64>,
    /// The same on the scale of its grader.
    pub native: Option<f64>,
    /// Whether it passes, where that means something.
    pub pass: Option<bool>,
    /// As a class.
    pub class: String,
}

/// What a group is called: samples stand in their order, all others in that of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupName {
    /// The number of the sample that the group is; 0 of all others.
    pub sample: u32,
    pub name: String,
}

impl From<String> for GroupName {
    fn from(name: String) -> Self {
        Self { sample: 0, name }
    }
}

/// A result as metrics see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultPlace {
    /// The number of its sample.
    pub sample: u32,
    /// The number of its model.
    pub model: u32,
    /// The repetition.
    pub trial: u32,
    /// For each dimension of the metric, the groups it is of.
    pub groups: Vec<Vec<GroupName>>,
}

/// What a metric reads: one entry for each result everywhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricTable {
    /// The results.
    pub places: Vec<ResultPlace>,
    /// The names of models, by their numbers.
    pub models: Vec<String>,
    /// What the metric is of.
    pub of: Vec<Reading>,
    /// What that is compared with, each a series.
    pub against: Vec<Vec<Reading>>,
    /// Dotted path → the value there.
    pub fields: HashMap<String, Vec<Operand>>,
    /// What was submitted, where lengths are looked at: in characters.
    pub lengths: Vec<Option<usize>>,
    /// The scale of the grader that the metric is of, if it has one of its own.
    pub scale: Option<Scale>,
    /// Whether classes are `pass` and `fail`: a series has no others.
    pub by_verdict: bool,
    /// The random weight of each sample, which follows from its name: by their numbers.
    pub seeds: Vec<u64>,
}

impl MetricTable {
    /// The same with this number, a pass if it is above one half, in the place of whatever a metric counts as an error:
    /// grades with errors, and values of which `number` says none.
    pub(super) fn with_errors_as(
        &self,
        filled: f64,
        number: impl Fn(&ReadValue) -> Option<f64>,
    ) -> Self {
        let filled = Reading::Is(ReadValue {
            number: Some(filled),
            native: None,
            pass: Some(filled > 0.5),
            class: String::new(),
        });
        let fill = |reading: &Reading| match reading {
            Reading::Is(value) if number(value).is_some() => reading.clone(),
            Reading::Is(_) | Reading::Errored => filled.clone(),
            Reading::Missing => Reading::Missing,
        };
        Self { of: self.of.iter().map(fill).collect(), seeds: Vec::new(), ..self.clone() }
    }

    /// These results alone.
    #[must_use]
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        Self {
            places: picked(&self.places, rows),
            models: self.models.clone(),
            of: picked(&self.of, rows),
            against: self.against.iter().map(|series| picked(series, rows)).collect(),
            fields: self
                .fields
                .iter()
                .map(|(path, values)| (path.clone(), picked(values, rows)))
                .collect(),
            lengths: picked(&self.lengths, rows),
            seeds: Vec::new(),
            ..*self
        }
    }

    /// The class of a value.
    pub fn class<'v>(&self, value: &'v ReadValue) -> &'v str {
        match value.pass {
            Some(pass) if self.by_verdict => verdict(pass),
            _ => &value.class,
        }
    }

    /// The class that a suite names, in the words that values are read in.
    pub fn named_class<'c>(&self, class: &'c str) -> &'c str {
        match pass_of(class) {
            Some(pass) if self.by_verdict => verdict(pass),
            _ => class,
        }
    }

    /// The same with nothing in the place of what these results have.
    #[must_use]
    pub fn without(&self, results: &[usize]) -> Self {
        let mut table = self.clone();
        for at in results {
            if let Some(own) = table.of.get_mut(*at) {
                *own = Reading::Missing;
            }
        }
        table
    }

    /// Results that have a value and one of each series it is compared with; and how many lack one for an error.
    pub fn compared(&self) -> ComparedRows<'_> {
        let mut rows = ComparedRows { rows: Vec::new(), errors: 0 };
        for (at, own) in self.of.iter().enumerate() {
            let others = self.against.iter().filter_map(|series| series.get(at));
            let all: Vec<&Reading> = std::iter::once(own).chain(others).collect();
            let values = all.iter().filter_map(|reading| match reading {
                Reading::Is(value) => Some(value),
                Reading::Missing | Reading::Errored => None,
            });
            let values: Vec<&ReadValue> = values.collect();
            let is_errored = all.iter().any(|reading| **reading == Reading::Errored);
            let is_missing = all.iter().any(|reading| **reading == Reading::Missing);
            if values.len() == all.len() {
                rows.rows.push(ComparedRow { at, values });
            } else {
                rows.errors += usize::from(is_errored && !is_missing);
            }
        }
        rows
    }

    pub(super) fn field_number(&self, path: &str, at: usize) -> Option<f64> {
        let number = self.fields.get(path)?.get(at)?.number();
        number.is_finite().then_some(number)
    }

    pub(super) fn field_text(&self, path: &str, at: usize) -> Option<String> {
        class_of(self.fields.get(path)?.get(at)?)
    }
}

fn picked<T: Clone>(all: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|at| all.get(*at)).cloned().collect()
}

/// Results that a metric compares, and how many it cannot.
pub struct ComparedRows<'t> {
    pub rows: Vec<ComparedRow<'t>>,
    pub errors: usize,
}

/// A result with its values: that of the metric, then those it is compared with.
pub struct ComparedRow<'t> {
    pub at: usize,
    pub values: Vec<&'t ReadValue>,
}

/// The class of what passes, or fails.
pub fn verdict(pass: bool) -> &'static str {
    if pass { "pass" } else { "fail" }
}

/// A value of a row as a class: numbers as they are written shortest.
pub fn class_of(value: &Operand) -> Option<String> {
    match value {
        Operand::Nothing => None,
        Operand::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Operand::Number(number) => Some(number.to_string()),
        Operand::Whole(whole) => Some(whole.to_string()),
        Operand::List(items) => {
            let items: Vec<String> = items.iter().filter_map(class_of).collect();
            Some(items.join(", "))
        }
    }
}

/// Whether a word says that something passes, or fails.
fn pass_of(class: &str) -> Option<bool> {
    match class.to_ascii_lowercase().as_str() {
        "pass" | "passed" | "true" | "yes" | "1" => Some(true),
        "fail" | "failed" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

impl ReadValue {
    /// A value of a row. `map` says what is meant by what is written.
    pub fn of_field(value: &Operand, map: &[(String, String)]) -> Option<Self> {
        let class = class_of(value)?;
        let meant = map.iter().find(|(written, _)| *written == class);
        let class = meant.map_or(class, |(_, meant)| meant.clone());
        let number = Operand::Text(class.clone()).number();
        let number = number.is_finite().then_some(number);
        // A cell says `3.0` where a score is 3.
        let class = number.map_or(class, |number| (number + 0.0).to_string());
        let pass = pass_of(&class);
        let number = number.or_else(|| pass.map(f64::from));
        Some(Self { number, native: number, pass, class })
    }

    /// A score from 0 to 1 on a scale.
    pub fn of_score(score: f64, pass: Option<bool>, scale: Option<Scale>) -> Self {
        let native = scale.unwrap_or(Scale::UNIT).native(score);
        // Scores that only rounding parts are one class.
        let class = nine_digits(native).to_string();
        Self { number: Some(score), native: Some(native), pass, class }
    }

    /// A text that was submitted, which is a number where it says one.
    pub fn of_text(text: &str) -> Self {
        let class = text.trim().to_owned();
        let number = Operand::Text(class.clone()).number();
        Self { number: None, native: number.is_finite().then_some(number), pass: None, class }
    }
}
