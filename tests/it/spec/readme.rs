//! The README as a reader follows it: every command of the page runs in its order, offline, in a clone.
//!
//! Blocks of `console` show what their commands print; `UPDATE_SPECS=1` writes that into the page. Ids of runs and times may differ. Each
//! command in a table imports a source, and runs in a folder of its own.

use std::process::Command;

use super::output::{changes, masked};
use crate::space::{Ran, Running, Space, has, lines};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

/// What a test cannot run: it would build the binary that it tests.
const NOT_RUN: [&str; 2] = ["cargo test", "cargo install --locked --path ."];

/// Where the judge of the example listens. A test takes another port, which is free.
const PORT: &str = "8099";

/// As wide as a page of GitHub shows code.
const COLUMNS: &str = "96";

/// A command of the page.
struct PageCommand {
    /// Its line, counted from 0.
    line: usize,
    text: String,
    place: PagePlace,
}

/// Where a command is.
enum PagePlace {
    /// In a block of `sh`, without output.
    Script,
    /// In a cell of a table.
    Cell,
    /// In a block of `console`, with the lines below it.
    Console(Vec<String>),
}

fn page() -> String {
    std::fs::read_to_string(PAGE).unwrap()
}

/// The blocks of a language, each with the number of its first line.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<(usize, Vec<&'p str>)> {
    let fence = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if !line.starts_with("```") {
            continue;
        }
        let body: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        if line == fence {
            found.push((at + 1, body));
        }
    }
    found
}

/// All commands, in the order of the page.
fn commands(page: &str) -> Vec<PageCommand> {
    let mut found = Vec::new();
    for (start, body) in blocks(page, "sh") {
        for (at, line) in body.iter().enumerate() {
            let text = line.split(" #").next().unwrap().trim().to_owned();
            found.push(PageCommand { line: start + at, text, place: PagePlace::Script });
        }
    }
    for (start, body) in blocks(page, "console") {
        for (at, line) in body.iter().enumerate() {
            let Some(text) = line.strip_prefix("$ ") else { continue };
            let below = body[at + 1..].iter().take_while(|line| !line.starts_with("$ "));
            let place = PagePlace::Console(below.map(|line| (*line).to_owned()).collect());
            found.push(PageCommand { line: start + at, text: text.to_owned(), place });
        }
    }
    for (at, line) in page.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        let cells = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("evalrs "));
        found.extend(cells.map(|text| PageCommand {
            line: at,
            text: text.to_owned(),
            place: PagePlace::Cell,
        }));
    }
    found.sort_by_key(|command| command.line);
    found
}

fn shell(space: &Space, line: &str) -> Ran {
    space.shell(&format!("export COLUMNS={COLUMNS}; {line}"), None)
}

/// A clone, whose judge listens at this port.
fn clone(port: &str) -> Space {
    let space = crate::examples::clone();
    for name in ["suite.yaml", "judge.py"] {
        let path = format!("examples/rubric/{name}");
        space.write(&path, space.read(&path).replace(PORT, port));
    }
    let commit = "git init -q; git add -A; git -c user.name=a -c user.email=a@b.c commit -qm clone";
    assert_eq!(shell(&space, commit).shown(), "exit: 0\n--- stdout\n--- stderr\n");
    space
}

