//! Broken suites, and the files that suites name.

use std::fmt::Write;

use evalrs_system::FileBytes;

use super::case::{Case, SUITE, case};

/// A suite with a rubric grader whose settings are `settings`.
fn rubric(settings: &str) -> String {
    SUITE.replace(
        "gate:",
        &format!("  judged: {{kind: rubric, model: m, base_url: \"http://localhost:1/v1\", {settings}}}\ngate:"),
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = files();
    cases.extend(yaml());
    cases.extend(values());
    cases.extend(names());
    cases.extend(rubrics());
    cases.extend(programs());
    cases
}

fn files() -> Vec<Case> {
    let denied = || FileBytes::Unreadable("Permission denied (os error 13)".to_owned());
    let utf16: Vec<u8> = SUITE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        case("suite missing").without("suite.yaml"),
        case("suite empty").suite(""),
        case("suite of blank lines and a comment").suite("\u{feff}\n  \n# later\n"),
        case("suite is a folder").without("suite.yaml").file("suite.yaml/inner.yaml", SUITE),
        case("suite unreadable").fault("suite.yaml", denied()),
        case("suite of 5 MB").suite(format!("{SUITE}# {}\n", "x".repeat(5 << 20))),
        case("suite with NUL").with("bad", "b\0ad"),
        case("suite with NUL after a secret")
            .suite("name: s\ntarget: {api_key: sk-abcdefghijklmnop, path: \"a\0b\"}\n"),
        case("suite in Latin-1").suite(b"name: caf\xe9\ndataset: data.jsonl\n"),
        case("suite in Latin-1 with a secret").suite(b"name: s\napi_key: hush-hush # caf\xe9\n"),
        case("suite in UTF-16").suite([b"\xff\xfe".as_slice(), &utf16].concat()),
        case("suite in UTF-16 without its mark").suite(utf16.clone()),
        case("dataset missing").without("data.jsonl"),
        case("dataset is a folder").without("data.jsonl").file("data.jsonl/part-1.jsonl", "{}"),
        case("dataset unreadable").fault("data.jsonl", denied()),
        case("extends a missing file").lines("extends: base.yaml\n"),
        case("extends itself in a circle")
            .lines("extends: base.yaml\n")
            .file("base.yaml", "extends: ./suite.yaml\n"),
        case("extends a broken file")
            .lines("extends: base.yaml\n")
            .file("base.yaml", "max_samples: many\nnum_run: 3\n"),
        case("extends a file in Latin-1")
            .lines("extends: base.yaml\n")
            .file("base.yaml", b"description: na\xefve\n"),
    ]
}

