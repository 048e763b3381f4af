//! `evalrs report --format html`: the pages of a run in one file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Server, shop};
use crate::space::{Space, lines};

/// The page of the last run.
fn page(space: &Space, args: &[&str]) -> String {
    let ran = space.run(&[&["report", "--format", "html"], args].concat());
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
    ran.stdout()
}

/// What its only element of data holds.
fn data(page: &str) -> Value {
    let (_, rest) =
        page.split_once(r#"<script type="application/json" id="evalrs-data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The values of a pack.
fn opened(pack: &Value) -> Vec<Value> {
    let bytes = STANDARD.decode(pack.as_str().unwrap()).unwrap();
    let packed = miniz_oxide::inflate::decompress_to_vec(&bytes[10..bytes.len() - 8]).unwrap();
    assert_eq!(bytes[bytes.len() - 4..], u32::try_from(packed.len()).unwrap().to_le_bytes());
    serde_json::from_slice(&with_repeats(&packed)).unwrap()
}

/// What the viewer makes of what was compressed.
fn with_repeats(packed: &[u8]) -> Vec<u8> {
    fn number(counts: &mut impl Iterator<Item = u8>) -> usize {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = counts.next().unwrap();
            number |= usize::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        number
    }
    let mut head = packed[1..].iter().copied();
    let length = number(&mut head);
    let counted = number(&mut head);
    let (counts, mut fresh) = packed[packed.len() - head.len()..].split_at(counted);
    let mut counts = counts.iter().copied();
    let mut whole = Vec::new();
    while whole.len() < length {
        let count = number(&mut counts);
        whole.extend_from_slice(&fresh[..count]);
        fresh = &fresh[count..];
        if whole.len() < length {
            let count = number(&mut counts);
            let from = whole.len() - number(&mut counts);
            whole.extend_from_within(from..from + count);
        }
    }
    whole
}

fn cases(data: &Value) -> Vec<Value> {
    data["cases"].as_array().unwrap().iter().flat_map(opened).collect()
}

#[test]
fn a_page_holds_what_the_server_says() {
    let space = shop();
    space.write("suite.labels.jsonl", "{\"id\": \"rome\", \"label\": true}\n");
    let page = data(&page(&space, &[]));
    let server = Server::new(space, &["suite.yaml"]);
    let run = server.get("/api/runs/latest").data();
    assert_eq!(run, page["run"]);
    assert_eq!(run["agreement"]["right"]["false_fail"], 1);
    let names = "tags,tool_calls,input,ground_truth,metadata.row";
    let mut rows = server.get(&format!("/api/runs/latest/samples?columns={names}")).data();
    for row in rows["samples"].as_array_mut().unwrap() {
        // The page has those alone in which there is something.
        row["columns"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    let mut shown = opened(&page["rows"]);
    let tags: Vec<Value> = shown
        .iter_mut()
        .map(|row| row.as_object_mut().unwrap().remove("tags").unwrap_or_default())
        .collect();
    assert_eq!(json!(shown), rows["samples"]);
    assert_eq!(tags, [json!(["europe"]), json!(["europe"]), json!(null)]);
    let cases = cases(&page);
    for (case, path) in cases.iter().zip(["paris", "rome", "a%2Fb%20%C3%BC%3F%23"]) {
        let mut told = server.get(&format!("/api/runs/latest/samples/{path}")).data();
        // The page finds these in its list.
        told["previous"] = Value::Null;
        told["next"] = Value::Null;
        told["list"] = Value::Null;
        assert_eq!(*case, told, "{path}");
    }
    assert_eq!(cases[2]["conversation"][1]["name"], "look_up");
}

#[test]
fn the_server_sends_what_the_command_writes() {
    let space = shop();
    space.write("suite.labels.jsonl", "{\"id\": \"rome\", \"label\": true}\n");
    let id = space.latest().file_name().unwrap().to_str().unwrap().to_owned();
    let server = Server::new(space, &["suite.yaml"]);
    for (ending, format, kind) in [
        ("html", "html", "text/html; charset=utf-8"),
        ("md", "markdown", "text/markdown; charset=utf-8"),
        ("xml", "junit", "application/xml"),
        ("csv", "csv", "text/csv; charset=utf-8"),
        ("json", "json", "application/json"),
    ] {
        let reply = server.get(&format!("/api/runs/latest/report.{ending}"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        let headers = reply.headers.to_ascii_lowercase();
        assert!(headers.contains(&format!("content-type: {kind}\r\n")), "{headers}");
        let name = format!("content-disposition: attachment; filename=\"{id}.{ending}\"\r\n");
        assert!(headers.contains(&name.to_ascii_lowercase()), "{headers}");
        let written = server.space.run(&["report", "--format", format]).stdout();
        assert!(reply.body == written, "{ending}: {}", reply.body);
    }
    for (path, expected) in [
        ("/api/runs/latest/report.pdf", "404 NOT_FOUND"),
        ("/api/runs/latest/report", "404 NOT_FOUND"),
        ("/api/runs/none/report.html", "404 NOT_FOUND"),
        ("/api/runs/..%2f..%2fetc/report.html", "404 NOT_FOUND"),
    ] {
        assert_eq!(server.get(path).refusal(), expected, "{path}");
    }
    let head = server.send("POST", "/api/runs/latest/report.html", &[], "");
    assert_eq!(head.refusal(), "405 METHOD_NOT_ALLOWED");
    server.space.write(&format!(".evalrs/runs/{id}/summary.json"), "[]");
    let refused = server.get(&format!("/api/runs/{id}/report.csv"));
    assert_eq!(refused.refusal(), "409 CONFLICT");
    assert!(refused.body.contains("`summary.json` cannot be read"), "{}", refused.body);
}

#[test]
fn a_page_asks_nobody_anything() {
    let page = page(&shop(), &[]);
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
    let policy = policy.split_once('"').unwrap().0;
    assert!(
        policy.starts_with("default-src 'none'; img-src data:; script-src 'sha256-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"));
    let elsewhere = page
        .match_indices("//")
        .filter(|(at, _)| page[..*at].ends_with("http:") || page[..*at].ends_with("https:"));
    for (at, _) in elsewhere {
        assert!(page[at..].starts_with("//www.w3.org/2000/svg"), "{}", &page[at - 20..at + 40]);
    }
    for from in ["src=\"", "href=\"/viewer", "@import", "url("] {
        assert!(!page.contains(from), "{from}");
    }
}

#[test]
fn texts_of_others_stay_data() {
    let space = shop();
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>]]>\u{202e}\u{2028}\u{2029}\u{1b}[31m\0\r\n&lt;";
    let long = format!("{hostile}{}", "rationale ".repeat(10_000));
    let grade = json!({"score": 0.5, "pass": false, "rationale": long, "error": null, "metadata": {hostile: hostile}});
    let lines = lines((0..3).map(|at| {
        json!({"format": 1, "sample_id": format!("{at}{hostile}"), "model": hostile, "trial": 0, "input": {hostile: [hostile]}, "ground_truth": hostile,
            "submissions": {"right": hostile}, "grades": {"right": grade, hostile: grade}})
    }));
    let run = space.latest().file_name().unwrap().to_str().unwrap().to_owned();
    let mut facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    facts.as_object_mut().unwrap().remove("results_digest");
    space.write(&format!(".evalrs/runs/{run}/results.jsonl"), lines);
    space.write(&format!(".evalrs/runs/{run}/run.json"), facts.to_string());
    let page = page(&space, &[]);
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert_eq!((page.matches("<!").count(), page.matches("<img").count()), (1, 0));
    assert!(!page.contains(['\0', '\u{1b}', '\u{2028}', '\u{2029}', '\r']));
    let data = data(&page);
    assert_eq!(opened(&data["rows"])[0]["submission"], hostile);
    assert_eq!(data["run"]["models"], json!([hostile]));
    let cases = cases(&data);
    assert_eq!(cases[2]["grades"]["right"]["rationale"], *long);
    assert_eq!(cases[2]["input"], json!({hostile: [hostile]}));
    assert_eq!(cases[1]["conversation_note"], "The dataset no longer has this sample");
}

#[test]
fn cases_are_in_packs_by_their_rows() {
    let rows = |count: usize| {
        lines((0..count).map(|at| json!({"id": format!("s{at}"), "input": "?", "output": "!"})))
    };
    let suite = super::SUITE.replace("contains", "ascii_printable_only");
    let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", &rows(401))]);
    space.run(&["run", "suite.yaml", "--quiet"]);
    let path = format!("{}/results.jsonl", space.latest().display());
    let record = space.record("results.jsonl");
    space.write(&path, record.replacen("{\"format\":2", "{\"format\":0", 1));
    let ran = space.run(&["report", "--format", "html", "-o", "pages/r.html"]);
    assert!(ran.stderr().contains("1 line of `results.jsonl` skipped"), "{}", ran.shown());
    let page = data(&space.read("pages/r.html"));
    let packs: Vec<usize> =
        page["cases"].as_array().unwrap().iter().map(|pack| opened(pack).len()).collect();
    assert_eq!(packs, [200, 200]);
    for (row, case) in opened(&page["rows"]).iter().zip(cases(&page)) {
        assert_eq!((&row["sample_id"], &row["at"]), (&case["sample_id"], &case["at"]));
    }
    space.write(&path, "");
    let ran = space.run(&["report", "--format", "html"]);
    assert_eq!((ran.code(), &data(&ran.stdout())["cases"]), (0, &json!([])));
}

#[test]
fn what_a_page_lacks_is_said() {
    let space = shop();
    let suite = |text: &str| text.replace("name: shop", "name: other");
    for (file, text, expected) in [
        (
            "suite.yaml",
            suite(super::SUITE),
            "the suite had another name when this report was written",
        ),
        (
            "suite.yaml",
            "graders: 7\n".to_owned(),
            "the suite had errors when this report was written",
        ),
        ("data.jsonl", "{\n".to_owned(), "the suite had errors when this report was written"),
    ] {
        let before = space.read(file);
        space.write(file, text);
        let ran = space.run(&["report", "--format", "html"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let expected = format!("the page has no conversations: {expected}\n");
        assert!(ran.stderr().ends_with(&expected), "{}", ran.stderr());
        let case = &cases(&data(&ran.stdout()))[2];
        assert!(case["conversation"].is_null(), "{case}");
        assert_eq!(case["submissions"]["right"], "Tōkyō, or Tokyo");
        assert_eq!(case["grades"]["right"]["state"], "passed");
        space.write(file, before);
    }
    let folder = space.latest();
    let elsewhere = Space::new(&[]);
    let ran = elsewhere.run(&["report", folder.to_str().unwrap(), "--format", "html"]);
    assert!(ran.stderr().contains("the suite was not found"), "{}", ran.shown());
    assert_eq!(cases(&data(&ran.stdout())).len(), 3);
    let ran = space.run(&["run", "suite.yaml", "--format", "html"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(
        ran.stderr().contains("evalrs report --format html -o report.html"),
        "{}",
        ran.stderr()
    );
}
