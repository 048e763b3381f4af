//! How a judge is reached: its key and its headers, from the suite and the environment; and why it cannot be called.
//!
//! Secrets are read here, where a request is about to be made, and nowhere before.

use std::collections::BTreeMap;
use std::ops::Range;

use super::settings::{ActionKind, Settings};
use super::settled::CannotAsk;
use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_base::text::count;
use evalrs_eval::evaluate::Purpose;
use evalrs_eval::judge::{Judge, JudgeEndpoint, provider};
use evalrs_exec::{Endpoint, LimitSettings, RequestHeader, Secret};
use evalrs_graph::inputs::CellId;
use evalrs_graph::{answers, queries};
use evalrs_model::spec::{AgentKind, GraderKind, HeaderSpec, HeaderValue, JudgeSpec};

/// The headers in which APIs take keys; Azure's is the second.
const KEY_HEADERS: [&str; 4] = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgeAccess<'a> {
    pub spec: &'a JudgeSpec,
    pub base_url: &'a str,
    pub environment: &'a BTreeMap<String, String>,
}

impl JudgeAccess<'_> {
    /// Where requests go, and in whose name: who shares that shares its limits.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint {
            provider: self.spec.provider.clone(),
            base_url: self.base_url.to_owned(),
            api_key: self.api_key(),
        }
    }

    /// The limits of the grader, as far as they are below those of the session.
    pub(crate) fn limits(&self, settings: &Settings) -> LimitSettings {
        let of_grader = LimitSettings {
            requests_per_minute: self.spec.patience.max_requests_per_minute,
            tokens_per_minute: self.spec.patience.max_tokens_per_minute,
            ..settings.of_endpoints()
        };
        of_grader.and(settings.of_endpoints())
    }

    /// The key of the API, if there is one. Where a header takes its place, only a key that the suite asks for.
    pub(crate) fn api_key(&self) -> Option<Secret> {
        if self.spec.api_key_env.is_none() && self.has_key_header() {
            return None;
        }
        let mut names = key_variables(self.spec).into_iter();
        names.find_map(|name| variable(name, self.environment))
    }

    /// The further headers: those of the environment, then those of the suite, which win.
    pub(crate) fn headers(&self) -> Vec<RequestHeader> {
        let mut headers = Vec::new();
        let lines = provider::info(&self.spec.provider)
            .and_then(|info| self.environment.get(info.headers_variable))
            .map_or("", String::as_str);
        for (name, value) in lines.lines().filter_map(|line| line.split_once(':')) {
            put(&mut headers, name, Secret::new(value.trim().to_owned()), true);
        }
        put_all(headers, &self.spec.headers, self.environment)
    }

    /// Whether no call can be made because the key is missing. Servers of one's own often take none; the makers' own
    /// always do.
    pub(crate) fn needs_key(&self) -> bool {
        let is_first_party = provider::info(&self.spec.provider)
            .is_some_and(|info| info.needs_key && self.base_url.starts_with(info.base_url));
        is_first_party && self.api_key().is_none() && !self.has_key_header()
    }

    fn has_key_header(&self) -> bool {
        self.headers().iter().any(|header| {
            KEY_HEADERS.iter().any(|key_header| header.name.eq_ignore_ascii_case(key_header))
        })
    }
}

fn variable(name: &str, environment: &BTreeMap<String, String>) -> Option<Secret> {
    let value = environment.get(name)?.trim();
    (!value.is_empty()).then(|| Secret::new(value.to_owned()))
}

/// Adds the headers that a suite names.
pub(crate) fn put_all(
    mut headers: Vec<RequestHeader>,
    specs: &[HeaderSpec],
    environment: &BTreeMap<String, String>,
) -> Vec<RequestHeader> {
    for HeaderSpec { name, value } in specs {
        match value {
            HeaderValue::Text(text) => put(&mut headers, name, Secret::new(text.clone()), false),
            HeaderValue::Variable(named) => {
                if let Some(value) = variable(named, environment) {
                    put(&mut headers, name, value, true);
                }
            }
        }
    }
    headers
}

