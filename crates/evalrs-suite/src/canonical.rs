//! A suite written out in one form, whatever dialect it was read from.
//!
//! Everything is written out, defaults too, after `extends`, variables and aliases; rubrics stand inline. Reading
//! the text back gives an equal suite. Paths are written as they were joined, so the text belongs into the
//! folder that those paths start from, normally the working directory.

use serde_json::{Map, Value, json};

use super::interpolate::escape;
use super::{canonical_metrics, canonical_target};
use evalrs_base::yaml::source;
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{
    CompareTo, EmbeddingSpec, GraderKind, GraderSpec, JoinBy, JudgeProgramSpec, JudgeSpec,
    LabelMeaning, LabelsSpec, Language, ProgramSpec, Repeat, RewardSpec, RubricSpec, Suite,
    TargetSpec, Variable,
};

/// The suite that was read from the file at `path` as YAML.
pub fn canonical(suite: &Suite, path: &str) -> String {
    let WrittenGraders { graders, reward } = written(suite, path);
    let script = suite.target.live().and_then(|live| live.hooks.script.as_ref());
    let mut suite = without_empty(json!({
        "name": suite.name,
        "description": suite.description,
        "dataset": without_empty(json!(suite.dataset)),
        "target": target(&suite.target, path),
        "models": suite.target.live().map(|live| json!(live.models)),
        "graders": graders,
        "reward": reward,
        "metrics": canonical_metrics::metrics(&suite.metrics),
        "labels": suite.labels.as_ref().map(labels),
        "calibration": json!(suite.calibration),
        "gate": suite.gate,
        "max_samples": suite.max_samples,
        "sample_tags": suite.sample_tags,
        "num_runs": suite.num_runs,
        "max_concurrent": suite.max_concurrent,
        "allow": suite.allow,
        "setup_script": script.map(called),
        "max_concurrent_targets": suite.target.live().and_then(|live| live.max_concurrent),
    }));
    escape_texts(&mut suite);
    yaml(&suite)
}

/// What a suite says, as its text: every value means itself, also where it looks like a variable.
pub fn to_yaml(suite: &Value) -> String {
    let mut suite = suite.clone();
    escape_texts(&mut suite);
    yaml(&suite)
}

fn yaml(suite: &Value) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(suite, options).unwrap_or_default()
}

/// What the suite at `path` says of its target, its gate and its graders.
pub fn config(suite: &Suite, path: &str) -> Value {
    let WrittenGraders { graders, reward } = written(suite, path);
    let mut config =
        json!({"target": target(&suite.target, path), "gate": suite.gate, "graders": graders});
    extend(&mut config, without_empty(json!({"reward": reward})));
    config
}

/// The graders by name, and the section of the reward that is a function.
struct WrittenGraders {
    graders: Map<String, Value>,
    reward: Value,
}

fn written(suite: &Suite, path: &str) -> WrittenGraders {
    let mut graders = Map::new();
    let mut reward = Value::Null;
    for spec in &suite.graders {
        match &spec.kind {
            GraderKind::Reward(RewardSpec::Program(_)) => reward = grader(spec, path),
            _ => _ = graders.insert(spec.name.clone(), grader(spec, path)),
        }
    }
    WrittenGraders { graders, reward }
}

/// Escapes every text that is a value.
fn escape_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape(text),
        Value::Array(items) => items.iter_mut().for_each(escape_texts),
        Value::Object(members) => members.values_mut().for_each(escape_texts),
        _ => {}
    }
}

/// A mapping without what a suite does not say: null, and empty lists and mappings.
pub(super) fn without_empty(mut mapping: Value) -> Value {
    if let Some(members) = mapping.as_object_mut() {
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        });
    }
    mapping
}

/// Adds what the mapping `more` says to the mapping `base`.
pub(super) fn extend(base: &mut Value, more: Value) {
    if let (Some(members), Value::Object(more)) = (base.as_object_mut(), more) {
        members.extend(more);
    }
}

