"""The Python package: `evalrs.run`, `evalrs.binary`, `python -m evalrs` and the plugin of pytest, over the binary itself.

EVALRS names another binary, EVALRS_TEST_API_PYTHON a Python that has pytest and pytest-xdist.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from judge import judge

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = os.path.abspath(os.environ.get("EVALRS") or TARGET / "debug" / ("evalrs.exe" if os.name == "nt" else "evalrs"))
sys.path.insert(0, str(ROOT / "python"))

import evalrs

PYTEST = os.environ.get("EVALRS_TEST_API_PYTHON") or sys.executable

TOOLS = """name: tools
dataset: rows.jsonl
graders:
  right: {kind: tool, function: contains}
  plain: {kind: tool, function: ascii_printable_only}
gate: {metric_key: right, metric: accuracy, op: gte, value: 0.5}
"""
JUDGED = """name: judged
dataset: rows.jsonl
graders:
  kind: {kind: rubric, prompt: "Is it kind? {submission}", model: gpt-4o-mini, pass_threshold: 0.5}
  right: {kind: tool, function: contains}
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.4}
"""
ROWS = """{"id": "a/1", "input": "Capital of France?", "ground_truth": "Paris", "output": "It is Paris."}
{"id": "b::2", "input": "Capital of Italy?", "ground_truth": "Rome", "output": "It is Milan."}
"""


def has(module):
    """Whether the Python that runs pytest has a module."""
    return subprocess.run([PYTEST, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


class Case(unittest.TestCase):
    """A folder with two suites, and the binary in the environment."""

    def setUp(self):
        if not os.path.isfile(BINARY):
            self.skipTest(f"there is no binary `{BINARY}`: `cargo build` makes it")
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        for name, text in [("evalrs.toml", ""), ("tools.yaml", TOOLS), ("judged.yaml", JUDGED), ("rows.jsonl", ROWS)]:
            self.write(name, text)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "EVALRS_", "PYTEST_"))}
        self.env = {**kept, "EVALRS_BINARY": BINARY, "PYTHONPATH": str(ROOT / "python")}
        before = dict(os.environ)
        os.environ["EVALRS_BINARY"] = BINARY
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run_suite(self, name, **options):
        return evalrs.run(self.folder / name, cwd=self.folder, env=self.env, **options)

    def records(self):
        runs = self.folder / ".evalrs" / "runs"
        return len(list(runs.iterdir())) if runs.exists() else 0

    @contextlib.contextmanager
    def judge(self, score):
        with judge(score) as server:
            self.env |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
            yield server
        del self.env["OPENAI_API_KEY"]


class RunTest(Case):
    def test_results_are_objects(self):
        run = self.run_suite("tools.yaml")
        self.assertEqual((run.suite, run.exit_code, run.passed, run.gate.status), ("tools", 0, True, "passed"))
        self.assertEqual([result.sample_id for result in run.results], ["a/1", "b::2"])
        grade = run["b::2"].grades["right"]
        self.assertEqual((grade.score, grade.passed, grade.rationale), (0.0, False, "Contains ground_truth: False"))
        self.assertEqual(run["a/1"].submissions["right"], "It is Paris.")
        self.assertEqual((run.metrics["right"].n, run.metrics["right"].accuracy), (2, 0.5))
        self.assertEqual([(result.sample_id, grade.grader) for result, grade in run.failures()], [("b::2", "right")])
        with self.assertRaises(KeyError):
            run["c"]

    def test_flags_are_parameters(self):
        run = self.run_suite("tools.yaml", samples="a/1", graders=["plain"], record=False, max_concurrent=1)
        self.assertEqual([list(result.grades) for result in run.results], [["plain"]])
        self.assertEqual((run.gate.status, self.records()), (None, 0))
        self.run_suite("tools.yaml", output=self.folder / "out")
        self.assertTrue((self.folder / "out" / "summary.json").is_file())

    def test_a_failed_gate_is_a_result(self):
        self.write("tools.yaml", TOOLS.replace("0.5", "0.9"))
        run = self.run_suite("tools.yaml")
        self.assertEqual((run.exit_code, run.passed, run.gate.status, run.gate.value), (1, False, "failed", 0.5))

    def test_what_is_not_stored_is_pending(self):
        run = self.run_suite("judged.yaml", frozen=True)
        self.assertEqual((run.exit_code, len(run.pending()), run.errors()), (3, 2, []))
        with self.judge(lambda prompt: 1.0 if "Paris" in prompt else 0.25) as server:
            run = self.run_suite("judged.yaml")
            self.assertEqual([result.grades["kind"].score for result in run.results], [1.0, 0.25])
            self.assertEqual((run.pending(), len(server.asked)), ([], 2))
            self.assertEqual(self.run_suite("judged.yaml", frozen=True).results, run.results)
            self.assertEqual(len(server.asked), 2)

    def test_wrong_files_raise_with_their_place(self):
        self.write("tools.yaml", TOOLS.replace("contains", "contians"))
        with self.assertRaises(evalrs.EvalrsError) as raised:
            self.run_suite("tools.yaml")
        self.assertEqual(raised.exception.exit_code, 2)
        self.assertIn("tools.yaml:4:", str(raised.exception))
        self.assertIn("contains", str(raised.exception))
        with self.assertRaisesRegex(evalrs.EvalrsError, "missing.yaml"):
            self.run_suite("missing.yaml")

    def test_a_suite_is_never_a_flag(self):
        with self.assertRaisesRegex(evalrs.EvalrsError, "--version"):
            evalrs.run("--version", cwd=self.folder)


class BinaryTest(Case):
    def test_the_environment_names_it(self):
        self.assertEqual(evalrs.binary(), BINARY)
        os.environ["EVALRS_BINARY"] = str(self.folder / "none")
        with self.assertRaisesRegex(FileNotFoundError, "EVALRS_BINARY"):
            evalrs.binary()

    def test_else_it_is_looked_for_on_the_path(self):
        del os.environ["EVALRS_BINARY"]
        if Path(sys.executable).with_name("evalrs").exists():
            self.skipTest("evalrs is installed beside this Python")
        os.environ["PATH"] = str(Path(BINARY).parent)
        self.assertEqual(Path(evalrs.binary()), Path(BINARY))

    def test_the_module_is_the_binary(self):
        command = [sys.executable, "-m", "evalrs", "list", "graders"]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("exact_match", done.stdout)


@unittest.skipUnless(has("pytest"), "needs pytest")
class PluginTest(Case):
    def pytest(self, *words):
        command = [PYTEST, "-m", "pytest", "-p", "evalrs.pytest_plugin", "-p", "no:cacheprovider", "--color=no", "-rA", *words]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False, timeout=120)
        last = (done.stdout.strip().splitlines() or [""])[-1]
        return done.returncode, last.strip("= ").split(" in ")[0], done.stdout + done.stderr

    def test_a_test_is_a_sample_and_a_grader(self):
        code, tally, text = self.pytest("--evalrs", "tools.yaml")
        self.assertEqual((code, tally), (1, "1 failed, 4 passed"), text)
        for shown in [
            "PASSED tools.yaml::a/1::right",
            "PASSED tools.yaml::gate",
            "right: score 0.000\nrationale: Contains ground_truth: False\nsubmission: It is Milan.\n"
            "input: Capital of Italy?\nground truth: Rome\nmore: evalrs explain tools.yaml b::2 right\n",
        ]:
            self.assertIn(shown, text)
        # One for the evaluation, none for what was collected.
        self.assertEqual(self.records(), 1)

    def test_tests_are_chosen_by_name(self):
        code, tally, text = self.pytest("--evalrs=tools.yaml", "-k", "a/1 and plain")
        self.assertEqual((code, tally), (0, "1 passed, 4 deselected"), text)
        code, tally, text = self.pytest("--evalrs=tools.yaml", "--collect-only")
        self.assertEqual((code, tally), (0, "5 tests collected"), text)
        self.assertEqual(self.records(), 1)

    def test_what_is_pending_is_skipped_and_asked_where_that_is_wanted(self):
        code, tally, text = self.pytest("--evalrs", "judged.yaml")
        self.assertEqual((code, tally), (1, "2 failed, 1 passed, 2 skipped"), text)
        self.assertIn("gate undecided: kind avg_score >= 0.4: 0.000\nbetween 0.000 and 1.000", text)
        with self.judge(lambda prompt: 1.0 if "Paris" in prompt else 0.25) as server:
            code, tally, text = self.pytest("--evalrs", "judged.yaml", "--evalrs-ask", "-k", "kind and Paris or kind and a/1")
            self.assertEqual((code, tally, len(server.asked)), (0, "1 passed, 4 deselected", 1), text)
            code, tally, text = self.pytest("--evalrs", "judged.yaml", "--evalrs-max-cost", "1")
            self.assertEqual((code, tally, len(server.asked)), (1, "2 failed, 3 passed", 2), text)
            self.assertIn("rationale: scored 0.25", text)
        code, tally, text = self.pytest("--evalrs", "judged.yaml", "--evalrs-frozen")
        self.assertEqual((code, tally), (1, "2 failed, 3 passed"), text)

    def test_what_could_not_be_graded_is_an_error(self):
        self.write("broken.yaml", "name: broken\ndataset: rows.jsonl\ngraders:\n  own: {kind: tool, function: 'bad.py:own'}\n")
        self.write("bad.py", "def own(sample, submission):\n    raise ValueError('no such thing')\n")
        code, tally, text = self.pytest("--evalrs", "broken.yaml")
        self.assertEqual((code, tally), (1, "2 errors"), text)
        self.assertIn("no such thing", text)

    def test_a_wrong_suite_is_told_once(self):
        self.write("tools.yaml", TOOLS.replace("contains", "contians"))
        code, tally, text = self.pytest("--evalrs", "tools.yaml")
        self.assertEqual((code, tally), (2, "1 error"), text)
        self.assertIn("tools.yaml:4:", text)
        code, _, text = self.pytest("--evalrs", "none.yaml")
        self.assertEqual(code, 4, text)
        self.assertIn("`" + str(self.folder / "none.yaml") + "` is not a file", text)
        self.assertEqual(self.pytest("--evalrs", "tools.yaml", "--evalrs-ask", "--evalrs-frozen")[0], 4)

    def test_tests_of_python_are_left_alone(self):
        self.write("test_other.py", "def test_other():\n    pass\n")
        self.assertEqual(self.pytest("--evalrs", "tools.yaml", "--collect-only")[1], "5 tests collected")
        self.assertEqual(self.pytest("test_other.py", "--evalrs", "tools.yaml", "--collect-only")[1], "6 tests collected")
        self.write("pytest.ini", "[pytest]\naddopts = --evalrs tools.yaml\n")
        self.assertEqual(self.pytest("--collect-only")[1], "6 tests collected")
        self.write("pytest.ini", "[pytest]\n")
        self.assertEqual(self.pytest("--collect-only")[1], "1 test collected")

    @unittest.skipUnless(has("xdist"), "needs pytest-xdist")
    def test_workers_ask_nothing_twice(self):
        rows = "".join(ROWS.splitlines(True)[0].replace("a/1", f"a{at}").replace("Paris.", f"Paris {at}.") for at in range(12))
        self.write("rows.jsonl", rows)
        with self.judge(lambda _: 1.0) as server:
            code, tally, text = self.pytest("--evalrs", "judged.yaml", "--evalrs-ask", "-n", "3")
            self.assertEqual((code, tally, len(server.asked)), (0, "25 passed", 12), text)
        self.assertEqual(self.records(), 1)


if __name__ == "__main__":
    unittest.main()
