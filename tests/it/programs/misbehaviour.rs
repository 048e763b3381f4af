//! Programs that do what they should not: each costs its own grades and nothing else, and leaves nothing behind.
#![expect(
    clippy::disallowed_methods,
    reason = "tests look at processes and at every file of their folder"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::sandboxes::has_sandbox;
use super::{executable, results, run};
use crate::judge::PATIENCE;
use crate::space::{Ran, Running, Space, has};

/// One record to misbehave at and one to grade.
const ROWS: &str = r#"{"id":"a","input":"q","output":"bad"}
{"id":"b","input":"q","output":"good"}
"#;

fn suite(graders: &str) -> String {
    format!("name: s\ndataset: rows.jsonl\ngraders:\n{graders}")
}

/// A shell program that does `what` at the bad record.
fn script(what: &str) -> String {
    format!(
        "#!/bin/sh\nif ! grep -q bad; then echo '{{\"pass\":true,\"score\":1}}'; exit 0; fi\n{what}\n"
    )
}

const PASSES: &str = r#"echo '{"pass":true,"score":1}'"#;

/// A space with these executables, and a grader of each of the same name; settings stand behind a name.
fn space(programs: &[(&str, &str, &str)]) -> Space {
    let grader = |(name, settings, _): &(&str, &str, &str)| {
        format!("  {name}: {{kind: program, path: {name}.sh{settings}}}\n")
    };
    let graders: String = programs.iter().map(grader).collect();
    let space = Space::new(&[("suite.yaml", &suite(&graders)), ("rows.jsonl", ROWS)]);
    for (name, _, what) in programs {
        let file = format!("{name}.sh");
        space.write(&file, script(what));
        executable(&space, &file);
    }
    space
}

/// What became of the bad record, a line a grader; the good one must have passed everywhere.
#[track_caller]
fn told(space: &Space) -> String {
    let results = results(space);
    for (name, grade) in results[1]["grades"].as_object().unwrap() {
        assert_eq!((&grade["score"], &grade["error"]), (&Value::from(1.0), &Value::Null), "{name}");
    }
    let mut told = Vec::new();
    for (name, grade) in results[0]["grades"].as_object().unwrap() {
        let error = &grade["error"];
        let what = match error["kind"].as_str() {
            Some(kind) => format!("{kind}: {}", error["message"].as_str().unwrap()),
            None => format!("{} {}", grade["score"], grade["pass"]),
        };
        let stderr = &grade["metadata"]["stderr"];
        let first = stderr.as_str().and_then(|text| text.lines().next());
        let said = first.map_or(String::new(), |line| format!(" <{line}>"));
        told.push(format!("{name}: {what}{said}"));
    }
    told.join("\n")
}

