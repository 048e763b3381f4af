//! `evalrs compare`: results of several runs beside each other, by built-in strategies and by programs of the user.

use serde_json::{Value, json};

use crate::programs::executable;
use crate::space::{Ran, Space, has, jsonl};

/// What an agent answered, as `evalrs grade` writes it: without what only `capture` knows.
fn result(id: &str, output: &str, score: f64, total: u32) -> Value {
    json!({
        "id": id, "input": "q", "hint": "h", "output": output,
        "trajectory": [{"type": "message", "content": output, "timestamp": 0}], "toolErrors": false,
        "timing": {"start": 0, "end": total, "total": total}, "score": {"pass": score >= 0.5, "score": score},
    })
}

fn trials(id: &str, passes: [bool; 2]) -> Value {
    let share = f64::from(u8::from(passes[0]) + u8::from(passes[1])) / 2.0;
    let trials = passes.iter().zip(1..).map(
        |(pass, number)| json!({"trialNum": number, "output": "", "trajectory": [], "duration": 10, "pass": pass}),
    );
    json!({
        "id": id, "input": "q", "k": 2, "trials": trials.collect::<Value>(), "passRate": share,
        "passAtK": 1.0 - (1.0 - share).powi(2), "passExpK": share.powi(2),
    })
}

fn space() -> Space {
    Space::new(&[
        (
            "a/results.jsonl",
            &jsonl([result("one", "long answer", 1.0, 1000), result("two", "x", 0.0, 100)]),
        ),
        (
            "b/results.jsonl",
            &jsonl([
                result("one", "short", 0.5, 3000),
                result("two", "xyz", 1.0, 300),
                result("three", "", 0.0, 1),
            ]),
        ),
        ("old.jsonl", &jsonl([trials("one", [true, false]), trials("two", [true, true])])),
        ("new.jsonl", &jsonl([trials("one", [true, true]), trials("two", [true, true])])),
    ])
}

const RUNS: [&str; 4] = ["--run", "a:a/results.jsonl", "--run", "b:b/results.jsonl"];

fn report(ran: &Ran) -> Value {
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    serde_json::from_str(&ran.stdout()).unwrap()
}

