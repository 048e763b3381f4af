//! A target that is deployed: requests over HTTP, one for a conversation, or one for each turn of a session.

use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use super::talk::{Talk, path};
use super::user::{UserTurns, usage_of_both};
use super::web::{RefusedReply, WebReply, WebRequest};
use crate::judges::errors;
use crate::{Endpoint, RequestHeader};
use evalrs_eval::judge::provider;
use evalrs_eval::target::answer::{NoAnswer, TargetAnswer, usage_in};
use evalrs_eval::target::exchange::{self, RequestValues};
use evalrs_model::outcome::{Failure, FailureKind, Usage};
use evalrs_model::spec::HttpTarget;

/// Further attempts of a request that the server did not take because there were too many. Others may have been taken: what
/// fails otherwise begins the conversation anew.
const RETRIES: u32 = 5;
/// The characters of a reply that are shown.
const SHOWN: usize = 200;

/// Holds one conversation.
pub(super) async fn converse(talk: Talk<'_>, http: &HttpTarget) -> Result<TargetAnswer, Failure> {
    let server = Server {
        talk,
        http,
        answer: path(http.answer.as_deref())?,
        messages: path(http.messages.as_deref())?,
        session: path(http.session.as_deref())?,
    };
    if server.session.is_some() {
        return server.hold().await;
    }
    let reply = server.ask(&RequestValues::whole(&talk.launch.action)).await?;
    server.whole(reply)
}

/// What came back, read as far as its form goes.
struct AgentReply {
    /// The text at `answer`, where the suite says where that is.
    text: Option<String>,
    /// Whole replies: one, or the data of all events.
    values: Vec<Value>,
    /// The beginning of it, for people.
    shown: String,
}

struct Server<'a> {
    talk: Talk<'a>,
    http: &'a HttpTarget,
    answer: Option<JsonPath>,
    messages: Option<JsonPath>,
    session: Option<JsonPath>,
}

