//! The result of an action, and how it is kept.
//!
//! A failure is an outcome too. Only failures that would come again are kept; the rest are shown in the
//! run they happened in and asked again by the next.

pub mod usage;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

pub use usage::{ServiceTier, Usage, sum_of_known};

use super::key::{ActionKey, Ingredient, KEY_VERSION, KeyVersion, key_of};
use evalrs_base::price::{Cost, Prices};

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The judge gave a valid reply; the program, a valid result.
    Reply(Reply),
    /// It did not.
    Failure(Failure),
}

/// A judge's reply, or a program's result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// The text of the message, as it came.
    pub text: String,
    /// The model that says it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What every request that led to it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How it was come by; none where it is the first reply to what its key says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<JudgeExchange>>,
}

impl Reply {
    /// A reply of which nothing else is known.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), model: None, usage: None, exchange: None }
    }
}

/// What was sent and replied before the last reply, beyond what the key says. It decides nothing: it is kept to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JudgeExchange {
    /// The `response_format` that the endpoint took, where it refused the strictest of its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// What requests said of the provider's cache: `none` is to be cached, or the `prefix` of the prompt that others share,
    /// for an `hour` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<String>,
    /// The service tier that requests named, where they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The most tokens of the last reply, where one before was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The settings that the model refused, and that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// The replies before the last, which were no verdicts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedReply>,
}

/// A reply that was not a verdict, and was retried.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RejectedReply {
    /// Its text, as it came.
    pub text: String,
    /// Its fault, as the judge got it.
    pub fault: String,
}

impl JudgeExchange {
    /// It, if there is anything to keep.
    pub fn kept(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }

    /// Whether what was written to the provider's cache is kept for an hour.
    fn is_cached_for_hour(&self) -> bool {
        self.caching.as_deref() == Some("hour")
    }
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The class of the failure.
    pub kind: FailureKind,
    /// What happened, in one sentence without secrets.
    pub message: String,
    /// The text the judge sent instead of a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// What every request that led to it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The end of what a program wrote to its standard error, or where in it an exception was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// As far as a target came: its answer up to then. It is never kept.
    #[serde(skip)]
    pub partial: Option<String>,
    /// How it was come by; none where it is the first reply to what its key says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<JudgeExchange>>,
}

/// How the message begins of a judgment that is stored for another endpoint.
pub const STORED_ELSEWHERE: &str = "its judgment is stored for the endpoint";

impl Failure {
    /// What happened, with the beginning of the reply that was not a verdict.
    pub fn told(&self) -> String {
        match self.reply.as_deref().filter(|reply| !reply.trim().is_empty()) {
            Some(reply) => format!("{}; it replied {}", self.message, quoted(reply, QUOTED)),
            None => self.message.clone(),
        }
    }

    /// A failure of which nothing else is known.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            reply: None,
            usage: None,
            stderr: None,
            partial: None,
            exchange: None,
        }
    }
}

/// The characters of a reply that are quoted after a message.
const QUOTED: usize = 80;

/// The first `most` characters of a reply on one line, in quotes.
pub fn quoted(reply: &str, most: usize) -> String {
    let words = reply.split_whitespace().take(most).collect::<Vec<_>>().join(" ");
    let shown: String = words.chars().take(most).collect();
    let rest = if shown.len() < words.len() { "…" } else { "" };
    format!("\"{shown}{rest}\"")
}

/// The ways an action can end without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// No answer in time.
    Timeout,
    /// No connection, or it broke.
    Connection,
    /// Too many requests (429), still after every retry.
    RateLimited,
    /// The key is missing or wrong (401, 403, 407).
    Unauthorized,
    /// The account has nothing left to pay with (402, or an error that says so): waiting does not help, paying does.
    NoCredit,
    /// The path or the model is not there (404, 405, 410, 451): that is mended outside of the suite, so it is not kept.
    NotFound,
    /// The server failed (5xx), or with a status that passes (408, 409, 421, 423, 424, 425, 499).
    Server,
    /// No verdict before the deadline of the judgment, retries and waits included.
    Deadline,
    /// The server refused the request itself (400, 413, 422 and their like).
    BadRequest,
    /// The reply is not a verdict, also after retries.
    InvalidReply,
    /// The model refused.
    Refused,
    /// A content filter stopped the reply.
    Filtered,
    /// The reply ended at its token limit.
    Truncated,
    /// The reply was empty.
    EmptyReply,
    /// A program raised an exception.
    Exception,
    /// A program ended with another exit code than 0.
    Exit,
    /// A program was ended by a signal, or its worker died; or it failed under a limit of memory or processor time, which
    /// no key holds.
    Killed,
    /// A program cannot be started or loaded: that is mended outside of the suite, so it is not kept.
    Unloadable,
    /// A program printed more than it may.
    OutputLimit,
    /// A target ended with an error, or its answer is invalid: the next run runs it again.
    TargetFailed,
    /// A command that judges ended with an error.
    JudgeFailed,
    /// There was an answer, and the store could not be written: the next run repeats the call.
    NotKept,
    /// It is not stored, and `--frozen` or `--offline` forbids asking.
    NotStored,
    /// The run ended before it was called.
    NotAsked,
}

