//! Rubric graders and their judges, as suites say them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Memory, REGISTRY, read, read_suite, rendered};
use super::{first_rubric, rubric};
use crate::row_rubric;
use evalrs_base::file_text::FileText;
use evalrs_eval::judge::provider::effective_temperature;
use evalrs_model::spec::{
    Combine, CompareTo, GraderKind, HeaderSpec, HeaderValue, JudgeSpec, Patience, ReplyFormat,
    ReplyLimit, RubricSpec, Scale,
};

#[test]
fn every_field_of_a_rubric_is_read() {
    let read = rubric(
        "    model: m\n    provider: anthropic\n    base_url: http://localhost:1/v1\n    endpoint: lab\n    \
         api_key_env: KEY\n    temperature: \"1e-3\"\n    seed: 7\n    max_tokens: 64.0\n    top_p: 0.5\n    \
         extra_body: {reasoning: {effort: low}, list: [1, null, 2.5, yes]}\n    max_retries: \"2\"\n    timeout: 30\n    \
         scale: {min: 1, max: 5}\n    rubric_vars: [a, b]\n    votes: {n: 3, combine: mean}\n    \
         headers: {X-Team: \" evals \", Authorization: {env: TOKEN}, X-Old: null}\n    deadline: 86400\n    \
         max_requests_per_minute: 60\n    max_tokens_per_minute: \"90000\"\n    confirm_fails: 2\n",
    );
    let Value::Object(extra_body) =
        json!({"reasoning": {"effort": "low"}, "list": [1, null, 2.5, "yes"]})
    else {
        unreachable!()
    };
    let judge = JudgeSpec {
        model: "m".to_owned(),
        provider: "anthropic".to_owned(),
        base_url: Some("http://localhost:1/v1".to_owned()),
        endpoint: Some("lab".to_owned()),
        api_key_env: Some("KEY".to_owned()),
        temperature: Some(0.001),
        seed: Some(7),
        max_tokens: ReplyLimit::Tokens(64),
        top_p: Some(0.5),
        extra_body,
        headers: vec![
            header("X-Team", HeaderValue::Text("evals".to_owned())),
            header("Authorization", HeaderValue::Variable("TOKEN".to_owned())),
        ],
        patience: Patience {
            max_retries: 2,
            timeout: 30.0,
            deadline: 86_400.0,
            max_requests_per_minute: Some(60),
            max_tokens_per_minute: Some(90_000),
        },
        ..JudgeSpec::default()
    };
    let expected = RubricSpec {
        scale: Some(Scale { min: 1.0, max: 5.0 }),
        rubric_vars: vec!["a".to_owned(), "b".to_owned()],
        votes: 3,
        combine: Combine::Mean,
        confirm_fails: 2,
        ..RubricSpec::new("Judge.", judge)
    };
    assert_eq!(read, expected);
    assert_eq!(rubric("    scale: {min: 0, max: 1}\n    votes: 5\n").scale, None);
    assert_eq!(rubric("    rubric_vars: one\n").rubric_vars, ["one"]);
}

#[test]
fn texts_are_fenced_unless_the_suite_takes_them_out() {
    let read = rubric("    fence: false\n    unfenced: ground_truth\n");
    assert_eq!((read.fence, &read.unfenced[..]), (false, &["ground_truth".to_owned()][..]));
    assert!(!read.is_fenced("submission"));
    let read = rubric("    unfenced: [submission, row]\n");
    for (name, expected) in [
        ("input", true),
        ("ground_truth", true),
        ("submission", false),
        ("submission_b", false),
        ("tone", false),
        ("row.a", false),
    ] {
        assert_eq!(read.is_fenced(name), expected, "{name}");
    }
}

fn header(name: &str, value: HeaderValue) -> HeaderSpec {
    HeaderSpec { name: name.to_owned(), value }
}

#[test]
fn votes_say_how_they_become_one_score() {
    for (fields, votes, combine) in [
        ("votes: 5", 5, Combine::Median),
        ("votes: {n: 3, combine: majority}", 3, Combine::Majority),
        ("votes: {n: 3}\n    combine: mean", 3, Combine::Mean),
        ("combine: majority", 1, Combine::Majority),
        ("votes: 2\n    combine: median", 2, Combine::Median),
    ] {
        let rubric = rubric(&format!("    {fields}\n"));
        assert_eq!((rubric.votes, rubric.combine), (votes, combine), "{fields}");
    }
}

#[test]
fn replies_are_asked_for_in_four_ways() {
    for format in
        [ReplyFormat::Auto, ReplyFormat::JsonSchema, ReplyFormat::JsonObject, ReplyFormat::Text]
    {
        let rubric = rubric(&format!("    response_format: {}\n", format.name()));
        assert_eq!(rubric.judges[0].response_format, format);
    }
}