/// No call starts while a key is missing that it needs, or that a confirming judge may need.
pub(crate) fn check_credentials(
    session: &Session,
    settings: &Settings,
    queue: &[WaitingAction],
) -> Result<(), CannotAsk> {
    check_target(session, settings, queue)?;
    if !settings.ask.may_ask(ActionKind::Judgment) {
        return Ok(());
    }
    let mut keyless: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let may_execute =
        |waiting: &&WaitingAction| settings.may_execute(waiting.key, ActionKind::Judgment);
    for waiting in queue.iter().filter(may_execute) {
        let Some((judge, at)) = judge_of(session, waiting) else { continue };
        for at in judges_to_ask(judge, at) {
            let Some(access) = access(session, judge, at) else { continue };
            // A limit on money is worth nothing where a price is not known.
            let model = &access.spec.model;
            if settings.limits.max_cost.is_some() && settings.prices.of(model).is_none() {
                return Err(CannotAsk::NoPrice { model: model.clone() });
            }
            if access.needs_key() {
                *keyless.entry((waiting.cell.grader, at)).or_default() += 1;
            }
        }
    }
    let Some(((grader, at), missing)) = keyless.into_iter().next() else { return Ok(()) };
    let db = &session.db;
    let Some(grader) = session.grader(grader) else { return Ok(()) };
    let GraderKind::Rubric(rubric) = grader.kind(db) else { return Ok(()) };
    let who_asks = format!("`{}` has {} to make", grader.name(db), count(missing, "judgment"));
    Err(no_key(&rubric.judges[at], who_asks))
}

fn no_key(spec: &JudgeSpec, who_asks: String) -> CannotAsk {
    CannotAsk::NoKey {
        variable: key_variables(spec).join("` or `"),
        meant: provider::of_model(&spec.model).filter(|meant| *meant != spec.provider),
        model: spec.model.clone(),
        who_asks,
    }
}

/// No conversation begins while a key is missing that one of them needs: that of a chat's model, or of who answers for
/// its user.
fn check_target(
    session: &Session,
    settings: &Settings,
    queue: &[WaitingAction],
) -> Result<(), CannotAsk> {
    let db = &session.db;
    if !settings.ask.may_ask(ActionKind::Conversation) || !answers::is_live(db, session.root) {
        return Ok(());
    }
    let Ok(Some(identity)) = answers::target(db, session.root) else { return Ok(()) };
    let environment = session.root.environment(db);
    let check = |spec: &JudgeSpec, endpoint: &JudgeEndpoint, who_asks: String| {
        if settings.limits.max_cost.is_some() && settings.prices.of(&spec.model).is_none() {
            return Err(CannotAsk::NoPrice { model: spec.model.clone() });
        }
        let access = JudgeAccess { spec, base_url: &endpoint.base_url, environment };
        if access.needs_key() { Err(no_key(spec, who_asks)) } else { Ok(()) }
    };
    let is_called = |waiting: &&WaitingAction| {
        waiting.purpose == Purpose::Answer
            && settings.may_execute(waiting.key, ActionKind::Conversation)
    };
    let waiting: Vec<&WaitingAction> = queue.iter().filter(is_called).collect();
    if let AgentKind::Chat(chat) = &identity.spec.kind {
        let runs = &identity.spec.models;
        for (at, endpoint) in identity.models.iter().enumerate() {
            let spec = chat.model_of(runs.get(at));
            let of_run = waiting.iter().filter(|waiting| {
                let CellId { chunk, case, .. } = waiting.cell;
                let who = queries::checked(db, chunk).whos.get(case);
                let model = who.and_then(|who| who.identity.model.as_deref());
                runs.is_empty() || model == Some(spec.model.as_str())
            });
            let missing = of_run.count();
            if missing > 0 {
                check(
                    &spec,
                    endpoint,
                    format!("the target has {} to run", count(missing, "conversation")),
                )?;
            }
        }
    }
    let user = identity.spec.user.as_ref().zip(identity.user.as_ref());
    match user.filter(|_| !waiting.is_empty()) {
        Some((user, endpoint)) => {
            let who_asks =
                format!("the user of {} is simulated", count(waiting.len(), "conversation"));
            check(&user.model, endpoint, who_asks)
        }
        None => Ok(()),
    }
}

/// The judges of the panel that may be called after the one at `at`: any of them may confirm.
fn judges_to_ask(judge: &Judge, at: usize) -> Range<usize> {
    if judge.confirming_ballots() > 0 { 0..judge.seats.len() } else { at..at + 1 }
}

/// The judges that `waiting` is for, and the one to call; none if it is for a program.
pub(crate) fn judge_of<'s>(
    session: &'s Session,
    waiting: &WaitingAction,
) -> Option<(&'s Judge, usize)> {
    if waiting.purpose != Purpose::Grade {
        return None;
    }
    let grader = session.grader(waiting.cell.grader)?;
    let judge = queries::ready(&session.db, grader).judge()?;
    Some((judge, judge.ballot(waiting.ballot.ballot).judge))
}

pub(crate) fn kind_of(session: &Session, waiting: &WaitingAction) -> ActionKind {
    match judge_of(session, waiting) {
        _ if waiting.purpose == Purpose::Answer => ActionKind::Conversation,
        Some(_) => ActionKind::Judgment,
        None => ActionKind::Program,
    }
}

