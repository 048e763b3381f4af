//! One model that is called: its name, its endpoint, and its settings.
//!
//! What a model does with a setting is said by `judge::provider::effective_temperature`; the spec keeps what the suite
//! wrote.

use serde_json::{Map, Value, json};
use strum::VariantNames;

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::secrets::SECRET_HINT;
use crate::section::FieldShape::{
    Anything, Choice, MapOf, Number, OrNull, Seconds, Text, Truth, Whole,
};
use crate::section::{COUNT, FRACTION, FieldSpec, fields};
use crate::sections::agents::{AgentJudge, agent};
use crate::sections::environment::is_variable;
use crate::sections::headers::{HEADERS, headers};
use crate::sections::options::options;
use crate::written::{extend, leave_out, without_empty};
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::Yaml;
use evalrs_eval::judge::provider::AGENTS;
use evalrs_eval::judge::secret_parameters;
use evalrs_model::spec::{CachingChoice, JudgeSpec, Patience, ReplyFormat, ReplyLimit, TierChoice};

/// The settings of one judge that the grader sets for all of its panel.
pub(crate) const JUDGE: &[FieldSpec] = fields![
    "provider": Text, or "\"openai\"" => "the API; `openai` is any endpoint with `/chat/completions`";
    "model": Text, or "\"gpt-4o-mini\"" => "the judge model";
    "base_url": Text => "the URL of the API; if absent, the provider's variable, then its default";
    "endpoint": Text => "replaces the base URL in the key, so that stored outcomes survive a move of the server";
    "api_key_env": Text => "the environment variable with the API key; the provider's own if absent";
    "headers": HEADERS => "more request headers: `Name: text`, or `Name: {env: VARIABLE}` for a secret";
    "temperature": OrNull(&Number(0.0, 2.0, "between 0 and 2, or null")), or "0.0" => "the sampling temperature; `null` sends none, and reasoning models get 1.0";
    "seed": Whole(i64::MIN, i64::MAX, "a whole number of 64 bits") => "the sampling seed";
    "max_tokens": OrNull(&COUNT) => "the most tokens of a reply; if absent 1000, or 8000 for models that reason; `null` sends no limit";
    "top_p": FRACTION => "nucleus sampling";
    "extra_body": MapOf(&Anything) => "more members of the request body";
    "response_format": Choice(ReplyFormat::VARIANTS), or "\"auto\"" => "how to request JSON: by schema, in JSON mode, in words (`text`), or by the strictest that the endpoint accepts (`auto`)";
    "prompt_caching": Choice(CachingChoice::VARIANTS), or "\"auto\"" => "whether requests mark what the provider is to cache: at its own address (`auto`), wherever the model is served (`on`, or `hour` for an hour), or never (`off`)";
    "service_tier": Choice(TierChoice::VARIANTS), or "\"default\"" => "whether OpenAI answers at once (`default`), or at half the price when it has room (`flex`)";
    "batch": Truth => "whether `run --batch` sends its requests as batches; if absent, at the provider's own address";
    "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after timeouts, refused connections and the statuses 408, 409, 421, 423 to 425, 429, 499 and 5xx";
    "timeout": Seconds, or "120.0" => "seconds one request may take";
    "deadline": Seconds, or "900.0" => "seconds one judgment may take, retries and waits included";
    "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute; no limit if absent";
    "max_tokens_per_minute": COUNT => "the most tokens, sent and received, in a minute; no limit if absent";
    "agent_file": Text => "the file of a Letta agent that judges instead of a model; evalrs makes a new agent for each judgment";
    "judge_tool_name": Text, or "\"submit_grade\"" => "the tool that the agent calls with its verdict";
    "keep_agents": Truth, or "false" => "whether agents stay on the server after they have judged";
];

/// Settings that some providers do not take.
const OPTIONAL: [&str; 6] =
    ["temperature", "seed", "max_tokens", "top_p", "response_format", "service_tier"];

