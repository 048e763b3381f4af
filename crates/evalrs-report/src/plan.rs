//! What a run would call, as plain data, as JSON and as a page.
//!
//! Knows numbers and names of reasons, not how they were found.

use serde::Serialize;

use super::intervals::or_dash;
use super::page::{Block, Column, Page, Table, Text, command, faint, quoted, strong, text};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::{Cost, as_of};
use evalrs_base::text::{about, grouped};
use evalrs_metrics::metric::annotators::LabelCount;
use evalrs_model::cut::PartSize;

/// Why more may be asked than is planned.
const AT_LEAST: &str = "at least: calls that depend on extracted submissions, grades or first verdicts are not known yet";

/// What a run of one suite would ask; this is the shape of `plan --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// The conversations of the target, where it is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PlanLine>,
    /// Grader → what it would ask, in the order of the suite.
    pub graders: OrderedMap<PlanLine>,
    /// All graders together.
    pub totals: PlanLine,
    /// Grader → the labels that its verdicts will be compared with; only graders that have some.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub labels: OrderedMap<LabelCount>,
    /// Rubric → the ways to put its criteria into requests, the suite's first; only where calls are to be made.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub batching: OrderedMap<Vec<BatchingLine>>,
    /// What the calls would read from the caches of providers; only where requests begin alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caching: Option<CachingLine>,
    /// What a batch would take off the cost, in US dollars; only where it is worth one and prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_saves: Option<Cost>,
    /// The judgments that are out in a batch, which no call is made for; only where there are some.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub out: u64,
    /// The missing judgments that the shared cache was not asked for; only where there is one.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub unknown_remotely: u64,
    /// How the samples are cut into parts, where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutLine>,
}

/// How samples are cut into parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CutLine {
    pub digest: String,
    /// The part that is planned, from 1; null where all are.
    pub part: Option<u32>,
    /// The parts in order, with tokens as costs.
    pub parts: Vec<PartSize>,
}

/// What calls would read from the caches of providers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CachingLine {
    /// The tokens that are written to them, estimated.
    pub written: u64,
    /// The tokens that are read from them, estimated.
    pub read: u64,
    /// What that takes off the cost, in US dollars; null where the price of a model is not known.
    pub saved: Option<Cost>,
    /// Model → what its requests begin with, where that is too short.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub too_short: OrderedMap<ShortPrompt>,
}

/// What requests begin with, where a provider does not cache so little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShortPrompt {
    /// The mean of the tokens that they begin with.
    pub tokens: u64,
    /// The fewest tokens that are cached.
    pub least: u64,
}

/// What a rubric in criteria would call with this batching.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BatchingLine {
    /// `each`, `together` or a number.
    pub batching: String,
    /// How many samples were planned, where the rest is an estimate from these; null where all were.
    pub estimated_from: Option<u64>,
    /// The calls to make, stored ones not counted.
    pub to_ask: u64,
    /// What they would use, estimated.
    pub tokens: TokenEstimate,
    /// What they would cost in US dollars, estimated; null where the price of the model is not known.
    pub cost: Option<Cost>,
}

/// What a grader would ask.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanLine {
    /// Its actions, each key once.
    pub total: u64,
    /// Those that are stored.
    pub cached: u64,
    /// Those of the stored that are failures, which stand for an answer as long as nobody asks again.
    pub failures: u64,
    /// Those that would be asked.
    pub to_ask: u64,
    /// Whether more will be asked, or may be: what rests on what is to be asked is known only once that is there.
    pub at_least: bool,
    /// Reason → how many of them are asked for it, in the order in which reasons win.
    pub reasons: OrderedMap<u64>,
    /// What they would use, estimated.
    pub tokens: TokenEstimate,
    /// What they would cost in US dollars, estimated; null where the price of a model is not known.
    pub cost: Option<Cost>,
    /// The judgments that follow, of submissions that are not there yet; none where all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub following: Option<FollowingJudgments>,
}

/// Judgments of submissions that a target or an extractor has still to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FollowingJudgments {
    /// How many are asked at most.
    pub at_most: u64,
    /// Who is asked, sorted.
    pub models: Vec<String>,
    /// What they would use at most, estimated.
    pub tokens: TokenEstimate,
    /// What they would cost at most in US dollars, estimated; null where the price of a model is not known.
    pub cost: Option<Cost>,
}

impl PlanLine {
    /// Whether a judge is among those that would be asked: programs use no tokens.
    pub fn asks_judges(&self) -> bool {
        self.to_ask > 0 && self.tokens != TokenEstimate::default()
    }
}

