//! Targets of suites, and what they know of samples.

use super::{Memory, read, rendered, suite};
use evalrs_eval::target::handed::{HandedInput, IdUse, KnownOfSample};
use evalrs_model::spec::{LiveTarget, TargetSpec};

/// A suite with this target.
fn text(target: &str) -> String {
    format!(
        "name: s\ndataset: d.jsonl\ntarget: {{{target}}}\ngraders: {{a: {{kind: tool, function: contains}}}}\n"
    )
}

fn target(fields: &str) -> LiveTarget {
    match suite(&text(fields)).target {
        TargetSpec::Live(target) => *target,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_target_knows_what_its_requests_hold() {
    let http = "kind: http, url: 'http://h/x";
    let chat = "kind: chat, model: m, base_url: 'http://h'";
    let tools = "tools: [{name: f}], tool_program: [sh, -c, x]";
    for (text, handed, id) in [
        ("kind: command, command: [sh]".to_owned(), "all", IdUse::Told),
        ("kind: command, command: [sh], sees: [id]".to_owned(), "all", IdUse::InKeys),
        ("kind: function, path: 'a.py:f'".to_owned(), "all", IdUse::Told),
        ("kind: function, path: 'a.py:f', sees: id".to_owned(), "all", IdUse::InKeys),
        ("kind: headless, adapter: codex".to_owned(), "turns", IdUse::Untold),
        ("kind: letta_agent, agent_id: a".to_owned(), "turns", IdUse::Untold),
        ("kind: letta_agent, agent_script: 'a.py:f'".to_owned(), "all", IdUse::Told),
        ("kind: letta_agent, agent_script: 'a.py:f', sees: [id]".to_owned(), "all", IdUse::InKeys),
        (
            "kind: letta_code, workspace: true, model_handles: [m]".to_owned(),
            "turns",
            IdUse::Untold,
        ),
        (chat.to_owned(), "turns", IdUse::Untold),
        (format!("{chat}, {tools}"), "turns", IdUse::Told),
        (format!("{chat}, {tools}, sees: [id]"), "turns", IdUse::InKeys),
        (format!("{http}'"), "all", IdUse::Told),
        (format!("{http}/{{id}}'"), "all", IdUse::InKeys),
        (format!("{http}', sees: [id]"), "all", IdUse::InKeys),
        (format!("{http}/{{input}}', method: GET"), "input", IdUse::Untold),
        (format!("{http}/{{id}}', method: GET"), "", IdUse::InKeys),
        (format!("{http}', body: {{q: '{{input}}'}}"), "input", IdUse::Untold),
        (format!("{http}', body: {{q: [a, '<{{id}}>']}}"), "", IdUse::InKeys),
        (
            format!("{http}', headers: {{x: '{{id}}', y: {{env: ID}}}}, body: {{}}"),
            "",
            IdUse::InKeys,
        ),
        (
            format!(
                "{http}/{{model}}', body: {{q: '{{metadata.a.b}} {{extra_vars[0]}}', t: '{{trial}}', id: 1}}"
            ),
            "extra_vars[0] metadata.a.b",
            IdUse::Untold,
        ),
        (
            format!("{http}', session: $.s, body: {{q: '{{input}}', s: '{{session}}'}}"),
            "turns",
            IdUse::Untold,
        ),
        (format!("{http}', session: $.s"), "all", IdUse::Told),
    ] {
        let known = KnownOfSample::of(&target(&text));
        let told = match known.handed {
            HandedInput::All => "all".to_owned(),
            HandedInput::Only(paths) => paths.join(" "),
        };
        assert_eq!((told.as_str(), known.id), (handed, id), "{text}");
    }
}

#[test]
fn a_target_sees_an_id_or_nothing() {
    let problems =
        |target: &str| rendered(&read(&Memory::new(&[("suite.yaml", text(target).as_str())])));
    insta::assert_snapshot!(problems("kind: command, command: [sh], sees: [id, row]"), @r"
    error: `sees` of a target names the `id` alone, not `row`
     --> suite.yaml:3:46
      |
    3 | target: {kind: command, command: [sh], sees: [id, row]}
      |                                              ^^^^^^^^^
      |
      = help: its other inputs are in its key anyway: write `sees: [id]`
    ");
    let told_no_id = problems("kind: headless, adapter: codex, sees: [id]");
    assert!(told_no_id.contains("a headless target has no field `sees`"), "{told_no_id}");
}

#[test]
fn a_template_is_an_input_that_is_known_as_one() {
    for (written, template) in [
        ("shop", "shop"),
        ("./shop//old/", "shop/old"),
        ("../shop/.", "../shop"),
        ("/srv/shop/", "/srv/shop"),
    ] {
        let fields = format!(
            "kind: command, command: [sh], inputs: [a], workspace: {{template: {written}}}"
        );
        let program = target(&fields).program;
        let mut inputs = vec!["a".to_owned(), template.to_owned()];
        inputs.sort();
        assert_eq!((program.inputs, program.template.as_deref()), (inputs, Some(template)));
    }
    assert_eq!(target("kind: command, command: [sh], workspace: true").program.template, None);
}
