//! One model that is asked: which it is, where it is asked, and with which settings.
//!
//! What a model does with a setting is said by `judge::provider::effective_temperature`; the spec keeps what the suite
//! wrote.

use serde_json::{Map, Value, json};

use crate::fields::{FieldSet, Findings};
use crate::reader::Reader;
use crate::secrets::SECRET_HINT;
use crate::section::FieldShape::{
    Anything, Choice, MapOf, Number, OrNull, Seconds, Text, Truth, Whole,
};
use crate::section::{COUNT, FRACTION, FieldSpec, fields, names};
use crate::sections::agents::{AgentJudge, agent};
use crate::sections::environment::is_variable;
use crate::sections::headers::{HEADERS, headers};
use crate::sections::options::options;
use crate::written::{extend, leave_out, without_empty};
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_eval::judge::provider::AGENTS;
use evalrs_eval::judge::secret_parameters;
use evalrs_model::spec::{JudgeSpec, Patience, ReplyFormat};

/// What is of one judge, and said by the grader for all of its panel.
pub(crate) const JUDGE: &[FieldSpec] = fields![
    "provider": Text, or "\"openai\"" => "the protocol; `openai` is any OpenAI-compatible endpoint";
    "model": Text, or "\"gpt-4o-mini\"" => "the judge model";
    "base_url": Text => "where it is asked; no part of the key if `endpoint` is set";
    "endpoint": Text => "stands for the base URL in the key";
    "api_key_env": Text => "the environment variable that holds the key";
    "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
    "temperature": OrNull(&Number(0.0, 2.0, "between 0 and 2, or null")), or "0.0" => "null sends none";
    "seed": Whole(i64::MIN, i64::MAX, "a whole number of 64 bits") => "the sampling seed";
    "max_tokens": COUNT => "the most tokens of a reply";
    "top_p": FRACTION => "nucleus sampling";
    "extra_body": MapOf(&Anything) => "further members of the request";
    "response_format": Choice(&names(&REPLY_FORMATS)), or "\"auto\"" => "how the shape of the reply is asked for";
    "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after transport failures, at most 1000";
    "timeout": Seconds, or "120.0" => "seconds one request may take, more than 0";
    "deadline": Seconds, or "900.0" => "seconds one judgment may take with retries and waits, more than 0";
    "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute";
    "max_tokens_per_minute": COUNT => "the most tokens, sent and received, in a minute";
    "agent_file": Text => "the file of an agent that judges in place of a model: one of a Letta server, made anew for each judgment";
    "judge_tool_name": Text, or "\"submit_grade\"" => "the tool that the agent calls with its verdict";
    "keep_agents": Truth, or "false" => "whether the agents stay at the server";
];

/// Settings that some providers do not take.
const OPTIONAL: [&str; 5] = ["temperature", "seed", "max_tokens", "top_p", "response_format"];

pub(crate) const REPLY_FORMATS: [(&str, ReplyFormat); 4] = [
    ("auto", ReplyFormat::Auto),
    ("json_schema", ReplyFormat::JsonSchema),
    ("json_object", ReplyFormat::JsonObject),
    ("text", ReplyFormat::Text),
];

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
    let findings = &mut reader.findings;
    refuse_secrets(fields, findings);
    let headers = headers(fields, findings);
    let temperature = match fields.take_or_null("temperature") {
        None => defaults.temperature,
        Some(field) if field.value.value == Yaml::Null => None,
        Some(_) => fields.number("temperature", findings),
    };
    JudgeSpec {
        model: fields.text("model", findings).unwrap_or(defaults.model),
        provider,
        base_url: base_url(fields, findings),
        endpoint: fields.text("endpoint", findings),
        api_key_env: api_key_env(fields, findings),
        headers,
        temperature,
        seed: fields.whole("seed", findings),
        max_tokens: fields.whole("max_tokens", findings),
        top_p: fields.number("top_p", findings),
        extra_body: extra_body(fields.take("extra_body"), findings),
        response_format: fields
            .choice("response_format", &REPLY_FORMATS, findings)
            .unwrap_or_default(),
        patience: patience(fields, &defaults.patience, findings),
        agent,
        program: None,
    }
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
fn refuse_secrets(fields: &mut FieldSet<'_>, findings: &mut Findings) {
    for field in fields.refuse(source::is_secret) {
        findings.sources.hide(field.value.span);
        let message = format!("`{}` would put a key into the suite", field.key);
        findings.error(field.key_span, message).hint = Some(SECRET_HINT.to_owned());
    }
}

