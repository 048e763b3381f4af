//! What agents change in their workspaces is told whatever they do to git, and git does nothing for them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::space::{Space, has, jsonl};

/// An agent that does what it is asked for, by a shell.
const AGENT: &str = r#"
import json, subprocess, sys
asked = json.load(sys.stdin)
done = subprocess.run(["sh", "-ec", asked["input"]], capture_output=True, text=True)
print(json.dumps({"output": "%s%s %s" % (done.returncode, done.stderr, asked["input"])}))
"#;

const SUITE: &str = "
name: changes
dataset: data.jsonl
target:
  kind: command
  command: [python3, agent.py]
  workspace: {template: shop, git: true, keep: never}
graders:
  done: {kind: tool, function: exact_match}
";

/// What evalrs alone may see.
const KEY: &str = "sk-evalrs-own-4fJ29aQ0x8LmZt73";

/// Runs an agent for each script, all of which must succeed, and gives what it is told to have changed in each.
fn changes(space: &Space, scripts: &[&str]) -> Vec<String> {
    let row = |(at, script): (usize, &&str)| json!({"id": format!("{at:02}"), "input": script, "ground_truth": format!("0 {script}")});
    space.write("data.jsonl", jsonl(scripts.iter().enumerate().map(row)));
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.env("OPENAI_API_KEY", KEY).env("HOME", space.path("home"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", space.record("results.jsonl"));
    let mut found = BTreeMap::new();
    for line in space.stored_lines() {
        let entry: Value = serde_json::from_str(&line).unwrap();
        let text = entry["v"]["outcome"]["reply"]["text"].as_str().unwrap_or("null");
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let output = answer["output"].as_str().unwrap_or_default();
        let diff = answer["workspace_diff"].as_str().unwrap_or_default();
        found.insert(output.to_owned(), diff.to_owned());
    }
    scripts.iter().map(|script| found[&format!("0 {script}")].clone()).collect()
}

fn space() -> Option<Space> {
    (has("python3") && has("git")).then(|| {
        Space::new(&[
            ("suite.yaml", SUITE),
            ("agent.py", AGENT),
            ("shop/a", "old\n"),
            ("shop/sub/b", "old\n"),
            ("home/empty", ""),
        ])
    })
}

#[test]
fn git_runs_nothing_for_an_agent() {
    let Some(space) = space() else { return };
    let steal = "env > $HOME/stolen";
    let scripts = [
        &format!("git config core.fsmonitor 'sh -c \"{steal}\" #'; echo new > a"),
        &format!(
            "git config filter.x.clean 'sh -c \"{steal}; cat\"'; echo '* filter=x' > .gitattributes; echo new > a"
        ),
        &format!(
            "git config filter.x.clean 'sh -c \"{steal}; cat\"'; echo '* filter=x' >> .git/info/attributes; echo new > a"
        ),
        &format!(
            "git config diff.external 'sh -c \"{steal}\" #'; git config diff.x.textconv 'sh -c \"{steal}\" #'; echo '* diff=x' > .gitattributes; echo new > a"
        ),
        &format!(
            "for hook in pre-commit post-index-change; do printf '#!/bin/sh\\n{steal}\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done; echo new > a"
        ),
        // The repository beside the workspace, where the agent looks for it.
        &format!(
            "git config -f $PWD.git/git/config core.fsmonitor 'sh -c \"{steal}\" #'; git config -f $PWD.git/git/config filter.x.clean 'sh -c \"{steal}; cat\"'; echo '* filter=x' > $PWD.git/git/info/attributes; mkdir $PWD.git/git/hooks; printf '#!/bin/sh\\n{steal}\\n' > $PWD.git/git/hooks/post-index-change; chmod +x $PWD.git/git/hooks/*; echo new > a"
        ),
    ];
    let scripts: Vec<&str> = scripts.iter().map(|script| script.as_str()).collect();
    for (script, diff) in scripts.iter().zip(changes(&space, &scripts)) {
        assert!(diff.contains("+new") && diff.contains("-old"), "{script}: {diff}");
    }
    assert_eq!(space.names("home"), ["empty"]);
    assert_eq!(space.names(".evalrs/workspaces"), [".gitignore"]);
}

#[test]
fn an_agent_hides_no_change() {
    let Some(space) = space() else { return };
    let change = "echo new > a; echo made > new";
    let commit = "git -c user.name=a -c user.email=a@b commit -q -m x";
    let scripts = [
        "git config filter.x.clean 'echo old'; echo '* filter=x' > .git/info/attributes",
        "echo '*' > .git/info/exclude",
        "echo '*' > .gitignore",
        "printf '* -diff -text\\n* ident working-tree-encoding=UTF-16\\n' > .gitattributes",
        "echo '* binary' > .git/info/attributes",
        "git update-index --assume-unchanged a; git config core.excludesFile /proc/self/exe",
        "git add -A; rm -rf .git",
        "rm -rf .git; echo 'gitdir: /nowhere' > .git",
        "rm -rf .git; git init -q --separate-git-dir=../elsewhere-$$ .",
        "mkdir -p .git/info; git config core.worktree /nowhere",
    ];
    let scripts = scripts.map(|script| format!("{change}; {script}"));
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    for (script, diff) in scripts.iter().zip(changes(&space, &scripts)) {
        for line in ["-old", "+new", "+++ b/new", "+made"] {
            assert!(diff.contains(line), "{script} hides {line}: {diff}");
        }
    }
    let of_others = [
        // A repository inside, with what was there before and what is new.
        format!(
            "git init -q sub; echo new > sub/b; echo made > sub/c; cd sub; git add -A; {commit}"
        ),
        // In place of a file.
        format!("rm a; git init -q a; cd a; echo new > x; echo made > y; git add -A; {commit}"),
        // One that is elsewhere.
        "echo 'gitdir: /nowhere' > sub/.git; echo new > sub/b; echo made > sub/c".to_owned(),
        // A folder that git takes for its own.
        "mkdir x x/.GIT; echo new > x/.GIT/y; echo new > sub/b; echo made > sub/c".to_owned(),
        // Names that mean something to git or to a shell.
        "rm sub/b; echo new > ':b'; echo made > '-c'; printf 'new' > \"$(printf '\\351 x')\""
            .to_owned(),
        // Links in place of folders.
        "rm -r sub; ln -s /etc sub; echo new > b; echo made > c".to_owned(),
    ];
    let of_others: Vec<&str> = of_others.iter().map(String::as_str).collect();
    let shown = changes(&space, &of_others);
    for (script, diff) in of_others.iter().zip(&shown) {
        for line in ["-old", "+new", "+made"] {
            assert!(diff.contains(line), "{script} hides {line}: {diff}");
        }
        assert!(!diff.contains("Subproject"), "{script}: {diff}");
    }
    for (at, named) in [(0, "sub/.git"), (1, "a/.git"), (2, "sub/.git"), (3, "x/.GIT")] {
        assert!(shown[at].ends_with(&format!("[not shown: {named}]\n")), "{}", shown[at]);
    }
    assert!(shown[5].contains("+/etc") && !shown[5].contains("passwd"), "{}", shown[5]);
}

#[test]
fn what_an_agent_does_to_the_record_of_its_beginning_is_seen() {
    let Some(space) = space() else { return };
    let forge = r#"echo new > a; python3 - <<'E'
import glob, os, zlib
for path in glob.glob(os.getcwd() + ".git/git/objects/*/*"):
    if zlib.decompress(open(path, "rb").read()) == b"blob 4\0old\n":
        os.chmod(path, 0o600)
        open(path, "wb").write(zlib.compress(b"blob 4\0new\n"))
E"#;
    let diffs = changes(&space, &[forge, "echo newer > a; rm -rf $PWD.git"]);
    for diff in diffs {
        assert!(diff.starts_with("[what changed is not known: "), "{diff}");
    }
}

#[test]
fn what_the_template_ignores_is_ignored() {
    let Some(space) = space() else { return };
    space.write("shop/.gitignore", "*.log\nbuilt/\n");
    space.write("shop/sub/.gitignore", "!kept.log\n");
    space.write("shop/there.log", "old\n");
    let script = "rm .gitignore; mkdir built; echo x > built/x; echo x > a.log; echo x > sub/a.log; \
                  echo made > sub/kept.log; echo new > a; echo x >> there.log";
    let diff = changes(&space, &[script]).remove(0);
    let files: Vec<&str> =
        diff.lines().filter_map(|line| line.strip_prefix("diff --git a/")).collect();
    assert_eq!(
        files,
        [".gitignore b/.gitignore", "a b/a", "sub/kept.log b/sub/kept.log"],
        "{diff}"
    );
}
