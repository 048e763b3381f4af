//! Judges: the question of a rubric grader and how its reply becomes a grade.
//!
//! Pure. `template` renders a rubric, in which `fence` sets the texts of others apart; this file makes it an action,
//! `provider` writes it in the words of an API and reads what came, `reply` finds the verdict in that (`json` reads what is
//! not quite JSON). The HTTP is in `exec`. A judge's key holds what the judge reads and the vote; not the sample's id, nor
//! the trial.

pub mod action;
pub mod batch;
pub mod command;
mod fence;
pub mod json;
pub mod provider;
pub mod question;
pub mod reply;
mod reply_object;
pub mod request_url;
pub mod sent;
mod reply_limit;
mod superseded;
pub mod template;
#[cfg(test)]
pub(crate) mod test_data;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use action::{JudgeAction, JudgeAgent, JudgeProgram};

use super::dataset::row::OpenedRow;
use super::program::ProgramIdentity;
use batch::{BatchedAnswers, BatchedQuestions};
use evalrs_model::key::{self, ActionKey, Ingredient, Ingredients, KeyTemplate};
use evalrs_model::spec::{
    HeaderSpec, HeaderValue, JudgeSpec, ReplyFormat, ReplyLimit, RubricSpec, Scale,
};
use question::{Order, Question};
pub use request_url::{percent_decoded, secret_parameters, without_secrets};
use template::{JudgeMessage, MessageKind, Placeholders};

/// A rubric grader as a run uses it: the suite's rubric and the endpoint of each judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Judge {
    /// The suite's setting.
    pub rubric: RubricSpec,
    /// The endpoint of each judge of the rubric, in their order.
    pub seats: Vec<JudgeEndpoint>,
    question: Question,
    batched: Option<BatchedAnswers>,
}

/// One judge of a rubric grader, and its endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeEndpoint {
    /// Where requests go.
    pub base_url: String,
    /// What all of its actions have in common; its messages are empty.
    blank: JudgeAction,
    /// How many tokens more a reply may have for each further question.
    further: u32,
    /// The schema of replies to its own question.
    schema: String,
    /// What all of their keys have in common.
    keys: KeyTemplate,
}

/// What the key of an action says first of that of a judge.
pub const KIND: &str = "judge";
/// The ingredients that the keys of a judge differ in.
const OPEN: [&str; 3] = ["system", "user", "vote"];
/// The same, and those that its own question decides where a request has no other.
const OPEN_IN_KEYS: [&str; 5] = ["system", "user", "max_tokens", "response_schema", "vote"];

/// Which of the judgments of one submission is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// The ordinal of the judge in its grader.
    pub judge: usize,
    /// Which of the judge's votes it is, from 0.
    pub vote: u32,
    /// The order in which two submissions are shown.
    pub order: Order,
}

