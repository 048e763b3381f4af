//! A suite written out in one form, whatever dialect it was read from.
//!
//! Everything is said, defaults too, after `extends`, variables and aliases; rubrics stand inline. Reading
//! the text back gives an equal suite. Paths are written as they were joined, so the text belongs into the
//! folder that those paths start from, normally the working directory.

use serde_json::Value;
use serde_yaml::{Mapping, Value as Yaml};

use super::interpolate::escape;
use super::source;
use crate::pipeline::spec::{
    CompareTo, Condition, DatasetSpec, Gate, GraderKind, GraderSpec, HeaderSpec, HeaderValue,
    JudgeSpec, PassRule, RewardSpec, RubricSpec, Suite, TargetSpec,
};
use crate::pipeline::spec::{Language, ProgramSpec, Repeat, Variable};

/// The suite that was read from the file at `path` as YAML.
pub(crate) fn canonical(suite: &Suite, path: &str) -> String {
    let mut map = Map::default();
    map.text("name", &suite.name);
    map.optional_text("description", suite.description.as_deref());
    map.put("dataset", dataset(&suite.dataset));
    map.put("target", target(&suite.target));
    let is_section = |spec: &&GraderSpec| reward_section(spec, path).is_some();
    let graders = suite.graders.iter().filter(|spec| !is_section(spec));
    let graders = graders.map(|spec| (Yaml::from(spec.name.as_str()), grader(spec, path)));
    map.put("graders", Yaml::Mapping(graders.collect()));
    map.optional("reward", suite.graders.iter().find_map(|spec| reward_section(spec, path)));
    map.optional("gate", suite.gate.as_ref().map(gate));
    map.optional("max_samples", suite.max_samples);
    if !suite.sample_tags.is_empty() {
        map.texts("sample_tags", &suite.sample_tags);
    }
    map.put("num_runs", suite.num_runs);
    map.optional("max_concurrent", suite.max_concurrent);
    write(map.finish())
}

/// The line breaks of YAML 1.1 that are plain characters in YAML 1.2.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// The text of a mapping with text keys, which always serializes.
///
/// The writer folds lines at [`OLD_BREAKS`] and the reader does not, so other characters stand in for them
/// while it writes.
fn write(mut yaml: Yaml) -> String {
    let text = serde_yaml::to_string(&yaml).unwrap_or_default();
    if !text.contains(OLD_BREAKS) {
        return text;
    }
    let unused = ('\u{e000}'..='\u{f8ff}').filter(|stand_in| !text.contains(*stand_in));
    let swaps: Vec<(char, char)> = OLD_BREAKS.into_iter().zip(unused).collect();
    swap(&mut yaml, &swaps);
    let mut text = serde_yaml::to_string(&yaml).unwrap_or_default();
    for (old_break, stand_in) in swaps {
        text = text.replace(stand_in, old_break.encode_utf8(&mut [0; 4]));
    }
    text
}

fn swap(yaml: &mut Yaml, swaps: &[(char, char)]) {
    match yaml {
        Yaml::String(text) => {
            for (from, to) in swaps {
                *text = text.replace(*from, to.encode_utf8(&mut [0; 4]));
            }
        }
        Yaml::Sequence(items) => items.iter_mut().for_each(|item| swap(item, swaps)),
        Yaml::Mapping(map) => {
            let entries = std::mem::take(map).into_iter().map(|(mut key, mut value)| {
                swap(&mut key, swaps);
                swap(&mut value, swaps);
                (key, value)
            });
            *map = entries.collect();
        }
        _ => {}
    }
}

/// A mapping under construction.
#[derive(Default)]
struct Map(Mapping);

impl Map {
    fn put(&mut self, key: &str, value: impl Into<Yaml>) {
        self.0.insert(Yaml::from(key), value.into());
    }

    fn text(&mut self, key: &str, text: &str) {
        self.put(key, escape(text));
    }

