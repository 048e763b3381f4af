//! A store that cannot be written, is damaged, or holds bad lines: what is said, what is asked, how it ends.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of the store themselves")]

use serde_json::{Value, json};

use crate::judge::{Answer, Judge, Order};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: faults
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 0}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.0}
max_concurrent: 4
";

fn rows(count: usize) -> String {
    lines((0..count).map(|at| json!({"id": at, "input": "q", "output": format!("answer {at}")})))
}

fn space(count: usize) -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(count))])
}

fn judge() -> Judge {
    Judge::new(|_, _| Answer::text(&json!({"score": 1.0, "rationale": "polite"}).to_string()))
}

fn errors_of(space: &Space, kind: &str) -> usize {
    let results = space.record("results.jsonl");
    let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["grades"]["quality"]["error"]["kind"] == kind).count()
}

/// Many more rows than can be asked for while a write is on its way to fail: see `UNWRITTEN` in `durability`.
const MANY: usize = 1000;

/// A run over many rows whose store cannot be written at all.
fn check_unwritable(space: &Space, args: &[&str], said: &str) {
    let judge = judge();
    let ran = space.run_with(&judge, args);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let error = ran.stderr().lines().find(|line| line.starts_with("error: ")).map(str::to_owned);
    let error = error.unwrap_or_default();
    assert!(
        error.starts_with(&format!("error: cannot write the store at `{said}`: ")),
        "{}",
        ran.shown()
    );
    assert!(
        error.ends_with(
            "; calls were stopped, because results that cannot be stored would be paid for again"
        ),
        "{error}"
    );
    // It was tried before anybody was paid.
    assert_eq!(judge.count(), 0);
    assert_eq!(space.actions("quality"), [0, 0, 0, MANY as u64]);
    assert_eq!(errors_of(space, "not_asked"), MANY);
}

#[test]
fn a_store_that_cannot_be_made_stops_the_asking() {
    let run = ["run", "suite.yaml"];
    let space = space(MANY);
    space.write("cache", "a file");
    check_unwritable(&space, &run, "cache/v1/seg");
    let space = self::space(MANY);
    space.write("cache/v1", "a file");
    check_unwritable(&space, &run, "cache/v1/seg");
}

