//! How a session is settled: which calls are allowed, how many at once, and which cached outcomes are
//! repeated.

use std::sync::Arc;
use std::time::Duration;

use super::budget::SpendingLimits;
use evalrs_base::price::Prices;
use evalrs_exec::LimitSettings;
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_store::BatchLedger;

/// How a session is settled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Actions under way at once, at least 1.
    pub max_concurrent: usize,
    /// Conversations of the target in flight at once, where the command line says.
    pub max_concurrent_targets: Option<usize>,
    /// How many conversations may be begun before somebody allows more.
    pub target_allowance: u64,
    /// What may be executed.
    pub ask: AskPolicy,
    /// What it may spend.
    pub limits: SpendingLimits,
    /// The most requests to one endpoint in any minute, whatever its graders allow.
    pub max_requests_per_minute: Option<u32>,
    /// The most tokens used at one endpoint in any minute, whatever its graders allow.
    pub max_tokens_per_minute: Option<u64>,
    /// This many identical failures of one endpoint in a row disable it; 0 never does.
    pub max_identical_failures: u32,
    /// What judges cost.
    pub prices: Arc<Prices>,
    /// Whose cached outcomes are repeated.
    pub refresh: Refresh,
    /// Whether the target is run again, whatever it has answered.
    pub refresh_target: bool,
    /// Whether cached failures are retried.
    pub retry_errors: bool,
    /// Which judgments are sent in batches.
    pub batches: BatchSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_concurrent: 15,
            max_concurrent_targets: None,
            target_allowance: u64::MAX,
            ask: AskPolicy::Ask,
            limits: SpendingLimits::default(),
            max_requests_per_minute: None,
            max_tokens_per_minute: None,
            max_identical_failures: 10,
            prices: Arc::default(),
            refresh: Refresh::None,
            refresh_target: false,
            retry_errors: false,
            batches: BatchSettings::default(),
        }
    }
}

impl Settings {
    /// Whether an action may be executed.
    pub(crate) fn may_execute(&self, key: ActionKey, kind: ActionKind) -> bool {
        let is_left_out = matches!(&self.refresh, Refresh::Only(keys) if !keys.contains(&key));
        !is_left_out && self.ask.may_ask(kind)
    }

    pub(crate) fn of_endpoints(&self) -> LimitSettings {
        LimitSettings {
            most: self.max_concurrent.max(1),
            requests_per_minute: self.max_requests_per_minute,
            tokens_per_minute: self.max_tokens_per_minute,
            identical_failures: self.max_identical_failures,
        }
    }
}

/// The fewest judgments of a model that are worth a batch.
pub const USUAL_LEAST: usize = 20;

/// How judgments are sent in batches, and how long is waited for them.
#[derive(Clone, Debug, Default)]
pub struct BatchSettings {
    /// The batches that are out.
    pub ledger: BatchLedger,
    /// The suite, seen from its workspace.
    pub suite: String,
    /// The file of its batches.
    pub file: String,
    /// The fewest judgments of a model worth a batch; none sends no batch.
    pub least: Option<usize>,
    /// How long is waited for batches to end.
    pub wait: Option<Duration>,
    /// Whether batches are collected, and nothing else is done.
    pub collects_only: bool,
    /// The provider at which all batches are looked for, also those that nobody has noted.
    pub search: Option<String>,
}

/// Whose cached outcomes are repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// None.
    None,
    /// Those of all graders.
    All,
    /// Those of these graders.
    Graders(Vec<String>),
    /// These, and nothing else is executed.
    Only(Arc<KeySet>),
}

impl Refresh {
    /// Whether all cached outcomes of `grader` are repeated.
    pub fn covers(&self, grader: &str) -> bool {
        match self {
            Self::None | Self::Only(_) => false,
            Self::All => true,
            Self::Graders(names) => names.iter().any(|name| name == grader),
        }
    }
}

/// What may be executed where the store has no outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskPolicy {
    /// Judges are called, programs run.
    #[default]
    Ask,
    /// `--offline`: programs run, and nothing is sent.
    Offline,
    /// `--frozen`: neither.
    Frozen,
    /// `--only-targets`: conversations are run, and only cached grades are used.
    OnlyTargets,
}

/// Who executes an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// A judge, over the network.
    Judgment,
    /// A program, on this machine.
    Program,
    /// The target, which may reach for anything.
    Conversation,
}

impl AskPolicy {
    /// Whether actions of this kind may be executed.
    pub fn may_ask(self, kind: ActionKind) -> bool {
        match self {
            Self::Ask => true,
            Self::Offline => kind == ActionKind::Program,
            Self::Frozen => false,
            Self::OnlyTargets => kind == ActionKind::Conversation,
        }
    }

    /// The flag that forbids something, if something is forbidden.
    pub fn flag(self) -> Option<&'static str> {
        match self {
            Self::Ask => None,
            Self::Offline => Some("--offline"),
            Self::Frozen => Some("--frozen"),
            Self::OnlyTargets => Some("--only-targets"),
        }
    }
}
