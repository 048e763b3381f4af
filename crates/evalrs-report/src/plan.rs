//! What a run would ask, as plain data, as JSON and for a terminal.
//!
//! Knows numbers and names of reasons, not how they were found.

use std::io::{self, Write};

use serde::Serialize;

use super::intervals::or_dash;
use super::terminal_page::{TITLE, faint, paragraphs, table, titles, write_sections};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::{Cost, as_of};
use evalrs_base::text::table::{TableCell, name, number, words};
use evalrs_base::text::{about, count, cut, grouped};
use evalrs_metrics::metric::annotators::LabelCount;

/// Why more may be asked than is planned.
const AT_LEAST: &str = "at least: what rests on extracted submissions, on grades or on first verdicts is known once those are there";

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

/// Writes the plan for a terminal of `width` columns.
pub fn write(plan: &Plan, basis: &PlanBasis, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let suite = cut(&plan.suite, width.saturating_sub(6));
    let heading = vec![format!("{TITLE}plan{TITLE:#}  {suite}")];
    let sentences = conversations(plan, basis)
        .into_iter()
        .chain([sentence(plan, basis)])
        .chain(replayed(&plan.totals))
        .chain(basis.elsewhere.iter().map(stored_elsewhere))
        .chain(unkeyed(basis))
        .chain(labels(plan));
    let notes = paragraphs(notes(&plan.totals, basis), width);
    let told = paragraphs(sentences, width).into_iter();
    let told = told.chain(notes.iter().map(|line| faint(line))).collect();
    write_sections([heading, table(&rows(plan), width), told], out)
}

/// The table, of graders that have something to ask or had; with a row for all where there are several.
fn rows(plan: &Plan) -> Vec<Vec<TableCell>> {
    let mut header = titles(&["grader"], &["actions", "cached", "to ask"]);
    header.extend(titles(&["because"], &["tokens in", "out", "cost"]));
    let mut rows = vec![header];
    let asking = || plan.graders.0.iter().filter(|(_, line)| line.total > 0 || line.at_least);
    rows.extend(asking().map(|(name, line)| row(name, line)));
    if asking().count() > 1 {
        rows.push(row("all", &plan.totals));
    }
    rows
}

fn row(grader: &str, line: &PlanLine) -> Vec<TableCell> {
    let because: Vec<String> =
        line.reasons.0.iter().map(|(reason, n)| format!("{reason} {}", grouped(*n))).collect();
    let estimate = |text: String| if line.asks_judges() { text } else { String::new() };
    let cost = or_dash(line.cost, |cost| cost.to_string());
    vec![
        name(grader),
        number(grouped(line.total)),
        number(grouped(line.cached)),
        number(format!("{}{}", if line.at_least { "≥ " } else { "" }, grouped(line.to_ask))),
        words(&because.join(", ")),
        number(estimate(about(line.tokens.input))),
        number(estimate(about(line.tokens.output))),
        number(estimate(cost)),
    ]
}

fn sentence(plan: &Plan, basis: &PlanBasis) -> String {
    let totals = &plan.totals;
    let least = if totals.at_least { "at least " } else { "" };
    let then = following(plan, basis);
    let to_run = plan.target.as_ref().map_or(0, |target| target.to_ask);
    let now = match (totals.total, totals.to_ask) {
        (_, 0) if then.is_some() => format!("plan: {}", count(to_run, "conversation")),
        (0, _) => "plan: nothing to ask: no judge is needed".to_owned(),
        (total, 0) => format!("plan: nothing to ask of {}", grouped(total)),
        (total, to_ask) if !totals.asks_judges() => {
            let to_ask = grouped(to_ask);
            let judges = if totals.at_least { "" } else { ", no judge is asked" };
            format!("plan: {least}{to_ask} to run of {}{judges}", grouped(total))
        }
        (total, to_ask) => {
            let cost = about_cost("about", totals.cost, basis);
            format!(
                "plan: {least}{} to ask of {}, about {} tokens in and {} out, {cost}",
                grouped(to_ask),
                grouped(total),
                about(totals.tokens.input),
                about(totals.tokens.output)
            )
        }
    };
    now + &then.unwrap_or_default()
}

fn about_cost(about: &str, cost: Option<Cost>, basis: &PlanBasis) -> String {
    match cost {
        Some(cost) => format!("{about} {cost}"),
        None => format!("cost not known: no price of `{}`", basis.unpriced.join("`, `")),
    }
}

