//! What a plan looks like.

use anstream::adapter::strip_str;

use super::{Plan, PlanBasis, PlanLine, TokenEstimate, page};
use crate::page::terminal::{PageScreen, write};
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
        caching: None,
        batch_saves: None,
        out: 0,
        unknown_remotely: 0,
        cut: None,
        batching: OrderedMap::default(),
    }
}

fn shown(plan: &Plan, basis: &PlanBasis, width: usize) -> String {
    let mut out = Vec::new();
    write(&page(plan, basis), PageScreen { width, cuts: true }, &mut out).unwrap();
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
fn a_bill_in_one_line_and_one_table() {
    let quality = line(300, &[("rubric edited", 10), ("sample edited", 2)], Some(3_100_000));
    let tone = line(1_300, &[("rubric edited", 1_000)], Some(90_000_000));
    let totals = line(1_600, &[("rubric edited", 1_010), ("sample edited", 2)], Some(93_100_000));
    let graders = vec![("accuracy", PlanLine::default()), ("quality", quality), ("tone", tone)];
    let all = plan(graders, totals);
    insta::assert_snapshot!(shown(&all, &basis(), 60), @r"
    plan  support bot: 1,012 calls, 588 cached, about $0.0931

    quality
      calls: 12  cached: 288
      because: rubric edited 10, sample edited 2
      tokens in: 14,200  out: 1,500  cost: $0.0031
    tone
      calls: 1,000  cached: 300  because: rubric edited
      tokens in: 1,180,000  out: 125,000  cost: $0.090

    tokens: about 1,200,000 in (by a tokenizer), 127,000 out
      (by the mean of 288 cached judgments)
    prices: evalrs.toml, else list prices of 2026-11-12
    reasons: compared with run 20260101T000000-000000
    ");
    insta::assert_snapshot!(shown(&all, &basis(), 80), @r"
    plan  support bot: 1,012 calls, 588 cached, about $0.0931

    grader   calls  cached  because                      tokens in      out     cost
    quality     12     288  rubric edited 10, sample        14,200    1,500  $0.0031
                            edited 2
    tone     1,000     300  rubric edited                1,180,000  125,000   $0.090

    tokens: about 1,200,000 in (by a tokenizer), 127,000 out (by the mean of 288
      cached judgments)
    prices: evalrs.toml, else list prices of 2026-11-12
    reasons: compared with run 20260101T000000-000000
    ");
    insta::assert_snapshot!(shown(&all, &basis(), 120), @r"
    plan  support bot: 1,012 calls, 588 cached, about $0.0931

    grader   calls  cached  because                            tokens in      out     cost
    quality     12     288  rubric edited 10, sample edited 2     14,200    1,500  $0.0031
    tone     1,000     300  rubric edited                      1,180,000  125,000   $0.090

    tokens: about 1,200,000 in (by a tokenizer), 127,000 out (by the mean of 288 cached judgments)
    prices: evalrs.toml, else list prices of 2026-11-12
    reasons: compared with run 20260101T000000-000000
    ");
    insta::assert_snapshot!(shown(&all, &basis(), 36), @r"
    plan  support bot: 1,012 calls,
      588 cached, about $0.0931

    quality
      calls: 12  cached: 288
      because: rubric edited 10,
        sample edited 2
      tokens in: 14,200  out: 1,500
      cost: $0.0031
    tone
      calls: 1,000  cached: 300
      because: rubric edited
      tokens in: 1,180,000  out: 125,000
      cost: $0.090

    tokens: about 1,200,000 in (by a
      tokenizer), 127,000 out (by the
      mean of 288 cached judgments)
    prices: evalrs.toml, else list
      prices of 2026-11-12
    reasons: compared with run
      20260101T000000-000000
    ");
}

#[test]
fn the_same_as_json() {
    let quality = line(300, &[("rubric edited", 10), ("sample edited", 2)], Some(3_100_000));
    let all = plan(vec![("accuracy", PlanLine::default()), ("quality", quality.clone())], quality);
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
    insta::assert_snapshot!(shown(&all, &basis, 80), @r"
    plan  support bot: 5 calls, 0 cached, cost unknown

    grader  calls  cached  because    tokens in  out  cost
    a           3       0  first run      3,550  375     -
    b           2       0  first run      2,370  250    $0

    no price is known of `judge-1`, `x`; set it under `prices` in evalrs.toml
    tokens: about 5,920 in (by a tokenizer), 625 out (by the mean of 1 cached
      judgment, 150 where none is cached)
    reasons: no earlier run is recorded
    ");
    let basis = PlanBasis { recorded: 0, ..basis };
    let text = shown(&all, &basis, 100);
    assert!(text.contains(" out (150 a judgment, none is cached)\n"), "{text}");
}

#[test]
fn a_plan_that_leads_to_more_says_so() {
    let open = |line: PlanLine| PlanLine { at_least: true, ..line };
    let extracted = open(line(4, &[("first run", 4)], Some(3_100_000)));
    let shared = open(line(0, &[], Some(0)));
    let all = plan(vec![("a", extracted.clone()), ("b", shared)], extracted.clone());
    insta::assert_snapshot!(shown(&all, &basis(), 100), @r"
    plan  support bot: at least 4 calls, 0 cached, about $0.0031

    grader  calls  cached  because    tokens in  out     cost
    a         ≥ 4       0  first run      4,730  500  $0.0031
    b         ≥ 0       0

    tokens: about 4,730 in (by a tokenizer), 500 out (by the mean of 288 cached judgments)
    prices: evalrs.toml, else list prices of 2026-11-12
    at least: calls that depend on extracted submissions, grades or first verdicts are not known yet
    reasons: compared with run 20260101T000000-000000
    ");
    let programs = PlanLine { tokens: TokenEstimate::default(), ..extracted };
    let text = shown(&plan(Vec::new(), programs), &basis(), 100);
    assert!(text.contains(": at least 4 calls to programs, 0 cached\n"), "{text}");
}

#[test]
fn failures_that_are_replayed_are_named() {
    for (failures, expected) in [
        (0, None),
        (1, Some("1 cached failure is replayed; `--retry-errors` retries")),
        (1_200, Some("1,200 cached failures are replayed; `--retry-errors` retries")),
    ] {
        let totals = PlanLine { failures, ..line(2_000, &[], Some(0)) };
        let text = shown(&plan(Vec::new(), totals), &basis(), 80);
        let after = text.split("plan  support bot: no calls, 2,000 cached\n").nth(1).unwrap();
        assert_eq!(after.lines().nth(1), expected);
    }
}

#[test]
fn no_calls_are_one_line() {
    let cached = plan(vec![("quality", line(300, &[], Some(0)))], line(300, &[], Some(0)));
    insta::assert_snapshot!(shown(&cached, &basis(), 80), @r"
    plan  support bot: no calls, 300 cached

    grader   calls  cached
    quality      0     300
    ");
    let nothing = plan(vec![("accuracy", PlanLine::default())], PlanLine::default());
    insta::assert_snapshot!(shown(&nothing, &PlanBasis::default(), 80), @"plan  support bot: no calls, no judge is needed");
}

#[test]
fn secrets_are_said_to_be_in_no_key() {
    let all = plan(vec![("a", PlanLine::default())], PlanLine::default());
    for (secrets, expected) in [
        (&[][..], ""),
        (
            &["MY_TOKEN"],
            "`MY_TOKEN` is a secret: its value is in no key, so another value makes no program run again",
        ),
        (
            &["A_TOKEN", "SALT"],
            "`A_TOKEN`, `SALT` are secrets: their values are in no key, so other values make no program run again",
        ),
    ] {
        let secrets = secrets.iter().map(|name| (*name).to_owned()).collect();
        let basis = PlanBasis { secrets, ..PlanBasis::default() };
        let text = shown(&all, &basis, 200);
        let told = text.lines().skip(2).collect::<Vec<_>>().join("\n");
        assert_eq!(told, expected, "{text}");
    }
}
