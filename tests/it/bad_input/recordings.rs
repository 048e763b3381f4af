//! Broken files and folders of recorded trajectories.

use evalrs_system::FileBytes;

use super::case::{Case, SUITE, case};

/// Rows without recordings of their own.
const ROWS: &str = "{\"id\": \"a\", \"input\": \"one\", \"ground_truth\": \"1\"}\n{\"id\": \"b\", \"input\": \"two\", \"ground_truth\": \"2\"}\n";

fn recorded(name: &'static str, path: &str) -> Case {
    case(name)
        .suite(format!("{SUITE}target: {{kind: recorded, path: {path}}}\n"))
        .file("data.jsonl", ROWS)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = files();
    cases.extend(folders());
    cases.extend(letta());
    cases
}

fn files() -> Vec<Case> {
    let file = |name, text: &str| recorded(name, "runs.jsonl").file("runs.jsonl", text);
    let good = "{\"id\": \"a\", \"output\": \"1\"}\n";
    vec![
        recorded("target missing", "runs.jsonl"),
        recorded("target unreadable", "runs.jsonl").fault(
            "runs.jsonl",
            FileBytes::Unreadable("Permission denied (os error 13)".to_owned()),
        ),
        file("target empty", "\n"),
        file(
            "target of other ids",
            "{\"id\": \"x\", \"output\": \"1\"}\n{\"id\": \"y\", \"output\": \"2\"}\n",
        ),
        file("target of other ids to rows without ids", good)
            .file("data.jsonl", "{\"input\": \"one\"}\n"),
        file(
            "recordings without ids",
            "{\"sample\": \"a\", \"output\": \"1\"}\n{\"output\": \"2\"}\n",
        ),
        file("recording with an id of null", &format!("{good}{{\"id\": [], \"output\": \"2\"}}\n")),
        file("recording of bad JSON", &format!("{good}{{\"id\": \"b\", \"output\": \"2}}\n")),
        file("recording of no object", &format!("{good}[1, 2]\n")),
        file(
            "recording 200 deep",
            &format!(
                "{good}{{\"id\": \"b\", \"trajectory\": {}{}}}\n",
                "[".repeat(200),
                "]".repeat(200)
            ),
        ),
        file(
            "recording of a bad trajectory",
            &format!(
                "{good}{{\"id\": \"b\", \"trajectory\": [{{\"role\": \"user\", \"content\": \"q\"}}, {{\"role\": \"assistant\", \"content\": 7}}]}}\n"
            ),
        ),
        file("recording of nothing", &format!("{good}{{\"id\": \"b\", \"note\": \"2\"}}\n")),
        file(
            "recording with a bad trial",
            &format!("{good}{{\"id\": \"b\", \"output\": \"2\", \"trial\": \"x\"}}\n"),
        ),
        file("recording twice", &format!("{good}{{\"id\": \"b\", \"output\": \"2\"}}\n{good}")),
        file("recordings in Latin-1", good)
            .file("runs.jsonl", b"{\"id\": \"a\", \"output\": \"\xe9\"}\n"),
        recorded("recordings of CSV without ids", "runs.csv")
            .file("runs.csv", "name,output\na,1\n"),
        recorded("recordings of a JSON object", "runs.json")
            .file("runs.json", "{\"a\": {\"output\": \"1\"}}\n"),
        file("row wrong though its recording is right", "{\"id\": \"a\", \"output\": \"1\"}\n")
            .file("data.jsonl", "{\"id\": \"a\", \"input\": {\"no\": 5}}\n"),
        file(
            "row without input and recording without a user",
            "{\"id\": \"a\", \"output\": \"1\"}\n",
        )
        .file("data.jsonl", "{\"id\": \"a\", \"qestion\": \"one\"}\n")
        .judged(),
    ]
}

fn folders() -> Vec<Case> {
    vec![
        recorded("folder without results", "runs").file("runs/notes.rtf", "x"),
        recorded("folder of other ids", "runs").file("runs/x.txt", "1").file("runs/y.txt", "2"),
        recorded("folder with a broken file", "runs")
            .file("runs/a.txt", "1")
            .file("runs/b.json", "[\n  {\"role\": \"user\", }\n]\n"),
        recorded("folder with a deep file", "runs")
            .file("runs/b.json", format!("\n{}{}", "[".repeat(200), "]".repeat(200))),
        recorded("folder with a bad trajectory", "runs").file("runs/b.json", "[{\"role\": 5}]\n"),
        recorded("folder with a file in Latin-1", "runs").file("runs/a.txt", b"na\xefve"),
        recorded("folder with an unreadable file", "runs").file("runs/a.txt", "1").fault(
            "runs/b.txt",
            FileBytes::Unreadable("Input/output error (os error 5)".to_owned()),
        ),
    ]
}

fn letta() -> Vec<Case> {
    let result = |id: &str, input: &str, trajectory: &str| {
        format!(
            "{{\"type\": \"result\", \"result\": {{\"sample\": {{\"id\": {id}, \"input\": \"{input}\"}}, \"trajectory\": {trajectory}}}}}\n"
        )
    };
    let said = "[[{\"message_type\": \"assistant_message\", \"content\": \"1\"}]]";
    let cached = |name, text: &str| {
        case(name).file("data.jsonl", ROWS).file("old/results.jsonl", text).cached("old")
    };
    let good = result("0", "one", said);
    vec![
        case("cached missing").cached("old"),
        case("cached is a suite").cached("suite.yaml"),
        case("cached is a picture").file("old.png", b"\x89PNG\r\n\x1a\n\0\0\0\r").cached("old.png"),
        case("cached of an agent that cannot run")
            .suite(format!("{SUITE}target: {{kind: agent, agent_id: x}}\n"))
            .cached("old"),
        case("cached without results").file("old/suite.json", "{}").cached("old"),
        cached("cached with empty results", "\n"),
        cached("cached with a header alone", "{\"type\": \"header\", \"suite\": {}}\n"),
        cached("cached with a broken line", &format!("{good}{}", &good[..60])),
        cached("cached with a line of something else", &format!("{good}{{\"score\": 1}}\n")),
        cached("cached with a trajectory that is text", &result("0", "one", "\"hi\"")),
        cached("cached with an id that is a list", &result("[0]", "one", said)),
        cached(
            "cached with a bad message",
            &result("0", "one", "[[{\"message_type\": \"assistant_message\"}]]"),
        ),
        cached(
            "cached of another dataset",
            &format!("{}{}", result("0", "uno", said), result("1", "dos", said)),
        ),
        cached("cached of rows that are not there", &result("7", "one", said)),
        cached(
            "cached 200 deep",
            &result("0", "one", &format!("{}{}", "[".repeat(200), "]".repeat(200))),
        ),
    ]
}
