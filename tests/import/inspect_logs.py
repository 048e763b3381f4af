#!/usr/bin/env python3
"""Counts what `evalrs import` makes of logs of Inspect against what Inspect itself reads in them.

    python tests/import/inspect_logs.py [--evalrs target/release/evalrs] [--logs DIR] [--only-logs]

Writes logs with Inspect's mock model (scorers, epochs, tools, errors, limits; `.eval` and `.json`), adds those below
DIR, such as `tests` of a clone of UKGovernmentBEIS/inspect_ai, and compares: samples and epochs, messages by role, the
score of each sample, and the means that the log says. Without the package `inspect_ai` it says so and ends.
"""

import argparse
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

try:
    import inspect_ai
except ImportError:
    print("skipped: the package inspect_ai is not installed")
    sys.exit(0)

import tiktoken
from inspect_ai import Epochs, Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import (
    Score, accuracy, answer, choice, exact, f1, includes, match, mean, model_graded_fact, model_graded_qa, pattern, scorer,
    value_to_float,
)
from inspect_ai.solver import generate, multiple_choice, solver, system_message, use_tools
from inspect_ai.tool import tool


class Words:
    """Counts tokens without fetching a vocabulary."""

    def encode(self, text, **_):
        return text.split()


tiktoken.get_encoding = lambda name: Words()
MODEL = "mockllm/model"


@tool
def add():
    async def execute(x: int, y: int):
        """Adds two numbers.

        Args:
            x: the first
            y: the second
        """
        if x > 100:
            raise ValueError("too large")
        return str(x + y)

    return execute


@solver
def fails_on(word):
    async def solve(state, generate):
        if word in state.input_text:
            raise RuntimeError("the solver broke")
        return state

    return solve


@scorer(metrics=[accuracy()])
def letters():
    async def score(state, target):
        return Score(value="P" if state.epoch == 1 else "N")

    return score


@scorer(metrics={"brief": [mean()], "kind": [mean()]})
def parts():
    async def score(state, target):
        return Score(value={"brief": 0.25, "kind": 1})

    return score


@scorer(metrics=[mean()])
def stars():
    async def score(state, target):
        return Score(value=len(state.output.completion))

    return score


@scorer(metrics=[mean()])
def sometimes():
    async def score(state, target):
        return Score(value=0.5) if state.epoch == 1 else None

    return score


def says(*texts):
    return get_model(MODEL, custom_outputs=[ModelOutput.from_content(MODEL, text) for text in texts * 40])


def write_logs(folder):
    """Writes logs of every kind."""
    call = lambda x: ModelOutput.for_tool_call(MODEL, "add", {"x": x, "y": 2})
    text = lambda said: ModelOutput.from_content(MODEL, said)
    samples = [
        Sample(id="a", input="What is 1+2?", target="3", metadata={"k": 1}),
        Sample(id="b/c d", input="What is 100+2?", target=["102", "one hundred and two"]),
        Sample(id=3, input="What is\n2+2?", target="4"),
    ]
    sums = MemoryDataset(samples)
    tools = get_model(MODEL, custom_outputs=[call(1), text("The sum is 3."), call(101), text("ANSWER: 102"), text("4")] * 40)
    texts = says("ANSWER: 3", "The answer is one hundred and two.", "it's **4**!", "\\$1,234.50", "", "The cat sat")
    judge = says("GRADE: C", "Hm. GRADE: I", "no grade")
    tasks = {
        "tools": Task(sums, solver=[system_message("Be brief."), use_tools(add()), generate()], scorer=[match(numeric=True), includes(), letters()], epochs=2),
        "texts": Task(sums, solver=[generate()], epochs=Epochs(3, "max"), scorer=[
            match(), match(location="any", ignore_case=False), includes(ignore_case=False), exact(), f1(), pattern(r"(\d+)"), answer("word"), answer("line"), parts(), stars(), sometimes(),
        ]),
        "judged": Task(MemoryDataset([samples[0], samples[2]]), solver=[generate()], scorer=[model_graded_qa(model=judge), model_graded_fact(model=judge, partial_credit=True)], epochs=2),
        "broken": Task(sums, solver=[fails_on("100"), generate()], scorer=[match(), f1()], fail_on_error=False),
        "limited": Task(sums, solver=[use_tools(add()), generate()], scorer=includes(), message_limit=3),
        "choices": Task(MemoryDataset([
            Sample(input="Which is a fruit?", choices=["apple", "stone", "shoe"], target="A"),
            Sample(input="Which is a colour?", choices=["shoe", "red"], target="B"),
        ]), solver=[multiple_choice()], scorer=choice(), epochs=2),
    }
    models = {"tools": tools, "limited": tools, "choices": says("ANSWER: A", "ANSWER: B", "I do not know")}
    for name, task in tasks.items():
        for form in ["eval", "json"]:
            place = os.path.join(folder, f"{name}-{form}")
            evaluate(task, model=models.get(name, texts), log_dir=place, log_format=form, display="none")


def roles_of_inspect(sample):
    """The parts of messages that evalrs has: texts that are not empty, thoughts, calls, answers of tools."""
    count = Counter()
    for message in sample.messages:
        count[message.role] += message.role != "assistant"
        if message.role != "assistant":
            continue
        # Texts between thoughts and tools of the provider are said one by one.
        said, kinds = False, []
        for part in message.content if isinstance(message.content, list) else [message.content]:
            kind = "text" if isinstance(part, str) else part.type
            has_text = bool(part if isinstance(part, str) else getattr(part, "text", ""))
            if kind in ("reasoning", "tool_use"):
                said = False
                count["reasoning" if kind == "reasoning" else "tool_call"] += 1
                count["tool"] += kind == "tool_use"
            elif has_text and not said:
                said = True
                count["assistant"] += 1
        count["tool_call"] += len(message.tool_calls or [])
    return +count


