//! Trajectories beside the dataset: every form they may lie in, and where their faults are reported.

use serde_json::{Value, json};

use crate::space::{Ran, Space, submission_of};

const SUITE: &str = "\
name: recorded
dataset: data.jsonl
target: {kind: recorded, path: PATH}
graders:
  right: {kind: tool, function: exact_match}
";

const ROWS: &str = "\
{\"id\": \"é\", \"input\": \"q\", \"ground_truth\": \"x\"}
{\"id\": 2, \"input\": \"q\", \"ground_truth\": \"y\"}
";

/// Runs the suite over recordings at `path`.
fn run(path: &str, files: &[(&str, &str)]) -> (Space, Ran) {
    let space = Space::new(&[("suite.yaml", &SUITE.replace("PATH", path)), ("data.jsonl", ROWS)]);
    for (name, text) in files {
        space.write(name, text);
    }
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    (space, ran)
}

/// Sample, model, trial and whether it is right, of every result.
fn verdicts(space: &Space) -> Vec<(String, Value, u64, bool)> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["sample_id"].as_str().unwrap().to_owned();
        let pass = line["grades"]["right"]["pass"].as_bool().unwrap();
        (id, line["model"].clone(), line["trial"].as_u64().unwrap(), pass)
    };
    space.record("results.jsonl").lines().map(line).collect()
}

#[track_caller]
fn check(path: &str, files: &[(&str, &str)], expected: &[(&str, Value, u64, bool)]) {
    let (space, ran) = run(path, files);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let expected = expected
        .iter()
        .map(|(id, model, trial, pass)| ((*id).to_owned(), model.clone(), *trial, *pass));
    assert_eq!(verdicts(&space), expected.collect::<Vec<_>>());
}

#[test]
fn recordings_lie_in_files_and_folders_of_many_forms() {
    let both = [("é", Value::Null, 0, true), ("2", Value::Null, 0, false)];
    let said = |text: &str| json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]);
    check(
        "t.jsonl",
        &[(
            "t.jsonl",
            "{\"sample_id\": \"2\", \"output\": \"?\"}\n\n{\"id\": \"é\", \"output\": \"x\"}",
        )],
        &both,
    );
    let array = json!([{"id": 2, "messages": said("?")}, {"id": "é", "trajectory": [said("x")]}]);
    check("t.json", &[("t.json", &format!("{array:#}"))], &both);
    let chat =
        said("x").as_array().unwrap().iter().map(|m| format!("{m}\n")).collect::<Vec<_>>().concat();
    check("t", &[("t/é.jsonl", &chat), ("t/2.txt", "?"), ("t/notes.pdf", "%PDF")], &both);
    check("t", &[("t/é.json", &said("x").to_string()), ("t/2.md", "?")], &both);
}