fn winners(ran: &Ran) -> Vec<Value> {
    let report = report(ran);
    let prompts = report["headToHead"]["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["winner"].clone()).collect()
}

#[test]
fn what_is_wrong_is_said_in_order_and_nothing_is_written() {
    let space = space();
    space.write("bad.jsonl", "{\"trajectory\":[],\"timing\":{}}\n");
    space.write("empty.jsonl", "\n \n");
    let two = "a:a/results.jsonl b:b/results.jsonl";
    for (line, expected) in [
        ("", "Error: At least 2 result files required for comparison"),
        ("no.jsonl -s x", "Error: At least 2 result files required"),
        (
            "a/results.jsonl b/results.jsonl",
            "Error: Duplicate label 'results' (a/results.jsonl and b/results.jsonl)",
        ),
        (":a/results.jsonl b/results.jsonl", "Error: Empty label for `a/results.jsonl`"),
        (
            "no.jsonl --run x:none b/results.jsonl -s x",
            "Error: Result file(s) not found:\n  no: no.jsonl\n  x: none\n",
        ),
        ("a b/results.jsonl", "Error: cannot read `a`: it is a folder"),
        ("-s x -f x {}", "Error: Invalid strategy 'x'. Use: weighted, statistical, or custom"),
        ("-s custom -f x {}", "Error: --grader is required when using --strategy custom"),
        ("-f x --input-format x {}", "Error: Invalid format 'x'. Use: json or markdown"),
        ("--input-format x {}", "Error: Invalid input format 'x'. Use: auto, capture, or trials"),
        (
            "a:a/results.jsonl old.jsonl",
            "Error: Format mismatch: a/results.jsonl is capture, but old.jsonl is trials",
        ),
        ("empty.jsonl old.jsonl", "Error: Empty file: empty.jsonl"),
        (
            "bad.jsonl a:a/results.jsonl",
            "Error: Invalid result at line 1: `id` is missing (in bad.jsonl)",
        ),
        (
            "{} --input-format trials",
            "Error: Invalid trial result at line 1: `k` is missing (in a/results.jsonl)",
        ),
        ("{} -s custom -g no.py", "Error: Grader not found: "),
        ("{} --nonsense", "unexpected argument '--nonsense'"),
        ("{} -o", "a value is required"),
    ] {
        space.write("out", "old");
        let line = format!("compare -o out {}", line.replace("{}", two));
        let ran = space.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{line}: {}", ran.stderr());
        assert!(ran.stderr().contains(expected), "{line}: {}", ran.stderr());
        assert_eq!(space.read("out"), "old", "{line}");
    }
}

#[test]
fn results_of_runs_are_compared() {
    let space = space();
    let ran = space.run(&[&["compare", "--progress"][..], &RUNS].concat());
    assert_eq!(
        ran.stderr(),
        "a: 2 records\nb: 3 records\ncomparing capture results: 3 prompts, 2 of them in several runs\n"
    );
    assert!(ran.stdout().contains("\n  \"meta\": {\n    \"generatedAt\": \""), "{}", ran.stdout());
    let mut report = report(&ran);
    report["meta"]["generatedAt"] = json!("now");
    let text = report.to_string();
    insta::assert_snapshot!(text, @r#"{"meta":{"generatedAt":"now","runs":["a","b"],"promptCount":3,"promptsWithAllRuns":2},"quality":{"a":{"type":"run","avgScore":0.5,"passRate":0.5,"passCount":1,"failCount":1,"scoreDistribution":{"0.0-0.2":1,"0.2-0.4":0,"0.4-0.6":0,"0.6-0.8":0,"0.8-1.0":1}},"b":{"type":"run","avgScore":0.5,"passRate":0.6666666666666666,"passCount":2,"failCount":1,"scoreDistribution":{"0.0-0.2":1,"0.2-0.4":0,"0.4-0.6":1,"0.6-0.8":0,"0.8-1.0":1}}},"performance":{"a":{"latency":{"p50":1000,"p90":1000,"p99":1000,"mean":550,"min":100,"max":1000},"totalDuration":1100},"b":{"latency":{"p50":300,"p90":3000,"p99":3000,"mean":1100.3333333333333,"min":1,"max":3000},"totalDuration":3301}},"reliability":{"a":{"type":"run","toolErrors":0,"toolErrorRate":0,"timeouts":0,"timeoutRate":0,"completionRate":1},"b":{"type":"run","toolErrors":0,"toolErrorRate":0,"timeouts":0,"timeoutRate":0,"completionRate":0.6666666666666666}},"trajectoryInfo":{"a":{"richness":"messages-only","avgStepCount":1},"b":{"richness":"messages-only","avgStepCount":1}},"headToHead":{"prompts":[{"id":"one","winner":"a","scores":{"a":0.8500000000000001,"b":0.525},"latencies":{"a":1000,"b":3000},"hadErrors":{"a":false,"b":false}},{"id":"two","winner":"b","scores":{"b":0.9307692307692308,"a":0.4727272727272727},"latencies":{"a":100,"b":300},"hadErrors":{"a":false,"b":false}}],"pairwise":[{"runA":"a","runB":"b","aWins":1,"bWins":1,"ties":0}]}}"#);
    // Quality alone, as the environment says.
    let quality = |value: &str| {
        let mut command = space.command(&[&["compare"][..], &RUNS].concat());
        for name in ["COMPARE_LATENCY", "COMPARE_RELIABILITY"] {
            command.env(name, "0");
        }
        let ran = command.env("COMPARE_QUALITY", value).output().unwrap();
        (
            serde_json::from_slice::<Value>(&ran.stdout).unwrap(),
            String::from_utf8(ran.stderr).unwrap(),
        )
    };
    let (report, _) = quality("2");
    assert_eq!(report["headToHead"]["prompts"][0]["scores"], json!({"a": 2, "b": 1}));
    let (_, warning) = quality("two");
    assert_eq!(warning, "warning: COMPARE_QUALITY is not a number, so it is passed over\n");
}

#[test]
fn the_same_results_give_the_same_statistics() {
    let space = space();
    let compare =
        |more: &[&str]| space.run(&[&["compare", "-s", "statistical"], more, &RUNS].concat());
    let mut one = report(&compare(&[]));
    let mut other = report(&compare(&[]));
    for report in [&mut one, &mut other] {
        report["meta"]["generatedAt"].take();
    }
    assert_eq!(one, other);
    assert_eq!(one["quality"]["a"]["confidenceIntervals"]["avgScore"], json!([0, 1]));
    assert_eq!(
        one["headToHead"]["pairwise"][0],
        json!({"runA": "a", "runB": "b", "aWins": 1, "bWins": 1, "ties": 0})
    );
    assert_eq!(compare(&["-o", "new/report.MD"]).shown(), "exit: 0\n--- stdout\n--- stderr\n");
    let text = space.read("new/report.MD");
    assert!(text.starts_with("# Comparison Report\n\nGenerated: 2"), "{text}");
    assert!(
        text.contains("\n| a | 0.500 | [0.000, 1.000] | 50.0% | [0.000, 1.000] | 1 | 1 |\n"),
        "{text}"
    );
    assert!(text.ends_with("| a vs b | 1 | 1 | 0 |\n"), "{text}");
    assert_eq!(compare(&["-o", "report.md", "-f", "json"]).code(), 0);
    assert!(space.read("report.md").starts_with("{\n"));
}

#[test]
fn trials_are_compared_where_the_files_hold_trials() {
    let space = space();
    let value = report(&space.run(&["compare", "old.jsonl", "new.jsonl"]));
    let members: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "meta",
            "capability",
            "reliability",
            "flakiness",
            "performance",
            "headToHead",
            "perPrompt"
        ]
    );
    assert_eq!(value["meta"]["runs"], json!(["old", "new"]));
    assert_eq!(value["capability"]["old"]["avgPassAtK"], json!(0.875));
    assert_eq!(
        value["reliability"]["old"],
        json!({"type": "trial", "avgPassExpK": 0.625, "medianPassExpK": 1, "p25PassExpK": 0.25, "p75PassExpK": 1})
    );
    assert_eq!(
        value["flakiness"]["old"]["topFlakyPrompts"],
        json!([{"id": "one", "flakiness": 0.5}])
    );
    assert_eq!(value["perPrompt"][0]["capabilityWinner"], "new");
    assert_eq!(value["perPrompt"][1]["capabilityWinner"], Value::Null);
}