impl FailureKind {
    /// What it means for the action, for the endpoint and for the budget: the one place that decides it.
    pub fn policy(self) -> FailurePolicy {
        /// A transient failure, independent of the called server.
        const PASSING: FailurePolicy =
            FailurePolicy { stored: false, retried: false, trips: Trips::Nothing, billed: true };
        /// What would come again.
        const PERMANENT: FailurePolicy = FailurePolicy { stored: true, ..PASSING };
        match self {
            Self::Timeout | Self::Connection | Self::JudgeFailed => {
                FailurePolicy { retried: true, trips: Trips::Endpoint, ..PASSING }
            }
            Self::RateLimited | Self::Server => {
                FailurePolicy { retried: true, trips: Trips::Endpoint, billed: false, ..PASSING }
            }
            Self::Unauthorized | Self::NoCredit | Self::NotFound => {
                FailurePolicy { trips: Trips::Endpoint, billed: false, ..PASSING }
            }
            Self::Deadline | Self::TargetFailed => {
                FailurePolicy { trips: Trips::Endpoint, ..PASSING }
            }
            Self::BadRequest => {
                FailurePolicy { trips: Trips::Endpoint, billed: false, ..PERMANENT }
            }
            Self::InvalidReply | Self::EmptyReply | Self::Truncated => {
                FailurePolicy { trips: Trips::Model, ..PERMANENT }
            }
            Self::Refused | Self::Filtered | Self::Exception | Self::Exit | Self::OutputLimit => {
                PERMANENT
            }
            Self::Killed | Self::Unloadable | Self::NotKept => PASSING,
            Self::NotStored | Self::NotAsked => FailurePolicy { billed: false, ..PASSING },
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a kind of failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailurePolicy {
    /// Asking again would give the same: it is kept and replayed.
    pub stored: bool,
    /// Another attempt may succeed, unless the server says otherwise.
    pub retried: bool,
    /// What is disabled after enough of them in a row.
    pub trips: Trips,
    /// The request was probably paid for.
    pub billed: bool,
}

/// What the circuit breaker counts a failure against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    /// Neither: the failure is that of the sample, or no call was made.
    Nothing,
    /// The endpoint: a wrong key or address fails every sample alike.
    Endpoint,
    /// The model: it was paid for a reply that is not a verdict, and others of the endpoint may do better.
    Model,
}

impl Outcome {
    /// How it was come by, where anything is kept of that.
    pub fn exchange(&self) -> Option<&JudgeExchange> {
        match self {
            Self::Reply(reply) => reply.exchange.as_deref(),
            Self::Failure(failure) => failure.exchange.as_deref(),
        }
    }

    /// What it used; nothing where that is not known.
    pub fn usage(&self) -> Usage {
        let usage = match self {
            Self::Reply(reply) => reply.usage,
            Self::Failure(failure) => failure.usage,
        };
        usage.unwrap_or_default()
    }

    /// The cost of its tokens by `prices`: that of `asked`, the model in the request, else of the model in the reply.
    /// None where neither is known, or no tokens are.
    pub fn list_cost(&self, prices: &Prices, asked: Option<&str>) -> Option<Cost> {
        let (usage, answered) = match self {
            Self::Reply(reply) => (reply.usage?, reply.model.as_deref()),
            Self::Failure(failure) => (failure.usage?, None),
        };
        usage.list_cost(prices, asked, answered)
    }

    /// The same outcome with what was paid for it, if a price is known. A cost that the server told stands.
    #[must_use]
    pub fn priced(mut self, prices: &Prices, asked: Option<&str>) -> Self {
        let is_for_hour = self.exchange().is_some_and(JudgeExchange::is_cached_for_hour);
        let (usage, answered) = match &mut self {
            Self::Reply(reply) => (&mut reply.usage, reply.model.as_deref()),
            Self::Failure(failure) => (&mut failure.usage, None),
        };
        let mut models = asked.into_iter().chain(answered);
        let price = models.find_map(|model| prices.billing(model));
        let price = price.map(|price| if is_for_hour { price.for_hour() } else { price });
        if let Some((usage, price)) = usage.as_mut().zip(price) {
            usage.cost = usage.cost.or_else(|| Some(usage.billed_at(price)));
        }
        self
    }

    /// The same outcome, if `check` can read its reply; else the failure that it is. What is kept may have been edited by
    /// hand, and other versions may have read it otherwise.
    #[must_use]
    pub fn checked(self, check: impl FnOnce(&str) -> Result<(), String>) -> Self {
        let Self::Reply(reply) = self else { return self };
        match check(&reply.text) {
            Ok(()) => Self::Reply(reply),
            Err(message) => {
                let failure = Failure::new(FailureKind::InvalidReply, message);
                let Reply { text, usage, exchange, .. } = reply;
                Self::Failure(Failure { reply: Some(text), usage, exchange, ..failure })
            }
        }
    }

    /// Whether it is kept on disk.
    pub fn is_kept(&self) -> bool {
        match self {
            Self::Reply(_) => true,
            Self::Failure(failure) => failure.kind.policy().stored,
        }
    }
}

/// What the store keeps of an outcome: the body of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredOutcome {
    /// Its result.
    pub outcome: Outcome,
    /// What its key was made of.
    #[serde(default)]
    pub ingredients: Vec<Ingredient>,
    /// When it was made, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// The version of evalrs that called or imported.
    #[serde(default)]
    pub by: String,
    /// The version of the key that it was kept under.
    #[serde(default)]
    pub key_version: u32,
    /// Where the judgment comes from.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub origin: JudgmentOrigin,
}

/// Where a judgment comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgmentOrigin {
    /// The judge was called.
    #[default]
    Asked,
    /// It was made elsewhere and imported: the name of the file.
    Imported(String),
}

