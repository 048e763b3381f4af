//! A suite file into a [`Suite`], with every problem of every file at once.
//!
//! It owns the fields of the suite itself; datasets, targets, graders, rewards and gates are read by the files
//! beside it. A reading never stops at a problem: it goes on with the next field, and gives a suite only if no error
//! was found and no file is still unread.

use crate::fields::{Field, FieldSet};
use crate::files::Files;
use crate::findings::Findings;
use crate::load::{self, FileLookups};
use crate::program_places::ProgramPlaces;
use crate::reader::{Reader, Registry};
use crate::rollup::looks_like_rollup;
use crate::section::FieldShape::{AnyOf, ListOf, MapOf, Mapping, Text, Texts};
use crate::section::{COUNT, FieldSpec, Section, fields, section};
use crate::sections::allow::{ALLOW, allowed};
use crate::sections::dataset::DATASET;
use crate::sections::environment::SANDBOX_SHAPE;
use crate::sections::gate::{GATE, GateNames};
use crate::sections::graders::GRADER;
use crate::sections::labels::{CALIBRATION, LABELS};
use crate::sections::metric_kinds::METRIC;
use crate::sections::rewards::REWARD_SHAPE;
use crate::sections::targets::TARGET;
use crate::sections::targets::around::{AroundTarget, TARGET_MODEL, models};
use crate::sections::thresholds::Passes;
use crate::sections::{
    agents, dataset, environment, gate, graders, labels, metrics, rewards, targets,
};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_eval::lint::rubric_places::RubricPlaces;
use evalrs_model::spec::{LabelsSpec, ProgramSpec, RecordingJoin, Sandbox, Suite, TargetSpec};

pub(crate) static SUITE: Section = section!["a suite",
    "name": Text, required => "the suite's name in reports";
    "description": Text => "one line about the suite, for readers";
    "dataset": AnyOf(&[Text, Mapping(&DATASET)]), required => "the samples: a path, or a mapping";
    "target": TARGET => "the agent under test: its recorded answers, or how to run it";
    "models": AnyOf(&[Text, ListOf(&AnyOf(&[Text, Mapping(&TARGET_MODEL)]))]) => "the models to run the target with, one result each: names, or `{name, provider}`; the target's own if absent";
    "sandbox": SANDBOX_SHAPE => "the sandbox of programs that set none themselves";
    "graders": MapOf(&GRADER) => "name → grader, in the order of reports";
    "grader": GRADER => "the only grader of an older suite; its name is `default`";
    "reward": REWARD_SHAPE => "one score made of the graders' scores: an expression, or a mapping";
    "labels": AnyOf(&[Text, Mapping(&LABELS)]) => "human labels of answers: a file, or a mapping; if absent, those of the rows, or of `bot.labels.jsonl` beside `bot.yaml`";
    "calibration": Mapping(&CALIBRATION) => "how well judges must agree with human labels, for `--require-calibration`";
    "metrics": MapOf(&Mapping(&METRIC)) => "name → number over all results, beside those of graders; a gate may name it";
    "gate": GATE => "the rule that decides the exit code; a suite without one always passes";
    "max_samples": COUNT => "the first N samples only";
    "num_runs": COUNT, or "1" => "trials per sample: N runs of a target; of recorded trials the first N, or all with 1";
    "max_concurrent": COUNT => "actions in flight at once; 15 if neither the suite nor `evalrs.toml` sets it";
    "max_concurrent_targets": COUNT, or "4" => "conversations of the target in flight at once";
    "sample_tags": Texts => "only samples with one of these tags";
    "setup_script": Text => "a Python function, `file.py:name`, that prepares a Letta server before the first conversation";
    "allow": ALLOW => "warnings to switch off, by name";
];

/// What a file says beyond [`SUITE`], and is gone once it is loaded.
pub(crate) const EXTENDS: &[FieldSpec] = fields![
    "extends": Text => "a base suite: mappings merge key by key, everything else is replaced; `key: null` removes an option of the base";
];

