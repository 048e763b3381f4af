//! The registry of extractors: what each is called, what it does, and which options it takes.
//!
//! One table gives the descriptions, the JSON Schemas and the checks, so that they cannot disagree.

use python_re::Regex;
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use super::pattern::group_index;
use crate::base::diagnostic::suggest;
use crate::pipeline::spec::OptionProblem;

/// One extractor as a suite can name it.
#[derive(Clone, Copy)]
pub(crate) struct ExtractorInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What a person reads.
    pub name: &'static str,
    /// What it picks.
    pub description: &'static str,
    /// The JSON Schema of its options, an object.
    pub options: fn() -> Value,
    known: &'static [Opt],
}

/// One option.
#[derive(Clone, Copy, Debug)]
struct Opt {
    name: &'static str,
    kind: Kind,
    description: &'static str,
}

/// What an option takes. Options with a default may be left out.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Any text.
    Text { default: &'static str },
    /// A text that says something, and must be there.
    Name,
    /// Yes or no; no by default.
    Flag,
    /// A Python pattern, which must be there.
    Pattern,
    /// A group of the pattern, by number or name.
    Group,
    /// An RFC 9535 query, which must be there.
    JsonPath,
    /// One of these; the first by default.
    OneOf(&'static [&'static str]),
}

const SEPARATOR: [Opt; 1] = [Opt {
    name: "separator",
    kind: Kind::Text { default: "\n" },
    description: "What stands between two messages.",
}];
const TOOL: [Opt; 1] =
    [Opt { name: "tool_name", kind: Kind::Name, description: "The name of the tool." }];
const MARKER: [Opt; 2] = [
    Opt { name: "marker", kind: Kind::Name, description: "The text to look for." },
    Opt {
        name: "include_marker",
        kind: Kind::Flag,
        description: "Whether the marker itself is part of the submission.",
    },
];
const BLOCK: [Opt; 1] =
    [Opt { name: "block_label", kind: Kind::Name, description: "The label of the memory block." }];
const PATTERN: [Opt; 3] = [
    Opt { name: "pattern", kind: Kind::Pattern, description: "A pattern of Python's `re`." },
    Opt {
        name: "group",
        kind: Kind::Group,
        description: "The group to take, by number or name; 0 is the whole match. With `search_all` and two groups or more, the capture, counted from 0.",
    },
    Opt {
        name: "search_all",
        kind: Kind::Flag,
        description: "Whether all matches of the message are taken, joined with one space.",
    },
];
const JSON_PATH: [Opt; 2] = [
    Opt { name: "path", kind: Kind::JsonPath, description: "An RFC 9535 query." },
    Opt {
        name: "source",
        kind: Kind::OneOf(&["row", "output", "trajectory"]),
        description: "What is asked: the dataset row, the final output read as JSON, or the trajectory.",
    },
];

/// The built-in extractors, sorted by id.
pub(crate) const EXTRACTORS: &[ExtractorInfo] = &[
    ExtractorInfo {
        id: "after_marker",
        name: "After marker",
        description: "What follows a marker in the newest assistant message that contains it, trimmed.",
        options: || schema(&MARKER),
        known: &MARKER,
    },
    ExtractorInfo {
        id: "all_assistant",
        name: "All assistant messages",
        description: "All assistant messages, joined.",
        options: || schema(&SEPARATOR),
        known: &SEPARATOR,
    },
    ExtractorInfo {
        id: "final_output",
        name: "Final output",
        description: "The recorded output of the row, else the last assistant message.",
        options: || schema(&[]),
        known: &[],
    },
    ExtractorInfo {
        id: "first_assistant",
        name: "First assistant message",
        description: "The first assistant message.",
        options: || schema(&[]),
        known: &[],
    },
    ExtractorInfo {
        id: "json_path",
        name: "JSONPath",
        description: "What a JSONPath query finds: one text as it is, anything else as JSON.",
        options: || schema(&JSON_PATH),
        known: &JSON_PATH,
    },
    ExtractorInfo {
        id: "last_assistant",
        name: "Last assistant message",
        description: "The last assistant message.",
        options: || schema(&[]),
        known: &[],
    },
    ExtractorInfo {
        id: "last_turn",
        name: "Last turn",
        description: "The assistant messages of the last turn, joined.",
        options: || schema(&SEPARATOR),
        known: &SEPARATOR,
    },
    ExtractorInfo {
        id: "memory_block",
        name: "Memory block",
        description: "The value of a memory block in the state the agent was left in.",
        options: || schema(&BLOCK),
        known: &BLOCK,
    },
    ExtractorInfo {
        id: "pattern",
        name: "Pattern",
        description: "What a pattern matches in the newest assistant message that matches it.",
        options: || schema(&PATTERN),
        known: &PATTERN,
    },
    ExtractorInfo {
        id: "tool_arguments",
        name: "Tool arguments",
        description: "The arguments of the first call of a tool as they were written; `{}` if there is none.",
        options: || schema(&TOOL),
        known: &TOOL,
    },
    ExtractorInfo {
        id: "tool_output",
        name: "Tool output",
        description: "What the first call of a tool returned.",
        options: || schema(&TOOL),
        known: &TOOL,
    },
    ExtractorInfo {
        id: "trajectory",
        name: "Trajectory",
        description: "The whole trajectory as JSON, without ids and times.",
        options: || schema(&[]),
        known: &[],
    },
];

