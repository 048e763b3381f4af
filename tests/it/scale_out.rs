//! A run in parts: what many machines made, joined, is what one would have made, byte for byte. Runs as one file.

#![expect(
    clippy::disallowed_methods,
    reason = "tests look at the files, and start the schedulers themselves"
)]

use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, has, lines};

const PARTS: usize = 7;

/// A suite with what keys and rows it needs.
struct Sharded {
    name: &'static str,
    suite: String,
    rows: String,
}

/// Forty samples; some have three trials, and some rows have no ids.
fn rows(trials: u32) -> String {
    let rows = (0..40).flat_map(|sample| {
        (0..trials).map(move |trial| {
            let mut row = serde_json::json!({
                "id": format!("s{sample}"), "input": format!("Question {sample}?"), "ground_truth": "yes",
                "output": format!("Answer {sample} of trial {trial}."), "tags": [format!("t{}", sample % 3)],
            });
            if trials > 1 {
                row["trial"] = trial.into();
            }
            if sample % 5 == 4 && trials == 1 {
                row.as_object_mut().unwrap().remove("id");
            }
            row
        })
    });
    lines(rows)
}

fn suites(judge: &Judge) -> [Sharded; 3] {
    let rubric = format!(
        "  kind:\n    kind: rubric\n    model: m\n    endpoint: e\n    base_url: {}\n    prompt: Is it kind?\n    votes: 2\n",
        judge.url()
    );
    let gate = "gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.1}\n";
    let head = |name: &str| format!("name: {name}\ndataset: d.jsonl\n");
    let program = "  length: {kind: program, path: length.py:grade}\n";
    let target = format!(
        "target: {{kind: chat, model: t, base_url: {}, endpoint: t, system: Answer.}}\nnum_runs: 2\n",
        judge.url()
    );
    [
        Sharded {
            name: "trials",
            suite: head("trials")
                + "graders:\n"
                + &rubric
                + "  says: {kind: tool, function: contains}\n"
                + gate,
            rows: rows(3),
        },
        Sharded {
            name: "programs",
            suite: head("programs") + "graders:\n" + &rubric + program + gate,
            rows: rows(1),
        },
        Sharded {
            name: "live",
            suite: head("live") + &target + "graders:\n" + &rubric + gate,
            rows: rows(1),
        },
    ]
}

/// A judge, and a model that answers: both say what the prompt decides.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let sum = asked.sent().bytes().map(usize::from).sum::<usize>();
        if asked.body["model"] == "t" {
            return Answer::text(&format!("My answer is {sum}."));
        }
        Answer::score((sum % 10) as f64 / 10.0)
    })
}

const LENGTH: &str =
    "def grade(sample, submission):\n    return {'score': len(submission) / 100, 'pass': True}\n";

fn space_of(sharded: &Sharded) -> Space {
    Space::new(&[
        ("suite.yaml", &sharded.suite),
        ("d.jsonl", &sharded.rows),
        ("length.py", LENGTH),
        ("evalrs.toml", ""),
    ])
}

fn record(space: &Space) -> [String; 3] {
    ["header.json", "summary.json", "results.jsonl"].map(|name| space.record(name))
}

/// The file of each part, made by a machine of its own.
fn parts(sharded: &Sharded, judge: &Judge, more: &[&str]) -> Vec<(Space, Ran)> {
    (1..=PARTS)
        .map(|part| {
            let space = space_of(sharded);
            let partition = format!("{part}/{PARTS}");
            let args = [&["run", "suite.yaml", "--partition", &partition][..], more].concat();
            let ran = space.run_with(judge, &args);
            let exported = space.run(&["runs", "export", "latest", "-o", "part.zip"]);
            assert_eq!(exported.code(), 0, "{}", exported.shown());
            (space, ran)
        })
        .collect()
}

fn paths(parts: &[(Space, Ran)]) -> Vec<String> {
    parts.iter().map(|(space, _)| space.path("part.zip").to_str().unwrap().to_owned()).collect()
}

fn merge(into: &Space, files: &[String]) -> Ran {
    let args: Vec<&str> = ["merge"].into_iter().chain(files.iter().map(String::as_str)).collect();
    into.run(&args)
}

