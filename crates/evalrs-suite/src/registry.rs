//! The one place that knows every grader, extractor, target and provider.
//!
//! The suite reader checks names and options against it, `evalrs list` prints it.

use std::sync::LazyLock;

use python_re::Regex;
use serde::Serialize;
use serde_json::{Map, Value, json};
use strum::VariantNames;

use crate::reader::Registry;
use crate::schema::listed;
use crate::section::Section;
use crate::sections::program_grader::PROGRAM;
use crate::sections::rewards::COMBINATION;
use crate::sections::rubric::RUBRIC;
use evalrs_eval::extract::{EXTRACTORS, check_options};
use evalrs_eval::grade::{self, GRADERS};
use evalrs_eval::judge::provider::{self, Provider, ProviderInfo};
use evalrs_model::spec::{Lint, SampleMember, SandboxKind};

/// Something a suite can name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RegistryEntry {
    /// What a suite writes.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Its kind in a suite: `tool`, `rubric`, `program`, `combine`, `extractor`, `target`, `provider`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The JSON Schema of its options.
    pub options: Value,
    /// What its scores mean; empty for anything but graders.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub scoring: &'static str,
    /// Further facts about it, by name: the address of a provider, and its key.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

impl RegistryEntry {
    /// The names of its options.
    pub fn option_names(&self) -> Vec<&str> {
        let properties = self.options.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }
}

/// Every grader.
pub fn graders() -> Vec<RegistryEntry> {
    let tools = GRADERS.iter().map(|info| RegistryEntry {
        id: info.id,
        name: info.name,
        description: info.description,
        kind: "tool",
        options: (info.options)(),
        scoring: info.scoring,
        ..RegistryEntry::default()
    });
    let judge = RegistryEntry {
        id: "rubric",
        name: "Rubric",
        description: "A judge grades the submission by a rubric: a model, an agent (`agent_file`) or a command (`command`).",
        kind: "rubric",
        options: rubric_options(),
        scoring: "any number from 0.0 to 1.0; with `scale`, the judge's own range mapped to it; of a comparison, 1.0 a win, 0.5 a tie, 0.0 a loss",
        ..RegistryEntry::default()
    };
    let program = RegistryEntry {
        id: "program",
        name: "Program",
        description: "A program of yours grades: an executable, a module that exports `grade` (.ts .js .mjs .cjs), or a function of a Python file (`path: file.py:name`, or `kind: tool` with `function: file.py:name`).",
        kind: "program",
        options: program_options(),
        scoring: "any number from 0.0 to 1.0; its own `pass` decides where it returns one",
        ..RegistryEntry::default()
    };
    let combine = RegistryEntry {
        id: "combine",
        name: "Combination",
        description: "An expression makes one score of the scores of other graders.",
        kind: "combine",
        options: combine_options(),
        scoring: "the value of the expression, which must be from 0.0 to 1.0",
        ..RegistryEntry::default()
    };
    tools.chain([judge, program, combine]).collect()
}

fn combine_options() -> Value {
    let mut options = options(&COMBINATION, "combine");
    set(&mut options, "combine", json!({"type": "string"}));
    json!({"type": "object", "required": ["combine"], "properties": options})
}

/// Lists what a program sees and what it is kept from.
fn set_surroundings(options: &mut Map<String, Value>) {
    let variable = json!({"type": ["string", "object"], "maxProperties": 1, "additionalProperties": {"enum": ["secret", "plain"]}});
    set(options, "env", json!({"type": ["array", "string"], "items": variable}));
    set(options, "sandbox", json!({"type": ["string", "object"]}));
}

fn program_options() -> Value {
    const ORDER: &str = "path inputs sees timeout runtime env cwd sandbox cache deterministic";
    let mut options = options(&PROGRAM, ORDER);
    set_surroundings(&mut options);
    let members = json!({"enum": SampleMember::VARIANTS});
    set(&mut options, "sees", json!({"type": ["array", "string"], "items": members}));
    set(&mut options, "deterministic", json!({"enum": [true, "check"]}));
    json!({"type": "object", "required": ["path"], "properties": options})
}