/// Checks a document by the schema of this name that the binary prints.
#[track_caller]
fn check(space: &Space, name: &str, document: &Value) {
    let schema = space.run(&["schemas", name]).stdout();
    let schema = serde_json::from_str(&schema).unwrap();
    let errors: Vec<String> = jsonschema::draft202012::new(&schema)
        .unwrap()
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
}

#[test]
fn reports_and_what_graders_are_handed_are_as_the_schemas_say() {
    let space = space();
    for strategy in ["weighted", "statistical"] {
        let args = ["compare", "-s", strategy];
        check(&space, "ComparisonReport", &report(&space.run(&[&args[..], &RUNS].concat())));
        let of_trials = report(&space.run(&[&args[..], &["old.jsonl", "new.jsonl"]].concat()));
        check(&space, "TrialsComparisonReport", &of_trials);
    }
    // A grader that keeps what it is handed.
    space.write(
        "keep.sh",
        "#!/bin/sh\nmkdir -p handed\ncat > handed/$$\necho '{\"rankings\":[]}'\n",
    );
    executable(&space, "keep.sh");
    for runs in [&RUNS[..], &["old.jsonl", "new.jsonl"]] {
        let ran = space.run(&[&["compare", "-s", "custom", "-g", "keep.sh"], runs].concat());
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        let handed = space.names("handed");
        assert!(!handed.is_empty());
        for name in handed {
            let input = serde_json::from_str(&space.read(&format!("handed/{name}"))).unwrap();
            check(&space, "ComparisonInput", &input);
        }
    }
    let rankings = json!({"rankings": [{"run": "a", "rank": 1, "score": -3.5}], "reasoning": "r"});
    check(&space, "ComparisonResult", &rankings);
}

#[test]
fn what_was_extracted_and_graded_is_compared() {
    let space = space();
    let event = |text: &str| json!({"type": "result", "result": text}).to_string();
    for (run, text) in [("x", "Paris"), ("y", "Rome")] {
        let raw = json!({
            "id": "a", "input": "q", "hint": "Paris", "rawLines": [event(text)],
            "timing": {"start": 1, "end": 5, "total": 4},
        });
        space.write(&format!("{run}.raw.jsonl"), jsonl([raw]));
        space.write("grade.sh", "#!/bin/sh\nif grep -q '\"output\":\"Paris' ; then echo '{\"pass\":true,\"score\":1}'; else echo '{\"pass\":false,\"score\":0}'; fi\n");
        executable(&space, "grade.sh");
        let file = |step: &str| format!("{run}.{step}.jsonl");
        for args in [
            ["extract", &file("raw"), "-s", "claude-code", "-o", &file("extracted")],
            ["grade", &file("extracted"), "-g", "grade.sh", "-o", &file("graded")],
        ] {
            assert_eq!(space.run(&args).code(), 0);
        }
    }
    let ran = space.run(&["compare", "x.graded.jsonl", "y.graded.jsonl"]);
    assert_eq!(winners(&ran), ["x.graded"]);
    check(&space, "ComparisonReport", &report(&ran));
}

/// Prefers the longest output, and keeps a count of its calls.
const LONGEST: &str = r#"#!/usr/bin/env python3
import json, sys