#[test]
fn who_waits_to_be_asked_again_is_asked_no_more_when_nothing_can_be_kept() {
    // The first is answered, which cannot be kept; the others would be asked again later.
    let judge = Judge::new(|number, _| match number {
        0 => Answer::text(&json!({"score": 1.0, "rationale": "polite"}).to_string()),
        _ => {
            let wait = vec![("retry-after", "30".to_owned())];
            Answer::Http(500, wait, "{\"error\": \"broken\"}".to_owned())
        }
    })
    .in_order(Order::UpTo(0));
    let space = space(4);
    space.write("suite.yaml", SUITE.replace("max_retries: 0", "max_retries: 2, deadline: 3000"));
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_asked(4);
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    space.write("cache/v1", "a file");
    judge.order(Order::AtOnce);
    let ran = running.finish();
    assert_eq!((ran.code(), judge.count()), (3, 4), "{}", ran.shown());
    assert_eq!((errors_of(&space, "server"), errors_of(&space, "not_asked")), (3, 0));
    // What was paid for is no verdict that a later run would find, and it is told all the same.
    assert_eq!(errors_of(&space, "not_kept"), 1);
    assert_eq!(space.actions("quality"), [4, 0, 4, 0]);
    let results = space.record("results.jsonl");
    assert!(results.contains(r#""reply":"{\"score\":1.0,\"rationale\":\"polite\"}""#), "{results}");
}

/// Nobody can make folders in /proc, not even root.
#[cfg(target_os = "linux")]
#[test]
fn a_store_in_a_read_only_folder_stops_the_asking() {
    let args = ["run", "suite.yaml", "--cache-dir", "/proc/evalrs-cache"];
    check_unwritable(&space(MANY), &args, "/proc/evalrs-cache/v1/seg");
}

/// The binary with a limit on the size of files, as if the disk were full: in units of 512 bytes.
#[cfg(unix)]
fn run_with_small_disk(space: &Space, judge: &Judge, units: usize) -> Ran {
    let evalrs = space.command(&[]);
    let script = format!("trap '' XFSZ; ulimit -f {units}; exec \"$0\" run suite.yaml");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).arg(evalrs.get_program());
    command.current_dir(space.path("")).env_clear().env("OPENAI_BASE_URL", judge.url());
    Ran(command.output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_keeps_what_fitted_and_the_rerun_asks_for_the_rest() {
    let space = space(MANY);
    let question = format!("Is {{submission}} polite? {}", "Explain why. ".repeat(20));
    space.write("suite.yaml", SUITE.replace("Is {submission} polite?", &question));
    let first = judge();
    // The report has less than 400 bytes a row, the store more than 700: the store is what does not fit.
    let ran = run_with_small_disk(&space, &first, MANY * 600 / 512);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(
        ran.stderr().contains("error: cannot write the store at `cache/v1/seg/"),
        "{}",
        ran.shown()
    );
    let kept = space.stored_lines().len();
    assert!((1..MANY).contains(&kept), "{kept} kept");
    assert!((kept..MANY).contains(&first.count()), "{} asked, {kept} kept", first.count());
    let not_asked = errors_of(&space, "not_asked");
    assert_eq!(first.count(), MANY - not_asked, "what was paid for is in the report");
    let verified = space.run(&["cache", "verify", "suite.yaml"]);
    assert_eq!(verified.code(), 0, "{}", verified.shown());
    let rest = judge();
    assert_eq!(space.run_with(&rest, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((rest.count(), space.stored_lines().len()), (MANY - kept, MANY));
}

/// A store whose line is edited with care: its checksum is right again.
fn edit_first_line(space: &Space, segment: &str, from: &str, to: &str) {
    let text = space.read(segment);
    let line = text.lines().next().unwrap();
    let content = line[..line.rfind(",\"c\":").unwrap()].replacen(from, to, 1);
    let edited = format!("{content},\"c\":\"{:08x}\"}}", crc32fast::hash(content.as_bytes()));
    assert_ne!(edited, line);
    let index = space.path(&segment.replace(".jsonl", ".idx"));
    let _ = std::fs::remove_file(index);
    space.write(segment, text.replacen(line, &edited, 1));
}

#[test]
fn a_stored_reply_that_is_no_verdict_is_a_stored_failure() {
    let (space, segment) = answered();
    space.write("suite.yaml", SUITE.replace("gate:", "#"));
    edit_first_line(&space, &segment, "1.0", "7.5");
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), space.actions("quality")), (3, [0, 4, 0, 0]), "{}", ran.shown());
    assert_eq!(errors_of(&space, "invalid_reply"), 1);
    assert!(ran.stderr().contains("--retry-errors"), "{}", ran.shown());
    let plan = space.run(&["plan", "suite.yaml", "--retry-errors", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout()).unwrap();
    assert_eq!(plan["totals"]["to_ask"], 1, "{plan}");
    let judge = judge();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--retry-errors"]);
    assert_eq!((ran.code(), judge.count()), (0, 1), "{}", ran.shown());
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0, "the new one wins");
    assert_eq!(errors_of(&space, "invalid_reply"), 0);
}

#[test]
fn committed_judgments_under_a_wrong_key_are_left_out() {
    let (space, _) = answered();
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    let committed = "cache/faults.judgments.jsonl";
    let lines: Vec<String> = space.read(committed).lines().map(str::to_owned).collect();
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let [first, second] = [0, 1].map(|at: usize| lines[at][6..70].to_owned());
    edit_first_line(&space, committed, &first, &second);
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    // The right line of the second key is found all the same.
    assert_eq!((ran.code(), space.actions("quality")), (3, [0, 3, 0, 1]), "{}", ran.shown());
    let text = space.read(committed);
    space.write(
        committed,
        text.lines().filter(|line| **line != lines[1]).collect::<Vec<_>>().join("\n"),
    );
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (3, [0, 2, 0, 2]), "{}", ran.shown());
    let said = format!(
        "warning: skipped the committed outcome of {second}, which is stored under another key"
    );
    assert!(ran.stderr().contains(&said), "{}", ran.shown());
}

#[test]
fn a_result_that_is_too_large_costs_its_own_grade() {
    let space = space(3);
    let suite =
        "name: large\ndataset: data.jsonl\ngraders:\n  g: {kind: tool, function: 'g.py:grade'}\n";
    space.write("suite.yaml", suite);
    let grade = "def grade(sample, submission):\n    return {'score': 1.0, 'metadata': {'x': [''] * (15000000 if submission == 'answer 1' else 1)}}\n";
    space.write("g.py", grade);
    if !crate::space::has("python3") {
        return;
    }
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(!ran.stderr().contains("asking was stopped"), "{}", ran.shown());
    let kinds: Vec<Value> = space
        .record("results.jsonl")
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["grades"]["g"]["error"]["kind"].clone()
        })
        .collect();
    assert_eq!(kinds, [json!(null), json!("output_limit"), json!(null)]);
    let again = space.run(&["run", "suite.yaml"]);
    assert_eq!((again.code(), space.actions("g")), (3, [0, 3, 0, 0]), "{}", again.shown());
}

/// A workspace with an answered suite of four rows.
fn answered() -> (Space, String) {
    let space = space(4);
    assert_eq!(space.run_with(&judge(), &["run", "suite.yaml", "--max-concurrent", "1"]).code(), 0);
    let segment = space.segments().remove(0);
    let name = segment.file_name().unwrap().to_str().unwrap();
    (space, format!("cache/v1/seg/{name}"))
}

