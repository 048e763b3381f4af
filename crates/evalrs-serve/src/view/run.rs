//! A recorded run as lists and pages show it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::labels::{LabelKeyView, LabelledGrader, label_key_views};
use super::metrics::{self, DeclaredView, MetricView};
use super::rows::RunRows;
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_eval::grade::recorded_scale;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::spec::{Scale, ToolSpec};
use evalrs_store::record::SessionActions;
use evalrs_store::record::read::{PastHeader, PastRun, open};
use evalrs_store::record::run_names::is_trial;
use evalrs_store::record::runs_of;
use evalrs_store::record::saves::FILE as SAVES;
use evalrs_system::System;

/// A run in a list.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct RunView {
    /// Its id.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// When it began, RFC 3339; null where that is not recorded.
    started: Option<String>,
    /// When it ended.
    finished: Option<String>,
    /// Whether it goes on.
    pub under_way: bool,
    /// Whether it was interrupted.
    interrupted: bool,
    /// Whether it is a session of `watch`.
    session: bool,
    /// Whether it was of a part of the samples.
    narrowed: bool,
    /// Which part of the samples it evaluated, as `2/7`; absent where it was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// Whether it is a trial, which is in no list and never `latest`.
    trial: bool,
    /// The graders whose rubrics were tried on a page: no file had them. Absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tried: Vec<String>,
    /// Samples.
    samples: Option<u64>,
    /// Results: samples × models × trials.
    results: Option<u64>,
    /// The status of the gate, as in `summary.json`.
    #[schema(value_type = Option<Object>)]
    gate: Value,
    /// Grader → its aggregates, in the order of the suite.
    #[schema(value_type = std::collections::BTreeMap<String, MetricView>)]
    metrics: OrderedMap<MetricView>,
    /// Metric that the suite declares → its result.
    #[schema(value_type = std::collections::BTreeMap<String, DeclaredView>)]
    declared: OrderedMap<DeclaredView>,
    /// The result of the actions.
    actions: ActionsView,
    /// US dollars spent in this run, where prices are known.
    cost: Option<f64>,
    /// What its judges used.
    spent: SpentView,
    /// The exit code.
    exit_code: Option<u64>,
}

/// The result of actions.
#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct ActionsView {
    /// All of them.
    total: u64,
    /// Found in the store.
    cached: u64,
    /// Executed.
    asked: u64,
    /// Without a reply.
    failed: u64,
    /// Not executed.
    pending: u64,
}

/// What judges used in a run.
#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct SpentView {
    /// Tokens sent.
    input_tokens: u64,
    /// Those of them that the provider read from its cache.
    cache_read: u64,
    /// Those that it wrote to its cache.
    cache_write: u64,
    /// Tokens received.
    output_tokens: u64,
    /// US dollars that it would have cost without caches, batches and cheaper tiers.
    list_cost: Option<f64>,
}

/// A run on its own page.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunDetails {
    /// What lists show of it.
    #[serde(flatten)]
    pub run: RunView,
    /// `header.json`.
    #[schema(value_type = Object)]
    header: Map<String, Value>,
    /// `summary.json`.
    #[schema(value_type = Option<Object>)]
    summary: Value,
    /// What moved since an earlier run, as `run.json` has it.
    #[schema(value_type = Option<Object>)]
    pub moved: Value,
    /// What went wrong on the way.
    warnings: Vec<String>,
    /// Its graders, in their order.
    graders: Vec<GraderView>,
    /// Its models.
    models: Vec<String>,
    /// How often each sample is tried.
    trials: u32,
    /// The tags of samples.
    tags: Vec<String>,
    /// Grader → how many scores lie in each tenth, and how many are exactly 1: eleven numbers.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<u64>>)]
    histograms: OrderedMap<Vec<u64>>,
    /// Grader → how far its verdicts agree with people.
    #[schema(value_type = Object)]
    pub agreement: OrderedMap<LabelAgreement>,
    /// Category that people named beside labels → how many cases have it.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub categories: OrderedMap<u64>,
    /// Writer → how many outcomes of a shared cache are theirs; absent where there are none.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    writers: OrderedMap<u64>,
    /// Whose labels are given here, unless a request says; null where that is not known.
    pub labeller: Option<String>,
    /// Why no labels are given here, where the file of labels is none that evalrs writes.
    pub labels_fixed: Option<String>,
    /// The run of the suite before it.
    pub previous: Option<String>,
    /// The one after it.
    pub next: Option<String>,
}

