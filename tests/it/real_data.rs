//! Data that nobody here wrote, where it lies: what is reported of it must be what its makers or an independent
//! count say. Skipped where the data is absent.

use serde_json::{Value, json};

use crate::judge::Judge;
use crate::space::{Ran, Space, jsonl, submission_of};
use evalrs_test_data as test_data;

/// The data set's `expected.json` and the path of one of its files; none where the data is absent.
fn data(set: &str, name: &str) -> Option<(Value, String)> {
    let expected = serde_json::from_str(&test_data::text(set, "expected.json")?).unwrap();
    Some((expected, test_data::path(set, name)?.to_str().unwrap().to_owned()))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The records of a JSON array or of JSON Lines.
fn records(path: &str) -> Vec<Value> {
    let text = read(path);
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).unwrap();
    }
    text.lines().map(json).collect()
}

#[expect(clippy::disallowed_methods, reason = "the independent count reads the file itself")]
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The rows of a CSV file as maps of text.
fn csv_rows(path: &str) -> Vec<std::collections::HashMap<String, String>> {
    let text = read(path);
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// Runs `suite.yaml` with `args`; the exit code must be `code`.
#[track_caller]
fn run(space: &Space, args: &[&str], code: i32) -> Ran {
    let ran = space.run(&[&["run", "suite.yaml"], args].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    ran
}

fn summary(space: &Space) -> Value {
    json(&space.record("summary.json"))
}

fn results(space: &Space) -> Vec<Value> {
    space.record("results.jsonl").lines().map(json).collect()
}

/// How many results of a grader have this score.
fn count(results: &[Value], grader: &str, score: f64) -> usize {
    results.iter().filter(|line| line["grades"][grader]["score"] == score).count()
}

/// Both are the same number but for rounding.
#[track_caller]
fn near(found: &Value, expected: &Value) {
    let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
    assert!((found - expected).abs() < 1e-12, "{found} found, {expected} expected");
}

fn tau_space(path: &str) -> Space {
    let suite = format!(
        "\
name: tau-bench-airline
dataset:
  path: {path}
  fields: {{id: task_id, messages: traj, input: info.task.instruction}}
graders:
  reward: {{kind: tool, function: recorded_score, config: {{path: reward}}}}
  few_calls: {{kind: tool, function: max_tool_calls, config: {{max: 8}}}}
  looked_up: {{kind: tool, function: tool_called, config: {{name: get_reservation_details}}}}
  no_transfer: {{kind: tool, function: tool_called, config: {{name: transfer_to_human_agents, max: 0}}}}
  actions: {{kind: tool, function: tool_calls_match, config: {{path: info.task.actions, mode: superset}}}}
gate: {{metric_key: reward, metric: avg_score, op: gte, value: 0.4}}
"
    );
    Space::new(&[("suite.yaml", &suite)])
}

#[test]
fn tau_bench_gives_the_published_curve() {
    let Some((expected, path)) = data("agent-trajectories", "tau-bench-gpt-4o-airline.json") else {
        return;
    };
    let expected = &expected["tau-bench-gpt-4o-airline.json"];
    let space = tau_space(&path);
    let shown = run(&space, &["--details"], 0).stdout();
    assert!(shown.contains("0.420   0.273   0.220   0.200"), "{shown}");
    let summary = summary(&space);
    assert_eq!((&summary["samples"], &summary["results"]), (&json!(50), &json!(200)));
    let reward = &summary["metrics"]["reward"];
    for k in ["1", "2", "3", "4"] {
        near(&reward["pass_hat"][k], &expected["pass_hat_k"][k]);
        near(&reward["pass_at"][k], &expected["pass_at_k"][k]);
    }
    assert_eq!(reward["pass_hat"].as_object().unwrap().len(), 4);
    near(&reward["accuracy"], &expected["mean"]);
    near(&reward["avg_score_attempted"], &expected["mean"]);
    near(&reward["stderr"], &expected["se_clustered_by_task_no_small_sample_correction"]);
    near(&reward["stderr_naive"], &expected["se_clt_ddof1"]);
    assert_eq!(count(&results(&space), "reward", 1.0), 84);
    let trials = &summary["trials"]["reward"];
    let tasks = |passes: &str| expected["successes_per_task_histogram"][passes].as_u64().unwrap();
    let flaky = trials["flaky"].as_array().unwrap();
    assert_eq!(flaky.len() as u64, tasks("1") + tasks("2") + tasks("3"));
    assert_eq!((&flaky[0]["passes"], &flaky[0]["trials"]), (&json!(2), &json!(4)));
    near(&trials["variance"]["stderr"], &expected["se_of_task_means_ddof1"]);
    assert!(shown.contains("26 of 50: "), "{shown}");
}

/// The calls of an episode as name and arguments.
fn calls(episode: &Value) -> Vec<(String, Value)> {
    let messages = episode["traj"].as_array().unwrap().iter();
    let calls = messages.flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    calls
        .map(|call| {
            let function = &call["function"];
            let arguments = json(function["arguments"].as_str().unwrap());
            (function["name"].as_str().unwrap().to_owned(), arguments)
        })
        .collect()
}

/// Whether every expected action was taken, each by a call of its own.
fn acted(episode: &Value, mut made: Vec<(String, Value)>) -> bool {
    episode["info"]["task"]["actions"].as_array().unwrap().iter().all(|action| {
        let same = |call: &(String, Value)| action["name"] == call.0 && action["kwargs"] == call.1;
        made.iter().position(same).map(|at| made.swap_remove(at)).is_some()
    })
}

#[test]
fn tau_bench_tool_calls_are_graded_as_counted_by_hand() {
    let Some((expected, path)) = data("agent-trajectories", "tau-bench-gpt-4o-airline.json") else {
        return;
    };
    let space = tau_space(&path);
    run(&space, &[], 0);
    let (results, episodes) = (results(&space), records(&path));
    assert_eq!(results.len(), episodes.len());
    let mut total = 0;
    for (line, episode) in results.iter().zip(&episodes) {
        assert_eq!(line["sample_id"], episode["task_id"].to_string());
        assert_eq!(line["trial"], episode["trial"]);
        let made = calls(episode);
        total += made.len();
        let called = |name: &str| made.iter().any(|call| call.0 == name);
        for (grader, holds) in [
            ("reward", episode["reward"] == 1.0),
            ("few_calls", made.len() <= 8),
            ("looked_up", called("get_reservation_details")),
            ("no_transfer", !called("transfer_to_human_agents")),
            ("actions", acted(episode, made.clone())),
        ] {
            let found = &line["grades"][grader];
            assert_eq!(found["score"], f64::from(u8::from(holds)), "{grader} of {line}");
            assert_eq!((&found["pass"], &found["error"]), (&json!(holds), &Value::Null));
        }
    }
    assert_eq!(expected["tau-bench-gpt-4o-airline.json"]["tool_calls"], total);
    for grader in ["few_calls", "looked_up", "no_transfer", "actions"] {
        let held = count(&results, grader, 1.0);
        assert!(0 < held && held < 200, "{grader} tells nothing apart: {held}");
    }
}

#[test]
fn tau_bench_can_be_narrowed_to_trials_samples_and_graders() {
    let Some((_, path)) = data("agent-trajectories", "tau-bench-gpt-4o-airline.json") else {
        return;
    };
    let space = tau_space(&path);
    let check = |args: &[&str], expected: [usize; 3]| {
        let ran = space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
        let summary = summary(&space);
        let status = i32::from(summary["gate"]["status"] == "failed");
        assert_eq!(ran.code(), status, "{args:?}: {}", ran.shown());
        let graders = summary["metrics"].as_object().unwrap().len();
        let found =
            [&summary["samples"], &summary["results"]].map(|n| n.as_u64().unwrap() as usize);
        assert_eq!([found[0], found[1], graders], expected, "{args:?}");
    };
    check(&["--trials", "2"], [50, 100, 5]);
    check(&["--max-samples", "7", "--trials", "1"], [7, 7, 5]);
    check(&["--sample", "12"], [1, 4, 5]);
    check(&["--grader", "reward"], [50, 200, 1]);
    assert_eq!(summary(&space)["gate"]["status"], "passed");
    check(&["--grader", "actions", "--grader", "few_calls"], [50, 200, 2]);
    assert_eq!(summary(&space)["gate"]["status"], Value::Null, "the gate needs another grader");
}

const MODELS: [&str; 4] =
    ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];

#[test]
fn gsm8k_is_graded_row_by_row_as_its_makers_did() {
    let set = "gsm8k-humaneval-outputs";
    let Some((expected, path)) = data(set, "gsm8k-example_model_solutions.jsonl") else { return };
    let outputs = MODELS.map(|model| format!("      {model}: {model}.solution\n")).concat();
    let suite = format!(
        "\
name: gsm8k
dataset:
  path: {path}
  fields:
    outputs:
{outputs}graders:
  correct:
    kind: tool
    function: numeric
    extractor: pattern
    extractor_config: {{pattern: '(?m)^A: (.*)', group: 1}}
    ground_truth_pattern: 'A: (.+)'
gate: {{metric_key: correct, metric: accuracy, op: gte, value: 0.3}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    run(&space, &["--quiet"], 0);
    let (results, rows) = (results(&space), records(&path));
    assert_eq!((results.len(), rows.len()), (4 * 1319, 1319));
    for (at, line) in results.iter().enumerate() {
        let (row, model) = (&rows[at / 4], MODELS[at % 4]);
        assert_eq!((&line["model"], &line["input"]), (&json!(model), &row["question"]));
        let (passed, flag) = (&line["grades"]["correct"]["pass"], &row[model]["is_correct"]);
        assert_eq!(passed, flag, "row {} {model}: {line}", at / 4);
    }
    let (summary, expected) = (summary(&space), &expected["gsm8k"]);
    assert_eq!(summary["samples"], 1319);
    for model in MODELS {
        let metric = &summary["by_model"][model]["correct"];
        assert_eq!((&metric["n"], &metric["errors"]), (&json!(1319), &json!(0)));
        near(&metric["accuracy"], &expected["accuracy"][model]);
        near(&metric["stderr"], &expected["se_ddof1"][model]);
        let own = results.iter().filter(|line| line["model"] == model).cloned().collect::<Vec<_>>();
        assert_eq!(expected["correct"][model], count(&own, "correct", 1.0));
        let silent = own.iter().filter(|line| line["submission"] == "").count();
        assert_eq!(expected["no_final_answer_line"][model], silent);
    }
}

#[test]
fn humaneval_flags_are_scores() {
    let Some((_, path)) = data("gsm8k-humaneval-outputs", "humaneval-gpt-4.jsonl") else { return };
    let suite = format!(
        "\
name: humaneval
dataset: {{path: {path}, fields: {{id: task_id, output: solution}}}}
graders:
  solved: {{kind: tool, function: recorded_score, config: {{path: is_solved}}}}
  ascii: {{kind: tool, function: ascii_printable_only}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    run(&space, &["--quiet"], 0);
    let (results, rows) = (results(&space), records(&path));
    assert_eq!((results.len(), count(&results, "solved", 1.0)), (164, 134));
    for (line, row) in results.iter().zip(&rows) {
        assert_eq!(line["grades"]["solved"]["pass"], row["is_solved"]);
        let solution = row["solution"].as_str().unwrap();
        let printable = solution.chars().all(|c| matches!(c, ' '..='~' | '\n' | '\r'));
        let holds = printable && !solution.is_empty();
        assert_eq!(line["grades"]["ascii"]["pass"], holds, "{line}");
    }
}

#[test]
fn prometheus_scores_are_mapped_from_one_to_five() {
    let Some((expected, path)) = data("prometheus-vicuna-rubric", "vicuna_eval.json") else {
        return;
    };
    let graders = [0, 1, 2]
        .map(|run| format!("  run_{run}: {{kind: tool, function: recorded_score, pass_threshold: 0.75, config: {{path: 'gpt4_score[{run}]', scale: {{min: 1, max: 5}}}}}}\n"))
        .concat();
    let suite = format!(
        "\
name: prometheus
dataset:
  path: {path}
  fields: {{id: idx, input: instruction, output: 'gpt4_feedback[0]', model: response_source}}
graders:
{graders}"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    run(&space, &["--quiet"], 0);
    let summary = summary(&space);
    assert_eq!((&summary["samples"], &summary["results"]), (&json!(80), &json!(320)));
    let native = |metrics: &Value, run: usize| {
        1.0 + 4.0 * metrics[format!("run_{run}")]["avg_score_total"].as_f64().unwrap()
    };
    for run in 0..3 {
        near(&json!(native(&summary["metrics"], run)), &expected["mean_by_run"][run]);
    }
    for (source, mean) in expected["mean_by_response_source"].as_object().unwrap() {
        let metrics = &summary["by_model"][source];
        near(&json!((0..3).map(|run| native(metrics, run)).sum::<f64>() / 3.0), mean);
    }
}

#[test]
fn prometheus_judgments_are_imported_and_replayed() {
    let Some((expected, path)) = data("prometheus-vicuna-rubric", "vicuna_eval.json") else {
        return;
    };
    let suite = format!(
        "\
name: prometheus
dataset:
  path: {path}
  fields: {{id: idx, input: category, output: instruction, model: response_source}}
graders:
  gpt4:
    kind: rubric
    prompt: '{{submission}}'
    model: gpt-4-0613
    scale: {{min: 1, max: 5}}
    votes: {{n: 3, combine: mean}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    let fields = "id=idx,model=response_source,score=gpt4_score,rationale=gpt4_feedback";
    let import = ["cache", "import", "--as", "suite.yaml", "gpt4", "--fields", fields, &path];
    let ran = space.run(&import);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(ran.stdout().contains("960 judgments, 960 new, 0 already there"), "{}", ran.stdout());
    let reports = [(); 2].map(|()| {
        run(&space, &["--frozen"], 0);
        assert_eq!(space.actions("gpt4"), [0, 960, 0, 0]);
        ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name))
    });
    assert_eq!(reports[0], reports[1]);
    let agreement = &summary(&space)["agreement"]["gpt4"];
    assert_eq!((&agreement["items"], &agreement["raters"]), (&json!(320), &json!(3)));
    assert_eq!(agreement["all_equal_count"], expected["records_all_three_equal"]);
    near(&agreement["native_mean"], &expected["mean"]);
    for run in 0..3 {
        near(&agreement["means"][run], &expected["mean_by_run"][run]);
    }
    for pair in ["1-2", "1-3", "2-3"] {
        for name in ["exact_agreement", "cohen_kappa", "quadratic_weighted_kappa"] {
            near(&agreement["pairs"][pair][name], &expected[name][pair]);
        }
    }
    let alpha = &expected["krippendorff_alpha"];
    near(&agreement["krippendorff_alpha"]["nominal"], &alpha["nominal"]);
    near(&agreement["krippendorff_alpha"]["interval"], &alpha["interval"]);
}

#[test]
fn pandalm_judges_agree_with_people_as_often_as_published() {
    let set = "pandalm-human-labels";
    let Some((expected, labels)) = data(set, "testset-v1.json") else { return };
    let (Some((_, gpt)), Some((_, own))) =
        (data(set, "gpt-3.5-turbo-testset-v1.json"), data(set, "pandalm-7b-testset-v1.json"))
    else {
        return;
    };
    let (labels, gpt, own) = (records(&labels), records(&gpt), records(&own));
    let rows = labels.iter().zip(gpt.iter().zip(&own)).map(|(row, (gpt, own))| {
        let annotators = [1, 2, 3].map(|n| row[format!("annotator{n}")].as_u64().unwrap());
        let said = |label: u64| annotators.iter().filter(|said| **said == label).count();
        let majority = [0, 1, 2].into_iter().max_by_key(|label| said(*label)).unwrap();
        let gpt = gpt["gpt_result"].as_str().unwrap();
        let gpt = gpt.parse::<u64>().ok().filter(|label| *label <= 2).unwrap_or(0);
        json!({"id": row["idx"], "input": row["instruction"], "ground_truth": majority,
                "judges": {"gpt": gpt, "pandalm": own["pandalm_result"]}})
    });
    let suite = "\
name: pandalm
dataset: {path: rows.jsonl, fields: {outputs: {gpt: judges.gpt, pandalm: judges.pandalm}}}
graders:
  agrees: {kind: tool, function: exact_match}
";
    let space = Space::new(&[("suite.yaml", suite), ("rows.jsonl", &jsonl(rows))]);
    run(&space, &["--quiet"], 0);
    let summary = summary(&space);
    for (model, key) in [
        ("gpt", "gpt-3.5-turbo_vs_majority (Tie and garbage -> 0)"),
        ("pandalm", "pandalm-7b_vs_majority"),
    ] {
        let found = &summary["by_model"][model]["agrees"];
        assert_eq!(found["n"], expected["records"]);
        near(&found["accuracy"], &expected[key]["accuracy"]);
    }
}

#[test]
fn pandalm_annotators_can_be_compared_in_the_file_as_it_is() {
    let Some((_, path)) = data("pandalm-human-labels", "testset-v1.json") else { return };
    let suite = format!(
        "\
name: annotators
dataset: {{path: {path}, fields: {{id: idx, input: instruction, output: annotator1, ground_truth: annotator2}}}}
graders:
  same: {{kind: tool, function: exact_match}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    run(&space, &["--quiet"], 0);
    let rows = records(&path);
    let same = rows.iter().filter(|row| row["annotator1"] == row["annotator2"]).count();
    assert_eq!(count(&results(&space), "same", 1.0), same);
}

/// The files as they are published: three annotators in a line, the judge's results in another file.
#[test]
fn pandalm_annotators_agree_among_themselves_as_krippendorff_says() {
    let set = "pandalm-human-labels";
    let Some((_, people)) = data(set, "testset-v1.json") else { return };
    let Some((_, judge)) = data(set, "gpt-3.5-turbo-testset-v1.json") else { return };
    let suite = format!(
        "\
name: pandalm
dataset: {{path: {people}, fields: {{id: idx, input: instruction}}}}
target: {{kind: recorded, path: {judge}, fields: {{id: idx, output: gpt_result}}}}
graders:
  first: {{kind: tool, function: exact_match, config: {{value: '1'}}}}
labels: {{path: {people}, fields: {{id: idx}}, at: [annotator1, annotator2, annotator3], map: {{1: pass, 2: fail, 0: fail}}}}
gate: {{metric_key: first, metric: kappa, op: gte, value: 0.5}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    run(&space, &["--quiet"], 0);
    let summary = summary(&space);
    let found = &summary["annotators"]["first"];
    assert_eq!(
        (&found["cases"], &found["people"], &found["pairs"]),
        (&json!(999), &json!(3), &json!(2997))
    );
    // The package krippendorff 0.8, of whether annotators prefer the first answer.
    near(&found["alpha"], &json!(0.867_070_409_521_500_7));
    near(&found["agreement"], &json!(2803.0 / 2997.0));
    let labels = &summary["label_agreement"]["first"];
    assert_eq!((&labels["n"], &labels["both_pass"]), (&json!(999), &json!(332)));
}

const CLAUDE: &str = "\
name: claude-code
dataset: data.jsonl
target: {kind: recorded, path: sessions}
graders:
  top: {kind: tool, function: max_tool_calls, config: {max: 8}}
  fewer: {kind: tool, function: max_tool_calls, config: {max: 7}}
  all: {kind: tool, function: max_tool_calls, include_subagents: true, config: {max: 21}}
  all_fewer: {kind: tool, function: max_tool_calls, include_subagents: true, config: {max: 20}}
  no_errors: {kind: tool, function: no_tool_errors, include_subagents: true}
  last: {kind: tool, function: ascii_printable_only}
  own: {kind: tool, function: ascii_printable_only, extractor: trajectory}
  whole: {kind: tool, function: ascii_printable_only, extractor: trajectory, include_subagents: true}
";

/// What the graders of [`CLAUDE`] find in the session, and what its trajectory holds.
fn check_claude(line: &Value, expected: &Value, session: &str) {
    for (grader, score) in
        [("top", 1.0), ("fewer", 0.0), ("all", 1.0), ("all_fewer", 0.0), ("no_errors", 0.0)]
    {
        assert_eq!(line["grades"][grader]["score"], score, "{grader}: {}", line["grades"][grader]);
    }
    let calls = |grader: &str| {
        let turns = json(submission_of(line, grader).as_str().unwrap());
        let messages = turns.as_array().unwrap().iter().flat_map(|turn| turn.as_array().unwrap());
        messages.filter(|message| message["role"] == "tool_call").count()
    };
    assert_eq!(expected["tool_uses"], calls("whole"));
    assert_eq!(expected["tool_uses_top_level_only"], calls("own"));
    let result = session.lines().map(json).find(|event| event["type"] == "result").unwrap();
    assert_eq!(submission_of(line, "last"), &result["result"]);
}

#[test]
fn a_claude_code_session_is_one_trajectory_wherever_it_lies() {
    let set = "agent-trajectories";
    let Some((expected, path)) = data(set, "claude-code-2.0.25-stream.jsonl") else { return };
    let expected = &expected["claude-code-2.0.25-stream.jsonl"];
    let session = read(&path);
    let names = expected["tool_uses_by_name"].as_object().unwrap();
    let by_name: Vec<String> = names
            .iter()
            .map(|(name, count)| format!("  n_{name}: {{kind: tool, function: tool_called, include_subagents: true, config: {{name: {name}, min: {count}, max: {count}}}}}\n"))
            .collect();
    let suite = format!("{CLAUDE}{}", by_name.concat());
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("data.jsonl", "{\"id\": \"session\", \"input\": \"check your tools\"}\n"),
        ("sessions/session.jsonl", &session),
    ]);
    run(&space, &["--quiet"], 0);
    let in_folder = results(&space);
    let [line] = in_folder.as_slice() else { panic!("{in_folder:?}") };
    check_claude(line, expected, &session);
    for name in names.keys() {
        let grade = &line["grades"][format!("n_{name}")];
        assert_eq!(grade["score"], 1.0, "{name}: {grade}");
    }
    let events: Vec<Value> = session.lines().map(json).collect();
    let rows = [("text", json!(session)), ("list", json!(events))].map(|(id, trajectory)| {
        json!({"id": id, "input": "check your tools", "trajectory": trajectory}).to_string()
    });
    space.write("data.jsonl", rows.join("\n"));
    space.write("suite.yaml", suite.replace("target: {kind: recorded, path: sessions}\n", ""));
    run(&space, &["--quiet"], 0);
    let in_rows = results(&space);
    assert_eq!(in_rows.len(), 2);
    for embedded in &in_rows {
        assert_eq!(embedded["submission"], line["submission"]);
        assert_eq!(embedded["submissions"], line["submissions"]);
        assert_eq!(embedded["grades"], line["grades"]);
    }
}

#[test]
fn a_session_that_was_cut_off_is_reported_not_read_as_text() {
    let set = "agent-trajectories";
    let Some((_, path)) = data(set, "claude-code-2.0.25-stream.jsonl") else { return };
    let session = read(&path);
    let cut = session.trim_end();
    let space = Space::new(&[
        ("suite.yaml", CLAUDE),
        ("data.jsonl", "{\"id\": \"session\", \"input\": \"check your tools\"}\n"),
        ("sessions/session.jsonl", &cut[..cut.len() - 9]),
    ]);
    let ran = run(&space, &[], 2);
    assert!(ran.stderr().contains("sessions/session.jsonl:47:"), "{}", ran.stderr());
}

/// The trajectory that Letta would have recorded of an agent that says `answer`.
fn letta_turns(input: &str, answer: &str) -> Value {
    json!([[
        {"id": "message-1", "date": "2026-01-02T03:04:05+00:00", "message_type": "user_message", "content": input},
        {"id": "message-2", "message_type": "reasoning_message", "source": "reasoner_model", "reasoning": "Look it up."},
        {"id": "message-3", "message_type": "tool_call_message",
            "tool_call": {"name": "grep_files", "arguments": "{\"pattern\": \"owner\"}", "tool_call_id": "call-1"}},
        {"id": "message-4", "message_type": "tool_return_message", "tool_call_id": "call-1", "status": "success", "tool_return": format!("found {answer}")},
        {"id": "message-3", "message_type": "assistant_message",
            "content": [{"type": "text", "text": "It is"}, {"type": "text", "text": answer}]},
    ]])
}

/// A line of results.jsonl, 0.3 to 0.16.
fn old_result(at: usize, row: &Value, model: &str, trajectory: &Value) -> String {
    let result = json!({
        "sample": {"id": at, "input": row["input"], "ground_truth": "changed since", "agent_args": row["agent_args"], "rubric_vars": null},
        "submission": "…", "submissions": {"accuracy": "…"}, "trajectory": trajectory, "agent_id": "agent-1",
        "grade": {"score": 0.0, "rationale": "", "metadata": {}}, "grades": null, "model_name": model, "agent_usage": [],
    });
    format!("{}\n", json!({"type": "result", "result": result}))
}

/// A line of `<model>.jsonl`, 0.17 and later.
fn new_result(at: usize, model: &str, trajectory: &Value, state: &Value) -> String {
    let result = json!({
        "sample_id": at, "agent_id": "agent-1", "model_handle": model, "trajectory": trajectory, "agent_state": state,
        "submissions": {"accuracy": "…"}, "grades": {"accuracy": {"score": 0.0}}, "reward": {"score": 0.0},
    });
    format!("{result}\n")
}

const FILESYSTEM: &str = "\
name: filesystem
dataset: DATASET
target: {kind: agent, agent_file: filesystem.af}
graders:
  accuracy: {kind: tool, function: contains, extractor: last_assistant}
  searched: {kind: tool, function: contains, extractor: tool_output, extractor_config: {tool_name: grep_files}}
gate: {metric_key: accuracy, metric: avg_score, op: gte, value: 0.4}
";

fn filesystem() -> Option<(Vec<Value>, String)> {
    let (expected, path) = data("letta-datasets", "filesystem_cloud.jsonl")?;
    let rows = records(&path);
    assert_eq!(expected["filesystem_cloud.jsonl"]["records"], rows.len());
    Some((rows, FILESYSTEM.replace("DATASET", &path)))
}

/// The input and ground truth of a row.
fn texts(row: &Value) -> [&str; 2] {
    [row["input"].as_str().unwrap(), row["ground_truth"].as_str().unwrap()]
}

#[test]
fn an_agent_target_needs_its_recorded_results() {
    let Some((_, suite)) = filesystem() else { return };
    let space = Space::new(&[("suite.yaml", &suite)]);
    let ran = run(&space, &[], 2);
    insta::assert_snapshot!(ran.stderr(), @r"
    error: this target of kind `agent` cannot be run: the file `filesystem.af` does not exist
     --> suite.yaml:3:16
      |
    3 | target: {kind: agent, agent_file: filesystem.af}
      |                ^^^^^
      |
      = help: grade recorded results instead: `--cached DIR` with a result directory, or `target: {kind: recorded, path: trajectories.jsonl}`
    ");
}

#[test]
fn letta_results_by_row_number_in_any_order_with_gaps_and_repeats() {
    let Some((rows, suite)) = filesystem() else { return };
    let mut lines = String::new();
    // The directory was used twice, and what was recorded first says nothing right.
    lines += &old_result(3, &rows[3], "gpt", &letta_turns(texts(&rows[3])[0], "no idea"));
    for (at, row) in rows.iter().enumerate().rev().filter(|(at, _)| *at != 7) {
        let [input, truth] = texts(row);
        let answer = if at % 2 == 0 { "something else" } else { truth };
        let failed = at == 9;
        let turns = if failed { json!([]) } else { letta_turns(input, answer) };
        lines += &old_result(at, row, "gpt", &turns);
    }
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("cached/header.json", "{\"type\": \"header\", \"suite\": \"filesystem\", \"config\": {}}"),
        ("cached/results.jsonl", &lines),
        ("cached/summary.json", "{\"type\": \"summary\", \"metrics\": {}, \"gates_passed\": true}"),
    ]);
    let ran = run(&space, &["--quiet", "--cached", "cached"], 0);
    let warned = ran.stderr();
    let missing = "1 sample has no trajectory in `cached` and cannot be graded: `row 8`";
    assert!(warned.contains(missing) && !warned.contains("belong"), "{warned}");
    let found = results(&space);
    let inputs: Vec<&Value> = found.iter().map(|line| &line["input"]).collect();
    let all = rows.iter().map(|row| &row["input"]);
    assert_eq!(inputs, all.collect::<Vec<_>>(), "in the order of the dataset");
    let ungraded = &found[7]["grades"]["accuracy"]["error"]["message"];
    assert_eq!(ungraded, "no trajectory was recorded for this sample");
    let failed = &found[9]["grades"]["accuracy"];
    assert_eq!(failed["rationale"], "Empty trajectory - agent produced no messages");
    assert_eq!(failed["error"], Value::Null);
    let right = |at: usize| at % 2 == 1 && at != 7 && at != 9;
    let expected = (0..100).filter(|at| right(*at)).count();
    assert_eq!(count(&found, "accuracy", 1.0), expected);
    assert_eq!(count(&found, "searched", 1.0), expected);
}

#[test]
fn letta_results_of_several_models_carry_the_agents_state() {
    let Some((rows, suite)) = filesystem() else { return };
    let suite = suite.replace("gate:", "  remembers: {kind: tool, function: exact_match, extractor: memory_block, extractor_config: {block_label: human}}\ngate:");
    let samples: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| json!({"id": at, "input": row["input"], "ground_truth": null}))
        .collect();
    let model = |handle: &str, step: usize| -> String {
        let line = |(at, row): (usize, &Value)| {
            let [input, truth] = texts(row);
            let answer = if at % step == 0 { truth } else { "something else" };
            let state = json!({"blocks": [{"label": "persona", "value": "x"}, {"label": "human", "value": answer}]});
            new_result(at, handle, &letta_turns(input, answer), &state)
        };
        rows.iter().enumerate().map(line).collect()
    };
    let listed = json!({"suite": "filesystem", "config": {}, "samples": samples}).to_string();
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("cached/suite.json", &listed),
        ("cached/summary.json", "{\"suite\": \"filesystem\", \"models\": []}"),
        ("cached/openai-gpt-4.1.jsonl", &model("openai/gpt-4.1", 2)),
        ("cached/anthropic-claude.jsonl", &model("anthropic/claude", 5)),
    ]);
    run(&space, &["--quiet", "--cached", "cached"], 1);
    let found = summary(&space);
    assert_eq!((&found["samples"], &found["results"]), (&json!(100), &json!(200)));
    for (model, share) in [("openai/gpt-4.1", 0.5), ("anthropic/claude", 0.2)] {
        for grader in ["accuracy", "searched", "remembers"] {
            near(&found["by_model"][model][grader]["accuracy"], &json!(share));
        }
    }
    let mixed = listed.replace(texts(&rows[4])[0], "another question");
    space.write("cached/suite.json", mixed);
    let ran = run(&space, &["--cached", "cached"], 2);
    let wrong = "`row 5` was recorded with another input in `cached`";
    assert!(ran.stderr().contains(wrong), "{}", ran.stderr());
    assert!(ran.stderr().contains("filesystem_cloud.jsonl:5:1"), "{}", ran.stderr());
}

#[test]
fn results_of_another_dataset_are_found_out() {
    let Some((rows, suite)) = filesystem() else { return };
    let lines: String = (0..100)
        .map(|at| {
            // Rows 20 and 21 have changed places since.
            let row = &rows[match at {
                20 => 21,
                21 => 20,
                other => other,
            }];
            old_result(at, row, "gpt", &letta_turns(texts(row)[0], "x"))
        })
        .collect();
    let space = Space::new(&[("suite.yaml", &suite), ("cached/results.jsonl", &lines)]);
    let ran = run(&space, &["--cached", "cached"], 2);
    for row in ["row 21", "row 22"] {
        let wrong = format!("`{row}` was recorded with another input");
        assert!(ran.stderr().contains(&wrong), "{}", ran.stderr());
    }
    assert_eq!(ran.stderr().matches("another input").count(), 2);
}

#[test]
fn letta_runs_are_trials_in_both_layouts() {
    let Some((rows, suite)) = filesystem() else { return };
    let rows = &rows[..10];
    let results_of = |run: usize, old: bool| -> String {
        let line = |(at, row): (usize, &Value)| {
            let [input, truth] = texts(row);
            let turns = letta_turns(input, if run == 0 || at < 5 { truth } else { "no idea" });
            if old {
                old_result(at, row, "gpt", &turns)
            } else {
                new_result(at, "gpt", &turns, &Value::Null)
            }
        };
        rows.iter().enumerate().map(line).collect()
    };
    let check = |space: &Space| {
        run(space, &["--quiet", "--max-samples", "10", "--cached", "cached"], 0);
        let found = summary(space);
        assert_eq!((&found["samples"], &found["results"]), (&json!(10), &json!(20)));
        let metric = &found["metrics"]["accuracy"];
        assert_eq!(metric["pass_hat"], json!({"1": 0.75, "2": 0.5}));
        assert_eq!(metric["pass_at"], json!({"1": 0.75, "2": 1.0}));
    };
    check(&Space::new(&[
        ("suite.yaml", &suite),
        ("cached/run_1/results.jsonl", &results_of(0, true)),
        ("cached/run_2/results.jsonl", &results_of(1, true)),
        ("cached/aggregate_stats.json", "{\"num_runs\": 2}"),
    ]));
    check(&Space::new(&[
        ("suite.yaml", &suite),
        ("cached/suite.json", "{\"suite\": \"filesystem\", \"config\": {}}"),
        ("cached/gpt/run_1.jsonl", &results_of(0, false)),
        ("cached/gpt/run_2.jsonl", &results_of(1, false)),
        ("cached/gpt/summary.json", "{\"runs\": []}"),
    ]));
}

#[test]
fn every_row_of_core_memory_read_finds_its_result() {
    let Some((expected, path)) = data("letta-datasets", "core_memory_read.jsonl") else { return };
    let rows = records(&path);
    assert_eq!(expected["core_memory_read.jsonl"]["records"], rows.len());
    let lines: String = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let [input, truth] = texts(row);
            let answer = if at % 11 == 0 { "?" } else { truth };
            new_result(at, "m", &letta_turns(input, answer), &Value::Null)
        })
        .collect();
    let suite = format!(
        "\
name: core-memory-read
dataset: {path}
target: {{kind: recorded, path: results/m.jsonl}}
grader: {{kind: tool, function: contains}}
gate: {{metric: accuracy, op: gte, value: 0.9}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite), ("results/m.jsonl", &lines)]);
    run(&space, &["--quiet"], 0);
    let found = summary(&space);
    assert_eq!((&found["samples"], &found["results"]), (&json!(1100), &json!(1100)));
    assert_eq!(count(&results(&space), "default", 1.0), 1000);
}

#[test]
fn json_in_csv_cells_reaches_the_rubric() {
    let Some((expected, path)) = data("letta-datasets", "skills-dataset_use.csv") else { return };
    let rows = csv_rows(&path);
    assert_eq!(expected["skills-dataset_use.csv"]["records"], rows.len());
    assert_eq!(expected["skills-dataset_use.csv"]["physical_lines"], read(&path).lines().count());
    let said = |row: &std::collections::HashMap<String, String>| {
        format!("{} has used {}", row["sample_id"], row["skill"])
    };
    let lines = jsonl(rows.iter().rev().map(|row| {
        json!({"id": row["sample_id"], "messages": [{"role": "assistant", "content": said(row)}]})
    }));
    let suite = format!(
        "\
name: skills
dataset: {path}
target: {{kind: recorded, path: trajectories.jsonl}}
graders:
  completion:
    kind: rubric
    prompt: '{{row.skill}} | {{skill}} | {{rubric_task_completion}} | {{files}} | {{submission}} | {{unknown}}'
    rubric_vars: [skill, files, rubric_task_completion, rubric_skill_use]
    model: judge-1
    endpoint: test
"
    );
    let space = Space::new(&[("suite.yaml", &suite), ("trajectories.jsonl", &lines)]);
    let judge = Judge::by_length();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    let problems = ran.stderr().matches("error[").count();
    assert!(problems == 1 && ran.stderr().contains("names `{unknown}`"), "{}", ran.stderr());
    assert_eq!((ran.code(), judge.asked().len()), (2, 0));
    space.write("suite.yaml", suite + "    allow_unknown: true\n");
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let asked = judge.asked();
    let mut found: Vec<&str> =
        asked.iter().map(|asked| asked.prompt().split("\n\nReply with").next().unwrap()).collect();
    let mut wanted: Vec<String> = rows
        .iter()
        .map(|row| {
            let vars = json(&row["rubric_vars"]);
            let completion = vars["rubric_task_completion"].as_str().unwrap();
            let (skill, said) = (&row["skill"], said(row));
            format!(
                "{skill} | {} | {completion} | {} | {said} | {{unknown}}",
                vars["skill"].as_str().unwrap(),
                vars["files"]
            )
        })
        .collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    let ids: Vec<Value> = results(&space).iter().map(|line| line["sample_id"].clone()).collect();
    assert_eq!(ids, rows.iter().map(|row| json!(row["sample_id"])).collect::<Vec<_>>());
}

#[test]
fn a_missing_rubric_variable_is_found_before_anything_is_asked() {
    let Some((_, path)) = data("letta-datasets", "skills-dataset_use.csv") else { return };
    let suite = format!(
        "\
name: skills
dataset: {{path: {path}, fields: {{output: skill}}}}
graders:
  use: {{kind: rubric, prompt: '{{submission}} {{rubrik}}', model: m, rubric_vars: [rubrik]}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite)]);
    let ran = run(&space, &[], 2);
    let wrong = "the grader `use` needs `rubrik` in the row's `rubric_vars`";
    assert!(ran.stderr().contains(wrong), "{}", ran.stderr());
    // The second record of the file starts far below its second line.
    let second = read(&path).lines().position(|line| line.starts_with("sample-1,")).unwrap() + 1;
    assert!(
        ran.stderr().contains(&format!("skills-dataset_use.csv:{second}:1")),
        "{}",
        ran.stderr()
    );
}

