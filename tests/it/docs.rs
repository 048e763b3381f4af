//! README.md and docs/ checked: every YAML and JSON Lines snippet is valid, every command line parses, and generated parts
//! are not stale.
//!
//! A snippet of a part of a suite says which part behind its language (```` ```yaml gate ````); the test completes it.
#![expect(clippy::disallowed_methods, reason = "tests read the documents of this repository")]

mod generated;

use std::path::Path;

use clap::Parser;
use evalrs_cli::cli::Cli;
use evalrs_eval::judge::provider::infos;
use evalrs_suite::sections::builtin::builtin_rubrics;

use crate::letta::judge_file;
use crate::space::{Space, has};

/// A fenced block: the file it stands in, its line, what follows the fence, its text.
struct Snippet {
    place: String,
    info: String,
    text: String,
}

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Every page for users: those of docs/ but for the decisions, and some beside it.
fn documents() -> Vec<String> {
    let mut names = ["README.md", "ARCHITECTURE.md", "cache/README.md"].map(str::to_owned).to_vec();
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder);
        for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() && name != "docs/design" {
                folders.push(name);
            } else if entry.path().extension().is_some_and(|ending| ending == "md") {
                names.push(name);
            }
        }
    }
    names.sort();
    names
}

fn snippets(language: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    for name in documents() {
        let text = read(&name);
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let body: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let (written, rest) = info.split_once(' ').unwrap_or((info, ""));
            if written == language {
                let place = format!("{name}:{}", at + 1);
                let text = body.join("\n") + "\n";
                found.push(Snippet { place, info: rest.to_owned(), text });
            }
        }
    }
    found
}

