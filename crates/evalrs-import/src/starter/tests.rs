//! What a source is recognized as, and the suite that is made of it.

use evalrs_system::memory::MemorySystem;

use super::{StarterSuite, starter, unrecognized};
use crate::imported::ImportError;
use crate::source::ImportSource;

const ASK: &str = r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"fix it"}}"#;
const REPLY: &str = r#"{"type":"assistant","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"done"}]}}"#;
const SUMMARY: &str = r#"{"type":"summary","summary":"A fix","leafUuid":"l"}"#;
const CHAT: &str = r#"{"role":"user","content":"hi"}"#;

fn session() -> String {
    [SUMMARY, ASK, REPLY, ""].join("\n")
}

fn chats(key: &str) -> String {
    format!("{{\"id\":\"a\",\"{key}\":[{CHAT},{{\"role\":\"assistant\",\"tool_calls\":[]}}]}}\n")
}

/// The suite for `path` among files; what is wrong, with the hint.
fn made(
    files: &[(&str, &str)],
    path: &str,
    given: &[(&str, &str)],
) -> Result<Option<StarterSuite>, String> {
    let system = MemorySystem::with(files);
    let source = ImportSource::new(path, &system);
    let given: Vec<(String, String)> =
        given.iter().map(|(name, column)| ((*name).to_owned(), (*column).to_owned())).collect();
    starter(&source, &given).map_err(said)
}

fn said(error: ImportError) -> String {
    match error {
        ImportError::Unreadable { message, hint } => format!("{message} ({hint})"),
        ImportError::Diagnostics(all) => {
            format!("{} ({})", all[0].brief(), all[0].hint.as_deref().unwrap_or_default())
        }
    }
}

/// The lines of the suite that are no comments, for the data at `DATA`.
fn lines(suite: &StarterSuite) -> Vec<String> {
    let text = suite.text("mine", "DATA", 0.5);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| line.trim().to_owned()).collect()
}

fn table(text: &str) -> Vec<String> {
    lines(&made(&[("t.csv", text)], "t.csv", &[]).unwrap().unwrap())
}

#[test]
fn a_file_is_recognized_by_its_beginning() {
    let messages = format!("[{CHAT},{CHAT}]");
    for (name, text, expected) in [
        ("a.jsonl", session(), Some("claude-code")),
        ("a.jsonl", format!("\u{feff}{SUMMARY}\n{ASK}\n"), Some("claude-code")),
        ("a.jsonl", format!("{CHAT}\n{CHAT}\n"), Some("openai-messages")),
        ("a.jsonl", chats("messages"), Some("openai-messages")),
        ("a.jsonl", chats("traj"), Some("openai-messages")),
        ("a.json", messages.clone(), Some("openai-messages")),
        ("a.json", format!("{{\"messages\":{messages}}}"), Some("openai-messages")),
        ("a.json", format!("[{}]", chats("messages")), Some("openai-messages")),
        ("a.jsonl", "{\"input\":\"q\",\"output\":\"a\"}\n".to_owned(), Some("answers")),
        ("a.csv", "question;response\nq;a\n".to_owned(), Some("answers")),
        ("a.tsv", "question\tresponse\nq\ta\n".to_owned(), Some("answers")),
        ("a.jsonl", "hello\n".to_owned(), None),
        ("a.json", "{\"version\":2}".to_owned(), None),
        ("a.yaml", "prompts: []\n".to_owned(), None),
    ] {
        let found = made(&[(name, &text)], name, &[]).unwrap().map(|suite| suite.kind);
        assert_eq!(found, expected, "{name}: {text}");
    }
}