#[test]
fn submissions_are_compared_with_a_field_or_a_run() {
    let field = |path: &str| CompareTo::Field(path.to_owned());
    let run = |path: &str| CompareTo::Run(path.to_owned());
    for (text, expected) in [
        ("baseline", field("baseline")),
        ("row.answers.old", field("answers.old")),
        ("row.row.x", field("row.x")),
        ("{field: row.a}", field("a")),
        ("{field: a/b.jsonl}", field("a/b.jsonl")),
        ("old.jsonl", run("suites/old.jsonl")),
        ("../runs/old", run("suites/../runs/old")),
        ("{run: old}", run("suites/old")),
    ] {
        let text = format!(
            "name: s\ndataset: d.jsonl\ngraders:\n  q: {{kind: rubric, prompt: '{{submission_a}} or {{submission_b}}?', compare_to: {text}}}\n"
        );
        let files = Memory::new(&[("suites/suite.yaml", &text)]);
        let reading = read_suite("suites/suite.yaml", &files, &REGISTRY);
        assert_eq!(rendered(&reading), "", "{text}");
        let rubric = first_rubric(reading.suite);
        assert_eq!(rubric.compare_to, Some(expected), "{text}");
    }
}

#[test]
fn judges_of_a_panel_have_the_settings_of_the_grader_but_for_their_own() {
    let panel = rubric(
        "    model: base\n    temperature: null\n    seed: 7\n    timeout: 9\n    headers: {X-A: a}\n    \
         panel:\n    - {}\n    - {model: other, seed: null, temperature: 0.5}\n    \
         - {provider: anthropic, headers: {X-B: b}, timeout: 8}\n",
    );
    let base = JudgeSpec {
        model: "base".to_owned(),
        temperature: None,
        seed: Some(7),
        headers: vec![header("X-A", HeaderValue::Text("a".to_owned()))],
        patience: Patience { timeout: 9.0, ..Patience::default() },
        ..JudgeSpec::default()
    };
    let other =
        JudgeSpec { model: "other".to_owned(), seed: None, temperature: Some(0.5), ..base.clone() };
    let third = JudgeSpec {
        provider: "anthropic".to_owned(),
        headers: vec![header("X-B", HeaderValue::Text("b".to_owned()))],
        patience: Patience { timeout: 8.0, ..Patience::default() },
        ..base.clone()
    };
    assert_eq!(panel.judges, [base, other, third]);
}

#[test]
fn rubric_files_have_settings_and_include_others() {
    let files = Memory::new(&[
        (
            "s/suite.yaml",
            "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt_path: r/main.md}\n  b: {kind: rubric, prompt_path: r/main.md, model: mine, scale: {min: 0, max: 9}, pass_threshold: 1}\n  c: {kind: rubric, prompt_path: r/main.md, model: null, panel: [{}, {model: x}]}\n  d: {kind: rubric, prompt_path: r/ruled.md}\n  e: {kind: rubric, prompt_path: r/only.md}\n",
        ),
        (
            "s/r/main.md",
            "\u{feff}---\r\nmodel: theirs\r\nscale: {min: 1, max: 5}\npass_threshold: 0.5\ninclude: [x/first.md, second.md]\n---\n\nMain {submission}.\n\n---\n",
        ),
        ("s/r/x/first.md", "---\ninclude: ../second.md\n---\nFirst.\n\n"),
        ("s/r/x/../second.md", "\u{feff}Second.\n---\nmodel: none\n---\n"),
        ("s/r/second.md", "\u{feff}Second.\n---\nmodel: none\n---\n"),
        ("s/r/ruled.md", "\n---\nRuled.\n"),
        ("s/r/only.md", "---\ninclude: second.md\n---"),
    ]);
    let reading = read_suite("s/suite.yaml", &files, &REGISTRY);
    assert_eq!(rendered(&reading), "");
    assert_eq!(
        reading.files,
        [
            "s/suite.yaml",
            "s/r/main.md",
            "s/r/x/first.md",
            "s/r/x/../second.md",
            "s/r/ruled.md",
            "s/r/only.md",
            "s/r/second.md"
        ]
    );
    let second = "Second.\n---\nmodel: none\n---";
    let main = format!("{second}\n\nFirst.\n\nMain {{submission}}.\n\n---\n");
    let only = format!("{second}\n");
    let expected: [(&str, &[&str], _, f64); 5] = [
        (&main, &["theirs"], Some(Scale { min: 1.0, max: 5.0 }), 0.5),
        (&main, &["mine"], Some(Scale { min: 0.0, max: 9.0 }), 1.0),
        (&main, &["theirs", "x"], Some(Scale { min: 1.0, max: 5.0 }), 0.5),
        ("\n---\nRuled.\n", &["gpt-4o-mini"], None, 1.0),
        (&only, &["gpt-4o-mini"], None, 1.0),
    ];
    for (grader, expected) in reading.suite.unwrap().graders.into_iter().zip(expected) {
        let GraderKind::Rubric(rubric) = grader.kind else { panic!("{}", grader.name) };
        let models: Vec<&str> = rubric.judges.iter().map(|judge| judge.model.as_str()).collect();
        let read = (&rubric.prompt[..], &models[..], rubric.scale, grader.pass_threshold);
        assert_eq!(read, expected, "{}", grader.name);
    }
}

