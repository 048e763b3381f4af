#!/usr/bin/env python3
"""What `evalrs import` makes of promptfoo configurations, and whether verdicts are those of promptfoo.

    python3 tests/import/promptfoo.py share FOLDER [--evalrs PATH] [--list FILE]
    python3 tests/import/promptfoo.py parity FOLDER [--evalrs PATH] [--promptfoo COMMAND] [--list FILE]

FOLDER holds clones of public repositories, each in a folder `owner+name`; nothing of them belongs into this one. `share` imports every
file called promptfooconfig*.yaml, .yml or .json, and says how many assertions mapped, which did not and why, and what panicked or could
not be run. `parity` evaluates with promptfoo and its `echo` provider what needs no model, imports its results and the same configuration,
and compares every verdict. It wants PyYAML, and promptfoo with Node 22 (`npx -p node@22 -p promptfoo@latest promptfoo`).

Configurations of strangers are not trusted: programs in files are never run, nor code that reaches beyond its arguments.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

MODEL_GRADED = {
    "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance",
    "conversation-relevance", "factuality", "g-eval", "llm-rubric", "model-graded-closedqa", "model-graded-factuality",
    "moderation", "pi", "search-rubric", "select-best", "max-score", "similar", "webhook", "guardrails", "python", "ruby",
}
REACHES_OUT = re.compile(r"require|process|import|fetch|child_process|globalThis|constructor|file://|package:|https?://")


def configurations(folder):
    for path in sorted(pathlib.Path(folder).rglob("promptfooconfig*")):
        if path.suffix in (".yaml", ".yml", ".json") and "node_modules" not in path.parts and path.is_file():
            yield path


def repository(path, folder):
    return pathlib.Path(folder) / path.relative_to(folder).parts[0]


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=180, **more)


def imported(evalrs, path, root, to):
    return run([evalrs, "import", str(path), "-o", str(to), "--root", str(root), "--json", "--force"])


def share(args):
    totals, reasons, problems, lines = collections.Counter(), collections.Counter(), [], []
    repositories = set()
    for path in configurations(args.folder):
        root = repository(path, args.folder)
        name = f"{root.name.replace('+', '/')} {path.relative_to(root)}"
        with tempfile.TemporaryDirectory() as to:
            ran = imported(args.evalrs, path, root, to)
            if ran.returncode != 0:
                problems.append(f"{name}: exit {ran.returncode}: {ran.stderr.strip().splitlines()[:1]}")
                totals["not readable" if ran.returncode == 2 else "panics"] += 1
                continue
            report = json.loads(ran.stdout)
            totals["configurations"] += 1
            repositories.add(root.name)
            for part, counts in report["parts"].items():
                totals[f"{part} mapped"] += counts["mapped"]
                totals[f"{part} not mapped"] += counts["not_mapped"]
            lefts = [left for left in report["not_mapped"] if left["part"] == "assertions"]
            # A place and a type may be named several times, with a reason for each test.
            places = {(left["file"], left["line"], left["what"]) for left in lefts}
            totals["assertions named once"] += len(places)
            for left in lefts:
                reasons[(left["what"], left["reason"][:90])] += 1
            totals["secrets"] += len(report["secrets"])
            mapped = report["parts"].get("assertions", {}).get("mapped", 0)
            lines.append(f"{name}\t{mapped}\t{len(places)}")
            for suite in report["suites"]:
                checked = run([args.evalrs, "validate", suite["file"]], cwd=to)
                totals[f"validate exit {checked.returncode}"] += 1
                if checked.returncode != 0:
                    problems.append(f"{name} {suite['file']}: {checked.stderr.strip()[:400]}")
    for name, count in sorted(totals.items()):
        print(f"{count:8} {name}")
    mapped, left = totals["assertions mapped"], totals["assertions named once"]
    print(f"{len(repositories)} repositories; share of assertions mapped: {mapped}/{mapped + left} = {100 * mapped / max(1, mapped + left):.1f} %")
    for (what, why), count in reasons.most_common(60):
        print(f"{count:6} {what}: {why}")
    for problem in problems[:60]:
        print("!", problem)
    if args.list:
        pathlib.Path(args.list).write_text("\n".join(lines) + "\n")


def needs_no_model(assertion):
    if not isinstance(assertion, dict):
        return False
    kind = str(assertion.get("type", "")).removeprefix("not-")
    if kind == "assert-set":
        assertion["assert"] = [inner for inner in assertion.get("assert") or [] if needs_no_model(inner)]
        return bool(assertion["assert"])
    if kind in MODEL_GRADED or kind.startswith(("promptfoo:", "trac", "traj", "perplexity", "is-valid")):
        return False
    return not REACHES_OUT.search(json.dumps(assertion)) if kind == "javascript" or "transform" in assertion else "file://" not in json.dumps(assertion)


def for_echo(path):
    """The configuration with `echo` and with what needs no model; none where programs make its prompts or tests."""
    import yaml

    config = yaml.safe_load(path.read_text(errors="replace"))
    if not isinstance(config, dict) or any(name in config for name in ("redteam", "extensions", "nunjucksFilters")):
        return None
    config["providers"] = ["echo"]
    kept = {name: config[name] for name in ("description", "prompts", "providers", "tests", "defaultTest", "scenarios") if name in config}
    kept["providers"] = ["echo"]
    everything = json.dumps(kept, default=str)
    if re.search(r"\.(js|cjs|mjs|ts|py|rb|pdf|png|jpg|mp3|wav|xlsx)\b", everything) and "file://" in everything or "http" in str(kept.get("tests"))[:4]:
        kept = without_programs(kept)
    tests = [kept.get("defaultTest")] + [test for test in kept.get("tests") or [] if isinstance(test, dict)] if not isinstance(kept.get("tests"), str) else [kept.get("defaultTest")]
    for scenario in kept.get("scenarios") or []:
        if isinstance(scenario, dict):
            tests += (scenario.get("config") or []) + (scenario.get("tests") or []) if isinstance(scenario.get("tests") or [], list) else []
    for test in tests:
        if isinstance(test, dict):
            for name in ("options",):
                if isinstance(test.get(name), dict):
                    test[name] = {key: value for key, value in test[name].items() if key in ("prefix", "suffix", "disableVarExpansion") or key == "transform" and not REACHES_OUT.search(str(value))}
            test.pop("provider", None)
            test.pop("assertScoringFunction", None)
            if isinstance(test.get("assert"), list):
                test["assert"] = [assertion for assertion in test["assert"] if needs_no_model(assertion)]
    return kept


def without_programs(config):
    is_program = lambda value: isinstance(value, str) and re.search(r"\.(js|cjs|mjs|ts|py|rb|pdf|png|jpg|mp3|wav|xlsx)\b", value) and ("file://" in value or "/" in value)
    config = dict(config)
    prompts = config.get("prompts")
    if isinstance(prompts, list):
        config["prompts"] = [prompt for prompt in prompts if not is_program(json.dumps(prompt, default=str))]
    tests = config.get("tests")
    if isinstance(tests, list):
        config["tests"] = [test for test in tests if not (isinstance(test, str) and is_program(test)) and not (isinstance(test, dict) and (is_program(str(test.get("path", ""))) or is_program(json.dumps(test.get("vars"), default=str))))]
    return config if config.get("prompts") else None


def overall(row, result):
    """Whether a row passes: every grader of the gate that it names."""
    return all(result["grades"][name]["pass"] for name in row["deciding"] if name in result["grades"])


def evaluated(args, folder):
    """Rows of an imported folder with the grades that they got."""
    ran = run([args.evalrs, "run", "suite.yaml", "--format", "jsonl"], cwd=folder)
    results = [json.loads(line) for line in ran.stdout.split("\n") if line.startswith("{")]
    rows = [json.loads(line) for line in (folder / "dataset.jsonl").read_text().split("\n") if line] if (folder / "dataset.jsonl").exists() else []
    return rows, {(result["sample_id"], result.get("trial") or 0): result for result in results}, ran


def as_json(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None if text is None else text


def gate_of(folder):
    import yaml

    gate = yaml.safe_load((folder / "suite.yaml").read_text()).get("gate") or {}
    return {condition["metric_key"] for condition in gate.get("conditions", [gate] if gate else [])}


def parity(args):
    totals, differences, used = collections.Counter(), [], []
    words = shlex.split(args.promptfoo)
    environment = dict(os.environ, PROMPTFOO_DISABLE_TELEMETRY="1", PROMPTFOO_DISABLE_UPDATE="1", PROMPTFOO_CACHE_ENABLED="false")
    for path in configurations(args.folder):
        root = repository(path, args.folder)
        name = f"{root.name.replace('+', '/')} {path.relative_to(root)}"
        try:
            config = for_echo(path)
        except Exception as error:
            totals["configurations that PyYAML cannot read"] += 1
            continue
        if not config or not config.get("prompts"):
            totals["configurations without prompts to echo"] += 1
            continue
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            environment["PROMPTFOO_CONFIG_DIR"] = str(work / "home")
            copy = path.parent / f".echo-{path.stem}.json"
            try:
                copy.write_text(json.dumps(config, default=str))
                output = work / "results.json"
                try:
                    ran = run(words + ["eval", "-c", str(copy), "-o", str(output), "--no-table", "--no-cache", "--no-progress-bar"], env=environment, cwd=path.parent)
                except subprocess.TimeoutExpired:
                    totals["configurations where promptfoo takes too long"] += 1
                    continue
                if not output.exists():
                    totals["configurations that promptfoo refuses"] += 1
                    continue
                said = json.loads(output.read_text())["results"]["results"]
                from_config = imported(args.evalrs, copy, root, work / "config")
                from_results = imported(args.evalrs, output, work, work / "results")
            finally:
                copy.unlink(missing_ok=True)
            if from_config.returncode or from_results.returncode:
                differences.append(f"{name}: not imported: {from_config.stderr[:200]} {from_results.stderr[:200]}")
                continue
            used.append(name)
            compare(args, name, said, work, json.loads(from_config.stdout), totals, differences)
    for name, count in sorted(totals.items()):
        print(f"{count:8} {name}")
    print(f"{len(used)} configurations compared")
    for difference in differences:
        print("!", difference[:600])
    if args.list:
        pathlib.Path(args.list).write_text("\n".join(used) + "\n")


def compare(args, name, said, work, report, totals, differences):
    rows, results, ran = evaluated(args, work / "results")
    for row in rows:
        result = results.get((row["id"], row.get("trial") or 0))
        for grader, verdict in row["promptfoo"].items():
            if not isinstance(verdict, dict):
                continue
            grade = (result or {}).get("grades", {}).get(grader)
            if grade is None:
                totals["assertions without a grade"] += 1
                differences.append(f"{name} {row['id']} {grader}: no grade: {ran.stderr[:300]}")
                continue
            if verdict.get("weight") == 0:
                # promptfoo calls every assertion of no weight a pass.
                totals["assertions without weight"] += 1
                continue
            totals["assertions compared"] += 1
            if grade["error"] or grade["pass"] != verdict["pass"]:
                totals["assertions that differ"] += 1
                differences.append(f"{name} {row['id']} {grader}: promptfoo {verdict['pass']} ({str(verdict['reason'])[:100]!r}), evalrs {grade['pass']} {grade['error'] or grade['rationale'][:120]!r} output {str(row['output'])[:80]!r}")
            elif abs(grade["score"] - min(1, max(0, verdict["score"] or 0))) > 1e-9:
                totals["scores that differ"] += 1
    if any(left["part"] in ("assertions", "prompts", "tests", "test files", "thresholds") for left in report["not_mapped"]):
        totals["configurations of which not all mapped: tests as a whole not compared"] += 1
        return
    rows, results, ran = evaluated(args, work / "config")
    deciding = gate_of(work / "config")
    by_id = {row["id"]: row for row in rows}
    for case in said:
        # Each prompt is a column, and `echo` the only provider.
        number = case["promptIdx"]
        ids = [f"test-{case['testIdx'] + 1}", f"test-{case['testIdx'] + 1}.prompt-{number + 1}"]
        row = next((by_id[one] for one in reversed(ids) if one in by_id), None)
        if row is None:
            totals["tests without a row"] += 1
            differences.append(f"{name} {ids}: no row")
            continue
        result = results.get((row["id"], 0))
        asked = case["prompt"]["raw"]
        if row["input"] != asked and as_json(row["input"]) != as_json(asked):
            totals["prompts that differ"] += 1
            differences.append(f"{name} {row['id']}: prompt {row['input']!r:.120} is not {asked!r:.120}")
        row["deciding"] = [grader for grader in row["graders"] if grader in deciding]
        passes = result is not None and overall(row, result)
        totals["tests compared"] += 1
        if passes != case["success"]:
            totals["tests that differ"] += 1
            differences.append(f"{name} {row['id']}: promptfoo {case['success']}, evalrs {passes}: {case.get('error') or ''!s:.200} {ran.stderr[:200] if result is None else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["share", "parity"])
    parser.add_argument("folder")
    parser.add_argument("--evalrs", default=shutil.which("evalrs") or "target/debug/evalrs")
    parser.add_argument("--promptfoo", default="npx -y -p node@22 -p promptfoo@latest promptfoo")
    parser.add_argument("--list", help="writes the names of the configurations to this file")
    args = parser.parse_args()
    args.evalrs = os.path.abspath(args.evalrs)
    {"share": share, "parity": parity}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