/// Whether executing `waiting`, where that is allowed, calls programs of the suite.
pub(crate) fn calls_program(
    session: &Session,
    settings: &Settings,
    waiting: &WaitingAction,
) -> bool {
    let is_called = judge_of(session, waiting).is_none_or(|(judge, at)| {
        judges_to_ask(judge, at).any(|at| judge.rubric.judges[at].program.is_some())
    });
    is_called && settings.may_execute(waiting.key, kind_of(session, waiting))
}

pub(crate) fn access<'s>(
    session: &'s Session,
    judge: &'s Judge,
    at: usize,
) -> Option<JudgeAccess<'s>> {
    Some(JudgeAccess {
        spec: judge.rubric.judges.get(at)?,
        base_url: &judge.seats.get(at)?.base_url,
        environment: session.root.environment(&session.db),
    })
}

pub(crate) fn key_variables(spec: &JudgeSpec) -> Vec<&str> {
    match &spec.api_key_env {
        Some(name) => vec![name],
        None => provider::info(&spec.provider).map_or(Vec::new(), |it| it.key_variables.to_vec()),
    }
}

/// Names of headers know no case.
fn put(headers: &mut Vec<RequestHeader>, name: &str, value: Secret, is_secret: bool) {
    let name = name.trim();
    headers.retain(|held| !held.name.eq_ignore_ascii_case(name));
    headers.push(RequestHeader { name: name.to_owned(), value, is_secret });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::JudgeAccess;
    use evalrs_model::spec::{HeaderSpec, HeaderValue, JudgeSpec};

    type Change = fn(&mut JudgeSpec);

    /// The key, the headers and whether a key is missing.
    fn reached(base_url: &str, change: Change, environment: &[(&str, &str)]) -> String {
        let mut spec = JudgeSpec { provider: "anthropic".to_owned(), ..JudgeSpec::default() };
        change(&mut spec);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment: BTreeMap<String, String> = environment.iter().map(owned).collect();
        let access = JudgeAccess { spec: &spec, base_url, environment: &environment };
        let key = access.api_key().map_or_else(|| "-".to_owned(), |key| key.reveal().to_owned());
        let headers = access.headers();
        let headers: Vec<String> = headers
            .iter()
            .map(|header| format!("{}={}", header.name, header.value.reveal()))
            .collect();
        format!("{key} [{}] {}", headers.join(" "), access.needs_key())
    }

    #[test]
    fn keys_and_headers_come_from_the_suite_and_the_environment() {
        const MAKER: &str = "https://api.anthropic.com";
        const OWN: &str = "http://localhost:4000";
        let plain: Change = |_| ();
        let header: Change = |spec| {
            let text = |name: &str, text: &str| HeaderSpec {
                name: name.to_owned(),
                value: HeaderValue::Text(text.to_owned()),
            };
            let value = HeaderValue::Variable("TOKEN".to_owned());
            let token = HeaderSpec { name: "Authorization".to_owned(), value };
            spec.headers = vec![text("X-Team", "a"), token];
        };
        let google: Change = |spec| spec.provider = "google".to_owned();
        for (base_url, change, environment, expected) in [
            (MAKER, plain, &[("ANTHROPIC_API_KEY", " k \n")][..], "k [] false"),
            (MAKER, plain, &[("ANTHROPIC_API_KEY", " ")], "- [] true"),
            ("https://api.anthropic.com/v1", plain, &[("OPENAI_API_KEY", "k")], "- [] true"),
            (OWN, plain, &[], "- [] false"),
            (
                OWN,
                |spec| spec.api_key_env = Some("MINE".to_owned()),
                &[("MINE", "m")],
                "m [] false",
            ),
            (
                OWN,
                plain,
                &[("ANTHROPIC_CUSTOM_HEADERS", "x-a: 1: 2\nno header\nX-A: 3\n x-b :4")],
                "- [X-A=3 x-b=4] false",
            ),
            (
                MAKER,
                header,
                &[
                    ("TOKEN", "t"),
                    ("ANTHROPIC_API_KEY", "k"),
                    ("ANTHROPIC_CUSTOM_HEADERS", "x-team: b"),
                ],
                "- [X-Team=a Authorization=t] false",
            ),
            (MAKER, header, &[("ANTHROPIC_API_KEY", "k")], "k [X-Team=a] false"),
            (OWN, google, &[("GOOGLE_API_KEY", "g")], "g [] false"),
            (OWN, google, &[("GOOGLE_API_KEY", "g"), ("GEMINI_API_KEY", "e")], "e [] false"),
        ] {
            assert_eq!(reached(base_url, change, environment), expected, "{environment:?}");
        }
    }
}