/// Reads a model that talks, rather than one that judges: no temperature is sent that nobody names.
pub(crate) fn talking_model(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
    check_taken(fields, reader);
    let is_said = fields.take("temperature").is_some();
    let model = judge(fields, reader);
    JudgeSpec { temperature: model.temperature.filter(|_| is_said), ..model }
}

pub(crate) fn judge(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
    let provider = provider(fields, reader);
    let (agent, defaults) = match agent(fields, reader) {
        Some(AgentJudge { spec, model }) => (Some(spec), of_agents(model)),
        None => (None, JudgeSpec::default()),
    };
    let service_tier = fields.variant("service_tier").unwrap_or_default();
    let defaults = if service_tier == TierChoice::Flex { of_flex(defaults) } else { defaults };
    refuse_secrets(fields);
    let headers = headers(fields);
    let temperature = match fields.take_or_null("temperature") {
        None => defaults.temperature,
        Some(field) if field.value.value == Yaml::Null => None,
        Some(_) => fields.number("temperature"),
    };
    JudgeSpec {
        model: fields.text("model").unwrap_or(defaults.model),
        provider,
        base_url: base_url(fields),
        endpoint: fields.text("endpoint"),
        api_key_env: api_key_env(fields),
        headers,
        temperature,
        seed: fields.whole("seed"),
        max_tokens: reply_limit(fields),
        top_p: fields.number("top_p"),
        extra_body: extra_body(fields.take("extra_body")),
        response_format: fields.variant("response_format").unwrap_or_default(),
        prompt_caching: fields.variant("prompt_caching").unwrap_or_default(),
        service_tier,
        batch: fields.take("batch").and_then(Field::truth),
        patience: patience(fields, &defaults.patience),
        agent,
        program: None,
    }
}

/// Of what is said wrong nothing is known, as of what is not said.
fn reply_limit(fields: &FieldSet<'_>) -> ReplyLimit {
    match fields.take_or_null("max_tokens") {
        Some(field) if field.value.value == Yaml::Null => ReplyLimit::Unlimited,
        _ => fields.whole("max_tokens").map_or(ReplyLimit::Usual, ReplyLimit::Tokens),
    }
}

/// What a judge is that answers when its server has room, where the suite does not say: that takes longer.
fn of_flex(defaults: JudgeSpec) -> JudgeSpec {
    let patience = Patience { timeout: 900.0, deadline: 3_600.0, ..defaults.patience };
    JudgeSpec { patience, ..defaults }
}

/// What a judge that is an agent is where the suite does not say: its conversations take longer than a request.
fn of_agents(model: Option<String>) -> JudgeSpec {
    JudgeSpec {
        model: model.unwrap_or_else(|| "agent".to_owned()),
        temperature: None,
        patience: Patience { timeout: 300.0, ..Patience::default() },
        ..JudgeSpec::default()
    }
}

/// Reports keys of APIs, however they are spelt. Their values are hidden where files are loaded.
fn refuse_secrets(fields: &mut FieldSet<'_>) {
    for field in fields.refuse(source::is_secret) {
        field.hide();
        field.error_at_key(&format!("`{}` would put a key into the suite", field.key), SECRET_HINT);
    }
}

fn provider(fields: &FieldSet<'_>, reader: &Reader<'_>) -> String {
    if let Some(field) = fields.take("provider")
        && let Some(name) = field.text()
        && !reader.registry.providers.contains(&name.as_str())
    {
        field.unknown::<()>(&name, "provider", reader.registry.providers);
    }
    let name = provider_name(fields);
    if let Some(field) = fields.take("provider") {
        check_agents(field, name == AGENTS, fields);
    }
    name
}

/// Agents are of their provider, and no others are.
fn check_agents(provider: Field<'_>, is_theirs: bool, fields: &FieldSet<'_>) {
    let message = match (is_agent(fields), is_theirs) {
        (false, true) => format!(
            "judges of the provider `{AGENTS}` are agents, and this one has no `agent_file`"
        ),
        (true, false) => format!("a judge with an `agent_file` has the provider `{AGENTS}`"),
        _ => return,
    };
    let hint = if is_theirs { "write `agent_file: judge.af`" } else { "remove `provider`" };
    provider.error_at_key(&message, hint);
}

