//! Judgments that are stored for another endpoint than would be asked: whoever misses them is told.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: s
dataset: data.jsonl
graders:
  tone: {kind: rubric, prompt: 'Is {submission} kind?', model: judge-1, max_retries: 0}
gate: {metric_key: tone, op: gte, value: 0.5}
";

fn rows(n: usize) -> String {
    lines((0..n).map(|n| json!({"id": format!("s{n}"), "input": "q", "output": format!("a{n}")})))
}

/// A workspace whose judgments were asked through `OPENAI_BASE_URL` and committed, and that address.
fn committed(judge: &Judge) -> (Space, String) {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(3)), ("evalrs.toml", "")]);
    assert_eq!(space.run_with(judge, &["run", "suite.yaml", "--quiet"]).code(), 0);
    let exported = space.run_with(judge, &["cache", "export", "suite.yaml"]);
    let endpoint = judge.url();
    let warning = format!(
        "warning: the judgments of `tone` are stored for the endpoint `{endpoint}`, which came from OPENAI_BASE_URL: without that variable they are not found; set `endpoint: {endpoint}` in the suite\n"
    );
    assert!(exported.stderr().contains(&warning), "{}", exported.shown());
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    std::fs::remove_dir_all(space.path(".evalrs")).unwrap();
    (space, endpoint)
}

#[test]
fn a_miss_names_the_endpoint_that_it_is_stored_for() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let (space, endpoint) = committed(&judge);
    let open = |text: String| text.replace(&endpoint, "http://gateway");
    let frozen = space.run(&["run", "suite.yaml", "--frozen"]);
    let said = open(frozen.stdout() + &frozen.stderr());
    assert_eq!(frozen.code(), 3);
    for expected in [
        "3 ×  not_stored  first s0 tone  its judgment is stored for the endpoint `http://gateway`",
        "write that one as `endpoint:` in suite.yaml",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let planned = open(space.run(&["plan", "suite.yaml"]).stdout()).replace("\n  ", " ");
    for expected in [
        "  other endpoint ",
        "3 judgments are cached for the endpoint `http://gateway`, not for `https://api.openai.com/v1`; to use them, write `endpoint: http://gateway` in the suite",
    ] {
        assert!(planned.contains(expected), "{expected}: {planned}");
    }
    let explained = space.run(&["explain", "suite.yaml", "s1", "--json"]).stdout();
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let action = &explained["results"][0]["graders"]["tone"]["actions"][0];
    assert_eq!(
        (&action["to_ask"], &action["stored_for"]),
        (&json!("other endpoint"), &json!(endpoint))
    );
    assert_eq!(judge.count(), 3);
    // What is advised works.
    let named = SUITE.replace("model: judge-1", &format!("model: judge-1, endpoint: '{endpoint}'"));
    space.write("suite.yaml", named);
    let frozen = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(frozen.code(), 0, "{}", frozen.shown());
}

#[test]
fn another_prompt_is_stored_nowhere() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let (space, _) = committed(&judge);
    space.write("suite.yaml", SUITE.replace("kind?", "rude?"));
    let frozen = space.run(&["run", "suite.yaml", "--frozen"]);
    assert!(frozen.stdout().contains("no cached judgment, and --frozen"), "{}", frozen.shown());
    let planned = space.run(&["plan", "suite.yaml"]).stdout();
    assert!(!planned.contains("endpoint"), "{planned}");
}
