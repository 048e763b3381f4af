//! A suite written out in one form, whatever dialect it was read from.
//!
//! Everything is written out, defaults too, after `extends`, variables and aliases; rubrics stand inline. Reading
//! the text back gives an equal suite. Paths are written as they were joined, so the text belongs into the
//! folder that those paths start from, normally the working directory.

use serde_json::{Map, Value, json};

use super::interpolate::escape;
use super::source;
use crate::pipeline::spec::{
    CompareTo, Condition, DatasetSpec, Gate, GraderKind, GraderSpec, HeaderValue, JudgeSpec,
    RewardSpec, RubricSpec, Suite, TargetSpec,
};
use crate::pipeline::spec::{Language, ProgramSpec, Repeat, Variable};

/// The suite that was read from the file at `path` as YAML.
pub(crate) fn canonical(suite: &Suite, path: &str) -> String {
    let mut graders = Map::new();
    let mut reward = Value::Null;
    for spec in &suite.graders {
        match &spec.kind {
            GraderKind::Reward(RewardSpec::Program(composer)) => {
                reward = reward_section(spec, composer, path);
            }
            _ => {
                graders.insert(spec.name.clone(), grader(spec, path));
            }
        }
    }
    let mut suite = said(json!({
        "name": suite.name,
        "description": suite.description,
        "dataset": dataset(&suite.dataset),
        "target": target(&suite.target),
        "graders": graders,
        "reward": reward,
        "gate": suite.gate.as_ref().map(gate),
        "max_samples": suite.max_samples,
        "sample_tags": suite.sample_tags,
        "num_runs": suite.num_runs,
        "max_concurrent": suite.max_concurrent,
    }));
    each_text(&mut suite, &mut |text| *text = escape(text));
    write(suite)
}

/// The line breaks of YAML 1.1 that are plain characters in YAML 1.2.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// The text of a mapping, which always serializes.
///
/// The writer folds lines at [`OLD_BREAKS`] and the reader does not, so other characters stand in for them
/// while it writes.
fn write(mut suite: Value) -> String {
    let text = serde_yaml::to_string(&suite).unwrap_or_default();
    if !text.contains(OLD_BREAKS) {
        return text;
    }
    let unused = ('\u{e000}'..='\u{f8ff}').filter(|stand_in| !text.contains(*stand_in));
    let swaps: Vec<(char, char)> = OLD_BREAKS.into_iter().zip(unused).collect();
    let mut swap = |text: &mut String| {
        for (from, to) in &swaps {
            *text = text.replace(*from, to.encode_utf8(&mut [0; 4]));
        }
    };
    each_text(&mut suite, &mut swap);
    each_key(&mut suite, &mut swap);
    let mut text = serde_yaml::to_string(&suite).unwrap_or_default();
    for (old_break, stand_in) in &swaps {
        text = text.replace(*stand_in, old_break.encode_utf8(&mut [0; 4]));
    }
    text
}

/// Changes every text that is a value.
fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => members.values_mut().for_each(|value| each_text(value, change)),
        _ => {}
    }
}

/// Changes every key.
fn each_key(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_key(item, change)),
        Value::Object(members) => {
            let renamed = std::mem::take(members).into_iter().map(|(mut key, mut value)| {
                change(&mut key);
                each_key(&mut value, change);
                (key, value)
            });
            *members = renamed.collect();
        }
        _ => {}
    }
}

/// A mapping without what a suite does not say: null, and empty lists and mappings.
fn said(mut mapping: Value) -> Value {
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
fn extend(base: &mut Value, more: Value) {
    if let (Some(members), Value::Object(more)) = (base.as_object_mut(), more) {
        members.extend(more);
    }
}

fn dataset(spec: &DatasetSpec) -> Value {
    let mut fields: Map<String, Value> =
        spec.fields.paths.iter().map(|(ours, path)| (ours.clone(), json!(path))).collect();
    let outputs: Map<String, Value> =
        spec.fields.outputs.iter().map(|(model, path)| (model.clone(), json!(path))).collect();
    if !outputs.is_empty() {
        fields.insert("outputs".to_owned(), Value::Object(outputs));
    }
    said(json!({"path": spec.path, "format": spec.format, "fields": fields}))
}

fn target(spec: &TargetSpec) -> Value {
    match spec {
        TargetSpec::Recorded { path, format } => {
            said(json!({"kind": "recorded", "path": path, "format": format}))
        }
        TargetSpec::NotRunnable { kind } => json!({"kind": kind}),
    }
}

fn grader(spec: &GraderSpec, path: &str) -> Value {
    let kind = match &spec.kind {
        GraderKind::Tool(_) => "tool",
        GraderKind::Rubric(_) => "rubric",
        GraderKind::Program(_) => "program",
        GraderKind::Reward(_) => "combine",
    };
    let mut grader = said(json!({"kind": kind, "display_name": spec.display_name}));
    let own = match &spec.kind {
        GraderKind::Tool(tool) => said(json!({"function": tool.function, "config": tool.config})),
        GraderKind::Rubric(spec) => rubric(spec),
        GraderKind::Program(spec) => program("path", spec, path),
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            json!({"combine": expression.text})
        }
        GraderKind::Reward(RewardSpec::Program(_)) => Value::Null,
    };
    extend(&mut grader, own);
    // What makes one score of others extracts nothing.
    if !matches!(spec.kind, GraderKind::Reward(_)) {
        extend(&mut grader, extractor(spec, path));
    }
    let common = json!({
        "pass_threshold": spec.pass_threshold,
        "ground_truth_pattern": spec.ground_truth_pattern,
    });
    extend(&mut grader, said(common));
    grader
}

