"""The GitHub Action, on pull requests that are made up: its steps are run by bash with the environment of a runner.

A branch of the repository is asked by a scripted judge and commits what it said; forks have no key. GitHub itself is a server on loopback
that keeps comments. EVALRS names another binary.
"""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from judge import judge

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs").resolve()

SUITE = """name: support
dataset: rows.jsonl
graders:
  kind:
    kind: rubric
    prompt_path: kind.txt
    model: gpt-4o-mini
    endpoint: shop
    pass_threshold: 0.5
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.6}
"""
RUBRIC = "A customer asked: {input}\nThe shop replied: {submission}\n\nIs the reply kind?\nScore 1 if it is, and 0 if not.\n"
ROWS = "".join(json.dumps({"id": f"q{at}", "input": "May I?", "output": f"Yes, gladly {at}."}) + "\n" for at in range(3))


class GitHub(ThreadingHTTPServer):
    """Keeps the comments of one pull request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments, self.status, self.requests = [], None, []


class _Handler(BaseHTTPRequestHandler):
    def _reply(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _handle(self):
        comments = self.server.comments
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        self.server.requests.append(f"{self.command} {self.path}")
        if self.server.status or self.headers["Authorization"] != "Bearer token":
            return self._reply(self.server.status or 401, {"message": "Resource not accessible by integration"})
        if self.command == "GET":
            page = int(re.search(r"[?&]page=(\d+)", self.path).group(1))
            return self._reply(200, comments[(page - 1) * 100 : page * 100])
        if self.command == "PATCH":
            number = int(self.path.rsplit("/", 1)[1])
            comments[number]["body"] = body["body"]
            return self._reply(200, comments[number])
        comments.append({"id": len(comments), "body": body["body"], "user": {"type": "Bot"}})
        return self._reply(201, comments[-1])

    do_GET = do_PATCH = do_POST = _handle

    def log_message(self, *_):
        """Says nothing."""


def steps():
    """The scripts of action.yml, by their last word."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    found = re.findall(r"^      run: '(.*)'$", text, re.MULTILINE)
    found += [re.sub("^        ", "", block, flags=re.MULTILINE) for block in re.findall(r"^      run: \|\n((?:        .*\n)+)", text, re.MULTILINE)]
    return {script.split()[-1]: script for script in found}


@unittest.skipUnless(BINARY.is_file() and shutil.which("git") and shutil.which("bash"), "needs the binary, git and bash")
class RecordTest(unittest.TestCase):
    def test_results_are_one_file_or_several(self):
        place = importlib.util.spec_from_file_location("action", ROOT / "dist/action/action.py")
        action = importlib.util.module_from_spec(place)
        place.loader.exec_module(action)
        line = '{"grades": {"kind": {"error": {"kind": "%s"}}}}\n'
        missing, failed = line % "not_stored", line % "timeout"
        for files in [
            {"results.jsonl": missing + failed + missing},
            {"results/parts.json": "{}", "results/000000.jsonl": missing + failed, "results/000001.jsonl": missing},
        ]:
            with tempfile.TemporaryDirectory() as folder:
                for name, text in files.items():
                    path = Path(folder, name)
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text, encoding="utf-8")
                self.assertEqual(action.pending(Path(folder)), {"kind": 2})


class ActionTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.home = Path(place.name)
        (self.home / "bin").mkdir()
        (self.home / "bin" / "evalrs").symlink_to(BINARY)
        self.repository = self.home / "shop"
        (self.repository / "evals").mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        for name, text in [("evalrs.toml", ""), ("evals/suite.yaml", SUITE), ("evals/kind.txt", RUBRIC), ("evals/rows.jsonl", ROWS), (".gitignore", ".evalrs/\ncache/v1/\n")]:
            self.write(name, text)
        self.github = GitHub()
        threading.Thread(target=self.github.serve_forever, daemon=True).start()
        self.addCleanup(lambda: (self.github.shutdown(), self.github.server_close()))
        # The first verdicts, as somebody with a key makes and commits them.
        with self.judge(lambda prompt: 0.0 if "gladly 2" in prompt else 1.0) as server:
            self.evalrs("run", "evals/suite.yaml")
            self.evalrs("cache", "export", "evals/suite.yaml")
            self.assertEqual(len(server.asked), 3)
        self.key = None
        self.base = self.commit("Start")
        shutil.rmtree(self.repository / "cache" / "v1")

    def write(self, name, text):
        (self.repository / name).write_text(text, encoding="utf-8")

    def edit(self, name, old, new):
        text = (self.repository / name).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))

    def git(self, *words):
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *settings, *words], cwd=self.repository, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    key = None

    @contextlib.contextmanager
    def judge(self, score):
        with judge(score) as server:
            self.key = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
            yield server

    def environment(self):
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, **(self.key or {}), "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}

    def evalrs(self, *words):
        subprocess.run([str(BINARY), *words], cwd=self.repository, env=self.environment(), check=True, capture_output=True)

    def act(self, fork=False, before=None, **inputs):
        """The steps of the action on a pull request; gives the exit code, the log and the summary of the job."""
        names = {"full_name": "shop/shop"}
        pull = {"number": 7, "base": {"sha": self.base, "repo": names}, "head": {"repo": {"full_name": "ann/shop"} if fork else names}}
        runner = self.home / "runner"
        shutil.rmtree(runner, ignore_errors=True)
        (runner / "temp").mkdir(parents=True)
        (runner / "event.json").write_text(json.dumps({"pull_request": pull}), encoding="utf-8")
        for name in ("output", "summary", "path"):
            (runner / name).touch()
        env = {
            **self.environment(),
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": f"http://127.0.0.1:{self.github.server_port}",
            "GITHUB_EVENT_PATH": str(runner / "event.json"),
            "GITHUB_OUTPUT": str(runner / "output"),
            "GITHUB_PATH": str(runner / "path"),
            "GITHUB_REPOSITORY": "shop/shop",
            "GITHUB_STEP_SUMMARY": str(runner / "summary"),
            "GITHUB_TOKEN": "token",
            "GITHUB_WORKSPACE": str(self.repository),
            "RUNNER_TEMP": str(runner / "temp"),
            "no_proxy": "*",
            "EVALRS_SUITES": "evals",
            **inputs,
        }
        log, code = "", 0
        for name, script in sorted(steps().items(), key=lambda step: ["prepare", "run", "comment"].index(step[0])):
            env["EVALRS_COMMENT"] = self.outputs().get("comment", "")
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.repository, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            log += done.stdout
            code = code or done.returncode
            if name == "prepare":
                self.assertEqual(done.returncode, 0, log)
        return code, log, (runner / "summary").read_text(encoding="utf-8")

    def outputs(self):
        text = (self.home / "runner" / "output").read_text(encoding="utf-8")
        return {name: value for name, _, value in re.findall(r"^([\w-]+)<<(\w+)\n(.*?)\n\2$", text, re.MULTILINE | re.DOTALL)}

    def annotations(self, log):
        return re.findall(r"^::(error|warning) file=([^,]+),(?:line=(\d+),)?title=([^:]*)::", log, re.MULTILINE)

    def test_a_fork_without_a_key_is_green_and_exact(self):
        self.edit("evals/suite.yaml", "value: 0.6", "value: 0.65")
        self.commit("Raise the bar")
        code, log, summary = self.act(fork=True)
        self.assertEqual(code, 0, log)
        self.assertEqual(self.annotations(log), [("warning", "evals/rows.jsonl", "3", "kind%3A q2")])
        self.assertIn("::notice::replays stored outcomes", log)
        self.assertIn("`kind avg_score >= 0.65: 0.667`", summary)
        self.assertEqual(self.outputs()["asked"], "false")
        self.assertEqual(Path(self.repository, self.outputs()["stores"]).resolve(), (self.repository / "cache/v1").resolve())
        [comment] = self.github.comments
        self.assertTrue(comment["body"].startswith("<!-- evalrs -->\n"))
        self.assertIn("0.667", comment["body"])

    def test_an_edited_rubric_without_judgments_is_red_where_it_was_edited(self):
        self.edit("evals/kind.txt", "Score 1 if it is", "Score 1 if it is, and short")
        self.commit("Ask for brevity")
        code, log, _ = self.act(fork=True)
        self.assertEqual(code, 3, log)
        self.assertIn(("error", "evals/kind.txt", "5", "support%3A edited after the last judgment"), self.annotations(log))
        self.assertIn("judgments are missing: 3 of `kind`%0Arun `evalrs run evals/suite.yaml` with an API key", log)
        self.assertNotIn("file=evals/suite.yaml,line", log)

    def test_an_edited_row_is_annotated_at_its_line(self):
        self.edit("evals/rows.jsonl", "gladly 1", "never")
        self.commit("Refuse")
        code, log, _ = self.act(fork=True)
        self.assertEqual(code, 3, log)
        self.assertIn(("error", "evals/rows.jsonl", "2", "support%3A edited after the last judgment"), self.annotations(log))

    def test_a_trusted_branch_asks_what_is_new_and_nothing_else(self):
        self.edit("evals/rows.jsonl", "gladly 1", "never")
        self.commit("Refuse")
        with self.judge(lambda _: 0.25) as server:
            code, log, summary = self.act()
            self.assertEqual((code, len(server.asked), self.outputs()["asked"]), (1, 1, "true"), log)
            self.assertIn(("error", "evals/rows.jsonl", "2", "kind%3A q1"), self.annotations(log))
            self.assertIn("scored 0.25", log)
            # The cache of the repository restores the store: nothing is asked again, and the comment is written anew.
            self.assertEqual((self.act()[0], len(server.asked)), (1, 1))
        self.assertEqual(len(self.github.comments), 1)
        self.assertEqual([request.split()[0] for request in self.github.requests], ["GET", "POST", "GET", "PATCH"])
        self.assertIn("failed", summary)

    def test_a_job_with_a_key_writes_to_the_shared_cache(self):
        made = subprocess.run([str(BINARY), "cache", "key", "new"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout.split()
        bucket = self.home / "bucket"
        self.write("evalrs.toml", f'[cache.remote]\nurl = "{bucket.as_uri()}"\nbelieve = ["ci"]\n[cache.remote.keys]\nci = ["{made[3]}"]\n')
        self.edit("evals/rows.jsonl", "gladly 1", "never")
        self.commit("Refuse, and share")
        writer = {"EVALRS_CACHE_KEY": made[1], "EVALRS_CACHE_WRITER": "ci"}
        # A fork writes nothing, whatever its environment says.
        self.assertIn("replays stored outcomes", self.act(fork=True, **writer)[1])
        self.assertFalse(bucket.exists())
        with self.judge(lambda _: 0.25):
            code, log, _ = self.act(**writer)
        self.assertEqual(code, 1, log)
        self.assertIn("1 new, 1 outcome in the log, head 1", log)
        self.assertNotIn(made[1], log)
        # Another machine has it without asking.
        shutil.rmtree(self.repository / "cache" / "v1")
        shutil.rmtree(self.repository / ".evalrs")
        self.key = None
        code, log, _ = self.act(fork=True)
        self.assertEqual(code, 1, log)
        # A cache that is away changes no exit code.
        self.write("evalrs.toml", (self.repository / "evalrs.toml").read_text(encoding="utf-8").replace(bucket.as_uri(), "http://127.0.0.1:1/x"))
        with self.judge(lambda _: 0.25):
            code, log, _ = self.act(**writer)
        self.assertEqual(code, 1, log)
        self.assertIn("::warning title=the shared cache was not written::", log)

    def test_a_trusted_branch_may_be_kept_from_asking(self):
        self.edit("evals/rows.jsonl", "gladly 1", "never")
        self.commit("Refuse")
        with self.judge(lambda _: 1.0) as server:
            self.assertEqual((self.act(EVALRS_ASK="never")[0], len(server.asked)), (3, 0))
            self.assertEqual((self.act(GITHUB_ACTOR="dependabot[bot]")[0], len(server.asked)), (3, 0))

    def test_the_comment_is_found_among_others(self):
        quoting = {"id": 0, "body": "> <!-- evalrs -->", "user": {"type": "User"}}
        self.github.comments += [{**quoting, "id": at, "body": "<!-- evalrs -->" if at == 3 else "hm"} for at in range(120)]
        self.assertEqual(self.act()[0], 0)
        self.assertEqual(len(self.github.comments), 121)
        self.assertEqual(self.act()[0], 0)
        self.assertEqual(len(self.github.comments), 121)
        self.assertIn("0.667", self.github.comments[120]["body"])

    def test_a_token_that_may_not_comment_changes_nothing(self):
        self.github.status = 403
        code, log, _ = self.act(fork=True)
        self.assertEqual(code, 0, log)
        self.assertIn("::notice::no comment was written: HTTP Error 403", log)

    def test_what_is_out_in_a_batch_is_not_red(self):
        binary = self.home / "bin" / "evalrs"
        binary.unlink()
        (self.repository / "more.yaml").write_text(SUITE, encoding="utf-8")
        for suite, code, worst in (("evals", 0, "4"), ("evals more.yaml", 3, "4")):
            # The first suite is out in a batch; a second one is incomplete.
            marker = self.home / "first"
            marker.unlink(missing_ok=True)
            binary.write_text(f'#!/bin/sh\n[ "$1" = run ] || exec {BINARY} "$@"\n[ -e {marker} ] && exit 3\ntouch {marker}\nexit 4\n', encoding="utf-8")
            binary.chmod(0o755)
            ended, log, _ = self.act(EVALRS_SUITES=suite)
            self.assertEqual((ended, self.outputs()["exit-code"]), (code, worst), log)
            self.assertIn("::warning title=judgments are out in a batch::", log)

    def test_wrong_files_are_red_with_their_place(self):
        self.edit("evals/suite.yaml", "kind: rubric", "kind: rubrik")
        code, log, _ = self.act(fork=True)
        self.assertEqual(code, 2, log)
        self.assertIn("suite.yaml:5:", log)
        self.assertEqual(self.github.comments, [])
        self.edit("evals/suite.yaml", "kind: rubrik", "kind: rubric")


if __name__ == "__main__":
    unittest.main()