fn yaml() -> Vec<Case> {
    let bomb = {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        text
    };
    let deep_block =
        (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<Vec<_>>().concat();
    vec![
        case("YAML alias bomb").lines(&bomb),
        case("YAML merge bomb").lines("a: &a {b: 1}\nc: &c\n  <<: [*a, *a, *a]\n  <<: *c\n"),
        case("YAML 200 lists deep").lines(&format!("x: {}{}\n", "[".repeat(200), "]".repeat(200))),
        case("YAML 200 mappings deep").lines(&deep_block),
        case("YAML indented with a tab").with("  same:", "\tsame:"),
        case("YAML with a tab after the dash").lines("sample_tags:\n-\t- a\n"),
        case("YAML key written twice").lines("dataset: other.jsonl\n"),
        case("YAML grader written twice")
            .with("gate:", "  same: {kind: tool, function: contains}\ngate:"),
        case("YAML never closed").with("op: gte, value: 0.5}", "op: gte, value: 0.5"),
        case("YAML quote never closed").with("name: bad", "name: \"bad"),
        case("YAML with a colon in text").with("name: bad", "name: bad: worse"),
        case("YAML two documents").lines("---\nname: second\n"),
        case("YAML list").suite("- name: s\n- dataset: d.jsonl\n"),
        case("YAML scalar").suite("dataset.jsonl\n"),
        case("YAML is JSON Lines").suite(super::case::DATA),
        case("YAML with a tag of a program").with("bad", "!!python/object:os.system ls"),
        case("YAML indented with a tab below text")
            .suite("name: s\ndataset: data.jsonl\ngraders:\n  same:\n    kind: tool\n\tfunction: contains\n"),
        case("YAML brace never closed before another line")
            .with("function: exact_match}", "function: exact_match"),
        case("YAML bracket never closed").lines("sample_tags: [smoke, \"a ] b\"\nnum_runs: 2\n"),
        case("YAML comma missing").with("kind: tool, ", "kind: tool "),
        case("YAML key deeper than the others").with("graders:", " graders:"),
        case("YAML bad indentation").with("  same:", "  first:\n     kind: tool\n   same:"),
    ]
}

fn values() -> Vec<Case> {
    vec![
        case("wrong types everywhere").suite(
            "name: [s]\ndataset: 5\ntarget: recorded\ngraders: [a, b]\ngate: yes\nmax_samples: -1\nsample_tags: {a: b}\nnum_runs: 1.5\nmax_concurrent: zero\n",
        ),
        case("nothing but a name").suite("name: s\n"),
        case("grader of no kind").with("kind: tool, ", ""),
        case("grader of a type").with("kind: tool, function: exact_match", "type: contains"),
        case("grader of a type of others").with("kind: tool, function: exact_match", "type: llm-rubric"),
        case("grader of an unknown type").with("kind: tool, function: exact_match", "type: magic"),
        case("grader of a kind of others").with("kind: tool, function: exact_match", "kind: llm-rubric"),
        case("grader of a kind that is a function")
            .with("kind: tool, function: exact_match", "kind: exact-match"),
        case("graders are a list")
            .with("  same: {kind: tool, function: exact_match}", "  - {name: same, kind: tool}"),
        case("dataset and graders misspelt")
            .suite("name: s\ndatset: data.jsonl\ngrders:\n  same: {kind: tool, function: exact_match}\n"),
        case("grader is text").with("{kind: tool, function: exact_match}", "exact_match"),
        case("threshold of a percentage beyond 100")
            .with("metric_key: same, op: gte, value: 0.5", "metric_key: same, metric: accuracy, op: gte, value: 150"),
        case("threshold is text").with("value: 0.5", "value: high"),
        case("value is not a number").with("value: 0.5", "value: .inf"),
        case("weights all zero").with(
            "{metric_key: same, op: gte, value: 0.5}",
            "{kind: weighted_average, weights: {same: 0}, op: gte, value: 0.5}",
        ),
        case("logical gate without conditions").with(
            "{metric_key: same, op: gte, value: 0.5}",
            "{kind: logical, operator: and, conditions: []}",
        ),
        case("bad pattern").with(
            "function: exact_match",
            "function: contains, extractor: pattern, extractor_config: {pattern: \"(unclosed\"}",
        ),
        case("bad JSON path").with(
            "function: exact_match",
            "function: contains, extractor: json_path, extractor_config: {path: \"$..[\"}",
        ),
        case("bad ground truth pattern")
            .with("function: exact_match", "function: exact_match, ground_truth_pattern: \"[a\""),
        case("variable that is not set").with("bad", "\"${NOT_SET_ANYWHERE}\""),
        case("target of a kind that cannot run").lines("target: {kind: letta_code, agent_id: a}\n"),
        case("target format misspelt").lines("target: {kind: recorded, format: opnai_chat}\n"),
        case("dataset of an unknown format").with("data.jsonl", "data.xlsx"),
    ]
}

fn names() -> Vec<Case> {
    vec![
        case("suite's fields misspelt").suite(
            "nmae: s\ndatset: data.jsonl\ngraders:\n  same: {kind: tol, fucntion: exact_match}\n",
        ),
        case("field of one letter").lines("x: 1\n"),
        case("function misspelt").with("exact_match", "exact_mach"),
        case("function of one letter").with("exact_match", "e"),
        case("extractor misspelt")
            .with("function: exact_match", "function: exact_match, extractor: last_asistant"),
        case("option misspelt")
            .with("function: exact_match", "function: numeric, config: {tolerence: 1}"),
        case("command line names an unknown grader").grader("sane"),
        case("gate of an unknown grader").with("metric_key: same", "metric_key: sane"),
        case("gate of a metric that is none").with("op: gte", "metric: avg_scor, op: gte"),
        case("gate of a metric over trials").with("op: gte", "metric: pass_at_k, op: gte"),
        case("graders misspelt").with("graders:", "graderz:"),
        case("a JSONPath that is nested deep").with(
            "function: exact_match",
            &format!(
                "function: exact_match, extractor: json_path, extractor_config: {{path: \"$[?{}@.a{}]\"}}",
                "(".repeat(5_000),
                ")".repeat(5_000)
            ),
        ),
        case("gate of an unknown operator").with("op: gte", "op: \">>\""),
        case("weights of an unknown grader").with(
            "{metric_key: same, op: gte, value: 0.5}",
            "{kind: weighted_average, weights: {same: 1, other: 1}, op: gte, value: 0.5}",
        ),
        case("a line of 5,000 characters")
            .lines(&format!("sample_tags: [{}5, b]\n", "a, ".repeat(1_600))),
    ]
}

fn programs() -> Vec<Case> {
    let grader = |settings: &str| SUITE.replace("kind: tool, function: exact_match", settings);
    let section = |text: &str| SUITE.replace("gate:", &format!("{text}\ngate:"));
    vec![
        case("program under another name").suite(grader("kind: program, script: grade.py")),
        case("program with its interpreter").suite(grader("kind: program, path: node grade.js")),
        case("program with a value in its environment")
            .suite(grader("kind: program, path: grade.sh, env: [API_TOKEN=hush-hush]")),
        case("program with limits that are none").suite(grader(
            "kind: program, path: grade.sh, timeout: 0, sandbox: {kind: auto, memory: 12}",
        )),
        case("function of a Python file without its name")
            .suite(grader("kind: tool, function: grade.py")),
        case("reward of a misspelt grader").suite(section("reward: 0.5*same + 0.5*smae")),
        case("reward of no expression").suite(section("reward: 0.5*same if same > 0.5")),
        case("reward beside a grader of that name")
            .suite(section("  reward: {kind: tool, function: contains}\nreward: same")),
    ]
}

fn rubrics() -> Vec<Case> {
    let denied = FileBytes::Unreadable("Permission denied (os error 13)".to_owned());
    let from_file = || rubric("prompt_path: rubric.txt");
    vec![
        case("rubric file missing").suite(from_file()),
        case("rubric file is a folder").suite(from_file()).file("rubric.txt/a.txt", "x"),
        case("rubric file unreadable").suite(from_file()).fault("rubric.txt", denied),
        case("rubric file empty").suite(from_file()).file("rubric.txt", " \n"),
        case("rubric file in Latin-1").suite(from_file()).file("rubric.txt", b"Is it\nna\xefve?\n"),
        case("rubric file with NUL").suite(from_file()).file("rubric.txt", "Judge\0"),
        case("rubric file of 5 MB").suite(from_file()).file("rubric.txt", "x".repeat(5 << 20)),
        case("rubric twice").suite(rubric("prompt: Judge., prompt_path: rubric.txt")),
        case("rubric nowhere").suite(rubric("temperature: 0")),
        case("rubric of an unknown provider").suite(rubric("prompt: Judge., provider: opneai")),
        case("rubric settings out of range")
            .suite(rubric("prompt: Judge., temperature: 3, timeout: 0, votes: 0, max_retries: -1")),
        case("rubric with a key in it")
            .suite(rubric("prompt: Judge., api_key: my-very-secret, headers: {Authorization: Bearer my-very-secret}")),
        case("rubric with headers that are none")
            .suite(rubric("prompt: Judge., headers: {\"a b\": c, Host: d, X-E: \"\\x07\"}")),
        case("rubric with limits out of range")
            .suite(rubric("prompt: Judge., deadline: 0, max_requests_per_minute: 0, response_format: yaml, confirm_fails: -1, combine: max")),
        case("panel of nobody").suite(rubric("prompt: Judge., panel: []")),
        case("panel of one judge twice")
            .suite(rubric("prompt: Judge., panel: [{model: a}, {temperature: 0, model: a}]")),
        case("panel with misspelt and foreign fields")
            .suite(rubric("prompt: Judge., panel: [{modle: a}, {model: b, votes: 2}, c]")),
        case("comparison with a scale").suite(rubric("prompt: Judge., compare_to: old, scale: {min: 1, max: 5}")),
        case("comparison that shows one submission")
            .suite(rubric("prompt: \"Is {submission_a} better?\", compare_to: old")),
        case("comparison with nothing").suite(rubric("prompt: Judge., compare_to: {}")),
        case("front matter never closed").suite(from_file()).file("rubric.txt", "---\nJudge it.\n"),
        case("front matter that is a rule").suite(from_file()).file("rubric.txt", "---\nJudge it.\n---\n"),
        case("front matter that is no YAML").suite(from_file()).file("rubric.txt", "---\na: b: c\n---\n"),
        case("front matter with unknown and wrong fields")
            .suite(from_file())
            .file("rubric.txt", "---\nmodle: m\nscale: 5\npass_threshold: 2\ninclude: {a: b}\n---\nJudge.\n"),
        case("include of a missing file").suite(from_file()).file("rubric.txt", "---\ninclude: a.txt\n---\nJudge.\n"),
        case("include of a binary file")
            .suite(from_file())
            .file("rubric.txt", "---\ninclude: a.bin\n---\nJudge.\n")
            .file("a.bin", b"\x00\xff\xfe"),
        case("include in a circle")
            .suite(from_file())
            .file("rubric.txt", "---\ninclude: a.txt\n---\nJudge.\n")
            .file("a.txt", "---\ninclude: ./rubric.txt\n---\n"),
        case("rubric of rows with settings")
            .suite(rubric("prompt: Judge."))
            .file("own.txt", "---\nmodel: m\nscale: {min: 1, max: 5}\n---\nJudge.\n")
            .file("leads.txt", "---\ninclude: ../secret.txt\n---\nJudge.\n")
            .file(
                "data.jsonl",
                "{\"input\": \"a\", \"output\": \"b\", \"ground_truth\": \"b\", \"rubric_path\": \"own.txt\"}\n{\"input\": \"c\", \"output\": \"d\", \"ground_truth\": \"b\", \"rubric_path\": \"own.txt\"}\n{\"input\": \"e\", \"output\": \"f\", \"ground_truth\": \"b\", \"rubric_path\": \"leads.txt\"}\n",
            ),
        case("rubric variables missing from rows")
            .suite(rubric("prompt: \"Follow {policy}.\", rubric_vars: [policy, tone]"))
            .file(
                "data.jsonl",
                "{\"input\": \"a\", \"output\": \"b\", \"rubric_vars\": {\"policy\": \"p\", \"tone\": \"t\"}}\n{\"input\": \"c\", \"output\": \"d\", \"rubric_vars\": {\"policy\": \"p\"}}\n{\"input\": \"e\", \"output\": \"f\"}\n",
            ),
    ]
}
