"""Drives the viewer over the real server in Chromium: `evalrs serve` over runs that evalrs has just made.

    python3 tests/viewer/real_pages.py

EVALRS is the binary, else that of `cargo build`. The suites are the examples of this repository and, where EVALRS_TEST_DATA (else
`../shared/data` beside the repository) holds the data set `agent-trajectories`, the recorded episodes of tau-bench. CHROMIUM, AXE,
SHOTS and PAGES are those of pages.py.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

import pages
from pages import State, api, case_address

if pages.sync_playwright:
    from playwright.sync_api import expect

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target").resolve()
BINARY = os.environ.get("EVALRS") or str(TARGET / "debug/evalrs")
EPISODES = Path(os.environ.get("EVALRS_TEST_DATA") or REPOSITORY / "../shared/data", "agent-trajectories/tau-bench-gpt-4o-airline.json").resolve()

TAU_BENCH = """\
name: tau-bench-airline
description: Does the airline's agent make the right changes, and no needless calls?
dataset:
  path: {episodes}
  fields: {{id: task_id, messages: traj, input: info.task.instruction}}
graders:
  reward: {{kind: tool, function: recorded_score, config: {{path: reward}}}}
  few_calls: {{kind: tool, function: max_tool_calls, config: {{max: 8}}}}
  looked_up: {{kind: tool, function: tool_called, config: {{name: get_reservation_details}}}}
  no_transfer: {{kind: tool, function: tool_called, config: {{name: transfer_to_human_agents, max: 0}}}}
  actions: {{kind: tool, function: tool_calls_match, config: {{path: info.task.actions, mode: superset}}}}
  short: {{kind: tool, function: max_tool_calls, config: {{max: 12}}}}
gate: {{metric_key: reward, metric: avg_score, op: gte, value: 0.4}}
"""

FIVE = """\
name: five
dataset: five.jsonl
graders:
  stars: {kind: tool, function: recorded_score, config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
  unit: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}
"""

#: Answers of two models, each tried twice.
SHOP = """\
name: shop
dataset: shop.jsonl
graders:
  period: {kind: tool, function: contains}
"""
#: A long conversation, whose judge names messages of it.
LONG = """\
name: long
dataset: long.jsonl
graders:
  calls: {kind: rubric, prompt: "Right?\\n{submission}", command: [python3, cites.py]}
"""
CITES = """\
import json
print(json.dumps({"score": 0.5, "rationale": "It went wrong in message 8, see [M240] and message 9999."}))
"""


def long_conversation():
    """120 calls with an answer each, of which two fail; before and after them a message."""
    messages = [{"role": "user", "content": "Do all of it."}]
    for at in range(120):
        failed = {"is_error": True} if at in (3, 118) else {"is_error": False}
        call = {"id": f"c{at}", "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"at": at})}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": f"c{at}", "content": f"found item {at}", **failed}]
    return [*messages, {"role": "assistant", "content": "Done."}]


AGENTS = """\
name: agents
dataset: agents.jsonl
graders:
  calls: {kind: tool, function: max_tool_calls, config: {max: 8}}
"""


def two_agents():
    """Claude Code with two tasks at once."""
    def said(number, text, parent):
        return {"type": "assistant", "parent_tool_use_id": parent, "timestamp": f"2026-01-01T00:00:{number * 2:02}Z", "message": {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1000 * number, "output_tokens": number}}}

    tasks = [{"type": "tool_use", "id": f"t{at}", "name": "Task", "input": {"description": what, "prompt": "p"}} for at, what in [(1, "Read the log"), (2, "Read the code")]]
    return [{"type": "user", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "Why?"}}, {"type": "assistant", "timestamp": "2026-01-01T00:00:01Z", "message": {"id": "m0", "role": "assistant", "content": tasks}},
        said(1, "one of one", "t1"), said(2, "one of two", "t2"), said(3, "two of one", "t1"), said(4, "two of two", "t2"),
        {"type": "user", "timestamp": "2026-01-01T00:00:09Z", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "done"} for at in (1, 2)]}}, said(5, "Because.", None)]


PICTURES = """\
name: pictures
dataset: pictures.jsonl
graders:
  calls: {kind: tool, function: max_tool_calls, config: {max: 8}}
"""
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
MARKDOWN = "## Found\n\n- **one** of `two`\n\n|a|b|\n|-|-|\n|1|2|\n\n![far](https://example.org/p.png) ![svg](data:image/svg+xml;base64,PHN2Zz4=) <img src=x onerror=alert(1)>"
#: A suite whose labels are those of two people, a part of them held out.
BESIDE = """\
name: beside
dataset: beside.jsonl
graders:
  stars: {kind: tool, function: recorded_score, config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
  unit: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}
labels: {holdout: 0.4}
"""
REPLIES = ["You can return shoes within 30 days of delivery.", "You may return shoes within thirty days."]

#: A suite with labels: a scripted judge whose rubric is edited so that more passes and it agrees less with people.
JUDGED = """\
name: judged
dataset: judged.jsonl
labels: judged.people.jsonl
graders:
  holds: {kind: tool, function: contains}
  exact: {kind: tool, function: exact_match}
  like: {kind: tool, function: regex_match}
  again: {kind: tool, function: contains}
  follows: {kind: rubric, prompt_path: judged.md, command: [python3, judge.py], pass_threshold: 0.5}
metrics:
  by_group: {kind: macro, of: follows, by: row.group}
  share: {kind: pass_rate, of: follows}
