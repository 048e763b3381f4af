//! The fields only judges have.
//!
//! A rubric file is read here because its text is part of the suite: it is kept verbatim, only a byte-order
//! mark is dropped. What a model does with a setting is said by [`JudgeSpec::effective_temperature`]; the
//! spec keeps what the suite wrote.

use std::ops::RangeInclusive;

use super::fields::{Fields, Findings};
use super::graders::options;
use super::read::Reader;
use super::tree::{Entry, Kind};
use super::{Combine, JudgeSpec, Patience, ReplyFormat, RubricSpec};

/// Reads what a `rubric` or `model_judge` grader has beyond other graders.
pub(super) fn rubric(
    entry: &Entry,
    fields: &mut Fields<'_>,
    reader: &mut Reader<'_>,
) -> Option<RubricSpec> {
    let agent = agent_judge(fields, reader);
    let prompt = prompt(entry, fields, reader);
    let provider = provider(fields, reader);
    let findings = &mut reader.findings;
    let text = |name, fields: &mut Fields<'_>, findings: &mut Findings| {
        fields.take(name).and_then(|field| findings.text(field))
    };
    let model = text("model", fields, findings).unwrap_or_else(|| "gpt-4o-mini".to_owned());
    let base_url = base_url(fields, findings);
    let endpoint = text("endpoint", fields, findings);
    let api_key_env = api_key_env(fields, findings);
    let rubric_vars = fields.take("rubric_vars").and_then(|field| findings.texts(field));
    let extra_body = options(fields.take("extra_body"), findings);
    let sampling = sampling(fields, findings);
    let (votes, combine) = votes(fields, findings);
    let scale = scale(fields, findings);
    let max_retries = whole("max_retries", 0..=1000, "between 0 and 1000", fields, findings);
    let timeout = fields.take("timeout").and_then(|field| timeout(field, findings));
    if agent {
        return None;
    }
    let patience = Patience {
        max_retries: max_retries.and_then(|value| u32::try_from(value).ok()).unwrap_or(5),
        timeout: timeout.unwrap_or(120.0),
        ..Patience::default()
    };
    let judge = JudgeSpec {
        model,
        provider,
        base_url,
        endpoint,
        api_key_env,
        headers: Vec::new(),
        temperature: sampling.temperature,
        seed: sampling.seed,
        max_tokens: sampling.max_tokens,
        top_p: sampling.top_p,
        extra_body: extra_body?,
        response_format: ReplyFormat::Auto,
        patience,
    };
    Some(RubricSpec {
        scale,
        rubric_vars: rubric_vars.unwrap_or_default(),
        votes,
        combine,
        ..RubricSpec::new(prompt?, judge)
    })
}