#[test]
fn sessions_of_a_folder_are_samples_and_other_files_are_not() {
    let session = session();
    let files = [
        ("s/b.jsonl", session.as_str()),
        ("s/a.jsonl", &session),
        ("s/agent-1.jsonl", &session),
        ("s/summary.jsonl", SUMMARY),
        ("s/empty.jsonl", ""),
        ("s/rows.jsonl", "{\"input\":\"q\"}\n"),
        ("s/settings.json", "{}"),
        ("s/notes.md", "x"),
        ("s/memory/more.jsonl", "{\"input\":\"q\"}\n"),
    ];
    let suite = made(&files, "s", &[]).unwrap().unwrap();
    assert_eq!(
        lines(&suite)[1..5],
        [
            "dataset:",
            "path: DATA/*.jsonl",
            "sample: file                # each file is one sample",
            "where: \"file.path not in ['rows.jsonl'] and not matches(file.name, '^agent-')\"",
        ]
    );
    assert_eq!(
        suite.notes,
        ["1 other file left out by `where`: `rows.jsonl`", "1 sub-agent left out by `where`"]
    );
    let below =
        [("p/x/a.jsonl", session.as_str()), ("p/y/b.jsonl", &session), ("p/y/x.csv", "a\n")];
    let suite = made(&below, "p", &[]).unwrap().unwrap();
    assert_eq!(
        lines(&suite)[2..4],
        ["path: DATA/**/*.jsonl", "sample: file                # each file is one sample"]
    );
    assert_eq!(suite.samples(2), "2 sessions of Claude Code");
}

#[test]
fn a_folder_of_messages_is_read_by_what_its_files_are() {
    let list = format!("[{CHAT}]");
    let rows = chats("traj");
    for (files, expected) in [
        (
            [("m/a.json", list.as_str()), ("m/b.json", &list)],
            "path: DATA/*.json|sample: file                # each file is one sample",
        ),
        (
            [("m/a.jsonl", rows.as_str()), ("m/b.jsonl", &rows)],
            "path: DATA/*.jsonl|fields: {messages: traj}",
        ),
    ] {
        let suite = made(&files, "m", &[]).unwrap().unwrap();
        assert_eq!(lines(&suite)[2..4].join("|"), expected);
    }
}

#[test]
fn a_folder_without_any_is_told() {
    let told = |files: &[(&str, &str)]| match made(files, "f", &[]) {
        Ok(found) => {
            assert_eq!(found, None);
            let system = MemorySystem::with(files);
            said(unrecognized(&ImportSource::new("f", &system)))
        }
        Err(told) => told,
    };
    let none = told(&[("f/notes.md", "x")]);
    assert!(
        none.starts_with(
            "the folder `f` has no sessions of Claude Code and no chat messages (a session is"
        ),
        "{none}"
    );
    let table = told(&[("f/a/t.csv", "a,b\n")]);
    assert!(table.ends_with("name its file: `--from f/a/t.csv`)"), "{table}");
}

#[test]
fn columns_are_found_by_their_names() {
    for (text, fields, grader) in [
        ("id,input,output,ground_truth\n1,q,a,a\n", "", "string_match"),
        ("id,question,Response,expected\n1,q,It is Paris.,paris\n", "output: Response", "contains"),
        (
            "Question,Answer,Expected Answer\nq,the cat sat,a cat was there\n",
            "input: Question, ground_truth: \"Expected Answer\", output: Answer",
            "f1",
        ),
        (
            "question,answer,expected\nq,a,a\n",
            "ground_truth: expected, output: answer",
            "string_match",
        ),
        ("output,expected,answer\na,a,b\n", "ground_truth: expected", "string_match"),
        ("question,answer\nq,a\n", "output: answer", "length"),
        (
            "text,prediction,label\nt,spam,Spam\n",
            "ground_truth: label, output: prediction",
            "string_match",
        ),
        ("prompt,output,label\nt,a,pass\n", "", "length"),
        ("prompt,output,label\nt,a,good\n", "", "length"),
        ("prompt,output,true\nt,a,x\n", "", "length"),
    ] {
        let lines = table(text);
        let found = lines.iter().find_map(|line| line.strip_prefix("fields: {")).unwrap_or("}");
        assert_eq!(found.trim_end_matches('}'), fields, "{text}");
        assert!(
            lines.iter().any(|line| line.contains(&format!("function: {grader}"))),
            "{lines:?}"
        );
    }
}

