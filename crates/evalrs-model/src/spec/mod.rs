//! What a suite says, as plain data, whatever it was read from.
//!
//! The bottom of the pipeline's vocabulary: graders, judges, programs and gates are made from these types, and know
//! nothing of YAML. `evalrs_suite` reads a file into them.

pub mod batching;
pub mod criteria;
pub mod criterion;
pub mod dataset;
pub mod gate;
pub mod grader;
pub mod judge;
pub mod label;
pub mod lint;
pub mod metric;
pub mod program;
pub mod rollup;
pub mod scale;
pub mod series;
pub mod target;

pub use batching::with_batching;
pub use criteria::{
    CombinedCriteria, CriteriaPerRequest, CriteriaSpec, CriterionSpec, grader_of, rubric_of,
};
pub use criterion::{
    BatchedCriterion, CriteriaBatch, CriterionQuestion, JudgedCriterion, Unsure, YesNo,
};
pub use dataset::{
    DATASET_FORMATS, DatasetFormat, DatasetSpec, FieldMap, MissingAnswer, SampleUnit, TrialNumbers,
};
pub use gate::{Aggregation, Condition, Gate, Logic, Op, PassRule};
pub use grader::{ExtractorSpec, GraderKind, GraderSpec, OptionProblem, RewardSpec, ToolSpec};
pub use judge::{
    AgentSpec, CachingChoice, Combine, CompareTo, EmbeddingSpec, HeaderSpec, HeaderValue,
    JudgeProgramSpec, JudgeSpec, Patience, ReplyFormat, ReplyLimit, RubricSpec, TierChoice,
};
pub use label::{CalibrationBounds, Label, LabelMeaning, LabelPick, LabelsSpec};
pub use lint::Lint;
pub use metric::{
    AgreementMeasure, AlphaLevel, ClassAverage, ClassMeasure, ClassScore, Lengths, MetricKind,
    MetricSpec, Players, Statistic,
};
pub use program::{
    Language, ProgramSpec, Repeat, Role, SampleMember, Sandbox, SandboxKind, Variable, is_secret,
};
pub use rollup::{RollupComponent, RollupMetric, RollupSource, RollupSpec};
pub use scale::{Scale, nine_digits};
pub use series::{Dimension, GraderValue, Series, SeriesMistake, SeriesSource};
pub use target::{
    AdapterSource, AgentKind, ChatTarget, HttpTarget, JoinBy, KeepWorkspace, LettaAgentSource,
    LettaCodeTarget, LettaModelConfig, LettaTarget, LiveTarget, RecordingJoin, SimulatedUser,
    TargetHooks, TargetModel, TargetSpec, WorkspaceSpec,
};

/// A suite, checked: every name in it is known and every value in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name in reports.
    pub name: String,
    pub description: Option<String>,
    /// Where the samples are.
    pub dataset: DatasetSpec,
    /// What is evaluated.
    pub target: TargetSpec,
    /// The graders in the order of the file.
    pub graders: Vec<GraderSpec>,
    /// Further numbers over all results, in the order of the file.
    pub metrics: Vec<MetricSpec>,
    /// Where people say what they think of answers; none if the suite says nothing of that.
    pub labels: Option<LabelsSpec>,
    /// How far judges must agree with people to be relied on.
    pub calibration: CalibrationBounds,
    /// The rule that decides the exit code.
    pub gate: Option<Gate>,
    /// Only the first N samples.
    pub max_samples: Option<usize>,
    /// Only samples with one of these tags; empty means all.
    pub sample_tags: Vec<String>,
    /// Trials of the target for each sample, at least 1.
    pub num_runs: u32,
    /// How many actions may be under way at once.
    pub max_concurrent: Option<usize>,
    /// The suppressed warnings, for everything they are about.
    pub allow: Vec<Lint>,
}

impl Suite {
    /// Every program that it names: those of the target, then those of the graders.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramSpec> {
        let live = self.target.live();
        let of_target = live.into_iter().flat_map(LiveTarget::programs);
        of_target.chain(self.graders.iter().flat_map(GraderSpec::programs))
    }
}
