//! Providers: targets and judges, as those of evalrs where requests are the same.

use serde_json::{Map, Value, json};

use super::config_reader::ConfigReader;
use super::files::ending;
use crate::imported::SourcePlace;
use crate::reading::{extend, put, text_in};
use crate::secrets::{FoundSecret, is_reference, is_secret_name};
use crate::source::ImportSource;
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// A provider as the configuration has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProviderSpec {
    pub id: String,
    pub label: Option<String>,
    pub config: Value,
    /// What is done to its answer before anybody sees it.
    pub transform: Option<Value>,
    pub place: SourcePlace,
}

/// APIs with the requests of OpenAI's: their name, address, and the variable with the key.
const LIKE_OPENAI: [(&str, &str, &str); 10] = [
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ("togetherai", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    ("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    ("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    ("github", "https://models.github.ai/inference", "GITHUB_TOKEN"),
    ("ollama", "http://localhost:11434/v1", ""),
];

impl ConfigReader<'_> {
    pub(super) fn providers(&mut self, node: Option<&YamlNode>) -> Vec<ProviderSpec> {
        let Some(node) = node else { return Vec::new() };
        match &node.value {
            Yaml::Seq(items) => items.iter().flat_map(|item| self.provider(item)).collect(),
            _ => self.provider(node),
        }
    }

    fn provider(&mut self, node: &YamlNode) -> Vec<ProviderSpec> {
        let place = self.files.place(node);
        match &node.value {
            Yaml::Str(reference)
                if reference.starts_with("file://")
                    && matches!(ending(reference).as_str(), "yaml" | "yml" | "json") =>
            {
                let files = self.files;
                let read = files.nested(|| Ok(self.providers(Some(&files.tree(reference)?))));
                read.unwrap_or_else(|why| {
                    self.leave_out("providers", node, format!("`{reference}`"), why);
                    Vec::new()
                })
            }
            Yaml::Str(id) => {
                vec![ProviderSpec { id: id.clone(), place, ..ProviderSpec::default() }]
            }
            Yaml::Map(entries) => {
                let fields = node.to_json();
                match (text_in(&fields, "id"), entries.first()) {
                    (Some(id), _) => vec![of_fields(id, &fields, place)],
                    (None, Some(entry)) => {
                        vec![of_fields(&entry.key, &entry.value.to_json(), place)]
                    }
                    (None, None) => Vec::new(),
                }
            }
            _ => {
                self.leave_out_kind("providers", node, "a provider", "a name");
                Vec::new()
            }
        }
    }
}

fn of_fields(id: &str, fields: &Value, place: SourcePlace) -> ProviderSpec {
    ProviderSpec {
        id: text_in(fields, "id").unwrap_or(id).to_owned(),
        label: text_in(fields, "label").map(str::to_owned),
        config: fields["config"].clone(),
        transform: fields.get("transform").filter(|transform| !transform.is_null()).cloned(),
        place,
    }
}

/// Notes the keys that stand in a provider's settings.
pub(super) fn note_secrets(config: &Value, place: &SourcePlace, source: &ImportSource<'_>) {
    let mut open = vec![config];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(text) if is_secret_name(name) && !is_reference(text) => {
                            let what = format!("`{name}` of a provider");
                            source.note_secret(FoundSecret { place: place.clone(), what }, text);
                        }
                        value => open.push(value),
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

/// Who answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answers {
    /// The prompt itself.
    Echo,
    /// A model over an API: a target without the model, and the model.
    Chat { target: Value, model: Value },
    /// A server: a target.
    Http { target: Value },
}

impl ProviderSpec {
    /// What it is called.
    pub(super) fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.id)
    }

    /// Who answers, or why nobody here does.
    pub(super) fn answers(&self) -> Result<Answers, String> {
        if self.id == "echo" {
            return Ok(Answers::Echo);
        }
        if self.transform.is_some() {
            return Err("it transforms its answers in JavaScript".to_owned());
        }
        let id = self.id.as_str();
        if matches!(id, "http" | "https") || id.starts_with("http://") || id.starts_with("https://")
        {
            return http(self);
        }
        let programs = ["file://", "python:", "exec:", "golang:", "ruby:", "package:", "./", "../"];
        if programs.iter().any(|program| id.starts_with(program)) {
            return Err("it is a program of promptfoo's own interface: write a `command` or `function` target, docs/targets.md".to_owned());
        }
        let model = model(id).ok_or(
            "evalrs has no target for it; record its outputs, or write a target, docs/targets.md",
        )?;
        let mut target = json!({"kind": "chat"});
        extend(&mut target, &model);
        for (name, value) in self.config.as_object().into_iter().flatten() {
            match setting(name, value) {
                Some((name, value)) => target[name] = value,
                None if is_secret_name(name) => {}
                None => {
                    return Err(format!(
                        "its setting `{name}` has no counterpart in a `chat` target"
                    ));
                }
            }
        }
        target.as_object_mut().map(|fields| fields.shift_remove("model"));
        Ok(Answers::Chat { target, model: model["model"].clone() })
    }
}

