//! Who judges by a rubric: the settings of one judge, and panels of several.
//!
//! A panel's judges are read from merged fields, their own over the grader's, so that what is inherited keeps its
//! place and is checked anew for each of them. What a model does with a setting is said by
//! `judge::provider::effective_temperature`; the spec keeps what the suite wrote.

use serde_json::{Map, Value};

use super::agents::{AgentJudge, agent};
use super::command_judges::{COMMAND, command_judge, inherited, refuse_without_command};
use super::fields::{FieldSet, Findings};
use super::graders::options;
use super::headers::{self, headers};
use super::load;
use super::reader::Reader;
use super::sections::{COMMAND_JUDGE, JUDGE, PANELLIST};
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_eval::judge::provider::AGENTS;
use evalrs_eval::judge::{Judge, secret_parameters};
use evalrs_model::spec::{JudgeSpec, Patience, ReplyFormat, RubricSpec};

/// The most judges of a panel.
const MAX_JUDGES: usize = 100;

/// Settings that some providers do not take.
const OPTIONAL: [&str; 5] = ["temperature", "seed", "max_tokens", "top_p", "response_format"];

pub(super) const REPLY_FORMATS: [(&str, ReplyFormat); 4] = [
    ("auto", ReplyFormat::Auto),
    ("json_schema", ReplyFormat::JsonSchema),
    ("json_object", ReplyFormat::JsonObject),
    ("text", ReplyFormat::Text),
];

/// Reads the judges of a rubric grader: those of its `panel`, else the one that the grader's own fields are.
/// `has_rubric` is whether its rubric was read: only then is it known what front matter says.
pub(super) fn judges(
    fields: &mut FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Vec<JudgeSpec> {
    let judges = match fields.take("panel") {
        None => return vec![any_judge(fields, reader)],
        Some(panel) => of_panel(panel, fields, has_rubric, reader),
    };
    // What every judge of the panel says itself is checked too.
    match fields.take(COMMAND) {
        Some(command) => command_judge(command, fields, reader),
        None => judge(fields, reader),
    };
    judges
}

/// A model or an agent that is asked, or a command that is run.
fn any_judge(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
    if let Some(command) = fields.take(COMMAND) {
        return command_judge(command, fields, reader);
    }
    refuse_without_command(fields, &mut reader.findings);
    check_taken(fields, reader);
    judge(fields, reader)
}

fn of_panel(
    panel: &YamlEntry,
    grader: &FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Vec<JudgeSpec> {
    const EXAMPLE: &str = "write `panel: [{model: a}, {model: b}]`";
    let Yaml::Seq(items) = &panel.value.value else {
        reader.findings.wrong_type(panel, "a list of judges").hint = Some(EXAMPLE.to_owned());
        return Vec::new();
    };
    if items.is_empty() {
        let message = "`panel` has no judges";
        reader.findings.error(panel.value.span, message).hint = Some(EXAMPLE.to_owned());
    }
    if items.len() > MAX_JUDGES {
        let message = format!("a panel has at most {MAX_JUDGES} judges");
        reader.findings.error(panel.key_span, message);
        return Vec::new();
    }
    let read: Vec<Option<JudgeSpec>> =
        items.iter().map(|item| one_of_panel(item, grader, has_rubric, reader)).collect();
    let judges = read.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default();
    check_different(&judges, items, &mut reader.findings);
    judges
}

/// Reads one judge of a panel from its fields and those it inherits.
fn one_of_panel(
    item: &YamlNode,
    grader: &FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Option<JudgeSpec> {
    let Yaml::Map(own) = &item.value else {
        let message = format!("a judge of `panel` must be a mapping, not {}", item.noun());
        reader.findings.error(item.span, message).hint = Some("write `{model: NAME}`".to_owned());
        return None;
    };
    let entries = grader.inherited(COMMAND_JUDGE, &grader.inherited(JUDGE, own));
    let entries = inherited(entries, own);
    let mut fields = FieldSet::new(&entries, &PANELLIST);
    let is_named = ["model", "agent_file", COMMAND].iter().any(|name| fields.take(name).is_some());
    if has_rubric && !is_named {
        reader.findings.error(item.span, "this judge of the panel has no `model`");
    }
    if fields.take(COMMAND).is_none() {
        check_inherited(item, grader, &mut reader.findings);
    }
    let judge = any_judge(&mut fields, reader);
    fields.finish(&mut reader.findings);
    Some(judge)
}

/// Warns of a key or an address that was meant for another provider: the one would be sent to the other.
fn check_inherited(item: &YamlNode, grader: &FieldSet<'_>, findings: &mut Findings) {
    let of_grader = |name: &str| grader.take(name).filter(|_| item.get(name).is_none());
    let named = |name: &str| item.entries().iter().find(|entry| entry.key == name);
    let own = named("provider").or_else(|| named("agent_file"));
    let theirs = provider_name(grader);
    let is_other = |own: &&YamlEntry| match own.key.as_str() {
        "provider" => own.value.to_json() != *theirs,
        _ => own.value.value != Yaml::Null && theirs != AGENTS,
    };
    let Some(own) = own.filter(is_other) else { return };
    let name = match (of_grader("base_url"), of_grader("api_key_env")) {
        (Some(_), None) => "base_url",
        (None, Some(_)) => "api_key_env",
        _ => return,
    };
    let message = format!("this judge of another provider inherits `{name}` of the grader");
    findings.warning(own.value.span, message).hint =
        Some(format!("say `{name}` for this judge too; `{name}: null` is its provider's own"));
}

/// Reports judges that are one judge: their judgments would have the same keys, and one would count twice.
fn check_different(judges: &[JudgeSpec], items: &[YamlNode], findings: &mut Findings) {
    let panel = RubricSpec { judges: judges.to_vec(), ..RubricSpec::new("", JudgeSpec::default()) };
    let seats = Judge::new(panel, &|_| None).seats;
    for (at, (seat, item)) in seats.iter().zip(items).enumerate() {
        let Some(first) = seats[..at].iter().position(|known| known.is_same_judge(seat)) else {
            continue;
        };
        let first = findings.sources.place(items[first].span);
        let message = "this judge is in the panel already: one judgment would count twice";
        let hint = format!(
            "the first is on line {}, column {}; for more judgments by each judge write `votes: 2`",
            first.line, first.column
        );
        findings.error(item.span, message).hint = Some(hint);
    }
}

/// Reads a model that talks, rather than one that judges: no temperature is sent that nobody names.
pub(super) fn talking_model(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
    check_taken(fields, reader);
    let is_said = fields.take("temperature").is_some();
    let model = judge(fields, reader);
    JudgeSpec { temperature: model.temperature.filter(|_| is_said), ..model }
}

fn judge(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
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
        findings.error(field.key_span, message).hint = Some(load::SECRET_HINT.to_owned());
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
fn provider_name(fields: &FieldSet<'_>) -> String {
    match fields.take("provider").map(|field| &field.value.value) {
        Some(Yaml::Str(name)) => name.clone(),
        _ if is_agent(fields) => AGENTS.to_owned(),
        _ => JudgeSpec::default().provider,
    }
}

/// Reports settings that the provider does not take.
fn check_taken(fields: &FieldSet<'_>, reader: &mut Reader<'_>) {
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
    let members = field.map_or(&[][..], |field| field.value.entries());
    let is_stream =
        |member: &&YamlEntry| member.key == "stream" && member.value.value == Yaml::Bool(true);
    if let Some(stream) = members.iter().find(is_stream) {
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
    if !headers::is_variable(&name) {
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