/// What is wrong with the options of the extractor `name`; nothing if it is none of [`EXTRACTORS`].
pub(crate) fn check_options(name: &str, config: &Map<String, Value>) -> Vec<OptionProblem> {
    let Some(info) = EXTRACTORS.iter().find(|info| info.id == name) else { return Vec::new() };
    let mut problems: Vec<OptionProblem> =
        config.keys().filter_map(|key| unknown(info, key)).collect();
    for option in info.known {
        let found = config.get(option.name).filter(|value| !value.is_null());
        problems.extend(match found {
            Some(value) => value_problem(option, value),
            None if option.kind.is_required() => Some(OptionProblem {
                at: Vec::new(),
                message: format!("extractor `{name}` needs the option `{}`", option.name),
                hint: None,
            }),
            None => None,
        });
    }
    if problems.is_empty() {
        problems.extend(group_problem(config));
    }
    problems
}

impl Kind {
    fn is_required(self) -> bool {
        matches!(self, Self::Name | Self::Pattern | Self::JsonPath)
    }

    fn schema(self) -> Value {
        match self {
            Self::Text { default } => json!({"type": "string", "default": default}),
            Self::Name => json!({"type": "string", "minLength": 1}),
            Self::Flag => json!({"type": "boolean", "default": false}),
            Self::Pattern | Self::JsonPath => json!({"type": "string"}),
            Self::Group => json!({"type": ["integer", "string"], "default": 0}),
            Self::OneOf(names) => json!({"enum": names, "default": names.first()}),
        }
    }

    /// What it takes, with its article.
    fn expected(self) -> String {
        match self {
            Self::Text { .. } | Self::Pattern | Self::JsonPath => "a string".to_owned(),
            Self::Name => "a string that is not empty".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Group => "an integer or a string".to_owned(),
            Self::OneOf(names) => format!("one of `{}`", names.join("`, `")),
        }
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Text { .. } | Self::Pattern | Self::JsonPath => value.is_string(),
            Self::Name => value.as_str().is_some_and(|text| !text.is_empty()),
            Self::Flag => value.is_boolean(),
            Self::Group => value.is_i64() || value.is_string(),
            Self::OneOf(names) => value.as_str().is_some_and(|name| names.contains(&name)),
        }
    }
}

fn schema(options: &[Opt]) -> Value {
    let mut properties = Map::new();
    for option in options {
        let mut property = option.kind.schema();
        property["description"] = Value::from(option.description);
        properties.insert(option.name.to_owned(), property);
    }
    let required = options.iter().filter(|option| option.kind.is_required());
    json!({
        "type": "object",
        "properties": properties,
        "required": required.map(|option| option.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn unknown(info: &ExtractorInfo, key: &str) -> Option<OptionProblem> {
    let names = || info.known.iter().map(|option| option.name);
    if names().any(|name| name == key) {
        return None;
    }
    let known = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(OptionProblem {
        at: vec![key.to_owned()],
        message: format!("unknown option `{key}` of extractor `{}`", info.id),
        hint: Some(match suggest(key, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None if known.is_empty() => format!("`{}` takes no options", info.id),
            None => format!("it takes {known}"),
        }),
    })
}

fn value_problem(option: &Opt, value: &Value) -> Option<OptionProblem> {
    let problem = |message: String| {
        Some(OptionProblem { at: vec![option.name.to_owned()], message, hint: None })
    };
    let name = option.name;
    if !option.kind.takes(value) {
        return problem(format!("`{name}` must be {}", option.kind.expected()));
    }
    let text = value.as_str().unwrap_or_default();
    match option.kind {
        Kind::Pattern => match Regex::new(text) {
            Ok(_) => None,
            Err(error) => problem(format!("`{name}` is not a valid pattern: {error}")),
        },
        Kind::JsonPath => match JsonPath::parse(text) {
            Ok(_) => None,
            Err(error) => problem(format!("`{name}` is not a valid JSONPath: {error}")),
        },
        _ => None,
    }
}

/// A group that the pattern does not have, of options that are right one by one.
fn group_problem(config: &Map<String, Value>) -> Option<OptionProblem> {
    let group = config.get("group").filter(|group| !group.is_null())?;
    let regex = Regex::new(config.get("pattern")?.as_str()?).ok()?;
    let search_all = config.get("search_all").and_then(Value::as_bool).unwrap_or_default();
    let message = group_index(&regex, group, search_all).err()?;
    Some(OptionProblem { at: vec!["group".to_owned()], message, hint: None })
}
