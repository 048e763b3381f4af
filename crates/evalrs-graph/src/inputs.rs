//! What comes into the database from outside.
//!
//! Outcomes arrive in thousands of revisions, and change nothing but the epochs of a few chunks. Everything else says that
//! it outlasts them. So a query that reads no epoch is verified at once, however many chunks it is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use salsa::Durability;

use super::Db;

use evalrs_base::file_text::FileText;
use evalrs_base::price::Prices;
use evalrs_eval::dataset::chunk::Records;
use evalrs_eval::program::{ProgramFingerprint, Uncallable};
use evalrs_model::cut::Partition;
use evalrs_model::spec::{CriteriaPerRequest, ProgramSpec, SandboxKind};

/// How long inputs last that no outcome changes.
pub(super) const LASTING: Durability = Durability::MEDIUM;

/// A file a suite may name; also one that does not exist.
#[salsa::input(debug)]
pub struct File {
    /// Where it is.
    pub path: String,
    /// What it says.
    pub text: FileText,
}

/// A program that a suite names; also one that does not exist.
#[salsa::input(debug)]
pub struct Program {
    /// The suite's setting.
    pub spec: ProgramSpec,
    /// What is known of its files.
    pub state: ProgramState,
}

/// What is known of a program's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramState {
    /// Its files are not read yet.
    Unread,
    /// It cannot be called: why.
    Broken(Uncallable),
    /// Its files are read, but not those that it loads: which those are is not known.
    Read(Arc<ProgramFingerprint>),
    /// All its files are read.
    Known(Arc<ProgramFingerprint>),
}

/// One evaluation: a suite file and everything that is not in it. Never replaced, only updated.
#[salsa::input(debug)]
pub struct Root {
    /// The suite.
    #[returns(copy)]
    pub suite: File,
    /// The environment, for `${VAR}` in suites and the endpoint of judges.
    pub environment: Arc<BTreeMap<String, String>>,
    /// What the command line says.
    pub overrides: Overrides,
    /// What tokens cost, for reports, and for graders of what conversations cost.
    pub prices: Arc<Prices>,
    /// The dataset's chunks in order.
    pub chunks: Vec<Chunk>,
}

impl Root {
    /// An evaluation of the suite in this file, without rows and prices yet.
    pub fn of_suite(
        db: &dyn Db,
        suite: File,
        environment: BTreeMap<String, String>,
        overrides: Overrides,
    ) -> Self {
        Self::builder(suite, Arc::new(environment), overrides, Arc::default(), Vec::new())
            .durability(LASTING)
            .new(db)
    }
}

/// A run of records.
#[salsa::input(debug)]
pub struct Chunk {
    /// What it belongs to.
    #[returns(copy)]
    pub root: Root,
    /// Its records.
    pub records: Arc<Records>,
    /// Raised when outcomes that it waits for have arrived.
    #[returns(copy)]
    pub epoch: u64,
}

impl Chunk {
    /// A chunk of these records, for which nothing has arrived.
    pub fn of_records(db: &dyn Db, root: Root, records: Arc<Records>) -> Self {
        Self::builder(root, records, 0)
            .durability(LASTING)
            .epoch_durability(Durability::LOW)
            .new(db)
    }
}

/// A grade of the evaluation, or what is to become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellId {
    /// The chunk of its case.
    pub chunk: Chunk,
    /// The case in its chunk.
    pub case: usize,
    /// The ordinal of the grader.
    pub grader: usize,
}

/// What the command line says over the suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--max-samples`.
    pub max_samples: Option<usize>,
    /// `--tags`; empty leaves the suite's.
    pub tags: Vec<String>,
    /// `--sample`; empty means all.
    pub samples: Vec<String>,
    /// `--grader`; empty means all.
    pub graders: Vec<String>,
    /// `--trials`: only trials below it.
    pub trials: Option<u32>,
    /// `--partition`: a part of the samples.
    pub partition: Option<Partition>,
    /// `--cached`: recorded results that stand in for the suite's target.
    pub cached: Option<String>,
    /// `--labels`: a file of labels to compare verdicts with.
    pub labels: Option<String>,
    /// Another batching than that of the suite, for a plan.
    pub batching: Option<PlannedBatching>,
    /// The sandbox of programs for which the suite says none, by `evalrs.toml`.
    pub sandbox: SandboxKind,
}

/// Another batching than that of the suite, planned for a part of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedBatching {
    /// How many criteria one request has.
    pub batching: CriteriaPerRequest,
    /// Of this many blocks of samples, one is planned.
    pub one_in: usize,
}

impl Overrides {
    /// Whether the command line leaves no case of the suite out.
    pub fn has_every_case(&self) -> bool {
        let Self { max_samples, tags, samples, trials, partition, .. } = self;
        let is_narrowed = max_samples.is_some() || trials.is_some() || partition.is_some();
        !is_narrowed && tags.is_empty() && samples.is_empty()
    }
}
