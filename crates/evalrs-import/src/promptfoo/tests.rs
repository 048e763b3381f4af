//! Texts of configurations and results, and the suites that become of them.

use serde_json::{Value, json};

use super::import;
use crate::imported::{ImportError, ImportedSource};
use crate::source::ImportSource;
use evalrs_system::memory::MemorySystem;

fn imported_from(path: &str, files: &[(&str, &str)]) -> Result<ImportedSource, ImportError> {
    let system = MemorySystem::with(files);
    import(&ImportSource::new(path, &system))
}

fn imported(config: &str) -> ImportedSource {
    imported_from("c.yaml", &[("c.yaml", config)]).unwrap()
}

/// What did not map: places, what and why.
fn left_out(imported: &ImportedSource) -> Vec<String> {
    let line = |left_out: &crate::imported::NotMapped| {
        format!("{} {}: {}", left_out.place, left_out.what, left_out.reason)
    };
    imported.not_mapped.iter().map(line).collect()
}

/// A configuration whose only test asserts this.
fn with_assertion(assertion: &str) -> String {
    format!(
        "prompts: ['Say {{{{word}}}}']\nproviders: [echo]\ntests:\n  - vars: {{word: hi, context: c}}\n    assert:\n      - {assertion}\n"
    )
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table is as long as what it lists")]
fn assertions_are_graders() {
    let tool = |function: &str, more: Value| {
        let mut settings = json!({"kind": "tool", "function": function});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    let of_row = |name: &str, config: Value| json!({"config": config, "ground_truth": format!("row.assert.{name}")});
    for (assertion, name, settings, wanted) in [
        (
            "{type: equals, value: 'Say {{word}}'}",
            "equals",
            tool(
                "string_match",
                of_row("equals", json!({"case_sensitive": true, "normalize_whitespace": false})),
            ),
            json!("Say hi"),
        ),
        (
            "{type: equals, value: {a: 1}}",
            "equals",
            tool("json_match", of_row("equals", json!({"whole": true}))),
            json!({"a": 1}),
        ),
        (
            "{type: contains, value: 5}",
            "contains",
            tool("contains_any", of_row("contains", json!({"case_sensitive": true}))),
            json!(["5"]),
        ),
        (
            "{type: icontains-any, value: 'a, b'}",
            "icontains-any",
            tool("contains_any", of_row("icontains-any", json!({"case_sensitive": false}))),
            json!(["a", "b"]),
        ),
        (
            "{type: contains-all, value: [a, '{{word}}']}",
            "contains-all",
            tool("contains_all", of_row("contains-all", json!({"case_sensitive": true}))),
            json!(["a", "hi"]),
        ),
        (
            "{type: starts-with, value: Say}",
            "starts-with",
            tool("starts_with", of_row("starts-with", json!({"case_sensitive": true}))),
            json!("Say"),
        ),
        (
            "{type: regex, value: '^\\d+$'}",
            "regex",
            tool("regex_match", json!({"ground_truth": "row.assert.regex"})),
            json!("(?a)^\\d+\\Z"),
        ),
        (
            "{type: is-json}",
            "is-json",
            tool("is_json", json!({"config": {"whole": true}})),
            Value::Null,
        ),
        (
            "{type: is-json, value: 'type: object'}",
            "is-json",
            tool("json_schema", json!({"config": {"schema": {"type": "object"}, "whole": true}})),
            Value::Null,
        ),
        (
            "{type: word-count, value: {max: 80}}",
            "word-count",
            tool("length", json!({"config": {"unit": "words", "max": 80}})),
            Value::Null,
        ),
        (
            "{type: latency, threshold: 2000}",
            "latency",
            tool("max_latency", json!({"config": {"max_ms": 2000.0}})),
            Value::Null,
        ),
        (
            "{type: cost, threshold: 0.01}",
            "cost",
            tool("max_cost", json!({"config": {"max_usd": 0.01}})),
            Value::Null,
        ),
        (
            "{type: similar, value: hello, threshold: 0.9}",
            "similar",
            json!({"kind": "similarity", "ground_truth": "row.assert.similar", "model": "text-embedding-3-large", "pass_threshold": 0.9}),
            json!("hello"),
        ),
        (
            "{type: 'trajectory:tool-used', value: {name: search, min: 2}}",
            "trajectory-tool-used",
            tool("tool_called", json!({"config": {"name": "search", "min": 2}})),
            Value::Null,
        ),
    ] {
        let imported = imported(&with_assertion(assertion));
        assert_eq!(left_out(&imported), Vec::<String>::new(), "{assertion}");
        let suite = &imported.suites[0];
        assert_eq!(suite.suite["graders"], json!({ name: settings }), "{assertion}");
        assert_eq!(
            suite.rows[0]["assert"].get(name).cloned().unwrap_or_default(),
            wanted,
            "{assertion}"
        );
        assert_eq!(suite.rows[0]["graders"], json!([name]), "{assertion}");
    }
}

#[test]
fn every_form_with_not_is_negated() {
    for kind in [
        "equals",
        "contains",
        "icontains",
        "contains-any",
        "contains-all",
        "starts-with",
        "regex",
        "is-json",
    ] {
        let imported = imported(&with_assertion(&format!(
            "{{type: not-{kind}, value: '{{\"type\": \"object\"}}'}}"
        )));
        let grader = &imported.suites[0].suite["graders"][format!("not-{kind}")];
        if kind.ends_with("any") || kind.ends_with("all") {
            continue; // Quotes in a text are refused.
        }
        assert_eq!(grader["not"], json!(true), "{kind}: {:?}", left_out(&imported));
    }
    let similar = imported(&with_assertion("{type: not-similar, value: x, threshold: 0.75}"));
    assert_eq!(similar.suites[0].suite["graders"]["not-similar"]["pass_threshold"], json!(0.25));
}

#[test]
fn judged_assertions_are_rubrics() {
    for (assertion, judge, threshold) in [
        ("{type: llm-rubric, value: Is it kind?}", Value::Null, 1.0),
        (
            "{type: llm-rubric, value: x, threshold: 0.6, provider: 'openai:chat:gpt-5-mini'}",
            json!("gpt-5-mini"),
            0.6,
        ),
        ("{type: factuality, value: x}", Value::Null, 1.0),
        ("{type: model-graded-closedqa, value: x}", Value::Null, 1.0),
        ("{type: g-eval, value: x}", Value::Null, 0.7),
        ("{type: answer-relevance, threshold: 0.8}", Value::Null, 0.8),
        ("{type: context-faithfulness, threshold: 0.9}", Value::Null, 0.9),
    ] {
        let imported = imported(&with_assertion(assertion));
        assert_eq!(left_out(&imported), Vec::<String>::new(), "{assertion}");
        let graders = imported.suites[0].suite["graders"].as_object().unwrap();
        let grader = graders.values().next().unwrap();
        assert_eq!(
            (&grader["kind"], &grader["pass_threshold"]),
            (&json!("rubric"), &json!(threshold))
        );
        assert_eq!(grader["model"], judge, "{assertion}");
    }
    let own = imported(&with_assertion(
        "{type: llm-rubric, value: kind, rubricPrompt: 'Rate {{output}} by {{rubric}} for {{word}}'}",
    ));
    let prompt = &own.suites[0].suite["graders"]["llm-rubric"]["prompt"];
    assert_eq!(prompt, "Rate {submission} by {row.assert.llm-rubric} for {row.vars.word}");
    let other =
        imported(&with_assertion("{type: llm-rubric, value: kind, provider: 'azure:deployment'}"));
    assert_eq!(
        left_out(&other),
        [
            "c.yaml:6 the judge `azure:deployment`: it cannot be called as a judge: set `model`, `base_url` and `api_key_env` of the grader"
        ]
    );
}

#[test]
fn components_of_a_rubric_are_criteria() {
    let imported = imported(&with_assertion(
        "{type: llm-rubric, rubricComponents: true, threshold: 0.5, value: {components: [{metric: Accuracy, value: Right?, weight: 9}, {metric: pass, value: Short?}, {value: Kind?}]}}",
    ));
    assert_eq!(left_out(&imported), Vec::<String>::new());
    let grader = &imported.suites[0].suite["graders"]["llm-rubric"];
    assert_eq!((&grader["batching"], &grader["pass_threshold"]), (&json!("together"), &json!(0.5)));
    let criteria = grader["criteria"].as_object().unwrap();
    let shown: Vec<(&str, &Value)> =
        criteria.iter().map(|(name, one)| (name.as_str(), &one["weight"])).collect();
    let weights = [json!(9.0), json!(1.0)];
    let expected =
        [("accuracy", &weights[0]), ("criterion_pass", &weights[1]), ("kind", &weights[1])];
    assert_eq!(shown, expected);
    assert!(criteria["kind"]["question"].as_str().unwrap().contains("Kind?"));
    for (value, why) in [
        ("{components: []}", "has no `components`"),
        ("Be kind", "has no `components`"),
        ("{components: [{metric: a}]}", "component 1 has no text as `value`"),
        ("{components: [{value: A?, weight: 0}]}", "component 1 has no weight above 0"),
    ] {
        let text = format!("{{type: llm-rubric, rubricComponents: true, value: {value}}}");
        let said = left_out(&self::imported(&with_assertion(&text)));
        assert!(said.iter().any(|said| said.contains(why)), "{value}: {said:?}");
    }
}

#[test]
fn what_has_no_counterpart_is_named() {
    for (assertion, why) in [
        (
            "{type: is-refusal}",
            "c.yaml:6 `is-refusal`: promptfoo compares with a list of phrases of its own",
        ),
        ("{type: moderation}", "c.yaml:6 `moderation`: it calls a moderation API"),
        ("{type: nonsense}", "c.yaml:6 `nonsense`: promptfoo has no such type either"),
        ("{value: x}", "c.yaml:6 ``: it has no `type`"),
        ("contains", "c.yaml:6 an assertion: it is text, not a mapping with a `type`"),
        ("{type: latency}", "c.yaml:6 `latency`: it has no `threshold`"),
        ("{type: contains}", "c.yaml:6 `contains`: its `value` is not a text"),
        (
            "{type: contains, value: '{{ word | reverse }}'}",
            "c.yaml:6 `contains`: the filter `reverse` in a template",
        ),
        (
            "{type: contains, value: 'file://gone.txt'}",
            "c.yaml:6 `contains`: cannot read `file://gone.txt`: no such file",
        ),
        (
            "{type: python, value: 'file://gone.py'}",
            "c.yaml:6 `python`: cannot read `gone.py`: no such file",
        ),
        (
            "{type: javascript, value: 'file://../up.js'}",
            "c.yaml:6 `javascript`: `../up.js` is outside of the configuration's folder",
        ),
        (
            "{type: llm-rubric, value: x, transform: 'output.trim()'}",
            "c.yaml:6 `llm-rubric`: a `transform` of text that a model judges needs an extractor in Python",
        ),
        (
            "{type: contains, value: sk-proj-4fJ29aQ0x8LmZt73vbN1}",
            "c.yaml:6 `contains`: it compares with what looks like a live key, which is left out",
        ),
        (
            "{type: context-recall, value: [a, b]}",
            "c.yaml:6 `context-recall`: its `value` is a list; write an assertion for each",
        ),
    ] {
        let imported = imported(&with_assertion(assertion));
        assert_eq!(left_out(&imported), [why], "{assertion}");
        // What is left runs all the same.
        assert_eq!(imported.suites[0].rows[0]["graders"], json!(["answered"]));
    }
}

#[test]
fn assertions_that_differ_only_in_what_they_look_for_share_a_grader() {
    let config = "\
prompts: [p]
providers: [echo]
defaultTest: {assert: [{type: is-json}]}
tests:
  - assert: [{type: contains, value: a}, {type: contains, value: b}]
  - assert: [{type: contains, value: c}]
  - options: {disableDefaultAsserts: true}
    assert: [{type: contains, value: d, metric: tone}]
";
    let imported = imported(config);
    let suite = &imported.suites[0];
    let names: Vec<&String> = suite.suite["graders"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["is-json", "contains", "contains-2", "contains-3"]);
    assert_eq!(suite.suite["graders"]["contains-3"]["display_name"], "tone");
    let graders: Vec<&Value> = suite.rows.iter().map(|row| &row["graders"]).collect();
    assert_eq!(
        graders,
        [
            &json!(["is-json", "contains", "contains-2"]),
            &json!(["is-json", "contains"]),
            &json!(["contains-3"])
        ]
    );
    // The assertion of all tests is one of the source.
    assert_eq!(imported.mapped["assertions"], 5);
}

#[test]
fn thresholds_sets_and_weights_decide_as_in_promptfoo() {
    let config = "\
prompts: [p]
providers: [echo]
tests:
  - threshold: 0.5
    assert: [{type: contains, value: a, weight: 3}, {type: contains, value: b}]
  - assert:
      - {type: assert-set, threshold: 0.4, assert: [{type: is-json}, {type: equals, value: x}]}
      - {type: assert-set, assert: [{type: starts-with, value: p}]}
      - {type: contains, value: q, weight: 0}
";
    let imported = imported(config);
    let suite = &imported.suites[0].suite;
    assert_eq!(
        suite["graders"]["threshold"],
        json!({"kind": "combine", "combine": "(3 * 'contains' + 1 * 'contains-2') / 4", "pass_threshold": 0.5})
    );
    assert_eq!(
        suite["graders"]["assert-set"],
        json!({"kind": "combine", "combine": "(1 * 'is-json' + 1 * 'equals') / 2", "pass_threshold": 0.4})
    );
    let conditions = suite["gate"]["conditions"].as_array().unwrap();
    let deciding: Vec<&str> =
        conditions.iter().map(|condition| condition["metric_key"].as_str().unwrap()).collect();
    assert_eq!(deciding, ["threshold", "assert-set", "starts-with"]);
}

#[test]
fn variables_prompts_and_scenarios_make_rows() {
    let files = [
        (
            "e/c.yaml",
            "\
prompts: [file://p.txt, '{{a}} only']
providers: [echo]
tests:
  - vars: {a: [x, y], b: file://b.txt}
  - file://more.csv
scenarios:
  - config: [{vars: {a: s1}}, {vars: {a: s2}}]
    tests: [{vars: {b: t}}]
",
        ),
        ("e/p.txt", "one {{a}}\n---\ntwo {{b}}\n"),
        ("e/b.txt", " bee\n"),
        ("e/more.csv", "a,b,__expected,__metadata:kind\nz,\"line\nbreak\",contains: z,k\n"),
    ];
    let imported = imported_from("e/c.yaml", &files).unwrap();
    assert_eq!(left_out(&imported), Vec::<String>::new());
    let rows = &imported.suites[0].rows;
    let inputs: Vec<&str> = rows.iter().map(|row| row["input"].as_str().unwrap()).collect();
    assert_eq!(
        inputs,
        [
            "one x",
            "two bee",
            "x only",
            "one y",
            "two bee",
            "y only",
            "one z",
            "two line\nbreak",
            "z only",
            "one s1",
            "two t",
            "s1 only",
            "one s2",
            "two t",
            "s2 only"
        ]
    );
    assert_eq!(
        (&rows[0]["id"], &rows[4]["id"]),
        (&json!("test-1.prompt-1"), &json!("test-2.prompt-2"))
    );
    assert_eq!(
        (&rows[6]["metadata"], &rows[6]["assert"]),
        (&json!({"kind": "k"}), &json!({"contains": ["z"]}))
    );
}

#[test]
fn results_are_rows_with_what_was_answered_and_said() {
    let result = |output: Value, pass: bool| {
        json!({
            "testIdx": 0, "promptIdx": 0, "success": pass, "score": 0.5, "latencyMs": 12, "cost": 0.25,
            "provider": {"id": "openai:gpt-5-mini", "label": ""}, "prompt": {"raw": "Say hi", "label": "Say {{word}}"},
            "vars": {"word": "hi"}, "response": {"output": output},
            "testCase": {"vars": {"word": "hi"}, "options": {"transform": "output.trim()"}, "assert": [{"type": "contains", "value": "{{word}}"}, {"type": "is-refusal"}]},
            "gradingResult": {"pass": pass, "score": 0.5, "componentResults": [
                {"pass": pass, "score": 1, "reason": "r", "assertion": {"type": "contains"}}, {"pass": false, "score": 0, "reason": "s"}]},
        })
    };
    let whole = json!({"evalId": "e", "config": {"description": "greets"}, "results": {"version": 3, "results": [result(json!("hi"), true), result(json!({"a": 1}), false)]}});
    let lines = format!("{}\n{}\n", result(json!("hi"), true), result(json!({"a": 1}), false));
    for (text, place) in [(whole.to_string(), "r.json"), (lines, "r.json:1")] {
        let imported = imported_from("r.json", &[("r.json", &text)]).unwrap();
        let suite = &imported.suites[0];
        let row = &suite.rows[0];
        assert_eq!(
            (&row["model"], &row["output"], &row["latency_ms"]),
            (&json!("openai:gpt-5-mini"), &json!("hi"), &json!(12))
        );
        assert_eq!(
            row["promptfoo"],
            json!({"pass": true, "score": 0.5, "contains": {"pass": true, "score": 1, "reason": "r"}})
        );
        assert_eq!(row["graders"], json!(["contains", "promptfoo"]));
        assert_eq!(row["assert"], json!({"contains": ["hi"]}));
        assert_eq!(
            (&suite.rows[1]["trial"], &suite.rows[1]["output"]),
            (&json!(1), &json!({"a": 1}))
        );
        assert_eq!(suite.suite["graders"]["promptfoo"]["function"], "recorded_score");
        assert_eq!(imported.mapped["assertions"], 1);
        assert!(
            left_out(&imported)[0].starts_with(&format!("{place} `is-refusal`")),
            "{:?}",
            left_out(&imported)
        );
    }
}

#[test]
fn prompts_of_results_are_numbered_as_they_were_written_whoever_answered_first() {
    // A column is of a provider and a prompt; promptfoo numbers them provider by provider.
    let result = |column: u32, provider: &str, prompt: &str, id: Option<&str>| {
        json!({
            "testIdx": 0, "promptIdx": column, "promptId": id, "success": true, "provider": {"id": provider},
            "prompt": {"raw": prompt, "label": prompt}, "vars": {}, "response": {"output": "hi"}, "testCase": {"vars": {}},
        })
    };
    for id in [|prompt| Some(prompt), |_| Some(""), |_| None] {
        let results = [(3, "b", "two"), (0, "a", "one"), (2, "b", "one"), (1, "a", "two")];
        let results =
            results.map(|(column, provider, prompt)| result(column, provider, prompt, id(prompt)));
        let whole = json!({"evalId": "e", "results": {"results": results}}).to_string();
        let imported = imported_from("r.json", &[("r.json", &whole)]).unwrap();
        let rows = imported.suites[0].rows.iter();
        let rows: Vec<_> =
            rows.map(|row| format!("{} {} {}", row["id"], row["model"], row["trial"])).collect();
        let expected = [
            r#""test-1.prompt-2" "b" null"#,
            r#""test-1" "a" null"#,
            r#""test-1" "b" null"#,
            r#""test-1.prompt-2" "a" null"#,
        ];
        assert_eq!(rows, expected);
    }
}

#[test]
fn broken_and_hostile_configurations_end() {
    let circle = [
        ("c.yaml", "tests: file://a.yaml\nproviders: [echo]\nprompts: [p]"),
        ("a.yaml", "- file://a.yaml\n- vars: {x: 1}\n"),
    ];
    let imported = imported_from("c.yaml", &circle).unwrap();
    assert!(
        left_out(&imported).iter().any(|line| line.contains("more than 16 deep")),
        "{:?}",
        left_out(&imported)
    );
    let lists: Vec<String> = (0..12).map(|at| format!("      v{at}: [a, b, c, d]\n")).collect();
    let many = format!("prompts: [p]\nproviders: [echo]\ntests:\n  - vars:\n{}", lists.concat());
    assert!(left_out(&self::imported(&many))[0].contains("more than 10000 combinations"));
    let growing = "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{vars: {a: '{{b}}{{b}}', b: '{{c}}{{c}}', c: '{{a}}{{a}}'}}]";
    assert_eq!(self::imported(growing).suites[0].rows.len(), 1);
    for wrong in [
        "prompts: 5\nproviders: 7\ntests: 9",
        "prompts: {a: 1}\nproviders: [[], 1, {}]\ntests: [1, null, [], {assert: 5}, {vars: 3}, {assert: [[1]]}]",
        "prompts: [null, {}]\nproviders: {}\ntests: {}\nscenarios: [{config: 1}, 2]\ndefaultTest: 4",
        "prompts: [p]\nproviders: [echo]\ntests: [{options: 1, threshold: x, metadata: [], assert: [{type: 5}, {type: assert-set}]}]",
    ] {
        let imported = self::imported(wrong);
        assert!(imported.suites.len() <= 1, "{wrong}");
    }
    for (path, text) in [
        ("c.yaml", "a: [b"),
        ("c.yaml", "- 1"),
        ("c.yaml", ""),
        ("promptfooconfig.js", "module.exports = {}"),
        ("promptfoo.db", "SQLite format 3"),
        ("r.json", "{\"evalId\": \"x\", \"results\": 5}"),
        ("r.json", "{\"evalId\": \"x\", \"results\": [}"),
    ] {
        assert!(imported_from(path, &[(path, text)]).is_err(), "{path}: {text}");
    }
}