/// A setting of a provider in the words of evalrs.
fn setting(name: &str, value: &Value) -> Option<(&'static str, Value)> {
    let name = match name {
        "temperature" => "temperature",
        "max_tokens" | "maxOutputTokens" => "max_tokens",
        "top_p" | "topP" => "top_p",
        "seed" => "seed",
        "apiBaseUrl" => "base_url",
        "apiKeyEnvar" => "api_key_env",
        _ => return None,
    };
    let is_plain = !value.as_str().is_some_and(|text| text.contains("{{") || text.contains('$'));
    is_plain.then(|| (name, value.clone()))
}

/// The model of an id, with its API.
fn model(id: &str) -> Option<Value> {
    let (family, rest) = id.split_once(':')?;
    let last = rest.split_once(':');
    let named = |provider: &str, model: &str| {
        (!model.is_empty()).then(|| json!({"provider": provider, "model": model}))
    };
    match (family, last) {
        ("openai", Some(("chat" | "responses", model))) => named("openai", model),
        ("openai", None) if !matches!(rest, "chat" | "responses" | "embedding" | "image") => {
            named("openai", rest)
        }
        ("anthropic", Some(("messages", model))) => named("anthropic", model),
        ("anthropic", None) => named("anthropic", rest),
        ("google", None) => named("google", rest),
        (family, _) => {
            let (_, url, key) = LIKE_OPENAI.iter().find(|(name, ..)| *name == family)?;
            let model = rest.strip_prefix("chat:").unwrap_or(rest);
            let mut asked = named("openai", model)?;
            asked["base_url"] = json!(url);
            put(&mut asked, "api_key_env", Some(*key).filter(|key| !key.is_empty()));
            Some(asked)
        }
    }
}

/// The settings of a judge, or why it is not known. Nothing is said where promptfoo chooses.
pub(super) fn judge(provider: Option<&Value>, purpose: &str) -> Result<Value, String> {
    let Some(provider) = provider.filter(|provider| !provider.is_null()) else {
        return Ok(json!({}));
    };
    if let Some(own) = provider.get(purpose) {
        return judge(Some(own), purpose);
    }
    let id = provider.as_str().or_else(|| provider.get("id")?.as_str()).unwrap_or_default();
    if purpose == "embedding" {
        let model =
            id.strip_prefix("openai:embedding:").or_else(|| id.strip_prefix("openai:embeddings:"));
        return Ok(model.map_or_else(|| json!({}), |model| json!({"model": model})));
    }
    let mut settings = model(id).ok_or_else(|| format!("`{id}`"))?;
    for (name, value) in provider["config"].as_object().into_iter().flatten() {
        if let Some((name, value)) = setting(name, value) {
            settings[name] = value;
        }
    }
    Ok(settings)
}

/// The settings of a server that an `http` target has too.
const OF_SERVERS: [&str; 6] =
    ["url", "method", "headers", "body", "transformResponse", "responseParser"];

fn http(spec: &ProviderSpec) -> Result<Answers, String> {
    let config = &spec.config;
    let url = text_in(config, "url").unwrap_or(&spec.id);
    if !url.starts_with("http") || url.contains("{{") {
        return Err("its address is a template".to_owned());
    }
    let method = text_in(config, "method").unwrap_or("POST");
    if !method.eq_ignore_ascii_case("post") {
        return Err(format!("it uses {method}, and `http` targets use POST"));
    }
    let mut names = config.as_object().into_iter().flat_map(Map::keys);
    if let Some(name) = names.find(|name| !OF_SERVERS.contains(&name.as_str())) {
        return Err(format!("its setting `{name}` has no counterpart in an `http` target"));
    }
    let parser = config.get("transformResponse").or_else(|| config.get("responseParser"));
    let answer = parser.and_then(Value::as_str).and_then(json_path);
    let answer = answer
        .ok_or("how its reply becomes an answer is not a plain path, such as `json.answer`")?;
    let mut body = config.get("body").cloned().ok_or("it has no `body`")?;
    if !body.is_object() {
        return Err("its `body` is not a mapping".to_owned());
    }
    placeholders(&mut body)?;
    let mut target = json!({"kind": "http", "url": url, "body": body, "answer": answer});
    let headers = headers(&config["headers"])?;
    put(&mut target, "headers", Some(headers).filter(|headers| !headers.is_empty()));
    Ok(Answers::Http { target })
}