#[test]
fn reward_composition_joins_by_row_number() {
    let Some((expected, path)) = data("letta-datasets", "reward-composition.csv") else { return };
    let rows = csv_rows(&path);
    assert_eq!(expected["reward-composition.csv"]["records"], rows.len());
    let lines: String = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let art = if at == 2 { "🐈" } else { "```\n/\\_/\\\n```" };
            old_result(at, &json!({"input": row["input"]}), "m", &letta_turns(&row["input"], art))
        })
        .collect();
    let suite = format!(
        "\
name: reward-composition
dataset: {path}
target: {{kind: letta_code, model_handles: [a/m], working_dir: sandbox}}
graders:
  quality:
    kind: model_judge
    prompt: 'Like {{reference_ascii}}? {{submission}}'
    rubric_vars: [reference_ascii]
    model: gpt-5-mini
    endpoint: test
  ascii: {{kind: tool, function: ascii_printable_only, display_name: Printable}}
gate: {{kind: simple, metric_key: ascii, aggregation: accuracy, op: gte, value: 0.8}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite), ("cached/results.jsonl", &lines)]);
    let judge = Judge::by_length();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--cached", "cached"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(ran.stdout().contains("\nPrintable  5       0"), "{}", ran.stdout());
    assert_eq!(count(&results(&space), "ascii", 1.0), 4);
    let prompts: Vec<String> =
        judge.asked().iter().map(|asked| asked.prompt().to_owned()).collect();
    assert_eq!(prompts.len(), 5);
    for row in &rows {
        let vars = json(&row["rubric_vars"]);
        let like = format!("Like {}? It is", vars["reference_ascii"].as_str().unwrap());
        assert!(prompts.iter().any(|prompt| prompt.starts_with(&like)), "{like}");
    }
    // Reasoning models are asked at temperature 1, whatever the suite says.
    assert!(judge.asked().iter().all(|asked| asked.body["temperature"] == 1.0));
}