impl Default for PlanLine {
    fn default() -> Self {
        Self {
            total: 0,
            cached: 0,
            failures: 0,
            to_ask: 0,
            at_least: false,
            reasons: OrderedMap::default(),
            tokens: TokenEstimate::default(),
            cost: Some(Cost::ZERO),
            following: None,
        }
    }
}

/// Estimated tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenEstimate {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
}

/// Where the numbers of a plan come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanBasis {
    /// The stored conversations whose mean stands for what one uses.
    pub conversations: u64,
    /// What the key of a target covers that declares neither inputs nor a version.
    pub covered: Option<String>,
    /// The run that reasons compare with.
    pub previous: Option<String>,
    /// The recorded judgments whose mean stands for what is received.
    pub recorded: u64,
    /// The tokens that are assumed to be received for a judgment where none is recorded; none if nothing is assumed.
    pub assumed: Option<u64>,
    /// The tokens that are assumed of a submission that is not there yet.
    pub answer: u64,
    /// What is stored for other endpoints than would be asked.
    pub elsewhere: Vec<StoredElsewhere>,
    /// The models without a known price.
    pub unpriced: Vec<String>,
    /// The variables of programs that are secrets, each once.
    pub secrets: Vec<String>,
}

/// Judgments that are stored for another endpoint than would be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredElsewhere {
    /// How many.
    pub judgments: u64,
    /// Their endpoint.
    pub stored: String,
    /// The one that would be asked.
    pub asked: String,
}

/// The plan: how many calls, what they cost and what is cached, then each grader, then what to do.
pub fn page(plan: &Plan, basis: &PlanBasis) -> Page {
    let mut page = Page::default();
    page.add(Block::Heading(text![strong("plan"), "  ", quoted(&plan.suite), ": ", result(plan)]));
    page.add(Block::Table(table(plan)));
    let unpriced = (!basis.unpriced.is_empty()).then(|| {
        let cure = "; set it under `prices` in evalrs.toml";
        text!["no price is known of ", named(&basis.unpriced), cure]
    });
    let cut = plan.cut.iter().flat_map(cut_lines);
    let hints = cut.chain(unpriced).chain(replayed(&plan.totals)).chain(unknown_remotely(plan));
    let hints = hints.chain(basis.elsewhere.iter().map(stored_elsewhere)).chain(unkeyed(basis));
    let hints = hints.chain(conversations(plan, basis)).chain(labels(plan)).chain(batching(plan));
    let hints = hints.chain(caching(plan)).chain(plan.batch_saves.map(batch));
    let notes = notes(&plan.totals, basis);
    page.add(Block::lines(hints.chain(notes.iter().map(|note| faint(note)))));
    page
}

/// How samples are cut: `cut 0f3a…: 7 parts of 12 to 17 samples`.
fn cut_lines(cut: &CutLine) -> Vec<Text> {
    let sizes = cut.parts.iter().map(|part| part.samples);
    let [least, most] = [sizes.clone().min(), sizes.max()].map(Option::unwrap_or_default);
    let samples = grouped_count(most as u64, "sample");
    let each =
        if least == most { samples } else { format!("{} to {samples}", grouped(least as u64)) };
    let parts = grouped_count(cut.parts.len() as u64, "part");
    let which = cut.part.map_or_else(String::new, |part| format!("; this is part {part}"));
    let mut lines =
        vec![text!["cut ", command(&cut.digest), format!(": {parts} of {each}{which}")]];
    let costs = cut.parts.iter().map(|part| part.cost);
    let all: u64 = costs.clone().sum();
    if all > 0 {
        let dearest = grouped_count(costs.max().unwrap_or_default(), "token");
        let mean = grouped(all / cut.parts.len() as u64);
        lines.push(text![format!("the dearest part has {dearest}, the mean is {mean}")]);
    }
    lines
}

/// The plan in a few words: `12 calls, 288 cached, about $0.0031`.
fn result(plan: &Plan) -> String {
    let totals = &plan.totals;
    let priced = |about: &str, cost: Option<Cost>| {
        cost.map_or_else(|| "cost unknown".to_owned(), |cost| format!("{about} {cost}"))
    };
    let target = plan.target.as_ref().filter(|target| target.to_ask > 0);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(target.map(|target| {
        let cost = target.cost.filter(|cost| *cost > Cost::ZERO);
        let cost = cost.map_or_else(String::new, |cost| format!(" for about {cost}"));
        format!("{} to run{cost}", grouped_count(target.to_ask, "conversation"))
    }));
    let least = if totals.at_least { "at least " } else { "" };
    let calls = grouped_count(totals.to_ask, "call");
    parts.extend(match totals.to_ask {
        0 if target.is_some() || totals.following.is_some() => None,
        0 if totals.at_least => Some("no calls known yet".to_owned()),
        0 if totals.total == 0 && plan.out == 0 => Some("no calls, no judge is needed".to_owned()),
        0 => Some("no calls".to_owned()),
        _ if totals.asks_judges() => Some(format!("{least}{calls}")),
        _ => Some(format!("{least}{calls} to programs")),
    });
    parts.extend((totals.total > 0).then(|| format!("{} cached", grouped(totals.cached))));
    parts.extend((plan.out > 0).then(|| format!("{} out in a batch", grouped(plan.out))));
    parts.extend(totals.asks_judges().then(|| priced("about", totals.cost)));
    parts.extend(totals.following.as_ref().map(|then| {
        let calls = grouped_count(then.at_most, "judgment");
        format!("then up to {calls}, {}", priced("at most about", then.cost))
    }));
    parts.join(", ")
}