/// The path of `json.a.b[0]`, also as the value of a function of `json`.
fn json_path(code: &str) -> Option<String> {
    let code = code.trim().trim_end_matches(';');
    let code = code
        .strip_prefix("(json) =>")
        .or_else(|| code.strip_prefix("(json, text) =>"))
        .unwrap_or(code)
        .trim();
    let path = code.strip_prefix("json")?;
    let path = path.replace("?.", ".");
    let is_plain =
        path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '[' | ']'));
    (is_plain && path.len() > 1).then(|| format!("${path}"))
}

/// Puts the placeholders of evalrs in the place of promptfoo's.
fn placeholders(body: &mut Value) -> Result<(), String> {
    match body {
        Value::String(text) => {
            let replaced = text.replace("{{prompt}}", "{input}").replace("{{ prompt }}", "{input}");
            if replaced.contains("{{") || replaced.contains("{%") {
                return Err("its `body` has variables besides `prompt`".to_owned());
            }
            *text = replaced;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(placeholders),
        Value::Object(fields) => fields.values_mut().try_for_each(placeholders),
        _ => Ok(()),
    }
}

fn headers(headers: &Value) -> Result<Map<String, Value>, String> {
    let mut mapped = Map::new();
    for (name, value) in headers.as_object().into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        if name.eq_ignore_ascii_case("content-type") {
            continue;
        }
        if let Some(variable) = variable(text) {
            mapped.insert(name.clone(), json!({"env": variable}));
        } else if is_secret_name(name) || text.contains("{{") || text.contains("${") {
            return Err(format!("its header `{name}` has more than a variable of the environment"));
        } else {
            mapped.insert(name.clone(), json!(text));
        }
    }
    Ok(mapped)
}

/// The variable of the environment that a text is.
fn variable(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let name = inner.strip_prefix("env.")?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Answers, ProviderSpec, json_path, judge};

    #[test]
    fn providers_are_targets_where_the_same_is_asked() {
        let chat = |mut target: Value, model: &str| {
            target["kind"] = json!("chat");
            Ok(Answers::Chat { target, model: json!(model) })
        };
        for (id, config, expected) in [
            ("echo", json!(null), Ok(Answers::Echo)),
            (
                "openai:chat:gpt-5-mini",
                json!({"temperature": 0}),
                chat(json!({"provider": "openai", "temperature": 0}), "gpt-5-mini"),
            ),
            (
                "openai:gpt-4o",
                json!({"apiKey": "x"}),
                chat(json!({"provider": "openai"}), "gpt-4o"),
            ),
            (
                "anthropic:messages:claude-x",
                json!(null),
                chat(json!({"provider": "anthropic"}), "claude-x"),
            ),
            (
                "groq:llama",
                json!(null),
                chat(
                    json!({"provider": "openai", "base_url": "https://api.groq.com/openai/v1", "api_key_env": "GROQ_API_KEY"}),
                    "llama",
                ),
            ),
            (
                "bedrock:x",
                json!(null),
                Err(
                    "evalrs has no target for it; record its outputs, or write a target, docs/targets.md",
                ),
            ),
            (
                "openai:gpt-4o",
                json!({"tools": []}),
                Err("its setting `tools` has no counterpart in a `chat` target"),
            ),
            (
                "https://x.example/chat",
                json!({"body": {"q": "{{prompt}}"}, "transformResponse": "json.answer", "headers": {"X-Key": "{{env.KEY}}"}}),
                Ok(Answers::Http {
                    target: json!({"kind": "http", "url": "https://x.example/chat", "body": {"q": "{input}"}, "answer": "$.answer", "headers": {"X-Key": {"env": "KEY"}}}),
                }),
            ),
        ] {
            let spec = ProviderSpec { id: id.to_owned(), config, ..ProviderSpec::default() };
            assert_eq!(spec.answers(), expected.map_err(str::to_owned), "{id}");
        }
    }

    #[test]
    fn judges_and_paths() {
        let provider = json!({"text": {"id": "openai:gpt-4o", "config": {"temperature": 0.2}}, "embedding": "openai:embedding:e"});
        assert_eq!(
            judge(Some(&provider), "text"),
            Ok(json!({"provider": "openai", "model": "gpt-4o", "temperature": 0.2}))
        );
        assert_eq!(judge(Some(&provider), "embedding"), Ok(json!({"model": "e"})));
        assert_eq!(judge(Some(&json!("azure:x")), "text"), Err("`azure:x`".to_owned()));
        assert_eq!(
            json_path("json.choices[0].message.content").as_deref(),
            Some("$.choices[0].message.content")
        );
        assert_eq!(json_path("json.a + 1"), None);
    }
}
