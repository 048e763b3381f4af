//! Tests of comparisons.

use serde_json::{Value, json};

use super::capture::CaptureWeights;
use super::statistics::{Bootstrap, Interval, percentile};
use super::trials::TrialsWeights;
use super::{ComparedRun, Matchups, capture, trials};
use crate::trial_rates::TrialRates;
use crate::words::fixed;

fn run(label: &str, records: &Value) -> ComparedRun {
    let records =
        records.as_array().unwrap().iter().map(|record| record.as_object().unwrap().clone());
    ComparedRun::new(label.to_owned(), records.collect())
}

fn result(id: &str, score: Option<f64>, total: f64, tool_errors: bool) -> Value {
    let mut record = json!({
        "id": id, "input": "q", "output": "o", "toolErrors": tool_errors,
        "trajectory": [{"type": "message", "content": "o", "timestamp": 0}],
        "timing": {"start": 0, "end": total, "total": total},
    });
    if let Some(score) = score {
        record["score"] = json!({"pass": score >= 0.5, "score": score});
    }
    record
}

fn runs() -> [ComparedRun; 2] {
    let mut late = result("only-b", None, 400.0, true);
    late["errors"] = json!(["agent Timeout after 60 s"]);
    late["metadata"] = json!({"trajectoryRichness": "full"});
    [
        run(
            "a",
            &json!([
                result("one", Some(1.0), 1000.0, false),
                result("two", Some(0.25), 2000.0, false)
            ]),
        ),
        run(
            "b",
            &json!([
                result("two", Some(0.0), 1.0, true),
                result("one", Some(1.0), 3000.0, false),
                late,
                result("two", Some(0.25), 2000.0, false),
            ]),
        ),
    ]
}

#[test]
fn prompts_that_two_runs_have_are_compared() {
    let runs = runs();
    let matchups = Matchups::of(&runs);
    let ids: Vec<&str> = matchups.compared.iter().map(|matchup| matchup.id).collect();
    assert_eq!((matchups.prompts, ids), (3, vec!["one", "two"]));
    assert_eq!(runs[1].records.len(), 3, "the last record of an id counts");
    // 1.0 * 0.5 + 0.3 / (1 + 1) + 0.2, and 1.0 * 0.5 + 0.3 / (1 + 3) + 0.2.
    let ranks = capture::rank_weighted(&matchups.compared[0], CaptureWeights::default());
    let shown: Vec<_> =
        ranks.iter().map(|rank| (rank.run, rank.rank, (rank.score * 1e9).round() / 1e9)).collect();
    assert_eq!(shown, [(0, 1, 0.85), (1, 2, 0.775)]);
    let tie = capture::rank_statistical(&matchups.compared[1]);
    assert_eq!((tie[0].run, tie[0].rank, tie[1].rank), (0, 1, 2), "the earlier run wins a tie");
    let input = capture::grader_input(&matchups.compared[0], &runs);
    assert_eq!(input["runs"]["b"]["duration"], json!(3000.0));
    assert_eq!(input["id"], "one");
}