impl Server<'_> {
    /// Sends one request.
    async fn ask(&self, values: &RequestValues<'_>) -> Result<AgentReply, Failure> {
        let Self { talk, http, .. } = self;
        let url = values.url(&http.url);
        let body = match &http.body {
            Some(template) => Some(values.body(template)),
            None => exchange::has_plain_body(http).then(|| values.plain_body()),
        };
        let headers = talk.launch.access.iter().flat_map(|access| &access.headers);
        let headers: Vec<(String, String)> = headers
            .map(|RequestHeader { name, value, is_secret }| {
                let value = value.reveal();
                let value = if *is_secret { value.to_owned() } else { values.header(value) };
                (name.clone(), value)
            })
            .collect();
        let method = reqwest::Method::from_bytes(http.method.as_bytes());
        let request = WebRequest {
            endpoint: Endpoint {
                provider: "http".to_owned(),
                base_url: origin(&url),
                api_key: None,
            },
            method: method.unwrap_or(reqwest::Method::POST),
            url: &url,
            prepare: &|sending| {
                let with = headers.iter();
                let sending =
                    with.fold(sending, |sending, (name, value)| sending.header(name, value));
                match &body {
                    Some(body) => sending.json(body),
                    None => sending,
                }
            },
            retries: RETRIES,
            is_retried: |kind| kind == FailureKind::RateLimited,
        };
        talk.send(&request, &|reply| self.read(reply)).await
    }

    fn read(&self, reply: &WebReply) -> Result<AgentReply, RefusedReply> {
        let body: Option<Value> = serde_json::from_str(&reply.text).ok();
        let shown: String = reply.text.trim().chars().take(SHOWN).collect();
        if !(200..300).contains(&reply.status) {
            return Err(self.refused(reply, body.as_ref()));
        }
        if self.http.is_stream {
            return self.read_events(&reply.text, shown).map_err(RefusedReply::from);
        }
        let value = match body {
            Some(value) => value,
            None if self.answer.is_none() && self.messages.is_none() && !shown.is_empty() => {
                Value::from(reply.text.trim())
            }
            None if shown.is_empty() => return Err(self.unreadable("it is empty").into()),
            None => return Err(self.unreadable(&format!("it is not JSON: {shown}")).into()),
        };
        let text = self.answer.as_ref().and_then(|path| exchange::at(path, &value));
        let text = text.as_ref().map(exchange::answer_text);
        Ok(AgentReply { text, values: vec![value], shown })
    }

    /// Joins what the events of a stream say.
    fn read_events(&self, stream: &str, shown: String) -> Result<AgentReply, Failure> {
        let failed = |words: String| self.talk.no_answer(NoAnswer::Error(words), None);
        let events = exchange::events(stream).map_err(failed)?;
        let mut text: Option<String> = None;
        let mut values = Vec::new();
        for event in events.data {
            let value: Value = serde_json::from_str(&event).map_err(|_| {
                let beginning: String = event.chars().take(SHOWN).collect();
                self.unreadable(&format!("an event is not JSON: {beginning}"))
            })?;
            if let Some(words) = exchange::error_in(&value) {
                return Err(failed(words));
            }
            let piece = self.answer.as_ref().and_then(|path| exchange::at(path, &value));
            if let Some(piece) = piece {
                text.get_or_insert_default().push_str(&exchange::answer_text(&piece));
            }
            values.push(value);
        }
        if values.is_empty() {
            return Err(self.unreadable(&format!("it is not an event stream: {shown}")));
        }
        if !events.is_done && exchange::breaks_off(&values) {
            return Err(self.unreadable("the stream ends before `finish_reason` and `[DONE]`"));
        }
        Ok(AgentReply { text, values, shown })
    }

    /// The failure of a reply with another status than that of a success.
    fn refused(&self, reply: &WebReply, body: Option<&Value>) -> RefusedReply {
        let status = reply.status;
        if let (300..400, Some(location)) = (status, &reply.location) {
            let location = self.talk.launch.without_secrets(location);
            let message = format!(
                "the target answered {status} and points to {location}: redirects are not followed, set `url` to that address"
            );
            return Failure::new(FailureKind::NotFound, message).into();
        }
        let openai = provider::PROVIDERS[0];
        let said = errors::complaint(status, body, openai);
        let kind = said.as_ref().map_or(FailureKind::Server, |said| said.kind);
        let words = errors::words(reply.text.as_bytes(), body, str::to_owned);
        let failure = Failure::new(kind, format!("the target answered {status}: {words}"));
        RefusedReply { failure, said }
    }

    fn unreadable(&self, why: &str) -> Failure {
        self.talk.no_answer(NoAnswer::Unreadable(why.to_owned()), None)
    }

    fn missing(&self, name: &str, path: Option<&String>, shown: &str) -> Failure {
        let path = path.map_or("", String::as_str);
        self.unreadable(&format!("nothing at `{name}` ({path}): {shown}"))
    }

    /// The last value at a path in any of these.
    fn last_at(path: Option<&JsonPath>, values: &[Value]) -> Option<Value> {
        values.iter().rev().find_map(|value| exchange::at(path?, value))
    }

    /// The answer of a conversation that is one request.
    fn whole(&self, reply: AgentReply) -> Result<TargetAnswer, Failure> {
        let AgentReply { text, mut values, shown } = reply;
        if self.answer.is_none() && self.messages.is_none() {
            let value = values.pop().unwrap_or_default();
            return TargetAnswer::given(value).map_err(|why| self.talk.no_answer(why, None));
        }
        let mut row = Map::new();
        if self.answer.is_some() {
            let text =
                text.ok_or_else(|| self.missing("answer", self.http.answer.as_ref(), &shown))?;
            row.insert("output".to_owned(), Value::from(text));
        }
        self.put_messages(&values, &shown, &mut row)?;
        let usage = values.iter().rev().find_map(|value| usage_in(value.as_object()?));
        self.checked(row, usage)
    }

    /// Puts the messages of the server's reply into the row, if the suite sets their path.
    fn put_messages(
        &self,
        values: &[Value],
        shown: &str,
        row: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        if self.messages.is_some() {
            let messages = Self::last_at(self.messages.as_ref(), values);
            let missing = || self.missing("messages", self.http.messages.as_ref(), shown);
            row.insert("messages".to_owned(), messages.ok_or_else(missing)?);
        }
        Ok(())
    }

    fn checked(
        &self,
        row: Map<String, Value>,
        usage: Option<Usage>,
    ) -> Result<TargetAnswer, Failure> {
        let given = TargetAnswer::given(Value::Object(row));
        let answer = given.map_err(|why| self.talk.no_answer(why, None))?;
        Ok(TargetAnswer { usage, ..answer })
    }

    /// Holds a session, turn by turn.
    async fn hold(&self) -> Result<TargetAnswer, Failure> {
        let talk = &self.talk;
        let mut turns = UserTurns::new(talk)?;
        let mut session = HttpSession::default();
        let held = self.turns(&mut turns, &mut session).await;
        let usage = usage_of_both(talk, session.usage, turns.usage());
        held.map_err(|failure| Failure { usage, ..failure })?;
        let mut row = Map::new();
        row.insert("output".to_owned(), Value::from(session.last));
        row.insert("messages".to_owned(), Value::Array(session.messages));
        self.put_messages(&session.values, &session.shown, &mut row)?;
        turns.end(&mut row);
        self.checked(row, usage)
    }

    async fn turns(
        &self,
        turns: &mut UserTurns<'_>,
        session: &mut HttpSession,
    ) -> Result<(), Failure> {
        let talk = &self.talk;
        while let Some(turn) = turns.next(talk, &session.last).await? {
            if !session.messages.is_empty() && session.name.is_empty() {
                return Err(self.missing("session", self.http.session.as_ref(), &session.shown));
            }
            let values = RequestValues::of_turn(&talk.launch.action, &turn, &session.name);
            let reply = self.ask(&values).await?;
            let text = match reply.text {
                Some(text) => text,
                None if self.answer.is_some() => {
                    return Err(self.missing("answer", self.http.answer.as_ref(), &reply.shown));
                }
                None => self.output_of(reply.values.last())?,
            };
            if let Some(name) = Self::last_at(self.session.as_ref(), &reply.values) {
                session.name = exchange::answer_text(&name);
            }
            let used = reply.values.iter().rev().find_map(|value| usage_in(value.as_object()?));
            session.usage = session.usage + used.unwrap_or_default();
            session.messages.push(json!({"role": "user", "content": turn}));
            session.messages.push(json!({"role": "assistant", "content": text}));
            session.last = text;
            session.values = reply.values;
            session.shown = reply.shown;
        }
        Ok(())
    }

    /// What a reply says in the form of a recorded row.
    fn output_of(&self, value: Option<&Value>) -> Result<String, Failure> {
        let given = TargetAnswer::given(value.cloned().unwrap_or_default());
        let answer = given.map_err(|why| self.talk.no_answer(why, None))?;
        let output = answer.row.get("output").map(exchange::answer_text);
        output.ok_or_else(|| {
            self.unreadable("it has no `output`: set `answer` to the path of the answer")
        })
    }
}

#[derive(Default)]
struct HttpSession {
    name: String,
    messages: Vec<Value>,
    /// What was answered last.
    last: String,
    values: Vec<Value>,
    shown: String,
    usage: Usage,
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> String {
    let parsed = reqwest::Url::parse(url).ok();
    parsed.map_or_else(String::new, |url| url.origin().ascii_serialization())
}