def rank(matchup):
    runs = matchup["runs"]
    order = sorted(runs, key=lambda run: -len(runs[run]["output"]))
    rankings = [{"run": run, "rank": at + 1, "score": len(runs[run]["output"])} for at, run in enumerate(order)]
    return {"rankings": rankings, "reasoning": "the longest"}

if __name__ == "__main__":
    with open("calls", "a") as calls:
        calls.write("x")
    print(json.dumps(rank(json.load(sys.stdin))))
"#;

const MODULE: &str = "
const rank = async ({ id, runs }) => ({
  rankings: Object.entries(runs).map(([run, { output }]) => ({ run, rank: output.length > 4 ? 1 : 2, score: output.length })),
})
export default rank
";

#[test]
fn a_program_ranks_and_is_not_asked_twice() {
    let space = space();
    space.write("rank.py", LONGEST);
    executable(&space, "rank.py");
    let compare = |grader: &str, more: &[&str]| {
        let args = ["compare", "-s", "custom", "--progress", "-g", grader];
        space.run(&[&args, more, &RUNS].concat())
    };
    let ran = compare("rank.py", &[]);
    assert_eq!(winners(&ran), ["a", "b"]);
    assert!(ran.stderr().ends_with("0 cached, 2 called\n"), "{}", ran.stderr());
    assert_eq!(report(&ran)["headToHead"]["prompts"][0]["scores"], json!({"a": 11, "b": 5}));
    let again = compare("rank.py", &["--frozen"]);
    assert!(again.stderr().ends_with("2 cached, 0 called\n"), "{}", again.stderr());
    assert_eq!((winners(&again), space.read("calls").as_str()), (winners(&ran), "xx"));
    space.write(
        "a/results.jsonl",
        jsonl([result("one", "long answer", 1.0, 1000), result("two", "wxyz", 0.0, 100)]),
    );
    let edited = compare("rank.py", &[]);
    assert!(edited.stderr().ends_with("1 cached, 1 called\n"), "{}", edited.stderr());
    assert_eq!(winners(&edited), ["a", "a"]);
    assert_eq!(winners(&compare("rank.py:rank", &[])), ["a", "a"], "a function of a Python file");
    if !has("node") {
        return;
    }
    space.write("rank.mjs", MODULE);
    // Nobody is first with an output of four characters, and of two the one that is named first.
    assert_eq!(winners(&compare("rank.mjs", &["--runtime", "node"])), [json!("a"), Value::Null]);
    let ran = space.run(&[
        "compare",
        "-s",
        "custom",
        "-g",
        "rank.mjs",
        "--runtime",
        "node",
        "old.jsonl",
        "new.jsonl",
    ]);
    assert!(ran.code() == 1 && ran.stderr().contains("at the prompt `one`"), "{}", ran.stderr());
}

#[test]
fn a_program_that_fails_or_says_nonsense_ends_the_comparison() {
    let space = space();
    for (text, expected) in [
        (
            "exit 3",
            "Error: Comparison grader exited with code 3: No error output\n  at the prompt `one`\n",
        ),
        ("echo", "Error: Comparison grader produced no output\n"),
        ("echo a wins", "Error: Grader output is not valid JSON: a wins\n"),
        (
            "echo '{}'",
            "Error: Invalid comparison result: `rankings` must be a list, found nothing\n",
        ),
        (
            r#"echo '{"rankings":[{"run":"c","rank":1,"score":1}]}'"#,
            "Error: Invalid comparison result: `rankings[0].run` is `c`, which is none of the runs a, b\n  at the prompt `one`\n",
        ),
    ] {
        space.write("rank.sh", format!("#!/bin/sh\n{text}\n"));
        executable(&space, "rank.sh");
        let ran = space
            .run(&[&["compare", "-s", "custom", "-g", "rank.sh", "-o", "out"][..], &RUNS].concat());
        assert_eq!(ran.code(), 1, "{text}");
        assert!(ran.stderr().contains(expected), "{text}: {}", ran.stderr());
        assert!(!space.path("out").exists(), "{text}");
    }
    space.write(
        "rank.sh",
        "#!/bin/sh\necho '{\"rankings\":[{\"run\":\"b\",\"rank\":1,\"score\":1}]}'\n",
    );
    executable(&space, "rank.sh");
    let ran = space.run(&[&["compare", "-s", "custom", "-g", "rank.sh"][..], &RUNS].concat());
    assert_eq!(winners(&ran), ["b", "b"]);
    assert_eq!(report(&ran)["meta"]["promptsWithAllRuns"], 0, "the other run was not ranked");
}