/// The result of reading a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteReading {
    /// The suite, if there is no error and nothing is unread.
    pub suite: Option<Suite>,
    /// Every problem found. Of a reading with unread files, not yet all.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was needed, in order, the suite itself first.
    pub files: Vec<String>,
    /// The files that were [`evalrs_base::file_text::FileText::Unread`]: read them, then read the suite again.
    pub unread: Vec<String>,
    /// Where the dataset is named, for problems with that file.
    pub dataset_place: Option<Place>,
    /// Where the recorded trajectories are named.
    pub target_place: Option<Place>,
    /// Where the suite names a file of labels.
    pub labels_place: Option<Place>,
    /// Where the dataset's `fields` name what of a row: our name or the output's, and the place.
    pub field_places: Vec<(String, Place)>,
    /// Where each metric is declared.
    pub metric_places: Vec<(String, Place)>,
    /// Where the suite says what of each program. One that several graders name stands here as often.
    pub program_places: Vec<(ProgramSpec, ProgramPlaces)>,
    /// The file that each rubric is written in, by grader.
    pub rubric_files: Vec<(String, String)>,
    /// The places of the settings of each rubric, by grader.
    pub rubric_places: Vec<(String, RubricPlaces)>,
}

pub fn read_suite(path: &str, files: &dyn Files, registry: &Registry<'_>) -> SuiteReading {
    let findings = Findings::default();
    let mut reader = Reader {
        files,
        registry,
        sandbox: Sandbox { kind: registry.sandbox, ..Sandbox::default() },
        findings: &findings,
        looked: FileLookups::default(),
        programs: Vec::new(),
        without_threshold: Vec::new(),
        rubric_places: Vec::new(),
    };
    let mut reading = SuiteReading::default();
    let root = load::load(path, files, &mut reader.looked, &findings);
    if let Some(root) = root {
        reading.dataset_place = place_of(&root, "dataset", &findings);
        reading.target_place = place_of(&root, "target", &findings);
        reading.labels_place = place_of(&root, "labels", &findings);
        reading.field_places = field_places(&root, &findings);
        reading.metric_places = metric_places(&root, &findings);
        reading.suite = suite(&root, &mut reader);
    }
    if findings.failed() || !reader.looked.unread.is_empty() {
        reading.suite = None;
    }
    let Reader { looked, programs, rubric_places, .. } = reader;
    reading.program_places =
        programs.into_iter().map(|(spec, spans)| (spec, spans.places(&findings))).collect();
    reading.diagnostics = findings.finish();
    let allowed = reading.suite.as_ref().map(|suite| &suite.allow[..]).unwrap_or_default();
    reading
        .diagnostics
        .retain(|diagnostic| !allowed.iter().any(|lint| Some(lint.name()) == diagnostic.lint));
    reading.rubric_places = rubric_places;
    reading.rubric_files = looked.rubrics;
    reading.files = looked.files;
    reading.unread = looked.unread;
    reading
}

/// The name of the suite at `path`, whatever is wrong with the rest; none if the file is not a suite.
pub fn suite_name(path: &str, files: &dyn Files) -> Option<String> {
    let findings = Findings::default();
    let root = load::load(path, files, &mut FileLookups::default(), &findings)?;
    root.entry("graders")?;
    Field { entry: root.entry("name")?, findings: &findings }.text()
}

/// What the suite at `path` says of labels, whatever is wrong with the rest.
pub fn suite_labels(path: &str, files: &dyn Files) -> Option<LabelsSpec> {
    let findings = Findings::default();
    let root = load::load(path, files, &mut FileLookups::default(), &findings)?;
    labels::labels(&FieldSet::new(root.entries(), &SUITE, &findings), None, None)
}

/// Whether the suite at `path` has one grader, whatever is wrong with the rest.
pub fn has_one_grader(path: &str, files: &dyn Files) -> bool {
    let root = load::load(path, files, &mut FileLookups::default(), &Findings::default());
    root.is_some_and(|root| {
        let graders = root.get("graders").map_or(0, |graders| graders.entries().len());
        graders == 1 && root.get("reward").is_none()
    })
}