    fn optional(&mut self, key: &str, value: Option<impl Into<Yaml>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn optional_text(&mut self, key: &str, text: Option<&str>) {
        self.optional(key, text.map(escape));
    }

    fn texts(&mut self, key: &str, texts: &[String]) {
        self.put(key, Yaml::Sequence(texts.iter().map(|text| Yaml::from(escape(text))).collect()));
    }

    fn finish(self) -> Yaml {
        Yaml::Mapping(self.0)
    }
}

/// The name serde gives to a variant without data.
fn name(variant: impl serde::Serialize) -> Yaml {
    serde_yaml::to_value(variant).unwrap_or_default()
}

fn json(value: &Value) -> Yaml {
    match value {
        Value::String(text) => Yaml::from(escape(text)),
        Value::Array(items) => Yaml::Sequence(items.iter().map(json).collect()),
        Value::Object(map) => Yaml::Mapping(
            map.iter().map(|(key, value)| (Yaml::from(key.as_str()), json(value))).collect(),
        ),
        other => serde_yaml::to_value(other).unwrap_or_default(),
    }
}

fn dataset(spec: &DatasetSpec) -> Yaml {
    let mut map = Map::default();
    map.text("path", &spec.path);
    map.put("format", name(spec.format));
    let mut fields = Map::default();
    for (ours, path) in &spec.fields.paths {
        fields.text(ours, path);
    }
    let mut outputs = Map::default();
    for (model, path) in &spec.fields.outputs {
        outputs.text(model, path);
    }
    if !outputs.0.is_empty() {
        fields.put("outputs", outputs.finish());
    }
    if !fields.0.is_empty() {
        map.put("fields", fields.finish());
    }
    map.finish()
}

fn target(spec: &TargetSpec) -> Yaml {
    let mut map = Map::default();
    match spec {
        TargetSpec::Recorded { path, format } => {
            map.put("kind", "recorded");
            map.optional_text("path", path.as_deref());
            map.optional("format", format.map(name));
        }
        TargetSpec::NotRunnable { kind } => map.text("kind", kind),
    }
    map.finish()
}

fn grader(spec: &GraderSpec, path: &str) -> Yaml {
    let mut map = Map::default();
    let kind = match &spec.kind {
        GraderKind::Tool(_) => "tool",
        GraderKind::Rubric(_) => "rubric",
        GraderKind::Program(_) => "program",
        GraderKind::Reward(_) => "combine",
    };
    map.put("kind", kind);
    map.optional_text("display_name", spec.display_name.as_deref());
    match &spec.kind {
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            map.text("combine", &expression.text);
            map.put("pass_threshold", spec.pass_threshold);
            return map.finish();
        }
        GraderKind::Tool(tool) => {
            map.text("function", &tool.function);
            if !tool.config.is_empty() {
                map.put("config", json(&Value::Object(tool.config.clone())));
            }
        }
        GraderKind::Rubric(spec) => rubric(spec, &mut map),
        GraderKind::Program(spec) => {
            map.text("path", &called(spec));
            program(spec, path, &mut map);
        }
        GraderKind::Reward(RewardSpec::Program(_)) => {}
    }
    extractor(spec, path, &mut map);
    map.put("pass_threshold", spec.pass_threshold);
    map.optional_text("ground_truth_pattern", spec.ground_truth_pattern.as_deref());
    map.finish()
}

fn extractor(spec: &GraderSpec, path: &str, map: &mut Map) {
    match spec.extractor.program.as_deref() {
        None => map.text("extractor", &spec.extractor.name),
        Some(extracts) => {
            map.text("extractor", &called(extracts));
            let mut settings = Map::default();
            program(extracts, path, &mut settings);
            map.put("extractor_options", settings.finish());
        }
    }
    let options = spec.extractor.options();
    if !options.is_empty() {
        map.put("extractor_config", json(&Value::Object(options)));
    }
    if spec.extractor.include_subagents {
        map.put("include_subagents", true);
    }
}

/// The `reward` section, if that is what this grader is.
fn reward_section(spec: &GraderSpec, path: &str) -> Option<Yaml> {
    let GraderKind::Reward(RewardSpec::Program(composer)) = &spec.kind else { return None };
    let mut map = Map::default();
    map.put("kind", "custom");
    map.text("function", &called(composer));
    map.optional_text("display_name", spec.display_name.as_deref());
    program(composer, path, &mut map);
    map.put("pass_threshold", spec.pass_threshold);
    Some(map.finish())
}

/// A program's file, and its function where the file has several.
fn called(spec: &ProgramSpec) -> String {
    match spec.language {
        Language::Python => format!("{}:{}", spec.path, spec.function),
        Language::Executable | Language::JavaScript => spec.path.clone(),
    }
}

/// A variable that a program sees; whether it is a secret where its name does not tell.
fn variable(variable: &Variable) -> Yaml {
    if variable.is_plainly_named() {
        return Yaml::from(escape(&variable.name));
    }
    let mut map = Map::default();
    map.put(&variable.name, if variable.is_secret { "secret" } else { "plain" });
    map.finish()
}