/// What judges will be asked once the submissions are there.
fn following(plan: &Plan, basis: &PlanBasis) -> Option<String> {
    let all = plan.totals.following.as_ref()?;
    let asks = plan.graders.0.iter().filter_map(|(name, line)| {
        let follow = line.following.as_ref()?;
        let judgments = count(follow.at_most, "judgment");
        Some(format!("`{name}` asks up to {judgments} of {}", follow.models.join(", ")))
    });
    let asks: Vec<String> = asks.collect();
    let cost = about_cost("at most about", all.cost, basis);
    Some(format!("; then {}, {cost}", asks.join(", ")))
}

/// What the target would be run for, and what its key covers where nobody says.
fn conversations(plan: &Plan, basis: &PlanBasis) -> Vec<String> {
    let Some(line) = &plan.target else { return Vec::new() };
    let total = count(line.total, "conversation");
    let mut told = vec![match line.to_ask {
        0 => format!("target: nothing to run of {total}"),
        to_ask => {
            let used = match (line.cost, basis.conversations) {
                (_, 0) => "what they cost is not known: none is stored".to_owned(),
                (cost, known) => {
                    let cost = cost.filter(|cost| *cost > Cost::ZERO);
                    let cost = cost.map_or_else(String::new, |cost| format!("about {cost}, "));
                    let tokens = line.tokens.input + line.tokens.output;
                    let tokens = format!("about {} tokens", about(tokens));
                    format!("{cost}{tokens}, by the mean of {} stored", grouped(known))
                }
            };
            format!("target: {} to run of {total}; {used}", grouped(to_ask))
        }
    }];
    told.extend(basis.covered.as_ref().map(|covered| {
        format!("target: declares neither `inputs` nor `version`; its key covers {covered}")
    }));
    told
}

/// What the run will not grade, although it has nothing to ask for it.
fn replayed(totals: &PlanLine) -> Option<String> {
    let are = if totals.failures == 1 { "failure is" } else { "failures are" };
    let n = grouped(totals.failures);
    (totals.failures > 0).then(|| format!("{n} stored {are} replayed; --retry-errors asks again"))
}

/// Judgments that only another address keeps from being replayed.
fn stored_elsewhere(found: &StoredElsewhere) -> String {
    let StoredElsewhere { judgments, stored, asked } = found;
    let are = if *judgments == 1 { "is" } else { "are" };
    let judgments = count(*judgments, "judgment");
    format!(
        "{judgments} {are} stored for the endpoint `{stored}`, not for `{asked}`: write `endpoint: {stored}` in the suite to use what is stored"
    )
}

/// What verdicts will be compared with: labels, which ask nothing.
fn labels(plan: &Plan) -> Option<String> {
    let counts = plan.labels.0.iter();
    let of_each: Vec<String> =
        counts.map(|(grader, labels)| format!("{grader} {}", labels.shown())).collect();
    (!of_each.is_empty()).then(|| format!("labels: {}", of_each.join(", ")))
}

/// What a run will not notice: another value of a secret.
fn unkeyed(basis: &PlanBasis) -> Option<String> {
    let (are, it, they) = match basis.secrets.len() {
        0 => return None,
        1 => ("is a secret", "its value is", "it"),
        _ => ("are secrets", "their values are", "them"),
    };
    let names = basis.secrets.join("`, `");
    Some(format!(
        "`{names}` {are}: {it} in no key, so another value of {they} runs no program again"
    ))
}