#[test]
fn parts_that_are_merged_are_the_whole_byte_for_byte() {
    let judge = judge();
    for sharded in suites(&judge) {
        let whole = space_of(&sharded);
        let ran = whole.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{}: {}", sharded.name, ran.shown());
        let asked = judge.count();
        let parts = parts(&sharded, &judge, &[]);
        let each = judge.count() - asked;
        let mut results = 0;
        for (part, ran) in &parts {
            assert_eq!(ran.code(), 0, "{}: {}", sharded.name, ran.shown());
            let header: Value = serde_json::from_str(&part.record("header.json")).unwrap();
            let named = header["settings"]["partition"].as_str().unwrap();
            assert!(ran.stdout().contains(&format!(", part {named}")), "{}", ran.stdout());
            results += part.record("results.jsonl").lines().count();
        }
        assert_eq!(results, whole.record("results.jsonl").lines().count(), "{}", sharded.name);
        let merged = space_of(&sharded);
        let ran = merge(&merged, &paths(&parts));
        assert_eq!(
            (ran.code(), judge.count() - asked),
            (0, each),
            "{}: {}",
            sharded.name,
            ran.shown()
        );
        assert_eq!(record(&merged), record(&whole), "{}", sharded.name);
        // Merged again, nothing is new.
        let again = merge(&merged, &paths(&parts));
        assert_eq!(again.code(), 0, "{}", again.shown());
        assert!(again.stderr().contains(" outcomes, 0 new"), "{}", again.stderr());
        assert_eq!(record(&merged), record(&whole), "{}", sharded.name);
        // The machine that merges has what a run needs that follows.
        assert_eq!(merged.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused_by_name() {
    let judge = judge();
    let [trials, ..] = suites(&judge);
    let some = parts(&trials, &judge, &["--tags", "t0"]);
    let files = paths(&some);
    let into = space_of(&trials);
    // One is missing.
    let ran = merge(&into, &files[1..]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(ran.stderr().contains("error: part 1 of 7 is missing: "), "{}", ran.stderr());
    assert!(ran.stderr().contains("sample"), "{}", ran.stderr());
    // One is there twice.
    let twice = [files.clone(), vec![files[2].clone()]].concat();
    let ran = merge(&into, &twice);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("are both part 3 of 7"), "{}", ran.stderr());
    // A whole run is none.
    let whole = space_of(&trials);
    whole.run_with(&judge, &["run", "suite.yaml", "--tags", "t0"]);
    whole.run(&["runs", "export", "-o", "whole.zip"]);
    let all = whole.path("whole.zip").to_str().unwrap().to_owned();
    let ran = merge(&into, &[all]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("is a whole run, not a part of one"), "{}", ran.stderr());
    // The tags of the parts are those of the whole.
    let ran = merge(&into, &files);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(record(&into), record(&whole));
    // Another file here than there.
    into.write("suite.yaml", trials.suite.replace("Is it kind?", "Is it good?"));
    let ran = merge(&into, &files);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("`suite.yaml` is not what `"), "{}", ran.stderr());
}

#[test]
fn a_part_that_lacks_something_is_joined_and_says_what() {
    let judge = judge();
    let [trials, ..] = suites(&judge);
    let mut made = parts(&trials, &judge, &[]);
    // The third machine stops after a call; its part is not complete, and exits with 3.
    let (space, ran) = {
        let space = space_of(&trials);
        let args = ["run", "suite.yaml", "--partition", "3/7", "--max-calls", "1"];
        let ran = space.run_with(&judge, &args);
        assert_eq!(space.run(&["runs", "export", "latest", "-o", "part.zip"]).code(), 0);
        (space, ran)
    };
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    made[2] = (space, ran);
    let into = space_of(&trials);
    let ran = merge(&into, &paths(&made));
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(ran.stdout().contains("not_stored  first s"), "{}", ran.shown());
}

#[test]
fn a_part_is_complete_with_errors_that_are_kept() {
    let judge = Judge::new(|_, _| Answer::text("no verdict at all"));
    let [trials, ..] = suites(&judge);
    let space = space_of(&trials);
    let args = ["run", "suite.yaml", "--partition", "1/7", "--sample", "s0", "--sample", "s1"];
    let args = [&args[..], &["--max-identical-failures", "1000"]].concat();
    let whole = space.run_with(&judge, &["run", "suite.yaml", "--sample", "s0"]);
    assert_ne!(whole.code(), 0, "{}", whole.shown());
    assert_eq!(space.run_with(&judge, &args).code(), 0);
}

#[test]
fn the_cut_is_known_before_the_first_call() {
    let judge = judge();
    let [trials, programs, _] = suites(&judge);
    let space = space_of(&trials);
    let plan = space.run(&["plan", "suite.yaml", "--partition", "7", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout()).unwrap();
    let digest = plan["cut"]["digest"].as_str().unwrap();
    let sizes = plan["cut"]["parts"].as_array().unwrap().iter();
    assert_eq!(sizes.map(|part| part["samples"].as_u64().unwrap()).sum::<u64>(), 40);
    let shown = space.run(&["plan", "suite.yaml", "--partition", "2/7"]).stdout();
    assert!(shown.contains(&format!("cut `{digest}`: 7 parts of ")), "{shown}");
    assert!(shown.contains("; this is part 2"), "{shown}");
    let run = |space: &Space, cut: &str, more: &[&str]| {
        let args = ["run", "suite.yaml", "--partition", "2/7", "--cut", cut];
        space.run_with(&judge, &[&args[..], more].concat())
    };
    assert_eq!(run(&space, digest, &[]).code(), 0);
    let asked = judge.count();
    for (other, more) in [(&trials, &["--tags", "t1"][..]), (&programs, &[])] {
        let space = space_of(other);
        let ran = run(&space, digest, more);
        assert_eq!((ran.code(), judge.count()), (2, asked), "{}", ran.shown());
        assert!(ran.stderr().contains(&format!(", not {digest}")), "{}", ran.stderr());
    }
    // What samples cost decides the cut, too.
    let whole = space_of(&trials);
    assert_eq!(whole.run(&["cache", "export", "suite.yaml", "--costs", "c.json"]).code(), 2);
    whole.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(whole.run(&["cache", "export", "suite.yaml", "--costs", "c.json"]).code(), 0);
    let plan =
        whole.run(&["plan", "suite.yaml", "--partition", "7", "--costs", "c.json", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout()).unwrap();
    assert_ne!(plan["cut"]["digest"], digest);
    let costs =
        plan["cut"]["parts"].as_array().unwrap().iter().map(|part| part["cost"].as_u64().unwrap());
    let [least, most] = [costs.clone().min().unwrap(), costs.max().unwrap()];
    assert!(most < least * 3 / 2, "{least} {most}");
    for (file, said) in [
        ("{}", "missing field `format`"),
        ("{\"format\": 9, \"costs\": {}}", "has format 9, not 1"),
    ] {
        whole.write("c.json", file);
        let ran = whole.run(&["plan", "suite.yaml", "--partition", "7", "--costs", "c.json"]);
        assert_eq!(ran.code(), 2);
        assert!(ran.stderr().contains(said), "{}", ran.stderr());
    }
}

#[test]
fn a_service_says_which_part_it_is() {
    let judge = judge();
    let [trials, ..] = suites(&judge);
    let space = space_of(&trials);
    let plan = |variables: &[(&str, &str)], more: &[&str]| {
        let args = [&["plan", "suite.yaml", "--partition", "auto"][..], more].concat();
        let mut command = space.command(&args);
        command.envs(variables.iter().copied());
        Ran(command.output().unwrap())
    };
    let ran = plan(&[("GITLAB_CI", "true"), ("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "7")], &[]);
    assert!(ran.stdout().contains("; this is part 2"), "{}", ran.shown());
    let ran = plan(&[("JOB_COMPLETION_INDEX", "6")], &["--of", "7"]);
    assert!(ran.stdout().contains("; this is part 7"), "{}", ran.shown());
    let ran = plan(&[], &[]);
    assert!(ran.stderr().contains("finds none of GitLab"), "{}", ran.shown());
}

#[test]
fn a_run_in_a_file_takes_the_place_of_a_run() {
    let judge = judge();
    let [_, programs, _] = suites(&judge);
    let there = space_of(&programs);
    there.write(".env", "SECRET=abc\n");
    there.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(there.run(&["runs", "export", "-o", "a.zip"]).code(), 0);
    there.write("suite.yaml", programs.suite.replace("Is it kind?", "Is it good?"));
    // What was run is not there any more.
    let ran = there.run(&["runs", "export", "-o", "b.zip"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("`suite.yaml` has changed since the run"), "{}", ran.stderr());
    assert_eq!(there.run(&["runs", "export", "-o", "record.zip", "--record-only"]).code(), 0);
    there.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(there.run(&["runs", "export", "-o", "b.zip"]).code(), 0);
    // Elsewhere nothing but the files is there.
    let here = Space::new(&[]);
    for name in ["a.zip", "b.zip", "record.zip"] {
        std::fs::copy(there.path(name), here.path(name)).unwrap();
    }
    let report = here.run(&["report", "a.zip", "--format", "json"]);
    assert_eq!(report.code(), 0, "{}", report.shown());
    let results: Value = serde_json::from_str(&report.stdout()).unwrap();
    assert_eq!(results["results"].as_array().unwrap().len(), 40);
    assert!(!String::from_utf8_lossy(&std::fs::read(here.path("a.zip")).unwrap()).contains(".env"));
    assert_eq!(here.run(&["report", "record.zip"]).code(), 0);
    let diff = here.run(&["diff", "a.zip", "b.zip"]);
    assert_eq!(diff.code(), 0, "{}", diff.shown());
    assert!(diff.stdout().contains("Is it good?"), "{}", diff.stdout());
    let moved = here.run(&["report", "b.zip", "--against", "a.zip"]);
    assert!(moved.stdout().contains("report: b.zip"), "{}", moved.stdout());
    let explained = here.run(&["explain", "a.zip", "s3", "kind"]);
    assert_eq!(explained.code(), 0, "{}", explained.shown());
    for part in ["Answer 3 of trial 0.", "reply       {\"score\":0.9", "called      20"] {
        assert!(explained.stdout().contains(part), "{}", explained.stdout());
    }
    let json = here.run(&["explain", "a.zip", "s3", "--json"]).stdout();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(
        json["results"][0]["graders"]["kind"]["outcome"]["outcome"]["reply"].is_object(),
        "{json}"
    );
    assert_eq!(here.run(&["explain", "a.zip", "s3", "--prompt"]).code(), 2);
    assert_eq!(here.run(&["explain", "a.zip", "nobody"]).code(), 2);
    // A file beside a run of this workspace: each is what its name says.
    for name in ["a.zip", "b.zip"] {
        std::fs::copy(here.path(name), there.path(name)).unwrap();
    }
    let diff = there.run(&["diff", "a.zip", "latest"]).stdout();
    assert!(diff.contains("Is it good?"), "{diff}");
    let diff = there.run(&["diff", "latest", "a.zip"]).stdout();
    assert!(diff.contains("Is it good?"), "{diff}");
    let page = here.run(&["report", "a.zip", "--format", "html", "-o", "a.html"]);
    assert_eq!(page.code(), 0, "{}", page.shown());
    // Nothing is left of what was unpacked, and nothing was written here.
    assert_eq!(here.names(""), ["a.html", "a.zip", "b.zip", "record.zip"]);
    // Files that are none.
    let whole = std::fs::read(here.path("a.zip")).unwrap();
    here.write("cut.zip", &whole[..whole.len() / 2]);
    here.write("text.zip", "no archive");
    for name in ["cut.zip", "text.zip", "none.zip"] {
        for args in [&["report", name][..], &["explain", name, "s3"], &["diff", "a.zip", name]] {
            let ran = here.run(args);
            assert_eq!(ran.code(), 2, "{args:?}: {}", ran.shown());
            assert!(
                ran.stderr().contains("cannot read the run in `"),
                "{args:?}: {}",
                ran.stderr()
            );
        }
    }
}

#[test]
fn records_are_listed_and_removed() {
    let judge = judge();
    let [trials, ..] = suites(&judge);
    let space = space_of(&trials);
    space.run_with(&judge, &["run", "suite.yaml"]);
    space.run_with(&judge, &["run", "suite.yaml", "--partition", "1/7"]);
    let listed = space.run(&["runs", "list", "--json"]).stdout();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let runs = listed["runs"].as_array().unwrap();
    let seen: Vec<_> = runs
        .iter()
        .map(|run| (run["part"].as_str(), run["samples"].as_u64().unwrap() == 40))
        .collect();
    assert_eq!(seen, [(Some("1/7"), false), (None, true)]);
    let shown = space.run(&["runs", "list"]).stdout();
    assert!(shown.lines().nth(1).unwrap().contains("1/7"), "{shown}");
    assert_eq!(space.run(&["runs", "remove", "latest"]).code(), 0);
    // The one that is left is the latest.
    let report = space.run(&["report", "--format", "json"]).stdout();
    assert!(report.contains("\"samples\":40"), "{}", &report[..200]);
    assert_eq!(space.run(&["runs", "remove", "nothing"]).code(), 2);
    // History knows whole runs alone.
    let history = space.run(&["history", "suite.yaml", "--json"]).stdout();
    assert_eq!(history.matches("\"id\"").count(), 1, "{history}");
}

/// The code of the recipe with this title on the page of recipes.
fn recipe(title: &str) -> String {
    let page = include_str!("../../docs/scale-out.md");
    let (_, rest) = page.split_once(&format!("### {title}\n")).unwrap();
    let (_, code) = rest.split_once("```").unwrap();
    let (_, code) = code.split_once('\n').unwrap();
    code.split_once("```").unwrap().0.to_owned()
}

#[test]
fn gnu_parallel_runs_parts() {
    if !has("parallel") {
        return;
    }
    let judge = judge();
    for sharded in suites(&judge) {
        let whole = space_of(&sharded);
        assert_eq!(whole.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
        let parts = space_of(&sharded);
        let ran = parts.shell(&recipe("GNU parallel"), Some(&judge));
        assert_eq!(ran.code(), 0, "{}: {}", sharded.name, ran.shown());
        assert_eq!(record(&parts), record(&whole), "{}", sharded.name);
    }
}

/// Says why a test shows nothing here.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// A cluster of Slurm with one node, until this is dropped.
struct Slurm {
    folder: tempfile::TempDir,
}

impl Slurm {
    /// None where Slurm is not installed, or this is not root.
    fn start() -> Option<Self> {
        let programs = ["munged", "slurmctld", "slurmd", "sbatch"];
        if !programs.iter().all(|program| has(program)) {
            return None;
        }
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().to_str()?.to_owned();
        let script = format!(
            r#"set -e
cd {path}
[ "$(id -u)" = 0 ]
host=$(hostname -s)
port() {{ python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }}
cat > slurm.conf <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(port)
SlurmdPort=$(port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={path}/munge.socket
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
END
mkdir state spool
head -c 1024 /dev/urandom > munge.key
chmod 400 munge.key
munged --key-file={path}/munge.key --socket={path}/munge.socket --pid-file={path}/munged.pid --log-file={path}/munged.log --seed-file={path}/munge.seed --force
export SLURM_CONF={path}/slurm.conf
slurmctld
slurmd
"#
        );
        let started = Command::new("bash").args(["-c", &script]).output().ok()?;
        let said = String::from_utf8_lossy(&started.stderr).into_owned();
        if !started.status.success() {
            skip(&format!("Slurm does not start here: {said}"));
        }
        let slurm = Self { folder };
        started.status.success().then_some(slurm)
    }

    fn configuration(&self) -> String {
        self.folder.path().join("slurm.conf").to_str().unwrap().to_owned()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for name in ["slurmd.pid", "slurmctld.pid", "munged.pid"] {
            if let Ok(id) = std::fs::read_to_string(self.folder.path().join(name)) {
                let _ = Command::new("kill").arg(id.trim()).status();
            }
        }
    }
}

#[test]
fn slurm_runs_parts() {
    let Some(slurm) = Slurm::start() else { return };
    let judge = judge();
    // It looks seldom whether jobs have ended, so one suite is enough.
    for sharded in suites(&judge).into_iter().skip(1).take(1) {
        let whole = space_of(&sharded);
        assert_eq!(whole.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
        let parts = space_of(&sharded);
        parts.write("job.sh", recipe("Slurm"));
        let submit = format!(
            "export SLURM_CONF={}; timeout 240 sbatch --wait job.sh && evalrs merge parts/*.zip",
            slurm.configuration()
        );
        let ran = parts.shell(&submit, Some(&judge));
        if ran.code() == 124 {
            return skip("Slurm starts no job here within four minutes");
        }
        let logs: Vec<String> =
            (1..=4).map(|part| parts.read(&format!("part-{part}.log"))).collect();
        assert_eq!(ran.code(), 0, "{}: {} {logs:?}", sharded.name, ran.shown());
        assert_eq!(record(&parts), record(&whole), "{}", sharded.name);
    }
}

#[test]
fn recipes_for_services_are_valid() {
    let Some(tools) = std::env::var_os("EVALRS_TEST_TOOLS") else {
        skip(
            "no schemas; `pip install check-jsonschema kubernetes-validate` into a virtual environment and set EVALRS_TEST_TOOLS to it",
        );
        return;
    };
    let tools = std::path::PathBuf::from(tools).join("bin");
    let space = Space::new(&[]);
    for (title, program, args) in [
        (
            "GitHub Actions",
            "check-jsonschema",
            &["--builtin-schema", "vendor.github-workflows"][..],
        ),
        ("GitLab", "check-jsonschema", &["--builtin-schema", "vendor.gitlab-ci"]),
        ("Kubernetes", "kubernetes-validate", &["--strict"]),
    ] {
        if !tools.join(program).exists() {
            skip(&format!("no `{program}`"));
            continue;
        }
        space.write("recipe.yml", recipe(title));
        let checked =
            Command::new(tools.join(program)).args(args).arg(space.path("recipe.yml")).output();
        let checked = Ran(checked.unwrap());
        assert_eq!(checked.code(), 0, "{title}: {}", checked.shown());
    }
}

#[test]
fn the_suite_in_a_file_is_never_read() {
    let judge = judge();
    let [_, programs, _] = suites(&judge);
    let there = space_of(&programs);
    there.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(there.run(&["runs", "export", "-o", "a.zip"]).code(), 0);
    // A stranger puts a program and variables into it, and files that lead out.
    let script = "import shutil, zipfile\nshutil.copy('a.zip', 'evil.zip')\nwith zipfile.ZipFile('evil.zip', 'a') as z:\n    \
        z.writestr('files/.env', 'EVIL=1')\n    z.writestr('files/suite.yaml', 'name: x\\ndataset: /etc/passwd\\n')\n    \
        z.writestr('../../out.txt', 'x')\n    z.writestr('run/../../out.txt', 'x')\n";
    there.write("evil.py", script);
    assert_eq!(there.shell("python3 evil.py", None).code(), 0);
    let here = Space::new(&[]);
    std::fs::copy(there.path("evil.zip"), here.path("evil.zip")).unwrap();
    for args in [
        &["explain", "evil.zip", "s3"][..],
        &["report", "evil.zip"],
        &["diff", "evil.zip", "evil.zip"],
    ] {
        let ran = here.run(args);
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.shown());
        assert!(!ran.shown().contains("passwd"), "{args:?}: {}", ran.shown());
    }
    assert_eq!(here.names(""), ["evil.zip"]);
    // A header that claims four billion parts.
    let claim = "import zipfile\nsource = zipfile.ZipFile('a.zip')\nwith zipfile.ZipFile('claim.zip', 'w') as z:\n    \
        for name in source.namelist():\n        text = source.read(name)\n        if name == 'run/header.json':\n            \
        text = text.replace(b'\"settings\": {', b'\"settings\": {\"partition\": \"1/4294967295\", \"cut\": \"x\",')\n        z.writestr(name, text)\n";
    there.write("claim.py", claim);
    assert_eq!(there.shell("python3 claim.py", None).code(), 0);
    let ran = there.run(&["merge", "claim.zip"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
}

#[test]
fn what_is_for_the_whole_is_refused_for_a_part() {
    let judge = judge();
    let [trials, ..] = suites(&judge);
    let space = space_of(&trials);
    space.write("l.jsonl", "{\"id\": \"s0\", \"label\": true}\n");
    for flags in [&["--labels", "l.jsonl"][..], &["--require-calibration"], &["--rollup", "r.yaml"]]
    {
        let args = [&["run", "suite.yaml", "--partition", "1/2"][..], flags].concat();
        let ran = space.run_with(&judge, &args);
        assert_eq!(ran.code(), 2, "{flags:?}: {}", ran.shown());
        assert!(ran.stderr().contains("is for the whole of a suite"), "{}", ran.stderr());
    }
    let uncached = trials.suite.replace(
        "  says: {kind: tool, function: contains}",
        "  says: {kind: program, path: length.py:grade, cache: false}",
    );
    space.write("suite.yaml", uncached);
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--partition", "1/2"]);
    assert!(ran.stderr().contains("`says` has `cache: false`"), "{}", ran.shown());
    assert_eq!(judge.count(), 0);
    // A part that has no samples has no outcomes.
    let empty = space_of(&trials);
    empty.run_with(&judge, &["run", "suite.yaml", "--sample", "s0"]);
    let part = (1..=40).map(|part| format!("{part}/40")).find(|part| {
        let ran =
            empty.run_with(&judge, &["run", "suite.yaml", "--partition", part, "--sample", "s1"]);
        ran.stdout().contains(": 0 samples")
    });
    assert!(part.is_some());
    let exported = empty.run(&["runs", "export", "-o", "empty.zip"]);
    assert!(exported.stderr().contains("with 0 outcomes"), "{}", exported.shown());
    // Named twice, a run is removed once, and another is the latest.
    let latest = empty.read(".evalrs/latest");
    assert_eq!(empty.run(&["runs", "remove", "latest", latest.trim()]).code(), 0);
    assert_eq!(empty.run(&["report", "latest"]).code(), 0);
}
