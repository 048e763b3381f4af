//! What requests say of the provider's cache, and what is paid, at a judge that caches and bills as providers do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, GivenReplies, Judge, Order};
use crate::space::Space;

const SAMPLES: usize = 5;
const CRITERIA: usize = 8;
/// The fewest tokens that the judge caches.
const LEAST: usize = 1_024;

/// How a provider caches, and bills it.
#[derive(Clone, Copy)]
struct Provider {
    name: &'static str,
    model: &'static str,
    write: f64,
    read: f64,
}

impl Provider {
    /// Whether it caches by itself, and bills no writes.
    fn is_automatic(self) -> bool {
        ["gpt-4.1", "gpt-4o", "llama-3.1"].contains(&self.model)
    }
}

const OPENAI: Provider = Provider { name: "openai", model: "gpt-5.6", write: 1.25, read: 0.1 };
const ANTHROPIC: Provider =
    Provider { name: "anthropic", model: "claude-sonnet-5", write: 1.25, read: 0.1 };
/// The same where the suite wants it for an hour.
const HOUR: Provider = Provider { write: 2.0, ..ANTHROPIC };
const AUTOMATIC: Provider = Provider { name: "openai", model: "gpt-4.1", write: 1.0, read: 0.25 };
const HALF: Provider = Provider { name: "openai", model: "gpt-4o", write: 1.0, read: 0.5 };

/// What is cached. It can be read when the reply to the request that wrote it has ended, until nobody reads it for too long.
struct CachedPrompt {
    writer: usize,
    used: f64,
    minutes: f64,
}

/// What the judge has cached, and what it bills, in tokens at the price of input.
#[derive(Default)]
struct Bill {
    cached: BTreeMap<String, CachedPrompt>,
    /// How long it takes from one request to the next.
    minutes: f64,
    /// How long it has been at it.
    now: f64,
    given: Arc<OnceLock<GivenReplies>>,
    writes: usize,
    written: usize,
    read: usize,
    plain: usize,
}

impl Bill {
    fn of_input(&self, provider: Provider) -> f64 {
        let Self { written, read, plain, .. } = self;
        *plain as f64 + *written as f64 * provider.write + *read as f64 * provider.read
    }