impl StoredOutcome {
    /// The stored form of `outcome`, made at `at`, whose key has the `ingredients`.
    pub fn new(ingredients: Vec<Ingredient>, outcome: Outcome, at: String) -> Self {
        let by = concat!("evalrs ", env!("CARGO_PKG_VERSION")).to_owned();
        Self {
            outcome,
            ingredients,
            at,
            by,
            key_version: KEY_VERSION,
            origin: JudgmentOrigin::Asked,
        }
    }

    /// The key that the kept ingredients come to; none where it was made in another way than keys are now.
    pub fn key(&self) -> Option<ActionKey> {
        key_of(&self.ingredients, KeyVersion::numbered(self.key_version)?)
    }

    /// The body of a store entry.
    pub fn to_body(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The kind of the actions that make a live target act, among the ingredients of their keys.
pub const TARGET: &str = "target";

/// Whether the body of a store entry, or its outline, is that of what a live target did.
pub fn is_of_target(body: &str) -> bool {
    #[derive(Default, Deserialize)]
    struct OnlyIngredients {
        #[serde(default)]
        ingredients: Vec<Ingredient>,
    }
    let body: OnlyIngredients = serde_json::from_str(body).unwrap_or_default();
    let kind = body.ingredients.iter().find(|ingredient| ingredient.name == "kind");
    kind.is_some_and(|kind| kind.preview.as_deref() == Some(TARGET))
}

/// The outcome inside the body of a store entry, without what is kept beside it.
pub fn read_body(body: &str) -> Result<Outcome, serde_json::Error> {
    #[derive(Deserialize)]
    struct OnlyOutcome {
        outcome: Outcome,
    }
    // The ingredients behind it are ten times as long.
    if let Some(rest) = body.strip_prefix(r#"{"outcome":"#) {
        let mut reader = serde_json::Deserializer::from_str(rest);
        if let Ok(outcome) = Outcome::deserialize(&mut reader) {
            return Ok(outcome);
        }
    }
    serde_json::from_str::<OnlyOutcome>(body).map(|stored| stored.outcome)
}

/// The result of one grader's actions in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionTally {
    /// Actions of the grader, each key once.
    pub total: u64,
    /// Found in the store.
    pub cached: u64,
    /// Executed.
    pub asked: u64,
    /// Executed without a reply.
    pub failed: u64,
    /// Neither found nor executed.
    pub pending: u64,
    /// What was used in this run.
    pub spent: Usage,
    /// What that would have cost at list price, where it is known: without caches, batches and cheaper tiers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_cost: Option<Cost>,
    /// The usage of the cached ones when they were made.
    pub saved: Usage,
}

impl ActionTally {
    /// That of a run that repeats this one: what was executed is in the store.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self {
            cached: self.cached + self.asked,
            asked: 0,
            saved: self.saved + self.spent,
            spent: Usage::default(),
            list_cost: None,
            ..self
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            cached: self.cached + other.cached,
            asked: self.asked + other.asked,
            failed: self.failed + other.failed,
            pending: self.pending + other.pending,
            spent: self.spent + other.spent,
            list_cost: sum_of_known(self.list_cost, other.list_cost),
            saved: self.saved + other.saved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Cost, FailureKind, FailurePolicy, Outcome, Prices, Reply, Trips, Usage, is_of_target,
    };
    use evalrs_base::price::Price;