#[test]
fn included_files_that_nobody_has_read_are_asked_for() {
    let text = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt_path: a.txt}\n";
    let files =
        Memory::new(&[("suite.yaml", text), ("a.txt", "---\ninclude: [b.txt, c.txt]\n---\n")])
            .file("b.txt", FileText::Unread)
            .file("c.txt", FileText::Unread);
    let reading = read(&files);
    assert_eq!((reading.suite, reading.diagnostics), (None, vec![]));
    assert_eq!(reading.unread, ["b.txt", "c.txt"]);
}

#[test]
fn rubrics_of_rows_include_files_and_set_nothing() {
    let files = Memory::new(&[
        ("s/plain.txt", "\u{feff}Judge.\n"),
        ("s/windows.txt", "---\r\ninclude: plain.txt\r\n---\r\n\r\nOne.\r\nTwo.\rThree.\r\n"),
        ("s/r/../plain.txt", "Judge.\n"),
        ("s/r/long.txt", "---\ninclude: ../plain.txt\n---\nMore.\n"),
        (
            "s/sets.txt",
            "---\nmodel: m\nscale: {min: 1, max: 5}\npass_threshold: 0.5\n---\nJudge.\n",
        ),
        ("s/leads.txt", "---\ninclude: [../../etc/passwd, /etc/passwd]\n---\nJudge.\n"),
        ("s/lacks.txt", "---\ninclude: none.txt\n---\nJudge.\n"),
        ("s/waits.txt", "---\ninclude: unread.txt\n---\nJudge.\n"),
        ("s/blank.txt", "---\n---\n\n"),
    ])
    .file("s/unread.txt", FileText::Unread);
    let text = |text: &str| FileText::Text(Arc::from(text));
    let wrong = |message: &str| FileText::Unreadable(message.to_owned());
    for (path, expected, problems) in [
        ("s/plain.txt", text("Judge.\n"), vec![]),
        ("s/windows.txt", text("Judge.\n\nOne.\nTwo.\nThree.\n"), vec![]),
        ("s/r/long.txt", text("Judge.\n\nMore.\n"), vec![]),
        (
            "s/sets.txt",
            wrong("`model` has no effect in the rubric of a row"),
            vec!["s/sets.txt:2:1", "s/sets.txt:3:1", "s/sets.txt:4:1"],
        ),
        (
            "s/leads.txt",
            wrong("`include` leads out of the suite's folder"),
            vec!["s/leads.txt:2:11", "s/leads.txt:2:29"],
        ),
        ("s/lacks.txt", wrong("the file `s/none.txt` does not exist"), vec!["s/lacks.txt:2:10"]),
        ("s/waits.txt", FileText::Unread, vec![]),
        ("s/blank.txt", wrong("the rubric is empty"), vec!["s/blank.txt"]),
        ("s/none.txt", FileText::Missing, vec![]),
        ("s/unread.txt", FileText::Unread, vec![]),
    ] {
        let rubric = row_rubric(path, "s", &files);
        let places: Vec<String> = rubric
            .problems
            .iter()
            .filter_map(|problem| Some(problem.place.as_ref()?.to_string()))
            .collect();
        assert_eq!(
            (rubric.text, places),
            (expected, problems.iter().map(ToString::to_string).collect()),
            "{path}"
        );
    }
}

#[test]
fn models_that_reason_are_sent_temperature_one() {
    for (model, temperature, expected) in [
        ("gpt-4o-mini", "0.3", Some(0.3)),
        ("gpt-4o-mini", "null", None),
        ("o1", "0.0", Some(1.0)),
        ("o3-mini", "0.5", Some(1.0)),
        ("o4-mini", "0.5", Some(1.0)),
        ("gpt-5-mini", "0.5", Some(1.0)),
        ("openai/gpt-5", "0.5", Some(1.0)),
        ("gpt-5", "~", None),
        ("olmo-2", "0.5", Some(0.5)),
    ] {
        let rubric = rubric(&format!("    model: {model}\n    temperature: {temperature}\n"));
        assert_eq!(effective_temperature(&rubric.judges[0]), expected, "{model}");
        assert_eq!(rubric.judges[0].temperature, temperature.parse().ok(), "{model}");
    }
}
