"""A server for the tests of the API: the binary over a workspace of its own, with one run, or one that runs already.

EVALRS is the binary, else that of `cargo build`. EVALRS_URL is a server that is used instead: its workspace is written to.
"""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or Path(__file__).resolve().parents[2] / "target").resolve()
BINARY = os.environ.get("EVALRS") or str(TARGET / "debug/evalrs")
GIVEN = os.environ.get("EVALRS_URL", "").rstrip("/")

SUITE = """
name: shop
dataset: data.jsonl
graders:
  right: {kind: tool, function: contains}
  short: {kind: tool, function: ascii_printable_only}
gate: {metric_key: right, metric: avg_score, op: gte, value: 0.5}
"""

ROWS = """\
{"id": "paris", "input": "Capital of France?", "ground_truth": "Paris", "output": "It is Paris.", "tags": ["europe"]}
{"id": "rome", "input": "Capital of Italy?", "ground_truth": "Rome", "output": "It is Milan.", "tags": ["europe"]}
{"id": "a/b ü?#", "input": "Capital of Japan?", "ground_truth": "Tokyo", "output": "Tōkyō, or Tokyo"}
"""


def run(folder):
    """Evaluates the suite of a workspace."""
    subprocess.run([BINARY, "run", "suite.yaml", "--quiet"], cwd=folder, check=True)


@contextlib.contextmanager
def workspace():
    """A folder with a suite and a run of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("evalrs.toml", ""), ("suite.yaml", SUITE), ("data.jsonl", ROWS)]:
            Path(folder, name).write_text(text, encoding="utf-8")
        run(folder)
        yield Path(folder)


@contextlib.contextmanager
def serving(folder, *flags):
    """Serves the suite of a workspace, and says where."""
    command = [BINARY, "serve", "suite.yaml", "--port", "0", *flags]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        try:
            said = ""
            while "serving http://" not in said:
                line = server.stderr.readline()
                if not line:
                    raise RuntimeError(f"the server ended: {said}")
                said += line
            yield said.split("serving ", 1)[1].split("/ ", 1)[0]
        finally:
            server.kill()


@contextlib.contextmanager
def server():
    """Where the API is."""
    if GIVEN:
        yield GIVEN
        return
    with workspace() as folder, serving(folder) as url:
        yield url