/// Whether a process is there and not dead.
fn is_alive(id: &str) -> bool {
    let said = Command::new("ps").args(["-o", "stat=", "-p", id.trim()]).output().unwrap();
    let state = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[track_caller]
fn wait_dead(space: &Space, path: &str) {
    let id = space.read(path);
    let since = Instant::now();
    while is_alive(&id) {
        assert!(since.elapsed() < PATIENCE, "{path}: process {id} is still there");
        std::thread::yield_now();
    }
}

/// Waits until processes have written themselves down.
#[track_caller]
fn wait_written(space: &Space, running: &mut Running, names: &[&str]) {
    let since = Instant::now();
    // A file is there before its text is.
    let is_written = |name: &&str| {
        std::fs::read_to_string(space.path(&format!("{name}.pid"))).is_ok_and(|id| !id.is_empty())
    };
    while !names.iter().all(is_written) {
        assert!(since.elapsed() < PATIENCE && !running.has_ended(), "{:?}", space.names(""));
        std::thread::yield_now();
    }
}

#[test]
fn executables_that_misbehave_cost_their_own_grades() {
    if !has("sh") {
        return;
    }
    let space = space(&[
        ("computes", ", timeout: 1.5", "while :; do :; done"),
        ("sleeps", ", timeout: 1.5", "echo wait >&2; sleep 1000"),
        ("floods", "", "yes | head -c 1000000000"),
        ("floods_stderr", "", &format!("yes | head -c 100000000 >&2; {PASSES}")),
        ("closes", "", &format!("exec <&-; {PASSES}")),
        ("logs", "", &format!("echo loading; {PASSES}")),
        ("no_text", "", r#"printf '{"pass":true,"score":1,"reasoning":"\377"}'"#),
        ("silent", "", "exit 0"),
        ("guesses", "", r#"echo '{"pass":"yes","score":"1"}'"#),
        ("exits", "", "echo 'no such file' >&2; exit 3"),
        ("crashes", "", "echo dying >&2; kill -SEGV $$"),
        ("killed", "", "kill -KILL $$"),
    ]);
    run(&space, &[], 3);
    insta::assert_snapshot!(told(&space), @r#"
    computes: timeout: no result within 1.5 s
    sleeps: timeout: no result within 1.5 s <wait>
    floods: output_limit: Grader printed more than 16 MB
    floods_stderr: 1.0 true
    closes: 1.0 true
    logs: invalid_reply: Grader output is not valid JSON: loading
    {"pass":true,"score":1} (write logs to standard error)
    no_text: invalid_reply: Grader output is not valid JSON: {"pass":true,"score":1,"reasoning":"�"}
    silent: invalid_reply: Grader produced no output
    guesses: invalid_reply: Invalid grader result: `pass` must be true or false, found a string
    exits: exit: Grader exited with code 3: no such file <no such file>
    crashes: killed: Grader was ended by signal 11 (SIGSEGV) <dying>
    killed: killed: Grader was ended by signal 9 (SIGKILL)
    "#);
    // What would come again is kept; what may have been the machine's is called again.
    run(&space, &[], 3);
    let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    let asked: BTreeMap<&String, &Value> = run["actions"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, tally)| tally["asked"] != 0)
        .map(|(name, tally)| (name, &tally["asked"]))
        .collect();
    insta::assert_snapshot!(format!("{asked:?}"), @r#"{"computes": Number(1), "crashes": Number(1), "killed": Number(1), "sleeps": Number(1)}"#);
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    if !has("sh") {
        return;
    }
    let space = space(&[
        ("leaves", "", &format!("sleep 1000 & echo $! > leaves.pid; {PASSES}")),
        (
            "detaches",
            "",
            &format!(
                "(sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > detaches.pid) & wait; {PASSES}"
            ),
        ),
        ("fails", "", "sleep 1000 & echo $! > fails.pid; exit 4"),
        ("hangs", ", timeout: 1.5", "sleep 1000 & echo $! > hangs.pid; wait"),
    ]);
    run(&space, &[], 3);
    insta::assert_snapshot!(told(&space), @r"
    leaves: 1.0 true
    detaches: 1.0 true
    fails: exit: Grader exited with code 4: No error output
    hangs: timeout: no result within 1.5 s
    ");
    for name in ["leaves", "detaches", "fails", "hangs"] {
        wait_dead(&space, &format!("{name}.pid"));
    }
}

/// A shell script that leaves a process in a session of its own, which no process started that is still there.
#[cfg(target_os = "linux")]
fn daemon(name: &str) -> String {
    let inner = format!("echo $$ > {name}.pid; exec sleep 1000");
    format!(
        "env -i setsid sh -c '(sh -c \"{}\" </dev/null >/dev/null 2>&1 &)'; while [ ! -s {name}.pid ]; do :; done",
        inner.replace("$$", "\\$\\$")
    )
}

#[cfg(target_os = "linux")]
#[test]
fn what_left_the_session_of_a_program_ends_with_it() {
    if !has("python3") || !has("setsid") {
        return;
    }
    let space = space(&[
        ("passes", "", &format!("{}; {PASSES}", daemon("passes"))),
        ("fails", "", &format!("{}; exit 4", daemon("fails"))),
        ("dies", "", &format!("{}; kill -SEGV $$", daemon("dies"))),
        ("hangs", ", timeout: 1.5", &format!("{}; sleep 1000", daemon("hangs"))),
        ("ignores", ", timeout: 1.5", &format!("trap '' TERM; {}; sleep 1000", daemon("ignores"))),
    ]);
    let function = format!(
        "import subprocess\ndef f(sample, submission):\n    if submission == 'bad':\n        subprocess.run(['sh', '-c', {:?}])\n    return 1.0\n",
        daemon("works")
    );
    space.write("f.py", function);
    let suite = space.read("suite.yaml") + "  works: {kind: tool, function: 'f.py:f'}\n";
    space.write("suite.yaml", suite);
    run(&space, &[], 3);
    insta::assert_snapshot!(told(&space), @r"
    passes: 1.0 true
    fails: exit: Grader exited with code 4: No error output
    dies: killed: Grader was ended by signal 11 (SIGSEGV)
    hangs: timeout: no result within 1.5 s
    ignores: timeout: no result within 1.5 s
    works: 1.0 true
    ");
    for name in ["passes", "fails", "dies", "hangs", "ignores", "works"] {
        wait_dead(&space, &format!("{name}.pid"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_left_the_session_of_agents_hooks_and_judges_ends_with_them() {
    if !has("setsid") {
        return;
    }
    let suite = "name: s\ndataset: asked.jsonl\ntarget:\n  kind: command\n  command: [sh, agent.sh]\n  setup_each: [sh, setup.sh]\n\
                 graders:\n  j: {kind: rubric, prompt: '{submission}', command: [sh, judge.sh]}\n";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("asked.jsonl", "{\"id\":\"a\",\"input\":\"q\"}\n"),
        ("agent.sh", &format!("{}; echo hello", daemon("agent"))),
        ("setup.sh", &daemon("setup")),
        ("judge.sh", &format!("{}; echo '{{\"score\":1,\"rationale\":\"r\"}}'", daemon("judge"))),
    ]);
    run(&space, &[], 0);
    for name in ["agent", "setup", "judge"] {
        wait_dead(&space, &format!("{name}.pid"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_left_its_session_ends_with_evalrs_too() {
    if !has("setsid") {
        return;
    }
    for signal in ["-INT", "-KILL"] {
        let space = space(&[("hangs", "", &format!("{}; sleep 1000", daemon("hangs")))]);
        let mut running = Running::new(space.command(&["run", "suite.yaml", "--quiet"]));
        wait_written(&space, &mut running, &["hangs"]);
        if signal == "-INT" {
            running.interrupt();
            assert_eq!(running.finish().code(), 130);
        } else {
            running.kill();
        }
        wait_dead(&space, "hangs.pid");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_cannot_be_started_says_so() {
    // It is for another kind of machine.
    let space = Space::new(&[
        ("suite.yaml", &suite("  a: {kind: program, path: a.bin}\n")),
        ("rows.jsonl", ROWS),
    ]);
    space.write("a.bin", b"\x7fELF\0nothing");
    executable(&space, "a.bin");
    run(&space, &[], 3);
    let error = &results(&space)[0]["grades"]["a"]["error"];
    assert_eq!(error["kind"], "unloadable");
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"`a.bin` cannot be started: it is neither a script nor a program for this kind of machine");
}

#[test]
fn a_sandbox_keeps_programs_from_writing() {
    if !has_sandbox() {
        return;
    }
    let sandbox = ", sandbox: bubblewrap";
    let space = space(&[
        ("beside", sandbox, &format!("(echo x > written.txt) 2>/dev/null || exit 5; {PASSES}")),
        ("above", sandbox, &format!("(echo x > /var/written.txt) 2>/dev/null || exit 5; {PASSES}")),
        (
            "own_tmp",
            sandbox,
            &format!("echo x > /tmp/$$.own && cat /tmp/$$.own >&2 || exit 5; {PASSES}"),
        ),
        ("itself", sandbox, &format!("(echo '# more' >> \"$0\") 2>/dev/null || exit 5; {PASSES}")),
        ("in_bounds", "", &format!("(echo x > written.txt) 2>/dev/null || exit 5; {PASSES}")),
    ]);
    space.write(
        "suite.yaml",
        space.read("suite.yaml")
            + "  function: {kind: tool, function: 'f.py:f', sandbox: bubblewrap}\n  module: {kind: program, path: m.mjs, sandbox: bubblewrap}\n",
    );
    space.write("f.py", "def f(sample, submission):\n    if submission == 'bad':\n        open('function.txt', 'w')\n    return 1\n");
    space.write("m.mjs", "import { writeFileSync } from 'node:fs'\nexport const grade = ({ output }) => {\n  if (output === 'bad') writeFileSync('module.txt', 'x')\n  return { pass: true, score: 1 }\n}\n");
    if !has("python3") || !has("node") {
        return;
    }
    let itself = space.read("itself.sh");
    run(&space, &[], 3);
    let told = told(&space).replace(&space.path("").display().to_string(), "");
    insta::assert_snapshot!(told, @r"
    beside: exit: Grader exited with code 5: No error output
    above: exit: Grader exited with code 5: No error output
    own_tmp: 1.0 true
    itself: exit: Grader exited with code 5: No error output
    in_bounds: 1.0 true
    function: unloadable: OSError: [Errno 30] Read-only file system: 'function.txt' (f.py:3) <Traceback (most recent call last):>
    module: unloadable: EROFS: read-only file system, open 'module.txt' (m.mjs:3:25) <EROFS: read-only file system, open 'module.txt'>
    ");
    assert_eq!(space.read("itself.sh"), itself);
    assert_eq!(["function.txt", "module.txt"].map(|path| space.path(path).exists()), [false; 2]);
}

/// What functions do for the first row.
const FUNCTIONS: &[(&str, &str)] = &[
    ("dies", "print('last words', file=sys.stderr, flush=True); os._exit(7)"),
    ("crashes", "os.kill(os.getpid(), 9)"),
    ("hangs", "time.sleep(1000)"),
    ("computes", "exec('while True: pass')"),
    ("exits", "sys.exit(3)"),
    (
        "prints",
        r#"print('{"id":0,"result":{"score":0}}'); os.write(1, b'\xff\n'); os.system('echo from a shell')"#,
    ),
    ("interrupts", "raise KeyboardInterrupt()"),
];

/// What modules do for the first row.
const MODULES: &[(&str, &str)] = &[
    ("dies", "process.kill(process.pid, 'SIGKILL')"),
    ("hangs", "await new Promise(() => {})"),
    ("computes", "for (;;) {}"),
    ("exits", "console.error('last words'); process.exit(3)"),
    (
        "prints",
        r#"console.log('{"id":0,"result":{"pass":false,"score":0}}'); process.stdout.write(new Uint8Array([255, 10]))"#,
    ),
    ("throws", "throw new Error('no such thing')"),
    ("later", "setTimeout(() => { throw new Error('too late') }); await new Promise(() => {})"),
    ("nothing", "return"),
];

#[test]
fn functions_and_modules_that_misbehave_cost_their_own_grades() {
    if !has("python3") || !has("node") {
        return;
    }
    let mut graders = String::new();
    let space = Space::new(&[(
        "rows.jsonl",
        &format!("{ROWS}{}", r#"{"id":"c","input":"q","output":"good too"}"#),
    )]);
    let mut python = "import os\nimport sys\nimport time\n".to_owned();
    for (name, what) in FUNCTIONS {
        python.push_str(&format!("\n\ndef {name}(sample, submission):\n    if submission == 'bad':\n        {what}\n    return 1\n"));
        graders.push_str(&format!(
            "  py_{name}: {{kind: tool, function: 'f.py:{name}', timeout: 3}}\n"
        ));
    }
    space.write("f.py", python);
    for (name, what) in MODULES {
        let text = format!(
            "export const grade = async ({{ output }}) => {{\n  if (output === 'bad') {{ {what} }}\n  return {{ pass: true, score: 1 }}\n}}\n"
        );
        space.write(&format!("{name}.mjs"), text);
        graders
            .push_str(&format!("  js_{name}: {{kind: program, path: {name}.mjs, timeout: 3}}\n"));
    }
    space.write("suite.yaml", suite(&graders));
    run(&space, &[], 3);
    insta::assert_snapshot!(told(&space), @r"
    py_dies: killed: Grader exited with code 7 <last words>
    py_crashes: killed: Grader was ended by signal 9 (SIGKILL)
    py_hangs: timeout: no result within 3 s
    py_computes: timeout: no result within 3 s
    py_exits: exception: SystemExit: 3 (f.py:32) <Traceback (most recent call last):>
    py_prints: 1.0 true
    py_interrupts: unloadable: KeyboardInterrupt (f.py:44) <Traceback (most recent call last):>
    js_dies: killed: Grader was ended by signal 9 (SIGKILL)
    js_hangs: timeout: no result within 3 s
    js_computes: timeout: no result within 3 s
    js_exits: exception: process.exit(3) was called (exits.mjs:2:64) <process.exit(3) was called>
    js_prints: 1.0 true
    js_throws: exception: no such thing (throws.mjs:2:33) <no such thing>
    js_later: exception: too late (later.mjs:2:52) <too late>
    js_nothing: exception: TypeError: the function returned undefined <TypeError: the function returned undefined>
    ");
    let passed = results(&space)[2]["grades"]
        .as_object()
        .unwrap()
        .values()
        .filter(|grade| grade["score"] == 1.0)
        .count();
    assert_eq!(passed, FUNCTIONS.len() + MODULES.len(), "what comes after it is graded too");
}

const SECRET: &str = "tok-0123456789abcdef\"quoted";

fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn a_secret_that_a_program_tells_is_kept_nowhere() {
    if !has("python3") || !has("node") {
        return;
    }
    let env = "env: [MY_TOKEN]";
    let space = Space::new(&[
        (
            "suite.yaml",
            &suite(&format!(
                "  shell: {{kind: program, path: g.sh, {env}}}\n  function: {{kind: tool, function: 'g.py:g', {env}}}\n  module: {{kind: program, path: g.mjs, {env}}}\n  extracted: {{kind: tool, function: contains, extractor: 'g.py:part', extractor_options: {{{env}}}}}\n"
            )),
        ),
        (
            "rows.jsonl",
            r#"{"id":"a","input":"q","ground_truth":"x","output":"bad","trajectory":[{"type":"message","content":"bad"}]}
{"id":"b","input":"q","ground_truth":"x","output":"good","trajectory":[{"type":"message","content":"good"}]}
"#,
        ),
        (
            "g.sh",
            "#!/bin/sh\necho \"I know $MY_TOKEN\" >&2\nif grep -q bad; then echo \"$MY_TOKEN\"; exit 3; fi\nprintf '{\"pass\":true,\"score\":1,\"reasoning\":\"%s\"}' tok-0123456789abcdef'\\\"'quoted\n",
        ),
        (
            "g.py",
            "import os\nimport sys\n\n\ndef g(sample, submission):\n    token = os.environ['MY_TOKEN']\n    print(token)\n    print(token, file=sys.stderr)\n    if submission == 'bad':\n        raise ValueError('not with ' + token)\n    return {'score': 1, 'rationale': token, 'metadata': {token: [token]}}\n\n\ndef part(trajectory, config):\n    return os.environ['MY_TOKEN']\n",
        ),
        (
            "g.mjs",
            "export const grade = ({ output }) => {\n  const token = process.env.MY_TOKEN\n  console.log(token)\n  console.error(token)\n  if (output === 'bad') throw new Error(token)\n  return { pass: true, score: 1, reasoning: token, outcome: { [token]: token } }\n}\n",
        ),
    ]);
    executable(&space, "g.sh");
    for args in [
        &["run", "suite.yaml", "-vv"][..],
        &["run", "suite.yaml", "--retry-errors", "--json"],
        &["explain", "suite.yaml", "a", "function"],
        &["cache", "export", "suite.yaml"],
    ] {
        let mut command = space.command(args);
        let ran = Ran(command.env("MY_TOKEN", SECRET).output().unwrap());
        assert!(!ran.shown().contains("tok-0123456789"), "{args:?}: {}", ran.shown());
    }
    let results = space.record("results.jsonl");
    assert!(results.matches("[secret]").count() >= 6, "{results}");
    let mut found = Vec::new();
    files(&space.path(""), &mut found);
    assert!(found.len() > 8, "{}", found.len());
    for (path, bytes) in found {
        let text = String::from_utf8_lossy(&bytes);
        // The shell script has it written out, since it has to escape it.
        assert!(path.ends_with("g.sh") || !text.contains("tok-0123456789"), "{path}: {text}");
    }
}

/// Each grader writes its process down at the bad record and waits there as long as there is `wait`. What answers within
/// a millisecond may wait for company: so none does.
const WAITING: [(&str, &str); 3] = [
    (
        "f.py",
        "\
import os
import time


def begin(submission, name):
    time.sleep(0.01)
    if submission == 'bad':
        open(name, 'w').write(str(os.getpid()))


def waits(sample, submission):
    begin(submission, 'python.pid')
    while submission == 'bad' and os.path.exists('wait'):
        time.sleep(0.05)
    return 1


def computes(sample, submission):
    begin(submission, 'busy.pid')
    while submission == 'bad' and os.path.exists('wait'):
        pass
    return 1
",
    ),
    (
        "m.mjs",
        "\
import { existsSync, writeFileSync } from 'node:fs'
const wait = (time) => new Promise((done) => setTimeout(done, time))
export const grade = async ({ output }) => {
  await wait(10)
  if (output === 'bad') writeFileSync('module.pid', `${process.pid}`)
  while (output === 'bad' && existsSync('wait')) await wait(50)
  return { pass: true, score: 1 }
}
",
    ),
    ("wait", ""),
];

#[test]
fn a_kill_leaves_no_worker_behind_and_costs_nothing_that_was_graded() {
    if !has("python3") || !has("node") {
        return;
    }
    let graders = "  python: {kind: tool, function: 'f.py:waits'}\n  busy: {kind: tool, function: 'f.py:computes'}\n  module: {kind: program, path: m.mjs}\n";
    let space = Space::new(&WAITING);
    space.write("suite.yaml", suite(graders));
    let good = (0..4)
        .map(|at| format!("{{\"id\":\"good {at}\",\"input\":\"q\",\"output\":\"good {at}\"}}\n"));
    let rows: String = good.chain([ROWS.lines().next().unwrap().to_owned()]).collect();
    space.write("rows.jsonl", rows);
    let names = ["python", "busy", "module"];
    let mut running = Running::new(space.command(&["run", "suite.yaml", "--quiet"]));
    wait_written(&space, &mut running, &names);
    let since = Instant::now();
    // Three that are listed by what they load, and twelve grades.
    while space.stored_lines().len() < 15 {
        assert!(since.elapsed() < PATIENCE && !running.has_ended(), "{:?}", space.names(""));
        std::thread::yield_now();
    }
    running.kill();
    for name in names {
        wait_dead(&space, &format!("{name}.pid"));
    }
    std::fs::remove_file(space.path("wait")).unwrap();
    run(&space, &[], 0);
    assert_eq!(names.map(|name| space.actions(name)), [[1, 4, 0, 0]; 3]);
}

/// Never give their only thread back, one of the modules while it is loaded, the others at the first record. A process
/// that they started would outlive them.
const NEVER_BACK: [(&str, &str); 4] = [
    (
        "hangs.sh",
        // Not before it is known that it was started.
        "#!/bin/sh\nsleep 1000 &\nsleep 1\necho $! >child.pid\necho $$ >hangs.pid\nwhile :; do :; done\n",
    ),
    (
        "function.py",
        "\
import os
import subprocess


def f(sample, submission):
    child = subprocess.Popen(['sleep', '1000'])
    open('child.pid', 'w').write(str(child.pid))
    open('function.pid', 'w').write(str(os.getpid()))
    while True:
        pass
",
    ),
    (
        "called.mjs",
        "\
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
export const grade = () => {
  writeFileSync('child.pid', `${spawn('sleep', ['1000'], { stdio: 'ignore' }).pid}`)
  writeFileSync('called.pid', `${process.pid}`)
  for (;;) {}
}
",
    ),
    (
        "loaded.mjs",
        "\
import { writeFileSync } from 'node:fs'
writeFileSync('loaded.pid', `${process.pid}`)
for (;;) {}
",
    ),
];

#[test]
fn a_kill_ends_what_never_comes_back() {
    if !has("node") || !has("python3") || !has("sh") {
        return;
    }
    for (grader, names) in [
        ("kind: program, path: hangs.sh", &["hangs", "child"][..]),
        ("kind: tool, function: 'function.py:f'", &["function", "child"]),
        ("kind: program, path: called.mjs, runtime: node", &["called", "child"]),
        ("kind: program, path: loaded.mjs, runtime: node", &["loaded"]),
    ] {
        let space = Space::new(&NEVER_BACK);
        executable(&space, "hangs.sh");
        space.write("suite.yaml", suite(&format!("  g: {{{grader}}}\n")));
        space.write("rows.jsonl", ROWS);
        let mut running = Running::new(space.command(&["run", "suite.yaml", "--quiet"]));
        wait_written(&space, &mut running, names);
        running.kill();
        for name in names {
            wait_dead(&space, &format!("{name}.pid"));
        }
    }
}

/// Fast, but for one call that waits until a later one was made.
const WAITS_FOR_ANOTHER: &str = "\
import os
import time


def f(sample, submission):
    if submission.endswith('goes'):
        open('gone', 'w').close()
    until = time.monotonic() + 20
    while submission.endswith('waits') and not os.path.exists('gone'):
        assert time.monotonic() < until
        time.sleep(0.01)
    return 1
";

#[test]
fn one_call_that_waits_does_not_keep_all_others_waiting() {
    let has_two = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !has("python3") || !has_two {
        return;
    }
    let said = |at| match at {
        9 => "waits",
        599 => "goes",
        _ => "",
    };
    let row = |at| format!("{{\"id\":\"{at}\",\"input\":\"q\",\"output\":\"a {}\"}}\n", said(at));
    let rows: String = (0..600).map(row).collect();
    let space = Space::new(&[
        ("suite.yaml", &suite("  g: {kind: tool, function: 'f.py:f'}\n")),
        ("rows.jsonl", &rows),
        ("f.py", WAITS_FOR_ANOTHER),
    ]);
    run(&space, &[], 0);
}

#[test]
fn two_that_run_at_once_end_with_the_same() {
    if !has("python3") || !has("sh") {
        return;
    }
    let rows: String = (0..40)
        .map(|at| {
            format!("{{\"id\":\"{at}\",\"input\":\"q\",\"output\":\"{}\"}}\n", "x".repeat(at + 1))
        })
        .collect();
    let space = Space::new(&[
        (
            "suite.yaml",
            &suite(
                "  shell: {kind: program, path: g.sh}\n  function: {kind: tool, function: 'f.py:f'}\n",
            ),
        ),
        ("rows.jsonl", &rows),
        ("g.sh", "#!/bin/sh\necho \"{\\\"pass\\\":true,\\\"score\\\":0.$(wc -c | tr -d ' ')}\"\n"),
        (
            "f.py",
            "import helper\n\n\ndef f(sample, submission):\n    return helper.share(submission)\n",
        ),
        ("helper.py", "def share(text):\n    return len(text) / 100\n"),
    ]);
    executable(&space, "g.sh");
    let started = [(); 2].map(|()| Running::new(space.command(&["run", "suite.yaml", "--quiet"])));
    for running in started {
        let ran = running.finish();
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    let runs = space.names(".evalrs/runs");
    assert_eq!(runs.len(), 2, "{runs:?}");
    let of = |run: &String| space.read(&format!(".evalrs/runs/{run}/results.jsonl"));
    assert_eq!(of(&runs[0]), of(&runs[1]));
    run(&space, &[], 0);
    assert_eq!(["shell", "function"].map(|name| space.actions(name)), [[0, 40, 0, 0]; 2]);
    assert_eq!(space.record("results.jsonl"), of(&runs[0]));
    assert_eq!(space.run(&["cache", "verify"]).code(), 0);
}
