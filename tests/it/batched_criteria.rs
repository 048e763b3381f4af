//! Several criteria in one request: what is requested after which edit, and what becomes of replies that lack something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::criteria::replies;
use crate::judge::{Answer, Asked, Judge};
use crate::space::{Ran, Space};

const SUITE: &str = "\
name: shop
dataset: data.jsonl
graders:
  quality:
    kind: rubric
    model: judge-1
    endpoint: test
    max_retries: 0
    preamble: You judge replies of a shop's support.
    batching: together
    criteria:
      answers: {question: Does the reply answer the customer?, weight: 3}
      polite: Is the reply polite?
      invents: {question: Does it invent a rule?, expect: no}
      deadline: {question: Does it name the deadline?, only: \"'refund' in tags\"}
      tone: {question: How warm is it?, scale: {min: 1, max: 5}, pass_threshold: 0.75}
      signed: {question: Is it signed?, may_not_apply: true}
";

const SAMPLES: usize = 12;
const REFUNDS: usize = SAMPLES / 4;

fn space() -> Space {
    replies(SAMPLES, SUITE)
}

/// What a request is about, also where its last message is about the reply before.
fn subject(asked: &Asked) -> String {
    let text = |message: &Value| {
        let text = message["content"].as_str().or_else(|| message["parts"][0]["text"].as_str());
        text.unwrap_or_default().to_owned()
    };
    let messages = ["messages", "contents"].map(|name| asked.body[name].as_array());
    let texts = messages.into_iter().flatten().flatten().map(text);
    let found = texts.into_iter().find(|text| text.contains("The agent submitted"));
    crate::judge::plain(&found.unwrap_or_default())
}

/// The questions of a request: name and text.
fn questions(asked: &Asked) -> Vec<(String, String)> {
    static QUESTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^(q[0-9a-f]{8}): (.*)$").unwrap());
    let subject = subject(asked);
    let text = subject.split("\n\nReply with").next().unwrap_or_default();
    let found = QUESTION.captures_iter(text);
    found.map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

/// The number in the submission.
fn row(asked: &Asked) -> String {
    let subject = subject(asked);
    let row = subject.split("number ").nth(1).unwrap_or_default();
    row.chars().take_while(char::is_ascii_digit).collect()
}

/// Answers that the words of each question and the row decide, and not the other questions.
fn answers(asked: &Asked) -> Map<String, Value> {
    let row = row(asked);
    let answer = |(name, text): (String, String)| {
        let sum: u32 = text.bytes().chain(row.bytes()).map(u32::from).sum();
        let reason = format!("r{sum}");
        let is_scored = subject(asked).contains(&format!("\"{name}\": {{\"rationale\""));
        let answer = if is_scored {
            json!({"rationale": reason, "score": 1 + sum % 5})
        } else {
            json!({"reason": reason, "verdict": if sum.is_multiple_of(3) { "no" } else { "yes" }})
        };
        (name, answer)
    };
    questions(asked).into_iter().map(answer).collect()
}

/// The reply of whatever provider is called.
fn reply(asked: &Asked, text: &str) -> Answer {
    match asked.path.as_str() {
        path if path.contains("/messages") => Answer::message(text, "end_turn"),
        path if path.contains("generateContent") => Answer::candidate(text, "STOP"),
        _ => Answer::text(text),
    }
}

fn right(asked: &Asked) -> Answer {
    reply(asked, &Value::Object(answers(asked)).to_string())
}

fn run(space: &Space, judge: &Judge, args: &[&str]) -> Ran {
    let mut command = space.command(&["run", "suite.yaml"]);
    command.args(args).env("OPENAI_BASE_URL", judge.url());
    command.env("ANTHROPIC_BASE_URL", judge.root()).env("GOOGLE_GEMINI_BASE_URL", judge.root());
    Ran(command.output().unwrap())
}

/// Sample by sample the criteria of the last run, without what requests they rest on.
fn criteria(space: &Space) -> Vec<Value> {
    let results = space.record("results.jsonl");
    let of_line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let criteria = line["grades"]["quality"]["criteria"].as_object().unwrap().clone();
        let bare = criteria.into_iter().map(|(name, grade)| {
            (name, json!([grade["verdict"], grade["score"], grade["reason"]]))
        });
        Value::Object(bare.collect())
    };
    results.lines().map(of_line).collect()
}

#[test]
fn an_edit_calls_the_requests_that_it_changes() {
    let judge = Judge::new(|_, asked| right(asked));
    let space = space();
    let ran = run(&space, &judge, &[]);
    assert!([0, 1].contains(&ran.code()), "{}", ran.shown());
    assert_eq!(judge.count(), SAMPLES);
    let shown: Vec<usize> = judge.asked().iter().map(|asked| questions(asked).len()).collect();
    assert_eq!(shown.iter().filter(|count| **count == 6).count(), REFUNDS, "{shown:?}");
    assert!(shown.iter().all(|count| [5, 6].contains(count)), "{shown:?}");
    let before = criteria(&space);
    for (what, old, new, requests) in [
        ("another weight", "weight: 3", "weight: 9", 0),
        ("another name", "      polite:", "      courteous:", 0),
        ("a threshold", "pass_threshold: 0.75", "pass_threshold: 0.25", 0),
        ("another combination", "batching", "combine: all\n    batching", 0),
        ("required", "expect: no", "expect: no, required: true", 0),
        ("another answer is wanted", ", expect: no", "", 0),
        ("what unsure means", "expect: no", "expect: no, unsure: error", 0),
        ("a question of all", "Is the reply polite?", "Is it polite?", SAMPLES),
        ("a question with a filter", "the deadline", "a deadline", REFUNDS),
        (
            "a criterion with a filter less",
            "      deadline: {question: Does it name the deadline?, only: \"'refund' in tags\"}\n",
            "",
            REFUNDS,
        ),
        ("a criterion less", "      polite: Is the reply polite?\n", "", SAMPLES),
        (
            "the same question twice",
            "      tone",
            "      nice: Is the reply polite?\n      tone",
            0,
        ),
    ] {
        assert!(SUITE.contains(old), "{what}");
        space.write("suite.yaml", SUITE.replace(old, new));
        let mark = judge.count();
        let ran = run(&space, &judge, &[]);
        assert!([0, 1].contains(&ran.code()), "{what}: {}", ran.shown());
        assert_eq!(judge.count() - mark, requests, "{what}");
        space.write("suite.yaml", SUITE);
        assert!([0, 1].contains(&run(&space, &judge, &["--frozen"]).code()), "{what}");
        assert_eq!(criteria(&space), before, "{what}");
    }
}

#[test]
fn as_many_criteria_share_a_request_as_the_suite_says() {
    let one_by_one = |asked: &Asked| {
        if !questions(asked).is_empty() {
            return right(asked);
        }
        let last = asked.question().rsplit('\n').next().unwrap_or_default().to_owned();
        let sum: u32 = last.bytes().chain(row(asked).bytes()).map(u32::from).sum();
        reply(
            asked,
            &if asked.prompt().contains("\"score\"") {
                json!({"rationale": format!("r{sum}"), "score": 1 + sum % 5}).to_string()
            } else {
                let verdict = if sum.is_multiple_of(3) { "no" } else { "yes" };
                json!({"reason": format!("r{sum}"), "verdict": verdict}).to_string()
            },
        )
    };
    let judge = Judge::new(move |_, asked| one_by_one(asked));
    let space = space();
    let mut said = Vec::new();
    for (batching, requests) in [
        ("together", SAMPLES),
        ("each", SAMPLES * 5 + REFUNDS),
        ("1", 0),
        // The second four have one question where the row is no refund, else two.
        ("4", SAMPLES * 2),
        ("100", 0),
        ("together\n    votes: 2", SAMPLES),
    ] {
        let changed = SUITE.replace("batching: together", &format!("batching: {batching}"));
        space.write("suite.yaml", changed);
        let mark = judge.count();
        let ran = run(&space, &judge, &[]);
        assert!([0, 1].contains(&ran.code()), "{batching}: {}", ran.shown());
        assert_eq!(judge.count() - mark, requests, "{batching}");
        said.push(criteria(&space));
    }
    assert!(
        said.iter().all(|one| *one == said[0]),
        "one judge says the same, however it is called"
    );
}

#[test]
fn a_reply_that_lacks_something_is_no_verdict() {
    type Fault = fn(Map<String, Value>) -> String;
    let faults: [(&str, &str, Fault); 6] = [
        ("missing", "the reply has no answer to `q", |mut answers| {
            let first = answers.keys().next().cloned().unwrap();
            answers.shift_remove(&first);
            Value::Object(answers).to_string()
        }),
        ("unknown", "the reply answers `politeness`, which is no question", |mut answers| {
            answers.insert("politeness".to_owned(), json!({"reason": "", "verdict": "yes"}));
            Value::Object(answers).to_string()
        }),
        ("doubled", "twice", |answers| {
            let (name, answer) = answers.iter().next().unwrap();
            let all = Value::Object(answers.clone()).to_string();
            format!("{{\"{name}\": {answer}, {}", &all[1..])
        }),
        ("cut", "not valid JSON", |answers| {
            let all = Value::Object(answers).to_string();
            all[..all.len() / 2].to_owned()
        }),
        ("bare", "is not an object", |answers| {
            let bare = answers.into_iter().map(|(name, _)| (name, json!("yes")));
            Value::Object(bare.collect()).to_string()
        }),
        ("other words", "`verdict` is \"perhaps\"", |answers| {
            Value::Object(answers)
                .to_string()
                .replace("\"yes\"", "\"perhaps\"")
                .replace("\"no\"", "\"perhaps\"")
        }),
    ];
    for provider in ["openai", "anthropic", "google"] {
        for format in ["json_schema", "text"] {
            for (what, expected, fault) in faults {
                let is_mended = Arc::new(AtomicBool::new(false));
                let says = Arc::clone(&is_mended);
                let judge = Judge::new(move |_, asked| {
                    if says.load(Ordering::SeqCst) {
                        return right(asked);
                    }
                    reply(asked, &fault(answers(asked)))
                });
                let space = space();
                let settings = format!(
                    "provider: {provider}\n    api_key_env: JUDGE_KEY\n    response_format: {format}\n    max_retries: 0"
                );
                space.write("suite.yaml", SUITE.replace("max_retries: 0", &settings));
                space.write(".env", "JUDGE_KEY=k\n");
                let ran = run(&space, &judge, &["--sample", "s0", "--quiet"]);
                let shown = format!("{provider} {format} {what}: {}", ran.shown());
                assert_eq!(ran.code(), 3, "{shown}");
                let line: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
                let criteria = line["grades"]["quality"]["criteria"].as_object().unwrap();
                assert_eq!(criteria.len(), 6);
                for (name, grade) in criteria {
                    let message = grade["error"]["message"].as_str().unwrap_or_default();
                    assert!(message.contains(expected), "{shown} {name}: {grade}");
                }
                assert_eq!(judge.count(), 3, "the judge is told what was wrong: {shown}");
                is_mended.store(true, Ordering::SeqCst);
                let ran = run(&space, &judge, &["--sample", "s0", "--retry-errors", "--quiet"]);
                assert!([0, 1].contains(&ran.code()), "{}", ran.shown());
            }
        }
    }
}

#[test]
fn a_plan_says_what_each_way_costs() {
    let judge = Judge::new(|_, asked| right(asked));
    let space = space();
    space.write("evalrs.toml", "[prices.judge-1]\ninput = 1.0\noutput = 2.0\n");
    let ways = |space: &Space| {
        let plan = space.run(&["plan", "suite.yaml", "--json"]);
        let plan: Value = serde_json::from_str(&plan.stdout()).unwrap();
        let ways = plan["batching"]["quality"].as_array().cloned().unwrap_or_default();
        ways.iter().map(|way| (way["batching"].clone(), way["to_ask"].clone())).collect::<Vec<_>>()
    };
    let calls = |name: &str, calls: usize| (json!(name), json!(calls));
    let each = SAMPLES * 5 + REFUNDS;
    assert_eq!(ways(&space), [calls("together", SAMPLES), calls("each", each)]);
    let shown = space.run(&["plan", "suite.yaml"]).stdout();
    assert!(shown.contains("batching of quality: `together` 12 calls, "), "{shown}");
    space.write("suite.yaml", SUITE.replace("batching: together", "batching: 4"));
    let all = [calls("4", SAMPLES * 2), calls("each", each), calls("together", SAMPLES)];
    assert_eq!(ways(&space), all);
    // What a plan looks at decides nothing of a run, and where nothing is to be called there is nothing to choose.
    let ran = run(&space, &judge, &[]);
    assert!([0, 1].contains(&ran.code()), "{}", ran.shown());
    assert_eq!(judge.count(), SAMPLES * 2);
    assert_eq!(ways(&space), []);
    // Nor where another grader alone has calls to make.
    let other = "  plain: {kind: rubric, model: judge-1, endpoint: test, prompt: Is it so?}\n";
    space.write("suite.yaml", SUITE.replace("batching: together", "batching: 4") + other);
    assert_eq!(ways(&space), []);
    space.write(
        "suite.yaml",
        SUITE.replace("batching: together", "batching: 4").replace("polite?", "kind?"),
    );
    let all = [calls("4", SAMPLES), calls("each", each), calls("together", SAMPLES)];
    assert_eq!(ways(&space), all);
}
