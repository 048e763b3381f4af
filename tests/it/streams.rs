//! What is written to standard output: data byte for byte, and text as wide as its reader.
#![expect(clippy::disallowed_methods, reason = "a test makes a grader executable")]

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

/// Every character that a stream for people would drop, and those that XML forbids.
const ODD: &str = "a\u{7f}b\u{80}c\u{85}d\u{9b}31me\u{9f}f\u{1b}[31mg\u{0}h\u{fffe}i";

const SUITE: &str = "\
name: odd
dataset: data.jsonl
graders:
  same: {kind: tool, function: contains}
  judged: {kind: rubric, prompt: 'Is {submission} right?', model: judge-1, endpoint: test}
";

fn rows(output: &str) -> String {
    jsonl([json!({"id": "s1", "input": "q", "output": output, "ground_truth": "yes"})])
}

fn judge() -> Judge {
    Judge::new(|number, _| {
        let score = if number == 0 { 0.5 } else { 1.0 };
        Answer::text(&json!({"score": score, "rationale": ODD}).to_string())
    })
}

/// A run over odd texts, and one before it over others.
fn ran_twice() -> Space {
    let (judge, space) =
        (judge(), Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows("x"))]));
    for output in ["x", ODD] {
        space.write("data.jsonl", rows(output));
        assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    }
    space
}

fn stdout(space: &Space, args: &[&str]) -> String {
    let ran = space.run(args);
    assert!(ran.code() < 2, "{}", ran.shown());
    String::from_utf8(ran.0.stdout).unwrap()
}

#[test]
fn json_on_standard_output_has_the_bytes_of_the_record() {
    let space = ran_twice();
    let results = space.record("results.jsonl");
    let frozen = ["run", "suite.yaml", "--frozen", "--format"];
    assert_eq!(stdout(&space, &[&frozen[..], &["jsonl"]].concat()), results);
    let whole = stdout(&space, &[&frozen[..], &["json"]].concat());
    assert!(whole.contains(results.trim_end()), "{whole:?}");
    let value: Value = serde_json::from_str(&whole).unwrap();
    let result = &value["results"][0];
    assert_eq!(result["submission"], ODD);
    assert_eq!(result["grades"]["judged"]["rationale"], ODD);
}