/// The files that snippets name.
fn space() -> Space {
    let row = r#"{"id": "s", "input": "q", "ground_truth": "a", "output": "a", "tags": ["smoke"], "metadata": {"stars": 3}, "item": {"ticket": "t"}, "context": "c"}"#;
    let episode = r#"[{"task_id": 7, "traj": [{"role": "user", "content": "hi"}], "info": {"task": {"instruction": "greet"}}}]"#;
    let answers = r#"{"question": "q", "answer": "a", "answers": {"small": {"text": "x", "human": "pass"}, "large": {"text": "y", "human": "fail"}}}"#;
    let trajectory = r#"{"id": "s", "messages": [{"role": "assistant", "content": "a"}]}"#;
    let base = "name: base\ndataset: dataset.jsonl\ngraders: {accuracy: {kind: tool, function: contains}}\ngate: {metric_key: accuracy, op: gte, value: 0.5}\n";
    let run = "{\"format\": 1, \"sample_id\": \"q1\", \"model\": null, \"trial\": 0, \"submissions\": {\"quality\": \"Paris\"}}\n";
    let space = Space::new(&[
        ("dataset.jsonl", row),
        (
            "sessions/add-isbn-check.jsonl",
            include_str!("../../examples/sessions/add-isbn-check.jsonl"),
        ),
        ("episodes.json", episode),
        (
            "testset-v1.json",
            r#"[{"idx": 0, "instruction": "i", "annotator1": 1, "annotator2": 1, "annotator3": 2}]"#,
        ),
        ("gpt-3.5-turbo-testset-v1.json", r#"[{"idx": 0, "gpt_result": "1"}]"#),
        ("results.json", r#"{"eval": {"model": "m"}, "samples": {"a": "x"}}"#),
        ("runs/m/t.json", r#"{"answer": "x"}"#),
        ("runs/m/t1/task.yaml", "instruction: greet\n"),
        ("runs/m/t1/result.json", r#"{"answer": "x"}"#),
        ("runs/m/t1/agent/trace.jsonl", r#"{"role": "assistant", "content": "x"}"#),
        ("answers.jsonl", answers),
        ("trajectories.jsonl", trajectory),
        ("rubric.txt", "Is {submission} right?"),
        ("judge.af", &judge_file().to_string()),
        ("house-rules.txt", "Be strict."),
        ("judge.sh", "echo '{\"score\": 1}'\n"),
        ("rules/tone.txt", "Be kind."),
        ("prompts/shop.txt", "You sell shoes."),
        ("tools.json", r#"[{"name": "find_order"}]"#),
        ("tools.py", "def answer(name, arguments):\n    return ''\n"),
        ("base.yaml", base),
        ("graders/policy.sh", "#!/bin/sh\necho '{\"score\": 1}'\n"),
        ("graders/rules.json", "{}"),
        ("graders/style.ts", "export const grade = () => ({ pass: true, score: 1 });\n"),
        ("graders/quality.py", "def quality(sample, submission):\n    return 1.0\n"),
        ("graders/policy.py", "#!/usr/bin/env python3\nprint('{\"score\": 1}')\n"),
        ("graders/format.ts", "export const grade = () => ({ pass: true, score: 1 });\n"),
        ("graders/code.py", "def solves(sample, submission):\n    return 1.0\n"),
        ("graders/stock.py", "#!/usr/bin/env python3\nprint('{\"score\": 1}')\n"),
        ("graders/parts.py", "def order(trajectory, config):\n    return ''\n"),
        ("gpt35.csv", "idx,result\ns,A\n"),
        ("answers.csv", "id,input,expected,output\ns,q,a,a\n"),
        ("people.csv", "sample,human_score,system,annotator\ns,1,,ann\n"),
        ("graders/refund.py", "def refund(sample, submission):\n    return 1.0\n"),
        ("graders/limit.mjs", "export const grade = () => ({ pass: true, score: 1 });\n"),
        ("graders/parts/list.csv", "part\n"),
        ("runs/release-1/results.jsonl", run),
        ("tickets.jsonl", row),
        ("bot.af", "{}"),
        ("questions.jsonl", row),
        ("shop.txt", "You look things up."),
        ("judge.py", "print('{\"score\": 1}')\n"),
        ("polite.md", "Is {submission} polite?"),
        ("agent.py", "print('hello')\n"),
        ("prompts/greeting.txt", "hello"),
        ("shop/stock.txt", "pears"),
    ]);
    #[cfg(unix)]
    for program in ["policy.sh", "policy.py", "stock.py"] {
        crate::programs::executable(&space, &format!("graders/{program}"));
    }
    space
}

/// The suite that a snippet is, or is a part of.
fn suite_of(snippet: &Snippet) -> String {
    let grader = |name: &str| format!("  {name}: {{kind: tool, function: contains}}\n");
    let graders =
        format!("graders:\n{}{}{}", grader("accuracy"), grader("tone"), grader("quality"));
    let head = "name: snippet\n";
    let dataset = "dataset: dataset.jsonl\n";
    let text = &snippet.text;
    match snippet.info.as_str() {
        "" | "rollup" => text.clone(),
        "graders" => format!("{head}{dataset}{text}"),
        "rubric" => {
            let fields = text.lines().flat_map(|line| ["    ", line, "\n"]);
            let grader = "graders:\n  quality:\n    kind: rubric\n    model: gpt-4o-mini\n";
            format!("{head}{dataset}{grader}{}", fields.collect::<String>())
        }
        "dataset" => format!("{head}{text}{graders}"),
        "target" | "gate" => format!("{head}{dataset}{graders}{text}"),
        other => panic!("{}: no part of a suite is called `{other}`", snippet.place),
    }
}

fn check_valid(place: &str, space: &Space) {
    let ran = space.run(&["validate", "suite.yaml"]);
    // The data beside a snippet is made up: warnings about what it lacks say nothing of the snippet.
    assert_eq!(
        (ran.code(), ran.stderr().contains("error")),
        (0, false),
        "{place}: {}",
        ran.stderr()
    );
}

#[test]
fn every_suite_snippet_is_valid() {
    let snippets = snippets("yaml");
    assert!(snippets.len() >= 8, "the documents have snippets");
    for snippet in snippets {
        let space = space();
        let text = suite_of(&snippet);
        // A program is valid where something runs it.
        let is_here = |ending: &str, runtime: &str| !text.contains(ending) || has(runtime);
        let needs_node = text.contains("javascript:");
        if !is_here(".ts", "node") || !is_here(".py", "python3") || needs_node && !has("node") {
            continue;
        }
        space.write("suite.yaml", text);
        check_valid(&snippet.place, &space);
    }
}

/// Each has a page that shows all of it: so it can be read, and copied.
#[test]
fn every_ready_made_rubric_is_on_its_page() {
    let snippets = snippets("yaml");
    for (name, text) in builtin_rubrics() {
        let page = format!("docs/builtin/{}.md", name.split('@').next().unwrap());
        let on_page = snippets.iter().filter(|snippet| snippet.place.starts_with(&page));
        let shown: Vec<&str> = on_page
            .filter(|snippet| snippet.info == "rubric")
            .map(|snippet| snippet.text.as_str())
            .collect();
        assert_eq!(shown, [text], "{page}");
        let words = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&page));
        assert!(words.unwrap().contains(&format!("builtin: {name}")), "{page}");
    }
}

/// The JSON Schema that editors check suites with.
fn suite_schema() -> serde_json::Value {
    schema_for_editors("suite")
}

fn schema_for_editors(name: &str) -> serde_json::Value {
    serde_json::from_str(&Space::new(&[]).run(&["schemas", name]).stdout()).unwrap()
}

/// The suites of public records: name and text.
fn suites_of_records() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/records");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let suites = entries.filter(|path| path.extension().is_some_and(|found| found == "yaml"));
    let mut found: Vec<(String, String)> = suites
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_page_of_records_lists_every_suite_with_its_repository_and_lines() {
    let page = read("docs/records.md");
    let mut listed = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.get(5).is_some_and(|lines| lines.parse::<u32>().is_ok()) {
            listed.push(format!("{} {}", cells[1].trim_matches('`'), cells[5]));
        }
    }
    let there: Vec<String> = suites_of_records()
        .iter()
        .map(|(name, text)| {
            assert!(text.starts_with("# In a clone of github.com/"), "{name}");
            format!("{name} {}", text.lines().count() - 1)
        })
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn the_schema_takes_every_suite_of_documents_and_examples() {
    let schema = jsonschema::validator_for(&suite_schema()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["quickstart/suite", "rubric/suite", "tool-calls/suite", "tool-calls/turns"];
    let examples = files.map(|name| {
        let place = format!("examples/{name}.yaml");
        let text = std::fs::read_to_string(root.join(&place)).unwrap();
        (place, text)
    });
    let (rollups, snippets): (Vec<Snippet>, Vec<Snippet>) =
        snippets("yaml").into_iter().partition(|snippet| snippet.info == "rollup");
    let of_rollups = jsonschema::validator_for(&schema_for_editors("rollup")).unwrap();
    assert!(!rollups.is_empty());
    for rollup in rollups {
        let text: serde_json::Value = serde_saphyr::from_str(&rollup.text).unwrap();
        assert!(of_rollups.is_valid(&text), "{}", rollup.place);
    }
    let snippets = snippets.into_iter().map(|snippet| (snippet.place.clone(), suite_of(&snippet)));
    for (place, text) in snippets.chain(examples).chain(suites_of_records()) {
        let suite: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let problems: Vec<String> =
            schema.iter_errors(&suite).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{place}");
    }
}

/// Tables that are written by hand: page, section, and the key whose choices the page has as names.
const TABLES_OF_CHOICES: [(&str, &str, &str); 4] = [
    ("docs/suite/trajectories.md", "recorded_target", "format"),
    ("docs/suite/metrics.md", "metric", "kind"),
    ("docs/suite/gates.md", "gate", "metric"),
    ("docs/suite/programs.md", "sandbox", "kind"),
];

#[test]
fn tables_of_choices_have_every_choice() {
    let schema = suite_schema();
    for (page, section, key) in TABLES_OF_CHOICES {
        let text = read(page);
        let choices = schema["$defs"][section]["properties"][key]["anyOf"][0]["enum"].as_array();
        let names = choices.unwrap().iter().filter_map(serde_json::Value::as_str);
        let missing: Vec<&str> =
            names.filter(|name| !text.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{page}: {section}.{key}");
    }
}

#[test]
fn every_rubric_snippet_is_valid() {
    let rubrics = snippets("text").into_iter().filter(|snippet| snippet.info == "rubric");
    let rubrics: Vec<Snippet> = rubrics.collect();
    assert!(!rubrics.is_empty(), "the documents have rubric files");
    for snippet in rubrics {
        let space = space();
        let grader = "graders: {any: {kind: rubric, prompt_path: rubric.txt}}\n";
        space.write("suite.yaml", format!("name: snippet\ndataset: dataset.jsonl\n{grader}"));
        space.write("rubric.txt", &snippet.text);
        check_valid(&snippet.place, &space);
    }
}

#[test]
fn every_dataset_snippet_is_valid() {
    let snippets = snippets("jsonl");
    assert!(snippets.len() >= 2, "the documents have snippets");
    for snippet in snippets {
        let suite = "name: snippet\ndataset: dataset.jsonl\ngraders: {any: {kind: tool, function: contains}}\n";
        let space = Space::new(&[("suite.yaml", suite), ("dataset.jsonl", &snippet.text)]);
        check_valid(&snippet.place, &space);
    }
}

#[test]
fn every_command_line_parses() {
    let mut seen = 0;
    for snippet in snippets("sh").into_iter().chain(snippets("console")) {
        for line in snippet.text.lines() {
            let line = line.trim_start_matches("$ ");
            let line = line.replace("cargo run --release -- ", "evalrs ");
            let commands = line.split(" #").next().unwrap().split(['|', ';', '&']).map(str::trim);
            for command in commands.filter(|command| command.starts_with("evalrs ")) {
                let parsed = Cli::try_parse_from(command.split_whitespace());
                assert!(parsed.is_ok(), "{}: `{command}`: {:?}", snippet.place, parsed.err());
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "the documents have command lines");
}

/// Languages of graders, and how the files of graders in them end.
const GRADERS: [(&str, &str); 4] =
    [("python", "py"), ("bash", "sh"), ("typescript", "ts"), ("javascript", "mjs")];

#[cfg(unix)]
#[test]
fn every_grader_snippet_grades() {
    use std::os::unix::fs::PermissionsExt;
    let record = r#"{"input": "q", "output": "hello World", "hint": "world"}"#;
    for (language, ending) in GRADERS {
        let runtime = if matches!(ending, "ts" | "mjs") { "node" } else { "python3" };
        if !has(runtime) {
            continue;
        }
        let graders: Vec<Snippet> =
            snippets(language).into_iter().filter(|snippet| snippet.info == "grader").collect();
        assert!(!graders.is_empty(), "the documents have graders in {language}");
        for Snippet { place, text, .. } in graders {
            let space = Space::new(&[("records.jsonl", record)]);
            let file = format!("grader.{ending}");
            space.write(&file, &text);
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(space.path(&file), executable).unwrap();
            let ran = space.run(&["grade", "records.jsonl", "--grader", &file]);
            let graded: serde_json::Value = serde_json::from_str(&ran.stdout())
                .unwrap_or_else(|_| panic!("{place}: {}", ran.stderr()));
            assert_eq!(graded["score"]["pass"], true, "{place}");
        }
    }
}

#[cfg(unix)]
#[test]
fn every_comparison_snippet_ranks() {
    let result = |output: &str, score: f64| {
        serde_json::json!({
            "id": "a", "input": "q", "output": output, "trajectory": [], "toolErrors": false,
            "timing": {"start": 0, "end": 1, "total": 1}, "score": {"pass": true, "score": score},
        })
        .to_string()
    };
    for (language, ending, runtime) in [("python", "py", "python3"), ("javascript", "mjs", "node")]
    {
        let all = snippets(language).into_iter().filter(|snippet| snippet.info == "comparison");
        let all: Vec<Snippet> = all.collect();
        assert!(!all.is_empty(), "the documents have a comparison grader in {language}");
        for Snippet { place, text, .. } in all.into_iter().filter(|_| has(runtime)) {
            let file = format!("rank.{ending}");
            let files = [("long.jsonl", result("xyz", 0.5)), ("short.jsonl", result("x", 0.75))];
            let space = Space::new(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
            space.write(&file, &text);
            crate::programs::executable(&space, &file);
            let ran = space.run(&[
                "compare",
                "long.jsonl",
                "short.jsonl",
                "-s",
                "custom",
                "-g",
                &file,
                "-f",
                "markdown",
            ]);
            let report = ran.stdout();
            assert!(report.contains("| long vs short | 0 | 1 | 0 |"), "{place}: {}", ran.stderr());
        }
    }
}

#[test]
fn every_function_snippet_grades() {
    if !has("python3") {
        return;
    }
    let record = r#"{"input": "q", "output": "hello", "hint": "hello"}"#;
    let all = snippets("python").into_iter().filter(|snippet| snippet.info == "function");
    let all: Vec<Snippet> = all.collect();
    assert!(!all.is_empty(), "the documents have a function");
    for Snippet { place, text, .. } in all {
        let space = Space::new(&[("records.jsonl", record), ("rules.py", &text)]);
        let name = text.strip_prefix("def ").and_then(|rest| rest.split('(').next()).unwrap();
        let ran = space.run(&["grade", "records.jsonl", "--grader", &format!("rules.py:{name}")]);
        let graded: serde_json::Value = serde_json::from_str(&ran.stdout())
            .unwrap_or_else(|_| panic!("{place}: {}", ran.stderr()));
        assert_eq!(graded["score"]["pass"], true, "{place}");
    }
}

/// What stands in the row of [`every_snippet_that_sees_the_row_grades`].
const SEEN_ROW: &str =
    r#"{"id": "a", "input": "q", "output": "It is 5.00.", "order": {"id": 7, "total": 5}}"#;

#[test]
fn every_snippet_that_sees_the_row_grades() {
    for (language, runtime, ending) in [("python", "python3", "py"), ("javascript", "node", "mjs")]
    {
        let all = snippets(language).into_iter().filter(|snippet| snippet.info == "row");
        let all: Vec<Snippet> = all.collect();
        assert!(!all.is_empty(), "the documents have one in {language}");
        for Snippet { place, text, .. } in all.into_iter().filter(|_| has(runtime)) {
            let name = text.strip_prefix("def ").and_then(|rest| rest.split('(').next());
            let function = name.map(|name| format!(":{name}")).unwrap_or_default();
            let path = format!("g.{ending}{function}");
            let suite = format!(
                "name: s\ndataset: rows.jsonl\ngraders:\n  g: {{kind: program, path: '{path}', sees: all}}\n"
            );
            let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", SEEN_ROW)]);
            space.write(&format!("g.{ending}"), &text);
            let ran = space.run(&["run", "suite.yaml"]);
            assert_eq!(ran.code(), 0, "{place}: {}", ran.shown());
            assert!(space.record("results.jsonl").contains("\"pass\":true"), "{place}");
        }
    }
}

#[test]
fn every_variable_of_a_provider_is_documented() {
    let page = read("docs/configuration.md");
    let text = &page[page.find("## Environment").unwrap()..];
    for info in infos() {
        let variables = info.key_variables.iter();
        for variable in variables.chain([&info.base_url_variable, &info.headers_variable]) {
            assert!(
                text.contains(&format!("`{variable}`")),
                "{variable} in a table of the environment"
            );
        }
    }
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let readme = read("README.md");
    let section = &readme[readme.find("## Install").unwrap()..];
    let command = section.lines().find(|line| line.starts_with("cargo test")).unwrap();
    let command = command.split(" #").next().unwrap().trim();
    let ci = read(".ci/check");
    assert!(ci.lines().any(|line| line.trim_end().ends_with(command)), "`{command}` in .ci/check");
}

/// The crates of the workspace, the root left out.
fn crate_names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_code_map_names_every_crate() {
    let map = read("ARCHITECTURE.md");
    assert!(map.lines().count() < 200, "ARCHITECTURE.md is to be read in one sitting");
    let mut missing = crate_names();
    missing.retain(|name| !map.contains(&format!("`{name}`")));
    assert_eq!(missing, Vec::<String>::new(), "crates that the code map leaves out");
}

/// The first page of a crate says what it owns and what it must not know.
#[test]
fn every_crate_begins_with_a_page() {
    let is_ours = |name: &String| name.starts_with("evalrs-") && !name.starts_with("evalrs-test-");
    let mut short = Vec::new();
    for name in crate_names().into_iter().filter(is_ours) {
        let text = read(&format!("crates/{name}/src/lib.rs"));
        let page: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if page.len() < 10 || !page.iter().any(|line| line.contains("know")) {
            short.push(name);
        }
    }
    assert_eq!(short, Vec::<String>::new(), "crates without a page on what they are");
}

/// The ways through the code that ARCHITECTURE.md follows: each step is a function that is there, and is named in a file of a step
/// before it.
#[test]
fn the_ways_through_the_code_are_those_of_the_code() {
    const MOST_STEPS: usize = 40;
    let page = read("ARCHITECTURE.md");
    let ways: Vec<&str> =
        page.split("\n## ").filter(|part| part.starts_with("The way of")).collect();
    assert_eq!(ways.len(), 3, "of a sample, of an action and of an edit");
    let step = regex::Regex::new(r"`([\w./-]+\.rs)`((?: (?:→ )?`\w+`)+)").unwrap();
    let name = regex::Regex::new(r"`(\w+)`").unwrap();
    for way in ways {
        let title = way.lines().next().unwrap();
        let mut before = String::new();
        let mut steps = 0;
        for found in step.captures_iter(way) {
            let file = &found[1];
            let text = read(file);
            for function in name.captures_iter(&found[2]) {
                let function = &function[1];
                steps += 1;
                assert!(
                    text.contains(&format!("fn {function}")),
                    "{title}: `{function}` in {file}"
                );
                let is_named = before.is_empty()
                    || before.contains(function)
                    || text.matches(function).count() > 1;
                assert!(is_named, "{title}: nothing before {file} names `{function}`");
            }
            before.push_str(&text);
        }
        assert!((10..=MOST_STEPS).contains(&steps), "{title}: {steps} steps");
    }
}

/// Pages for contributors name files and folders; those are there.
#[test]
fn the_paths_that_guides_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = std::fs::read_dir(root.join("docs/design")).unwrap();
    let mut guides: Vec<_> = design.map(|entry| entry.unwrap().path()).collect();
    guides.extend(["AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root.join(name)));
    let path = regex::Regex::new(
        r"`((?:src|tests|docs|benches|crates|\.ci)(?:/[\w.-]+)*)`|\]\(([^):#]+)\)",
    )
    .unwrap();
    let mut missing = Vec::new();
    for guide in guides {
        let text = std::fs::read_to_string(&guide).unwrap();
        for found in path.captures_iter(&text) {
            let from_root = found.get(1).map(|path| root.join(path.as_str()));
            let from_guide = || guide.parent().unwrap().join(&found[2]);
            if !from_root.unwrap_or_else(from_guide).exists() {
                missing.push(format!("{}: {}", guide.display(), &found[0]));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}