/// A grader of a run.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct GraderView {
    /// What the suite calls it.
    name: String,
    /// Its name for people, where it has one.
    label: Option<String>,
    /// The least score that passes.
    pass_threshold: Option<f64>,
    /// The model that judges.
    model: Option<String>,
    /// Its rubric.
    prompt: Option<String>,
    /// The keys that label what it grades, in the order of their buttons.
    label_keys: Vec<LabelKeyView>,
}

/// What `run.json` says, as far as it can be read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Facts {
    started: Option<String>,
    finished: Option<String>,
    interrupted: bool,
    tried: Vec<String>,
    exit_code: Option<u64>,
    actions: OrderedMap<Map<String, Value>>,
    session: Option<SessionActions>,
    spent: Map<String, Value>,
    target: Option<Map<String, Value>>,
    moved: Value,
    writers: OrderedMap<u64>,
    warnings: Vec<String>,
}

/// An object as it is. Records are files anybody may have edited: what is none is left out.
pub(super) fn object_or_null(value: &Value) -> Value {
    if value.is_object() { value.clone() } else { Value::Null }
}

fn read_value(system: &dyn System, path: &str) -> Value {
    let bytes = system.read(path).into_bytes();
    bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
}

fn facts(system: &dyn System, run: &PastRun) -> Facts {
    serde_json::from_value(read_value(system, &join(&run.folder, "run.json"))).unwrap_or_default()
}

/// Whether a run evaluated all of its suite, by the rubrics of files.
pub(crate) fn is_whole(system: &dyn System, run: &PastRun) -> bool {
    !run.header.is_narrowed() && facts(system, run).tried.is_empty()
}

/// `summary.json` of a run; null where it cannot be read.
pub(crate) fn summary_of(system: &dyn System, run: &PastRun) -> Value {
    object_or_null(&read_value(system, &join(&run.folder, "summary.json")))
}

/// When a run began.
pub(crate) fn started(system: &dyn System, run: &PastRun) -> Option<String> {
    facts(system, run).started
}

impl RunView {
    /// Whether any verdict was compared with a label.
    pub(crate) fn is_labelled(&self) -> bool {
        self.metrics.0.iter().any(|(_, metric)| metric.agreement.is_some())
    }

    pub(crate) fn read(system: &dyn System, run: &PastRun, under_way: bool) -> Self {
        let summary = read_value(system, &join(&run.folder, "summary.json"));
        Self { under_way, ..Self::new(system, run, &summary, &facts(system, run)) }
    }

    fn new(system: &dyn System, run: &PastRun, summary: &Value, facts: &Facts) -> Self {
        let sum = |name: &str| {
            let numbers = facts.actions.0.iter().filter_map(|(_, tally)| tally.get(name)?.as_u64());
            numbers.fold(0, u64::saturating_add)
        };
        let session = facts.session;
        let of_target =
            facts.target.as_ref().and_then(|target| target.get("spent")?.get("cost")?.as_f64());
        let of_judges = facts.spent.get("cost").and_then(Value::as_f64);
        let list_costs = facts.actions.0.iter();
        let list_costs = list_costs.filter_map(|(_, tally)| tally.get("list_cost")?.as_f64());
        let used = |name: &str| facts.spent.get(name).and_then(Value::as_u64).unwrap_or(0);
        let spent = SpentView {
            input_tokens: used("input"),
            cache_read: used("cache_read"),
            cache_write: used("cache_write"),
            output_tokens: used("output"),
            list_cost: list_costs.reduce(|one, other| one + other),
        };
        let cost = of_judges.into_iter().chain(of_target).reduce(|one, other| one + other);
        Self {
            id: run.id.clone(),
            suite: run.header.suite.clone(),
            started: facts.started.clone(),
            finished: facts.finished.clone(),
            under_way: false,
            interrupted: facts.interrupted,
            session: system.open(&join(&run.folder, SAVES)).is_ok(),
            narrowed: run.header.is_narrowed(),
            part: run.header.settings.get("partition").and_then(Value::as_str).map(str::to_owned),
            trial: is_trial(&run.id),
            tried: facts.tried.clone(),
            samples: summary["samples"].as_u64(),
            results: summary["results"].as_u64(),
            gate: object_or_null(&summary["gate"]),
            metrics: metrics::metrics(summary),
            declared: metrics::declared(summary),
            actions: ActionsView {
                total: sum("total"),
                cached: session.map_or_else(|| sum("cached"), |all| all.cached),
                asked: session.map_or_else(|| sum("asked"), |all| all.asked),
                failed: session.map_or_else(|| sum("failed"), |all| all.failed),
                pending: sum("pending"),
            },
            cost,
            spent,
            exit_code: facts.exit_code,
        }
    }
}