/// Whether the judge is an agent, which is reported as not available.
fn agent_judge(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> bool {
    let agent_file = fields.take("agent_file");
    let command = fields.take("command");
    let tool = fields.take("judge_tool_name");
    if let Some(field) = agent_file {
        reader.unavailable(field, "agents as judges (`agent_file`) are");
    }
    if let Some(field) = command {
        reader.unavailable(field, "programs as judges (`command`) are");
    }
    if let (Some(field), None) = (tool, agent_file) {
        let message = "`judge_tool_name` is of judges that are agents";
        reader.findings.error(field.key_span, message);
    }
    agent_file.is_some() || command.is_some()
}

fn prompt(entry: &Entry, fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let not_empty =
        |field: &&Entry| !matches!(&field.value.value, Kind::Str(text) if text.is_empty());
    let inline = fields.take("prompt").filter(not_empty);
    let file = fields.take("prompt_path").filter(not_empty);
    let (text, field) = match (inline, file) {
        (Some(_), Some(file)) => {
            let message = "a rubric grader has `prompt` or `prompt_path`, not both";
            reader.findings.error(file.key_span, message).hint = Some("keep one".to_owned());
            return None;
        }
        (Some(inline), None) => (reader.findings.text(inline)?, inline),
        (None, Some(file)) => {
            let path = reader.path(file)?;
            let from = Some(file.value.span);
            let text = reader.looked.text(&path, from, reader.files, &mut reader.findings)?;
            (text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(), file)
        }
        (None, None) => {
            reader
                .findings
                .error(entry.key_span, "a rubric grader needs `prompt` or `prompt_path`");
            return None;
        }
    };
    if text.trim().is_empty() {
        reader.findings.error(field.value.span, "the rubric is empty");
        return None;
    }
    Some(text)
}

fn provider(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> String {
    let field = fields.take("provider");
    let name = field.and_then(|field| Some((field, reader.findings.text(field)?)));
    match name {
        Some((field, name)) => {
            if !reader.registry.providers.contains(&name.as_str()) {
                reader.findings.unknown(field, &name, "provider", reader.registry.providers);
            }
            name
        }
        None => "openai".to_owned(),
    }
}

fn base_url(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<String> {
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
        Some(host) if !host.is_empty() => {}
        _ => {
            findings.error(field.value.span, "`base_url` must begin with `https://` or `http://`");
        }
    }
    Some(url)
}

/// The name of a variable; a key written here by mistake is hidden.
fn api_key_env(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<String> {
    let field = fields.take("api_key_env")?;
    let name = findings.text(field)?;
    let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        findings.sources.hide(field.value.span);
        findings
            .error(field.value.span, "`api_key_env` is no name of an environment variable")
            .hint = Some("write the name, not the key: `api_key_env: OPENAI_API_KEY`".to_owned());
    }
    Some(name)
}

struct Sampling {
    temperature: Option<f64>,
    seed: Option<i64>,
    max_tokens: Option<u32>,
    top_p: Option<f64>,
}

fn sampling(fields: &mut Fields<'_>, findings: &mut Findings) -> Sampling {
    let temperature = match fields.take_or_null("temperature") {
        None => Some(0.0),
        Some(field) if field.value.value == Kind::Null => None,
        Some(field) => findings.number(field, 0.0..=2.0, "between 0 and 2, or null"),
    };
    let seed = whole("seed", i64::MIN..=i64::MAX, "a whole number of 64 bits", fields, findings);
    let tokens = whole(
        "max_tokens",
        1..=i64::from(u32::MAX),
        "a whole number of at least 1",
        fields,
        findings,
    );
    let top_p =
        fields.take("top_p").and_then(|field| findings.number(field, 0.0..=1.0, "between 0 and 1"));
    let max_tokens = tokens.and_then(|value| u32::try_from(value).ok());
    Sampling { temperature, seed, max_tokens, top_p }
}

fn whole(
    name: &'static str,
    range: RangeInclusive<i64>,
    words: &str,
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Option<i64> {
    let field = fields.take(name)?;
    findings.whole(field, range, words)
}

fn timeout(field: &Entry, findings: &mut Findings) -> Option<f64> {
    let seconds =
        findings.number(field, 0.0..=86_400.0, "more than 0 and at most 86400 seconds")?;
    if seconds > 0.0 {
        return Some(seconds);
    }
    findings.error(field.value.span, "`timeout` must be more than 0 seconds");
    None
}

/// Reads `votes: 3` or `votes: {n: 3, combine: mean}`.
fn votes(fields: &mut Fields<'_>, findings: &mut Findings) -> (u32, Combine) {
    const RANGE: RangeInclusive<i64> = 1..=1000;
    const WORDS: &str = "a whole number between 1 and 1000";
    let Some(field) = fields.take("votes") else { return (1, Combine::default()) };
    let (count, combine) = match &field.value.value {
        Kind::Map(entries) => {
            let mut inner = Fields::new(entries);
            let count = inner.take("n");
            if count.is_none() {
                findings.error(field.key_span, "`votes` has no `n`");
            }
            let combine = inner.take("combine");
            inner.finish("`votes`", findings);
            (count, combine)
        }
        _ => (Some(field), None),
    };
    let count = count.and_then(|field| findings.whole(field, RANGE, WORDS));
    let combine = combine.and_then(|field| {
        findings.choice(field, &[("median", Combine::Median), ("mean", Combine::Mean)])
    });
    let count = count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1);
    (count, combine.unwrap_or_default())
}

/// Reads `scale: {min, max}`; 0 to 1 is no scale at all.
fn scale(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<(f64, f64)> {
    let field = fields.take("scale")?;
    let mut inner = findings.fields(field)?;
    let mut end = |name| {
        let Some(end) = inner.take(name) else {
            findings.error(field.key_span, format!("`scale` has no `{name}`"));
            return None;
        };
        findings.number(end, f64::MIN..=f64::MAX, "finite")
    };
    let (min, max) = (end("min"), end("max"));
    inner.finish("`scale`", findings);
    let (min, max) = (min?, max?);
    if min >= max {
        findings.error(field.value.span, "`scale` must have a `min` below its `max`");
        return None;
    }
    Some((min, max)).filter(|scale| *scale != (0.0, 1.0))
}