    /// The tokens of a request that are read from the cache, and those that are written to it.
    fn cache(&mut self, number: usize, provider: Provider, asked: &Asked) -> [usize; 2] {
        self.now += self.minutes;
        let whole = whole(asked);
        if provider.is_automatic() {
            let common = |known: &str| {
                known.bytes().zip(whole.bytes()).take_while(|(one, other)| one == other).count()
            };
            let readable = self.cached.iter().filter(|(_, it)| self.may_read(it));
            let longest = readable.map(|(known, _)| common(known)).max().unwrap_or(0) / 4;
            self.cached
                .insert(whole, CachedPrompt { writer: number, used: self.now, minutes: 5.0 });
            return [if longest < LEAST { 0 } else { longest }, 0];
        }
        let end = marked_end(provider, asked).filter(|end| end / 4 >= LEAST);
        let Some(end) = end else { return [0, 0] };
        let tokens = end / 4;
        let known = self.cached.get(&whole[..end]);
        let is_read = known.is_some_and(|known| self.may_read(known));
        let writer = known.filter(|_| is_read).map_or(number, |known| known.writer);
        let minutes = if asked.raw.contains(r#""ttl":"1h""#) { 60.0 } else { 5.0 };
        let used = CachedPrompt { writer, used: self.now, minutes };
        self.cached.insert(whole[..end].to_owned(), used);
        self.writes += usize::from(!is_read);
        if is_read { [tokens, 0] } else { [0, tokens] }
    }

    fn may_read(&self, cached: &CachedPrompt) -> bool {
        let is_there = self.given.get().is_none_or(|given| given.has(cached.writer));
        is_there && self.now - cached.used <= cached.minutes
    }
}

/// Everything that is read by the model.
fn whole(asked: &Asked) -> String {
    let system = asked.body["system"].as_str();
    let system = system.or_else(|| asked.body["messages"][0]["content"].as_str());
    // Providers read the schema of a reply before the prompt, so it is a part of what is cached.
    let schema = [&asked.body["response_format"], &asked.body["output_config"]];
    let [of_openai, of_anthropic] = schema.map(Value::to_string);
    format!("{of_openai}{of_anthropic}{}\n{}", system.unwrap_or_default(), asked.sent())
}

/// Where in the prompt that ends which the provider is to cache.
fn marked_end(provider: Provider, asked: &Asked) -> Option<usize> {
    let whole = whole(asked).len();
    let messages = asked.body["messages"].as_array()?;
    let first = messages.iter().find(|message| message["role"] == "user")?["content"].get(0);
    let marked = |mark: &str| {
        let text = first.filter(|part| part.get(mark).is_some())?["text"].as_str()?;
        Some(whole - asked.sent().len() + text.len())
    };
    match provider.name {
        "anthropic" => marked("cache_control"),
        _ if asked.body["prompt_cache_options"] == json!({"mode": "explicit"}) => {
            marked("prompt_cache_breakpoint")
        }
        // Nobody has said what to cache, so all of it is.
        _ => Some(whole),
    }
}

/// `yes` to each question.
fn verdicts(asked: &Asked) -> String {
    let verdict = json!({"reason": "so", "verdict": "yes"});
    let members = &asked.body["response_format"]["json_schema"]["schema"]["properties"];
    let names = members.as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let several = names.filter(|name| name.starts_with('q')).map(|name| (name, verdict.clone()));
    let several: serde_json::Map<String, Value> = several.collect();
    if several.is_empty() { verdict.to_string() } else { Value::Object(several).to_string() }
}

/// A judge that replies `yes` or 1 and bills what it reads.
fn billing(provider: Provider) -> (Judge, Arc<Mutex<Bill>>) {
    let bill = Arc::new(Mutex::new(Bill::default()));
    let shared = Arc::clone(&bill);
    let judge = Judge::new(move |number, asked| {
        let mut bill = shared.lock().unwrap();
        let [read, written] = bill.cache(number, provider, asked);
        let all = whole(asked).len() / 4;
        bill.read += read;
        bill.written += written;
        bill.plain += all - read - written;
        let is_verdict = asked.sent().contains("\"verdict\"");
        let score = || json!({"rationale": "so", "score": 1}).to_string();
        let text = if is_verdict { verdicts(asked) } else { score() };
        let body = match provider.name {
            "anthropic" => json!({
                "type": "message", "model": provider.model, "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}],
                "usage": {
                    "input_tokens": all - read - written, "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written, "output_tokens": 0,
                },
            }),
            _ => json!({
                "model": provider.model,
                "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": all, "completion_tokens": 0,
                    "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
                },
            }),
        };
        Answer::Http(200, Vec::new(), body.to_string())
    });
    let _ = bill.lock().unwrap().given.set(judge.given_replies());
    (judge, bill)
}

/// A suite over long answers; `graders` are those of a judge with these settings.
fn space(provider: Provider, judge: &Judge, length: usize, graders: &str) -> Space {
    let Provider { name, model, .. } = provider;
    let url = if name == "anthropic" { judge.root() } else { judge.url() };
    let settings = format!(
        "kind: rubric\n    provider: {name}\n    model: {model}\n    base_url: {url}\n    endpoint: test\n    api_key_env: KEY"
    );
    let graders = graders.replace("SETTINGS", &settings);
    let suite = format!("name: s\ndataset: d.jsonl\nmax_concurrent: 40\ngraders:\n{graders}");
    let mut rows = String::new();
    for at in 0..SAMPLES {
        let output = format!("{at} is long. ").repeat(length * 4 / 11);
        let row = json!({"id": format!("s{at}"), "input": "Why?", "output": output});
        writeln!(rows, "{row}").unwrap();
    }
    // A dollar a token makes the bill one of tokens.
    let prices = format!("[prices.\"{model}\"]\ninput = 1.0\noutput = 1.0\n");
    Space::new(&[("suite.yaml", &suite), ("d.jsonl", &rows), ("evalrs.toml", &prices)])
}