    fn dollars(dollars: f64) -> Option<Cost> {
        Cost::from_dollars(dollars)
    }

    #[test]
    fn what_tokens_cost_is_another_thing_than_what_was_paid() {
        let price = |input| Price::new(input, 0.0);
        let prices = Prices::new(vec![
            ("asked".to_owned(), price(1.0)),
            ("answered".to_owned(), price(2.0)),
        ]);
        let reply = |usage: Option<Usage>| {
            let model = Some("answered".to_owned());
            Outcome::Reply(Reply { model, usage, ..Reply::new("") })
        };
        let tokens = Usage::of_tokens(1_000_000, 7);
        let paid = |usage: Usage, asked| reply(Some(usage)).priced(&prices, asked).usage().cost;
        let listed = |usage: Usage, asked| reply(Some(usage)).list_cost(&prices, asked);
        let cases = [
            (tokens, Some("asked"), dollars(1.0), dollars(1.0)),
            (tokens, Some("other"), dollars(2.0), dollars(2.0)),
            (tokens, None, dollars(2.0), dollars(2.0)),
            (tokens.told(dollars(0.25)), Some("asked"), dollars(1.0), dollars(0.25)),
            (Usage { cost: dollars(9.0), ..tokens }, Some("asked"), dollars(1.0), dollars(9.0)),
        ];
        for (usage, asked, of_list, of_bill) in cases {
            let found = [listed(usage, asked), paid(usage, asked)];
            assert_eq!(found, [of_list, of_bill], "{usage:?} {asked:?}");
        }
        assert_eq!(reply(None).list_cost(&prices, Some("asked")), None, "no tokens are known");
        let unknown = Prices::new(Vec::new());
        let told = reply(Some(tokens.told(dollars(0.25))));
        assert_eq!(told.list_cost(&unknown, Some("m")), None, "no price is known");
        assert_eq!(told.priced(&unknown, Some("m")).usage().cost, dollars(0.25));
    }

    #[test]
    fn a_target_is_told_by_its_ingredients() {
        let of = |ingredients: &str| is_of_target(&format!(r#"{{"ingredients":{ingredients}}}"#));
        assert!(of(r#"[{"name":"kind","preview":"target"}]"#));
        assert!(of(r#"[{"name":"model","preview":null},{"name":"kind","preview":"target"}]"#));
        assert!(!of(r#"[{"name":"kind","preview":"judge"},{"name":"model","preview":"target"}]"#));
        assert!(!of("[]") && !is_of_target("{}") && !is_of_target("kind target"));
    }

    #[test]
    fn each_kind_of_failure_has_its_policy() {
        use FailureKind::{
            BadRequest, Connection, Deadline, EmptyReply, Exception, Exit, Filtered, InvalidReply,
            Killed, NoCredit, NotAsked, NotFound, NotKept, NotStored, OutputLimit, RateLimited,
            Refused, Server, TargetFailed, Timeout, Truncated, Unauthorized, Unloadable,
        };
        // Stored, retried, billed, and what it trips.
        let table = [
            (Timeout, "- r b endpoint"),
            (Connection, "- r b endpoint"),
            (RateLimited, "- r - endpoint"),
            (Unauthorized, "- - - endpoint"),
            (NoCredit, "- - - endpoint"),
            (NotFound, "- - - endpoint"),
            (Server, "- r - endpoint"),
            (Deadline, "- - b endpoint"),
            (BadRequest, "s - - endpoint"),
            (InvalidReply, "s - b model"),
            (Refused, "s - b nothing"),
            (Filtered, "s - b nothing"),
            (Truncated, "s - b model"),
            (EmptyReply, "s - b model"),
            (Exception, "s - b nothing"),
            (Exit, "s - b nothing"),
            (Killed, "- - b nothing"),
            (Unloadable, "- - b nothing"),
            (OutputLimit, "s - b nothing"),
            (TargetFailed, "- - b endpoint"),
            (NotKept, "- - b nothing"),
            (NotStored, "- - - nothing"),
            (NotAsked, "- - - nothing"),
        ];
        for (kind, expected) in table {
            let FailurePolicy { stored, retried, trips, billed } = kind.policy();
            let letter = |is: bool, letter: &'static str| if is { letter } else { "-" };
            let trips = match trips {
                Trips::Nothing => "nothing",
                Trips::Endpoint => "endpoint",
                Trips::Model => "model",
            };
            let words = [letter(stored, "s"), letter(retried, "r"), letter(billed, "b"), trips];
            assert_eq!(words.join(" "), expected, "{kind:?}");
        }
    }
}