#[test]
fn recordings_carry_models_and_trials() {
    let rows = "\
{\"id\": \"é\", \"model\": \"m\", \"output\": \"x\"}
{\"id\": 2, \"model\": \"m\", \"output\": \"y\"}
{\"id\": \"é\", \"model\": \"n\", \"trial\": 1, \"output\": \"?\"}
";
    let expected =
        [("é", json!("m"), 0, true), ("é", json!("n"), 1, false), ("2", json!("m"), 0, true)];
    check("t.jsonl", &[("t.jsonl", rows)], &expected);
    let cells = "id,model,trial,output\né,m,0,x\n2,m,,y\né,n,1,?\n";
    check("t.csv", &[("t.csv", cells)], &expected);
    let whole = "id,model,trial,trajectory\né,m,0,\"[{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"x\"\"}]\"\n2,m,0,y\né,n,1,?\n";
    check("t.csv", &[("t.csv", whole)], &expected);
}

/// Rows that are trials and models themselves take their own recordings, and never those of another model.
#[test]
fn rows_of_trials_and_models_take_their_own_recordings() {
    let rows = "\
{\"id\": \"s\", \"trial\": 0, \"input\": \"q\", \"ground_truth\": \"x\"}
{\"id\": \"s\", \"trial\": 1, \"input\": \"q\", \"ground_truth\": \"y\"}
{\"id\": \"t\", \"model\": \"m\", \"input\": \"q\", \"ground_truth\": \"x\"}
";
    let recordings = "\
{\"id\": \"s\", \"trial\": 1, \"output\": \"y\"}
{\"id\": \"s\", \"trial\": 0, \"output\": \"x\"}
{\"id\": \"t\", \"model\": \"n\", \"output\": \"x\"}
";
    let space = Space::new(&[
        ("suite.yaml", &SUITE.replace("PATH", "t.jsonl")),
        ("data.jsonl", rows),
        ("t.jsonl", recordings),
    ]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    let own = |id: &str, model: Value, trial: u64, pass: bool| (id.to_owned(), model, trial, pass);
    let expected = [
        own("s", Value::Null, 0, true),
        own("s", Value::Null, 1, true),
        own("t", json!("m"), 0, false),
    ];
    assert_eq!(verdicts(&space), expected, "{}", ran.shown());
    let said = ran.stderr();
    assert!(said.contains("1 sample has no trajectory in `t.jsonl`"), "{said}");
    assert!(said.contains("`t` (model `m`)"), "{said}");
}

#[test]
fn faults_of_recordings_are_shown_where_they_are() {
    let fault = |path: &str, files: &[(&str, &str)], said: [&str; 2]| {
        let (_, ran) = run(path, files);
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        let stderr = ran.stderr();
        assert!(said.iter().all(|said| stderr.contains(said)), "{said:?} in {stderr}");
    };
    let good = "{\"id\": \"é\", \"output\": \"x\"}\n";
    let jsonl = |line: &str| format!("{good}\n{line}\n");
    for (line, said) in [
        (
            "{\"id\": 2, \"trajectory\": 7}",
            ["expected messages, turns, events, steps or text, found a number", "t.jsonl:3:25"],
        ),
        (
            "{\"id\": 2, \"messages\": [{\"role\": \"user\", \"content\": 1}]}",
            ["at `/0/content`, found a number", "t.jsonl:3:52"],
        ),
        (
            "{\"id\": 2, \"output\": \"x\", \"trial\": \"first\"}",
            ["`trial` is a string", "t.jsonl:3:35"],
        ),
        (
            "{\"id\": 2, \"outptu\": \"x\"}",
            ["the recording has no `output`, `trajectory` or `messages`", "t.jsonl:3:1"],
        ),
        ("{\"output\": \"x\"}", ["the record has no `id`", "t.jsonl:3:1"]),
        (
            "{\"id\": 2, \"output\": \"x\"",
            ["bad JSON: the text ends inside an object", "t.jsonl:3:23"],
        ),
        (
            "{\"id\": \"é\", \"output\": \"y\"}",
            ["the sample `é` (trial 0) was recorded more than once", "data.jsonl:1:1"],
        ),
    ] {
        fault("t.jsonl", &[("t.jsonl", &jsonl(line))], said);
    }
    fault(
        "t.csv",
        &[("t.csv", "id,output,trial\né,x,\n2,\"a\nb\",soon\n")],
        ["`trial` is a string", "t.csv:3:1"],
    );
    fault("t", &[("t/é.json", "[\n{]")], ["bad JSON", "t/é.json:2:2"]);
    fault("t", &[("t/é.json", "[7]")], ["expected messages", "t/é.json:1:1"]);
    fault(
        "t",
        &[("t/é.jsonl", "{\"role\": \"user\", \"content\": \"q\"}\n{\"role\"")],
        ["bad JSON", "t/é.jsonl:2:"],
    );
    fault(
        "t",
        &[("t/readme.pdf", "")],
        ["the folder holds no results (results.jsonl, or `<id>.json`", "-> suite.yaml:3:32\n"],
    );
    fault(
        "t.jsonl",
        &[],
        ["cannot read the trajectories `t.jsonl`: there is no such file", "-> suite.yaml:3:32\n"],
    );
    let letta = "{\"type\": \"result\", \"result\": {\"sample\": {\"id\": 1, \"input\": \"q\"}, \"trajectory\": [[{\"message_type\": 5}]]}}";
    fault(
        "t",
        &[("t/results.jsonl", &format!("\n{letta}\n"))],
        ["expected", "t/results.jsonl:2:1"],
    );
    fault(
        "t",
        &[("t/results.jsonl", "{\"sample\": 1}x")],
        ["bad JSON in a line of results", "t/results.jsonl:1:14"],
    );
}

#[test]
fn samples_and_recordings_without_each_other_are_said() {
    let (space, ran) = run(
        "t.jsonl",
        &[("t.jsonl", "{\"id\": 2, \"output\": \"y\"}\n{\"id\": 3, \"output\": \"y\"}\n")],
    );
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let ungraded = ("é".to_owned(), Value::Null, 0, false);
    assert_eq!(verdicts(&space), [ungraded, ("2".to_owned(), Value::Null, 0, true)]);
    assert!(space.record("summary.json").contains("\"errors\": 1"), "it is an error, no verdict");
    insta::assert_snapshot!(ran.stderr(), @r"
    warning: 1 sample has no trajectory in `t.jsonl` and cannot be graded: `é`
     --> data.jsonl

    warning: 1 trajectory belongs to no sample of `data.jsonl`
     --> t.jsonl
      = help: the first is of `3`, on line 2
    ");
    let (_, ran) = run("t.jsonl", &[("t.jsonl", "{\"id\": 7, \"output\": \"y\"}\n")]);
    assert_eq!(ran.code(), 2);
    insta::assert_snapshot!(ran.stderr(), @r"
    error: no sample of `data.jsonl` has a trajectory in `t.jsonl`
     --> t.jsonl
      = help: they join by `id`: the dataset has `é`, `2`; the trajectories are of `7`
    ");
}

#[test]
fn a_folder_whose_name_only_begins_like_the_suites_is_another_one() {
    let space = Space::new(&[
        ("a/suite.yaml", &SUITE.replace("PATH", "t.jsonl")),
        ("a/data.jsonl", ROWS),
        ("abc/t.jsonl", "{\"id\": \"é\", \"output\": \"x\"}\n{\"id\": 2, \"output\": \"y\"}\n"),
    ]);
    let ran = space.run(&["run", "a/suite.yaml", "--cached", "abc/t.jsonl", "--output", "out"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let header: Value = serde_json::from_str(&space.read("out/header.json")).unwrap();
    let inputs: Vec<&String> = header["inputs"].as_object().unwrap().keys().collect();
    assert_eq!(inputs, ["data.jsonl", "suite.yaml", "abc/t.jsonl"]);
}

/// Three rows, of which the second and the third hold no answer.
const ANSWERS: &str = r#"{"id":"a","input":"q","ground_truth":"yes","a":"yes","stars":1}
{"id":"b","input":"q","ground_truth":"yes","a":null,"stars":0}
{"id":"c","input":"q","ground_truth":"yes","stars":0}
"#;

fn answers(dataset: &str) -> Space {
    let suite = format!(
        "name: s\ndataset: {{path: answers.jsonl, {dataset}}}\ngraders:\n  exact: {{kind: tool, function: exact_match}}\n  people: {{kind: tool, function: recorded_score, config: {{path: stars}}}}\n"
    );
    Space::new(&[("suite.yaml", &suite), ("answers.jsonl", ANSWERS)])
}

#[test]
fn an_answer_that_is_missing_is_an_error_of_its_result() {
    for (fields, why) in [("output: a", "its `output`"), ("outputs: {m: a}", "the output of `m`")] {
        let space = answers(&format!("fields: {{{fields}}}"));
        let ran = space.run(&["run", "suite.yaml"]);
        // As for all grades that cannot be made.
        assert_eq!(ran.code(), 3, "{}", ran.shown());
        let results = space.record("results.jsonl");
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap()["grades"].clone();
        let grades: Vec<Value> = results.lines().map(read).collect();
        let error = format!("no answer: the row has nothing at `a`, {why}");
        assert_eq!(grades.len(), 3, "{}", ran.shown());
        assert_eq!(grades[0]["exact"]["score"], json!(1.0));
        for missing in &grades[1..] {
            assert_eq!(missing["exact"]["metadata"]["error"], json!(error), "{}", ran.shown());
            assert_eq!(missing["people"]["metadata"].get("error"), None, "{}", ran.shown());
        }
    }
}

#[test]
fn an_answer_that_is_missing_may_be_empty() {
    let space = answers("fields: {output: a}, missing: empty");
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    no gate  s: 3 samples, 3 results

    grader  n  errors           mean [95 %]        pass [95 %]    min  median    max
    exact   3       0  0.333 [0.008, 0.906]  33.3% [0.8, 90.6]  0.000   0.000  1.000
    people  3       0  0.333 [0.008, 0.906]  33.3% [0.8, 90.6]  0.000   0.000  1.000
    95 % intervals: Clopper-Pearson

    4 failures  grader  score  rationale
    b           exact   0.000  Empty submission - extractor found no content
    b           people  0.000  Recorded score: 0
    c           exact   0.000  Empty submission - extractor found no content
    c           people  0.000  Recorded score: 0

    2 grades are 0.0 because there was nothing to grade
    graded in N s
    report: .evalrs/runs/RUN
    --- stderr
    ");
    let nowhere = answers("fields: {output: b}, missing: empty");
    insta::assert_snapshot!(nowhere.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no row of the dataset has `b`
     --> suite.yaml:2:49
      |
    2 | dataset: {path: answers.jsonl, fields: {output: b}, missing: empty}
      |                                                 ^
      |
      = help: the first row has `id`, `input`, `ground_truth`, `a`, `stars`
    ");
}

#[test]
fn rows_need_no_answer_that_no_grader_reads() {
    let graders = "  people: {kind: tool, function: recorded_score, config: {path: stars}}\n  quick: {kind: tool, function: max_latency, config: {max_ms: 10}}\n  same: {kind: tool, function: equals_field, config: {path: x, other: y}}\n  said: {kind: tool, function: contains, config: {value: go}, extractor: json_path, extractor_config: {path: $.notes.*}}\n  both: {kind: combine, combine: 'min(people, same)'}\n";
    let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n{graders}");
    let rows = "{\"id\":\"a\",\"stars\":1,\"latency_ms\":5,\"x\":1,\"y\":1,\"notes\":[\"go\"]}\n{\"stars\":0,\"latency_ms\":50,\"x\":1,\"y\":2,\"notes\":[\"stay\"]}\n";
    let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", rows)]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let results = space.record("results.jsonl");
    let results: Vec<Value> =
        results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (result, score) in results.iter().zip([1.0, 0.0]) {
        for grader in ["people", "quick", "same", "said", "both"] {
            let grade = &result["grades"][grader];
            assert_eq!(grade["score"], json!(score), "{grader}: {grade}");
            assert_eq!(grade["metadata"].get("error"), None, "{grader}: {grade}");
        }
        assert_eq!(submission_of(result, "people"), "", "{result}");
    }
    // The one that reads it may be for other rows.
    let named =
        "  named: {kind: tool, function: contains, config: {value: go}, only: not has(notes)}\n";
    space.write("suite.yaml", format!("{suite}{named}"));
    assert_eq!(space.run(&["validate", "suite.yaml"]).code(), 0);
    space.write(
        "suite.yaml",
        format!("{suite}  all: {{kind: tool, function: contains, config: {{value: go}}}}\n"),
    );
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: nothing was recorded for this row: it has no `output`, `trajectory` or `messages`; the grader `all` reads the answer
     --> rows.jsonl:1:1
      |
    1 | {"id":"a","stars":1,"latency_ms":5,"x":1,"y":1,"notes":["go"]}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the row has `id`, `stars`, `latency_ms`, `x`, `y`, `notes`; map one with `fields: {output: NAME}`, or name a file: `target: {kind: recorded, path: trajectories.jsonl}`

    error: nothing was recorded for this row: it has no `output`, `trajectory` or `messages`; the grader `all` reads the answer
     --> rows.jsonl:2:1
      |
    2 | {"stars":0,"latency_ms":50,"x":1,"y":2,"notes":["stay"]}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the row has `stars`, `latency_ms`, `x`, `y`, `notes`; map one with `fields: {output: NAME}`, or name a file: `target: {kind: recorded, path: trajectories.jsonl}`
    "#);
}

#[test]
fn recorded_letters_are_scores() {
    let suite = "name: s\ndataset: data.csv\ngraders:\n  people: {kind: tool, function: recorded_score, config: {path: said, map: {C: 1, I: 0, true: 1}}}\n";
    let rows = "id,input,output,said\na,q,x,C\nb,q,x,I\nc,q,x,True\nd,q,x,P\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.csv", rows)]);
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 3
    --- stdout
    no gate  s: 4 samples, 4 results

    grader  n  errors           mean [95 %]        pass [95 %]    min  median    max  errors as 0
    people  4       1  0.667 [0.094, 0.992]  66.7% [9.4, 99.2]  0.000   1.000  1.000        0.500
    95 % intervals: Clopper-Pearson

    1 failure  grader  score  rationale
    b          people  0.000  Recorded score: 0 for `I`

    1 grade could not be made
    1 ×  invalid_score  `said` is `P`, which `map` does not have: it has `C`, `I`, `tru…  first d people

    graded in N s
    report: .evalrs/runs/RUN

    exit code 3: 1 grade could not be made: `evalrs explain suite.yaml d` tells more
    --- stderr
    ");
}
