//! The one place that knows every grader, extractor, target and provider.
//!
//! The suite reader checks names and options against it, `evalrs list` prints it.

use std::sync::LazyLock;

use python_re::Regex;
use serde_json::{Map, Value, json};

use super::extract::{EXTRACTORS, check_options};
use super::grade;
use super::grade::GRADERS;
use super::judge::provider;
use super::judge::provider::{PROVIDERS, Provider};
use super::spec::SandboxKind;
use super::spec::{OptionProblem, ToolSpec};
use super::suite::Registry;

/// Something a suite can name.
#[derive(Clone, Debug)]
pub struct Described {
    /// What a suite writes.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Its kind in a suite: `tool`, `rubric`, `program`, `combine`, `extractor`, `target`, `provider`.
    pub kind: &'static str,
    /// The JSON Schema of its options.
    pub options: Value,
    /// What its scores mean; empty for anything but graders.
    pub scoring: &'static str,
    /// What else is known of it, by name: where a provider is asked, and with whose key.
    pub facts: Map<String, Value>,
}

impl Described {
    /// The names of its options.
    pub fn option_names(&self) -> Vec<&str> {
        let properties = self.options.get("properties").and_then(Value::as_object);
        properties
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// Everything known of it.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "type": self.kind,
            "options": self.options,
        });
        if !self.scoring.is_empty() {
            object["scoring"] = json!(self.scoring);
        }
        if let Some(object) = object.as_object_mut() {
            object.extend(self.facts.clone());
        }
        object
    }
}

/// Every grader.
pub fn graders() -> Vec<Described> {
    let tools = GRADERS.iter().map(|info| Described {
        id: info.id,
        name: info.name,
        description: info.description,
        kind: "tool",
        options: (info.options)(),
        scoring: info.scoring,
        facts: Map::new(),
    });
    let judge = Described {
        id: "rubric",
        name: "Rubric",
        description: "A judge model grades the submission by a rubric.",
        kind: "rubric",
        options: rubric_options(),
        scoring: "any number from 0.0 to 1.0; with `scale`, the judge's own range mapped to it; of a comparison, 1.0 a win, 0.5 a tie, 0.0 a loss",
        facts: Map::new(),
    };
    let program = Described {
        id: "program",
        name: "Program",
        description: "A program of yours grades: an executable, a module that exports `grade` (.ts .js .mjs .cjs), or a function of a Python file (`path: file.py:name`, or `kind: tool` with `function: file.py:name`).",
        kind: "program",
        options: program_options(),
        scoring: "any number from 0.0 to 1.0; its own `pass` decides if it gives one",
        facts: Map::new(),
    };
    let combine = Described {
        id: "combine",
        name: "Combination",
        description: "An expression makes one score of those of other graders.",
        kind: "combine",
        options: json!({"type": "object", "required": ["combine"], "properties": {
            "combine": {"type": "string", "description": "the expression, for example `0.7*quality + 0.3*policy if policy > 0 else 0`"},
        }}),
        scoring: "the value of the expression, which must be from 0.0 to 1.0",
        facts: Map::new(),
    };
    tools.chain([judge, program, combine]).collect()
}

fn program_options() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let list = |description: &str| json!({"type": ["array", "string"], "items": {"type": "string"}, "description": description});
    json!({"type": "object", "required": ["path"], "properties": {
        "path": text("the file; `file.py:name` is a function of it"),
        "inputs": list("files, folders and patterns that the program reads: when they change, it runs again"),
        "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 86_400, "description": "seconds one call may take"},
        "runtime": text("what runs it: a name such as `python3.12` or `bun`, or a path"),
        "env": {"type": ["array", "string"], "items": {"type": ["string", "object"], "maxProperties": 1, "additionalProperties": {"enum": ["secret", "plain"]}}, "description": "names of further environment variables that it sees; {NAME: secret} keeps the value out of keys, {NAME: plain} in them"},
        "cwd": text("the folder it runs in; the suite's if absent"),
        "sandbox": {"type": ["string", "object"], "description": "none, auto or bubblewrap; or {kind, memory, cpu}"},
        "cache": {"type": "boolean", "description": "false runs it in every evaluation"},
        "deterministic": {"enum": [true, "check"], "description": "check runs it twice for some samples and reports differences"},
    }})
}

