#!/usr/bin/env python3
"""Counts what `evalrs import` makes of runs of DeepEval against what DeepEval itself says in them.

    python tests/import/deepeval_runs.py [--evalrs target/release/evalrs] [--runs DIR]

Writes runs and datasets with metrics that ask no model and with a judge that is scripted (verdicts, thresholds, strict and
flaky metrics, errors, tools, conversations, criteria), adds the runs of DIR, and compares: test cases, messages, each score,
verdict, error and reason, the scores, passes, fails and errors of each metric, and how many test cases passed and failed.
Without the package `deepeval` it says so and ends.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", CONFIDENT_OPEN_BROWSER="NO", DEEPEVAL_UPDATE_WARNING_OPT_IN="NO")
try:
    import deepeval
except ImportError:
    print("skipped: the package deepeval is not installed")
    sys.exit(0)

from deepeval import evaluate
from deepeval.dataset import ConversationalGolden, EvaluationDataset, Golden
from deepeval.evaluate.configs import AsyncConfig, ErrorConfig
from deepeval.metrics import (
    AnswerRelevancyMetric, BaseConversationalMetric, BaseMetric, BiasMetric, ExactMatchMetric, GEval, HallucinationMetric,
    PatternMatchMetric, ToxicityMetric,
)
from deepeval.metrics.g_eval import Rubric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, LLMTestCase, SingleTurnParams, ToolCall, Turn


class Length(BaseMetric):
    """How long an answer is; with `lower` a short one passes, and questions with `fail` cannot be measured."""

    def __init__(self, threshold=0.5, name="Length", lower=False, strict=False, fail=None, flaky=False):
        self.threshold = 1 if strict else threshold
        self.name, self.lower, self.strict, self.fail, self.flaky = name, lower, strict, fail, flaky
        self.strict_mode, self.async_mode, self.evaluation_model = strict, False, None

    def measure(self, case, *args, **options):
        if self.fail and self.fail in case.input:
            self.error = "the judge said nothing"
            raise ValueError(self.error)
        self.score = min(len(case.actual_output) / 20, 1.0)
        if self.strict:
            self.score = float(self.score >= 1)
        self.reason = f"{len(case.actual_output)} characters"
        self.is_successful()
        return self.score

    async def a_measure(self, case, *args, **options):
        return self.measure(case)

    def is_successful(self):
        if self.error is not None:
            self.success = False
        elif self.threshold is None:
            self.success = None
        else:
            self.success = self.score <= self.threshold if self.lower else self.score >= self.threshold
        return self.success

    @property
    def __name__(self):
        return self.name


class Turns(BaseConversationalMetric):
    """How many turns a conversation has."""

    def __init__(self, threshold=0.5):
        self.threshold, self.async_mode, self.strict_mode, self.evaluation_model = threshold, False, False, None

    def measure(self, case, *args, **options):
        self.score = 1.0 if len(case.turns) > 2 else 0.25
        self.reason, self.success = f"{len(case.turns)} turns", self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *args, **options):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Turn Count"


class ScriptedJudge(DeepEvalBaseLLM):
    """Answers every question alike."""

    def load_model(self):
        return self

    def get_model_name(self):
        return "scripted"

    def generate(self, prompt, schema=None, **options):
        said = {"score": 1 if "STRICTLY EITHER" in prompt else 7, "reason": "fine", "steps": ["Look.", 'Compare "both".']}
        said["verdicts"] = [{"verdict": "yes", "reason": "r"}]
        if schema is None:
            return json.dumps(said)
        return schema(**{name: said.get(name, ["one"]) for name in schema.model_fields})

    async def a_generate(self, prompt, schema=None, **options):
        return self.generate(prompt, schema)


def write_runs(folder):
    os.chdir(folder)
    os.environ["DEEPEVAL_RESULTS_FOLDER"] = "runs"
    weather = ToolCall(name="weather", description="d", input_parameters={"city": "Paris"}, output={"rain": 0})
    cases = [
        LLMTestCase(name="refund", input="What if they don't fit?", actual_output="You have 30 days.", expected_output="30 days",
                    retrieval_context=["All have 30 days."], context=["30 days"], tags=["smoke"], metadata={"a": {"b": [1]}}),
        LLMTestCase(input="weather?", actual_output="It is dry in Paris today, no rain.", expected_output="dry",
                    tools_called=[weather, ToolCall(name="log")], expected_tools=[ToolCall(name="weather")]),
        LLMTestCase(input="boom", actual_output="x", expected_output="x"),
        LLMTestCase(input="nothing", actual_output="", expected_output=""),
    ]
    errors = ErrorConfig(ignore_errors=True)

    def run(*args, **options):
        evaluate(*args, error_config=errors, async_config=AsyncConfig(run_async=False), **options)
        time.sleep(1.1)

    metrics = [Length(0.5), Length(0.3, "Shortness", lower=True), Length(name="Strict", strict=True),
               Length(0.7, "Breaks", fail="boom"), Length(0.1, "Wobbly", flaky=True), Length(None, "Unbounded"),
               ExactMatchMetric(), PatternMatchMetric(pattern=r".*\d+ days\.")]
    run(cases, metrics, hyperparameters={"model": "m", "temperature": 0.2}, identifier="all kinds")
    run(cases[:3], [Length(0.05), Length(0.05, "Length")])
    run([ConversationalTestCase(name="c", scenario="s", expected_outcome="o", user_description="u", context=["c"], turns=[
            Turn(role="user", content="hi"),
            Turn(role="assistant", content="hello", tools_called=[weather], retrieval_context=["r"]),
            Turn(role="user", content="bye"), Turn(role="assistant", content="bye")]),
         ConversationalTestCase(turns=[Turn(role="user", content="q"), Turn(role="assistant", content="a")])], [Turns()])
    judge = ScriptedJudge()
    shown = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
    judged = [
        GEval(name="Correctness", criteria='Is it "right"?', evaluation_params=shown, model=judge, threshold=0.6),
        GEval(name="Steps", evaluation_steps=["Check.", "Mind the tone."], evaluation_params=shown, model=judge, threshold=0.9,
              rubric=[Rubric(score_range=(0, 4), expected_outcome="bad"), Rubric(score_range=(5, 10), expected_outcome="good")]),
        GEval(name="Politeness", criteria="Is it polite?", evaluation_params=shown, model=judge, strict_mode=True),
        ToxicityMetric(model=judge), BiasMetric(model=judge, threshold=0.3), AnswerRelevancyMetric(model=judge),
        HallucinationMetric(model=judge),
    ]
    run([LLMTestCase(input="q", actual_output="a", context=["c"]), LLMTestCase(input="q2", actual_output="b", context=["c"])], judged)
    goldens = EvaluationDataset(goldens=[
        Golden(input="q1", expected_output="a1", context=["c1", "c2"], retrieval_context=["r"], additional_metadata={"k": 1},
               name="n", expected_tools=[ToolCall(name="t")]), Golden(input='q2, "b"', actual_output="given\nhere")])
    talks = EvaluationDataset(goldens=[
        ConversationalGolden(scenario="s", expected_outcome="e", turns=[Turn(role="user", content="hi"),
                             Turn(role="assistant", content="yo")]), ConversationalGolden(scenario="s2")])
    for kind in ["json", "jsonl", "csv"]:
        goldens.save_as(kind, "goldens", file_name="single")
        talks.save_as(kind, "goldens", file_name="several")


class Comparison:
    def __init__(self, evalrs):
        self.evalrs, self.count, self.wrong = evalrs, Counter(), []

    def same(self, what, theirs, ours, where):
        self.count[what] += 1
        if theirs != ours:
            self.wrong.append(f"{where}: {what}: {theirs!r} {ours!r}")

    def command(self, *words):
        return subprocess.run([self.evalrs, *words], capture_output=True, text=True)

    def imported(self, path, out):
        ran = self.command("import", path, "-o", out)
        self.same("imports", 0, ran.returncode, f"{path}: {ran.stderr}")
        for suite in glob.glob(f"{out}/*.yaml"):
            valid = self.command("validate", suite)
            self.same("suites that validate", 0, valid.returncode, f"{suite}: {valid.stderr}")
        return [json.loads(line) for line in open(f"{out}/dataset.jsonl")]

    def run(self, path, out):
        rows = self.imported(path, out)
        run = json.load(open(path))
        run = run.get("testRunData", run)
        cases = run["testCases"] + run["conversationalTestCases"]
        self.same("runs: as many test cases", len(cases), len(rows), path)
        ran = self.command("run", f"{out}/suite.yaml", "--format", "json", "--no-record")
        report = json.loads(ran.stdout)
        for case, row, result in zip(cases, rows, report["results"]):
            self.case(path, case, row, result["grades"])
        metrics = report["summary"]["metrics"]
        if run.get("testPassed") is not None:
            verdicts = [r["grades"]["deepeval"]["pass"] for r in report["results"] if "deepeval" in r["grades"]]
            self.same("runs: passed and failed", (run["testPassed"], run["testFailed"]), (verdicts.count(True), verdicts.count(False)), path)
        for metric in run["metricsScores"]:
            self.metric(path, metric, rows, report["results"], metrics)

    def case(self, path, case, row, grades):
        turns = case.get("turns") or []
        calls = sum(len(turn.get("toolsCalled") or []) for turn in turns) + len(case.get("toolsCalled") or [])
        made = sum(len(message.get("tool_calls") or []) for message in row.get("messages", []))
        self.same("test cases: as many calls of tools", calls, made, path)
        if turns:
            said = [[m["role"], m["content"]] for m in row["messages"] if m["role"] != "tool" and m["content"] is not None]
            self.same("conversations: the same turns", [[t["role"], t["content"]] for t in turns], said, path)
        else:
            theirs = [case.get(key) for key in ["input", "actualOutput", "expectedOutput", "retrievalContext", "context"]]
            ours = [row.get(key) for key in ["input", "output", "ground_truth", "retrieval_context", "context"]]
            self.same("test cases: the same texts", theirs, ours, path)
        by_name = {}
        for key, said in row["deepeval"].get("metrics", {}).items():
            by_name.setdefault(said["name"], []).append(key)
        for metric in case["metricsData"]:
            grade = grades[by_name[metric["name"]].pop(0) + "_recorded"]
            where = f"{path}: {metric['name']}"
            if metric.get("score") is None:
                self.same("measurements that failed: errors", True, grade["error"] is not None, where)
                continue
            self.same("measurements: the same score", metric["score"], grade["score"], where)
            if metric.get("success") is not None:
                self.same("measurements: the same verdict", metric["success"], grade["pass"], where)
            if metric.get("reason"):
                self.same("measurements: the same reason", metric["reason"], grade["rationale"], where)

    def metric(self, path, metric, rows, results, metrics):
        keys = {key for row in rows for key, said in row["deepeval"].get("metrics", {}).items() if said["name"] == metric["metric"]}
        grades = [r["grades"][key + "_recorded"] for key in sorted(keys) for r in results if key + "_recorded" in r["grades"]]
        scores = sorted(grade["score"] for grade in grades if not grade["error"])
        # Without a threshold DeepEval counts a score as an error, and evalrs as a score without a verdict.
        if any(data.get("threshold") is None for row in rows for data in row["deepeval"]["metrics"].values() if data["name"] == metric["metric"]):
            self.count["metrics without a threshold, not compared"] += 1
            return
        self.same("metrics: the same scores", sorted(metric["scores"]), scores, path)
        passes = [sum(grade["pass"] for grade in grades), sum(not grade["pass"] and not grade["error"] for grade in grades)]
        errors = sum(grade["error"] is not None for grade in grades)
        self.same("metrics: passes, fails, errors", [metric["passes"], metric["fails"], metric["errors"]], [*passes, errors], path)
        if len(keys) == 1 and scores:
            mean = sum(metric["scores"]) / len(metric["scores"])
            ours = metrics[keys.pop() + "_recorded"]["avg_score_attempted"]
            self.same("metrics: the same mean", round(mean, 12), round(ours, 12), path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evalrs", default=shutil.which("evalrs") or "target/debug/evalrs")
    parser.add_argument("--runs", help="a folder with further runs")
    args = parser.parse_args()
    comparison = Comparison(os.path.abspath(args.evalrs))
    further = [os.path.abspath(path) for path in glob.glob(f"{args.runs}/**/2*", recursive=True)] if args.runs else []
    further += [os.path.abspath(path) for path in glob.glob(f"{args.runs}/**/test_run_*.json", recursive=True)] if args.runs else []
    with tempfile.TemporaryDirectory() as folder:
        write_runs(folder)
        runs = sorted(glob.glob("runs/*.json")) + glob.glob(".deepeval/.latest*.json") + further
        for at, path in enumerate(runs):
            comparison.run(path, f"out-{at}")
        for path in sorted(glob.glob("goldens/*")):
            rows = comparison.imported(path, f"out-{os.path.basename(path)}")
            comparison.same("datasets: as many goldens", 2, len(rows), path)
            first = comparison.imported(path.rsplit(".", 1)[0] + ".json", f"first-{os.path.basename(path)}")
            comparison.same("datasets: the same of JSON, JSON Lines and CSV", [without(row) for row in first], [without(row) for row in rows], path)
    print(f"deepeval {deepeval.__version__}")
    for what, count in sorted(comparison.count.items()):
        print(f"{count:6} {what}")
    for wrong in comparison.wrong[:40]:
        print(wrong)
    sys.exit(1 if comparison.wrong else 0)


def without(row):
    # CSV has no column for a persona.
    return {key: value for key, value in row.items() if key != "persona"}


if __name__ == "__main__":
    main()
