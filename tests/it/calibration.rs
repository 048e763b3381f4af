//! `evalrs calibrate --suite`: what it writes, when that is stale, and what runs make of it.
#![expect(clippy::disallowed_methods, reason = "tests move suites themselves")]

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, pass_threshold: 0.5}
labels: {path: labels.csv, for: [quality]}
";

const FILE: &str = "cache/support.calibration.json";

/// Twelve rows: the judge passes those that say yes, and people contradict it on two.
fn space() -> Space {
    let said = |at: usize| if at.is_multiple_of(2) { "yes" } else { "no" };
    let row = |at: usize| json!({"id": format!("r{at}"), "input": "May I?", "ground_truth": "yes", "output": said(at)});
    let label = |at: usize| {
        let passes = at.is_multiple_of(2) != [3, 4].contains(&at);
        format!("r{at},{}\n", if passes { "pass" } else { "fail" })
    };
    let labels: String = (0..12).map(label).collect();
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines((0..12).map(row)))]);
    space.write("rubric.txt", "Does it agree? Reply: {submission}.\n");
    space.write("labels.csv", format!("id,label\n{labels}"));
    space
}

fn judge() -> Judge {
    let answer = |asked: &Asked| if asked.prompt().contains("Reply: yes") { 1.0 } else { 0.0 };
    Judge::new(move |_, asked| Answer::score(answer(asked)))
}

fn calibrate(space: &Space, judge: &Judge) -> Ran {
    space.run_with(judge, &["calibrate", "--suite", "suite.yaml"])
}

fn required(space: &Space, judge: &Judge) -> Ran {
    space.run_with(judge, &["run", "suite.yaml", "--require-calibration"])
}

/// What the report on the screen says of calibrations.
fn shown(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout();
    lines.lines().filter(|line| line.contains("compared with")).map(str::to_owned).collect()
}

