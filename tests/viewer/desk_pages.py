"""A person without a terminal: labels cases and improves a rubric over the real server, in Chromium.

    python3 tests/viewer/desk_pages.py

EVALRS is the binary, else that of `cargo build`. CHROMIUM, AXE and SHOTS are those of pages.py.
"""

import json
import tempfile
import unittest
from pathlib import Path

import pages
import real_pages
from pages import State, api
from real_pages import BINARY, Workspace, stop

if pages.sync_playwright:
    from playwright.sync_api import expect

    # Each judgment starts a process.
    expect.set_options(timeout=60_000)

SUITE = """\
# The support desk of a shop.
name: desk
dataset: desk.jsonl
graders:
  # What a person would accept.
  helpful:
    kind: rubric
    prompt: |  # keep it short
      Is the reply polite?

      {submission}
    command: [python3, judge.py]
    pass_threshold: 0.5
gate: {metric_key: helpful, metric: avg_score, op: gte, value: 0.1}
"""
#: Wants what the rubric names: a polite word, the period.
JUDGE = """\
import json, re, sys
asked = sys.stdin.read()
reply = re.search(r"<submission[^>]*>(.*?)</submission", asked, re.S).group(1)
wants = [(word, found) for word, found in [("polite", "Thank"), ("period", "30 days")] if word in asked.replace(reply, "")]
missing = [word for word, found in wants if found not in reply]
print(json.dumps({"score": 0.0 if missing else 1.0, "rationale": "It lacks: " + ", ".join(missing) if missing else "It has all of it."}))
"""
COUNT = 34
LABELLED = 30


def is_polite(number):
    return number % 3 != 0


def has_period(number):
    return number % 4 != 0


def reply(number):
    return ("Thank you. " if is_polite(number) else "") + ("Return them within 30 days." if has_period(number) else "Return them some time.") + f" Number {number}."