fn is_agent(fields: &FieldSet<'_>) -> bool {
    fields.take("agent_file").is_some()
}

/// The provider that the fields name, right or wrong.
pub(crate) fn provider_name(fields: &FieldSet<'_>) -> String {
    match fields.take("provider").map(|field| &field.entry.value.value) {
        Some(Yaml::Str(name)) => name.clone(),
        _ if is_agent(fields) => AGENTS.to_owned(),
        _ => JudgeSpec::default().provider,
    }
}

/// Reports settings that the provider does not take.
pub(crate) fn check_taken(fields: &FieldSet<'_>, reader: &Reader<'_>) {
    let provider = provider_name(fields);
    for name in OPTIONAL {
        let Some(field) = fields.take(name) else { continue };
        if let Some(why) = (reader.registry.untaken_setting)(&provider, name) {
            let message = format!("judges of the provider `{provider}` take no `{name}`: {why}");
            field.error_at_key(&message, "");
        }
    }
}

fn base_url(fields: &FieldSet<'_>) -> Option<String> {
    let field = fields.take("base_url")?;
    let url = field.text()?;
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = host.map(|rest| rest.split('/').next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            field.hide();
            field.error("`base_url` has a password", "pass the key with `api_key_env: NAME`");
        }
        Some(_) if secret_parameters(&url).next().is_some() => {
            field.hide();
            let hint = "pass the key with `api_key_env: NAME` or `headers: {NAME: {env: \
                        VARIABLE}}`";
            field.error("`base_url` has a key in its parameters", hint);
        }
        Some(host) if !host.is_empty() => {}
        // A variable that is not set was reported where it stands.
        _ if url.contains("${") => {}
        _ => field.error("`base_url` must begin with `https://` or `http://`", ""),
    }
    Some(url)
}

/// Further members of the request. A reply that comes in pieces would be paid for and never read.
fn extra_body(field: Option<Field<'_>>) -> Map<String, Value> {
    if let Some(stream) = field.and_then(|field| field.inner("stream"))
        && stream.value.value == Yaml::Bool(true)
    {
        let hint = "remove `stream`; `timeout` limits the time of a reply";
        stream.error_at_key("`stream: true` never works: replies are read whole", hint);
    }
    options(field).unwrap_or_default()
}

/// The name of a variable; a key written here by mistake is hidden.
fn api_key_env(fields: &FieldSet<'_>) -> Option<String> {
    let field = fields.take("api_key_env")?;
    let name = field.text()?;
    if !is_variable(&name) {
        field.hide();
        let hint = "write the name, not the key: `api_key_env: OPENAI_API_KEY`";
        field.error("`api_key_env` is not the name of an environment variable", hint);
    }
    Some(name)
}

fn patience(fields: &FieldSet<'_>, defaults: &Patience) -> Patience {
    Patience {
        max_retries: fields.whole("max_retries").unwrap_or(defaults.max_retries),
        timeout: fields.seconds("timeout").unwrap_or(defaults.timeout),
        deadline: fields.seconds("deadline").unwrap_or(defaults.deadline),
        max_requests_per_minute: fields.whole("max_requests_per_minute"),
        max_tokens_per_minute: fields.whole("max_tokens_per_minute"),
    }
}

/// A judge as it is written back.
pub(crate) fn written(spec: &JudgeSpec) -> Value {
    let mut judge = without_empty(json!(spec));
    // Here null says something: no temperature is sent, or no limit.
    judge["temperature"] = json!(spec.temperature);
    if spec.max_tokens == ReplyLimit::Unlimited {
        judge["max_tokens"] = Value::Null;
    }
    if let Some(agent) = &spec.agent {
        // What its file says is not written beside it.
        leave_out(&mut judge, &["temperature", "response_format", "model"]);
        extend(&mut judge, without_empty(json!(agent)));
    }
    judge
}