#[test]
fn a_damaged_line_is_named_and_asked_again() {
    for has_index in [true, false] {
        let (space, segment) = answered();
        let index = segment.replace(".jsonl", ".idx");
        assert!(space.path(&index).exists(), "a segment that was sealed has an index");
        if !has_index {
            std::fs::remove_file(space.path(&index)).unwrap();
        }
        let first = space.record("results.jsonl");
        space.write(
            &segment,
            space
                .read(&segment)
                .replacen("polite?", "POLITE?", 2)
                .replacen("POLITE?", "polite?", 1),
        );
        let verified = space.run(&["cache", "verify", "suite.yaml"]);
        assert_eq!(verified.code(), 3, "{}", verified.shown());
        let problem =
            format!("skipped the stored outcome at `{segment}:2`: the checksum does not match");
        assert!(verified.stderr().contains(&problem), "{}", verified.shown());
        assert!(verified.stdout().contains("cache: 3 entries, "), "{}", verified.shown());
        let judge = judge();
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (0, 1), "{}", ran.shown());
        assert!(ran.stderr().contains(&format!("warning: {problem}\n")), "{}", ran.shown());
        assert!(space.record("run.json").contains(&problem));
        assert_eq!(
            (space.actions("quality"), space.record("results.jsonl")),
            ([1, 3, 0, 0], first)
        );
        assert_eq!(
            space.run(&["run", "suite.yaml", "--frozen"]).code(),
            0,
            "what was asked again is kept"
        );
    }
}

#[test]
fn a_segment_of_garbage_hides_no_other() {
    let (space, _) = answered();
    space.write(
        "cache/v1/seg/00000000000-1-0000000000000000.jsonl",
        b"\xff\xfe\x00garbage\nmore\n{}\n".as_slice(),
    );
    space.write("cache/v1/seg/00000000000-1-0000000000000000.idx", b"nonsense".as_slice());
    std::fs::create_dir(space.path("cache/v1/seg/00000000000-1-0000000000000001.jsonl")).unwrap();
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (0, [0, 4, 0, 0]), "{}", ran.shown());
}

#[test]
fn an_outcome_of_another_shape_is_asked_again() {
    let (space, segment) = answered();
    std::fs::remove_file(space.path(&segment.replace(".jsonl", ".idx"))).unwrap();
    let text = space.read(&segment);
    let line = text.lines().next().unwrap();
    // A body that is intact as a line and means nothing to this version, from a later one perhaps.
    let content = format!(
        "{},\"v\":{{\"outcome\":{{\"vision\":1}}}}",
        &line[..line.find(",\"v\":").unwrap()]
    );
    let foreign = format!("{content},\"c\":\"{:08x}\"}}", crc32fast::hash(content.as_bytes()));
    space.write(&segment, text.replacen(line, &foreign, 1));
    let judge = judge();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, 1), "{}", ran.shown());
    let key = &line[6..70];
    let said =
        format!("warning: the cached outcome of {key} cannot be read, so its call is repeated: ");
    assert!(ran.stderr().contains(&said), "{}", ran.shown());
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0, "the new one wins");
}

#[test]
fn a_bad_line_of_committed_judgments_is_named_and_the_others_are_used() {
    let (space, _) = answered();
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    let committed = "cache/faults.judgments.jsonl";
    let text = space.read(committed);
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let conflict = text.replacen('\n', "\n<<<<<<< ours\n", 1);
    space.write(committed, &conflict);
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (0, [0, 4, 0, 0]), "{}", ran.shown());
    let said = format!("warning: `{committed}:2` is an unresolved conflict of git: ");
    assert!(ran.stderr().contains(&said), "{}", ran.shown());
    let damaged = text.replacen("polite?", "rude?", 1);
    space.write(committed, &damaged);
    let judge = judge();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    let said = format!(
        "warning: skipped the stored outcome at `{committed}:1`: the checksum does not match\n"
    );
    assert!(ran.stderr().contains(&said), "{}", ran.shown());
    assert_eq!((ran.code(), judge.count(), space.read(committed)), (0, 1, damaged));
}

#[test]
fn judgments_that_cannot_be_read_are_named() {
    let space = space(1);
    std::fs::create_dir_all(space.path("cache/faults.judgments.jsonl")).unwrap();
    let ran = space.run_with(&judge(), &["run", "suite.yaml"]);
    let said =
        "warning: cannot read the judgments in `cache/faults.judgments.jsonl`: it is a folder\n";
    assert_eq!(ran.code(), 0);
    assert!(ran.stderr().contains(said), "{}", ran.shown());
}

#[test]
fn a_record_that_cannot_be_written_is_named_after_the_report_was_shown() {
    for args in [vec!["run", "suite.yaml"], vec!["run", "suite.yaml", "--format", "jsonl"]] {
        let space = space(2);
        space.write(".evalrs", "a file");
        let ran = space.run_with(&judge(), &args);
        assert_eq!(ran.code(), 3, "{}", ran.shown());
        assert!(ran.stderr().contains("error: cannot write: `.evalrs/runs/"), "{}", ran.shown());
        assert!(ran.stdout().lines().count() >= 2, "{}", ran.shown());
        assert_eq!(space.stored_lines().len(), 2, "the judgments are kept");
    }
}