#[test]
fn what_rows_lack_or_repeat_is_said_in_the_suite() {
    let lines = table("id,Response,expected\n1,a,a\n1,,a\n2,b,\n");
    assert_eq!(
        lines[2..],
        [
            "path: DATA",
            "fields: {output: Response}",
            "trials: by_order            # rows with one id are trials of one sample",
            "missing: empty              # a row without an answer scores 0",
            "graders:",
            "correct: {kind: tool, function: string_match, only: has(ground_truth)}",
            "gate: {metric_key: correct, metric: avg_score, op: gte, value: 0.5}",
        ]
    );
    let lists = "{\"input\": \"q\", \"output\": \"a\", \"expected\": [\"a\", \"b\"]}\n";
    let suite = made(&[("t.jsonl", lists)], "t.jsonl", &[]).unwrap().unwrap();
    assert!(lines_of_graders(&suite).contains("one_of"));
}

fn lines_of_graders(suite: &StarterSuite) -> String {
    lines(suite).join("\n")
}

#[test]
fn the_user_names_a_column() {
    let text = "q,a,note\nx,y,z\n";
    let of = |given: &[(&str, &str)]| made(&[("t.csv", text)], "t.csv", given);
    let suite = of(&[("input", "q"), ("output", "a")]).unwrap().unwrap();
    assert!(lines(&suite).contains(&"fields: {input: q, output: a}".to_owned()));
    assert_eq!(
        suite.notes,
        [
            "columns: `q` as `input`, `a` as `output`",
            "not used: `note`; a rubric reads one as {row.NAME}"
        ]
    );
    for (given, expected) in [
        (
            &[][..],
            "t.csv:1:1: no column has the answers, such as `output`, `response`, `completion` or `answer` (the columns are `q`, `a` and `note`: name the one with the answers, `evalrs init DIR --from t.csv --field output=COLUMN`. Questions alone need an agent that answers them: docs/targets.md)",
        ),
        (
            &[("output", "note2")],
            "`t.csv` has no column `note2` (did you mean `note`? the columns are `q`, `a` and `note`)",
        ),
        (
            &[("outptu", "a")],
            "`--field outptu=…` does not name a field of a row (did you mean `output`? the fields are `id`, ",
        ),
    ] {
        let told = of(given).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
    let nested = "{\"q\": \"x\", \"r\": {\"text\": \"It is y\", \"want\": \"y\"}}\n";
    let given = [("output", "r.text"), ("ground_truth", "r.want")];
    let suite = made(&[("t.jsonl", nested)], "t.jsonl", &given).unwrap().unwrap();
    assert!(lines(&suite)[3..].join(" ").starts_with("fields: {ground_truth: r.want, output: r.text} graders: correct: {kind: tool, function: contains}"));
    let session = session();
    let told = made(&[("s.jsonl", &session)], "s.jsonl", &[("output", "a")]).unwrap_err();
    assert!(told.starts_with("`--field` names columns, and `s.jsonl` has none"), "{told}");
}

#[test]
fn a_file_without_rows_is_told() {
    for (name, text, expected) in [
        ("t.csv", "", "the dataset has no records"),
        ("t.csv", "question,response\n", "the dataset has no records"),
        ("t.jsonl", "\n", "`t.jsonl` has no conversation and no rows"),
        ("t.json", "", "`t.json` has no conversation and no rows"),
        ("t.jsonl", SUMMARY, "`t.jsonl` has no conversation and no rows"),
        ("t.csv", "a|b\n1|2\n", "t.csv:1:1: the header has one column"),
    ] {
        let told = made(&[(name, text)], name, &[]).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn names_and_paths_are_texts_of_yaml() {
    let suite = made(&[("t.csv", "output\na\n")], "t.csv", &[]).unwrap().unwrap();
    for (name, path, expected) in [
        ("mine", "../t.csv", "name: mine|path: ../t.csv"),
        ("no", "a b.csv", "name: \"no\"|path: \"a b.csv\""),
        (
            "${X}: #1",
            "${HOME}/.claude/projects/-x",
            "name: \"$${X}: #1\"|path: ${HOME}/.claude/projects/-x",
        ),
    ] {
        let text = suite.text(name, path, 0.0);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("name:") || line.starts_with("path:"))
            .collect();
        assert_eq!(lines.join("|"), expected);
        assert!(!text.contains("\ngate:"));
    }
}