fn labels(spec: &LabelsSpec) -> Value {
    let fields = spec.fields.iter().map(|(name, path)| (name.clone(), Value::from(path.as_str())));
    let meaning = |meaning: &LabelMeaning| match meaning {
        LabelMeaning::Pass(true) => Value::from("pass"),
        LabelMeaning::Pass(false) => Value::from("fail"),
        LabelMeaning::Score(score) => Value::from(*score),
    };
    let map = spec.map.iter().map(|(written, meant)| (written.clone(), meaning(meant)));
    without_empty(json!({
        "path": spec.path,
        "for": spec.graders,
        "fields": fields.collect::<Map<String, Value>>(),
        "at": spec.columns,
        "map": map.collect::<Map<String, Value>>(),
        "holdout": spec.holdout,
    }))
}

fn target(spec: &TargetSpec, path: &str) -> Value {
    match spec {
        TargetSpec::Recorded { path, format, join } => {
            let by = match &join.by {
                JoinBy::Id => None,
                JoinBy::Line => Some("line"),
                JoinBy::Field(path) => Some(path.as_str()),
            };
            let fields = Some(&join.fields).filter(|fields| !fields.paths.is_empty());
            without_empty(json!({
                "kind": "recorded", "path": path, "format": format, "fields": fields, "by": by,
            }))
        }
        TargetSpec::Live(live) => canonical_target::live(live, path),
        TargetSpec::NotRunnable { kind, .. } => json!({"kind": kind}),
    }
}

/// A grader, or the `reward` section that it was made of.
fn grader(spec: &GraderSpec, path: &str) -> Value {
    let (kind, own) = match &spec.kind {
        GraderKind::Tool(tool) => {
            ("tool", without_empty(json!({"function": tool.function, "config": tool.config})))
        }
        GraderKind::Rubric(spec) => match &spec.embedding {
            Some(embedding) => ("similarity", similarity(spec, embedding)),
            None => ("rubric", rubric(spec, path)),
        },
        GraderKind::Program(spec) => ("program", program("path", spec, path)),
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            ("combine", json!({"combine": expression.text}))
        }
        GraderKind::Reward(RewardSpec::Program(spec)) => {
            ("custom", program("function", spec, path))
        }
    };
    let mut grader = without_empty(json!({"kind": kind, "display_name": spec.display_name}));
    extend(&mut grader, own);
    // What makes one score of others extracts nothing.
    if !matches!(spec.kind, GraderKind::Reward(_)) {
        let program = spec.extractor.program.as_deref();
        let extractor = json!({
            "extractor": program.map_or_else(|| spec.extractor.name.clone(), called),
            "extractor_options": program.map(|program| settings(program, path)),
            "extractor_config": spec.extractor.options(),
            "include_subagents": spec.extractor.include_subagents.then_some(true),
        });
        extend(&mut grader, without_empty(extractor));
    }
    let common = json!({
        "pass_threshold": spec.pass_threshold,
        "ground_truth_pattern": spec.ground_truth_pattern,
        "ground_truth": spec.ground_truth.as_ref().map(|path| format!("row.{path}")),
        "not": spec.negated.then_some(true),
        "only": spec.only.as_ref().map(RowCondition::text),
    });
    extend(&mut grader, without_empty(common));
    grader
}

/// A program, named by a field, and its settings.
fn program(field: &str, spec: &ProgramSpec, path: &str) -> Value {
    let mut program = match &spec.inline {
        Some(text) => json!({"javascript": text}),
        None => json!({field: called(spec)}),
    };
    extend(&mut program, settings(spec, path));
    program
}

/// A program's file, and its function where the file has several.
pub(super) fn called(spec: &ProgramSpec) -> String {
    match spec.language {
        Language::Python => format!("{}:{}", spec.path, spec.function),
        Language::Executable | Language::JavaScript => spec.path.clone(),
    }
}

/// A variable that a program sees; whether it is a secret where its name does not tell.
fn variable(variable: &Variable) -> Value {
    if variable.is_plainly_named() {
        return json!(variable.name);
    }
    json!({&variable.name: if variable.is_secret { "secret" } else { "plain" }})
}

