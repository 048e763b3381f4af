//! Labels of people: what a grader is compared with, and what an edited label does, which is nothing but that.

use evalrs_graph::folds;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries;
use evalrs_graph::results;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::spec::Label;
use serde_json::{Value, json};

use crate::incremental::Loop;
use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: labelled
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  kind: {kind: rubric, prompt: 'Is it kind? {submission}', model: m, endpoint: e, scale: {min: 1, max: 5}, pass_threshold: 0.5}
";

const ROWS: usize = 200;

/// Rows with these labels, the rest without one.
fn rows(labels: &[(usize, Value)]) -> String {
    jsonl((0..ROWS).map(|at| {
        let label = labels.iter().find(|(row, _)| *row == at).map(|(_, label)| label);
        let output = if at % 2 == 0 { "a" } else { "b" };
        json!({"id": at, "input": "q", "ground_truth": "a", "output": output, "label": label})
    }))
}

fn kind(prompt: &str) -> String {
    let score = if prompt.contains("kind? a") { 5 } else { 1 };
    format!("{{\"score\": {score}, \"rationale\": \"r\"}}")
}

fn session(data: &str, file: Option<&str>) -> Loop {
    let mut files = vec![("suite.yaml", SUITE), ("data.jsonl", data)];
    files.extend(file.map(|text| ("labels.jsonl", text)));
    let labels = file.map(|_| "labels.jsonl".to_owned());
    let mut session = Loop::over(&files, Overrides { labels, ..Overrides::default() });
    session.answer(kind);
    session
}

fn agreement(of: &Loop, grader: &str) -> Option<LabelAgreement> {
    let session = of.session();
    let mut graders = queries::graders(&session.db, session.root).iter();
    let grader = graders.find(|known| known.name(&session.db) == grader).unwrap();
    folds::label_agreement(&session.db, *grader)
}

/// Verdicts with a label: both pass, only the verdict does, only the label does, none does.
fn counts(of: &Loop, grader: &str) -> [usize; 4] {
    let LabelAgreement { both_pass, false_pass, false_fail, both_fail, .. } =
        agreement(of, grader).unwrap_or_default();
    [both_pass, false_pass, false_fail, both_fail]
}

#[test]
fn an_edited_label_moves_agreement_and_nothing_else() {
    let mut labelled = session(&rows(&[(0, json!(true)), (1, json!("pass"))]), None);
    assert_eq!(labelled.evaluate().asked.len(), 2, "equal submissions are one judgment");
    assert_eq!(
        (counts(&labelled, "kind"), counts(&labelled, "exact")),
        ([1, 0, 1, 0], [1, 0, 1, 0])
    );
    labelled.set("data.jsonl", &rows(&[(0, json!(true)), (1, json!("fail"))]));
    let did = labelled.evaluate();
    assert_eq!(did.asked, Vec::<String>::new());
    assert_eq!(counts(&labelled, "kind"), [1, 0, 0, 1]);
    assert!(did.ran("plans") <= 4, "its chunk for two graders: {:?}", did.ran);
    assert_eq!(did.ran("cells") + did.ran("metric"), 0, "{:?}", did.ran);
    assert_eq!(did.ran("label_agreement"), 2, "{:?}", did.ran);
    let did = labelled.evaluate();
    assert_eq!(did.ran.len(), 0, "{:?}", did.ran);
}

#[test]
fn an_edited_file_of_labels_plans_nothing() {
    let line = |id: usize, label: Value| json!({"id": id, "label": label});
    let file = |labels: &[(usize, Value)]| {
        jsonl(labels.iter().map(|(id, label)| line(*id, label.clone())))
    };
    let data = rows(&[(0, json!(false)), (3, json!(false))]);
    let mut labelled = session(&data, Some(&file(&[(0, json!(true)), (199, json!(true))])));
    labelled.evaluate();
    assert_eq!(counts(&labelled, "kind"), [1, 0, 1, 1], "the file comes before rows");
    labelled.set("labels.jsonl", &file(&[(0, json!(true)), (199, json!(false))]));
    let did = labelled.evaluate();
    assert_eq!((did.asked.len(), did.ran("plans"), did.ran("cells")), (0, 0, 0), "{:?}", did.ran);
    assert_eq!(did.ran("labels"), 2, "the chunk of the line for two graders: {:?}", did.ran);
    assert_eq!(counts(&labelled, "kind"), [1, 0, 0, 2]);
    labelled.set("labels.jsonl", &format!("\n{}", file(&[(0, json!(true)), (199, json!(false))])));
    let did = labelled.evaluate();
    assert_eq!(did.ran("labels") + did.ran("file_labels"), 0, "lines moved: {:?}", did.ran);
    // The rubric's wording is no business of labels.
    labelled.set("suite.yaml", &SUITE.replace("Is it kind?", "Was it kind?"));
    let did = labelled.evaluate();
    assert_eq!((did.ran("labels"), did.ran("row_labels")), (0, 0), "{:?}", did.ran);
}