/// What the ingredients of a model are called in a key that may have two.
pub(crate) type ModelNames = [&'static str; 9];

/// The base URL that the environment names for a provider.
pub type BaseUrls<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Judge {
    /// The judges of `rubric`, each at the suite's base URL, else the environment's, else its provider's own.
    pub fn new(rubric: RubricSpec, environment: BaseUrls<'_>) -> Self {
        Self::with_programs(rubric, environment, &[])
    }

    /// The same, where the commands among the judges are what was `read` of them.
    pub fn with_programs(
        rubric: RubricSpec,
        environment: BaseUrls<'_>,
        read: &[Arc<ProgramIdentity>],
    ) -> Self {
        let question = if let Some(spec) = &rubric.embedding {
            Question::Embed { dimensions: spec.dimensions }
        } else if rubric.compare_to.is_some() {
            Question::Compare
        } else if let Some(criterion) = &rubric.criterion {
            Question::from(&criterion.question)
        } else {
            Question::Score(rubric.scale.unwrap_or(Scale::UNIT))
        };
        let seats = rubric.judges.iter().map(|spec| {
            let program = spec.program.as_ref().map(|program| JudgeProgram::new(program, read));
            JudgeEndpoint::new(spec, question.clone(), program, environment)
        });
        Self { seats: seats.collect(), question, batched: BatchedAnswers::of(&rubric), rubric }
    }

    /// The question for the judges.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The verdict in a reply that quotes nothing, also where it holds those on other criteria.
    pub fn read(&self, reply: &str) -> Result<reply::Verdict, String> {
        match &self.batched {
            Some(batched) => reply::read_one(reply, &batched.all, &batched.own),
            None => reply::read(reply, &self.question),
        }
    }

    /// What a request about `row` asks, where it has several criteria.
    pub(crate) fn batched_questions(&self, row: &OpenedRow<'_>) -> Option<BatchedQuestions> {
        let batch = self.rubric.criterion.as_ref()?.batch.as_ref()?;
        Some(BatchedQuestions::of(batch, &self.batched.as_ref()?.all, row))
    }

    /// What requests about one sample have in common if they begin alike: of all judges, votes and rubrics for which it is the
    /// same. None of a ballot that no other begins like.
    pub fn shared_prefix(&self, at: u32) -> Option<String> {
        let Ballot { judge, order, .. } = self.ballot(at);
        let seat = self.seats.get(judge)?;
        let is_alone = matches!(self.question, Question::Embed { .. })
            || seat.blank.agent.is_some()
            || seat.blank.program.is_some();
        let compares = self.rubric.compare_to.is_some();
        let rubric = match template::shares_prefix(&self.rubric.prompt, compares) {
            true => "",
            false if self.rubric.votes > 1 => self.rubric.prompt.as_str(),
            false => return None,
        };
        let RubricSpec { fence, unfenced, .. } = &self.rubric;
        let JudgeAction { provider, model, extra_body, headers, .. } = &seat.blank;
        let said = (provider, &seat.base_url, model, extra_body, headers, &seat.schema, order);
        // Requests with other questions have another schema, which providers read before the prompt.
        let several = self.batched.as_ref().map(|batched| &batched.all);
        let shown = (template::task(&self.question), fence, unfenced, rubric, several);
        (!is_alone).then(|| format!("{said:?} {shown:?}"))
    }

    /// How many judgments every submission gets, confirmations not counted.
    pub fn first_ballots(&self) -> u32 {
        self.rubric.votes * self.of_one_vote()
    }

    /// How many further judgments confirm a submission that failed.
    pub fn confirming_ballots(&self) -> u32 {
        self.rubric.confirm_fails * self.of_one_vote()
    }

    fn of_one_vote(&self) -> u32 {
        self.seats.len() as u32 * self.question.orders()
    }

    /// The model that casts the ballot with the ordinal `at`.
    pub fn model_of(&self, at: u32) -> Option<&str> {
        let judge = self.rubric.judges.get(self.ballot(at).judge)?;
        Some(&judge.model)
    }

    /// The ballot with the ordinal `at`: judge by judge, vote by vote, order by order; then in the same way those that
    /// confirm.
    pub fn ballot(&self, at: u32) -> Ballot {
        let (at, votes, first) = match at.checked_sub(self.first_ballots()) {
            None => (at, self.rubric.votes, 0),
            Some(at) => (at, self.rubric.confirm_fails, self.rubric.votes),
        };
        let orders = self.question.orders();
        let cast = at / orders;
        let order = if at.is_multiple_of(orders) { Order::Forward } else { Order::Reversed };
        let votes = votes.max(1);
        Ballot { judge: (cast / votes) as usize, vote: first + cast % votes, order }
    }

    /// The question of the ballot `at` with the values of `placeholders`; `template` is the
    /// rubric's text. `several` are the questions, where a request has more than that of this grader.
    pub fn asked<'a>(
        &'a self,
        template: &str,
        several: Option<&'a Question>,
        placeholders: &Placeholders<'_>,
        at: u32,
    ) -> Option<AskedBallot<'a>> {
        self.asked_by(at, several, |kind| template::message(template, placeholders, kind))
    }

    /// The question of the ballot `at` in the words of key version 2.
    pub(crate) fn asked_before(
        &self,
        template: &str,
        placeholders: &Placeholders<'_>,
        at: u32,
    ) -> Option<AskedBallot<'_>> {
        let asked =
            self.asked_by(at, None, |kind| superseded::message(template, placeholders, kind))?;
        // Then there was no usual limit.
        let limit =
            reply_limit::limit_without_usual(self.rubric.judges.get(self.ballot(at).judge)?);
        Some(AskedBallot { limit, ..asked })
    }

    fn asked_by<'a>(
        &'a self,
        at: u32,
        several: Option<&'a Question>,
        message: impl FnOnce(MessageKind<'_>) -> JudgeMessage,
    ) -> Option<AskedBallot<'a>> {
        let Ballot { judge, vote, order } = self.ballot(at);
        let seat = self.seats.get(judge)?;
        let tool = seat.blank.agent.as_ref().map(|agent| agent.tool.as_str());
        let question = several.unwrap_or(&self.question);
        let kind = MessageKind { question, order, tool, fences: &self.rubric };
        let mut message = message(kind);
        // All votes of a model are called by the same message.
        if message.shared == 0 && self.rubric.votes > 1 && tool.is_none() {
            message.shared = message.user.len();
        }
        Some(AskedBallot { seat, several, limit: seat.limit(several), message, vote })
    }

    /// The request that embeds a text.
    pub(crate) fn embedded(&self, text: &str) -> Option<AskedBallot<'_>> {
        let message = JudgeMessage { user: text.to_owned(), ..JudgeMessage::default() };
        let seat = self.seats.first()?;
        Some(AskedBallot { seat, several: None, limit: None, message, vote: 0 })
    }
}