/// The settings of a program of the suite at `path`.
fn program(spec: &ProgramSpec, path: &str, map: &mut Map) {
    map.optional_text("runtime", spec.runtime.as_deref());
    if !spec.inputs.is_empty() {
        let joined: Vec<String> =
            spec.inputs.iter().map(|input| source::join(path, input)).collect();
        map.texts("inputs", &joined);
    }
    if !spec.env.is_empty() {
        map.put("env", Yaml::Sequence(spec.env.iter().map(variable).collect()));
    }
    map.optional_text("cwd", spec.cwd.as_deref());
    let mut sandbox = Map::default();
    sandbox.put("kind", spec.sandbox.kind.name());
    sandbox.optional("memory", spec.sandbox.memory);
    sandbox.optional("cpu", spec.sandbox.cpu_seconds);
    map.put("sandbox", sandbox.finish());
    match spec.repeat {
        Repeat::Never => {}
        Repeat::Always => map.put("cache", false),
        Repeat::Sometimes => map.put("deterministic", "check"),
    }
    map.put("timeout", spec.timeout_ms as f64 / 1000.0);
}

fn rubric(spec: &RubricSpec, map: &mut Map) {
    map.text("prompt", &spec.prompt);
    match &spec.judges[..] {
        [one] => judge(one, map),
        panel => {
            let judges = panel.iter().map(|spec| {
                let mut map = Map::default();
                judge(spec, &mut map);
                map.finish()
            });
            map.put("panel", Yaml::Sequence(judges.collect()));
        }
    }
    match &spec.compare_to {
        None => {}
        // A field that is called `row` is no prefix.
        Some(CompareTo::Field(path)) if path.starts_with("row.") => {
            map.put("compare_to", one("field", &format!("row.{path}")));
        }
        Some(CompareTo::Field(path)) => map.put("compare_to", one("field", path)),
        Some(CompareTo::Run(path)) => map.put("compare_to", one("run", path)),
    }
    if let Some((min, max)) = spec.scale {
        let mut scale = Map::default();
        scale.put("min", min);
        scale.put("max", max);
        map.put("scale", scale.finish());
    }
    if !spec.rubric_vars.is_empty() {
        map.texts("rubric_vars", &spec.rubric_vars);
    }
    map.put("votes", spec.votes);
    map.put("combine", name(spec.combine));
    map.put("confirm_fails", spec.confirm_fails);
}

/// A mapping with one text.
fn one(key: &str, text: &str) -> Yaml {
    let mut map = Map::default();
    map.text(key, text);
    map.finish()
}

fn judge(spec: &JudgeSpec, map: &mut Map) {
    map.text("model", &spec.model);
    map.text("provider", &spec.provider);
    map.optional_text("base_url", spec.base_url.as_deref());
    map.optional_text("endpoint", spec.endpoint.as_deref());
    map.optional_text("api_key_env", spec.api_key_env.as_deref());
    if !spec.headers.is_empty() {
        let mut headers = Map::default();
        for HeaderSpec { name, value } in &spec.headers {
            match value {
                HeaderValue::Text(text) => headers.text(name, text),
                HeaderValue::Variable(variable) => headers.put(name, one("env", variable)),
            }
        }
        map.put("headers", headers.finish());
    }
    map.put("temperature", spec.temperature.map_or(Yaml::Null, Yaml::from));
    map.optional("seed", spec.seed);
    map.optional("max_tokens", spec.max_tokens);
    map.optional("top_p", spec.top_p);
    if !spec.extra_body.is_empty() {
        map.put("extra_body", json(&Value::Object(spec.extra_body.clone())));
    }
    map.put("response_format", name(spec.response_format));
    map.put("max_retries", spec.patience.max_retries);
    map.put("timeout", spec.patience.timeout);
    map.put("deadline", spec.patience.deadline);
    map.optional("max_requests_per_minute", spec.patience.max_requests_per_minute);
    map.optional("max_tokens_per_minute", spec.patience.max_tokens_per_minute);
}

fn gate(gate: &Gate) -> Yaml {
    let mut map = Map::default();
    match gate {
        Gate::Simple(condition) => simple(condition, &mut map),
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            map.put("kind", "weighted_average");
            map.put("metric", name(*aggregation));
            let mut weighted = Map::default();
            for (grader, weight) in weights {
                weighted.put(grader, *weight);
            }
            map.put("weights", weighted.finish());
            map.put("op", name(*op));
            map.put("value", *value);
        }
        Gate::Logical { operator, conditions } => {
            map.put("kind", "logical");
            map.put("operator", name(*operator));
            map.put("conditions", Yaml::Sequence(conditions.iter().map(self::gate).collect()));
        }
    }
    map.finish()
}

fn simple(condition: &Condition, map: &mut Map) {
    map.text("metric_key", &condition.metric_key);
    map.put("metric", name(condition.aggregation));
    map.put("op", name(condition.op));
    map.put("value", condition.value);
    if let Some(PassRule { op, value }) = condition.pass {
        map.put("pass_op", name(op));
        map.put("pass_value", value);
    }
}