fn notes(totals: &PlanLine, basis: &PlanBasis) -> Vec<String> {
    let follows = totals.following.is_some();
    if totals.to_ask == 0 && !follows {
        return Vec::new();
    }
    let recorded = (basis.recorded > 0).then(|| {
        let judgments = count(basis.recorded, "judgment");
        let judgments = judgments.replacen(' ', " recorded ", 1);
        format!("output tokens: mean of {judgments}")
    });
    let assumed = basis.assumed.map(|assumed| match recorded {
        Some(_) => format!("{assumed} where none is recorded"),
        None => format!("output tokens: {assumed} a judgment, since none is recorded"),
    });
    let output: Vec<String> = recorded.into_iter().chain(assumed).collect();
    let tokens = format!("{}; input tokens: estimated by a tokenizer", output.join(", and "));
    let mut notes = if totals.asks_judges() || follows { vec![tokens] } else { Vec::new() };
    if follows {
        notes.push(format!(
            "what follows: a submission is taken to have {} tokens",
            grouped(basis.answer)
        ));
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
            None => "reasons: there is no record of an earlier run".to_owned(),
        });
    }
    notes
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::{Plan, PlanBasis, PlanLine, TokenEstimate, write};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_base::price::Cost;
    use evalrs_base::text::columns;

    fn line(total: u64, reasons: &[(&str, u64)], cost: Option<u64>) -> PlanLine {
        let to_ask: u64 = reasons.iter().map(|(_, n)| n).sum();
        PlanLine {
            total,
            cached: total - to_ask,
            failures: 0,
            to_ask,
            at_least: false,
            reasons: OrderedMap(reasons.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()),
            tokens: TokenEstimate { input: to_ask * 1_183, output: to_ask * 125 },
            cost: cost.map(Cost::from_nanos),
            following: None,
        }
    }

    fn plan(graders: Vec<(&str, PlanLine)>, totals: PlanLine) -> Plan {
        let graders = graders.into_iter().map(|(name, line)| (name.to_owned(), line)).collect();
        Plan {
            suite: "support\u{1b}[2J\nbot".to_owned(),
            target: None,
            graders: OrderedMap(graders),
            totals,
            labels: OrderedMap::default(),
        }
    }

    fn shown(plan: &Plan, basis: &PlanBasis, width: usize) -> String {
        let mut out = Vec::new();
        write(plan, basis, width, &mut out).unwrap();
        let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        text
    }

    fn basis() -> PlanBasis {
        PlanBasis {
            previous: Some("20260101T000000-000000".to_owned()),
            recorded: 288,
            ..PlanBasis::default()
        }
    }

    #[test]
    fn a_bill_in_one_table_and_one_sentence() {
        let quality = line(300, &[("rubric edited", 10), ("sample edited", 2)], Some(3_100_000));
        let all =
            plan(vec![("accuracy", PlanLine::default()), ("quality", quality.clone())], quality);
        insta::assert_snapshot!(shown(&all, &basis(), 100), @r#"
        plan  support bot

        grader   actions  cached  to ask  because                            tokens in    out     cost
        quality      300     288      12  rubric edited 10, sample edited 2     14,200  1,500  $0.0031

        plan: 12 to ask of 300, about 14,200 tokens in and 1,500 out, about $0.0031
        output tokens: mean of 288 recorded judgments; input tokens: estimated by a tokenizer
        prices: evalrs.toml, else list prices of 2026-11-12
        reasons: compared with run 20260101T000000-000000
        "#);
        insta::assert_snapshot!(shown(&all, &basis(), 44), @r#"
        plan  support bot

        grader   actions  cached  to ask …
        quality      300     288      12

        plan: 12 to ask of 300, about 14,200 tokens
        in and 1,500 out, about $0.0031
        output tokens: mean of 288 recorded
        judgments; input tokens: estimated by a
        tokenizer
        prices: evalrs.toml, else list prices of
        2026-11-12
        reasons: compared with run
        20260101T000000-000000
        "#);
        insta::assert_snapshot!(serde_json::to_string(&all).unwrap().replace('\u{1b}', "<esc>"), @r#"
        {"suite":"support\u001b[2J\nbot","graders":{"accuracy":{"total":0,"cached":0,"failures":0,"to_ask":0,"at_least":false,"reasons":{},"tokens":{"input":0,"output":0},"cost":0.0},"quality":{"total":300,"cached":288,"failures":0,"to_ask":12,"at_least":false,"reasons":{"rubric edited":10,"sample edited":2},"tokens":{"input":14196,"output":1500},"cost":0.0031}},"totals":{"total":300,"cached":288,"failures":0,"to_ask":12,"at_least":false,"reasons":{"rubric edited":10,"sample edited":2},"tokens":{"input":14196,"output":1500},"cost":0.0031}}
        "#);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let a = line(3, &[("first run", 3)], None);
        let b = line(2, &[("first run", 2)], Some(0));
        let all = plan(vec![("a\u{202e}", a), ("b", b)], line(5, &[("first run", 5)], None));
        let basis = PlanBasis {
            previous: None,
            recorded: 1,
            assumed: Some(150),
            unpriced: vec!["judge-1".to_owned(), "x\u{1b}[31m".to_owned()],
            ..PlanBasis::default()
        };
        insta::assert_snapshot!(shown(&all, &basis, 80), @r#"
        plan  support bot

        grader  actions  cached  to ask  because      tokens in  out  cost
        a             3       0       3  first run 3      3,550  375     -
        b             2       0       2  first run 2      2,370  250    $0
        all           5       0       5  first run 5      5,920  625     -

        plan: 5 to ask of 5, about 5,920 tokens in and 625 out, cost not known: no price
        of `judge-1`, `x`
        output tokens: mean of 1 recorded judgment, and 150 where none is recorded;
        input tokens: estimated by a tokenizer
        reasons: there is no record of an earlier run
        "#);
        let basis = PlanBasis { recorded: 0, ..basis };
        let text = shown(&all, &basis, 100);
        assert!(text.contains("output tokens: 150 a judgment, since none is recorded"), "{text}");
    }

    #[test]
    fn a_plan_that_leads_to_more_says_so() {
        let open = |line: PlanLine| PlanLine { at_least: true, ..line };
        let extracted = open(line(4, &[("first run", 4)], Some(3_100_000)));
        let shared = open(line(0, &[], Some(0)));
        let all = plan(vec![("a", extracted.clone()), ("b", shared)], extracted.clone());
        insta::assert_snapshot!(shown(&all, &basis(), 100), @r"
        plan  support bot

        grader  actions  cached  to ask  because      tokens in  out     cost
        a             4       0     ≥ 4  first run 4      4,730  500  $0.0031
        b             0       0     ≥ 0
        all           4       0     ≥ 4  first run 4      4,730  500  $0.0031

        plan: at least 4 to ask of 4, about 4,730 tokens in and 500 out, about $0.0031
        output tokens: mean of 288 recorded judgments; input tokens: estimated by a tokenizer
        prices: evalrs.toml, else list prices of 2026-11-12
        at least: what rests on extracted submissions, on grades or on first verdicts is known once those
        are there
        reasons: compared with run 20260101T000000-000000
        ");
        let programs = PlanLine { tokens: TokenEstimate::default(), ..extracted };
        let text = shown(&plan(Vec::new(), programs), &basis(), 100);
        assert!(text.contains("plan: at least 4 to run of 4\n"), "{text}");
    }

    #[test]
    fn failures_that_are_replayed_are_said() {
        for (failures, expected) in [
            (0, None),
            (1, Some("1 stored failure is replayed; --retry-errors asks again")),
            (1_200, Some("1,200 stored failures are replayed; --retry-errors asks again")),
        ] {
            let totals = PlanLine { failures, ..line(2_000, &[], Some(0)) };
            let text = shown(&plan(Vec::new(), totals), &basis(), 80);
            let after = text.split("plan: nothing to ask of 2,000\n").nth(1).unwrap();
            assert_eq!(after.lines().next(), expected);
        }
    }

    #[test]
    fn nothing_to_ask_is_one_sentence() {
        let cached = plan(vec![("quality", line(300, &[], Some(0)))], line(300, &[], Some(0)));
        insta::assert_snapshot!(shown(&cached, &basis(), 80), @r#"
        plan  support bot

        grader   actions  cached  to ask  because  tokens in  out  cost
        quality      300     300       0

        plan: nothing to ask of 300
        "#);
        let nothing = plan(vec![("accuracy", PlanLine::default())], PlanLine::default());
        insta::assert_snapshot!(shown(&nothing, &PlanBasis::default(), 80), @r#"
        plan  support bot

        plan: nothing to ask: no judge is needed
        "#);
    }

    #[test]
    fn secrets_are_said_to_be_in_no_key() {
        let all = plan(vec![("a", PlanLine::default())], PlanLine::default());
        for (secrets, expected) in [
            (&[][..], ""),
            (
                &["MY_TOKEN"],
                "`MY_TOKEN` is a secret: its value is in no key, so another value of it runs no program again",
            ),
            (
                &["A_TOKEN", "SALT"],
                "`A_TOKEN`, `SALT` are secrets: their values are in no key, so another value of them runs no program again",
            ),
        ] {
            let secrets = secrets.iter().map(|name| (*name).to_owned()).collect();
            let basis = PlanBasis { secrets, ..PlanBasis::default() };
            let text = shown(&all, &basis, 200);
            let told = text.lines().skip(3).collect::<Vec<_>>().join("\n");
            assert_eq!(told, expected, "{text}");
        }
    }
}
