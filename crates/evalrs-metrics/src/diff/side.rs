//! One of two evaluations that are compared: who it is, its graders, and its cases with their grades.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::gate::GateReport;
use crate::metric::declared::MetricValue;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::key::ActionKey;

/// One of the two evaluations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffSide {
    /// Which it is.
    pub name: SideName,
    /// The settings that decided its results, as `header.json` holds them; none where they are not recorded.
    pub settings: Option<Map<String, Value>>,
    /// File → digest of its bytes; none where they are not recorded.
    pub inputs: Option<Map<String, Value>>,
    /// The rubrics of its graders.
    pub rubrics: Vec<SideRubric>,
    /// The status of the gate.
    pub gate: GateReport,
    /// The graders, in the order of the suite.
    pub graders: Vec<String>,
    /// Metric that the suite declares → its value, with its resamples if they are recorded.
    pub declared: OrderedMap<MetricValue>,
    /// The cases, in dataset order as far as it is known.
    pub cases: Vec<SideCase>,
}

impl DiffSide {
    /// The rubric of a grader.
    pub fn rubric(&self, grader: &str) -> Option<&SideRubric> {
        self.rubrics.iter().find(|rubric| rubric.grader == grader)
    }

    /// The results of one model alone, named as if there were no other; none where it has none.
    pub fn of_model(&self, model: &str) -> Option<Self> {
        let own = self.cases.iter().filter(|case| case.name.model.as_deref() == Some(model));
        let unnamed = own.map(|case| SideCase {
            name: CaseName { model: None, ..case.name.clone() },
            grades: case.grades.clone(),
        });
        let cases: Vec<SideCase> = unnamed.collect();
        (!cases.is_empty()).then(|| Self {
            name: SideName {
                model: Some(model.to_owned()),
                results: cases.len(),
                ..self.name.clone()
            },
            cases,
            gate: GateReport::default(),
            // They are over all models.
            declared: OrderedMap::default(),
            ..self.clone()
        })
    }
}

/// The rubric of a grader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideRubric {
    /// The grader.
    pub grader: String,
    /// The digest of its text, in hexadecimal.
    pub digest: String,
    /// The text; none where it is not recorded.
    pub text: Option<String>,
}

/// Which evaluation it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideName {
    /// The suite's name.
    pub suite: String,
    /// The run.
    pub run: String,
    /// The model whose results are meant, where two models of one run are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The number of the evaluation in a `watch` session; null where the run as it ended is meant.
    pub save: Option<u32>,
    /// When it began, of a save when it ended, RFC 3339; null where that is not recorded.
    pub at: Option<String>,
    /// The version of evalrs; empty where it is not recorded.
    pub evalrs: String,
    /// The files whose change led to it; only of a save.
    pub files: Vec<String>,
    /// Results: samples × models × trials.
    pub results: usize,
    /// Whether every grade was known.
    pub complete: bool,
    /// Writer → how many outcomes of a shared cache it rests on are theirs. JSON has none of it: a comparison is the same
    /// wherever its outcomes come from.
    #[serde(skip)]
    pub writers: OrderedMap<u64>,
}

impl SideName {
    /// The name as it is typed.
    pub fn reference(&self) -> String {
        let run = match self.save {
            Some(save) => format!("{}@{save}", self.run),
            None => self.run.clone(),
        };
        match &self.model {
            Some(model) => format!("{run} {model}"),
            None => run,
        }
    }
}

/// A sample × model × trial.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCase {
    /// Whose it is.
    pub name: CaseName,
    /// One for each grader of the side; none where it was not graded.
    pub grades: Vec<Option<SideGrade>>,
}

impl SideCase {
    /// The grade in this column; none where it was not graded.
    pub(super) fn grade(&self, at: usize) -> Option<SideGrade> {
        self.grades.get(at).copied().flatten()
    }
}

/// The name of a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CaseName {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
}

/// A grade, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideGrade {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    pub error: bool,
    /// Whether the grader has something to say of the case.
    pub applies: bool,
    /// The key of its first judgment.
    pub key: Option<ActionKey>,
    /// Digest of what was graded; none where that is not recorded.
    pub answer: Option<u64>,
}

impl SideGrade {
    /// Whether the grader says something of the case.
    pub fn is_verdict(self) -> bool {
        self.applies && !self.error
    }
}

/// A case of both, and the ordinal of its sample.
pub struct Match<'a> {
    pub sample: u32,
    pub before: &'a SideCase,
    pub now: &'a SideCase,
}

/// The grade of a case of which nothing is known.
pub(super) const NOT_KNOWN: Cell = Cell { score: 0.0, state: CellState::Pending };

/// A grade in its shortest form.
pub(super) fn cell(grade: SideGrade) -> Cell {
    let state = match () {
        () if !grade.applies => CellState::NotApplicable,
        () if grade.error => CellState::Errored,
        () => CellState::of_verdict(grade.pass),
    };
    Cell { score: grade.score, state }
}
