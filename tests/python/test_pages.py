"""Pages on imports and CI print what they show: their `console` blocks run in one folder, over sources as other tools write them.

A block after a line that ends with "`NAME`:" is a file. Pages show standard output; a last line `...` is the rest of it.
UPDATE_PAGES=1 writes it into the pages, as many lines as before `...`. EVALRS names another binary.
"""

import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from judge import completion
from test_documents import BINARY, DOCS, blocks

QUESTION = {"role": "user", "content": "My printer does not print"}


def log_of_inspect():
    """A log in the form `.eval`: an archive with a header and a file for each sample."""
    scores = [{"name": "match", "scorer": "match", "params": {}, "metrics": {"accuracy": {"value": 0.5}}}]
    header = {"version": 2, "status": "success", "eval": {"task": "task", "task_id": "t", "model": "openai/gpt-4o-mini"}, "results": {"scores": scores}}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for at, (answer, value) in enumerate((("It is: yes", "C"), ("It is: no", "I")), 1):
            messages = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": answer}]
            sample = {"id": f"s{at}", "epoch": 1, "input": "Is it?", "target": "yes", "output": {"completion": answer}, "messages": messages, "scores": {"match": {"value": value}}}
            archive.writestr(f"samples/s{at}_epoch_1.json", json.dumps(sample))
    return file.getvalue()