#[test]
fn a_comparison_counts_all_records_of_a_run() {
    let runs = runs();
    let ranks: Vec<_> = Matchups::of(&runs)
        .compared
        .iter()
        .map(|matchup| capture::rank_weighted(matchup, CaptureWeights::default()))
        .collect();
    let comparison = capture::compare(&runs, &ranks, None, "2026-01-01T00:00:00Z");
    let value = json!(comparison);
    assert_eq!(value["quality"]["b"]["avgScore"], json!(1.25 / 3.0));
    assert_eq!(value["quality"]["b"]["failCount"], 2);
    assert_eq!(value["reliability"]["b"]["timeouts"], 1);
    assert_eq!(value["reliability"]["b"]["completionRate"], json!(2.0 / 3.0));
    assert_eq!(value["trajectoryInfo"]["a"]["richness"], "messages-only");
    assert_eq!(value["trajectoryInfo"]["b"]["richness"], "full");
    assert_eq!(value["headToHead"]["prompts"][0]["winner"], "a");
    assert_eq!(value["quality"]["a"]["confidenceIntervals"], Value::Null);
    insta::assert_snapshot!(capture::markdown(&comparison), @r"
    # Comparison Report

    Generated: 2026-01-01T00:00:00Z
    Runs: a, b
    Prompts: 3 total, 2 with all runs

    ## Quality

    | Run | Avg Score | Pass Rate | Pass | Fail |
    | --- | --------- | --------- | ---- | ---- |
    | a | 0.625 | 50.0% | 1 | 1 |
    | b | 0.417 | 33.3% | 1 | 2 |

    ## Performance

    | Run | P50 (ms) | P90 (ms) | P99 (ms) | Mean (ms) |
    | --- | -------- | -------- | -------- | --------- |
    | a | 2000 | 2000 | 2000 | 1500 |
    | b | 2000 | 3000 | 3000 | 1800 |

    ## Reliability

    | Run | Tool Errors | Error Rate | Completion Rate |
    | --- | ----------- | ---------- | --------------- |
    | a | 0 | 0.0% | 100.0% |
    | b | 1 | 33.3% | 66.7% |

    ## Head-to-Head

    | Matchup | A Wins | B Wins | Ties |
    | ------- | ------ | ------ | ---- |
    | a vs b | 2 | 0 | 0 |
    ");
    let statistical = capture::compare(&runs, &ranks, Some(Bootstrap::default()), "x");
    let text = capture::markdown(&statistical);
    assert!(
        text.contains("| Run | Avg Score | 95% CI | Pass Rate | 95% CI | Pass | Fail |"),
        "{text}"
    );
}

fn trial(id: &str, passes: &[bool]) -> Value {
    let passed = passes.iter().filter(|pass| **pass).count();
    let rates = TrialRates::of(passed, passes.len()).unwrap();
    let trials = passes.iter().zip(1..).map(|(pass, number)| {
        json!({"trialNum": number, "output": "", "trajectory": [], "duration": 100 * number, "pass": pass,
            "score": f64::from(u8::from(*pass))})
    });
    json!({
        "id": id, "input": "q", "k": passes.len(), "trials": trials.collect::<Value>(), "passRate": rates.share,
        "passAtK": rates.at_least_one, "passExpK": rates.all,
    })
}

fn runs_of_trials() -> [ComparedRun; 2] {
    let run = |label, last| {
        let one = [true, true, last, true, false];
        run(label, &json!([trial("one", &one), trial("two", &[true; 5])]))
    };
    [run("a", false), run("b", true)]
}

#[test]
fn trials_are_compared_by_what_is_possible_and_what_is_certain() {
    let runs = runs_of_trials();
    let matchups = Matchups::of(&runs);
    let ranks: Vec<_> = matchups
        .compared
        .iter()
        .map(|matchup| trials::rank_weighted(matchup, TrialsWeights::default()))
        .collect();
    assert_eq!(ranks[0][0].run, 1);
    let comparison = trials::compare(&runs, &ranks, None, "x");
    let value = json!(comparison);
    let rounded = |value: &Value| fixed(value.as_f64().unwrap(), 5);
    // The published rates of 3 and 4 of 5.
    assert_eq!(rounded(&value["perPrompt"][0]["passAtK"]["a"]), "0.98976");
    assert_eq!(rounded(&value["perPrompt"][0]["passExpK"]["a"]), "0.07776");
    assert_eq!(rounded(&value["perPrompt"][0]["passAtK"]["b"]), "0.99968");
    assert_eq!(rounded(&value["perPrompt"][0]["passExpK"]["b"]), "0.32768");
    assert_eq!(value["perPrompt"][1]["capabilityWinner"], Value::Null, "a tie");
    assert_eq!(value["headToHead"]["capability"][0]["bWins"], 1);
    assert_eq!(value["headToHead"]["overall"][0]["aWins"], 1, "the earlier run wins what is equal");
    assert_eq!(value["flakiness"]["a"]["topFlakyPrompts"][0]["id"], "one");
    assert_eq!(value["flakiness"]["a"]["flakyPromptCount"], 1);
    assert_eq!(value["meta"]["trialsPerPrompt"], json!(5.0));
    let ranks = trials::rank_statistical(&matchups.compared[0], Bootstrap::default());
    assert_eq!(ranks.iter().map(|rank| rank.run).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(trials::grader_input(&matchups.compared[0], &runs)["runs"]["a"]["k"], 5);
}

#[test]
fn a_comparison_of_trials_is_told_to_people() {
    let runs = runs_of_trials();
    let rank = |matchup: &_| trials::rank_weighted(matchup, TrialsWeights::default());
    let ranks: Vec<_> = Matchups::of(&runs).compared.iter().map(rank).collect();
    let comparison = trials::compare(&runs, &ranks, None, "x");
    insta::assert_snapshot!(trials::markdown(&comparison), @r"
    # Trials Comparison Report

    Generated: x
    Runs: a, b
    Prompts: 2 | Trials per prompt: 5

    ## Capability (passAtK)

    | Run | Avg | Median | P25 | P75 |
    | --- | --- | ------ | --- | --- |
    | a | 0.995 | 1.000 | 0.990 | 1.000 |
    | b | 1.000 | 1.000 | 1.000 | 1.000 |

    ## Reliability (passExpK)

    | Run | Avg | Median | P25 | P75 |
    | --- | --- | ------ | --- | --- |
    | a | 0.539 | 1.000 | 0.078 | 1.000 |
    | b | 0.664 | 1.000 | 0.328 | 1.000 |

    ## Flakiness

    | Run | Avg | Median | Flaky Prompts |
    | --- | --- | ------ | ------------- |
    | a | 0.456 | 0.912 | 1 |
    | b | 0.336 | 0.672 | 1 |

    ## Quality (Scores)

    | Run | Avg Score | Median | P25 | P75 |
    | --- | --------- | ------ | --- | --- |
    | a | 0.800 | 1.000 | 1.000 | 1.000 |
    | b | 0.900 | 1.000 | 1.000 | 1.000 |

    ## Performance (Latency)

    | Run | P50 (ms) | P90 (ms) | P99 (ms) | Mean (ms) | Total (ms) |
    | --- | -------- | -------- | -------- | --------- | ---------- |
    | a | 300 | 500 | 500 | 300 | 3000 |
    | b | 300 | 500 | 500 | 300 | 3000 |

    ## Head-to-Head

    ### By Capability
    | Matchup | A Wins | B Wins | Ties |
    | ------- | ------ | ------ | ---- |
    | a vs b | 0 | 1 | 1 |

    ### By Reliability
    | Matchup | A Wins | B Wins | Ties |
    | ------- | ------ | ------ | ---- |
    | a vs b | 0 | 1 | 1 |

    ### Overall (Weighted)
    | Matchup | A Wins | B Wins | Ties |
    | ------- | ------ | ------ | ---- |
    | a vs b | 1 | 1 | 0 |
    ");
    let comparison = trials::compare(&runs, &ranks, Some(Bootstrap::default()), "x");
    let text = trials::markdown(&comparison);
    for head in [
        "| Run | Avg | 95% CI | Median |",
        "| Run | Avg Score | 95% CI | Median |",
        "| Mean (ms) | 95% CI | Total (ms) |",
    ] {
        assert!(text.contains(head), "{head}: {text}");
    }
}

#[test]
fn percentiles_and_intervals_are_those_of_the_published_program() {
    let ten: Vec<f64> = (1..=10).map(f64::from).collect();
    let shown = [0.5, 0.9, 0.99].map(|share| fixed(percentile(&ten, share), 0));
    assert_eq!(shown, ["6", "10", "10"]);
    assert_eq!(fixed(percentile(&[], 0.5), 0), "0");
    let bootstrap = Bootstrap::default();
    assert_eq!(bootstrap.interval(&[]), Interval(0.0, 0.0));
    assert_eq!(bootstrap.interval(&[0.5]), Interval(0.5, 0.5));
    let Interval(lower, upper) = bootstrap.interval(&[0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
    // The normal approximation gives 0.625 ± 0.335.
    assert!((0.2..0.4).contains(&lower) && (0.85..=1.0).contains(&upper), "{lower} {upper}");
    assert_eq!(
        bootstrap.interval(&[0.0, 1.0, 1.0]),
        bootstrap.interval(&[0.0, 1.0, 1.0]),
        "the same seed"
    );
}

#[test]
fn records_may_lack_everything() {
    let empty =
        [run("a", &json!([])), run("b", &json!([{"id": "x"}])), run("c", &json!([{"id": "x"}]))];
    let matchups = Matchups::of(&empty);
    let ranks: Vec<_> = matchups.compared.iter().map(capture::rank_statistical).collect();
    let value = json!(capture::compare(&empty, &ranks, Some(Bootstrap::default()), "x"));
    assert_eq!(value["reliability"]["a"]["completionRate"], json!(1.0));
    assert_eq!(value["headToHead"]["prompts"][0]["latencies"]["b"], Value::Null);
    let ranks: Vec<_> = matchups
        .compared
        .iter()
        .map(|one| trials::rank_weighted(one, TrialsWeights::default()))
        .collect();
    let comparison = trials::compare(&empty, &ranks, Some(Bootstrap::default()), "x");
    assert!(json!(comparison).get("quality").is_none());
}
