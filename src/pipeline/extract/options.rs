//! What there is to say of an extractor: what it is called, what it does, and which options it takes.
//!
//! The declared options give the JSON Schemas and the checks, so that they cannot disagree.

use std::sync::Arc;

use python_re::Regex;
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use super::{EXTRACTORS, ExtractError, ExtractView};
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
    /// The options it takes.
    pub(super) options: &'static [Opt],
    /// Says what is wrong with options that are right one by one.
    pub(super) check: fn(&Options<'_>) -> Option<OptionProblem>,
    /// Makes it of options that were checked.
    pub(super) compile: fn(&Options<'_>) -> Result<Pick, ExtractError>,
}

impl ExtractorInfo {
    /// An extractor without options, to be completed.
    pub(super) const PLAIN: Self = Self {
        id: "",
        name: "",
        description: "",
        options: &[],
        check: |_| None,
        compile: |_| Ok(Pick::infallible(|_| String::new())),
    };

    /// The JSON Schema of its options, an object.
    pub(crate) fn schema(&self) -> Value {
        let mut properties = Map::new();
        for option in self.options {
            let mut property = option.kind.schema();
            property["description"] = Value::from(option.description);
            properties.insert(option.name.to_owned(), property);
        }
        let required = self.options.iter().filter(|option| option.kind.is_required());
        json!({
            "type": "object",
            "properties": properties,
            "required": required.map(|option| option.name).collect::<Vec<_>>(),
            "additionalProperties": false,
        })
    }
}

/// A function that picks.
type PickFn = dyn Fn(&ExtractView<'_>) -> Result<String, ExtractError> + Send + Sync;

/// What an extractor with its options does.
#[derive(Clone)]
pub(super) struct Pick(Arc<PickFn>);

impl Pick {
    /// An extractor that may fail.
    pub(super) fn new(
        pick: impl Fn(&ExtractView<'_>) -> Result<String, ExtractError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(pick))
    }

    /// An extractor that always gives a text.
    pub(super) fn infallible(
        pick: impl Fn(&ExtractView<'_>) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |from| Ok(pick(from)))
    }

    /// The text it picks.
    pub(super) fn pick(&self, from: &ExtractView<'_>) -> Result<String, ExtractError> {
        (self.0)(from)
    }
}

/// Options as a suite says them. Null is nothing.
pub(super) struct Options<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Options<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opt {
    pub(super) name: &'static str,
    pub(super) kind: OptionKind,
    pub(super) description: &'static str,
}

/// What an option takes. Options with a default may be left out.
#[derive(Clone, Copy, Debug)]
pub(super) enum OptionKind {
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

/// What is wrong with the options of the extractor `name`; nothing if it is not one of [`EXTRACTORS`].
pub(crate) fn check_options(name: &str, config: &Map<String, Value>) -> Vec<OptionProblem> {
    let Some(info) = EXTRACTORS.iter().find(|info| info.id == name) else { return Vec::new() };
    let mut problems: Vec<OptionProblem> =
        config.keys().filter_map(|key| unknown(info, key)).collect();
    let options = Options(config);
    for option in info.options {
        problems.extend(match options.get(option.name) {
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
        problems.extend((info.check)(&options));
    }
    problems
}

impl OptionKind {
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

fn unknown(info: &ExtractorInfo, key: &str) -> Option<OptionProblem> {
    let names = || info.options.iter().map(|option| option.name);
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
        OptionKind::Pattern => match Regex::new(text) {
            Ok(_) => None,
            Err(error) => problem(format!("`{name}` is not a valid pattern: {error}")),
        },
        OptionKind::JsonPath => match JsonPath::parse(text) {
            Ok(_) => None,
            Err(error) => problem(format!("`{name}` is not a valid JSONPath: {error}")),
        },
        _ => None,
    }
}
