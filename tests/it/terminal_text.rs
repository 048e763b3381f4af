//! What a terminal is told, whatever the names and texts of a workspace hold.

use serde_json::json;

use crate::space::{Space, jsonl};

const EVIL: &str = "a\u{202e}b\u{9b}1mc";

#[test]
fn marks_that_reorder_and_control_characters_are_shown() {
    let space = Space::new(&[(
        "suite.yaml",
        "name: \"a\\u202eb\"\ndataset: data.jsonl\ngraders: {a: {kind: tool, function: contains}}\n",
    )]);
    let row = json!({"id": EVIL, "input": EVIL, "output": EVIL, "ground_truth": "x"});
    space.write("data.jsonl", jsonl([row]));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    suite.yaml: valid
      suite    a⟨U+202E⟩b
      dataset  data.jsonl: 1 sample, 1 result
      grader   a: contains of last_assistant
      gate     none: the exit code is 0 whatever the scores
    --- stderr
    ");
    let no_file = format!("{EVIL}.yaml");
    let flag = format!("--{EVIL}");
    for words in [
        vec!["run", "suite.yaml"],
        vec!["run", "suite.yaml", "--sample", "z\u{9b}\u{202e}"],
        vec!["run", &no_file],
        vec!["run", "suite.yaml", &flag],
        vec!["list", EVIL],
        vec!["plan", "suite.yaml"],
        vec!["explain", "suite.yaml", EVIL],
        vec!["run", "suite.yaml", "--format", "junit"],
        vec!["run", "suite.yaml", "--format", "csv"],
    ] {
        let ran = space.run(&words);
        let text = ran.stdout() + &ran.stderr();
        let obeyed = |char: char| ('\u{80}'..='\u{9f}').contains(&char) || char == '\u{202e}';
        assert!(!text.contains(obeyed), "{words:?}: {text:?}");
    }
    let junit = space.run(&["run", "suite.yaml", "--format", "junit"]).stdout();
    assert!(junit.contains("name=\"a⟨U+202E⟩b⟨U+009B⟩1mc\""), "{junit}");
    // What programs read is exact.
    let results = space.run(&["run", "suite.yaml", "--format", "json"]).stdout();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["results"][0]["sample_id"], EVIL);
}
