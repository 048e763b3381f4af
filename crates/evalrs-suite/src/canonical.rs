//! A suite written out in one form, whatever dialect it was read from.
//!
//! Everything is written out, defaults too, after `extends`, variables and aliases; rubrics stand inline. Reading
//! the text back gives an equal suite. Paths are written as they were joined, so the text belongs into the
//! folder that those paths start from, normally the working directory.

use serde_json::{Map, Value, json};

use crate::interpolate::escape;
use crate::sections::program_files::written_call;
use crate::sections::{graders, metric_kinds, targets};
use crate::written::{extend, without_empty};
use evalrs_model::spec::{GraderKind, RewardSpec, Suite};

/// The suite that was read from the file at `path` as YAML.
pub fn canonical(suite: &Suite, path: &str) -> String {
    let WrittenGraders { graders, reward } = written(suite, path);
    let live = suite.target.live();
    let script = live.and_then(|live| live.hooks.script.as_ref());
    to_yaml(&without_empty(json!({
        "name": suite.name,
        "description": suite.description,
        "dataset": without_empty(json!(suite.dataset)),
        "target": targets::written(&suite.target, path),
        "models": live.map(|live| &live.models),
        "graders": graders,
        "reward": reward,
        "metrics": metric_kinds::metrics(&suite.metrics),
        "labels": suite.labels.as_ref().map(|labels| without_empty(json!(labels))),
        "calibration": json!(suite.calibration),
        "gate": suite.gate,
        "max_samples": suite.max_samples,
        "sample_tags": suite.sample_tags,
        "num_runs": suite.num_runs,
        "max_concurrent": suite.max_concurrent,
        "allow": suite.allow,
        "setup_script": script.map(written_call),
        "max_concurrent_targets": live.and_then(|live| live.max_concurrent),
    })))
}

/// What a suite says, as its text: every value means itself, also where it looks like a variable.
pub fn to_yaml(suite: &Value) -> String {
    let mut suite = suite.clone();
    escape_texts(&mut suite);
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(&suite, options).unwrap_or_default()
}

/// What the suite at `path` says of its target, its gate and its graders.
pub fn config(suite: &Suite, path: &str) -> Value {
    let WrittenGraders { graders, reward } = written(suite, path);
    let mut config = json!({"target": targets::written(&suite.target, path), "gate": suite.gate, "graders": graders});
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
            GraderKind::Reward(RewardSpec::Program(_)) => reward = graders::written(spec, path),
            GraderKind::Reward(RewardSpec::Criteria(criteria)) => {
                let all: Vec<String> = criteria.graders(&spec.name).collect();
                let own = suite.graders.iter().filter(|grader| all.contains(&grader.name));
                let written =
                    graders::written_criteria(spec, criteria, &own.collect::<Vec<_>>(), path);
                graders.insert(spec.name.clone(), written);
            }
            _ if spec.name.contains('.') => {}
            _ => _ = graders.insert(spec.name.clone(), graders::written(spec, path)),
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