fn rubric_options() -> Value {
    const ORDER: &str = "prompt prompt_path model provider base_url endpoint api_key_env headers temperature seed \
        max_tokens top_p extra_body response_format prompt_caching service_tier batch max_retries timeout deadline max_requests_per_minute \
        max_tokens_per_minute agent_file judge_tool_name \
        keep_agents command inputs version env sandbox retries panel compare_to scale rubric_vars fence unfenced allow allow_unknown votes combine confirm_fails";
    let mut options = options(&RUBRIC, ORDER);
    set_surroundings(&mut options);
    let temperature = json!({"type": ["number", "null"], "minimum": 0, "maximum": 2});
    set(&mut options, "temperature", temperature);
    set(&mut options, "max_retries", json!({"type": "integer", "minimum": 0}));
    for seconds in ["timeout", "deadline"] {
        set(&mut options, seconds, json!({"type": "number", "minimum": 0.0, "maximum": 86_400.0}));
    }
    let lints = json!({"enum": Lint::VARIANTS});
    set(&mut options, "allow", json!({"type": ["array", "string"], "items": lints}));
    set(&mut options, "rubric_vars", json!({"type": "array", "items": {"type": "string"}}));
    json!({"type": "object", "properties": options})
}

/// Those fields of a section that are options of a grader, in the `order` in which they are listed.
fn options(section: &Section, order: &str) -> Map<String, Value> {
    let field = |name: &str| section.fields().find(|field| field.name == name);
    let fields = order.split_whitespace().filter_map(field);
    fields.map(|field| (field.name.to_owned(), listed(field))).collect()
}

/// Lists an option as `shape`, which those who read lists know it by, and not by what the declaration makes of it.
fn set(options: &mut Map<String, Value>, name: &str, shape: Value) {
    let Some(option) = options.get_mut(name) else { return };
    let description = option["description"].take();
    *option = shape;
    option["description"] = description;
}

/// Every extractor.
pub fn extractors() -> Vec<RegistryEntry> {
    EXTRACTORS
        .iter()
        .map(|info| RegistryEntry {
            id: info.id,
            name: info.name,
            description: info.description,
            kind: "extractor",
            options: (info.options)(),
            ..RegistryEntry::default()
        })
        .collect()
}

/// Every target.
pub fn targets() -> Vec<RegistryEntry> {
    vec![RegistryEntry {
        id: "recorded",
        name: "Recorded",
        description: "Recorded trajectories: in the dataset's rows, in a file joined by id, or in a result folder.",
        kind: "target",
        options: json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "a file of trajectories, a folder with one file per sample, or a Letta result folder"},
            "format": {"type": "string", "description": "letta, inspect, openai_chat, anthropic, claude_code, steps, atif, otel or text; detected if absent"},
        }}),
        ..RegistryEntry::default()
    }]
}

/// Every provider of judge models.
pub fn providers() -> Vec<RegistryEntry> {
    let described = provider::infos().map(|info| RegistryEntry {
        id: info.id,
        name: info.name,
        description: info.description,
        kind: "provider",
        options: json!({"type": "object"}),
        facts: facts_of(info),
        ..RegistryEntry::default()
    });
    described.collect()
}

/// The settings that decide how a provider is called.
fn facts_of(info: &ProviderInfo) -> Map<String, Value> {
    let shapes = provider::find(info.id).map(Provider::shapes).unwrap_or_default();
    let formats: Vec<&str> = shapes.iter().map(|shape| shape.name()).collect();
    let unsupported: Map<String, Value> =
        info.unsupported.iter().map(|(name, why)| ((*name).to_owned(), json!(why))).collect();
    let mut facts = Map::from_iter([
        ("base_url".to_owned(), json!(info.base_url)),
        ("base_url_variable".to_owned(), json!(info.base_url_variable)),
        ("key_variables".to_owned(), json!(info.key_variables)),
        ("headers_variable".to_owned(), json!(info.headers_variable)),
    ]);
    if !formats.is_empty() {
        facts.insert("response_formats".to_owned(), json!(formats));
    }
    if !unsupported.is_empty() {
        facts.insert("unsupported".to_owned(), Value::Object(unsupported));
    }
    facts
}

static PROVIDER_IDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| provider::infos().map(|info| info.id).collect());
static GRADER_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| grade::names().collect());
static GRADER_IDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| GRADER_NAMES.iter().map(String::as_str).collect());
static EXTRACTOR_IDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| EXTRACTORS.iter().map(|info| info.id).collect());

/// What the suite reader checks names and options against.
pub fn registry() -> Registry<'static> {
    Registry {
        graders: &GRADER_IDS,
        extractors: &EXTRACTOR_IDS,
        providers: &PROVIDER_IDS,
        check_grader: |spec| grade::compile(spec).err().unwrap_or_default(),
        check_extractor: check_options,
        check_pattern: |pattern| Regex::new(pattern).err().map(|problem| problem.to_string()),
        untaken_setting: provider::unsupported,
        sandbox: SandboxKind::None,
    }
}