fn grouped_count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// A row for each grader that makes calls or has cached ones.
fn table(plan: &Plan) -> Table {
    let counts = [Column::names("grader"), Column::numbers("calls"), Column::numbers("cached")];
    let estimates = ["tokens in", "out", "cost"].map(Column::numbers);
    let columns = counts.into_iter().chain([Column::words("because")]).chain(estimates);
    let mut table = Table::new(columns);
    let has_calls = |line: &PlanLine| line.total > 0 || line.at_least;
    for (grader, line) in plan.graders.0.iter().filter(|(_, line)| has_calls(line)) {
        let least = if line.at_least { "≥ " } else { "" };
        let mut estimates = [const { String::new() }; 3];
        if line.asks_judges() {
            let [input, output] = [line.tokens.input, line.tokens.output].map(about);
            estimates = [input, output, or_dash(line.cost, |cost| cost.to_string())];
        }
        let calls = format!("{least}{}", grouped(line.to_ask));
        let cells = [quoted(grader), calls.into(), grouped(line.cached).into(), because(line)];
        table.row(cells.into_iter().chain(estimates.map(Text::from)));
    }
    table.without_empty_columns()
}

/// Why a grader makes its calls, and which ones follow.
fn because(line: &PlanLine) -> Text {
    let reasons = line.reasons.0.iter().map(|(reason, n)| {
        let n = if *n == line.to_ask { String::new() } else { format!(" {}", grouped(*n)) };
        text![reason.as_str(), n]
    });
    let then = line.following.as_ref().map(|then| {
        let models = Text::joined(then.models.iter().map(|model| quoted(model)), ", ");
        text!["then up to ", grouped(then.at_most), " of ", models]
    });
    Text::joined(reasons.chain(then), ", ")
}

/// The texts as code, between commas.
fn named(texts: &[String]) -> Text {
    Text::joined(texts.iter().map(|text| command(text)), ", ")
}

/// What the caches of providers take off the cost, and where they do not.
fn caching(plan: &Plan) -> Vec<Text> {
    let Some(line) = &plan.caching else { return Vec::new() };
    let saved = line.saved.filter(|saved| *saved > Cost::ZERO);
    let saved = saved.map_or_else(String::new, |saved| format!(": about {saved} less"));
    let [written, read] = [about(line.written), about(line.read)];
    let cached = (line.read > 0)
        .then(|| format!("prompt caches: {written} tokens written, {read} read{saved}").into());
    let too_short = line.too_short.0.iter().map(|(model, ShortPrompt { tokens, least })| {
        let [tokens, least] = [about(*tokens), grouped(*least)];
        let cure = "; `batching: together` sends it once";
        text![
            quoted(model),
            " caches from ",
            least,
            " tokens, and a sample has about ",
            tokens,
            cure
        ]
    });
    cached.into_iter().chain(too_short).collect()
}

/// What a batch would take off the cost.
fn batch(saves: Cost) -> Text {
    text![command("run --batch"), format!(": about {saves} less, and up to a day later")]
}

/// What each way to put criteria into requests would cost, for each rubric.
fn batching(plan: &Plan) -> Vec<Text> {
    let way = |line: &BatchingLine| {
        let cost = line.cost.map_or_else(String::new, |cost| format!(", about {cost}"));
        let calls = match line.estimated_from {
            Some(_) => format!("about {} calls", about(line.to_ask)),
            None => grouped_count(line.to_ask, "call"),
        };
        let tokens = about(line.tokens.input);
        format!("`{}` {calls}, {tokens} tokens in{cost}", line.batching)
    };
    let rubrics = plan.batching.0.iter().map(|(rubric, ways)| {
        let ways: Vec<String> = ways.iter().map(way).collect();
        text!["batching of ", quoted(rubric), ": ", ways.join("; ")]
    });
    rubrics.collect()
}