fn provider(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> String {
    if let Some(field) = fields.take("provider")
        && let Some(name) = reader.findings.text(field)
        && !reader.registry.providers.contains(&name.as_str())
    {
        reader.findings.unknown(field, &name, "provider", reader.registry.providers);
    }
    let name = provider_name(fields);
    if let Some(field) = fields.take("provider") {
        check_agents(field, name == AGENTS, fields, &mut reader.findings);
    }
    name
}

/// Agents are of their provider, and no others are.
fn check_agents(
    provider: &YamlEntry,
    is_theirs: bool,
    fields: &FieldSet<'_>,
    findings: &mut Findings,
) {
    let message = match (is_agent(fields), is_theirs) {
        (false, true) => format!(
            "judges of the provider `{AGENTS}` are agents, and this one has no `agent_file`"
        ),
        (true, false) => format!("a judge with an `agent_file` is of the provider `{AGENTS}`"),
        _ => return,
    };
    let hint = if is_theirs { "write `agent_file: judge.af`" } else { "leave `provider` out" };
    findings.error(provider.key_span, message).hint = Some(hint.to_owned());
}

fn is_agent(fields: &FieldSet<'_>) -> bool {
    fields.take("agent_file").is_some()
}

/// The provider that the fields name, right or wrong.
pub(crate) fn provider_name(fields: &FieldSet<'_>) -> String {
    match fields.take("provider").map(|field| &field.value.value) {
        Some(Yaml::Str(name)) => name.clone(),
        _ if is_agent(fields) => AGENTS.to_owned(),
        _ => JudgeSpec::default().provider,
    }
}

/// Reports settings that the provider does not take.
pub(crate) fn check_taken(fields: &FieldSet<'_>, reader: &mut Reader<'_>) {
    let provider = provider_name(fields);
    for name in OPTIONAL {
        let Some(field) = fields.take(name) else { continue };
        if let Some(why) = (reader.registry.untaken_setting)(&provider, name) {
            let message = format!("judges of the provider `{provider}` take no `{name}`: {why}");
            reader.findings.error(field.key_span, message);
        }
    }
}

fn base_url(fields: &FieldSet<'_>, findings: &mut Findings) -> Option<String> {
    let field = fields.take("base_url")?;
    let url = findings.text(field)?;
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = host.map(|rest| rest.split('/').next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            findings.sources.hide(field.value.span);
            findings.error(field.value.span, "`base_url` holds a password").hint =
                Some("give the key by `api_key_env: NAME`".to_owned());
        }
        Some(_) if secret_parameters(&url).next().is_some() => {
            findings.sources.hide(field.value.span);
            findings.error(field.value.span, "`base_url` holds a key in its parameters").hint =
                Some(
                    "give the key by `api_key_env: NAME` or `headers: {NAME: {env: VARIABLE}}`"
                        .to_owned(),
                );
        }
        Some(host) if !host.is_empty() => {}
        // A variable that is not set was reported where it stands.
        _ if url.contains("${") => {}
        _ => {
            findings.error(field.value.span, "`base_url` must begin with `https://` or `http://`");
        }
    }
    Some(url)
}

/// Further members of the request. A reply that comes in pieces would be paid for and never read.
fn extra_body(field: Option<&YamlEntry>, findings: &mut Findings) -> Map<String, Value> {
    if let Some(stream) = field.and_then(|field| field.value.entry("stream"))
        && stream.value.value == Yaml::Bool(true)
    {
        let message = "`stream: true` never works: replies are read whole";
        findings.error(stream.key_span, message).hint =
            Some("leave `stream` out; `timeout` says how long a reply may take".to_owned());
    }
    options(field, findings).unwrap_or_default()
}

/// The name of a variable; a key written here by mistake is hidden.
fn api_key_env(fields: &FieldSet<'_>, findings: &mut Findings) -> Option<String> {
    let field = fields.take("api_key_env")?;
    let name = findings.text(field)?;
    if !is_variable(&name) {
        findings.sources.hide(field.value.span);
        findings
            .error(field.value.span, "`api_key_env` is not the name of an environment variable")
            .hint = Some("write the name, not the key: `api_key_env: OPENAI_API_KEY`".to_owned());
    }
    Some(name)
}

fn patience(fields: &FieldSet<'_>, defaults: &Patience, findings: &mut Findings) -> Patience {
    Patience {
        max_retries: fields.whole("max_retries", findings).unwrap_or(defaults.max_retries),
        timeout: fields.seconds("timeout", findings).unwrap_or(defaults.timeout),
        deadline: fields.seconds("deadline", findings).unwrap_or(defaults.deadline),
        max_requests_per_minute: fields.whole("max_requests_per_minute", findings),
        max_tokens_per_minute: fields.whole("max_tokens_per_minute", findings),
    }
}

/// A judge as it is written back.
pub(crate) fn written(spec: &JudgeSpec) -> Value {
    let mut judge = without_empty(json!(spec));
    // Here null says something: no temperature is sent.
    judge["temperature"] = json!(spec.temperature);
    if let Some(agent) = &spec.agent {
        // What its file says is not written beside it.
        leave_out(&mut judge, &["temperature", "response_format", "model"]);
        extend(&mut judge, without_empty(json!(agent)));
    }
    judge
}
