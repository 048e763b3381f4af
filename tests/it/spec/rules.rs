//! The rules by which the judge of a document answers: `TEXT & TEXT -> REPLY, then REPLY`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::judge::{Answer, Asked};

/// Rules, the first of which that fits answers.
#[derive(Clone)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// How often each request came.
    times: BTreeMap<String, usize>,
}

#[derive(Clone)]
struct Rule {
    /// What the prompt holds, or with `!` does not; `model=NAME` and `body=TEXT` are about the request as it was sent.
    texts: Vec<String>,
    /// What comes of a request that was made before; the last one stays.
    replies: Vec<String>,
}

impl Rules {
    /// Reads a fence.
    pub(super) fn parse(body: &[(usize, &str)]) -> Result<Self, (usize, String)> {
        let mut rules = Vec::new();
        for (at, line) in body.iter().filter(|(_, line)| !line.is_empty()) {
            let Some((texts, replies)) = line.split_once(" -> ") else {
                return Err((*at, "a rule is `TEXT -> REPLY`".to_owned()));
            };
            let texts = texts.split(" & ").map(str::to_owned).collect();
            let replies: Vec<String> = replies.split(", then ").map(str::to_owned).collect();
            let wrong = replies.iter().find(|text| !text.contains('<') && reply(text).is_none());
            if let Some(text) = wrong {
                return Err((*at, format!("`{text}` is not a reply")));
            }
            rules.push(Rule { texts, replies });
        }
        Ok(Self { rules, times: BTreeMap::new() })
    }

    /// Every text in them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().flat_map(|rule| rule.texts.iter().chain(&rule.replies))
    }

    /// The same rules with what `fill` makes of their texts.
    pub(super) fn filled(&self, fill: &impl Fn(&str) -> String) -> Self {
        let all = |texts: &[String]| texts.iter().map(|text| fill(text)).collect();
        let rule = |rule: &Rule| Rule { texts: all(&rule.texts), replies: all(&rule.replies) };
        Self { rules: self.rules.iter().map(rule).collect(), times: BTreeMap::new() }
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, asked: &Asked) -> Answer {
        let model = asked.body["model"].as_str().unwrap_or_default();
        let embedded = asked.body["input"].as_str().unwrap_or_default();
        let words = asked.prompt().split_whitespace().chain(embedded.split_whitespace());
        let prompt = words.collect::<Vec<_>>().join(" ");
        let time = self.times.entry(format!("{model} {prompt}")).or_default();
        *time += 1;
        let body = asked.body.to_string();
        let holds = |text: &String| match text.split_once('=') {
            Some(("model", name)) => name == model,
            Some(("body", part)) => body.contains(part),
            _ => match text.strip_prefix('!') {
                Some(text) => !prompt.contains(text),
                None => text == "*" || prompt.contains(text.as_str()),
            },
        };
        let rule = self.rules.iter().find(|rule| rule.texts.iter().all(holds));
        let text = rule.and_then(|rule| rule.replies.iter().take(*time).next_back());
        text.and_then(|text| reply(text))
            .unwrap_or_else(|| Answer::error(400, "no rule of the document fits"))
    }
}

/// `0.5 WHY` is a verdict, a JSON object and what `say` says are sent as they are, `http 500 MESSAGE` is an error,
/// `http 200 BODY` and `http 500 {…}` a body.
fn reply(text: &str) -> Option<Answer> {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if let Ok(score) = first.parse::<f64>() {
        let verdict = serde_json::json!({"score": score, "rationale": rest});
        return Some(if rest.is_empty() {
            Answer::score(score)
        } else {
            Answer::text(&verdict.to_string())
        });
    }
    match first {
        "http" => {
            let (status, message) = rest.split_once(' ')?;
            let status = status.parse().ok()?;
            let is_body = status == 200 || message.starts_with(['{', '<']);
            let body = || Answer::Http(status, Vec::new(), message.to_owned());
            Some(if is_body { body() } else { Answer::error(status, message) })
        }
        "say" => Some(Answer::text(&rest.replace("\\n", "\n"))),
        _ if text == "hang up" => Some(Answer::HangUp),
        _ => match serde_json::from_str(text).ok()? {
            Value::String(text) => Some(Answer::text(&text)),
            Value::Object(_) => Some(Answer::text(text)),
            _ => None,
        },
    }
}