fn extractor(spec: &GraderSpec, path: &str) -> Value {
    let program = spec.extractor.program.as_deref();
    said(json!({
        "extractor": program.map_or_else(|| spec.extractor.name.clone(), called),
        "extractor_options": program.map(|program| settings(program, path)),
        "extractor_config": spec.extractor.options(),
        "include_subagents": spec.extractor.include_subagents.then_some(true),
    }))
}

/// The `reward` section that a grader was made of.
fn reward_section(spec: &GraderSpec, composer: &ProgramSpec, path: &str) -> Value {
    let mut reward = said(json!({
        "kind": "custom",
        "function": called(composer),
        "display_name": spec.display_name,
    }));
    extend(&mut reward, settings(composer, path));
    extend(&mut reward, json!({"pass_threshold": spec.pass_threshold}));
    reward
}

/// A program's file, and its function where the file has several.
fn called(spec: &ProgramSpec) -> String {
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

/// A program, named by a field, and its settings.
fn program(field: &str, spec: &ProgramSpec, path: &str) -> Value {
    let mut program = json!({field: called(spec)});
    extend(&mut program, settings(spec, path));
    program
}

/// The settings of a program of the suite at `path`.
fn settings(spec: &ProgramSpec, path: &str) -> Value {
    let inputs = spec.inputs.iter().map(|input| source::join(path, input));
    said(json!({
        "runtime": spec.runtime,
        "inputs": inputs.collect::<Vec<_>>(),
        "env": spec.env.iter().map(variable).collect::<Vec<_>>(),
        "cwd": spec.cwd,
        "sandbox": said(json!({
            "kind": spec.sandbox.kind.name(),
            "memory": spec.sandbox.memory,
            "cpu": spec.sandbox.cpu_seconds,
        })),
        "cache": (spec.repeat == Repeat::Always).then_some(false),
        "deterministic": (spec.repeat == Repeat::Sometimes).then_some("check"),
        "timeout": spec.timeout_ms as f64 / 1000.0,
    }))
}

fn rubric(spec: &RubricSpec) -> Value {
    let mut rubric = json!({"prompt": spec.prompt});
    let judges = match &spec.judges[..] {
        [one] => judge(one),
        panel => json!({"panel": panel.iter().map(judge).collect::<Vec<_>>()}),
    };
    extend(&mut rubric, judges);
    let compare_to = spec.compare_to.as_ref().map(|compare_to| match compare_to {
        // The first `row.` of a path is a prefix, so a field called `row` needs one more.
        CompareTo::Field(path) if path.starts_with("row.") => {
            json!({"field": format!("row.{path}")})
        }
        CompareTo::Field(path) => json!({"field": path}),
        CompareTo::Run(path) => json!({"run": path}),
    });
    let voting = json!({
        "compare_to": compare_to,
        "scale": spec.scale.map(|scale| json!({"min": scale.min, "max": scale.max})),
        "rubric_vars": spec.rubric_vars,
        "votes": spec.votes,
        "combine": spec.combine,
        "confirm_fails": spec.confirm_fails,
    });
    extend(&mut rubric, said(voting));
    rubric
}

fn judge(spec: &JudgeSpec) -> Value {
    let headers = spec.headers.iter().map(|header| {
        let value = match &header.value {
            HeaderValue::Text(text) => json!(text),
            HeaderValue::Variable(variable) => json!({"env": variable}),
        };
        (header.name.clone(), value)
    });
    let mut judge = said(json!({
        "model": spec.model,
        "provider": spec.provider,
        "base_url": spec.base_url,
        "endpoint": spec.endpoint,
        "api_key_env": spec.api_key_env,
        "headers": headers.collect::<Map<_, _>>(),
    }));
    // Here null says something: no temperature is sent.
    extend(&mut judge, json!({"temperature": spec.temperature}));
    let further = json!({
        "seed": spec.seed,
        "max_tokens": spec.max_tokens,
        "top_p": spec.top_p,
        "extra_body": spec.extra_body,
        "response_format": spec.response_format,
        "max_retries": spec.patience.max_retries,
        "timeout": spec.patience.timeout,
        "deadline": spec.patience.deadline,
        "max_requests_per_minute": spec.patience.max_requests_per_minute,
        "max_tokens_per_minute": spec.patience.max_tokens_per_minute,
    });
    extend(&mut judge, said(further));
    judge
}

fn gate(gate: &Gate) -> Value {
    match gate {
        Gate::Simple(condition) => simple(condition),
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            let weights = weights.iter().map(|(grader, weight)| (grader.clone(), json!(weight)));
            json!({
                "kind": "weighted_average",
                "metric": aggregation,
                "weights": weights.collect::<Map<_, _>>(),
                "op": op,
                "value": value,
            })
        }
        Gate::Logical { operator, conditions } => json!({
            "kind": "logical",
            "operator": operator,
            "conditions": conditions.iter().map(self::gate).collect::<Vec<_>>(),
        }),
    }
}

fn simple(condition: &Condition) -> Value {
    said(json!({
        "metric_key": condition.metric_key,
        "metric": condition.aggregation,
        "op": condition.op,
        "value": condition.value,
        "pass_op": condition.pass.map(|pass| pass.op),
        "pass_value": condition.pass.map(|pass| pass.value),
    }))
}