fn rubric_options() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |least: f64, most: f64, description: &str| json!({"type": "number", "minimum": least, "maximum": most, "description": description});
    let whole = |least: i64, description: &str| json!({"type": "integer", "minimum": least, "description": description});
    json!({"type": "object", "properties": {
        "prompt": text("the rubric"),
        "prompt_path": text("a file that holds the rubric; its front matter may set model, scale and pass_threshold"),
        "model": text("the judge model"),
        "provider": text("the protocol; `openai` is any OpenAI-compatible endpoint"),
        "base_url": text("where it is asked; no part of the key if `endpoint` is set"),
        "endpoint": text("stands for the base URL in the key"),
        "api_key_env": text("the environment variable that holds the key"),
        "headers": {"type": "object", "description": "further headers: text, or {env: NAME} for secrets"},
        "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2, "description": "null sends none"},
        "seed": {"type": "integer", "description": "the sampling seed"},
        "max_tokens": whole(1, "the most tokens of a reply"),
        "top_p": number(0.0, 1.0, "nucleus sampling"),
        "extra_body": {"type": "object", "description": "further members of the request"},
        "response_format": {"enum": ["auto", "json_schema", "json_object", "text"], "description": "how the shape of the reply is asked for"},
        "max_retries": whole(0, "retries after transport failures, at most 1000"),
        "timeout": number(0.0, 86_400.0, "seconds one request may take, more than 0"),
        "deadline": number(0.0, 86_400.0, "seconds one judgment may take with retries and waits, more than 0"),
        "max_requests_per_minute": whole(1, "the most requests to the endpoint in a minute"),
        "max_tokens_per_minute": whole(1, "the most tokens, sent and received, in a minute"),
        "panel": {"type": "array", "items": {"type": "object"}, "description": "several judges: settings over those of the grader"},
        "compare_to": {"description": "what submissions are compared with: a field of the row, or the record of a run"},
        "scale": {"type": "object", "description": "the judge's range: {min, max}"},
        "rubric_vars": {"type": "array", "items": {"type": "string"}, "description": "variables every row must have"},
        "votes": {"description": "independent judgments by each judge: N, or {n, combine}"},
        "combine": {"enum": ["median", "mean", "majority"], "description": "how votes become one score"},
        "confirm_fails": {"type": "integer", "minimum": 0, "maximum": 100, "description": "further votes by each judge on submissions below the pass threshold"},
    }})
}

/// Every extractor.
pub fn extractors() -> Vec<Described> {
    EXTRACTORS
        .iter()
        .map(|info| Described {
            id: info.id,
            name: info.name,
            description: info.description,
            kind: "extractor",
            options: (info.options)(),
            scoring: "",
            facts: Map::new(),
        })
        .collect()
}

/// Every target.
pub fn targets() -> Vec<Described> {
    vec![Described {
        id: "recorded",
        name: "Recorded",
        description: "Trajectories already recorded: in the dataset's rows, in a file joined by id, or in a result directory.",
        kind: "target",
        options: json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "a file of trajectories, a folder with one file a sample, or a Letta result directory"},
            "format": {"type": "string", "description": "letta, openai_chat, anthropic, claude_code, steps or text; detected if absent"},
        }}),
        scoring: "",
        facts: Map::new(),
    }]
}

/// Every provider of judge models.
pub fn providers() -> Vec<Described> {
    let described = PROVIDERS.iter().map(|provider| {
        let info = provider.info();
        Described {
            id: info.id,
            name: info.name,
            description: info.description,
            kind: "provider",
            options: json!({"type": "object"}),
            scoring: "",
            facts: facts_of(*provider),
        }
    });
    described.collect()
}

/// What decides how a provider is asked.
fn facts_of(provider: &dyn Provider) -> Map<String, Value> {
    let info = provider.info();
    let formats: Vec<&str> = provider.shapes().iter().map(|shape| shape.name()).collect();
    let unsupported: Map<String, Value> =
        info.unsupported.iter().map(|(name, why)| ((*name).to_owned(), json!(why))).collect();
    let mut facts = Map::from_iter([
        ("base_url".to_owned(), json!(info.base_url)),
        ("base_url_variable".to_owned(), json!(info.base_url_variable)),
        ("key_variables".to_owned(), json!(info.key_variables)),
        ("headers_variable".to_owned(), json!(info.headers_variable)),
        ("response_formats".to_owned(), json!(formats)),
    ]);
    if !unsupported.is_empty() {
        facts.insert("unsupported".to_owned(), Value::Object(unsupported));
    }
    facts
}

static PROVIDER_IDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| PROVIDERS.iter().map(|provider| provider.info().id).collect());
static GRADER_IDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    GRADERS
        .iter()
        .flat_map(|info| std::iter::once(info.id).chain(info.aliases.iter().copied()))
        .collect()
});
static EXTRACTOR_IDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| EXTRACTORS.iter().map(|info| info.id).collect());

/// What the suite reader checks names and options against.
pub fn registry() -> Registry<'static> {
    Registry {
        graders: &GRADER_IDS,
        extractors: &EXTRACTOR_IDS,
        providers: &PROVIDER_IDS,
        check_grader,
        check_extractor,
        check_pattern: |pattern| Regex::new(pattern).err().map(|problem| problem.to_string()),
        untaken_setting: provider::unsupported,
        sandbox: SandboxKind::None,
    }
}

fn check_grader(spec: &ToolSpec) -> Vec<OptionProblem> {
    grade::compile(spec).err().unwrap_or_default()
}

fn check_extractor(name: &str, config: &Map<String, Value>) -> Vec<OptionProblem> {
    check_options(name, config)
}