/// The question for a judge in one ballot.
#[derive(Debug)]
pub struct AskedBallot<'a> {
    seat: &'a JudgeEndpoint,
    /// The questions, if they are several.
    several: Option<&'a Question>,
    /// The most tokens of a reply.
    limit: Option<u32>,
    message: JudgeMessage,
    vote: u32,
}

impl AskedBallot<'_> {
    /// The action that calls it.
    pub fn action(self) -> JudgeAction {
        let Self { seat, several, limit: max_tokens, message, vote } = self;
        let JudgeMessage { system, user, quotable, shared } = message;
        let blank = seat.blank.clone();
        let question = several.cloned().unwrap_or(blank.question);
        JudgeAction { system, user, quotable, shared, max_tokens, question, vote, ..blank }
    }

    /// The key of that action, without making it.
    pub fn key(&self) -> ActionKey {
        self.seat.keys.key(&|name, to| match name {
            "system" => to.text(name, &self.message.system),
            "user" => to.text(name, &self.message.user),
            "max_tokens" => to.number_or_absent(name, self.limit.map(f64::from)),
            "response_schema" => match self.several {
                Some(question) => to.text(name, &question.schema().to_string()),
                None => to.text(name, &self.seat.schema),
            },
            _ => to.number(name, f64::from(self.vote)),
        })
    }
}

impl JudgeEndpoint {
    /// The ingredients that all keys of this judge have in common: everything but its messages and the vote.
    pub fn settings(&self) -> Vec<Ingredient> {
        let mut shared = key::explained(|to| self.blank.walk(to));
        shared.retain(|part| !OPEN.contains(&part.name.as_str()));
        shared
    }

    /// The endpoint of a model that does not judge: that of a target, or one that simulates its user.
    pub fn of_model(spec: &JudgeSpec, environment: BaseUrls<'_>) -> Self {
        // What a target says may be long.
        let max_tokens = match spec.max_tokens {
            ReplyLimit::Usual => ReplyLimit::Unlimited,
            said => said,
        };
        let spec = JudgeSpec { max_tokens, ..spec.clone() };
        Self::new(&spec, Question::Score(Scale::UNIT), None, environment)
    }

    /// The settings of such a model. What a judge is told is none of them.
    pub fn model_settings(&self) -> &JudgeAction {
        &self.blank
    }

    /// Visits what of such a model is in keys, each ingredient once, in a fixed order.
    pub(crate) fn walk_model(&self, names: &ModelNames, to: &mut dyn Ingredients) {
        let model = &self.blank;
        let [provider, endpoint, name, temperature, seed, max_tokens, top_p, extra_body, headers] =
            names;
        to.text(provider, &model.provider);
        to.text(endpoint, &model.endpoint);
        to.text(name, &model.model);
        to.number_or_absent(temperature, model.temperature);
        to.text_or_absent(seed, model.seed.map(|seed| seed.to_string()).as_deref());
        to.number_or_absent(max_tokens, model.max_tokens.map(f64::from));
        to.number_or_absent(top_p, model.top_p);
        to.text(extra_body, &model.extra_body);
        to.text(headers, &model.headers);
    }

