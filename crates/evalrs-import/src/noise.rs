//! Broken sources with live keys in them: every importer ends, and no key is written, however it was escaped.
//!
//! The mutations are random and their seeds fixed; `EVALRS_ROUNDS`, when this is compiled, says how many sources there are.

use std::io::Write;

use fastrand::Rng;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::json;

use super::escapes::UnescapedText;
use super::imported::ImportedFile;
use super::report::SourceReport;
use super::secrets::SecretFindings;
use super::source::ImportSource;
use super::{IMPORTERS, folder, recognized};
use evalrs_system::memory::MemorySystem;

/// A source that can be imported.
struct NoiseSource {
    path: &'static str,
    files: Vec<NoiseFile>,
}

struct NoiseFile {
    path: &'static str,
    text: String,
}

const PROMPTFOO: &str = "\
description: greets
prompts: ['Say {{word}} to {{name}} @P@', {raw: \"Say @D@\", label: l}]
providers:
  - {id: 'openai:chat:gpt-5-mini', config: {apiKey: \"@D@\", temperature: 0, headers: {authorization: '@P@'}}}
  - {id: https, config: {url: 'https://h/@P@', body: {q: '{{prompt}} @P@'}, transformResponse: json.a}}
defaultTest: {options: {provider: 'openai:gpt-5', rubricPrompt: \"Judge @D@ {{output}}\"}}
tests:
  - vars: {word: \"@D@\", name: Ann}
    assert: [{type: contains, value: '{{word}} @P@'}, {type: llm-rubric, value: \"@D@\"}, {type: javascript, value: 'output == \"@P@\"'}]
  - vars:
      word: |
        @B@
      name: &a \"@D@\"
    assert:
      - {type: regex, value: \"a @D@\"}
      - {type: is-json, value: {type: object, description: \"@D@\"}}
      - {type: nonsense, value: '@P@'}
  - file://more.csv
  - {vars: {word: 'file://word.txt', name: *a}, threshold: 0.5}
";

const CSV: &str = "word,name,__expected,__expected2\nhi,\"@C@ and\",contains:@C@,\nbye,@C@,\"equals:@C@\",is-json\n";

const LETTA: &str = "\
name: s
dataset: rows.jsonl
target: {kind: letta_agent, agent_file: a.af, api_key: '@P@', base_url: \"@D@\"}
graders:
  own: {kind: tool, function: 'own.py:grade', extractor: last_assistant}
  tone: {kind: model_judge, prompt: \"@D@\", prompt_path: tone.txt}
gate: {metric_key: own, op: gte, value: 1}
";

const REGISTRY: &str = "\
one.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: one/s.jsonl, note: \"@D@\"}
two.dev.v0:
  class: evals.elsuite.basic.json_match:JsonMatch
  args: {samples_jsonl: one/s.jsonl}
";

fn source(path: &'static str, files: &[(&'static str, String)]) -> NoiseSource {
    let file = |(path, text): &(&'static str, String)| NoiseFile { path, text: text.clone() };
    NoiseSource { path, files: files.iter().map(file).collect() }
}

fn configurations() -> Vec<NoiseSource> {
    let text = str::to_owned;
    let sample =
        r#"{"input": [{"role": "user", "content": "q"}], "ideal": ["a", "{\"b\": \"c\"}"]}"#;
    vec![
        source(
            "c.yaml",
            &[
                ("c.yaml", text(PROMPTFOO)),
                ("more.csv", text(CSV)),
                ("word.txt", text("a @P@\n@B@\n")),
            ],
        ),
        source(
            "s.yaml",
            &[
                ("s.yaml", text(LETTA)),
                ("rows.jsonl", text("{\"input\": \"q\", \"rubric_path\": \"r.txt\"}\n")),
                ("r.txt", text("@B@")),
                ("own.py", text("import more\nKEY = \"@P@\"\n")),
                ("more.py", text("x = '@P@'\n")),
                ("a.af", text("{\"a\": \"b\"}")),
            ],
        ),
        source(
            "registry/evals/e.yaml",
            &[
                ("registry/evals/e.yaml", text(REGISTRY)),
                ("registry/data/one/s.jsonl", text(sample)),
            ],
        ),
    ]
}

fn records() -> Vec<NoiseSource> {
    let call = json!([{"id": "1", "function": {"name": "f", "arguments": "{\"a\":\"b\"}"}, "type": "function"}]);
    let messages = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "tool_calls": call}]);
    let result = json!({"testIdx": 0, "promptIdx": 0, "success": true, "score": 0.5, "latencyMs": 12, "provider": {"id": "openai:gpt-5-mini"},
        "prompt": {"raw": "[{\"role\":\"user\",\"content\":\"hi\"}]", "label": "l"}, "vars": {"word": "hi"}, "response": {"output": "hi"},
        "testCase": {"vars": {"word": "hi"}, "assert": [{"type": "contains", "value": "{{word}}"}, {"type": "llm-rubric", "value": "is kind"}]},
        "gradingResult": {"pass": true, "score": 0.5, "reason": "why", "componentResults": [{"pass": true, "score": 1, "reason": "r", "assertion": {"type": "contains"}}]}});
    let deepeval = json!({"testCases": [{"name": "t", "input": "q", "actualOutput": "a", "expectedOutput": "e", "context": ["c"], "additionalMetadata": {"k": "v"},
        "toolsCalled": [{"name": "t", "inputParameters": {"a": "b"}}], "metricsData": [{"name": "Tone [GEval]", "score": 0.5, "threshold": 0.5, "success": true, "reason": "r", "error": "e", "verboseLogs": "Criteria:\n be kind"}]}],
        "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "testFailed": 0});
    let grader = json!({"type": "score_model", "name": "tone", "model": "gpt-4o", "range": [1, 7], "input": [{"role": "user", "content": "Rate {{sample.output_text}} by {{item.q}}"}]});
    let check = json!({"type": "string_check", "name": "same", "input": "{{sample.output_text}}", "operation": "like", "reference": "is {{item.q}}"});
    let python = json!({"type": "python", "name": "py", "source": "def grade(sample, item):\n    return 1.0 if 'a' else 0"});
    let item = json!({"object": "eval.run.output_item", "datasource_item": {"q": "a?"}, "results": [{"name": "tone", "passed": true, "score": 6}],
        "sample": {"model": "m", "input": messages, "output": [{"role": "assistant", "content": "yes"}], "error": {"message": "e"}}});
    let hosted =
        json!({"data": [{"name": "eval", "testing_criteria": [grader, check, python]}, item]});
    let log = [
        json!({"spec": {"eval_name": "one.dev.v0", "run_id": "r"}}),
        json!({"run_id": "r", "event_id": 0, "sample_id": "one.0", "type": "sampling", "data": {"prompt": messages, "sampled": ["a"]}}),
        json!({"run_id": "r", "event_id": 1, "sample_id": "one.0", "type": "match", "data": {"correct": true, "expected": "a", "picked": "a"}}),
        json!({"run_id": "r", "event_id": 2, "sample_id": "x", "type": "odd", "data": "d"}),
    ];
    let log = log.map(|event| event.to_string()).join("\n");
    let capture = json!({"id": "a", "input": "q", "output": "o", "hint": "h", "trajectory": [{"type": "message", "content": "c", "timestamp": 0}, {"type": "tool_call", "name": "t", "input": {"a": "b"}, "output": "o", "timestamp": 1}],
        "metadata": {"m": "n"}, "timing": {"total": 5}, "toolErrors": false, "score": {"pass": true, "score": 0.5, "reasoning": "r"}});
    let tables = json!({"sqlite_master": [{"name": "evals"}, {"name": "eval_results"}],
        "evals": [{"id": "eval-1", "description": "greets", "results": "{}", "config": "{\"env\":{\"A\":\"b\"}}"}],
        "eval_results": [{"id": "r", "eval_id": "eval-1", "test_idx": 0, "prompt_idx": 0, "success": 1, "score": 1, "test_case": "{\"vars\":{\"word\":\"hi\"},\"assert\":[{\"type\":\"contains\",\"value\":\"ho\"}]}",
            "prompt": "{\"raw\":\"Say hi\"}", "provider": "{\"id\":\"echo\"}", "response": "{\"output\":\"hi\"}", "grading_result": "{\"reason\":\"why\"}"}]});
    vec![
        source("r.json", &[("r.json", json!({"evalId": "e", "config": {"description": "greets"}, "results": {"version": 3, "results": [result]}}).to_string())]),
        source("d.json", &[("d.json", deepeval.to_string())]),
        source("o.json", &[("o.json", hosted.to_string())]),
        source("l.jsonl", &[("l.jsonl", log)]),
        source("h.jsonl", &[("h.jsonl", format!("{capture}\n{capture}\n"))]),
        source("home", &[("home/promptfoo.db", tables.to_string())]),
    ]
}

fn traces() -> Vec<NoiseSource> {
    let trajectory = json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1", "model_name": "m"}, "steps": [
        {"source": "user", "message": "do it"}, {"source": "agent", "message": "done", "tool_calls": [{"tool_call_id": "1", "function_name": "f", "arguments": {"a": "b"}}]}]});
    let reward = json!({"task_name": "t1", "verifier_result": {"rewards": {"reward": 1.0}}});
    let parts =
        json!([{"role": "assistant", "parts": [{"type": "text", "content": "one"}]}]).to_string();
    let span = json!({"traceId": "t", "spanId": "1", "name": "chat", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": parts}}], "events": [{"name": "gen_ai.evaluation.result", "attributes": [{"key": "gen_ai.evaluation.name", "value": {"stringValue": "good"}}, {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}}]}]});
    let run = json!({"id": "r1", "trace_id": "r1", "name": "agent", "run_type": "llm", "start_time": "2026-01-01T00:00:00", "inputs": {"question": "2+2?"}, "outputs": {"answer": "4"}, "error": "e",
        "feedback_stats": {"correct": {"n": 1, "avg": 1.0}}, "child_runs": [{"id": "r2", "parent_run_id": "r1", "name": "f", "run_type": "tool", "inputs": {"input": "2"}, "outputs": {"output": "4"}}]});
    let langfuse = json!([{"id": "t", "input": "hi", "output": null, "observations": [{"id": "o", "traceId": "t", "type": "GENERATION", "name": "g", "startTime": "2026-01-01T00:00:00Z", "input": [{"role": "user", "content": "hi"}], "output": "{\"role\":\"assistant\",\"content\":\"hello\"}"}],
        "scores": [{"id": "s", "traceId": "t", "name": "tone", "stringValue": "warm", "dataType": "CATEGORICAL"}]}]);
    let sample = json!({"id": "a", "epoch": 1, "input": [{"role": "user", "content": "q"}], "target": ["yes"], "scores": {"match": {"value": "C", "answer": "yes", "explanation": "e"}, "stars": {"value": 7}},
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "attachment://1"}], "output": {"completion": "attachment://1"}, "attachments": {"1": "It is yes."}, "metadata": {"k": "v"}, "store": {"s": "t"}});
    let head = json!({"version": 2, "status": "success", "eval": {"task": "t", "task_id": "x", "model": "openai/gpt", "model_args": {"api_key": "none"}, "dataset": {"name": "d"}},
        "results": {"scores": [{"name": "match", "scorer": "match", "params": {"location": "any"}, "metrics": {"accuracy": {"value": 0.5}}}]}});
    let mut whole = head.clone();
    whole["samples"] = json!([sample]);
    vec![
        source(
            "job",
            &[
                ("job/t1__x/agent/trajectory.json", trajectory.to_string()),
                ("job/t1__x/result.json", reward.to_string()),
            ],
        ),
        source(
            "t.jsonl",
            &[(
                "t.jsonl",
                json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string(),
            )],
        ),
        source("ls.json", &[("ls.json", json!([run]).to_string())]),
        source("lf.json", &[("lf.json", langfuse.to_string())]),
        source("i.json", &[("i.json", whole.to_string())]),
        source(
            "i.eval",
            &[("header.json", head.to_string()), ("samples/a_epoch_1.json", sample.to_string())],
        ),
    ]
}

/// A key that is looked for as such, and the parts of it of which none may be written.
struct PlantedKey {
    text: String,
    parts: Vec<String>,
}

impl PlantedKey {
    fn new(random: &mut Rng) -> Self {
        loop {
            let word = |random: &mut Rng, length: usize| -> String {
                (0..length).map(|_| random.alphanumeric()).collect()
            };
            let one = word(random, 36);
            let (text, parts) = match random.u32(..7) {
                0 => (format!("sk-proj-{one}"), vec![one]),
                1 => (format!("ghp_{one}"), vec![one]),
                2 => (
                    format!("AKIA{}", one[..16].to_ascii_uppercase()),
                    vec![one[..16].to_ascii_uppercase()],
                ),
                3 => (
                    format!("Bearer {}/{}", &one[..12], &one[12..]),
                    vec![one[..12].to_owned(), one[12..].to_owned()],
                ),
                4 => (format!("eyJ{one}.eyJ{one}.{one}"), vec![one]),
                5 => (format!("https://bot:{one}@host/x"), vec![one]),
                _ => {
                    let lines: Vec<String> = (0..3).map(|_| word(random, 40)).collect();
                    let body = lines.join("\n");
                    (
                        format!(
                            "-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
                        ),
                        lines,
                    )
                }
            };
            let mut findings = SecretFindings::default();
            findings.search("f", &text);
            let rest = findings.take_out(text.clone());
            // By chance it may look like words that stand for a key.
            if parts.iter().all(|part| !rest.contains(part.as_str())) {
                return Self { text, parts };
            }
        }
    }
}

/// A text in a text of JSON, `depth` deep, with escapes where none are needed.
fn in_json(text: &str, depth: u32, random: &mut Rng) -> String {
    let mut escaped = text.to_owned();
    for _ in 0..depth {
        let inner = std::mem::take(&mut escaped);
        for c in inner.chars() {
            match c {
                '\n' => escaped.push_str("\\n"),
                '\\' | '"' => escaped.extend(['\\', c]),
                '/' if random.bool() => escaped.push_str("\\/"),
                c if c.is_ascii() && random.u32(..6) == 0 => {
                    escaped.extend(format!("\\u{:04x}", u32::from(c)).chars());
                }
                c => escaped.push(c),
            }
        }
    }
    escaped
}

/// A text in double quotes of YAML, with escapes and folds.
fn in_yaml(text: &str, random: &mut Rng) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match (c, random.u32(..12)) {
            ('\n', _) => escaped.push_str("\\n"),
            (c, 0) => escaped.extend(format!("\\x{:02x}", u32::from(c)).chars()),
            (c, 1) => escaped.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            (c, 2) if c != ' ' => {
                escaped.push_str("\\\n        ");
                escaped.push(c);
            }
            (c, _) => escaped.push(c),
        }
    }
    escaped
}

/// Plants keys where the templates have a mark for them, and in a text of JSON.
fn planted(text: &str, keys: &mut Vec<PlantedKey>, random: &mut Rng) -> String {
    let mut text = text.to_owned();
    for mark in ["@P@", "@D@", "@B@", "@C@"] {
        while let Some(at) = text.find(mark) {
            let end = at + mark.len();
            // What is glued to a word is no key to anybody who looks for keys.
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let is_glued = text[..at].ends_with(is_word) || text[end..].starts_with(is_word);
            // Folds and escapes without quotes around them stand for themselves: that would be another text.
            let line = text[..at].rsplit('\n').next().unwrap_or_default();
            let is_unquoted = mark == "@D@" && line.matches('"').count().is_multiple_of(2);
            if is_glued || is_unquoted {
                text.replace_range(at..end, " ");
                continue;
            }
            let mut key = PlantedKey::new(random);
            while key.text.contains('\n') && mark == "@P@" {
                key = PlantedKey::new(random);
            }
            let indent: String = text[..at]
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .take_while(|c| *c == ' ')
                .collect();
            let written = match mark {
                "@D@" => in_yaml(&key.text, random),
                "@B@" => key.text.replace('\n', &format!("\n{indent}")),
                _ => key.text.clone(),
            };
            text.replace_range(at..end, &written);
            keys.push(key);
        }
    }
    for (opening, depth) in [(":\"", 1), ("[\"", 1), (":\\\"", 2)] {
        let places: Vec<usize> =
            text.match_indices(opening).map(|(at, _)| at + opening.len()).collect();
        let Some(at) = random.choice(&places) else { continue };
        let key = PlantedKey::new(random);
        let written = in_json(&format!("{} ", key.text), depth, random);
        text.insert_str(*at, &written);
        keys.push(key);
    }
    text
}

/// A slip of the hand or of a disk.
fn slip(bytes: &mut Vec<u8>, random: &mut Rng) {
    const TELLING: [&[u8]; 18] = [
        b"\"", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"- ", b"\\", b"\xff", b"null",
        b"-1", b"1e999", b"'", b"{{", b"%}",
    ];
    let at = random.usize(..=bytes.len());
    match random.u32(..5) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.u8(..)),
        1 => _ = bytes.splice(at..at, random.choice(TELLING).unwrap_or_default().iter().copied()),
        2 => _ = bytes.drain(at..(at + random.usize(..20)).min(bytes.len())),
        3 => {
            let copied = bytes[at..(at + random.usize(..60)).min(bytes.len())].to_vec();
            let to = random.usize(..=bytes.len());
            bytes.splice(to..to, copied);
        }
        _ if random.u32(..4) == 0 => bytes.truncate(at),
        _ => {}
    }
}

fn slipped(text: &str, random: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.u32(..4) {
        slip(&mut bytes, random);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn zip(members: &[NoiseFile]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for NoiseFile { path, text } in members {
        let file = archive.new_file(path).compression_method(CompressionMethod::STORE);
        let (mut entry, config) = file.start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(text.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// What is written of a source, by the importer that recognizes it, or by any of them.
fn written(path: &str, system: &MemorySystem, random: &mut Rng) -> Option<Vec<ImportedFile>> {
    let source = ImportSource::new(path, system);
    let any = random.choice(IMPORTERS).filter(|_| random.u32(..8) == 0);
    let importer = any.or_else(|| recognized(&source))?;
    let imported = (importer.import)(&source).ok()?;
    let mut secrets = source.into_secrets();
    let mut report = SourceReport::new(importer.kind, path, "out", &imported);
    let files = folder::files(imported, &mut secrets, &mut report);
    assert!(!report.summary().is_empty());
    Some(files)
}

#[test]
fn broken_sources_end_and_no_key_in_them_is_written() {
    let rounds: u64 = option_env!("EVALRS_ROUNDS").map_or(400, |rounds| rounds.parse().unwrap());
    let sources: Vec<NoiseSource> =
        [configurations(), records(), traces()].into_iter().flatten().collect();
    let mut imports = 0;
    let mut planted_keys = 0;
    for round in 0..rounds {
        let mut random = Rng::with_seed(round);
        let source = &sources[round as usize % sources.len()];
        let mut keys = Vec::new();
        let system = MemorySystem::with(&[]);
        let file = |file: &NoiseFile, random: &mut Rng, keys: &mut Vec<PlantedKey>| NoiseFile {
            path: file.path,
            text: planted(&slipped(&file.text, random), keys, random),
        };
        let files: Vec<NoiseFile> =
            source.files.iter().map(|it| file(it, &mut random, &mut keys)).collect();
        if source.path == "i.eval" {
            let mut archive = zip(&files);
            // Half of them are damaged as archives, too.
            for _ in 0..random.u32(..2) {
                slip(&mut archive, &mut random);
            }
            system.set(source.path, archive);
        } else {
            for file in &files {
                system.set(file.path, &file.text);
            }
        }
        let Some(files) = written(source.path, &system, &mut random) else { continue };
        imports += 1;
        planted_keys += keys.len();
        for ImportedFile { path, text } in &files {
            let unescaped = UnescapedText::of(text).map_or_else(String::new, |it| it.text);
            for part in keys.iter().flat_map(|key| &key.parts) {
                let is_written = text.contains(part.as_str()) || unescaped.contains(part.as_str());
                assert!(!is_written, "round {round}: {part} in {path} of {}:\n{text}", source.path);
            }
        }
    }
    println!("{rounds} sources, {imports} imported, {planted_keys} keys in these");
    assert!(imports * 3 > rounds, "only {imports} of {rounds} sources were read");
}