#[test]
fn every_json_of_a_command_says_what_was_recorded() {
    let space = ran_twice();
    let explained = stdout(&space, &["explain", "suite.yaml", "s1", "--json"]);
    let holds = |text: &str, what: &str| {
        serde_json::from_str::<Value>(text).unwrap();
        let quoted = serde_json::to_string(ODD).unwrap();
        assert!(text.contains(quoted.trim_matches('"')), "{what}: {text:?}");
    };
    holds(&explained, "explain");
    let runs = space.names(".evalrs/runs");
    holds(&stdout(&space, &["diff", &runs[0], &runs[1], "--json"]), "diff");
    space.write("suite.yaml", SUITE.replace("name: odd", r#"name: "odd\x7f\x9b\x1b[31m""#));
    let planned: Value =
        serde_json::from_str(&stdout(&space, &["plan", "suite.yaml", "--json"])).unwrap();
    assert_eq!(planned["suite"], "odd\u{7f}\u{9b}\u{1b}[31m");
}

#[test]
#[cfg(unix)]
fn graded_records_are_passed_on_unchanged() {
    let space = Space::new(&[
        ("records.jsonl", &jsonl([json!({"id": "a", "input": "q", "output": ODD})])),
        ("grade.sh", "#!/bin/sh\ncat > /dev/null\necho '{\"pass\": true, \"score\": 1}'\n"),
    ]);
    let made = std::process::Command::new("chmod").arg("+x").arg(space.path("grade.sh")).status();
    assert!(made.unwrap().success());
    let args = ["grade", "records.jsonl", "--grader", "./grade.sh"];
    let piped = stdout(&space, &args);
    stdout(&space, &[&args[..], &["-o", "out.jsonl"]].concat());
    assert_eq!(piped, space.read("out.jsonl"));
    assert_eq!(serde_json::from_str::<Value>(&piped).unwrap()["output"], ODD);
}

#[test]
fn documents_hold_what_their_format_allows() {
    let space = ran_twice();
    let frozen = ["run", "suite.yaml", "--frozen", "--format"];
    let xml = stdout(&space, &[&frozen[..], &["junit"]].concat());
    let shown = "a\u{7f}b⟨U+0080⟩c⟨U+0085⟩d⟨U+009B⟩31me⟨U+009F⟩f\u{fffd}[31mg\u{fffd}h\u{fffd}i";
    assert!(xml.contains(shown), "{xml}");
    for format in ["markdown", "github"] {
        let text = stdout(&space, &[&frozen[..], &[format]].concat());
        assert!(text.contains("abc") && !text.contains(['\u{7f}', '\u{9b}', '\u{1b}']), "{text:?}");
    }
}

const GATED: &str = "\
name: gated
dataset: data.jsonl
graders:
  judged: {kind: rubric, prompt: 'Is {submission} right?', model: judge-1, endpoint: test}
  loose: {kind: tool, function: contains}
gate: {metric_key: judged, metric: avg_score, op: gte, value: 0.5}
";

/// Rows of which the last was never judged.
fn half_judged() -> Space {
    let row = |at: usize| json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}"), "ground_truth": "x"});
    let space = Space::new(&[("evals/a.suite.yaml", GATED), ("evals/data.jsonl", "")]);
    let judge = Judge::new(|_, _| Answer::score(0.5));
    for count in [1, 2] {
        space.write("evals/data.jsonl", format!("\n{}", jsonl((0..count).map(row))));
        if count == 1 {
            assert_eq!(space.run_with(&judge, &["run", "evals"]).code(), 0);
        }
    }
    space
}

#[test]
fn annotations_say_first_what_decides_the_exit_code_and_where() {
    let space = half_judged();
    let args = ["run", "evals/a.suite.yaml", "--frozen", "--format", "github"];
    let ran = space.run(&args);
    assert_eq!(ran.code(), 3);
    insta::assert_snapshot!(ran.stdout(), @r"
    ### undecided  `gated`: 2 samples, 2 results, 1 error

    `judged avg_score >= 0.5: 0.250 (0.250 to 0.750 depending on missing grades)`

    since the last run: 1 new result

    | grader | passed | pass rate or mean [95 %] | errors |
    |:--|--:|--:|--:|
    | `judged` | 0/1 | 0.500 | 1 |
    | `loose` | 0/2 | 0.0% |  |

    | sample | `judged` | `loose` |
    |:--|:--|:--|
    | `s0` | 0.5 | ✗ |
    | `s1` | ! | ✗ |

    ✗ failed  ! error

    - 1 judgment: 10 tokens in, 2 out

    ::error file=evals/a.suite.yaml,title=gated%3A undecided::judged avg_score >= 0.5: 0.250 (0.250 to 0.750 depending on missing grades)%0A1 grade could not be made, and the gate depends on them: run `evalrs run evals/a.suite.yaml` with an API key, then `evalrs cache export evals/a.suite.yaml`, and commit the file
    ::error file=evals/data.jsonl,line=3,title=1 grade%3A could not be made::not_stored: no cached judgment, and --frozen forbids calls (first: sample s1, grader judged)%0Arun `evalrs run evals/a.suite.yaml` with an API key, then `evalrs cache export evals/a.suite.yaml`, and commit the file
    ::warning file=evals/data.jsonl,line=2,title=judged%3A s0::score 0.500: scored 0.5
    ::warning file=evals/data.jsonl,line=2,title=loose%3A s0::score 0.000: Contains ground_truth: False (expected `x`, found `answer 0`)
    ::warning file=evals/data.jsonl,line=3,title=loose%3A s1::score 0.000: Contains ground_truth: False (expected `x`, found `answer 1`)
    3 failures, 1 grade could not be made
    ");
    let mut command = space.command(&[&args[..], &["--failures", "0"]].concat());
    let summary = space.path("summary.md");
    command.env("GITHUB_STEP_SUMMARY", &summary).env("GITHUB_WORKSPACE", space.path("evals"));
    let stdout = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(stdout.starts_with("::error file=a.suite.yaml,title=gated"), "{stdout}");
    assert!(!stdout.contains("###") && stdout.lines().count() == 3, "{stdout}");
    assert!(space.read("summary.md").starts_with("### undecided  `gated`"));
    command.output().unwrap();
    assert_eq!(
        space.read("summary.md").matches("### undecided  `gated`").count(),
        2,
        "it is appended to"
    );
}

#[test]
fn the_report_says_why_the_exit_code_is_3() {
    let space = half_judged();
    let last = || {
        let stdout = space.run(&["run", "evals/a.suite.yaml", "--frozen"]).stdout();
        stdout.lines().find(|line| line.starts_with("exit code")).unwrap().to_owned()
    };
    let expected = "exit code 3: 1 grade could not be made, and the gate depends on them: run `evalrs run evals/a.suite.yaml` with an API key, then `evalrs cache export evals/a.suite.yaml`, and commit the file";
    assert_eq!(last(), expected);
    // What the gate does not look at is not the reason.
    let suite = space.read("evals/a.suite.yaml");
    let other = "  other: {kind: tool, function: recorded_score, config: {path: nowhere}}\n";
    space.write("evals/a.suite.yaml", suite.replace("graders:\n", &format!("graders:\n{other}")));
    assert_eq!(last(), expected);
}

#[test]
fn a_run_that_passes_its_gate_is_green_in_junit() {
    let space = half_judged();
    space.write("evals/b.suite.yaml", "name: b\ndataset: data.jsonl\ngraders:\n  same: {kind: tool, function: contains}\n  none: {kind: tool, function: exact_match}\ngate: {metric_key: same, metric: avg_score, op: lte, value: 0.5}\n");
    let one = space.run(&["run", "evals/b.suite.yaml", "--format", "junit"]);
    assert_eq!(one.code(), 0);
    let xml = one.stdout();
    assert!(xml.contains(r#"<testsuites name="b" tests="5" failures="0" errors="0""#), "{xml}");
    assert!(xml.contains(r#"file="evals/data.jsonl""#), "{xml}");
    assert!(xml.contains("\n\nevals/data.jsonl:2</"), "{xml}");
    let both = space.run(&["run", "evals", "--frozen", "--format", "junit"]);
    assert_eq!(both.code(), 3);
    let xml = both.stdout();
    assert!(
        xml.contains(r#"<testsuites name="evalrs" tests="10" failures="1" errors="2""#),
        "{xml}"
    );
}

#[test]
fn text_is_as_wide_as_its_reader() {
    let space = Space::new(&[
        (
            "suite.yaml",
            "name: wide\ndataset: data.jsonl\ngraders:\n  same: {kind: tool, function: exact_match}\n",
        ),
        (
            "data.jsonl",
            &jsonl([
                json!({"id": "s", "input": "q", "output": "o".repeat(60), "ground_truth": "g".repeat(60)}),
            ]),
        ),
    ]);
    let shown = |columns: &str| {
        let mut command = space.command(&["run", "suite.yaml"]);
        let command = if columns.is_empty() {
            command.env_remove("COLUMNS")
        } else {
            command.env("COLUMNS", columns)
        };
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let last_words = format!("found `{}`)", "o".repeat(60));
    assert!(shown("").contains(&last_words) && shown("300").contains(&last_words));
    let narrow = shown("50");
    let joined: String = narrow.split_whitespace().collect();
    assert!(joined.contains(&last_words.replace(' ', "")), "what is redirected is whole: {narrow}");
    let (paths, others): (Vec<&str>, Vec<&str>) =
        narrow.lines().partition(|line| line.starts_with("report: "));
    assert!(others.iter().all(|line| line.chars().count() <= 50), "{narrow}");
    assert!(space.path(paths[0].trim_start_matches("report: ")).is_dir(), "{narrow}");
}

#[test]
fn the_verb_of_a_command_line_can_be_changed() {
    let space = half_judged();
    space.write("l.csv", "id,label\ns0,pass\n");
    for verb in [&["run"][..], &["plan"], &["cache", "export"]] {
        let rest = ["evals/a.suite.yaml", "--labels", "l.csv"];
        let ran = space
            .run(&[verb, &rest[..], if verb == ["run"] { &["--frozen"] } else { &[] }].concat());
        assert_ne!(ran.code(), 2, "{}", ran.shown());
    }
    let ran = space.run(&["explain", "evals/a.suite.yaml", "s0", "--labels", "l.csv"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}

#[test]
fn completions_are_there_for_every_shell() {
    let space = half_judged();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = stdout(&space, &["completions", shell]);
        assert!(text.contains("EVALRS_COMPLETE"), "{shell}");
    }
    // What the script asks.
    let asked = |words: &[&str]| {
        let mut command = space.command(&["--", "evalrs"]);
        command.args(words).env("EVALRS_COMPLETE", "bash").env("_CLAP_IFS", " ");
        command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let suite = "evals/a.suite.yaml";
    for (words, expected) in [
        (&["validate-"][..], "validate-refs"),
        (&["run", "evals/a"], suite),
        (&["run", suite, "--sample", "s0"], "s0"),
        (&["explain", suite, "s0", "jud"], "judged"),
        (&["run", suite, "--grader", "none"], ""),
        (&["run", "missing.yaml", "--grader", ""], ""),
    ] {
        assert_eq!(asked(words), expected, "{words:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let space = Space::new(&[]);
    assert!(stdout(&space, &["man"]).starts_with(".ie"));
    let wrote = stdout(&space, &["man", "--output", "man"]);
    for page in ["evalrs.1", "evalrs-run.1", "evalrs-cache-gc.1"] {
        assert!(wrote.contains(&format!("wrote man/{page}\n")), "{wrote}");
    }
    assert!(space.read("man/evalrs-run.1").contains("SUITE") && !wrote.contains("strip"));
}