/// A suite is read whole even if a part of it is wrong, so that every problem is found.
fn suite(root: &YamlNode, reader: &mut Reader<'_>) -> Option<Suite> {
    if looks_like_rollup(root) {
        let message = "this is a roll-up of suites, not a suite";
        let hint = "name the suites, then `--rollup` and this file";
        return reader.findings.refuse(root.span, message, hint);
    }
    let fields = FieldSet::new(root.entries(), &SUITE, reader.findings);
    let name = reader.required("name", &fields, root);
    let name = name.and_then(Field::text);
    let description = fields.text("description");
    let dataset = reader.required("dataset", &fields, root);
    let mut dataset = dataset.and_then(dataset::dataset);
    let setup_script = fields.take("setup_script");
    let target = match fields.take("target") {
        Some(field) => {
            let models = fields.take("models").map(|field| models(field, reader));
            let max_concurrent = fields.whole("max_concurrent_targets");
            let models = models.unwrap_or_default();
            let around = AroundTarget { setup_script, models, max_concurrent };
            targets::target(field, around, reader)
        }
        None => {
            Some(TargetSpec::Recorded { path: None, format: None, join: RecordingJoin::default() })
        }
    };
    if let Some(field) = fields.take("sandbox")
        && let Some(sandbox) = environment::sandbox(field)
    {
        reader.sandbox = sandbox;
    }
    let mut graders = graders::graders(&fields, root, reader);
    rewards::reward(&fields, &mut graders, reader);
    rewards::check_names(&graders, reader.findings);
    agents::join_target(target.as_ref(), &mut graders.specs);
    let keys: Vec<&str> = graders.names.iter().map(String::as_str).collect();
    let metrics = metrics::metrics(&fields, &keys);
    let metric_names = metrics::metric_names(&fields);
    let names = GateNames { graders: &keys, metrics: &metric_names };
    let rows = dataset.as_mut().map(|dataset| &mut dataset.fields);
    let labels = labels::labels(&fields, Some(&keys), rows);
    let calibration = labels::calibration(&fields);
    let gate = gate::gate(&fields, names);
    let max_samples = fields.whole("max_samples");
    let num_runs = fields.whole("num_runs").unwrap_or(1);
    let max_concurrent = fields.whole("max_concurrent");
    let sample_tags = fields.texts("sample_tags").unwrap_or_default();
    let allow = fields.take("allow").map(allowed).unwrap_or_default();
    let passes = Passes { gate: gate.as_ref(), num_runs };
    passes.check(&graders.specs, &reader.without_threshold, reader.findings);
    fields.finish();
    Some(Suite {
        name: name?,
        description,
        dataset: dataset?,
        target: target?,
        graders: graders.specs,
        metrics,
        labels,
        calibration,
        gate,
        max_samples,
        sample_tags,
        num_runs,
        max_concurrent,
        allow,
    })
}

/// The place of the `path` of a section, or else of what says most about it.
fn place_of(root: &YamlNode, section: &str, findings: &Findings) -> Option<Place> {
    let node = root.get(section)?;
    let node = match &node.value {
        Yaml::Map(_) => node.get("path").or_else(|| node.get("kind")).unwrap_or(node),
        _ => node,
    };
    Some(findings.place(node.span))
}

/// What the path of the label of an output is called, which has a path under its own name.
pub fn label_of(model: &str) -> String {
    format!("label.{model}")
}

/// The place of a metric's weight or class, else of the metric.
fn metric_places(root: &YamlNode, findings: &Findings) -> Vec<(String, Place)> {
    let metrics = root.get("metrics").map(YamlNode::entries).unwrap_or_default();
    let place = |entry: &YamlEntry| {
        let mut own = entry.value.entries().iter();
        let said = own.find(|own| ["weight", "class"].contains(&own.key.as_str()));
        findings.place(said.map_or(entry.key_span, |said| said.value.span))
    };
    metrics.iter().map(|entry| (entry.key.clone(), place(entry))).collect()
}

/// The places of the paths in the dataset's `fields`, those of `outputs` and of their labels among them, and of labels
/// where another section says where they stand.
fn field_places(root: &YamlNode, findings: &Findings) -> Vec<(String, Place)> {
    let fields = root.get("dataset").and_then(|dataset| dataset.get("fields"));
    let entries = fields.map(YamlNode::entries).unwrap_or_default();
    let place = |entry: &YamlEntry| findings.place(entry.value.span);
    let inside = |name: &'static str| {
        let own = entries.iter().filter(move |entry| entry.key == name);
        own.flat_map(|entry| entry.value.entries())
    };
    let of_outputs = inside("label").map(|entry| (label_of(&entry.key), place(entry)));
    let all = entries.iter().chain(inside("outputs"));
    let at = labels::row_place(root).map(|entry| ("label".to_owned(), place(entry)));
    all.map(|entry| (entry.key.clone(), place(entry))).chain(of_outputs).chain(at).collect()
}
