//! What a suite looks for in rows by name, and whether some row has it.

use crate::dataset::chunk::Records;
use crate::dataset::condition::sought_path;
use crate::dataset::fields::{RowFields, RowSpec};
use crate::dataset::join::NOT_RECORDED;
use crate::grade;
use crate::judge::template::open_names;
use crate::lint::speaks_of_unshown_reference;
use evalrs_base::path::Row;
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{GraderKind, GraderSpec, MetricSpec};

/// Something that may stand in rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SoughtName {
    /// What the `fields` of the dataset name: a dotted path.
    Path(String),
    /// A reference answer.
    GroundTruth,
    /// Everything that the target did.
    Trajectory,
    /// The meaning of `{name}` in a rubric.
    Name(String),
    /// The meaning of a name in a condition: a dotted path.
    Condition(String),
    /// What a metric reads: a dotted path.
    Metric(String),
}

impl SoughtName {
    /// What a grader looks for.
    pub fn by_grader(grader: &GraderSpec) -> Vec<Self> {
        match &grader.kind {
            GraderKind::Tool(tool) => {
                if grade::find(&tool.function).is_none() {
                    return Vec::new();
                }
                let truth = grade::needs_ground_truth(tool).then(|| Self::truth(grader));
                let trajectory = grade::reads_trajectory(tool).then_some(Self::Trajectory);
                truth.into_iter().chain(trajectory).collect()
            }
            GraderKind::Rubric(rubric) => {
                let names = open_names(&rubric.prompt, rubric.compare_to.is_some());
                let reference = speaks_of_unshown_reference(rubric).then(|| Self::truth(grader));
                // What is out of reach of a name may be a field of the row all the same.
                let fields = names.iter().filter(|name| !name.contains(['.', '[']));
                let fields = fields.map(|name| Self::Path((*name).to_owned()));
                let names = names.iter().map(|name| Self::Name((*name).to_owned()));
                names.chain(fields).chain(reference).collect()
            }
            GraderKind::Program(_) | GraderKind::Reward(_) => Vec::new(),
        }
    }

    /// The reference answer of a grader.
    pub fn truth(grader: &GraderSpec) -> Self {
        match &grader.ground_truth {
            None => Self::GroundTruth,
            Some(path) => Self::Path(path.clone()),
        }
    }

    /// What the condition on rows that count, or on those of a grader, looks for.
    pub fn by_condition(condition: Option<&RowCondition>) -> impl Iterator<Item = Self> + '_ {
        let names = condition.map(RowCondition::names).unwrap_or_default();
        names.iter().filter_map(|name| Some(Self::Condition(sought_path(name)?.to_owned())))
    }

    /// What a metric looks for.
    pub fn by_metric(metric: &MetricSpec) -> impl Iterator<Item = Self> + '_ {
        let paths = metric.paths().into_iter();
        paths.filter_map(|path| Some(Self::Metric(sought_path(path)?.to_owned())))
    }

    /// Whether it is to be had of the rows that count: what says which those are, and what a suite maps, may be of others.
    pub fn is_of_counted(&self) -> bool {
        !matches!(self, Self::Path(_) | Self::Condition(_))
    }

    /// What the `fields` of a dataset look for.
    pub fn by_fields(spec: &RowSpec) -> impl Iterator<Item = Self> + '_ {
        let fields = &spec.fields;
        let paths = fields.paths.iter().chain(&fields.outputs).chain(&fields.labels);
        // `graders: none` says that rows name none.
        let is_path = |(name, path): &&(String, String)| name != "graders" || path != "none";
        paths.filter(is_path).map(|(_, path)| Self::Path(path.clone()))
    }

    fn is_in(&self, row: &str, spec: &RowSpec) -> bool {
        let Ok(fields) = RowFields::new(row, spec) else {
            // A row that cannot be taken apart is another problem than a path that leads nowhere.
            return matches!(self, Self::Path(_));
        };
        match self {
            // Of a target that is run, its answer may have it; of a cell that holds JSON nothing is said.
            Self::Condition(_) | Self::Metric(_) if spec.live.is_some() => true,
            Self::Condition(path) | Self::Metric(path)
                if spec.cells && path.starts_with("metadata.") =>
            {
                true
            }
            Self::Path(path) | Self::Condition(path) | Self::Metric(path) => {
                fields.at_path(path).is_some()
            }
            Self::GroundTruth => fields.raw("ground_truth").is_some(),
            Self::Trajectory => spec.live.is_some() || has_trajectory(&fields),
            // What a target that is run gives beside its answer is not known before.
            Self::Name(name) if spec.live.is_some() && name.starts_with("row.") => true,
            Self::Name(name) => stands_for(name, row, &fields),
        }
    }
}

/// Whether the row may record more than an answer.
fn has_trajectory(fields: &RowFields<'_>) -> bool {
    let outputs = fields.spec.fields.outputs.iter().map(|(_, path)| fields.at_path(path));
    let answers = outputs.chain([fields.raw("output")]);
    fields.raw("trajectory").is_some()
        || fields.raw("messages").is_some()
        || answers.flatten().any(|answer| answer.get().starts_with(['[', '{']))
}

/// Whether `{name}` has a value in this row.
fn stands_for(name: &str, row: &str, fields: &RowFields<'_>) -> bool {
    if let Some(path) = name.strip_prefix("row.") {
        return Row::new(row).get(path).is_some();
    }
    fields.raw("rubric_vars").is_some_and(|vars| {
        let text = vars.get();
        // CSV cells hold the object as text: there the name is enough.
        text.contains(&format!("\"{name}\"")) || text.contains(&format!("\\\"{name}\\\""))
    })
}

/// For each thing that is sought, whether one of these records has it, of which some do not count.
pub fn found_in(
    records: &Records,
    spec: &RowSpec,
    sought: &[SoughtName],
    is_left_out: &dyn Fn(usize) -> bool,
) -> Box<[bool]> {
    // What another file recorded may be anything.
    let is_recorded = |sought: &SoughtName, recorded: &str| {
        *sought == SoughtName::Trajectory && !matches!(recorded, "" | NOT_RECORDED)
    };
    let is_found = |sought: &SoughtName| {
        let mut records = records.iter().enumerate();
        records.any(|(at, (row, recorded))| {
            (is_recorded(sought, recorded) || sought.is_in(row, spec))
                && !(sought.is_of_counted() && is_left_out(at))
        })
    };
    sought.iter().map(is_found).collect()
}