class Desk(Workspace):
    """A folder with the suite of a support desk, whose people label replies that are polite and name the period."""

    def __init__(self, folder):
        self.folder = folder
        self.suites = ["desk.yaml"]
        (folder / "evalrs.toml").touch()
        rows = [{"id": f"c{at:02}", "input": "May I return shoes?", "output": reply(at)} for at in range(COUNT)]
        labels = [{"id": f"c{at:02}", "grader": "helpful", "label": is_polite(at) and has_period(at), "who": "ann", "picked": "random"} for at in range(LABELLED)]
        for name, text in [("desk.yaml", SUITE), ("judge.py", JUDGE), ("wrong.yaml", SUITE.replace("name: desk", "name: wrong"))]:
            (folder / name).write_text(text, encoding="utf-8")
        for name, lines in [("desk.jsonl", rows), ("desk.labels.jsonl", labels)]:
            (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def run(self, suite):
        super().run(suite) if suite != "desk.yaml" else real_pages.subprocess.run([BINARY, "run", suite, "--quiet"], cwd=self.folder, check=True)


class DeskTest(pages.PageTest):
    """Each test has a desk of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.desk = Desk(Path(folder.name))
        self.desk.run("desk.yaml")
        server, State.url = self.desk.serve()
        self.addCleanup(stop, server)
        super().setUp()

    def text(self, name):
        return (self.desk.folder / name).read_text(encoding="utf-8")


class Rubrics(DeskTest):
    """The editor of a rubric."""

    def editor(self, query=""):
        page = self.open(f"/suites/desk/graders/helpful{query}")
        return page.get_by_role("textbox", name="Text of the rubric of helpful")

    def test_a_rubric_is_improved_in_the_browser_alone(self):
        page = self.open("/suites/desk")
        page.get_by_role("link", name="helpful").click()
        editor = page.get_by_role("textbox", name="Text of the rubric of helpful")
        expect(editor).to_have_value("Is the reply polite?\n\n{submission}\n")
        price = page.locator(".price")
        expect(price).to_contain_text("No call: all 30 judgments are cached")
        editor.fill("Is the reply polite, and does it name the period?\n\n{submission}\n")
        expect(price).to_contain_text("30 calls")
        expect(page.get_by_text("Changed, not saved.")).to_be_visible()
        page.keyboard.press("Control+Enter")
        headline = page.locator(".agreement-change")
        expect(headline).to_contain_text("agrees more with people")
        expect(headline).to_contain_text("→ 100.0%")
        assert self.text("desk.yaml") == SUITE, "a try writes no file"
        row = page.get_by_role("region", name="Table: Tries").get_by_role("row").nth(1)
        expect(row).to_contain_text("100.0%")
        expect(row).to_contain_text("30")
        # A verdict that moved, and back: nothing is lost.
        page.locator(".moved-list h3 a").first.click()
        expect(page.locator(".rationale").first).to_contain_text("It lacks: period")
        page.go_back()
        expect(editor).to_have_value("Is the reply polite, and does it name the period?\n\n{submission}\n")
        expect(headline).to_contain_text("agrees more with people")
        editor.press("Control+s")
        expect(page.get_by_text("As in the file.")).to_be_visible()
        assert self.text("desk.yaml") == SUITE.replace("Is the reply polite?", "Is the reply polite, and does it name the period?")
        expect(row).to_contain_text("saved")
        expect(price).to_contain_text("This text was tried")
        self.check_axe()
        for width in (320, 800, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
        self.check_quiet()

    def test_a_worse_try_is_red_and_an_earlier_text_comes_back(self):
        editor = self.editor()
        page = self.page
        editor.fill("Is the reply good?\n{submission}\n")
        page.get_by_role("button", name="Try ").click()
        expect(page.locator(".agreement-change.agrees-less")).to_contain_text("agrees less with people")
        editor.fill("Does it name the period?\n{submission}\n")
        page.get_by_role("button", name="Try ").click()
        rows = page.get_by_role("region", name="Table: Tries").get_by_role("row")
        expect(rows).to_have_count(3)
        rows.nth(1).get_by_role("button", name="Use this text").click()
        expect(editor).to_have_value("Is the reply good?\n{submission}\n")
        page.get_by_role("button", name="Revert to the file").click()
        expect(editor).to_have_value("Is the reply polite?\n\n{submission}\n")

    def test_what_another_wrote_is_not_written_over(self):
        editor = self.editor()
        page = self.page
        editor.fill("Mine. {submission}")
        (self.desk.folder / "desk.yaml").write_text(SUITE.replace("Is the reply polite?", "Theirs."), encoding="utf-8")
        editor.press("Control+s")
        expect(page.get_by_text("The file was changed meanwhile.").first).to_be_visible()
        expect(editor).to_have_value("Mine. {submission}")
        assert "Theirs." in self.text("desk.yaml")
        page.get_by_role("button", name="Save over it").click()
        expect(page.get_by_text("As in the file.")).to_be_visible()
        assert "Mine. {submission}" in self.text("desk.yaml")

    def test_cases_are_chosen_and_mistakes_are_told(self):
        editor = self.editor("?sample=c03")
        page = self.page
        expect(page.get_by_label("Try on")).to_have_value("sample")
        editor.fill("Rate from 1 to 5.\n{submission}")
        expect(page.locator(".price")).to_contain_text("1 call")
        expect(page.locator(".rubric-edit .warnings")).to_contain_text("1 to 5")
        page.get_by_label("Try on").select_option("all")
        expect(page.locator(".price")).to_contain_text("34 calls")
        editor.fill("Is it {polite}?")
        expect(page.locator(".price")).to_contain_text("which no row has")
        editor.fill(" ")
        page.get_by_role("button", name="Try ").click()
        expect(page.locator(".notice.failure")).to_contain_text("a rubric is not empty")

    def test_one_judgment_is_repeated_with_its_price(self):
        run = api("runs/latest")["id"]
        page = self.open(f"/runs/{run}/samples/c03?grader=helpful")
        page.get_by_role("button", name="Repeat the judgment").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("1 call")
        self.check_axe()
        dialog.get_by_role("button", name="Call the judge again").click()
        page.wait_for_url("**/answers?**")
        expect(page.locator("main")).to_contain_text("It lacks: polite")
        assert api("runs/latest")["id"] == run, "a trial is never the latest run"
        assert api("runs?limit=9")["total"] == 1

    def test_a_server_that_only_reads_tries_nothing(self):
        server, State.url = self.desk.serve("--read-only")
        self.addCleanup(stop, server)
        editor = self.editor()
        expect(self.page.get_by_text("This server only reads")).to_be_visible()
        assert editor.get_attribute("readonly") is not None
        expect(self.page.get_by_role("button", name="Try ")).to_have_count(0)


class Queue(DeskTest):
    """Labels one after the other, by keys alone."""

    expected_errors = ("404",)

    def lines(self):
        return [json.loads(line) for line in self.text("desk.labels.jsonl").splitlines()]

    def test_cases_are_labelled_in_order_with_reasons_and_taken_back(self):
        page = self.open(f"/runs/{api('runs/latest')['id']}")
        page.get_by_role("link", name="What to label next").click()
        self.wait_rows()
        assert self.count_text() == f"{COUNT - LABELLED} cases"
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        line = page.locator(".queue-line")
        expect(line).to_contain_text("1 of 4 left")
        expect(line).to_contain_text("picked at random")
        expect(line).to_contain_text("30 labels of helpful")
        first = page.locator("h1").inner_text()
        # A comment and a category go with the label, which moves on.
        page.keyboard.press("t")
        page.keyboard.type("No period")
        page.get_by_label("Category of helpful").fill("facts")
        page.get_by_label("Category of helpful").press("Escape")
        page.keyboard.press("n")
        expect(line).to_contain_text("1 of 3 left")
        assert page.locator("h1").inner_text() != first
        given = next(one for one in self.lines() if one["id"] == first)
        assert (given["label"], given["picked"], given["category"], given["comment"], given["who"]) == (False, "random", "facts", "No period", "ann"), given
        page.keyboard.press("y")
        expect(line).to_contain_text("1 of 2 left")
        # Back to the one before, and to the first.
        page.keyboard.press("u")
        expect(line).to_contain_text("of 3 left")
        page.keyboard.press("u")
        expect(page.locator("h1")).to_have_text(first)
        expect(line).to_contain_text("1 of 4 left")
        assert len(self.lines()) == LABELLED
        page.keyboard.press("u")
        expect(page.locator(".notice")).to_contain_text("There is no label to take back.")
        page.get_by_label("Category of helpful").fill("facts")
        page.get_by_label("Category of helpful").press("Escape")
        page.keyboard.press("n")
        expect(line).to_contain_text("1 of 3 left")
        page.keyboard.press("Escape")
        page.goto(f"{State.url}/runs/{api('runs/latest')['id']}?category=facts")
        self.wait_rows()
        assert self.count_text() == "1 case"
        self.check_quiet()

    def test_a_comment_of_a_label_that_is_there_is_kept(self):
        page = self.open(f"/runs/{api('runs/latest')['id']}/samples/c03")
        comment = page.get_by_label("Comment on helpful")
        comment.fill("Not polite.")
        comment.press("Enter")
        expect(page.locator(".label-people")).to_contain_text("Not polite.")
        given = next(one for one in self.lines() if one["id"] == "c03")
        assert (given["comment"], given["label"]) == ("Not polite.", False), given
        self.check_axe()


def setUpModule():
    if not Path(BINARY).exists():
        raise unittest.SkipTest(f"no {BINARY}: cargo build, or name the binary in EVALRS")
    pages.start_browser()
    State.is_mock = False


def tearDownModule():
    pages.stop_browser()


if __name__ == "__main__":
    unittest.main()