/// What the target would be run for, and what its key covers where nobody says.
fn conversations(plan: &Plan, basis: &PlanBasis) -> Vec<Text> {
    let Some(line) = &plan.target else { return Vec::new() };
    let used = match (line.to_ask, basis.conversations) {
        (0, _) => String::new(),
        (_, 0) => ", cost unknown".to_owned(),
        (_, known) => {
            let tokens = about(line.tokens.input + line.tokens.output);
            format!("; about {tokens} tokens, by the mean of {} cached", grouped(known))
        }
    };
    let to_run = grouped_count(line.to_ask, "conversation");
    let cached = grouped(line.cached);
    let mut lines = vec![format!("target: {to_run} to run, {cached} cached{used}").into()];
    lines.extend(basis.covered.as_ref().map(|covered| {
        text!["target: declares neither `inputs` nor `version`; its key covers ", covered.as_str()]
    }));
    lines
}

/// What the run will not grade, although it makes no call for it.
fn replayed(totals: &PlanLine) -> Option<Text> {
    let are = if totals.failures == 1 { "is" } else { "are" };
    let failures = grouped_count(totals.failures, "cached failure");
    let retry = command("--retry-errors");
    (totals.failures > 0).then(|| text![format!("{failures} {are} replayed; "), retry, " retries"])
}

/// What the shared cache was not asked for.
fn unknown_remotely(plan: &Plan) -> Option<Text> {
    let calls = grouped_count(plan.unknown_remotely, "call");
    (plan.unknown_remotely > 0).then(|| {
        text![
            format!("{calls} unknown remotely: the shared cache was not read; "),
            command("--pull"),
            " reads it"
        ]
    })
}

/// Judgments that only another address keeps from being replayed.
fn stored_elsewhere(found: &StoredElsewhere) -> Text {
    let StoredElsewhere { judgments, stored, asked } = found;
    let are = if *judgments == 1 { "is" } else { "are" };
    text![
        format!("{} {are} cached for the endpoint ", grouped_count(*judgments, "judgment")),
        command(stored),
        ", not for ",
        command(asked),
        "; to use them, write ",
        command(&format!("endpoint: {stored}")),
        " in the suite"
    ]
}

/// What verdicts will be compared with: labels, which make no calls.
fn labels(plan: &Plan) -> Option<Text> {
    let counts = plan.labels.0.iter();
    let counts = counts.map(|(grader, labels)| text![quoted(grader), " ", labels.shown()]);
    let counts = Text::joined(counts, ", ");
    (!plan.labels.is_empty()).then(|| text!["labels: ", counts])
}

/// What a run will not notice: another value of a secret.
fn unkeyed(basis: &PlanBasis) -> Option<Text> {
    let words = match basis.secrets.len() {
        0 => return None,
        1 => " is a secret: its value is in no key, so another value makes no program run again",
        _ => " are secrets: their values are in no key, so other values make no program run again",
    };
    Some(text![named(&basis.secrets), words])
}

/// Where the numbers come from.
fn notes(totals: &PlanLine, basis: &PlanBasis) -> Vec<String> {
    let follows = totals.following.is_some();
    let mut notes = Vec::new();
    let mean = grouped_count(basis.recorded, "cached judgment");
    let output = match (basis.recorded, basis.assumed) {
        (0, None) => String::new(),
        (0, Some(assumed)) => format!(" ({assumed} a judgment, none is cached)"),
        (_, None) => format!(" (by the mean of {mean})"),
        (_, Some(assumed)) => format!(" (by the mean of {mean}, {assumed} where none is cached)"),
    };
    if totals.asks_judges() {
        let [input, received] = [totals.tokens.input, totals.tokens.output].map(about);
        notes.push(format!("tokens: about {input} in (by a tokenizer), {received} out{output}"));
    } else if follows {
        notes.push(format!("tokens out are estimated{output}"));
    }
    if follows {
        let tokens = grouped(basis.answer);
        notes.push(format!("submissions that are not there yet count as {tokens} tokens each"));
    }
    let then = totals.following.as_ref().and_then(|follow| follow.cost);
    if totals.cost.max(then).is_some_and(|cost| cost > Cost::ZERO) {
        notes.push(format!("prices: evalrs.toml, else list prices of {}", as_of()));
    }
    if totals.at_least {
        notes.push(AT_LEAST.to_owned());
    }
    if totals.to_ask > 0 {
        notes.push(match &basis.previous {
            Some(id) => format!("reasons: compared with run {id}"),
            None => "reasons: no earlier run is recorded".to_owned(),
        });
    }
    notes
}

#[cfg(test)]
mod tests;
