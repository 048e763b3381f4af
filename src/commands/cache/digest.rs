//! Stored outcomes and the last run, added up for `cache stats`. Pure: bodies come as text, the time as a number.
//!
//! Bodies are read leniently: what another version wrote is counted as far as it can be understood.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::amounts::{DAY, seconds};

/// Within how many days, and what it is called.
const AGES: [(i64, &str, &str); 3] =
    [(1, "last day", "day"), (7, "last week", "week"), (30, "last 30 days", "month")];

/// Judgments by what they have in common.
#[derive(Debug, Default)]
pub(super) struct StoreDigest {
    now: i64,
    pub models: BTreeMap<String, ModelTotals>,
    replies: u64,
    failures: BTreeMap<String, u64>,
    /// Bodies that are not an outcome of this version.
    not_understood: u64,
    pub kinds: BTreeMap<String, KindTotals>,
    origins: BTreeMap<String, u64>,
    /// Judgments within each of [`AGES`].
    ages: [u64; 3],
    /// The first and the last moment in Unix time, as they are written.
    span: Option<[(i64, String); 2]>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct ModelTotals {
    pub judgments: u64,
    /// Tokens sent.
    #[serde(rename = "input_tokens")]
    pub input: u64,
    /// Tokens received.
    #[serde(rename = "output_tokens")]
    pub output: u64,
    /// US dollars, as far as they were recorded.
    pub cost: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct KindTotals {
    pub outcomes: u64,
    /// How many of them are kept as blobs.
    pub large: u64,
    /// The bytes of the bodies of these.
    pub(super) large_bytes: u64,
}

/// What is read of a body.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredBody {
    outcome: Sides,
    origin: Value,
    at: String,
    ingredients: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sides {
    reply: Option<StoredSide>,
    failure: Option<StoredSide>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredSide {
    model: Option<String>,
    kind: Option<String>,
    usage: Option<StoredUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredUsage {
    input: u64,
    output: u64,
    cost: Option<f64>,
}

impl StoreDigest {
    /// Nothing yet, `now` in seconds of Unix time.
    pub(super) fn at(now: i64) -> Self {
        Self { now, ..Self::default() }
    }

    /// Adds the body of an entry, or its outline and the bytes of the body. Costs are added in this order: let it be that of
    /// the keys.
    pub(super) fn add(&mut self, body: &str, large_bytes: Option<u64>) {
        let body: StoredBody = serde_json::from_str(body).unwrap_or_default();
        let kind = ingredient(&body.ingredients, "kind").unwrap_or_else(|| "unknown".to_owned());
        let kind = self.kinds.entry(kind).or_default();
        kind.outcomes += 1;
        kind.large += u64::from(large_bytes.is_some());
        kind.large_bytes += large_bytes.unwrap_or_default();
        let count = match (&body.outcome.reply, &body.outcome.failure) {
            (Some(_), _) => &mut self.replies,
            (None, Some(failure)) => {
                let kind = failure.kind.as_deref().unwrap_or("unknown").to_owned();
                self.failures.entry(kind).or_default()
            }
            (None, None) => &mut self.not_understood,
        };
        *count += 1;
        let side = body.outcome.reply.or(body.outcome.failure).unwrap_or_default();
        *self.origins.entry(origin(&body.origin)).or_default() += 1;
        let model = side.model.or_else(|| ingredient(&body.ingredients, "model"));
        let model = self.models.entry(model.unwrap_or_else(|| "unknown".to_owned())).or_default();
        model.judgments += 1;
        if let Some(usage) = &side.usage {
            model.input = model.input.saturating_add(usage.input);
            model.output = model.output.saturating_add(usage.output);
            let cost = usage.cost.filter(|cost| cost.is_finite());
            model.cost = cost.map(|cost| model.cost.unwrap_or(0.0) + cost).or(model.cost);
        }
        if let Some(at) = seconds(&body.at) {
            self.add_age(at, body.at);
        }
    }

    fn add_age(&mut self, at: i64, written: String) {
        for ((days, ..), count) in AGES.iter().zip(&mut self.ages) {
            *count += u64::from(at >= self.now.saturating_sub(days * DAY));
        }
        let this = (at, written);
        self.span = Some(match self.span.take() {
            None => [this.clone(), this],
            Some([oldest, newest]) => [oldest.min(this.clone()), newest.max(this)],
        });
    }

    /// Replies, and failures by kind.
    pub(super) fn outcomes(&self) -> Vec<(String, u64)> {
        let mut counts = vec![("reply".to_owned(), self.replies)];
        counts.extend(rows(&self.failures));
        counts.push(("not understood".to_owned(), self.not_understood));
        counts.retain(|(_, count)| *count > 0);
        counts
    }

    /// Where judgments came from.
    pub(super) fn origins(&self) -> Vec<(String, u64)> {
        rows(&self.origins)
    }

    /// How many were made lately; nothing where no judgment has a time.
    pub(super) fn ages(&self) -> Vec<(String, u64)> {
        let ages =
            AGES.iter().zip(self.ages).map(|((_, name, _), count)| ((*name).to_owned(), count));
        if self.span.is_some() { ages.collect() } else { Vec::new() }
    }

    /// When the oldest and the newest were made, as they are written.
    pub(super) fn span(&self) -> Option<(&str, &str)> {
        self.span.as_ref().map(|[oldest, newest]| (oldest.1.as_str(), newest.1.as_str()))
    }

    pub(super) fn to_json(&self) -> Value {
        let mut age = json!({
            "oldest": self.span().map(|(oldest, _)| oldest),
            "newest": self.span().map(|(_, newest)| newest),
        });
        for ((.., name), count) in AGES.iter().zip(self.ages) {
            age[*name] = json!(count);
        }
        json!({
            "kinds": self.kinds,
            "models": self.models,
            "outcomes": {
                "replies": self.replies, "failures": self.failures, "not_understood": self.not_understood,
            },
            "origins": self.origins,
            "age": age,
        })
    }
}

fn rows(counts: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    counts.iter().map(|(name, count)| (name.clone(), *count)).collect()
}

/// The name of an origin: without another one, evalrs made the call.
fn origin(origin: &Value) -> String {
    let name = match origin {
        Value::String(name) => Some(name),
        Value::Object(object) => object.keys().next(),
        _ => None,
    };
    name.cloned().unwrap_or_else(|| "asked".to_owned())
}

/// The value of an ingredient of the key, such as the model that was called: a failure has none.
fn ingredient(ingredients: &[Value], name: &str) -> Option<String> {
    let found = ingredients.iter().find(|ingredient| ingredient["name"] == name)?;
    found["preview"].as_str().map(str::to_owned)
}

/// What the last run found in the store.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LastRun {
    pub suite: String,
    id: String,
    /// Grader → what it found, in the order of the suite.
    pub graders: Vec<(String, Hits)>,
}

/// How many actions were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// Found in the store.
    pub cached: u64,
    pub total: u64,
}

impl Hits {
    /// The share that was found, in 0..=1, unless there was nothing to find.
    pub(super) fn rate(self) -> Option<f64> {
        (self.total > 0).then(|| self.cached as f64 / self.total as f64)
    }

    fn to_json(self) -> Value {
        json!({"cached": self.cached, "total": self.total, "rate": self.rate()})
    }
}

impl LastRun {
    /// Reads a `run.json`; graders without actions are left out.
    pub(super) fn read(text: &str) -> Option<Self> {
        let run: Value = serde_json::from_str(text).ok()?;
        let named = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
        let actions = run["actions"].as_object()?.iter();
        let hits = actions.map(|(name, tally)| {
            let number = |name: &str| tally[name].as_u64().unwrap_or_default();
            (name.clone(), Hits { cached: number("cached"), total: number("total") })
        });
        let graders = hits.filter(|(_, hits)| hits.total > 0).collect();
        Some(Self { suite: named("suite"), id: named("id"), graders })
    }

    /// All graders together.
    pub(super) fn together(&self) -> Hits {
        self.graders.iter().fold(Hits::default(), |all, (_, hits)| Hits {
            cached: all.cached.saturating_add(hits.cached),
            total: all.total.saturating_add(hits.total),
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let graders: serde_json::Map<String, Value> =
            self.graders.iter().map(|(name, hits)| (name.clone(), hits.to_json())).collect();
        json!({
            "id": self.id, "suite": self.suite, "graders": graders, "together": self.together().to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DAY, Hits, KindTotals, LastRun, ModelTotals, StoreDigest, seconds};

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn digest(bodies: &[serde_json::Value]) -> StoreDigest {
        let mut digest = StoreDigest::at(seconds(NOW).unwrap());
        for body in bodies {
            digest.add(&body.to_string(), None);
        }
        digest
    }

    #[test]
    fn models_add_up_tokens_and_what_is_known_of_costs() {
        let reply = |model: Option<&str>, usage: serde_json::Value| json!({"outcome": {"reply": {"text": "{}", "model": model, "usage": usage}}});
        let ingredients =
            json!([{"name": "kind", "preview": "judge"}, {"name": "model", "preview": "b"}]);
        let failure =
            json!({"kind": "refused", "message": "no", "usage": {"input": 3, "output": 1}});
        let digest = digest(&[
            reply(Some("a"), json!({"input": 10, "output": 2, "cost": 0.25})),
            reply(Some("a"), json!({"input": 5, "output": 1})),
            reply(Some("a"), json!({"input": 1, "output": 1, "cost": 0.5})),
            reply(None, json!(null)),
            json!({"outcome": {"failure": failure}, "ingredients": ingredients}),
        ]);
        let model = |judgments, input, output, cost| ModelTotals { judgments, input, output, cost };
        let expected = [
            ("a", model(3, 16, 4, Some(0.75))),
            ("b", model(1, 3, 1, None)),
            ("unknown", model(1, 0, 0, None)),
        ];
        let found: Vec<_> =
            digest.models.iter().map(|(name, model)| (name.as_str(), model)).collect();
        assert_eq!(found, expected.each_ref().map(|(name, model)| (*name, model)));
    }

    #[test]
    fn outcomes_and_origins_are_counted_by_kind() {
        let failure = |kind| json!({"outcome": {"failure": {"kind": kind, "message": ""}}, "origin": "asked"});
        let digest = digest(&[
            json!({"outcome": {"reply": {"text": ""}}, "origin": {"imported": {"from": "x.csv"}}}),
            json!({"outcome": {"reply": {"text": ""}}}),
            failure("refused"),
            failure("filtered"),
            failure("refused"),
            json!({"outcome": {"vision": 1}}),
            json!({"outcome": {"reply": {"usage": "many"}}}),
        ]);
        let named = |name: &str, count| (name.to_owned(), count);
        let outcomes = [
            named("reply", 2),
            named("filtered", 1),
            named("refused", 2),
            named("not understood", 2),
        ];
        assert_eq!(digest.outcomes(), outcomes);
        assert_eq!(digest.origins(), [named("asked", 6), named("imported", 1)]);
        assert_eq!((digest.ages(), digest.span()), (vec![], None));
    }

    #[test]
    fn kinds_tell_how_much_of_them_is_large() {
        let body =
            |kind: &str| json!({"ingredients": [{"name": "kind", "preview": kind}]}).to_string();
        let mut digest = digest(&[json!({})]);
        digest.add(&body("judge"), None);
        digest.add(&body("target"), Some(200_000));
        digest.add(&body("target"), Some(100_000));
        digest.add(&body("target"), None);
        let kind = |outcomes, large, large_bytes| KindTotals { outcomes, large, large_bytes };
        let expected =
            [("judge", kind(1, 0, 0)), ("target", kind(3, 2, 300_000)), ("unknown", kind(1, 0, 0))];
        assert_eq!(digest.kinds, expected.map(|(name, kind)| (name.to_owned(), kind)).into());
    }

    #[test]
    fn ages_are_those_of_the_moment() {
        let at = |at: &str| json!({"outcome": {}, "at": at});
        let digest = digest(&[
            at("2026-03-01T11:00:00Z"),
            at("2026-02-28T12:00:00Z"),
            at("2026-02-28T11:59:59Z"),
            at("2026-01-31T00:00:00Z"),
            at("2025-01-01T00:00:00Z"),
            at("2026-03-02T00:00:00+02:00"),
            at("unknown"),
        ]);
        let counts: Vec<u64> = digest.ages().iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [3, 4, 5]);
        assert_eq!(digest.span(), Some(("2025-01-01T00:00:00Z", "2026-03-02T00:00:00+02:00")));
        assert_eq!(seconds(NOW).unwrap() - DAY, seconds("2026-02-28T12:00:00Z").unwrap());
    }

    #[test]
    fn the_hit_rate_is_that_of_each_grader_and_of_all() {
        let run = json!({"id": "r", "suite": "s", "actions": {
            "a": {"total": 4, "cached": 3}, "tool": {"total": 0, "cached": 0}, "b": {"total": 4, "cached": 0},
        }});
        let run = LastRun::read(&run.to_string()).unwrap();
        let rates: Vec<_> =
            run.graders.iter().map(|(name, hits)| (name.as_str(), hits.rate())).collect();
        assert_eq!(rates, [("a", Some(0.75)), ("b", Some(0.0))]);
        assert_eq!(run.together(), Hits { cached: 3, total: 8 });
        assert_eq!(Hits::default().rate(), None);
        for text in ["", "{}", "[]", r#"{"actions": 3}"#] {
            assert_eq!(LastRun::read(text), None, "{text}");
        }
    }
}