    fn new(
        spec: &JudgeSpec,
        question: Question,
        program: Option<JudgeProgram>,
        environment: BaseUrls<'_>,
    ) -> Self {
        let provider = provider::info(&spec.provider);
        // A command has no address: what is alike in its words is one judge, with limits of its own.
        let command = spec.program.as_ref().map(|_| spec.model.clone());
        let said = spec.base_url.clone().or(command).or_else(|| environment(&spec.provider));
        let own = || provider.map(|provider| provider.base_url.to_owned());
        let base_url = said.or_else(own).unwrap_or_default().trim_end_matches('/').to_owned();
        let namespace = provider.map_or("", |provider| provider.model_namespace);
        let blank = JudgeAction {
            provider: spec.provider.clone(),
            endpoint: spec.endpoint.clone().unwrap_or_else(|| {
                let version = provider.map_or("", |provider| provider.version);
                without_version(&without_secrets(&base_url), version)
            }),
            // One request has one key, so a model has one name.
            model: spec.model.strip_prefix(namespace).unwrap_or(&spec.model).to_owned(),
            system: String::new(),
            user: String::new(),
            quotable: Vec::new(),
            shared: 0,
            temperature: provider::effective_temperature(spec),
            seed: spec.seed,
            max_tokens: reply_limit::effective_limit(spec, &question),
            top_p: spec.top_p,
            extra_body: sorted_text(&spec.extra_body),
            headers: open_headers(&spec.headers),
            response_format: match &question {
                Question::Embed { .. } => ReplyFormat::Text,
                Question::Score(_)
                | Question::Compare
                | Question::Decide { .. }
                | Question::Several(_) => spec.response_format,
            },
            question,
            vote: 0,
            agent: spec.agent.as_ref().map(|agent| Box::new(JudgeAgent::new(agent))),
            program: program.map(Box::new),
        };
        // What keys have in common of actions that differ in messages and vote alone.
        let keys = KeyTemplate::new(&OPEN_IN_KEYS, |to| {
            to.text("kind", KIND);
            blank.walk(to);
        });
        let schema = blank.question.schema().to_string();
        let further = reply_limit::further_limit(spec, &blank.question);
        Self { base_url, blank, further, schema, keys }
    }

    /// The most tokens of a reply, to more than one question if there are `several`.
    fn limit(&self, several: Option<&Question>) -> Option<u32> {
        let further = match several {
            Some(Question::Several(all)) => all.len().saturating_sub(1) as u32,
            _ => 0,
        };
        self.blank.max_tokens.map(|most| most.saturating_add(self.further.saturating_mul(further)))
    }

    /// Whether both ask the same of the same judge: then their judgments have the same keys.
    pub fn is_same_judge(&self, other: &Self) -> bool {
        self.settings() == other.settings()
    }
}

/// A base URL without the version that the paths of requests begin with anyway.
fn without_version(url: &str, version: &str) -> String {
    let (base, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let base = base.trim_end_matches('/');
    match base.strip_suffix(version).filter(|_| !version.is_empty()) {
        Some(bare) => format!("{}{query}", bare.trim_end_matches('/')),
        None => url.to_owned(),
    }
}

/// The headers that are not secret, as one text.
pub(crate) fn open_headers(headers: &[HeaderSpec]) -> String {
    let mut open: Vec<String> = headers
        .iter()
        .filter_map(|header| match &header.value {
            HeaderValue::Text(text) => {
                Some(format!("{}: {text}", header.name.to_ascii_lowercase()))
            }
            HeaderValue::Variable(_) => None,
        })
        .collect();
    open.sort();
    open.join("\n")
}

/// The members of an object as compact JSON with sorted keys: the order in a suite file has no meaning.
fn sorted_text(map: &Map<String, Value>) -> String {
    if map.is_empty() {
        return String::new();
    }
    let mut sorted = Value::Object(map.clone());
    sorted.sort_all_objects();
    sorted.to_string()
}

#[cfg(test)]
mod tests {
    use super::Judge;
    use evalrs_model::spec::{JudgeSpec, RubricSpec};

    #[test]
    fn one_request_has_one_key() {
        let seat = |provider: &str, url: &str, model: &str| {
            let spec = JudgeSpec {
                provider: provider.to_owned(),
                base_url: Some(url.to_owned()),
                model: model.to_owned(),
                ..JudgeSpec::default()
            };
            Judge::new(RubricSpec::new("x", spec), &|_| None).seats.remove(0)
        };
        for (provider, common, others) in [
            ("anthropic", "https://a", &["https://a/", "https://a/v1", "https://a/v1/"][..]),
            ("anthropic", "https://a?beta=true", &["https://a/v1?beta=true"]),
            ("google", "https://a", &["https://a/v1beta"]),
            ("openai", "https://a/v1", &["https://a/v1/"]),
        ] {
            let of = |url: &str| seat(provider, url, "m").blank;
            assert_eq!(of(common).endpoint, common.trim_end_matches('/'));
            for other in others {
                assert_eq!(of(other), of(common), "{other}");
            }
        }
        for (provider, url, other) in [
            ("openai", "https://a/v1", "https://a"),
            ("google", "https://a/v1", "https://a"),
            ("anthropic", "https://a/v2", "https://a"),
        ] {
            assert_ne!(seat(provider, url, "m").blank, seat(provider, other, "m").blank, "{url}");
        }
        let google = |model| seat("google", "https://a", model).blank;
        assert_eq!(google("models/gem"), google("gem"));
        assert_eq!(google("gem").model, "gem");
        assert_ne!(google("tunedModels/gem"), google("gem"));
        let openai = |model| seat("openai", "https://a", model).blank;
        assert_ne!(openai("models/gem"), openai("gem"));
    }
}