#[test]
fn what_was_found_is_written_shown_and_asked_for_once() {
    let space = space();
    let judge = judge();
    let ran = required(&space, &judge);
    assert_eq!(ran.code(), 3);
    assert!(
        ran.stderr().contains("error: `quality` was never compared with labels of people\n"),
        "{}",
        ran.stderr()
    );
    let asked = judge.asked().len();
    let ran = calibrate(&space, &judge);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(judge.asked().len(), asked, "what is stored is replayed");
    insta::assert_snapshot!(ran.stdout(), @r"
    quality compared with 12 labels: agreement 83.3% [51.6, 97.9], kappa 0.67 (0.24 to 1.00)
    written to cache/support.calibration.json
    ");
    let digest = regex::Regex::new("\"[0-9a-f]{16,64}\"").unwrap();
    let text = space.read(FILE);
    insta::assert_snapshot!(digest.replace_all(&text, "(digest)"), @r#"
    {
      "format": 1,
      "suite": "support",
      "path": "suite.yaml",
      "graders": {
        "quality": {
          "calibration": {
            "n": 12,
            "agreement": 0.8333333333333334,
            "agreement_interval": [
              0.515862251,
              0.979137475
            ],
            "kappa": 0.6666666666666666,
            "kappa_interval": [
              0.24494956270611323,
              1.0
            ],
            "false_pass": 1,
            "false_fail": 1
          },
          "digests": {
            "rubric": (digest),
            "model": (digest),
            "settings": (digest)
          }
        }
      }
    }
    "#);

    let ran = required(&space, &judge);
    assert_eq!((ran.code(), ran.stderr().contains("calibrat")), (0, false), "{}", ran.shown());
    assert_eq!(shown(&ran).len(), 1, "{}", ran.stdout());
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["calibration"]["quality"]["stale"], json!([]));
    assert_eq!(summary["calibration"]["quality"]["calibration"]["n"], 12);
    let markdown = space.run(&["report", "--format", "markdown"]).stdout();
    assert!(markdown.contains("quality compared with 12 labels: agreement 83.3%"), "{markdown}");
    assert_eq!(calibrate(&space, &judge).code(), 0);
    assert_eq!(space.read(FILE), text, "the same findings are the same bytes");
}

#[test]
fn another_rubric_or_model_makes_it_stale_and_another_layout_does_not() {
    let space = space();
    let judge = judge();
    assert_eq!(calibrate(&space, &judge).code(), 0);
    let edited = |text: &str| SUITE.replace("model: judge-1", text);
    for (suite, rubric, why) in [
        (SUITE.replace("dataset:", "# a comment\n\ndataset:"), "", ""),
        (SUITE.replace("{kind: rubric, ", "{kind:   rubric,  display_name: Quality,  "), "", ""),
        (SUITE.to_owned(), " So?", "rubric changed"),
        (edited("model: judge-2"), "", "model changed"),
        (edited("model: judge-1, temperature: 1"), "", "settings changed"),
        (edited("model: judge-2"), " So?", "rubric and model changed"),
    ] {
        space.write("suite.yaml", &suite);
        space.write("rubric.txt", format!("Does it agree? Reply: {{submission}}.{rubric}\n"));
        let ran = required(&space, &judge);
        assert_eq!(ran.code(), if why.is_empty() { 0 } else { 3 }, "{why}: {}", ran.shown());
        let lines = shown(&ran).join("\n");
        assert!(lines.contains("STALE") != why.is_empty() && lines.contains(why), "{why}: {lines}");
        let said = ran.stderr().contains(&format!(
            "the comparison of `quality` with labels of people is stale: {why}"
        ));
        assert_eq!(said, !why.is_empty(), "{}", ran.stderr());
        let last = ran.stdout().lines().last().unwrap_or_default().to_owned() + &ran.stderr();
        assert!(!last.contains("nothing was graded"), "{}", ran.shown());
        // Who does not ask for it is told all the same, and passes.
        assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    }
}

#[test]
fn two_who_calibrate_at_once_leave_one_whole_file() {
    let space = space();
    let judge = judge();
    let args = ["calibrate", "--suite", "suite.yaml"];
    let both = [space.start(&judge, &args), space.start(&judge, &args)];
    for running in both {
        let ran = running.finish();
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    let file: Value = serde_json::from_str(&space.read(FILE)).unwrap();
    assert_eq!(file["graders"]["quality"]["calibration"]["n"], 12);
    assert_eq!(required(&space, &judge).code(), 0);
}

#[test]
fn a_broken_file_is_named_with_its_place_and_written_anew() {
    let space = space();
    let judge = judge();
    assert_eq!(calibrate(&space, &judge).code(), 0);
    let whole = space.read(FILE);
    let asked = judge.asked().len();
    space.write(FILE, whole.replacen("\"format\": 1,", "\"format\": 1", 1));
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.asked().len()), (2, asked));
    insta::assert_snapshot!(ran.stderr(), @r#"
    error: the calibration cannot be read: expected `,` or `}`
     --> cache/support.calibration.json:3:3
      |
    3 |   "suite": "support",
      |   ^
      |
      = help: write it anew by `evalrs calibrate --suite suite.yaml`, or remove it
    "#);
    assert_eq!(calibrate(&space, &judge).code(), 0);
    assert_eq!(space.read(FILE), whole);
}

#[test]
fn nothing_is_written_without_labels_or_of_a_part() {
    let space = space();
    let judge = judge();
    let ran = space.run_with(&judge, &["calibrate", "--suite", "suite.yaml", "--max-calls", "1"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(!space.path(FILE).exists());
    space.write("labels.csv", "id,label\nunknown,pass\n");
    let ran = calibrate(&space, &judge);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("has a verdict with a label"), "{}", ran.stderr());
    assert!(!space.path(FILE).exists());
}

#[test]
fn bounds_decide_whether_a_judge_may_be_relied_on() {
    let space = space();
    let judge = judge();
    let bounded = |more: &[&str]| {
        let args = [&["calibrate", "--suite", "suite.yaml"], more].concat();
        space.run_with(&judge, &args)
    };
    let ran = bounded(&["--min-kappa", "0.7"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(
        ran.stderr().contains("error: `quality`: kappa 0.67 is below 0.70\n"),
        "{}",
        ran.shown()
    );
    // It is kept beside what was found, also when that is found anew.
    for again in [&[][..], &["--min-agreement", "0.8"]] {
        let ran = required(&space, &judge);
        assert_eq!(ran.code(), 3, "{}", ran.shown());
        let said = ran.stdout().replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let last = "exit code 3: `quality` does not agree with people as far as is asked for: kappa 0.67 is below 0.70: `evalrs calibrate --suite suite.yaml` compares judges with labels of people";
        assert!(said.contains(last), "{}", ran.shown());
        assert!(said.contains("BELOW what is asked for: kappa 0.67 is below 0.70"), "{said}");
        assert_eq!(bounded(again).code(), 3);
    }
    // The suite goes before the file.
    space.write(
        "suite.yaml",
        format!("{SUITE}calibration: {{min_kappa: 0.6, min_agreement: 0.83}}\n"),
    );
    let ran = required(&space, &judge);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    space.write("suite.yaml", format!("{SUITE}calibration: {{min_agreement: 0.9}}\n"));
    assert_eq!(required(&space, &judge).code(), 3);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0, "nobody asked");
    space.write("suite.yaml", format!("{SUITE}calibration: {{min_kapa: 2}}\n"));
    let ran = space.run(&["validate", "suite.yaml"]);
    assert!(
        ran.stderr().contains("min_kappa") || ran.stdout().contains("min_kappa"),
        "{}",
        ran.shown()
    );
    for wrong in ["--min-kappa=2", "--min-agreement=80"] {
        assert_eq!(bounded(&[wrong, "--strict"]).code(), 2);
    }
}

#[test]
fn suites_of_one_name_have_a_calibration_each() {
    let space = space();
    let judge = judge();
    space.write("evalrs.toml", "");
    // One that was written while there was no other suite of the name.
    assert_eq!(calibrate(&space, &judge).code(), 0);
    assert_eq!(required(&space, &judge).code(), 0);
    space.write("other.yaml", SUITE.replace("pass_threshold: 0.5", "pass_threshold: 0.9"));
    assert_eq!(required(&space, &judge).code(), 0, "the file says whose it is");
    let of = |suite: &str| space.run_with(&judge, &["calibrate", "--suite", suite]);
    assert_eq!((of("suite.yaml").code(), of("other.yaml").code()), (0, 0));
    assert_eq!(required(&space, &judge).code(), 0, "the other one's does not stand over it");
    let files = space.names("cache");
    let own = files.iter().filter(|name| name.ends_with(".calibration.json")).count();
    assert_eq!(own, 2, "{files:?}");
    // A suite that was moved keeps its calibration.
    std::fs::rename(space.path("suite.yaml"), space.path("moved.yaml")).unwrap();
    let ran = space.run_with(&judge, &["run", "moved.yaml", "--require-calibration"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}