/// The settings of a program of the suite at `path`.
pub(super) fn settings(spec: &ProgramSpec, path: &str) -> Value {
    let inputs = spec.inputs.iter().map(|input| source::join(path, input));
    let outputs = spec.outputs.iter().map(|output| source::join(path, output));
    without_empty(json!({
        "runtime": spec.runtime,
        "inputs": inputs.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
        "sees": spec.sees.iter().map(|member| member.name()).collect::<Vec<_>>(),
        "env": spec.env.iter().map(variable).collect::<Vec<_>>(),
        "cwd": spec.cwd,
        "sandbox": without_empty(json!(spec.sandbox)),
        "cache": (spec.repeat == Repeat::Always).then_some(false),
        "deterministic": (spec.repeat == Repeat::Sometimes).then_some("check"),
        "timeout": spec.timeout_ms as f64 / 1000.0,
    }))
}

fn rubric(spec: &RubricSpec, path: &str) -> Value {
    let mut rubric = json!({"prompt": spec.prompt});
    let any_judge = |spec: &JudgeSpec| match &spec.program {
        None => judge(spec),
        Some(program) => command_judge(spec, program, path),
    };
    let judges = match &spec.judges[..] {
        [one] => any_judge(one),
        panel => json!({"panel": panel.iter().map(any_judge).collect::<Vec<_>>()}),
    };
    extend(&mut rubric, judges);
    extend(&mut rubric, without_empty(json!(spec)));
    // The first `row.` of a path is a prefix, so a field called `row` needs one more.
    if let Some(CompareTo::Field(path)) = &spec.compare_to
        && path.starts_with("row.")
    {
        rubric["compare_to"]["field"] = json!(format!("row.{path}"));
    }
    rubric
}

/// A grader that embeds.
fn similarity(spec: &RubricSpec, embedding: &EmbeddingSpec) -> Value {
    let mut similarity = json!({"value": embedding.value, "dimensions": embedding.dimensions});
    extend(&mut similarity, spec.judges.first().map(judge).unwrap_or_default());
    if let Some(members) = similarity.as_object_mut() {
        members.retain(|name, _| !matches!(name.as_str(), "temperature" | "response_format"));
    }
    without_empty(similarity)
}

/// A judge that is a command.
fn command_judge(spec: &JudgeSpec, judge: &JudgeProgramSpec, path: &str) -> Value {
    let mut all = json!({"command": words(&judge.program), "version": judge.version});
    extend(&mut all, settings(&judge.program, path));
    let patience = json!({
        "timeout": spec.patience.timeout,
        "deadline": spec.patience.deadline,
        "retries": spec.patience.max_retries,
        "max_requests_per_minute": spec.patience.max_requests_per_minute,
        // What runs it is its first word.
        "runtime": null,
    });
    extend(&mut all, patience);
    without_empty(all)
}

/// The words of a command.
pub(super) fn words(program: &ProgramSpec) -> Vec<String> {
    let first = match program.path.as_str() {
        "" => program.runtime.clone(),
        // A name without a slash is one that is looked for.
        path if !path.contains('/') => Some(format!("./{path}")),
        path => Some(path.to_owned()),
    };
    first.into_iter().chain(program.arguments.iter().cloned()).collect()
}

pub(super) fn judge(spec: &JudgeSpec) -> Value {
    let mut judge = without_empty(json!(spec));
    // Here null says something: no temperature is sent.
    judge["temperature"] = json!(spec.temperature);
    if let (Some(agent), Some(members)) = (&spec.agent, judge.as_object_mut()) {
        // What its file says is not written beside it.
        members.retain(|name, _| {
            !matches!(name.as_str(), "temperature" | "response_format" | "model")
        });
        let of_agent = json!({
            "model": agent.model,
            "agent_file": agent.path,
            "judge_tool_name": agent.tool,
            "keep_agents": agent.keep.then_some(true),
        });
        extend(&mut judge, without_empty(of_agent));
    }
    judge
}