fn run(space: &Space) {
    let ran = space.command(&["run", "suite.yaml"]).env("KEY", "k").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Eight questions of about 60 tokens.
fn questions() -> Vec<String> {
    let words = "Look at every sentence of the answer before you decide on it. ".repeat(3);
    (0..CRITERIA)
        .map(|at| format!("{words}Is it good in the way of number {at}, or not?"))
        .collect()
}

/// A grader with each question as a criterion.
fn criteria(caching: &str) -> String {
    let questions = questions();
    let named = questions.iter().enumerate().map(|(at, one)| format!("      c{at}: {one}\n"));
    let named: String = named.collect();
    format!("  quality:\n    SETTINGS\n    prompt_caching: {caching}\n    criteria:\n{named}")
}

/// A grader with one rubric of all questions.
fn plain() -> String {
    let all = questions().join(" ");
    format!("  plain:\n    SETTINGS\n    prompt_caching: on\n    prompt: \"{all}\"\n")
}

fn spent(space: &Space) -> Value {
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    facts["spent"].clone()
}

#[test]
fn eight_criteria_cost_less_than_twice_one_rubric_where_a_beginning_is_cached() {
    for (provider, caching, most) in [
        (OPENAI, "on", 1.9),
        (ANTHROPIC, "on", 1.9),
        (HOUR, "hour", 2.6),
        (AUTOMATIC, "on", 2.7),
        (HALF, "on", 4.3),
    ] {
        let (judge, bill) = billing(provider);
        let one = space(provider, &judge, 6_000, &plain());
        run(&one);
        let plain = std::mem::take(&mut *bill.lock().unwrap());
        assert_eq!((plain.read, plain.written), (0, 0), "{}", provider.model);
        let many = space(provider, &judge, 6_000, &criteria(caching));
        // The first requests of all samples are in flight before the first of them is answered.
        let total = SAMPLES + SAMPLES * CRITERIA;
        let random = fastrand::Rng::with_seed(7);
        let judge = judge.in_order(Order::Shuffled { at_once: SAMPLES, total, random });
        run(&many);
        drop(judge);
        let bill = bill.lock().unwrap();
        assert!(provider.is_automatic() || bill.writes == SAMPLES, "{}", provider.model);
        let ratio = bill.of_input(provider) / plain.of_input(provider);
        // Eight requests say eight times what form a reply has.
        assert!(ratio <= most * 1.05, "{}: {ratio}", provider.model);
        let spent = spent(&many);
        let paid = spent["cost"].as_f64().unwrap() * 1e6;
        assert!((paid / bill.of_input(provider) - 1.0).abs() < 1e-3, "{}: {paid}", provider.model);
        assert_eq!(spent["cache_read"].as_u64(), Some(bill.read as u64));
        let is_billed = !provider.is_automatic();
        assert_eq!(spent["cache_write"].as_u64(), is_billed.then_some(bill.written as u64));
    }
}

#[test]
fn what_is_cached_moves_no_result() {
    let results = ["on", "off"].map(|caching| {
        let (judge, bill) = billing(OPENAI);
        let space = space(OPENAI, &judge, 6_000, &criteria(caching));
        run(&space);
        assert_eq!(bill.lock().unwrap().read > 0, caching == "on");
        // Nothing is called again, whatever the suite says of caches.
        let other = if caching == "on" { "auto" } else { "on" };
        let suite = space.read("suite.yaml");
        let said = format!("prompt_caching: {caching}");
        space.write("suite.yaml", suite.replace(&said, &format!("prompt_caching: {other}")));
        let asked = judge.count();
        run(&space);
        assert_eq!(judge.count(), asked);
        space.record("results.jsonl")
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn nothing_is_written_for_nobody() {
    let three = "  plain:\n    SETTINGS\n    prompt_caching: on\n    votes: 3\n    prompt: \"{submission}: good?\"\n";
    for (what, length, graders, written) in [
        ("a rubric", 6_000, plain(), 0),
        ("a short answer", 300, criteria("on"), 0),
        ("votes", 6_000, three.to_owned(), SAMPLES),
        ("criteria", 6_000, criteria("on"), SAMPLES),
        // Their schemas differ, so none reads what another has written.
        ("criteria in batches", 6_000, criteria("on\n    batching: 4"), 0),
    ] {
        let (judge, bill) = billing(OPENAI);
        let space = space(OPENAI, &judge, length, &graders);
        run(&space);
        let requests = judge.asked();
        let marked =
            requests.iter().filter(|asked| asked.body["messages"][1]["content"].is_array());
        assert_eq!(marked.count() > 0, written > 0, "{what}");
        let is_explicit = |asked: &Asked| asked.body["prompt_cache_options"]["mode"] == "explicit";
        assert!(requests.iter().all(is_explicit), "{what}: else the end is cached, and billed");
        let beginnings = bill.lock().unwrap().cached.len();
        assert_eq!(beginnings, written, "{what}");
        let has_written = bill.lock().unwrap().written > 0;
        assert_eq!(has_written, written > 0, "{what}");
    }
}

#[test]
fn a_cache_that_is_never_read_is_warned_of() {
    for forgets in [false, true] {
        let (judge, bill) = billing(OPENAI);
        bill.lock().unwrap().minutes = if forgets { 6.0 } else { 0.0 };
        let space = space(OPENAI, &judge, 6_000, &criteria("on"));
        let ran = space.command(&["run", "suite.yaml"]).env("KEY", "k").output().unwrap();
        let shown = String::from_utf8(ran.stderr).unwrap();
        let is_warned = shown.contains("to the provider's cache, and nothing was read");
        assert_eq!(is_warned, forgets, "{shown}");
        let page = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(page.contains("read from the provider's cache"), !forgets, "{page}");
        assert_eq!(page.contains("at list price)"), !forgets, "{page}");
    }
}

#[test]
fn other_servers_get_no_marks() {
    let unmarked = criteria("auto");
    let unknown = Provider { model: "llama-3.1", ..HALF };
    for (provider, graders) in
        [(OPENAI, &unmarked), (ANTHROPIC, &unmarked), (unknown, &criteria("on"))]
    {
        let (judge, _) = billing(provider);
        let space = space(provider, &judge, 6_000, graders);
        run(&space);
        for asked in judge.asked() {
            let body = asked.body.to_string();
            assert!(!body.contains("cache"), "{}: {}", provider.model, &body[..300]);
        }
    }
}

#[test]
fn a_plan_says_what_caches_take_off() {
    for provider in [OPENAI, ANTHROPIC, AUTOMATIC, HALF] {
        let (judge, bill) = billing(provider);
        let space = space(provider, &judge, 6_000, &criteria("on"));
        let prices = space.read("evalrs.toml").replace("output = 1.0", "output = 0.0");
        space.write("evalrs.toml", prices);
        let plan = space.run(&["plan", "suite.yaml", "--json"]);
        let plan: Value = serde_json::from_str(&plan.stdout()).unwrap();
        let list = plan["totals"]["cost"].as_f64().unwrap();
        let forecast = (list - plan["caching"]["saved"].as_f64().unwrap()) / list;
        let shown = space.run(&["plan", "suite.yaml"]).stdout();
        assert!(shown.contains("prompt caches: "), "{shown}");
        run(&space);
        let bill = bill.lock().unwrap();
        let all = (bill.plain + bill.read + bill.written) as f64;
        let paid = bill.of_input(provider) / all;
        assert!((forecast / paid - 1.0).abs() < 0.05, "{}: {forecast} {paid}", provider.model);
        let plan = space.run(&["plan", "suite.yaml", "--json"]).stdout();
        assert!(!plan.contains("caching"), "{plan}");
    }
    let (judge, _) = billing(OPENAI);
    let space = space(OPENAI, &judge, 300, &criteria("on"));
    let shown = space.run(&["plan", "suite.yaml"]).stdout();
    assert!(shown.contains("gpt-5.6 caches from 1,024 tokens, and a sample has about"), "{shown}");
    assert!(shown.contains("`batching: together` sends it once"), "{shown}");
}

#[test]
fn what_is_cached_for_an_hour_is_read_by_a_slow_judge() {
    for (provider, caching, at_once) in [(ANTHROPIC, "on", false), (HOUR, "hour", true)] {
        let (judge, bill) = billing(provider);
        // Forty requests take less than an hour.
        bill.lock().unwrap().minutes = 1.4;
        let space = space(provider, &judge, 6_000, &criteria(caching));
        run(&space);
        let bill = bill.lock().unwrap();
        assert_eq!(bill.writes == SAMPLES, at_once, "{caching}: {} writes", bill.writes);
        let paid = spent(&space)["cost"].as_f64().unwrap() * 1e6;
        assert!((paid / bill.of_input(provider) - 1.0).abs() < 1e-3, "{caching}: {paid}");
    }
}

/// A suite whose target is the model of a provider, with a system prompt of so many tokens.
fn chat(provider: Provider, judge: &Judge, length: usize, more: &str) -> Space {
    let Provider { name, model, .. } = provider;
    let url = if name == "anthropic" { judge.root() } else { judge.url() };
    let system = "Answer in one word. ".repeat(length / 5);
    let suite = format!(
        "name: s\ndataset: d.jsonl\ntarget:\n  kind: chat\n  provider: {name}\n  model: {model}\n  base_url: {url}\n  \
         endpoint: e\n  api_key_env: KEY\n  prompt_caching: on\n  system: {system:?}\n{more}graders:\n  said: {{kind: tool, function: contains}}\n"
    );
    let row = |id: &str| {
        let row = json!({"id": id, "input": format!("Say yes to {id}."), "ground_truth": "yes"});
        format!("{row}\n")
    };
    let prices = format!("[prices.\"{model}\"]\ninput = 1.0\noutput = 1.0\n");
    let rows = row("a") + &row("b");
    Space::new(&[("suite.yaml", &suite), ("d.jsonl", &rows), ("evalrs.toml", &prices)])
}

#[test]
fn conversations_say_what_others_begin_with() {
    let tools = "  tools: [{name: look, description: d, parameters: {type: object}}]\n  tool_program: [\"true\"]\n";
    let ephemeral = json!({"type": "ephemeral"});
    for (provider, length, more, opening, whole) in [
        (ANTHROPIC, 2_000, "", true, false),
        (ANTHROPIC, 2_000, tools, true, true),
        (ANTHROPIC, 100, tools, false, true),
        (ANTHROPIC, 100, "", false, false),
        (OPENAI, 2_000, "", true, false),
        (OPENAI, 100, "", false, false),
        (OPENAI, 2_000, tools, false, true),
    ] {
        let (judge, _) = billing(provider);
        let space = chat(provider, &judge, length, more);
        let ran = space.command(&["run", "suite.yaml"]).env("KEY", "k").output().unwrap();
        let shown = String::from_utf8_lossy(&ran.stderr).into_owned();
        let asked = judge.asked();
        assert_eq!(asked.len(), 2, "{shown}");
        let body = &asked[0].body;
        let what = format!("{} {length} {more}", provider.name);
        if provider.name == "anthropic" {
            assert_eq!(body["system"][0]["cache_control"] == ephemeral, opening, "{what}");
            assert_eq!(body["cache_control"] == ephemeral, whole, "{what}");
        } else {
            // Where a conversation goes on, the end of each request is cached as by itself.
            assert_eq!(body["prompt_cache_options"]["mode"] == "explicit", !whole, "{what}");
            let first = &body["messages"][0]["content"];
            assert_eq!(
                first[0]["prompt_cache_breakpoint"]["mode"] == "explicit",
                opening,
                "{what}"
            );
            assert_eq!(body["prompt_cache_key"].is_string(), opening, "{what}");
        }
        // It is in no key.
        let suite = space.read("suite.yaml").replace("prompt_caching: on", "prompt_caching: off");
        space.write("suite.yaml", suite);
        assert_eq!(
            space.run(&["run", "suite.yaml", "--frozen"]).code(),
            ran.status.code().unwrap(),
            "{what}"
        );
    }
}

#[test]
fn flex_waits_for_room_and_costs_half() {
    let judge = Judge::new(|number, asked| {
        let is_flex = asked.body["service_tier"] == "flex";
        if is_flex && number < 7 {
            let body = json!({"error": {"code": "resource_unavailable", "message": "Resource Unavailable"}});
            return Answer::Http(429, vec![("retry-after-ms", "1".to_owned())], body.to_string());
        }
        let tier = if is_flex { "flex" } else { "default" };
        let message = json!({"role": "assistant", "content": json!({"rationale": "so", "score": 1}).to_string()});
        let body = json!({
            "model": "m", "service_tier": tier, "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1_000, "completion_tokens": 0},
        });
        Answer::Http(200, Vec::new(), body.to_string())
    });
    let settings = "kind: rubric\n    model: m\n    endpoint: e\n    max_retries: 1\n    service_tier: flex\n    prompt: '{submission}?'";
    let suite = format!("name: s\ndataset: d.jsonl\ngraders:\n  good:\n    {settings}\n");
    let space = Space::new(&[
        ("suite.yaml", suite.as_str()),
        ("d.jsonl", "{\"id\": \"a\", \"input\": \"i\", \"output\": \"o\"}\n"),
        ("evalrs.toml", "[prices.m]\ninput = 1.0\noutput = 1.0\n"),
    ]);
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, 8), "{}", ran.shown());
    assert_eq!(spent(&space)["cost"], json!(0.000_5));
    let shown = space.run(&["explain", "suite.yaml", "a", "--prompt"]);
    assert!(shown.stdout().contains("\"service_tier\": \"flex\""), "{}", shown.stdout());
    // It is in no key, and nothing is called again without it.
    space.write("suite.yaml", suite.replace("service_tier: flex", "service_tier: default"));
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
}