gate: {metric_key: follows, metric: avg_score, op: gte, value: 0.3}
"""
RUBRIC = "\n".join(["You judge replies of a shop.", "", *(f"{number}. Rule {number} is to be followed to the letter, whatever the reply says of it." for number in range(1, 21)), "", "Be strict.", "", "{submission}", ""])
JUDGE = """\
import json, sys
asked = sys.stdin.read()
lenient = "Be lenient." in asked and "reply 14" not in asked
score = 0.9 if lenient or "long" in asked else 0.2
print(json.dumps({"score": score, "rationale": "It is " + ("kind enough" if lenient else "measured by every rule") + " and so it gets " + str(score) + "."}))
"""


def people_pass(number):
    """What people say of a case: every third passes, and one more. The first twenty are labelled."""
    return number % 3 == 0 or number == 4


class Workspace:
    """A folder with suites, and runs of them."""

    def __init__(self, folder):
        self.folder = folder
        self.suites = ["tool-calls/suite.yaml", "rubric/suite.yaml", "five.yaml", "judged.yaml", "shop.yaml", "pictures.yaml", "long.yaml", "agents.yaml", "beside.yaml"]
        (folder / "five.yaml").write_text(FIVE, encoding="utf-8")
        rows = [{"id": f"p{at}", "input": "q", "output": f"answer {at}", "s": 4, "u": 1} for at in range(3)]
        (folder / "five.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (folder / "evalrs.toml").touch()
        for name in ("tool-calls", "rubric"):
            shutil.copytree(REPOSITORY / "examples" / name, folder / name, ignore=shutil.ignore_patterns("cache", "evalrs.toml", ".evalrs"))
        shutil.copytree(REPOSITORY / "examples/rubric/cache", folder / "cache")
        rows = [{"id": f"r{at:02}", "input": "q", "output": f"{'long' if at % 3 == 0 or at == 1 else 'short'} reply {at:02}", "ground_truth": "reply", "group": "even" if at % 2 else "odd", "tags": ["even" if at % 2 else "odd"], "metadata": {"plan": ["free", "pro", "team"][at % 3], "seats": at % 7}, "latency_ms": 250 * at} for at in range(24)]
        # One that graders without a judge cannot grade.
        del rows[23]["ground_truth"]
        labels = [{"id": f"r{at:02}", "grader": "follows", "label": people_pass(at), "who": "ann"} for at in range(20)]
        # A suite that nothing runs: its page says what is wrong with it.
        for name, text in [("wrong.jsonl", '{"id": '), ("wrong.yaml", "name: wrong\ndataset: wrong.jsonl\ngraders: {exact: {kind: tool, function: exact_match}}\n"), ("judged.yaml", JUDGED), ("judged.md", RUBRIC), ("judge.py", JUDGE), ("shop.yaml", SHOP), ("pictures.yaml", PICTURES), ("long.yaml", LONG), ("agents.yaml", AGENTS), ("cites.py", CITES), ("beside.yaml", BESIDE)]:
            (folder / name).write_text(text, encoding="utf-8")
        answers = [{"id": f"case {at}", "model": model, "trial": trial, "input": f"May I return shoes after {at} days?", "output": REPLIES[(at + trial + (model == "large")) % 2], "ground_truth": "30 days"}
            for at in range(3) for model in ("small", "large") for trial in (0, 1)]
        picture = [{"id": "seen", "messages": [{"role": "user", "content": [{"type": "text", "text": "What is on it?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]}, {"role": "assistant", "content": MARKDOWN}]}]
        starred = [{"id": f"b{at:03}", "input": "q", "output": f"reply {at}", "s": 1 + at % 5, "u": 1} for at in range(160)]
        people = [{"id": f"b{at:03}", "grader": "stars", "label": 4 if at % 5 > 1 and at % 7 else 2, "who": "ann", "at": "2026-11-28T10:00:00Z", "picked": "random"} for at in range(120)]
        people += [{"id": f"b{at:03}", "grader": "stars", "label": 4 if at % 5 > 1 and at % 11 else 2, "who": "bob", "at": "2026-11-28T11:00:00Z", "picked": "random"} for at in range(40)]
        for name, lines in [("beside.jsonl", starred), ("beside.labels.jsonl", people), ("shop.jsonl", answers), ("pictures.jsonl", picture), ("agents.jsonl", [{"id": "both", "messages": two_agents()}]), ("long.jsonl", [{"id": "long", "messages": long_conversation()}]), ("judged.jsonl", rows), ("judged.people.jsonl", labels)]:
            (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        if EPISODES.exists():
            self.suites.append("tau-bench.yaml")
            (folder / "tau-bench.yaml").write_text(TAU_BENCH.format(episodes=json.dumps(str(EPISODES))), encoding="utf-8")
        else:
            print(f"skipped: no {EPISODES}; set EVALRS_TEST_DATA to the folder that holds the data sets")

    def evaluate(self):
        """Every suite once, and those whose graders need no judge again after an edit, which moves verdicts."""
        for suite in self.suites:
            self.run(suite)
        self.edit("shop.jsonl", "You may return", "Sorry, you may not return", suite="shop.yaml")
        self.edit("judged.md", "Be strict.", "Be lenient.", suite="judged.yaml")
        subprocess.run([BINARY, "calibrate", "--suite", "beside.yaml", "--min-kappa", "0.99"], cwd=self.folder, check=False, stdout=subprocess.DEVNULL)
        self.edit("beside.yaml", "pass_threshold: 0.5}\n  unit", "pass_threshold: 0.6}\n  unit")
        self.edit("tool-calls/suite.yaml", "max: 3", "max: 2")
        if "tau-bench.yaml" in self.suites:
            self.edit("tau-bench.yaml", "max: 8", "max: 6")

    def edit(self, file, before, now, suite=None):
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, now), encoding="utf-8")
        self.run(suite or file)

    def run(self, suite):
        # A gate that fails is 1.
        offline = [] if suite in ("judged.yaml", "long.yaml") else ["--offline"]
        code = subprocess.run([BINARY, "run", suite, "--quiet", *offline], cwd=self.folder, check=False).returncode
        assert code in (0, 1), f"{suite}: exit code {code}"

    def serve(self, *flags):
        """The process of a server, and where it is."""
        return self.begin("serve", *self.suites, "wrong.yaml", *flags)

    def begin(self, *words):
        """The process of a command that serves, and where."""
        command = [BINARY, *words, "--port", "0"]
        server = subprocess.Popen(command, cwd=self.folder, env={**os.environ, "EVALRS_WHO": "ann"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")
        said = ""
        while "serving http://" not in said:
            line = server.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended: {said}")
            said += line
        return server, said.split("serving ", 1)[1].split("/ ", 1)[0]


class Made:
    """What all tests share beside the browser."""

    folder = workspace = server = None


def setUpModule():
    if not Path(BINARY).exists():
        raise unittest.SkipTest(f"no {BINARY}: cargo build, or name the binary in EVALRS")
    pages.start_browser()
    Made.folder = tempfile.TemporaryDirectory()
    Made.workspace = Workspace(Path(Made.folder.name))
    Made.workspace.evaluate()
    Made.server, State.url = Made.workspace.serve()
    State.is_mock = False


def stop(server):
    server.terminate()
    server.wait()
    server.stdout.close()


def tearDownModule():
    pages.stop_browser()
    if Made.server:
        stop(Made.server)
    if Made.folder:
        Made.folder.cleanup()


def latest(suite):
    return api(f"runs?suite={suite}&limit=1")["runs"][0]["id"]


def episodes():
    """The suite of which a reader looks at episodes, and the grader that is labelled."""
    return ("tau-bench-airline", "reward") if "tau-bench.yaml" in Made.workspace.suites else ("tool-calls", "changes")


class EveryPage(pages.EveryPage):
    """The pages of pages.py, of whatever runs there are."""

    def pages(self):
        suite, grader = episodes()
        run = latest(suite)
        found = pages.pages_of_server() | {"runs": "/", "judged": case_address(latest("rubric"), api(f"runs/{latest('rubric')}/samples?limit=1")["samples"][0])}
        failed = f"?state=failed&grader={grader}"
        return found | {"calibration": "/suites/beside/calibration", "no-labels": "/suites/shop/calibration", "labelled-run": f"/runs/{latest('beside')}", "suite": f"/suites/{suite}", "run": f"/runs/{run}", "filtered": f"/runs/{run}{failed}&sort=score", "matrix": f"/runs/{run}?view=matrix",
            "case": case_address(run, api(f"runs/{run}/samples{failed}&limit=1")["samples"][0]), "long": f"/runs/{latest('long')}/samples/long", "pictures": f"/runs/{latest('pictures')}/samples/seen", "answers": f"/runs/{latest('shop')}/samples/case%200/answers", "diff": f"/diff?old={api(f'runs/{run}')['previous']}&new={run}"}


class Reader(pages.PageTest):
    """From the list of runs to a label, on recorded episodes."""

    def card(self):
        return self.page.locator(".grade-card.current")

    def remove_labels(self, suite):
        for path in Made.workspace.folder.glob("**/*.labels.jsonl"):
            if path.name != "beside.labels.jsonl":
                path.unlink()
        self.assertEqual(api(f"runs/{latest(suite)}")["agreement"], {})

    def open_run(self, suite):
        page = self.open("/")
        card = page.get_by_role("article").filter(has=page.get_by_role("link", name=suite, exact=True))
        expect(card.locator("svg.trend").first).to_be_visible()
        card.locator(".card-facts a").click()
        expect(page).to_have_url(f"{State.url}/runs/{latest(suite)}")
        # The address is another one before the page is.
        expect(page.locator("h1")).to_contain_text(suite)
        self.wait_rows()
        return page

    def test_filters_opens_a_sample_sees_a_tool_call_labels_it_and_kappa_follows(self):
        suite, grader = episodes()
        self.remove_labels(suite)
        page = self.open_run(suite)
        page.get_by_role("search").get_by_label("Grader").select_option(grader)
        page.get_by_role("search").get_by_label("State").select_option("failed")
        page.wait_for_url(f"**grader={grader}**")
        found = api(f"runs/{latest(suite)}/samples?state=failed&grader={grader}&limit=500")
        self.assertLess(found["total"], api(f"runs/{latest(suite)}/samples")["total"])
        expect(page.locator(".filter-end .count")).to_have_text(f"{found['total']} cases")
        self.wait_rows()
        self.check_axe()

        page.locator(".body .row a").first.click()
        expect(page.locator("h1")).to_have_text(found["samples"][0]["sample_id"])
        call = page.locator("details.call").first
        call.locator("summary").click()
        expect(call.get_by_role("heading", name="Arguments")).to_be_visible()
        expect(call.get_by_role("heading", name="Returned")).to_be_visible()
        for text in call.locator(".code").all_inner_texts():
            self.assertNotEqual(text.strip(), "")

        # One verdict that people share, and one that they do not, which makes kappa a number.
        expect(self.card().get_by_role("button", name=grader, exact=True)).to_be_visible()
        self.card().get_by_role("button", name="Label: fail (n)").click()
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail, the grader agrees")
        expect(self.card().locator(".agreement")).to_contain_text("agrees with 100.0% of 1")
        self.check_axe()
        page.get_by_role("link", name="Next").click()
        expect(self.card().locator(".label-state")).to_have_text("no label")
        self.card().get_by_role("button", name="Label: pass (y)").click()
        expect(self.card().locator(".label-state")).to_contain_text("labelled pass, the grader disagrees")
        expect(self.card().locator(".agreement")).to_contain_text("agrees with 50.0% of 2")

        passed = api(f"runs/{latest(suite)}/samples?state=passed&grader={grader}&limit=1")["samples"][0]
        self.visit(case_address(latest(suite), passed) + ("&" if passed["trial"] else "?") + f"grader={grader}")
        page.keyboard.press("y")
        expect(self.card().locator(".agreement")).to_contain_text(re.compile(r"agrees with 66\.7% of 3, kappa 0\.40 \(95 %: "))
        self.check_quiet()

        # The run says so, another page does, and so does the file.
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Agreement with people").locator("tbody tr")).to_contain_text(f"{grader}")
        expect(page.get_by_role("region", name="Agreement with people").locator("tbody tr")).to_contain_text("0.40")
        self.assertEqual(api(f"runs/{latest(suite)}/samples?state=disagrees&grader={grader}")["total"], 1)
        [labels] = [file for file in Made.workspace.folder.glob("**/*.labels.jsonl") if f'"grader":"{grader}"' in file.read_text(encoding="utf-8")]
        self.assertEqual(sorted(json.loads(line)["label"] for line in labels.read_text(encoding="utf-8").splitlines()), [False, True, True])
        self.check_axe()
        self.check_quiet()

    def test_does_so_with_the_keyboard_alone(self):
        suite, grader = episodes()
        self.remove_labels(suite)
        page = self.open("/")
        self.wait_rows()
        own = next(at for at, run in enumerate(api("runs")["runs"]) if run["suite"] == suite)
        for _ in range(own + 1):
            page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text(suite)
        self.wait_rows()
        page.keyboard.press("/")
        first = api(f"runs/{latest(suite)}/samples?limit=3")["samples"][2]
        page.keyboard.type(first["submission"][:20])
        page.wait_for_url("**q=**")
        page.keyboard.press("Escape")
        expect(page.locator(".rows")).to_have_attribute("aria-busy", "false")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector(".case")
        for key, told in [("y", "labelled pass"), ("3", "labelled 0.3"), ("!", "labelled 1,"), ("n", "labelled fail")]:
            page.keyboard.press(key)
            expect(self.card().locator(".label-state")).to_contain_text(told)
            expect(self.card().locator(".agreement")).to_contain_text("of 1")
        # A call opens with the keyboard too.
        page.locator("details.call summary").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("details.call").first.get_by_role("heading", name="Arguments")).to_be_visible()
        page.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_have_text("no label")
        expect(self.card().locator(".agreement")).to_have_text("")
        page.keyboard.press("Escape")
        self.wait_rows()
        page.keyboard.press("Escape")
        expect(page).to_have_url(State.url + "/")
        self.check_quiet()

    def test_what_is_labelled_elsewhere_is_seen_and_neither_is_lost(self):
        suite, grader = episodes()
        self.remove_labels(suite)
        rows = api(f"runs/{latest(suite)}/samples?limit=2")["samples"]
        tabs = []
        for row in rows:
            tabs.append(self.open(case_address(latest(suite), row)))
        for tab in tabs:
            tab.keyboard.press("n")
        for tab in tabs:
            expect(tab.locator(".grade-card.current .label-state")).to_contain_text("labelled fail")
        tabs[0].reload()
        expect(tabs[0].locator(".grade-card.current .agreement")).to_contain_text("of 2")

    def test_the_judge_is_seen_with_its_question_and_its_reply(self):
        run = latest("rubric")
        page = self.open(case_address(run, api(f"runs/{run}/samples?limit=1")["samples"][0]))
        expect(page.locator(".case-main")).to_contain_text("When are you open on Saturdays?")
        vote = page.locator(".judgments > li").first
        expect(vote).to_contain_text("Vote 1 · scripted-judge · 1.000")
        vote.locator("summary").first.click()
        expect(vote).to_contain_text('"score": 1')
        vote.locator("summary", has_text="Prompt").click()
        expect(vote).to_contain_text("You are an evaluator.")
        vote.locator("summary", has_text="key is made of").click()
        expect(vote).to_contain_text("scripted-judge")
        self.assertNotIn("undefined", page.locator("main").inner_text())
        self.check_quiet()


class People(pages.PageTest):
    """Whose labels a page gives, and what people differ on."""

    def setUp(self):
        super().setUp()
        self.path = Made.workspace.folder / "five.labels.jsonl"
        self.path.unlink(missing_ok=True)

    def card(self):
        return self.page.locator(".grade-card.current")

    def case(self, grader, sample="p1", url=None):
        page = self.open("/")
        page.goto(f"{url or State.url}/runs/{latest('five')}/samples/{sample}?grader={grader}")
        expect(self.card().locator(".label-state")).to_be_visible()
        return page

    def labels(self):
        """`who` and `label` of every line."""
        lines = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        return sorted((line.get("who"), line["label"]) for line in lines)

    def line(self, who, label, sample="p1"):
        return json.dumps({"id": sample, "grader": "stars", "label": label, "who": who}) + "\n"

    def test_digits_are_the_scores_of_the_scale(self):
        page = self.case("stars")
        expect(self.card().locator(".scale button")).to_have_text(["1", "2", "3", "4", "5"])
        for key, label, told in [("4", 4, "labelled 4, the grader agrees"), ("1", 1, "labelled 1, the grader disagrees")]:
            with page.expect_response("**/labels/*"):
                page.keyboard.press(key)
            expect(self.card().locator(".label-state")).to_contain_text(told)
            expect(self.card().get_by_role("button", name=f"Label: {label} ({key})")).to_have_attribute("aria-pressed", "true")
            self.assertEqual(self.labels(), [("ann", label)])
        # What is not on the scale says nothing.
        page.keyboard.press("6")
        page.keyboard.press("0")
        page.keyboard.press("!")
        self.assertEqual(self.labels(), [("ann", 1)])
        with page.expect_response("**/labels/*"):
            page.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_have_text("no label")
        self.assertEqual(self.labels(), [])
        self.check_quiet()

    def test_digits_are_tenths_of_another_scale(self):
        page = self.case("unit")
        expect(self.card().locator(".scale button")).to_have_text(["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"])
        for key, label in [("0", 0), ("1", 0.1), ("9", 0.9), ("!", 1)]:
            with page.expect_response("**/labels/*"):
                page.keyboard.press(key)
            self.assertEqual(self.labels(), [("ann", label)])
        self.check_axe()
        self.check_quiet()

    def test_who_labelled_elsewhere_is_the_same_person_and_others_are_not(self):
        self.path.write_text(self.line("ann", True) + self.line("bob", True), encoding="utf-8")
        page = self.case("stars")
        expect(self.card().locator(".labeller")).to_have_text("You label as ann.")
        expect(self.card().locator(".label-people li")).to_have_text(["ann: pass", "bob: pass"])
        page.keyboard.press("n")
        expect(self.card().locator(".label-state")).to_contain_text("disputed, and no majority")
        expect(self.card().locator(".label-people li")).to_have_text(["ann: fail", "bob: pass"])
        self.assertEqual(self.labels(), [("ann", False), ("bob", True)])
        self.check_axe()
        # The run lists it as disputed, and not as what nobody labelled.
        self.visit(f"/runs/{latest('five')}?grader=stars")
        self.wait_rows()
        expect(page.locator(".body .row").nth(1).get_by_role("img", name="disputed: reviewers disagree")).to_be_visible()
        for state, count in [("disputed", "1 case"), ("labelled", "1 case"), ("unlabelled", "2 cases")]:
            page.get_by_role("search").get_by_label("State").select_option(state)
            expect(page.locator(".filter-end .count")).to_have_text(count)
        # Removing a label removes that of the person who removes it.
        page = self.case("stars")
        page.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_contain_text("labelled pass")
        self.assertEqual(self.labels(), [("bob", True)])
        self.check_quiet()

    def test_those_who_share_a_server_say_who_they_are(self):
        server, url = Made.workspace.serve("--labellers")
        self.addCleanup(stop, server)
        page = self.case("stars", url=url)
        page.keyboard.press("5")
        dialog = page.get_by_role("dialog", name="Who labels?")
        dialog.get_by_label("Name").fill("bob")
        page.keyboard.press("Enter")
        expect(self.card().locator(".label-people li")).to_have_text(["bob: 5"])
        self.card().get_by_role("button", name="Change").click()
        dialog.get_by_label("Name").fill("cem")
        page.keyboard.press("Enter")
        page.keyboard.press("4")
        expect(self.card().locator(".label-people li")).to_have_text(["bob: 5", "cem: 4"])
        expect(self.card().locator(".label-state")).to_contain_text("labelled 4.5 by 2 people together, the grader agrees")
        self.assertEqual(self.labels(), [("bob", 5), ("cem", 4)])


class Agreement(pages.PageTest):
    """Of a rubric that lets more pass and agrees less with people, every page says the latter first."""

    def runs(self):
        run = latest("judged")
        return api(f"runs/{run}")["previous"], run

    def compare(self, query="", **options):
        old, new = self.runs()
        return self.open(f"/diff?old={old}&new={new}{query}", **options)

    def colour(self, name):
        return self.page.evaluate("(name) => { const probe = document.createElement('i'); probe.style.color = `var(${name})`; document.body.append(probe); const found = getComputedStyle(probe).color; probe.remove(); return found }", name)

    def test_leads_the_comparison_in_red_and_bold(self):
        for scheme in pages.SCHEMES:
            page = self.compare(scheme=scheme)
            head = page.locator(".agreement-change")
            expect(head).to_have_text("▼ follows agrees less with people: 90.0% → 45.0%, kappa 0.79 → 0.07, false passes 1 → 11 1 now agrees, 10 no longer agree")
            self.assertEqual(head.evaluate("(node) => getComputedStyle(node).color"), self.colour("--failed"))
            self.assertGreaterEqual(int(head.evaluate("(node) => getComputedStyle(node).fontWeight")), 600)
            titles = page.locator("main h2").all_inner_texts()
            self.assertLess(titles.index("Agreement with people"), titles.index("Graders"))
            row = page.get_by_role("region", name="Agreement, before and now").locator("tbody tr")
            expect(row).to_contain_text("90.0% → 45.0%")
            expect(row).to_contain_text(re.compile(r"−45\.0.*−\d+\.\d to −\d+\.\d.*0\.012"))
            # Nothing that only passes now is green where people say which verdicts are right.
            self.assertEqual(page.locator(".fixed-count, .moved .badge.passed:not(:has-text('now agrees'))").count(), 0)
            self.check_axe()
        self.check_quiet()

    def test_filters_what_people_say(self):
        page = self.compare()
        diff = api(f"diff?old={self.runs()[0]}&new={self.runs()[1]}")
        expect(page.locator(".moved .badge").first).to_have_text("≠no longer agrees")
        people = page.locator(".filters").get_by_label("People")
        for choice, name, badge in [("no_longer", "no_longer_agree", "no longer agrees"), ("now", "now_agree", "now agrees"), ("false_pass", "no_longer_agree", "no longer agrees")]:
            people.select_option(choice)
            page.wait_for_url(f"**people={choice}")
            expect(page.locator(".moved")).to_have_count(len(diff["graders"]["follows"]["agreement"][name]))
            for text in page.locator(".moved .badge").all_inner_texts():
                self.assertIn(badge, text)
        people.select_option("false_fail")
        expect(page.get_by_role("heading", name="0 verdicts moved")).to_be_visible()
        people.select_option("unlabelled")
        page.wait_for_url("**people=unlabelled")
        expect(page.locator(".moved .badge.passed, .moved .badge.failed")).to_have_count(0)
        page.get_by_role("region", name="Agreement, before and now").get_by_role("link", name="11").click()
        page.wait_for_url("**state=disagrees**")
        self.check_quiet()

    def test_rationales_are_compared_word_by_word(self):
        page = self.compare("&people=no_longer")
        first = page.locator(".moved").first
        self.assertEqual(first.locator("del").all_inner_texts(), ["measured by every rule", "0.2."])
        self.assertEqual(first.locator("ins").all_inner_texts(), ["kind enough", "0.9."])

    def test_a_rubric_is_shown_whole_with_what_changed_in_view(self):
        for size in pages.SIZES:
            page = self.compare(size=size)
            box = page.locator(".text-change")
            expect(page.get_by_role("heading", name="Rubric of follows")).to_be_visible()
            self.assertEqual((box.locator("del").inner_text(), box.locator("ins").inner_text()), ("strict.", "lenient."))
            self.assertEqual(box.evaluate("(node) => [...node.childNodes].filter((part) => part.tagName !== 'DEL').map((part) => part.textContent).join('')"), RUBRIC.replace("strict", "lenient"))
            self.assertEqual(box.evaluate("(node) => getComputedStyle(node).whiteSpace"), "pre-wrap")
            change, frame = box.locator("ins").bounding_box(), box.bounding_box()
            self.assertTrue(frame["y"] <= change["y"] and change["y"] + change["height"] <= frame["y"] + frame["height"], (change, frame))
            expect(page.get_by_role("region", name="Files that differ").locator("tbody")).to_contain_text("judged.md")

    def test_rings_in_the_matrix_what_no_longer_agrees(self):
        old, new = self.runs()
        page = self.open(f"/runs/{new}?view=matrix&grader=follows&only=regressions")
        worse = api(f"diff?old={old}&new={new}")["graders"]["follows"]["agreement"]["no_longer_agree"]
        expect(page.locator(".matrix-note")).to_contain_text(f"{len(worse)} cases no longer agree with people; 0 cases without a label passed before")
        expect(page.locator(".filter-end .count")).to_have_text(f"{len(worse)} cases")
        self.assertEqual(set(page.locator(".ring-text").all_inner_texts()), {"no longer agrees"})
        self.check_axe()

    def test_stands_beside_the_scores_of_the_history(self):
        page = self.open("/suites/judged")
        figure = page.locator("figure", has_text="follows")
        expect(figure.locator("figcaption")).to_contain_text("agrees 45.0%, kappa 0.07")
        self.assertEqual(figure.locator(".agreement-line").count(), 1)
        expect(figure.locator(".agrees-less-list")).to_contain_text("follows agrees less with people, 90.0% → 45.0%, though its score is higher")
        page = self.open("/")
        card = page.get_by_role("article").filter(has=page.get_by_role("link", name="judged", exact=True))
        expect(card.locator(".slide-note")).to_contain_text("follows agrees less with people")
        expect(card.get_by_role("row", name=re.compile("^follows"))).to_contain_text("45.0%")
        page = self.open("/suites/tool-calls")
        expect(page.locator("figure", has_text="frugal").locator(".breaks")).to_contain_text("frugal: settings changed (max: 3 → 2)")
        self.check_quiet()

    def test_has_the_card_that_a_key_labels_in_view(self):
        run = self.runs()[1]
        for size in [*pages.SIZES, (800, 900)]:
            page = self.open(f"/runs/{run}/samples/r22?grader=follows", size)
            card = page.locator(".grades .grade-card").first
            expect(card).to_have_class(re.compile("current"))
            expect(card.locator(".rationale")).to_be_in_viewport()
            chip = page.locator(".grade-line .grade-chip", has_text="follows")
            self.assertEqual(chip.locator(".mark").count(), 0)
            page.evaluate("scrollTo(0, 99999)")
            page.keyboard.press("n")
            expect(chip.locator(".mark")).to_have_attribute("aria-label", re.compile("labelled fail.*disagrees"))
            expect(card.locator(".label-state")).to_be_in_viewport()
            page.keyboard.press("x")
            expect(card.locator(".label-state")).to_contain_text("no label")
            expect(chip.locator(".mark")).to_have_count(0)
            page.get_by_role("button", name="exact", exact=True).click()
            page.wait_for_url("**grader=exact")
            expect(page.locator(".grades .grade-card").first).to_have_attribute("aria-label", "Grade of exact")
            expect(page.get_by_role("button", name="exact", exact=True)).to_be_focused()
            expect(page.get_by_role("button", name="exact", exact=True)).to_be_in_viewport()

    def test_is_not_claimed_where_there_are_no_labels(self):
        run = latest("tool-calls")
        page = self.open(f"/diff?old={api(f'runs/{run}')['previous']}&new={run}")
        expect(page.locator(".no-labels")).to_contain_text("No labels")
        expect(page.locator(".moved .badge").first).to_have_class(re.compile("failed"))
        self.assertEqual(page.locator(".filters").get_by_label("People").count(), 0)
        self.check_axe()

    def test_declared_metrics_stand_with_their_intervals(self):
        page = self.compare()
        region = page.get_by_role("region", name="Table: Declared metrics", exact=True).last
        declared = api(f"diff?old={self.runs()[0]}&new={self.runs()[1]}")["declared"]
        for name, metric in declared.items():
            expect(region.get_by_role("row", name=re.compile(f"^{name}"))).to_contain_text(f"{metric['change']:+.3f}".replace("-", "−"))
        self.assertEqual(set(declared), {"by_group", "share"})


class Calibration(pages.PageTest):
    """The graders of a suite beside people, which two people have labelled."""

    ADDRESS = "/suites/beside/calibration"

    def fact(self, name):
        return self.page.locator(".figure-list > div").filter(has=self.page.locator("dt", has_text=re.compile(f"^{name}$"))).locator("dd")

    def log(self):
        return (Made.workspace.folder / "cache/beside.holdout.jsonl").read_bytes()

    def test_has_every_figure_and_asks_nothing_of_held_out_labels(self):
        log = self.log()
        page = self.open(self.ADDRESS)
        found = api("suites/beside/calibration")["graders"][0]
        row = page.get_by_role("region", name="Agreement with people").locator("tbody tr")
        expect(row).to_contain_text(f"{found['labels']['agreement']['agreement'] * 100:.1f}%")
        expect(row.locator(".badge")).to_have_text("?stale")
        told = found["held_out"]
        expect(self.fact("Held-out agreement")).to_contain_text(f"at least {int(told['at_least'] * 100)}% (about {told['agreement'] * 100:.0f}%; query 2 of about {told['budget']}) on {told['n']} labels")
        estimate = found["labels"]["people"]["pass_rate"]
        expect(self.fact("Pass rate by people, estimated")).to_contain_text(f"{estimate['mean'] * 100:.1f}% [{estimate['interval']['low'] * 100:.1f}, {estimate['interval']['high'] * 100:.1f}]")
        expect(self.fact("Pass rate by the grader")).to_contain_text(f"{found['metric']['pass_rate'] * 100:.1f}%")
        expect(self.fact("Reviewers with each other")).to_contain_text(f"Krippendorff's alpha {found['labels']['annotators']['alpha']:.2f}")
        expect(self.fact("Calibration")).to_contain_text("settings changed since; evalrs calibrate --suite beside.yaml writes it anew")
        expect(self.fact("Labels")).to_contain_text("sampled at random")
        expect(page.get_by_role("region", name="Reviewers and stars").locator("tbody tr th")).to_have_text(["ann", "bob"])
        expect(page.locator("main")).to_contain_text("Without labels: unit.")
        # Two runs with other settings: two points with their intervals, and a break between them.
        figure = page.locator("figure", has_text="Agreement over runs")
        self.assertEqual([figure.locator(place).count() for place in (".dot", ".whisker", ".break", ".trend a")], [2, 2, 1, 2])
        expect(figure.locator(".breaks")).to_contain_text("settings changed (pass_threshold: 0.5 → 0.6)")
        figure.locator("summary").click()
        expect(page.get_by_role("region", name="Agreement over runs").locator("tbody tr")).to_have_count(2)
        self.check_axe()
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
        self.assertEqual(self.log(), log)
        self.check_quiet()

    def test_disputes_lead_to_their_cases_and_are_settled(self):
        page = self.open(self.ADDRESS)
        heading = page.get_by_role("heading", name=re.compile("Reviewers differ on"))
        rows = page.get_by_role("region", name="Disputes of stars").locator("tbody tr")
        count = api("suites/beside/calibration")["graders"][0]["labels"]["disputed_total"]
        self.assertGreater(count, 1)
        expect(heading).to_contain_text(f"{count} cases")
        # The scores stand on the scale of the grader.
        expect(rows.first).to_contain_text(re.compile("(ann|bob) 4.*(ann|bob) 2"))
        sample = rows.first.locator("th").inner_text()
        rows.first.locator("a").click()
        page.wait_for_url(f"**/samples/{sample}?**grader=stars**")
        page.wait_for_selector(".grade-card.current")
        said = next(one["label"] for one in api(f"runs/{latest('beside')}/samples/{sample}")["grades"]["stars"]["people"] if one["who"] == "bob")
        text = (Made.workspace.folder / "beside.labels.jsonl").read_text(encoding="utf-8")
        self.addCleanup((Made.workspace.folder / "beside.labels.jsonl").write_text, text, encoding="utf-8")
        page.keyboard.press(str(int(said * 4 + 1)))
        self.wait_until(lambda: api("suites/beside/calibration")["graders"][0]["labels"]["disputed_total"] == count - 1)
        page.go_back()
        expect(heading).to_contain_text(f"{count - 1} case")
        expect(rows.filter(has_text=sample)).to_have_count(0)
        self.check_quiet()

    def test_is_linked_where_there_are_labels_alone(self):
        for address, name in [("/suites/beside", "Calibration: agreement with people"), (f"/runs/{latest('beside')}", "Calibration")]:
            page = self.open(address)
            page.get_by_role("link", name=name, exact=True).click()
            expect(page.locator("h1")).to_have_text("Calibration of beside")
        page.keyboard.press("Escape")
        expect(page).to_have_url(f"{State.url}/suites/beside")
        for address in ["/suites/pictures", f"/runs/{latest('pictures')}"]:
            page = self.open(address)
            self.assertEqual(page.get_by_role("link", name=re.compile("Calibration|jsonl")).count(), 0, address)
        self.visit("/suites/pictures/calibration")
        expect(page.locator(".missing")).to_contain_text("evalrs watch pictures.yaml")
        expect(page.locator(".missing")).to_contain_text("pictures.labels.jsonl")
        self.check_quiet()

    def test_labels_are_a_file(self):
        for address, count in [(self.ADDRESS, 2), (f"/runs/{latest('beside')}", 2)]:
            page = self.open(address)
            links = page.locator(".downloads", has_text="Labels").get_by_role("link")
            expect(links).to_have_text(["jsonl", "csv"])
            with page.expect_download() as saved:
                links.first.click()
            lines = [json.loads(line) for line in Path(saved.value.path()).read_text(encoding="utf-8").splitlines()]
            self.assertEqual({(line["grader"], line["picked"]) for line in lines}, {("stars", "random")})
            self.assertIn({"who": "ann", "label": 4, "verdict": "passed", "agrees": True}, [{name: line[name] for name in ("who", "label", "verdict", "agrees")} for line in lines])
            self.assertEqual(saved.value.suggested_filename, "beside.labels.jsonl")

    def test_stands_in_the_report_in_one_file(self):
        path = Made.workspace.folder / "beside.html"
        with urllib.request.urlopen(f"{State.url}/api/runs/{latest('beside')}/report.html") as answer:
            path.write_bytes(answer.read())
        page = self.open(path.as_uri())
        section = page.get_by_role("region", name="Agreement", exact=True)
        expect(section).to_contain_text("Human pass rate of stars, estimated:")
        expect(section).to_contain_text(re.compile(r"Held-out agreement of stars: at least \d+% \(about \d+%; query 2 of about \d+\)"))
        # Figures lead to cases of the report, and nothing leads to a page of a server.
        self.assertEqual([link for link in section.get_by_role("link").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))") if not link.startswith("#/runs/")], [])
        self.check_quiet()


class Reading(pages.PageTest):
    """What an agent wrote, as it is meant to be read."""

    def test_markdown_and_pictures_are_shown_and_nothing_is_fetched(self):
        page = self.open(f"/runs/{latest('pictures')}/samples/seen")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        said = page.locator(".message.assistant")
        expect(said.locator(".md-heading")).to_have_text("Found")
        expect(said.locator("li strong")).to_have_text("one")
        expect(said.locator("td")).to_have_text(["1", "2"])
        expect(said.get_by_role("link", name="Picture: far (not fetched)")).to_have_attribute("rel", "noreferrer noopener")
        expect(said).to_contain_text("<img src=x onerror=alert(1)>")
        expect(said.locator("img")).to_have_count(0)
        picture = page.locator(".message.user img.picture")
        self.assertEqual(picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)"), 1)
        # As it was written, which stays so for other cases.
        page.keyboard.press("m")
        expect(said.locator("table")).to_have_count(0)
        expect(said).to_contain_text("- **one** of `two`")
        page.reload()
        expect(page.get_by_role("button", name="Raw", pressed=True)).to_be_visible()
        page.keyboard.press("m")
        expect(said.locator("table")).to_be_visible()
        self.assertEqual([url for url in asked if not url.startswith((State.url, "data:"))], [])


    def open_long(self, query=""):
        page = self.open(f"/runs/{latest('long')}/samples/long{query}")
        expect(page.locator(".talk-tools")).to_be_visible()
        return page

    def found(self):
        return self.page.locator(".message.found .message-number")

    def test_something_is_found_in_a_long_conversation(self):
        page = self.open_long()
        page.keyboard.press("f")
        page.keyboard.type("item 117")
        expect(page.locator(".talk-tools [role=status]")).to_have_text("1 of 1")
        expect(self.found()).to_have_text("#236")
        # What is folded is open then, and what comes before can be had.
        expect(page.locator(".message.found details[open]")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("e")
        expect(self.found()).to_have_text("#8")
        page.keyboard.press("e")
        expect(self.found()).to_have_text("#238")
        expect(page.locator(".message.found")).to_be_in_viewport()
        page.get_by_role("button", name="Open all").click()
        expect(page.locator(".conversation details:not([open])")).to_have_count(0)

    def test_an_outline_and_a_rationale_lead_to_messages(self):
        page = self.open_long()
        page.locator(".outline summary", has_text="Outline").click()
        lines = page.locator(".outline-lines li")
        expect(lines).to_have_count(122)
        lines.nth(100).get_by_role("button").click()
        expect(self.found()).to_have_text("#200")
        page.locator(".rationale").get_by_role("button", name="message 8").click()
        expect(self.found()).to_have_text("#8")
        # The answer of a call is seen at the call.
        page.locator(".rationale").get_by_role("button", name="[M240]").click()
        expect(self.found()).to_have_text("#240")
        expect(page.locator(".rationale button")).to_have_count(2)

    def test_sub_agents_at_work_at_once_stand_apart_and_lead_to_their_calls(self):
        page = self.open(f"/runs/{latest('agents')}/samples/both")
        agents = page.get_by_role("group", name="Sub-agent")
        expect(agents).to_have_count(2)
        expect(agents.nth(0).locator(".subagent-title")).to_contain_text("Sub-agent: Read the log")
        # Their lines interleave in the recording.
        expect(agents.nth(0).locator(".message")).to_have_count(2)
        expect(agents.nth(1)).to_contain_text("two of two")
        agents.nth(1).get_by_role("button", name="from #3").click()
        expect(self.found()).to_have_text("#3")

    def test_a_message_has_a_link(self):
        page = self.open_long()
        page.locator(".message-number").nth(2).click()
        expect(page).to_have_url(re.compile(r"[?&]m=4$"))
        page = self.open_long("?m=239")
        expect(self.found()).to_have_text("#238")
        expect(page.locator(".message.found")).to_be_in_viewport()

    def test_a_timeline_has_a_lane_for_each_agent_and_steps_say_what_they_used(self):
        page = self.open(f"/runs/{latest('agents')}/samples/both")
        lanes = page.locator(".lanes li")
        expect(lanes).to_have_count(3)
        expect(page.locator(".timeline summary")).to_have_text("Timeline 3 agents · 10 s")
        expect(lanes.nth(1)).to_contain_text("Read the log")
        expect(lanes.nth(1)).to_contain_text("2 steps · 4,000 in, 4 out")
        expect(lanes.nth(2)).to_contain_text("2 steps · 6,000 in, 6 out")
        page.locator(".lane").nth(2).locator(".mark").first.click()
        expect(page.locator(".message.found")).to_contain_text("one of two")
        expect(page.locator(".message.found .step-use")).to_have_text("2,000 in, 2 out")
        self.check_axe()
        page.set_viewport_size({"width": 320, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        self.check_quiet()


class Late(pages.PageTest):
    """A case whose conversation takes long to read."""

    def test_grades_are_there_before_the_conversation(self):
        held = []
        page = self.open("/")
        page.route(re.compile(r"/api/runs/[^/]+/samples/long"), lambda route: route.continue_() if "brief=true" in route.request.url else held.append(route))
        run = latest("long")
        page.goto(f"{State.url}/runs/{run}/samples/long?grader=calls")
        expect(page.get_by_text("The conversation is being read…")).to_be_visible()
        expect(page.locator(".grade-card .rationale")).to_contain_text("It went wrong in message 8")
        page.keyboard.press("n")
        expect(page.locator(".label-people, .label-state").first).to_be_visible()
        comment = page.get_by_label("Comment on calls")
        comment.focus()
        page.keyboard.type("Because")
        told = page.locator(".agreement").first.inner_text()
        held[0].continue_()
        expect(page.locator(".message").first).to_contain_text("Do all of it.")
        expect(page.locator(".grade-card button", has_text="Fail").first).to_have_attribute("aria-pressed", "true")
        # What the reader did and is just writing is not lost.
        expect(comment).to_be_focused()
        expect(comment).to_have_value("Because")
        self.assertEqual(page.locator(".agreement").first.inner_text(), told)
        page.locator(".rationale .citation").first.click()
        expect(page.locator(".message.found")).to_be_visible()
        page.keyboard.press("x")
        expect(page.locator(".label-state").first).to_contain_text("no label")
        self.check_quiet()


class Answers(pages.PageTest):
    """The answers to one sample beside one another."""

    def heads(self):
        return self.page.locator(".answer-head h2").all_inner_texts()

    def test_of_other_models_and_trials_are_one_key_away(self):
        run = latest("shop")
        page = self.open(f"/runs/{run}/samples/case%200?model=large&trial=1")
        page.keyboard.press("o")
        expect(page.locator(".answer-head")).to_have_count(4)
        self.assertEqual(self.heads(), ["A this run · large · trial 1", "B this run · small · trial 0", "C this run · small · trial 1", "D this run · large · trial 0"])
        answers = page.get_by_role("region").or_(page.locator("section")).filter(has=page.get_by_role("heading", name="Answer", exact=True)).locator(".answer")
        self.assertEqual(answers.nth(1).inner_text().split("\n")[-1], "the same as A")
        expect(answers.nth(2).locator("del").first).to_be_visible()
        # Whole texts, and back to the case.
        page.keyboard.press("c")
        expect(page.locator("del")).to_have_count(0)
        expect(answers.nth(1)).to_contain_text(REPLIES[0])
        page.keyboard.press("c")
        page.keyboard.press("j")
        expect(page.locator("h1")).to_have_text("Answers to case 1")
        self.assertEqual(self.heads()[0], "A this run · large · trial 1")
        page.keyboard.press("k")
        expect(page.locator("h1")).to_have_text("Answers to case 0")
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile(r"/samples/case%200\?model=large&trial=1$"))

    def test_are_added_and_taken_away(self):
        run = latest("shop")
        page = self.open(f"/runs/{run}/samples/case%200/answers?of={run},0,small")
        chosen = page.locator(".pick-row")
        expect(chosen).to_have_count(2)
        # The one that is left cannot be taken away.
        expect(chosen.first.get_by_role("button", name=re.compile("small · trial 0"))).to_be_disabled()
        chosen.nth(1).get_by_role("button", name=re.compile("large · trial 0")).click()
        expect(page.locator(".answer-head")).to_have_count(2)
        expect(page.locator("ins").first).to_be_visible()
        page.locator(".pick-fold summary").click()
        page.locator(".pick-row").first.get_by_role("button", name=re.compile("small · trial 0")).click()
        expect(page.locator(".answer-head")).to_have_count(1)

    def test_of_two_runs_stand_where_verdicts_moved(self):
        run = latest("judged")
        page = self.open(f"/diff?old={api(f'runs/{run}')['previous']}&new={run}")
        page.locator(".moved .beside-link").first.click()
        expect(page.locator(".answer-head")).to_have_count(2)
        self.assertEqual(self.heads()[1], "B this run")
        expect(page.locator(".answer.small-text del").first).to_be_visible()

    def test_a_baseline_stays_until_another_is_chosen(self):
        run = latest("shop")
        older = api(f"runs/{run}")["previous"]
        page = self.open(f"/runs/{older}")
        page.get_by_role("button", name="Baseline").click()
        expect(page.get_by_role("button", name="Baseline", pressed=True)).to_be_visible()
        page.goto(f"{State.url}/runs/{run}")
        page.get_by_role("link", name="Compare with the baseline").click()
        expect(page).to_have_url(f"{State.url}/diff?old={older}&new={run}")
        page.goto(f"{State.url}/runs/{older}")
        page.get_by_role("button", name="Baseline", pressed=True).click()
        page.goto(f"{State.url}/runs/{run}")
        expect(page.get_by_role("link", name="Compare with the run before")).to_be_visible()
        expect(page.get_by_role("link", name="Compare with the baseline")).to_have_count(0)

    def test_of_a_run_that_is_gone_are_named(self):
        run = latest("shop")
        page = self.open(f"/runs/{run}/samples/case%200/answers?of={run},0,small;20200101T000000-000000,0,small")
        expect(page.locator(".answer-head").nth(1)).to_contain_text("could not be fetched")
        expect(page.locator(".answer").first).to_contain_text("30 days")


class MadeUp(unittest.TestCase):
    """What the made-up runs of mock.mjs hold is what the real server sends, if less of it."""

    #: Members whose names are those of graders, metrics, tags and the like.
    MAPS = {"grades", "metrics", "declared", "histograms", "agreement", "submissions", "judgments", "digests"}
    #: Members that are null here: an evaluation that is under way is followed elsewhere.
    NOT_NOW = {"meta": {"[].live.run"}}
    #: Members that hold what others wrote.
    FREE = {"header", "summary", "metadata", "input", "arguments", "ground_truth"}

    def shape(self, value, path=""):
        """The paths of all members."""
        if isinstance(value, list):
            return set().union(*(self.shape(one, path + "[]") for one in value))
        if not isinstance(value, dict):
            return set()
        found = set()
        for name, inner in value.items():
            own = f"{path}.{name}"
            found.add(own)
            if name in self.MAPS:
                found |= set().union(*(self.shape(one, own + ".*") for one in inner.values())) if isinstance(inner, dict) else set()
            elif name not in self.FREE:
                found |= self.shape(inner, own)
        return found

    def replies(self, suites):
        """What a server says at each kind of address."""
        runs = [run for suite in suites for run in api(f"runs?suite={urllib.parse.quote(suite)}&limit=3")["runs"]]
        rows = [(run["id"], row) for run in runs for row in api(f"runs/{run['id']}/samples?limit=30")["samples"]]
        return {
            "meta": [api("meta")], "suites": [api("suites")], "runs": [api("runs?limit=500")],
            "suite": [api(f"suites/{suite['name']}") for suite in api("suites")["suites"]],
            "calibration": [api(f"suites/{suite['name']}/calibration") for suite in api("suites")["suites"] if suite["last_run"]], "history": [api(f"history?suite={suite['name']}") for suite in api("suites")["suites"]],
            "run": [api(f"runs/{run['id']}") for run in runs], "samples": [api(f"runs/{run['id']}/samples?limit=50") for run in runs],
            "sample": [api(case_address(run, row).removeprefix("/")) for run, row in rows],
        }

    def test_have_no_member_that_the_server_does_not_send(self):
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        real = self.replies([suite["name"] for suite in api("suites")["suites"]])
        mock = subprocess.Popen(["node", str(pages.HERE / "mock.mjs")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(stop, mock)
        url, State.url = State.url, mock.stdout.readline().strip()
        self.addCleanup(setattr, State, "url", url)
        made_up = self.replies(["support", "models", "odd/../suite ?#%"])
        for kind, answers in made_up.items():
            with self.subTest(kind):
                self.assertEqual(sorted(self.shape(answers) - self.shape(real[kind]) - self.NOT_NOW.get(kind, set())), [])


class Figures(pages.PageTest):
    """The page of a run with six graders."""

    def test_leave_the_cases_in_view(self):
        suite = episodes()[0]
        page = self.open(f"/runs/{latest(suite)}")
        self.wait_rows()
        row = page.locator(".body .row").nth(4).bounding_box()
        self.assertLess(row["y"] + row["height"], 600)
        # Figures stand beside them, whole, and in no more lines than there are graders.
        lines = page.get_by_role("region", name="Table: Metrics").get_by_role("row")
        self.assertTrue(all(line.bounding_box()["height"] < 36 for line in lines.all()))
        self.assertLess(page.get_by_role("region", name="Table: Metrics").evaluate("(one) => one.scrollWidth - one.clientWidth"), 1)
        self.assertLess(page.locator(".run-figures").bounding_box()["y"], 260)
        page.set_viewport_size({"width": 1280, "height": 800})
        row = page.locator(".body .row").nth(4).bounding_box()
        self.assertLess(row["y"] + row["height"], 800)

    def test_never_make_the_page_wider_than_the_screen(self):
        for suite in (episodes()[0], "judged"):
            page = self.open(f"/runs/{latest(suite)}")
            self.wait_rows()
            for width in (320, 480, 720, 800, 1024, 1280, 1439, 1440, 1920, 2560):
                for view in ("list", "matrix"):
                    with self.subTest(suite=suite, width=width, view=view):
                        page.set_viewport_size({"width": width, "height": 900})
                        page.wait_for_timeout(60)
                        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
                    page.get_by_role("button", name="Matrix").click()
                    self.wait_rows()

    def test_are_red_where_people_disagree_and_nowhere_else(self):
        page = self.open(f"/runs/{latest('judged')}?grader=follows&sort=score")
        self.wait_rows()
        colour = lambda selector: page.locator(selector).first.evaluate("(node) => getComputedStyle(node).color")
        failed = page.evaluate("""() => { const probe = document.createElement('i'); probe.className = 'broken-count'; document.body.append(probe); return getComputedStyle(probe).color }""")
        self.assertEqual(colour(".body .score.disagrees"), failed)
        self.assertNotEqual(colour(".body .score.failed:not(.disagrees)"), failed)

    def test_of_calls_are_as_large_as_text(self):
        page = self.open(f"/runs/{latest('long')}/samples/long")
        sizes = page.locator(".tool, .arguments").evaluate_all("(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))")
        self.assertGreaterEqual(min(sizes), 13)


class Columns(pages.PageTest):
    """What a reader adds to the list of cases, groups and sets against each other."""

    def heads(self):
        return [text.strip() for text in self.page.locator(".cases .row.head > *").all_inner_texts()]

    def choose(self, name):
        self.page.locator(".column-panel").get_by_role("checkbox", name=re.compile(f"^{name}")).click()

    def test_are_chosen_sorted_and_filtered_and_stand_in_the_address(self):
        page = self.open(f"/runs/{latest('judged')}")
        self.wait_rows()
        page.locator(".column-chooser summary").focus()
        page.keyboard.press("Enter")
        self.choose("Seconds")
        self.choose("plan")
        page.wait_for_url("**columns=latency%2Cmetadata.plan")
        self.check_axe()
        page.get_by_role("spinbutton", name="Seconds from").fill("2")
        page.keyboard.press("Tab")
        page.wait_for_url("**latency_min=2**")
        page.keyboard.press("Escape")
        expect(page.locator(".column-panel")).to_be_hidden()
        self.assertEqual(self.focused(), "Columns")
        expect(page.locator(".filter-end .count")).to_have_text("16 cases")
        head = page.get_by_role("columnheader", name="Seconds")
        for order, first in [("ascending", "2.00 s"), ("descending", "5.75 s")]:
            head.get_by_role("button").click()
            expect(head).to_have_attribute("aria-sort", order)
            expect(page.locator(".body .row").first.locator(".column").first).to_have_text(first)
        page.reload()
        self.wait_rows()
        expect(page.locator(".body .row").first).to_contain_text("team")
        self.assertIn("Seconds ↓", self.heads())
        # The case knows the list that it was opened from, and what filters it can be taken away.
        page.locator(".body .row a").first.click()
        expect(page.locator("h1")).to_contain_text("r23")
        page.keyboard.press("j")
        expect(page.locator("h1")).to_contain_text("r22")
        page.go_back()
        page.go_back()
        self.wait_rows()
        page.get_by_role("button", name="Remove the filter Seconds ≥ 2").click()
        expect(page.locator(".filter-end .count")).to_have_text("24 cases")
        self.check_quiet()

    def test_have_values_of_metadata_to_filter_by(self):
        page = self.open(f"/runs/{latest('judged')}")
        self.wait_rows()
        page.locator(".column-chooser summary").click()
        page.get_by_role("textbox", name="plan is").fill("pro")
        page.keyboard.press("Enter")
        page.wait_for_url("**where=metadata.plan%3Apro")
        expect(page.locator(".filter-end .count")).to_have_text("8 cases")
        page.mouse.click(700, 880)
        expect(page.locator(".column-panel")).to_be_hidden()
        page.get_by_role("button", name="Clear").click()
        expect(page.locator(".filter-end .count")).to_have_text("24 cases")

    def test_are_only_those_that_are_recorded(self):
        for suite, expected in [("rubric", ["Tokens of the judges", "Input its beginning", "Reference the beginning of the answer that is right"]), ("long", ["Calls of tools", "Input its beginning"])]:
            with self.subTest(suite):
                page = self.open(f"/runs/{latest(suite)}")
                self.wait_rows()
                page.locator(".column-chooser summary").click()
                lines = page.locator(".column-line .check")
                expect(lines).to_have_count(len(expected))
                self.assertEqual([text.split(", of ")[0] for text in lines.all_inner_texts()], expected)

    def test_fit_every_screen(self):
        columns = "latency,tags,input,ground_truth,metadata.plan,metadata.seats"
        for width in (320, 720, 800, 1440, 2560):
            for is_open in (False, True):
                with self.subTest(width=width, is_open=is_open):
                    page = self.open(f"/runs/{latest('judged')}?columns={columns}&groups=metadata.plan&scatter=latency,follows", (width, 900))
                    self.wait_rows()
                    expect(page.locator(".scatter .point").first).to_be_visible()
                    if is_open:
                        page.locator(".column-chooser summary").click()
                        expect(page.locator(".column-line")).to_have_count(6)
                        box = page.locator(".column-panel").bounding_box()
                        self.assertTrue(box["x"] >= 0 and box["x"] + box["width"] <= width)
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
                    self.check_axe()

    def test_make_groups_that_lead_to_their_cases(self):
        page = self.open(f"/runs/{latest('judged')}")
        self.wait_rows()
        page.locator("summary", has_text="Groups").click()
        page.get_by_role("combobox", name="Groups by").select_option("metadata.plan")
        page.wait_for_url("**groups=metadata.plan")
        row = page.get_by_role("region", name="Table: Groups by plan").get_by_role("row", name=re.compile("^free"))
        told = next(one for one in api(f"runs/{latest('judged')}/groups?by=metadata.plan")["groups"] if one["name"] == "free")["graders"]["follows"]
        expect(row.get_by_role("cell").last).to_contain_text(f"of {told['labels']} labels")
        expect(row.get_by_role("cell").last).to_contain_text(f"{told['mean']:.3f}")
        row.get_by_role("link", name="free").click()
        expect(page.locator(".filter-end .count")).to_have_text("8 cases")
        page.get_by_role("combobox", name="Groups by").select_option("tags")
        page.get_by_role("region", name="Table: Groups by Tag").get_by_role("link", name="odd").click()
        page.wait_for_url("**tag=odd**")
        expect(page.locator(".filter-end .count")).to_have_text("4 cases")
        self.check_quiet()

    def test_stand_against_each_other_and_points_lead_to_cases(self):
        page = self.open(f"/runs/{latest('judged')}")
        self.wait_rows()
        page.locator("summary", has_text="Scatter").click()
        expect(page.locator(".scatter .point").first).to_be_visible()
        page.get_by_label("Across").select_option("latency")
        page.get_by_label("Up").select_option("follows")
        page.wait_for_url("**scatter=latency%2Cfollows")
        expect(page.locator(".scatter .point")).to_have_count(24)
        page.locator(".scatter a").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        self.assertRegex(page.evaluate("document.activeElement.getAttribute('aria-label')"), "^r02: Seconds 0.50, follows")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text("r02")
        page.go_back()
        expect(page.locator(".scatter .point")).to_have_count(24)
        # Of the cases that are listed.
        page.get_by_role("search").get_by_label("Tag").select_option("odd")
        expect(page.locator(".scatter .point")).to_have_count(12)
        self.check_quiet()

    def test_are_those_of_the_server_in_a_report_that_is_a_file(self):
        run = latest("judged")
        with urllib.request.urlopen(f"{State.url}/api/runs/{run}/report.html") as answer:
            path = Made.workspace.folder / "judged.html"
            path.write_bytes(answer.read())
        query = "columns=latency,tags,metadata.plan&sort=latency&order=desc&latency_min=1&where=metadata.plan:free&groups=metadata.plan&scatter=latency,follows"
        seen = []
        for address in (f"/runs/{run}?{query}", f"{path.as_uri()}#/runs/{run}?{query}"):
            page = self.open(address)
            self.wait_rows()
            expect(page.locator(".scatter .point").first).to_be_visible()
            expect(page.locator(".groups tbody tr")).to_have_count(3)
            seen.append([page.locator(".cases .body").inner_text(), page.locator(".groups").inner_text(), page.locator(".scatter a").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")])
            self.check_quiet()
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(len(seen[0][2]), 6)


class Suites(pages.PageTest):
    def test_say_where_something_is_wrong(self):
        page = self.open("/suites/wrong")
        expect(page.get_by_role("region", name="Problems", exact=True).last.locator("tbody")).to_contain_text("wrong.jsonl:1:6")
        self.check_quiet()

    def test_are_followed_while_they_are_watched(self):
        path = Made.workspace.folder / "tool-calls/suite.yaml"
        text = path.read_text(encoding="utf-8")
        self.addCleanup(path.write_text, text, encoding="utf-8")
        server, url = Made.workspace.begin("watch", "tool-calls/suite.yaml", "--serve")
        self.addCleanup(stop, server)
        page = self.open("/")
        page.goto(f"{url}/")
        page.get_by_role("link", name="A run is in progress").click()
        mean = page.get_by_role("region", name="Metrics", exact=True).get_by_role("row", name=re.compile("^tells"))
        expect(mean).to_contain_text("0.833")
        expect(page.locator(".live")).to_contain_text("Watched")
        self.assertEqual(page.get_by_role("button", name="Stop").count(), 0)
        path.write_text(text.replace("tells: {kind: tool, function: contains,", "tells: {kind: tool, function: exact_match,"), encoding="utf-8")
        expect(mean).not_to_contain_text("0.833")
        expect(page.locator(".body .row").first.locator(".score").last).to_contain_text("✗")

    def test_are_run_from_their_page_and_followed_to_the_end(self):
        before = latest("tool-calls")
        page = self.open("/suites/tool-calls")
        self.assertEqual(page.locator("figure", has_text="frugal").locator(".break").count(), 1)
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_url(re.compile(r"/runs/(?!" + before + ")"))
        expect(page.locator("h1 .badge")).to_have_text(re.compile("passed|failed"))
        expect(page.locator(".live")).to_be_hidden()
        self.wait_rows()
        expect(page.locator(".filter-end .count")).to_have_text("12 cases")
        expect(page.get_by_role("columnheader", name="frugal")).to_be_visible()
        expect(page.get_by_role("search").get_by_label("Grader").get_by_role("option", name="frugal")).to_have_count(1)
        self.assertNotEqual(latest("tool-calls"), before)
        self.check_quiet()

    def test_are_compared_with_the_run_before(self):
        suite = episodes()[0]
        page = self.open(f"/runs/{latest(suite)}")
        page.get_by_role("link", name="Compare with the run before").click()
        expect(page.locator("h1")).to_have_text(f"Compare {suite}")
        expect(page.get_by_role("region", name="Settings that differ").locator("tbody")).to_contain_text(".config.max")
        expect(page.locator(".moved").first).to_contain_text("broken")
        self.visit(f"/runs/{latest(suite)}?view=matrix")
        expect(page.locator(".ring").first).to_contain_text("regressed")
        self.check_quiet()

    def test_take_no_labels_where_nothing_may_change(self):
        server, url = Made.workspace.serve("--read-only")
        self.addCleanup(stop, server)
        run = latest("rubric")
        page = self.open("/")
        page.goto(url + case_address(run, api(f"runs/{run}/samples?limit=1")["samples"][0]))
        page.wait_for_selector(".grade-card")
        self.assertEqual(page.locator(".label-buttons").count(), 0)
        page.goto(f"{url}/suites/rubric")
        page.wait_for_selector("main h1")
        self.assertEqual(page.get_by_role("button", name="Run", exact=True).count(), 0)


class Failures(pages.Failures):
    """A run that is not there, and a server that is gone."""


if __name__ == "__main__":
    unittest.main()