#[test]
fn labels_are_on_the_scale_of_their_grader() {
    let label_of = |of: &Loop, grader: usize, case: usize| {
        let session = of.session();
        let grader = queries::graders(&session.db, session.root)[grader];
        results::label_of(&session.db, session.chunks()[0], case, grader)
    };
    let mut labelled = session(&rows(&[(0, json!(4)), (1, json!(1))]), None);
    labelled.evaluate();
    assert_eq!(label_of(&labelled, 1, 0), Some(Label::Score(0.75)));
    assert_eq!(label_of(&labelled, 1, 2), None);
    let found = agreement(&labelled, "kind").unwrap();
    assert_eq!((found.n, found.mean_distance), (2, Some(0.125)));
    assert_eq!(label_of(&labelled, 0, 1), None, "4 is no score from 0 to 1, so 1 is none either");
    assert_eq!(agreement(&labelled, "exact"), None);
    labelled.set("data.jsonl", &rows(&[(0, json!({"exact": 0.5})), (1, json!({"kind": 2}))]));
    labelled.evaluate();
    assert_eq!(label_of(&labelled, 0, 0), Some(Label::Score(0.5)));
    assert_eq!(label_of(&labelled, 1, 1), Some(Label::Score(0.25)));
    assert_eq!((label_of(&labelled, 0, 1), label_of(&labelled, 1, 0)), (None, None));
}

fn space(suite: &str, data: &str) -> Space {
    Space::new(&[("suite.yaml", suite), ("data.jsonl", data)])
}

fn judge() -> Judge {
    Judge::new(|_, asked| Answer::text(&kind(asked.prompt())))
}