/// The graders of a run, as far as labels are read for them.
pub(crate) fn labelled_graders(header: &PastHeader) -> Vec<LabelledGrader> {
    let grader = |(name, settings): (&str, &Map<String, Value>)| LabelledGrader {
        name: name.to_owned(),
        scale: scale(settings).unwrap_or(Scale::UNIT),
        threshold: settings.get("pass_threshold").and_then(Value::as_f64).unwrap_or(1.0),
    };
    header.graders().map(grader).collect()
}

/// The scale on which people label what a grader with these settings grades, where it is not that of all scores.
fn scale(settings: &Map<String, Value>) -> Option<Scale> {
    if let Some(function) = settings.get("function").and_then(Value::as_str) {
        let config = settings.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        return recorded_scale(&ToolSpec { function: function.to_owned(), config });
    }
    // Of two answers the better one is chosen, on whichever scale.
    if settings.get("compare_to").is_some_and(|other| !other.is_null()) {
        return None;
    }
    let [min, max] = settings.get("scale")?.as_array()?.as_slice() else { return None };
    Some(Scale { min: min.as_f64()?, max: max.as_f64()? }).filter(|scale| scale.min < scale.max)
}

impl RunDetails {
    /// What the page of a run shows, as far as its record says it; `problems` are what went wrong beside it, as with labels.
    pub(crate) fn read(
        system: &dyn System,
        run: &PastRun,
        rows: &RunRows,
        problems: Vec<String>,
    ) -> Self {
        let header = match read_value(system, &join(&run.folder, "header.json")) {
            Value::Object(header) => header,
            _ => Map::new(),
        };
        let summary = summary_of(system, run);
        let facts = facts(system, run);
        let graders = run.header.graders().map(|(name, settings)| {
            let text = |field: &str| settings.get(field)?.as_str().map(str::to_owned);
            GraderView {
                name: name.to_owned(),
                label: summary["labels"][name].as_str().map(str::to_owned),
                pass_threshold: settings.get("pass_threshold").and_then(Value::as_f64),
                model: text("model"),
                prompt: text("prompt"),
                label_keys: label_key_views(scale(settings).unwrap_or(Scale::UNIT)),
            }
        });
        let tags = summary["by_tag"].as_object();
        let mut warnings = facts.warnings.clone();
        warnings.extend(problems);
        if rows.broken > 0 {
            warnings.push(format!("{} lines of results.jsonl cannot be read", rows.broken));
        }
        Self {
            run: RunView::new(system, run, &summary, &facts),
            graders: graders.collect(),
            models: rows.models.clone(),
            trials: rows.trials,
            tags: tags.map(|tags| tags.keys().cloned().collect()).unwrap_or_default(),
            histograms: rows.histograms(),
            agreement: OrderedMap::default(),
            categories: OrderedMap::default(),
            labeller: None,
            labels_fixed: None,
            previous: None,
            next: None,
            moved: object_or_null(&facts.moved),
            writers: facts.writers,
            header,
            summary,
            warnings,
        }
    }
}

/// The ids of the runs recorded under `home`, the newest first; no trials.
pub(crate) fn run_ids(system: &dyn System, home: &str) -> Vec<String> {
    let ids = system.list(&runs_of(home)).unwrap_or_default().into_iter().rev();
    ids.filter(|id| !is_trial(id)).collect()
}

pub(crate) fn open_run(system: &dyn System, home: &str, id: &str) -> Option<PastRun> {
    open(system, &join(&runs_of(home), id), id)
}