def run_of_deepeval():
    def metric(name, score):
        return {"name": name, "threshold": 0.5, "success": score >= 0.5, "score": score, "reason": "because", "strictMode": False, "evaluationModel": "gpt-4.1"}

    judged = {**metric("Correctness [GEval]", 0.75), "verboseLogs": "Criteria:\nIs it right? \n \nEvaluation Steps:\n[\n    \"Compare.\"\n] \n \nRubric:\nNone \n \nScore: 0.75"}
    case = {"name": "refund", "input": "May I send them back?", "actualOutput": "Within 30 days.", "expectedOutput": "30 days", "success": True, "metricsData": [judged, metric("Toxicity", 0.5)]}
    return {"testCases": [case], "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "testFailed": 0}


def trials():
    trial = {"output": "o", "trajectory": [], "duration": 5, "pass": True, "score": 0.5, "reasoning": "r"}
    return {"id": "p", "input": "q", "k": 2, "trials": [{**trial, "trialNum": at} for at in (1, 2)], "passRate": 1, "passAtK": 1, "passExpK": 1}


SUITE_OF_LETTA = """name: support-bot
dataset: rows.jsonl
target: {kind: letta_agent, base_url: 'http://127.0.0.1:1', agent_file: bot.af}
graders: {says: {kind: tool, function: contains, extractor: last_assistant}}
gate: {metric_key: says, op: gte, value: 0.5}
"""


def result_of_letta():
    grades = {"says": {"score": 1.0, "rationale": "r", "metadata": {}}}
    message = {"message_type": "assistant_message", "content": "yes"}
    result = {"sample": {"id": 0, "input": "q", "ground_truth": "yes"}, "submissions": {"says": "yes"}, "trajectory": [[message]], "grades": grades, "model_name": "m"}
    return {"type": "result", "result": result}


RUBRIC = """name: support
dataset: rows.jsonl
graders: {polite: {kind: rubric, prompt: 'Is it polite? {submission}', model: gpt-4o-mini, endpoint: openai, pass_threshold: 0.5}}
gate: {metric_key: polite, op: gte, value: 0.5}
"""


PROMPTFOO = next(body for body, _, language in blocks((DOCS / "coming-from/promptfoo.md").read_text(encoding="utf-8")) if language == "text")
# Each page, with the sources that its commands read.
PAGES = {
    "ci.md": {"evals/suite.yaml": RUBRIC, "evals/rows.jsonl": {"input": "May I?", "output": "Of course."}},
    "import.md": {"promptfooconfig.yaml": PROMPTFOO},
    "coming-from/agent-eval-harness.md": {"trials.jsonl": trials()},
    "coming-from/deepeval.md": {".deepeval/.latest_run_full.json": run_of_deepeval()},
    "coming-from/inspect.md": {"logs/2026-11-24_task.eval": log_of_inspect()},
    "coming-from/letta-evals.md": {
        "suite.yaml": SUITE_OF_LETTA,
        "rows.jsonl": {"id": 0, "input": "q", "ground_truth": "yes"},
        "bot.af": {},
        "results/header.json": {"type": "header", "suite": "support-bot", "config": {"graders": {"says": {"kind": "tool", "function": "contains", "extractor": "last_assistant"}}}},
        "results/results.jsonl": result_of_letta(),
    },
    "coming-from/openai-evals.md": {},
    "coming-from/promptfoo.md": {},
}

CRITERIA = [
    {"type": "string_check", "name": "same_label", "input": "{{ sample.output_text }}", "operation": "eq", "reference": "{{ item.label }}"},
    {"type": "score_model", "name": "tone", "model": "gpt-4o", "range": [1, 7], "pass_threshold": 5.5, "input": "Rate the tone from 1 to 7: {{sample.output_text}}"},
]
LISTS = {
    "/v1/evals": [{"object": "eval", "id": "eval_1", "name": "support", "testing_criteria": CRITERIA}],
    "/v1/evals/eval_1/runs": [{"object": "eval.run", "id": "evalrun_1", "data_source": {"type": "completions", "source": {"type": "file_id", "id": "file-1"}}}],
    "/v1/evals/eval_1/runs/evalrun_1/output_items": [
        {
            "object": "eval.run.output_item",
            "id": f"o{at}",
            "datasource_item_id": at,
            "datasource_item": {"ticket": QUESTION["content"], "label": "Hardware"},
            "results": [{"name": "same_label", "passed": True, "score": 1.0}, {"name": "tone", "passed": True, "score": 6.0}],
            "sample": {"input": [QUESTION], "output": [{"role": "assistant", "content": "Hardware"}], "model": "gpt-4o-mini"},
        }
        for at in (1, 2)
    ],
}


class _OpenAI(BaseHTTPRequestHandler):
    """Lists of hosted evals, one entry a page, and a judge."""

    def do_GET(self):
        address = urlsplit(self.path)
        entries = LISTS.get(address.path)
        if entries is None or self.headers["Authorization"] != "Bearer k":
            self.send_error(404)
            return
        after = parse_qs(address.query).get("after")
        ids = [entry["id"] for entry in entries]
        at = ids.index(after[0]) + 1 if after else 0
        self.reply({"object": "list", "data": entries[at : at + 1], "last_id": ids[at], "has_more": at + 1 < len(ids)})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(completion(1.0))

    def reply(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Logs nothing."""


def sessions(text):
    """The commands of the `console` blocks, each with the lines below it."""
    found = []
    for body, _, language in blocks(text):
        for line in body.splitlines() if language == "console" else []:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def beginning(printed, shown):
    """As much of the output as the page shows."""
    return [*printed[: len(shown) - 1], "..."] if shown[-1:] == ["..."] else printed


@unittest.skipUnless(BINARY.is_file() and shutil.which("bash"), "needs the binary (`cargo build`) and bash")
class PagesTest(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _OpenAI)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def printed(self, folder, text, sources):
        """What each command of a page prints."""
        named = {re.search(r"`([\w./-]+)`:$", before): body for body, before, _ in blocks(text)}
        files = {**sources, **{match.group(1): body for match, body in named.items() if match}}
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = content if isinstance(content, (str, bytes)) else json.dumps(content) + "\n"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        (folder / "bin").mkdir()
        (folder / "bin" / "evalrs").symlink_to(BINARY)
        commands = [command for command, _ in sessions(text)]
        script = "\n".join(f"printf '\\0'\n{command} || echo \"[exit $?]\"" for command in commands)
        env = {
            **{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ},
            "HOME": str(folder),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server.server_port}/v1",
            "LETTA_API_KEY": "k",
        }
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=120)
        self.assertNotRegex(done.stdout, r"(?m)^\0?\[exit ", done.stderr)
        return [part.rstrip("\n").split("\n") if part.strip() else [] for part in done.stdout.split("\0")[1:]]

    def test_every_command_prints_what_its_page_shows(self):
        for name, sources in PAGES.items():
            path = DOCS / name
            text = path.read_text(encoding="utf-8")
            with self.subTest(page=name), tempfile.TemporaryDirectory() as place:
                printed = self.printed(Path(place).resolve(), text, sources)
                self.assertGreaterEqual(len(printed), 2)
                for (command, shown), output in zip(sessions(text), printed):
                    lines = beginning(output, shown)
                    if not os.environ.get("UPDATE_PAGES"):
                        self.assertEqual(shown, lines, command)
                    before, after = ("\n".join([f"$ {command}", *rest]) + "\n" for rest in (shown, lines))
                    text = text.replace(before, after, 1)
                if os.environ.get("UPDATE_PAGES"):
                    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