fn summary(space: &Space) -> Value {
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

#[test]
fn a_run_says_how_far_it_agrees_with_a_file() {
    let (space, judge) = (space(SUITE, &rows(&[])), judge());
    let plain = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((plain.code(), plain.stderr().contains("label")), (0, false));
    assert_eq!(summary(&space).get("label_agreement"), None);
    let results = space.record("results.jsonl");
    let lines = (0..10).map(|id| format!("{id},kind,{}\n", if id < 6 { "5" } else { "fail" }));
    space.write("labels.csv", format!("id,grader,label\n{}", lines.collect::<String>()));
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--labels", "labels.csv"]);
    assert_eq!((ran.code(), judge.count()), (0, 2), "{}", ran.stderr());
    assert_eq!(space.record("results.jsonl"), results, "labels are in no result");
    let found = &summary(&space)["label_agreement"]["kind"];
    assert_eq!(
        [&found["both_pass"], &found["false_pass"], &found["false_fail"], &found["both_fail"]],
        [3, 2, 3, 2]
    );
    let line = "kind agrees with 10 labels: accuracy 50.0%, kappa 0.00 (-0.61 to 0.61); 2 false passes, 3 false fails";
    let markdown = ["run", "suite.yaml", "--labels", "labels.csv", "--format", "markdown"];
    let shown = space.run(&markdown).stdout();
    assert!(shown.contains(line), "{shown}");
    assert!(ran.stdout().contains(&line.replace("; ", ";\n  ")), "{}", ran.stdout());
}

#[test]
fn what_is_wrong_with_labels_is_said() {
    let mapped =
        SUITE.replace("dataset: data.jsonl", "dataset: {path: data.jsonl, fields: {label: human}}");
    let human = |label: Value| {
        jsonl([
            json!({"id": "x", "input": "q", "ground_truth": "a", "output": "a", "human": label}),
        ])
    };
    // Suite, rows, the file of labels, exit code, what is said.
    for (suite, data, file, code, said) in [
        (
            SUITE,
            rows(&[(0, json!("pass")), (1, json!("cat"))]),
            "",
            0,
            "warning: `label` of row 2 is neither a score from 0 to 1 nor pass or fail: labels are not compared",
        ),
        (
            SUITE,
            rows(&[(0, json!(3)), (7, json!(9))]),
            "",
            0,
            "`label` of row 8 is neither a score from 1 to 5 nor pass or fail",
        ),
        (
            SUITE,
            rows(&[(1, json!({"exakt": 1}))]),
            "",
            0,
            "`label` is for no grader of the suite, but for `exakt`",
        ),
        (&mapped, human(json!("cat")), "", 2, " --> data.jsonl:1:63"),
        (
            &mapped,
            human(json!({"exact": 2})),
            "",
            2,
            "the `label` for `exact` is neither a score from 0 to 1 nor pass or fail",
        ),
        (&mapped, human(json!(3)), "", 0, ""),
        (
            SUITE,
            rows(&[]),
            "{\"id\": 500, \"label\": 1}\n{\"id\": 1, \"trial\": 4, \"label\": 1}",
            0,
            "2 labels match no row: `1`, `500`",
        ),
        (
            SUITE,
            rows(&[]),
            "{\"id\": 1, \"label\": 1, \"grader\": \"mood\"}",
            0,
            "1 label is for graders that the suite does not have: `mood`",
        ),
        (SUITE, rows(&[]), "{\"id\": 1, \"label\": 9}", 2, " --> labels.jsonl:1:20"),
    ] {
        let space = space(suite, &data);
        let mut args = vec!["run", "suite.yaml", "--grader", "exact", "--quiet"];
        if !file.is_empty() {
            space.write("labels.jsonl", file);
            args.extend(["--labels", "labels.jsonl"]);
        }
        let ran = space.run(&args);
        assert_eq!(ran.code(), code, "{said}: {}", ran.stderr());
        assert!(ran.stderr().contains(said), "{said}: {}", ran.stderr());
        assert_eq!(said.is_empty(), ran.stderr().is_empty(), "{}", ran.stderr());
    }
    let ran = space(SUITE, &rows(&[])).run(&["run", "suite.yaml", "--labels", "gone.csv"]);
    let said = "cannot read the labels `gone.csv`: there is no such file";
    assert!(ran.code() == 2 && ran.stderr().contains(said), "{}", ran.stderr());
}

#[test]
fn what_happens_to_be_called_a_label_is_none_and_nothing_is_said_of_it() {
    for labels in
        [vec![(1, json!("cat"))], vec![(0, json!(0)), (1, json!(7))], vec![(1, json!({"mood": 1}))]]
    {
        let ran = space(SUITE, &rows(&labels)).run(&["run", "suite.yaml", "--grader", "exact"]);
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{labels:?}");
    }
}

#[test]
fn labels_of_others_are_read_as_the_suite_says() {
    let section = |map: &str| {
        format!(
            "{SUITE}labels: {{path: people.csv, for: [exact], fields: {{id: sample, label: human, who: person}}, map: {map}}}\n"
        )
    };
    let people = "sample,human,person\n0,1.0,ann\n0,2,bob\n0,1,cem\n1,1,ann\n2,2,ann\n";
    let suite = section("{1: pass, 2: fail}");
    let files =
        [("suite.yaml", suite.as_str()), ("data.jsonl", &rows(&[])), ("people.csv", people)];
    let mut labelled = Loop::with(&files);
    labelled.answer(kind);
    labelled.evaluate();
    assert_eq!(counts(&labelled, "exact"), [1, 1, 1, 0]);
    assert_eq!(agreement(&labelled, "kind"), None);
    // An edit of what is said of labels, or of their file, asks nothing.
    labelled.set("suite.yaml", &section("{1: fail, 2: pass}"));
    assert!(labelled.evaluate().asked.is_empty());
    assert_eq!(counts(&labelled, "exact"), [1, 1, 0, 1]);
    labelled.set("people.csv", "sample,human\n0,2\n");
    assert!(labelled.evaluate().asked.is_empty());
    assert_eq!(counts(&labelled, "exact"), [1, 0, 0, 0]);
    labelled.set("others.csv", "id,label\n1,pass\n");
    labelled.set("suite.yaml", &format!("{SUITE}labels: others.csv\n"));
    assert!(labelled.evaluate().asked.is_empty());
    assert_eq!(counts(&labelled, "exact"), [0, 0, 1, 0]);
}

/// Three people in a line, as annotation tools export them.
#[test]
fn people_are_compared_among_themselves() {
    let suite = format!(
        "{SUITE}labels: {{path: people.json, for: [exact], at: [ann, bob, cem], map: {{1: pass, 0: fail}}}}\n"
    );
    let people = |ann: Value, bob: Value, cem: Value, id: usize| json!({"id": id, "ann": ann, "bob": bob, "cem": cem});
    let none = Value::Null;
    let said = json!([
        people(json!(1), json!(1), json!(0), 0),
        people(json!(1), json!(1), none.clone(), 1),
        people(json!(0), json!(0), json!(0), 2),
        people(json!(0), json!(1), none.clone(), 3),
        people(json!(1), none.clone(), none.clone(), 4),
        people(json!(1), json!(1), json!(1), 5),
        people(json!(0), none, json!(0), 6),
    ]);
    let space = Space::new(&[
        ("suite.yaml", suite.as_str()),
        ("data.jsonl", &rows(&[])),
        ("people.json", &said.to_string()),
    ]);
    let ran = space.run(&["run", "suite.yaml", "--grader", "exact"]);
    assert!(ran.stderr().contains("1 tie"), "{}", ran.shown());
    let shown = ran.stdout();
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("people agree")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"exact: 3 people agree in 75.0% of 12 pairs on 6 cases; Krippendorff's alpha 0.50");
    // The package krippendorff says 0.5.
    let found = summary(&space);
    assert_eq!(
        found["annotators"]["exact"],
        json!({"cases": 6, "people": 3, "pairs": 12, "agreement": 0.75, "alpha": 0.5, "alpha_of_scores": null})
    );
    assert_eq!(found["label_agreement"]["exact"]["n"], 6);
    // The cases on which they differ: the majority counts in one, and there is none in the other.
    assert_eq!(
        found["disputed"],
        json!({"exact": [
            {"sample_id": "0", "model": null, "trial": 0, "passes": ["ann", "bob"], "fails": ["cem"]},
            {"sample_id": "3", "model": null, "trial": 0, "passes": ["bob"], "fails": ["ann"]},
        ]})
    );
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("differ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"exact: people differ on 2 cases: 0, 3; `disputed` in summary.json lists all");
    let ran = space.run(&["agree", "suite.yaml", "exact", "labels"]);
    let told = "labels: people differ on 2 cases: 0, 3; `--json` lists all";
    assert!(ran.stdout().contains(told), "{}", ran.shown());
    let ran = space.run(&["agree", "suite.yaml", "exact", "labels", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(report["disputed"], found["disputed"]["exact"]);
    let ran = space.run(&["agree", "suite.yaml", "exact", "row.ground_truth", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(report.get("disputed"), None, "no side is labels");
    let ran = space.run(&["run", "suite.yaml", "--grader", "exact", "--format", "markdown"]);
    assert!(
        ran.stdout().contains("3 people agree in 75.0% of 12 pairs on 6 cases"),
        "{}",
        ran.shown()
    );
    // Of rows that are left out nobody says anything.
    space.run(&["run", "suite.yaml", "--grader", "exact", "--max-samples", "2"]);
    assert_eq!(summary(&space)["annotators"]["exact"]["cases"], 2);
}

#[test]
fn at_says_where_labels_stand_in_lines_and_in_rows() {
    let suite = |labels: &str| format!("{SUITE}labels: {labels}\n");
    let row = |id: u32, human: Value| json!({"id": id, "ground_truth": "a", "input": "q", "output": "a", "human": human});
    let data = jsonl([
        row(0, json!({"verdict": "good"})),
        row(1, json!({"verdict": "bad"})),
        row(2, Value::Null),
    ]);
    let of_rows = suite("{at: human.verdict, for: [exact], map: {good: pass, bad: fail}}");
    let people = "id,votes,majority\n0,1,1\n1,1,2\n2,1,1\n";
    let files = [("suite.yaml", of_rows.as_str()), ("data.jsonl", &data), ("people.csv", people)];
    let mut labelled = Loop::with(&files);
    labelled.answer(kind);
    labelled.evaluate();
    assert_eq!(counts(&labelled, "exact"), [1, 1, 0, 0]);
    let of_file = "{path: people.csv, for: [exact], map: {1: pass, 2: fail}, at: majority}";
    labelled.set("suite.yaml", &suite(of_file));
    assert!(labelled.evaluate().asked.is_empty());
    assert_eq!(counts(&labelled, "exact"), [2, 1, 0, 0]);
    labelled.set("suite.yaml", &suite(&of_file.replace("majority", "votes")));
    assert!(labelled.evaluate().asked.is_empty());
    assert_eq!(counts(&labelled, "exact"), [3, 0, 0, 0]);
    // A path that no row has is shown where the suite says it.
    let ran = space(&suite("{at: humans.verdict}"), &data).run(&["validate", "suite.yaml"]);
    assert!(ran.shown().contains("no row of the dataset has `humans.verdict`"), "{}", ran.shown());
    assert!(ran.shown().contains("suite.yaml:6:14"), "{}", ran.shown());
}

#[test]
fn each_output_of_a_row_has_its_label_and_its_score() {
    let suite = "name: s
dataset: {path: data.jsonl, fields: {outputs: {small: a, large: b}, label: {small: human.small, large: human.large}}}
graders:
  exact: {kind: tool, function: exact_match}
  stars: {kind: tool, function: recorded_score, config: {path: scores, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
labels: {for: [exact], map: {good: pass, bad: fail}}
";
    let row = |id: &str, scores: Value, human: [&str; 2]| {
        let [small, large] = human;
        json!({"id": id, "ground_truth": "x", "a": "x", "b": "y", "scores": scores,
            "human": {"small": small, "large": large}})
    };
    let data = jsonl([
        row("p", json!([5, 1]), ["good", "good"]),
        row("q", json!({"large": 4, "small": 2}), ["bad", "bad"]),
        row("r", json!(3), ["good", ""]),
    ]);
    let space = space(suite, &data);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
    let found = summary(&space);
    let means =
        ["small", "large"].map(|model| &found["by_model"][model]["stars"]["avg_score_total"]);
    assert_eq!(means, [&json!((1.0 + 0.25 + 0.5) / 3.0), &json!((0.0 + 0.75 + 0.5) / 3.0)]);
    let agreed = &found["label_agreement"]["exact"];
    assert_eq!(
        [&agreed["both_pass"], &agreed["false_pass"], &agreed["false_fail"], &agreed["both_fail"]],
        [2, 1, 1, 1]
    );
    assert_eq!(found["label_agreement"].get("stars"), None);
    for (labels, said) in [
        ("labels: {for: [exakt]}", "unknown grader `exakt`"),
        ("labels: {fields: {label: x}}", "`fields` is about the file at `path`, and there is none"),
        (
            "labels: {at: human}",
            "`fields` of `dataset` says where the label stands, and so does `at`",
        ),
        (
            "labels: {path: l.csv, at: x, fields: {label: y}}",
            "`fields` of `labels` says where the label stands, and so does `at`",
        ),
        (
            "labels: {at: [ann, bob]}",
            "labels of several people are read of a file, and there is no `path`",
        ),
        ("labels: {path: l.csv, at: [ann, bob], fields: {who: w}}", "`at` names several people"),
        ("labels: {map: {good: splendid}}", "`good` must be `pass`, `fail` or a score, not text"),
        ("labels: {path: gone.csv}", "cannot read the labels `gone.csv`: there is no such file"),
        ("labels: [a.csv]", "`labels` must be a path or a mapping"),
    ] {
        let section = "labels: {for: [exact], map: {good: pass, bad: fail}}";
        space.write("suite.yaml", suite.replace(section, labels));
        let ran = space.run(&["validate", "suite.yaml"]);
        assert!(ran.code() == 2 && ran.shown().contains(said), "{said}: {}", ran.shown());
    }
    space.write("suite.yaml", suite.replace("large: human.large}", "big: human.large}"));
    let ran = space.run(&["validate", "suite.yaml"]);
    assert!(ran.shown().contains("`outputs` has no model `big`"), "{}", ran.shown());
}

#[test]
fn a_field_of_that_name_that_is_something_else_works_as_ever() {
    let suite = |grader: &str, dataset: &str| {
        format!("name: s\ndataset: {dataset}\ngraders:\n  own: {grader}\n")
    };
    let recorded =
        "{kind: tool, function: recorded_score, config: {path: label, scale: {min: 1, max: 5}}}";
    let exact = "{kind: tool, function: exact_match}";
    let mapped = "{path: data.jsonl, fields: {ground_truth: label}}";
    for (suite, label) in [
        (suite(recorded, "data.jsonl"), json!(5)),
        (suite(recorded, "data.jsonl"), json!(1)),
        (suite(exact, mapped), json!("a")),
    ] {
        let row = json!({"id": 1, "input": "q", "output": "a", "label": label});
        let space = space(&suite, &jsonl([row]));
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{suite}");
        let expected = if label == json!(1) { 0.0 } else { 1.0 };
        assert_eq!(summary(&space)["metrics"]["own"]["min"], json!(expected), "{suite}");
        assert_eq!(summary(&space).get("label_agreement"), None, "{suite}");
    }
    let rubric = "{kind: rubric, prompt: 'Is {submission} a {row.label}?', model: m}";
    let row = json!({"id": 1, "input": "q", "output": "a", "label": "cat"});
    let ran = space(&suite(rubric, "data.jsonl"), &jsonl([row])).run(&["validate", "suite.yaml"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
}

#[test]
fn a_label_is_read_on_the_scale_of_recorded_scores() {
    let suite = "name: s\ndataset: data.jsonl\ngraders:\n  stars: {kind: tool, function: recorded_score, \
                 config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}\n";
    let rows = [(5, 4), (1, 4), (4, 1)].map(|(score, label)| {
        json!({"input": "q", "output": format!("{score}{label}"), "s": score, "label": label})
    });
    let files = [("suite.yaml", suite), ("data.jsonl", &jsonl(rows))];
    let mut session = Loop::over(&files, Overrides::default());
    session.evaluate();
    assert_eq!(counts(&session, "stars"), [1, 1, 1, 0]);
    assert_eq!(agreement(&session, "stars").unwrap().mean_distance, Some(1.75 / 3.0));
}

/// People passed what the grader passed, and half of what it failed: of a third of the answers.
#[test]
fn what_people_would_have_said_of_everything_stands_beside_what_the_grader_says() {
    let label = |at: usize| (at, json!(at % 4 != 1));
    let shown = |labels: usize| {
        let labels: Vec<(usize, Value)> = (0..labels).map(label).collect();
        let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(&labels))]);
        let ran = space.run(&["run", "suite.yaml", "--grader", "exact", "--output", "out"]);
        let summary: Value = serde_json::from_str(&space.read("out/summary.json")).unwrap();
        let lines: Vec<String> = ran
            .stdout()
            .lines()
            .filter(|line| line.contains("people "))
            .map(str::to_owned)
            .collect();
        (lines.join("\n"), summary["people"]["exact"].clone())
    };
    let (line, found) = shown(66);
    insta::assert_snapshot!(line, @"exact: people would pass 74.2% [64.5, 84.0] by 66 labels of a random part (PPI++);");
    assert_eq!((&found["labels"], &found["others"]), (&json!(66), &json!(134)));
    assert_eq!(found["pass_rate"]["interval"]["method"], "prediction_powered");
    let (line, found) = shown(29);
    insta::assert_snapshot!(line, @"exact has 29 labels, too few to estimate what people would have said: 30 are needed");
    assert_eq!(
        found,
        json!({"labels": 29, "others": 171, "chosen": 0, "pass_rate": null, "mean": null})
    );
    assert_eq!(shown(200), (String::new(), Value::Null));
}