def roles_of_evalrs(trajectory):
    names = {"tool_return": "tool"}
    messages = [message for turn in json.loads(trajectory) for message in turn]
    return Counter(names.get(message["role"], message["role"]) for message in messages)


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Comparison:
    def __init__(self, evalrs):
        self.evalrs = evalrs
        self.count = Counter()
        self.wrong = []

    def check(self, what, left, right):
        same = left == right or (isinstance(left, float) and isinstance(right, (int, float)) and math.isclose(left, right, abs_tol=1e-9))
        self.count[f"{what}: {'equal' if same else 'NOT equal'}"] += 1
        if not same:
            self.wrong.append(f"{self.path}: {what}: Inspect {left!r}, evalrs {right!r}")

    def log(self, path):
        self.path = path
        try:
            log = read_eval_log(path)
        except Exception as error:
            self.count[f"Inspect cannot read it ({type(error).__name__})"] += 1
            return
        if not log.samples:
            self.count["logs without samples"] += 1
            return
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run(self.evalrs, "import", path, "-o", folder)
            if code != 0:
                self.wrong.append(f"{path}: import ended with {code}: {err.strip()[:300]}")
                return
            self.compare(log, folder)
        self.count["logs"] += 1

    def compare(self, log, folder):
        extra = {"extends": "suite.yaml", "graders": {"all_messages": {"kind": "tool", "function": "length", "config": {"min": 0}, "extractor": "trajectory"}}}
        with open(os.path.join(folder, "counted.yaml"), "w") as file:
            json.dump(extra, file)
        for suite in ["suite.yaml", "judged.yaml"]:
            if os.path.exists(os.path.join(folder, suite)):
                code, out, err = run(self.evalrs, "validate", suite, cwd=folder)
                self.check("suites are valid", 0, code)
                if code:
                    print(out, err)
        code, out, err = run(self.evalrs, "run", "counted.yaml", "--format", "json", cwd=folder)
        if code not in (0, 3):
            self.wrong.append(f"{self.path}: run ended with {code}: {err.strip()[:300]}")
            return
        report = json.loads(out)
        results = {(str(one["sample_id"]), one["trial"]): one for one in report["results"]}
        self.check("samples and epochs", len(log.samples), len(results))
        to_float = value_to_float()
        for sample in log.samples:
            result = results.get((str(sample.id), sample.epoch - 1))
            if result is None:
                self.wrong.append(f"{self.path}: sample {sample.id}, epoch {sample.epoch} is missing")
                continue
            trajectory = result.get("submissions", {}).get("all_messages", result["submission"]) or "[]"
            self.check("messages by role", roles_of_inspect(sample), roles_of_evalrs(trajectory))
            for name, score in (sample.scores or {}).items():
                self.score(name, score.value, result["grades"], to_float)
        self.totals(log, results.values())

    def score(self, name, value, grades, to_float):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            self.count["scores that say nothing"] += 1
        elif isinstance(value, dict):
            for part, inner in value.items():
                self.score(f"{name}_{part}", inner, grades, to_float)
        elif f"{plain(name)}_recorded" not in grades:
            self.count["scores that are kept in rows, without a grader"] += 1
        else:
            wanted = float(to_float(value))
            self.check("scores that were taken over", wanted, grades[f"{plain(name)}_recorded"]["score"])
            again = grades.get(plain(name))
            if again is not None and not again.get("not_applicable"):
                self.check(f"verdicts of graders ({name})", wanted, again["score"])

    def totals(self, log, results):
        """Compares means of samples, of which each is the mean of its epochs that have a score."""
        for score in (log.results.scores if log.results else []):
            grader = f"{plain(score.name)}_recorded"
            samples = {}
            for result in results:
                grade = result["grades"].get(grader)
                if grade is not None and not grade["error"]:
                    samples.setdefault(result["sample_id"], []).append(grade["score"])
            if not samples or score.reducer not in (None, "mean"):
                self.count["totals that are not compared: no grader, or epochs reduced otherwise"] += 1
                continue
            means = [sum(scores) / len(scores) for scores in samples.values()]
            for name in ["accuracy", "mean"]:
                if name in score.metrics and not math.isnan(score.metrics[name].value):
                    self.check("totals", float(score.metrics[name].value), sum(means) / len(means))


def plain(name):
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evalrs", default=shutil.which("evalrs") or "target/debug/evalrs")
    parser.add_argument("--logs", help="a folder with further logs")
    parser.add_argument("--only-logs", action="store_true", help="writes no logs of its own")
    args = parser.parse_args()
    comparison = Comparison(os.path.abspath(args.evalrs))
    with tempfile.TemporaryDirectory() as folder:
        if not args.only_logs:
            write_logs(folder)
        for root in [folder] + ([args.logs] if args.logs else []):
            for path in sorted(glob.glob(f"{root}/**/*", recursive=True)):
                if path.endswith(".eval") or (path.endswith(".json") and '"eval"' in open(path, errors="ignore").read(4000)):
                    comparison.log(path)
    print(f"inspect_ai {inspect_ai.__version__}")
    for what, count in sorted(comparison.count.items()):
        print(f"{count:6} {what}")
    for wrong in comparison.wrong[:40]:
        print(wrong)
    sys.exit(1 if comparison.wrong else 0)


if __name__ == "__main__":
    main()