/// What other tools wrote, under the names that the page gives them.
fn sources() -> Space {
    let config = "prompts: ['Say {{word}}']\nproviders: [echo]\ntests: [{vars: {word: a}, assert: [{type: contains, value: a}]}]\n";
    let log = r#"{"version": 2, "status": "success", "eval": {"task": "t", "task_id": "t", "model": "m"}}"#;
    let sample = r#"{"id": "a", "epoch": 1, "input": "q", "target": "yes", "output": {"completion": "yes"}, "scores": {"match": {"value": "C"}}, "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "yes"}]}"#;
    let run = r#"{"testRunData": {"testCases": [{"name": "a", "input": "q", "actualOutput": "one", "success": true, "metricsData": [{"name": "Toxicity", "threshold": 0.5, "success": true, "score": 0.25, "reason": "r"}]}], "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "testFailed": 0}}"#;
    let eval = r#"{"object": "eval", "name": "support", "testing_criteria": [{"type": "string_check", "name": "same", "input": "{{ sample.output_text }}", "operation": "eq", "reference": "{{ item.label }}"}]}"#;
    let item = r#"{"object": "eval.run.output_item", "id": "o", "datasource_item_id": 1, "datasource_item": {"label": "x"}, "results": [{"name": "same", "passed": true, "score": 1.0}], "sample": {"input": [{"role": "user", "content": "q"}], "output": [{"role": "assistant", "content": "x"}], "model": "m"}}"#;
    let suite = "name: s\ndataset: rows.jsonl\ntarget: {kind: letta_agent, agent_id: agent-1}\ngraders: {says: {kind: tool, function: contains, extractor: last_assistant}}\n";
    let space = Space::new(&[
        ("promptfooconfig.yaml", config),
        ("log/header.json", log),
        ("log/samples/a_epoch_1.json", sample),
        (".deepeval/.latest_run_full.json", run),
        ("openai/eval.json", eval),
        ("openai/items.jsonl", item),
        ("suite.yaml", suite),
        ("rows.jsonl", r#"{"input": "q", "ground_truth": "a"}"#),
    ]);
    let pack = "mkdir logs; cd log; python3 -m zipfile -c ../logs/task.eval header.json samples";
    assert_eq!(shell(&space, pack).code(), 0);
    space
}

/// A source is imported, and the suites that come of it are valid.
fn check_import(command: &str) {
    let space = sources();
    for line in [command, "evalrs validate evals"] {
        let ran = shell(&space, line);
        assert_eq!(ran.code(), 0, "{command}: {line}: {}", ran.shown());
    }
}

/// The commands of the page in a clone, and the page with what they print.
struct Reader {
    space: Space,
    port: String,
    /// What runs behind.
    behind: Vec<Running>,
    page: Vec<String>,
    /// How many lines more the page has by now.
    longer: isize,
    differ: Vec<String>,
}

impl Reader {
    fn follow(&mut self, command: &PageCommand) {
        let text = command.text.replace("cargo run --release -- ", "evalrs ");
        let printed = match text.strip_suffix(" &") {
            Some(text) => self.start(text),
            None => self.run(command.line, &text),
        };
        if let PagePlace::Console(expected) = &command.place {
            self.compare(command, expected, &printed.replace(&self.port, PORT));
        }
    }

    fn run(&self, line: usize, text: &str) -> String {
        // A session ends where a line says so; commands that read nothing do not see it.
        let ran = shell(&self.space, &format!("echo q | {text}"));
        assert_eq!(ran.code(), 0, "README.md:{}: {text}: {}", line + 1, ran.shown());
        ran.stdout()
    }

    /// Starts a server, which prints a line when it can be called.
    fn start(&mut self, text: &str) -> String {
        let mut words = text.split(' ');
        let mut server = Command::new(words.next().unwrap());
        server
            .args(words)
            .current_dir(self.space.path(""))
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        let mut server = Running::new(server);
        let printed = server.read_line();
        self.behind.push(server);
        printed
    }

    fn compare(&mut self, command: &PageCommand, expected: &[String], found: &str) {
        let [shown, printed] =
            [lines(expected), found.to_owned()].map(|text| masked(&text, &self.space));
        if shown == printed {
            return;
        }
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        let place = format!("README.md:{}: $ {}", command.line + 1, command.text);
        self.differ.push(format!("{place}\n{}", changes(&shown, &printed)));
        let start = command.line.strict_add_signed(self.longer) + 1;
        let printed: Vec<String> = found.lines().map(|line| line.trim_end().to_owned()).collect();
        self.longer += printed.len().cast_signed() - expected.len().cast_signed();
        self.page.splice(start..start + expected.len(), printed);
    }
}

#[test]
fn every_command_of_the_readme_runs_in_its_order_and_prints_what_it_shows() {
    if !has("git") || !has("python3") {
        return;
    }
    let text = page();
    let page = text.lines().map(str::to_owned).collect();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = free.port().to_string();
    let space = clone(&port);
    let mut reader =
        Reader { space, port, behind: Vec::new(), page, longer: 0, differ: Vec::new() };
    let mut not_run = Vec::new();
    for command in commands(&text) {
        match command.place {
            _ if NOT_RUN.contains(&command.text.as_str()) => not_run.push(command.text),
            PagePlace::Cell => check_import(&command.text),
            PagePlace::Script | PagePlace::Console(_) => reader.follow(&command),
        }
    }
    assert_eq!(not_run, NOT_RUN);
    if std::env::var_os("UPDATE_SPECS").is_some() {
        std::fs::write(PAGE, lines(&reader.page)).unwrap();
        return;
    }
    assert!(reader.differ.is_empty(), "\n{}", reader.differ.join("\n"));
    let left = shell(&reader.space, "git status --porcelain").stdout();
    assert_eq!(left, "", "what the commands of the README leave in a clone");
}

#[test]
fn the_suite_of_the_readme_is_the_one_that_it_runs() {
    let space = crate::examples::clone();
    let file = space.read("examples/rubric/suite.yaml");
    let suite: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(blocks(&page(), "yaml")[0].1, suite);
    assert_eq!(suite.len(), 6, "a suite of six lines");
}

#[test]
fn what_the_readme_installs_with_is_on_the_page_of_installing() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let installing = std::fs::read_to_string(root.join("docs/install.md")).unwrap();
    let page = page();
    for command in commands(&page).iter().filter(|one| one.text.contains(" install ")) {
        assert!(installing.contains(&command.text), "`{}` in docs/install.md", command.text);
    }
}
