"""Drives the viewer in Chromium, as a reader does: every page, narrow and wide, light and dark, with keys alone.

    python3 tests/viewer/pages.py                 against a server of made-up runs (mock.mjs)
    EVALRS_URL=http://… python3 tests/viewer/pages.py    against `evalrs serve`; what needs the made-up runs is skipped

CHROMIUM is the browser, else the first that is found; AXE is the file axe.min.js of axe-core, else that of node_modules.
SHOTS is a folder for pictures of the pages, if they are wanted; PAGES a pattern of the pages that are looked at.
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

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    sync_playwright = None

HERE = Path(__file__).resolve().parent
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
GIVEN = os.environ.get("EVALRS_URL", "").rstrip("/")
SIZES = [(320, 700), (1440, 900)]
#: Where columns beside each other no longer fit.
BETWEEN = (800, 900)
SCHEMES = ["light", "dark"]
#: Rules of WCAG 2.2 A and AA.
#: Rules of good practice that every page keeps.
AXE_PRACTICE = {name: {"enabled": True} for name in ["heading-order", "landmark-unique"]}
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
NEWEST = "20261122T062324-aa0000"
BULK = "20261121T120000-bulk01"
MODELS = "20261120T120000-modl01"
ODD = "20200101T000000-odd001"
LIVE = "20261123T080000-live01"

needs_mock = unittest.skipIf(GIVEN, "needs the made-up runs")


def axe_source():
    """The text of axe-core, or None."""
    candidates = [os.environ.get("AXE"), *(folder / "node_modules/axe-core/axe.min.js" for folder in [HERE, *HERE.parents])]
    return next((Path(path).read_text() for path in candidates if path and Path(path).exists()), None)


class State:
    """What all tests share: the browser and the server."""

    browser = playwright = server = None
    url = GIVEN
    is_mock = not GIVEN
    axe = axe_source()


def start_browser():
    if sync_playwright is None:
        raise unittest.SkipTest("playwright is not installed: pip install playwright")
    if CHROMIUM is None:
        raise unittest.SkipTest("no Chromium: install it, or name it in CHROMIUM")
    State.playwright = sync_playwright().start()
    State.browser = State.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def stop_browser():
    if State.browser:
        State.browser.close()
        State.playwright.stop()


def setUpModule():
    start_browser()
    if not GIVEN:
        if shutil.which("node") is None:
            raise unittest.SkipTest("node is not installed, which the server of made-up runs needs")
        State.server = subprocess.Popen(["node", str(HERE / "mock.mjs")], stdout=subprocess.PIPE, text=True)
        State.url = State.server.stdout.readline().strip()


def tearDownModule():
    stop_browser()
    if State.server:
        State.server.kill()
        State.server.wait()
        State.server.stdout.close()


def api(path):
    """The data of a request."""
    with urllib.request.urlopen(f"{State.url}/api/{path}") as answer:
        return json.load(answer)["data"]


class PageTest(unittest.TestCase):
    """A page in a fresh context. Whatever it says on the console or asks of others is a failure."""

    expected_errors = ()

    def setUp(self):
        if State.is_mock:
            urllib.request.urlopen(urllib.request.Request(f"{State.url}/forget", method="POST")).close()

    def open(self, address="/", size=(1440, 900), scheme="light", **options):
        context = State.browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(15_000)
        self.faults, self.elsewhere = [], []
        page.on("console", lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.elsewhere.append(request.url) if not request.url.startswith((State.url, "data:", "file:", "blob:")) else None)
        self.page = page
        self.visit(address)
        return page

    def visit(self, address):
        self.page.goto(address if address.startswith("file:") else State.url + address)
        self.page.wait_for_selector("main h1")

    def check_quiet(self):
        faults = [text for text in self.faults if not any(part in text for part in self.expected_errors)]
        self.assertEqual(faults, [])
        self.assertEqual(self.elsewhere, [])

    def check_axe(self):
        if State.axe is None:
            self.skipTest("no axe-core: npm install axe-core, or name axe.min.js in AXE")
        self.page.evaluate(State.axe)
        found = self.page.evaluate("([tags, rules]) => axe.run(document, { runOnly: tags, rules }).then((found) => found.violations)", [AXE_TAGS, AXE_PRACTICE])
        problems = [(one["id"], node["html"][:160], node["failureSummary"][:300]) for one in found for node in one["nodes"][:3]]
        self.assertEqual(problems, [])

    def wait_until(self, is_so):
        """Lets the page work until something is so, at most 30 s."""
        for _ in range(600):
            if is_so():
                return
            self.page.wait_for_timeout(50)
        self.fail("waited in vain")

    def wait_rows(self):
        self.page.wait_for_selector(".body .row a")
        self.page.wait_for_selector('.rows[aria-busy="false"]')

    def count_text(self):
        return self.page.locator(".filter-end .count").inner_text()

    def focused(self):
        return self.page.evaluate("document.activeElement.textContent")


def pages_of_mock():
    return {
        "runs": "/", "suite": "/suites/support", "calibration": "/suites/support/calibration", "run": f"/runs/{NEWEST}", "filtered": f"/runs/{NEWEST}?state=failed&grader=quality&sort=score",
        "case": f"/runs/{NEWEST}/samples/return-00005?grader=quality", "hostile": f"/runs/{NEWEST}/samples/" + hostile_id(), "no-conversation": f"/runs/{NEWEST}/samples/{with_number(47)}",
        "choose": "/diff", "matrix": f"/runs/{NEWEST}?view=matrix", "models": f"/runs/{MODELS}?view=matrix", "bulk": f"/runs/{BULK}", "live": f"/runs/{LIVE}",
        "odd": f"/runs/{ODD}", "odd-matrix": f"/runs/{ODD}?view=matrix", "odd-suite": "/suites/" + urllib.parse.quote("odd/../suite ?#%", safe=""),
        "odd-case": odd_case(0), "odd-case-1": odd_case(1), "odd-case-ungraded": odd_case(6), "missing": "/runs/none", "nowhere": "/nowhere",
    }


def pages_of_server():
    found = {"runs": "/"}
    runs = api("runs?limit=50")["runs"]
    if not runs:
        return found
    run = runs[0]["id"]
    found |= {"run": f"/runs/{run}", "suite": f"/suites/{runs[0]['suite']}", "matrix": f"/runs/{run}?view=matrix", "choose": "/diff", "missing": "/runs/none"}
    samples = api(f"runs/{run}/samples?limit=1")["samples"]
    if samples:
        found["case"] = case_address(run, samples[0])
    previous = api(f"runs/{run}")["previous"]
    if previous:
        found["diff"] = f"/diff?old={previous}&new={run}"
    return found


def case_address(run, row):
    place = "&".join(f"{name}={urllib.parse.quote(str(row[name]))}" for name in ("model", "trial") if row[name])
    return f"/runs/{run}/samples/{urllib.parse.quote(row['sample_id'], safe='')}" + (f"?{place}" if place else "")


def hostile_id():
    row = api(f"runs/{NEWEST}/samples?limit=4")["samples"][3]
    return urllib.parse.quote(row["sample_id"], safe="")


def odd_case(number):
    return case_address(ODD, api(f"runs/{ODD}/samples?limit=1&skip={number}")["samples"][0])


def with_number(number):
    return api(f"runs/{NEWEST}/samples?limit=1&skip={number}")["samples"][0]["sample_id"]


class EveryPage(PageTest):
    expected_errors = ("404 (Not Found)",)

    def pages(self):
        return pages_of_mock() if State.is_mock else pages_of_server()

    def test_is_whole_quiet_and_accessible(self):
        chosen = os.environ.get("PAGES", "")
        for name, address in self.pages().items():
            if not re.match(chosen, name):
                continue
            for size in [*SIZES, BETWEEN]:
                for scheme in SCHEMES if size != BETWEEN else ["light"]:
                    with self.subTest(page=name, width=size[0], scheme=scheme):
                        page = self.open(address, size, scheme)
                        page.wait_for_function("document.getElementById('loading').hidden")
                        page.wait_for_timeout(150)
                        if os.environ.get("SHOTS"):
                            page.screenshot(path=f"{os.environ['SHOTS']}/{name}-{size[0]}-{scheme}.png")
                        self.check_quiet()
                        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, "wider than the screen")
                        self.check_axe()

    def test_does_not_shift(self):
        for name, address in self.pages().items():
            if name == "live":
                continue
            for size in SIZES:
                with self.subTest(page=name, width=size[0]):
                    page = self.open("/diff", size)
                    page.add_init_script("window.shifts = []; new PerformanceObserver((list) => list.getEntries().forEach((one) => shifts.push(one.value))).observe({ type: 'layout-shift', buffered: true })")
                    self.visit(address)
                    page.wait_for_timeout(400)
                    self.assertLess(sum(page.evaluate("shifts")), 0.02)


@needs_mock
class Paper(PageTest):
    """Pages as they are printed, on A4."""

    expected_errors = ("404 (Not Found)",)

    #: Buttons that are the heads of columns, names and citations: on paper they are text.
    TEXTS = ".sort, .grade-card h3 button, .citation, .from-call"

    @staticmethod
    def print(page):
        """As before the dialog of the browser, on a sheet between its margins."""
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")

    def look(self, address, scheme="light"):
        page = self.open(address, scheme=scheme)
        page.wait_for_function("document.getElementById('loading').hidden")
        page.wait_for_timeout(200)
        self.print(page)
        return page

    def visible(self, places):
        return [one.inner_text() or one.evaluate("(node) => node.outerHTML.slice(0, 80)") for one in self.page.locator(places).all() if one.is_visible()]

    def test_has_no_controls_and_everything_folded_is_open(self):
        for name, address in pages_of_mock().items():
            if name in ("live", "missing", "nowhere"):
                continue
            with self.subTest(page=name):
                page = self.look(address)
                self.assertEqual(self.visible(f"button:not({self.TEXTS}), select, input, .downloads, .top"), [])
                folded = page.locator("main details:not([open])").evaluate_all("(all) => all.filter((one) => !one.closest('.judgments') && !one.matches('.outline')).length")
                self.assertEqual(folded, 0)
                self.assertEqual(page.locator("main details[open]").evaluate_all("(all) => all.filter((one) => one.children.length < 2).length"), 0, "open and empty")
                # Nothing is cut at the edge of a box that scrolls on a screen.
                cut = page.locator(".wide, .text-change, .grades, .body").evaluate_all("(all) => all.filter((one) => getComputedStyle(one).overflowY !== 'visible').map((one) => one.className)")
                self.assertEqual(cut, [])
                self.check_quiet()

    def test_is_light_whatever_the_screen_is(self):
        page = self.look(f"/runs/{NEWEST}", scheme="dark")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        self.assertEqual(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"), "rgb(255, 255, 255)")

    def test_lists_have_the_rows_that_are_here_and_say_of_how_many(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        opened = page.locator("main details[open]").count()
        self.print(page)
        rows = page.locator(".cases .body .row")
        count = rows.count()
        self.assertGreater(count, 30)
        expect(page.locator(".list-message")).to_have_text(f"The first {count} of 240 rows.")
        tops = rows.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
        self.assertEqual(tops, sorted(tops))
        self.assertEqual(len(set(tops)), count, "rows stand below one another")
        body = page.locator(".cases .body").bounding_box()
        self.assertLess(body["height"], count * 60, "no room is left for rows that are not here")
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        self.assertLess(rows.count(), count)
        expect(page.locator(".list-message")).to_have_text("")
        self.assertEqual(page.locator("main details[open]").count(), opened)

    def test_underlines_no_link_twice(self):
        for address in ["/suites/support/calibration", f"/runs/{NEWEST}", "/suites/support"]:
            self.look(address)
            lines = self.page.locator("main a").evaluate_all("""(all) => all.map((link) => {
              const own = (node) => getComputedStyle(node).textDecorationLine.includes('underline')
              let count = [...link.querySelectorAll('*')].filter(own).length
              for (let node = link; node && node.tagName !== 'MAIN'; node = node.parentElement) count += own(node) + (parseFloat(getComputedStyle(node).borderBottomWidth) > 0 && node === link)
              return count
            }).filter((count) => count > 1)""")
            self.assertEqual(lines, [], address)

    def test_fits_a_sheet(self):
        for address in [f"/runs/{ODD}", f"/runs/{NEWEST}", "/suites/support/calibration", "/", f"/runs/{NEWEST}/samples/return-00005?grader=quality"]:
            with self.subTest(address):
                page = self.open(address)
                page.wait_for_timeout(300)
                # The page itself is not told of another width, as on paper.
                page.evaluate("addEventListener('resize', (event) => event.stopImmediatePropagation(), { capture: true })")
                self.print(page)
                page.evaluate("document.body.style.width = '703px'")
                wide = page.locator("main *").evaluate_all("(all) => all.filter((one) => one.getBoundingClientRect().right > 705 && !one.closest('svg') && !one.closest('.unseen')).map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)")
                self.assertEqual(wide, [])


@needs_mock
class WideScreens(PageTest):
    """A screen of 2,560 pixels."""

    SIZE = (2560, 1300)

    def test_lines_stay_short_and_grades_stand_beside_the_conversation(self):
        page = self.open(f"/runs/{NEWEST}/samples/return-00005?grader=quality", self.SIZE)
        texts = page.locator(".case-main .written > p, .case-main .prose:not(.code), .rationale").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width / parseFloat(getComputedStyle(one).fontSize))")
        self.assertGreater(len(texts), 3)
        self.assertLessEqual(max(texts), 58)
        main, card = page.locator(".case-main").bounding_box(), page.locator(".grade-card").first.bounding_box()
        self.assertLess(card["x"] - main["x"] - main["width"], 100)

    def test_tables_have_the_room(self):
        page = self.open(f"/runs/{NEWEST}", self.SIZE)
        self.wait_rows()
        # Beside the figures.
        self.assertGreater(page.locator(".cases .body").bounding_box()["width"], 1600)
        self.visit("/suites/support/calibration")
        disputes, facts = page.get_by_role("region", name="Disputes of quality").bounding_box(), page.locator(".figure-list").first.bounding_box()
        self.assertGreater(disputes["x"], facts["x"] + facts["width"])

    def test_cards_have_their_own_heights_and_graders_one_line(self):
        page = self.open("/", self.SIZE)
        expect(page.locator("svg.trend").first).to_be_visible()
        own = page.locator(".card").evaluate_all("(all) => all.map((one) => [one.offsetHeight, one.lastElementChild.getBoundingClientRect().bottom - one.getBoundingClientRect().top])")
        self.assertTrue(all(height - inside < 24 for height, inside in own), own)
        self.visit("/suites/support")
        line = page.locator(".suite-graders")
        expect(line).to_have_text("3 graders: accuracy contains, quality rubric, shown as Answer quality, policy program")
        self.assertLess(line.bounding_box()["height"], 30)


@needs_mock
class Keys(PageTest):
    def test_alone_lead_from_the_runs_to_a_label_and_back(self):
        page = self.open("/")
        self.wait_rows()
        for _ in range(2):
            page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{NEWEST}")
        # The list of runs has rows, too, and stands until the run is there.
        page.wait_for_selector(".filter-end .count")
        self.wait_rows()
        page.keyboard.press("/")
        page.keyboard.type("return-0000")
        page.wait_for_url("**q=return-0000")
        page.keyboard.press("Escape")
        expect(page.locator(".filter-end .count")).to_have_text("1 case")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector(".case")
        self.assertIn("return-00005", page.locator("h1").inner_text())
        page.keyboard.press("Escape")
        page.wait_for_url("**q=return-0000")
        self.wait_rows()
        self.assertEqual(self.focused(), "return-00005")
        page.keyboard.press("Escape")
        expect(page).to_have_url(State.url + "/")
        self.check_quiet()

    def test_step_through_cases_in_the_order_of_the_list(self):
        page = self.open(f"/runs/{NEWEST}?state=failed&grader=policy")
        self.wait_rows()
        ids = page.locator(".body .row .first").all_inner_texts()[:3]
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        for name in [*ids, *ids[1::-1]]:
            expect(page.locator("h1")).to_have_text(name)
            page.keyboard.press("k" if name == ids[2] or page.evaluate("window.back") else "j")
            if name == ids[2]:
                page.evaluate("window.back = true")
        self.check_quiet()

    def test_are_listed_and_can_be_turned_off(self):
        page = self.open("/")
        self.wait_rows()
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        dialog.get_by_role("checkbox").uncheck()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        page.keyboard.press("j")
        self.assertEqual(page.locator(".row.current").count(), 0)
        page.reload()
        self.wait_rows()
        page.keyboard.press("j")
        self.assertEqual(page.locator(".row.current").count(), 0)
        page.get_by_role("button", name="Keys").click()
        dialog.get_by_role("checkbox").check()
        dialog.get_by_role("button", name="Close").click()
        page.keyboard.press("j")
        self.assertEqual(page.locator(".row.current").count(), 1)

    def test_are_text_in_a_field_and_not_ours_with_others(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        page.get_by_role("searchbox").fill("")
        page.get_by_role("searchbox").press_sequentially("jky1?")
        self.assertEqual(page.get_by_role("searchbox").input_value(), "jky1?")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+j")
        self.assertEqual(page.locator(".row.current").count(), 0)

    def test_first_tab_skips_to_the_content(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Tab")
        self.assertEqual(self.focused(), "Skip to content")
        page.keyboard.press("Enter")
        self.assertEqual(page.evaluate("document.activeElement.id"), "main")


@needs_mock
class Lists(PageTest):
    expected_errors = ("500 (Internal Server Error)",)

    def test_filters_live_in_the_address(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        page.get_by_role("search").get_by_label("State").select_option("failed")
        page.wait_for_url("**state=failed")
        page.get_by_role("search").get_by_label("Grader").select_option("quality")
        page.wait_for_url("**grader=quality**")
        expect(page.locator(".filter-end .count")).not_to_have_text("240 cases")
        found = api(f"runs/{NEWEST}/samples?state=failed&grader=quality")["total"]
        expect(page.locator(".filter-end .count")).to_have_text(f"{found} cases")
        page.reload()
        self.wait_rows()
        expect(page.locator(".filter-end .count")).to_have_text(f"{found} cases")
        self.assertEqual(page.get_by_role("search").get_by_label("State").input_value(), "failed")
        page.get_by_role("button", name="Clear").click()
        expect(page.locator(".filter-end .count")).to_have_text("240 cases")

    def test_heads_sort_up_and_down(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        head = page.get_by_role("columnheader", name="Sample")
        head.get_by_role("button").click()
        expect(page.locator(".body .row .first").first).to_have_text(re.compile("^<script>|^account"))
        expect(head).to_have_attribute("aria-sort", "ascending")
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "descending")
        expect(page.locator(".body .row .first").first).to_contain_text("warranty")
        head.get_by_role("button").click()
        expect(page.locator(".body .row .first").first).to_have_text("refund-00000")

    def test_only_the_last_answer_counts(self):
        page = self.open(f"/runs/{NEWEST}")
        self.wait_rows()
        held = []
        page.route("**/samples?*q=late*", lambda route: held.append(route))
        page.get_by_role("searchbox").fill("late")
        page.wait_for_url("**q=late")
        page.get_by_role("searchbox").fill("voucher-0")
        expect(page.locator(".body .row .first").first).to_contain_text("voucher-0")
        while held:
            held.pop().continue_()
        page.wait_for_timeout(300)
        self.assertIn("voucher-0", page.locator(".body .row .first").first.inner_text())

    def test_a_failure_can_be_tried_again(self):
        page = self.open(f"/runs/{NEWEST}?q=fail")
        expect(page.locator(".list-message")).to_contain_text("the record cannot be read")
        page.route("**/samples?*", lambda route: route.continue_(url=route.request.url.replace("q=fail", "q=late")))
        page.get_by_role("button", name="Try again").click()
        self.wait_rows()

    def test_nothing_found_is_said(self):
        page = self.open(f"/runs/{NEWEST}?q=nothing-is-called-this")
        expect(page.locator(".list-message")).to_contain_text("No case matches.")
        expect(page.locator(".filter-end .count")).to_have_text("0 cases")

    def test_back_is_where_one_was(self):
        page = self.open(f"/runs/{BULK}")
        self.wait_rows()
        page.evaluate("scrollTo(0, 640_000)")
        page.wait_for_timeout(600)
        row = page.locator(".body .row a").nth(20)
        name, top = row.inner_text(), page.evaluate("scrollY")
        row.click()
        expect(page.locator("h1")).to_have_text(name)
        page.go_back()
        self.wait_rows()
        page.wait_for_timeout(500)
        self.assertAlmostEqual(page.evaluate("scrollY"), top, delta=40)
        expect(page.get_by_role("link", name=name)).to_be_visible()

    def test_a_frame_of_a_hundred_thousand_cases_makes_only_rows_that_come_into_view(self):
        page = self.open(f"/runs/{BULK}")
        self.wait_rows()
        seen = page.evaluate("""() => new Promise((done) => {
            const body = document.querySelector(".body")
            const height = body.querySelector(".row").offsetHeight
            let made = 0, most = 0
            const watch = new MutationObserver((changes) => {
                for (const change of changes)
                    for (const node of change.addedNodes)
                        if (node.nodeType === 1) made += node.matches(".row") || node.querySelectorAll(".row").length
            })
            watch.observe(body, { childList: true, subtree: true })
            let frames = 0
            const step = () => {
                most = Math.max(most, body.querySelectorAll(".row").length)
                scrollBy(0, 300)
                if (++frames < 240) requestAnimationFrame(step)
                else done({ made, most, passed: scrollY / height })
            }
            requestAnimationFrame(step)
        })""")
        self.assertGreater(seen["passed"], 1_000)
        self.assertLess(seen["most"], 120)
        self.assertLess(seen["made"], 1.5 * seen["passed"] + 120)
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.locator('[aria-rowindex="100001"]')).to_contain_text("-99999")
        self.assertEqual(page.get_by_role("table", name="Cases").get_attribute("aria-rowcount"), "100001")
        order = page.evaluate("[...document.querySelectorAll('.body .row')].map((row) => Number(row.getAttribute('aria-rowindex')))")
        self.assertEqual(order, sorted(order))
        self.check_quiet()


@needs_mock
class Labels(PageTest):
    expected_errors = ("500 (Internal Server Error)",)

    def case(self, number, grader="quality", **options):
        page = self.open(f"/runs/{NEWEST}/samples/{with_number(number)}?grader={grader}", **options)
        expect(self.card()).to_be_visible()
        return page

    def card(self):
        return self.page.locator(".grade-card.current")

    def test_one_key_labels_and_agreement_follows(self):
        page = self.case(60)
        page.keyboard.press("x")
        before = self.card().locator(".agreement").inner_text()
        page.keyboard.press("y")
        expect(self.card().locator(".label-state")).to_contain_text("labelled pass")
        expect(self.card().locator(".label-people")).to_have_text("you: pass")
        expect(self.card().locator(".labeller")).to_have_text("You label as you.")
        expect(self.card().locator(".agreement")).not_to_have_text(before)
        expect(self.card().get_by_role("button", name="Label: pass (y)")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("!")
        expect(self.card().locator(".label-state")).to_contain_text("labelled 1")
        page.keyboard.press("9")
        expect(self.card().locator(".label-state")).to_contain_text("labelled 0.9")
        page.keyboard.press("5")
        expect(self.card().locator(".label-state")).to_contain_text("labelled 0.5")
        page.keyboard.press("n")
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail")
        page.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_contain_text("no label")
        self.check_quiet()

    def test_keys_in_quick_succession_are_kept_in_their_order(self):
        page = self.case(60)
        page.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_contain_text("no label")
        held = []
        page.route("**/labels/**", lambda route: route.continue_() if held else (held.append(route), page.wait_for_timeout(300), route.continue_()))
        for key in "y5n9":
            page.keyboard.press(key)
        expect(self.card().locator(".label-state")).to_contain_text("labelled 0.9, the grader")
        page.reload()
        expect(self.card().locator(".label-people")).to_have_text("you: 0.9")
        self.assertEqual(page.locator(".notice").count(), 0)

    def test_each_says_who_they_are_where_several_label(self):
        page = self.open("/")
        meta = {"evalrs": "0", "read_only": False, "labellers": True, "suites": ["support"], "live": None}
        page.route("**/api/meta", lambda route: route.fulfill(json={"success": True, "data": meta, "error": None}))
        bodies = []
        page.on("request", lambda request: request.method == "PUT" and bodies.append(request.post_data_json))
        self.visit(f"/runs/{NEWEST}/samples/{with_number(66)}?grader=policy")
        expect(self.card().locator(".labeller")).to_contain_text("No name is set for labels here.")
        dialog = page.get_by_role("dialog", name="Who labels?")
        # Without a name nothing is kept, and keys of the page are letters in the dialog.
        page.keyboard.press("y")
        expect(dialog).to_be_visible()
        self.check_axe()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(self.card().locator(".label-state")).to_contain_text("no label")
        page.keyboard.press("y")
        dialog.get_by_label("Name").fill(" bob <b> ")
        page.keyboard.press("Enter")
        expect(self.card().locator(".label-state")).to_contain_text("labelled pass")
        expect(self.card().locator(".labeller")).to_contain_text("You label as bob <b>.")
        # It is asked for once.
        page.keyboard.press("n")
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail")
        # Another person is another label.
        self.card().get_by_role("button", name="Change").click()
        dialog.get_by_label("Name").fill("cem")
        dialog.get_by_role("button", name="Label under this name").click()
        expect(self.card().get_by_role("button", name="Remove your label (x)")).to_be_disabled()
        page.keyboard.press("y")
        expect(self.card().locator(".label-state")).to_contain_text("disputed, and no majority")
        expect(self.card().locator(".label-people li")).to_have_text(["bob <b>: fail", "cem: pass"])
        self.check_axe()
        page.keyboard.press("x")
        expect(self.card().locator(".label-people li")).to_have_text(["bob <b>: fail"])
        self.assertEqual([(body["who"], body["label"]) for body in bodies], [("bob <b>", True), ("bob <b>", False), ("cem", True), ("cem", None)])
        self.visit(f"/runs/{NEWEST}/samples/{with_number(67)}?grader=policy")
        expect(self.card().locator(".labeller")).to_contain_text("You label as cem.")
        self.check_quiet()

    def test_a_refusal_takes_the_label_back_and_says_so(self):
        page = self.case(61)
        page.keyboard.press("n")
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail")
        page.keyboard.press("2")
        expect(page.locator(".notice")).to_contain_text("the labels file cannot be written")
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail")
        expect(self.card().locator(".label-people")).to_have_text("you: fail")

    def test_among_what_has_no_label_the_next_case_follows(self):
        page = self.open(f"/runs/{NEWEST}?state=unlabelled&grader=quality")
        self.wait_rows()
        ids = page.locator(".body .row .first").all_inner_texts()[4:7]
        page.get_by_role("link", name=ids[0]).click()
        for name in ids:
            expect(page.locator("h1")).to_have_text(name)
            page.keyboard.press("y")
        expect(page.locator("h1")).not_to_have_text(ids[-1])
        page.keyboard.press("Escape")
        self.wait_rows()
        self.assertTrue(set(ids).isdisjoint(page.locator(".body .row .first").all_inner_texts()))

    def test_a_label_that_is_kept_late_leads_nobody_away(self):
        page = self.open(f"/runs/{NEWEST}/samples/{with_number(64)}?state=unlabelled&grader=policy")
        labels, lists = [], []
        page.route("**/labels/*", lambda route: labels.append(route))
        page.route("**/samples?*", lambda route: lists.append(route))
        expect(self.card().locator(".label-state")).to_contain_text("no label")
        page.keyboard.press("y")
        page.keyboard.press("Escape")
        self.wait_until(lambda: labels)
        with page.expect_response("**/labels/*"):
            labels[0].continue_()
        self.wait_until(lambda: lists)
        lists[0].continue_()
        self.wait_rows()
        self.assertEqual(page.locator(".case").count(), 0)

    def give(self, sample, label, who):
        """Somebody labels a case elsewhere."""
        body = json.dumps({"grader": "quality", "label": label, "who": who, "trial": 0}).encode()
        request = urllib.request.Request(f"{State.url}/api/suites/support/labels/{urllib.parse.quote(sample, safe='')}", body, {"content-type": "application/json"}, method="PUT")
        urllib.request.urlopen(request).close()

    def test_how_many_people_say_so_is_told(self):
        sample = with_number(60)
        for who, label in [("ann", True), ("bob", True), ("eve", False)]:
            self.give(sample, label, who)
        self.case(60)
        expect(self.card().locator(".label-state")).to_contain_text("labelled pass by 2 of 3 people")

    def test_what_is_labelled_elsewhere_is_seen_and_not_overwritten(self):
        first = self.case(61)
        first.keyboard.press("x")
        expect(self.card().locator(".label-state")).to_contain_text("no label")
        second = first.context.new_page()
        second.goto(first.url)
        second.wait_for_selector(".grade-card.current")
        second.keyboard.press("n")
        # Another tab of the browser tells at once.
        expect(self.card().locator(".label-people")).to_have_text("you: fail")
        # What others label is seen when the reader comes back.
        self.give(with_number(61), True, "ann")
        first.evaluate("dispatchEvent(new Event('focus'))")
        expect(self.card().locator(".label-people li")).to_have_text(["you: fail", "ann: pass"])
        # A key that is pressed before that replaces nothing.
        self.give(with_number(61), True, "you")
        first.keyboard.press("0")
        expect(first.locator(".notice")).to_contain_text("labelled elsewhere")
        expect(self.card().locator(".label-people li")).to_have_text(["ann: pass", "you: pass"])

    def test_labels_that_cannot_be_written_say_why(self):
        reason = "`labels` of the suite says how `people.json` is written"
        address = f"/runs/{NEWEST}/samples/{urllib.parse.quote(with_number(64), safe='')}?grader=quality"
        run = api(f"runs/{NEWEST}") | {"labels_fixed": reason}
        page = self.open("/")
        asked = []
        page.route(f"**/api/runs/{NEWEST}", lambda route: route.fulfill(json={"success": True, "data": run, "error": None}))
        page.route("**/labels/**", lambda route: (asked.append(route.request.url), route.abort()))
        self.visit(address)
        expect(self.card().locator(".labels")).to_contain_text(f"Labelling is off here: {reason}")
        for one in self.card().locator(".label-buttons button, .scale button").all():
            expect(one).to_be_disabled()
        page.keyboard.press("y")
        expect(page.locator(".notice")).to_contain_text(reason)
        self.assertEqual(asked, [])
        self.check_axe()

    def test_the_conversation_follows_the_chosen_card_on_a_narrow_screen(self):
        page = self.open(f"/runs/{NEWEST}/samples/{urllib.parse.quote(with_number(64), safe='')}?grader=quality", (320, 700))
        expect(page.locator(".label-rule")).to_contain_text("Press the name of another grader")
        order = [".grade-card.current", ".label-rule", ".case-main", ".grade-card:not(.current)"]
        tops = [page.locator(place).first.bounding_box()["y"] for place in order]
        self.assertEqual(tops, sorted(tops))

    def test_a_printed_case_has_no_buttons(self):
        page = self.case(60)
        page.keyboard.press("x")
        Paper.print(page)
        for place in [".label-buttons", ".scale", ".labeller", ".labels.unlabelled"]:
            self.assertEqual([one for one in page.locator(place).all() if one.is_visible()], [], place)

    def test_another_grader_is_chosen_without_leaving(self):
        page = self.case(62)
        page.get_by_role("button", name="policy", exact=True).click()
        page.wait_for_url("**grader=policy")
        expect(self.card().get_by_role("button", name="policy", exact=True)).to_be_focused()
        page.keyboard.press("n")
        expect(self.card().locator(".label-state")).to_contain_text("labelled fail")

    def test_are_not_offered_where_they_are_not_taken(self):
        page = self.open("/")
        page.route("**/api/meta", lambda route: route.fulfill(json={"success": True, "data": {"evalrs": "0", "read_only": True, "suites": [], "live": None}, "error": None}))
        self.visit(f"/runs/{NEWEST}/samples/{with_number(63)}")
        self.assertEqual(page.locator(".label-buttons").count(), 0)
        self.visit("/suites/support")
        self.assertEqual(page.get_by_role("button", name="Run", exact=True).count(), 0)


@needs_mock
class Cases(PageTest):
    def test_a_tool_call_opens_with_its_return(self):
        page = self.open(f"/runs/{NEWEST}/samples/{with_number(12)}")
        call = page.locator("details.call", has_text="find_order")
        self.assertFalse(call.evaluate("(node) => node.open"))
        call.locator("summary").click()
        expect(call).to_contain_text('"fields": [')
        expect(call).to_contain_text('"status": "delayed"')
        failed = page.locator("details.call", has_text="refund")
        self.assertTrue(failed.evaluate("(node) => node.open"))
        expect(failed.locator("summary")).to_contain_text("error")
        expect(page.get_by_role("group", name="Sub-agent")).to_contain_text("Write a friendly answer")
        expect(page.locator(".conversation")).to_contain_text("[image: image/png]")

    def test_votes_show_what_was_sent_and_what_came_back(self):
        page = self.open(f"/runs/{NEWEST}/samples/{with_number(12)}?grader=quality")
        vote = page.locator(".judgments > li").first
        vote.locator("summary").first.click()
        expect(vote).to_contain_text("polite, and right")
        vote.locator("summary", has_text="Prompt").click()
        expect(vote).to_contain_text("You are a careful judge.")
        vote.locator("summary", has_text="key is made of").click()
        expect(vote).to_contain_text("abababab")

    def test_hostile_text_is_text(self):
        page = self.open("/")
        page.add_init_script("window.alert = () => { window.harmed = true }")
        for address in (f"/runs/{NEWEST}?q=script", f"/runs/{NEWEST}/samples/{hostile_id()}?grader=quality"):
            self.visit(address)
            page.wait_for_timeout(300)
            self.assertIsNone(page.evaluate("window.harmed ?? null"))
            text = page.locator("main").inner_text()
            self.assertIn("⟨U+202E⟩gnp.exe", text)
            self.assertIn("␛[31mred", text)
            self.assertIn("␀nul", text)
            self.assertNotIn("\u202e", page.evaluate("document.title + document.body.textContent"))
            self.assertEqual(page.locator("main img, main script").count(), 0)
        more = page.locator(".grade-card.current").get_by_role("button", name=re.compile("Show all"))
        self.assertLess(len(page.locator(".grade-card.current .rationale").inner_text()), 4000)
        more.click()
        self.assertGreater(page.locator(".grade-card.current .rationale").evaluate("(node) => node.textContent.length"), 900_000)
        self.check_quiet()

    def test_without_a_conversation_it_says_why(self):
        page = self.open(f"/runs/{NEWEST}/samples/{with_number(47)}")
        expect(page.locator(".note")).to_contain_text("The dataset has changed")
        expect(page.get_by_role("heading", name="Submission").first).to_be_visible()


@needs_mock
class Others(PageTest):
    def test_trends_are_interrupted_where_the_meaning_changed(self):
        page = self.open("/suites/support")
        chart = page.locator("figure", has_text="quality")
        self.assertEqual(chart.locator("polyline").count(), 3)
        self.assertEqual(chart.locator(".break").count(), 2)
        expect(chart).to_contain_text("judge of quality: gpt-4o-mini → gpt-4.1-mini")
        self.assertEqual(page.locator("figure", has_text="accuracy").locator("polyline").count(), 2)

    def test_the_matrix_rings_regressions(self):
        page = self.open(f"/runs/{NEWEST}?view=matrix")
        expect(page.locator(".ring").first).to_contain_text("regressed")
        page.get_by_role("button", name="Only regressions").click()
        page.wait_for_url("**only=regressions**")
        expect(page.locator(".matrix-note")).to_contain_text("passed before")
        rows = page.locator(".matrix .body .row")
        self.assertEqual(rows.count(), page.locator(".matrix .body .row:has(.ring)").count())

    def test_the_matrix_has_a_column_a_model(self):
        page = self.open(f"/runs/{MODELS}?view=matrix&grader=accuracy")
        self.wait_rows()
        self.assertEqual(page.get_by_role("table", name="Matrix").get_by_role("columnheader").all_inner_texts(), ["Sample", "large", "medium", "small"])
        expect(page.locator(".filter-end .count")).to_have_text("60 cases")

    def test_declared_metrics_stand_with_their_intervals(self):
        page = self.open(f"/runs/{NEWEST}")
        region = page.get_by_role("region", name="Table: Declared metrics", exact=True)
        expect(region.get_by_role("row", name=re.compile("^by_subject"))).to_contain_text("0.612 [0.550, 0.670]")
        expect(region).to_contain_text("<b>chat</b>")
        expect(region).to_contain_text("no result has both")
        self.check_quiet()

    def test_a_run_under_way_is_followed(self):
        page = self.open(f"/runs/{LIVE}")
        expect(page.locator(".live")).to_contain_text("in flight")
        count = lambda: int(re.match(r"\d+", page.locator(".live [role=status]").inner_text()).group())
        first = count()
        expect(page.locator(".live [role=status]")).not_to_have_text(re.compile(f"^{first} of"))
        self.assertGreater(count(), first)
        self.check_quiet()

    def test_colours_can_be_chosen(self):
        page = self.open("/", scheme="light")
        dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        page.get_by_role("button", name="Colours").click()
        page.get_by_role("button", name="Colours").click()
        self.assertNotEqual(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"), dark)
        page.reload()
        page.wait_for_selector("main h1")
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")


class Failures(PageTest):
    expected_errors = ("404 (Not Found)", "ERR_")

    def test_an_unknown_run_has_a_way_back(self):
        page = self.open("/runs/none")
        expect(page.locator("main h1")).to_have_text("Not found")
        page.get_by_role("link", name="All runs").click()
        expect(page.locator("main h1")).to_have_text("Runs")

    def test_a_server_that_is_gone_is_named_and_asked_again(self):
        page = self.open("/")
        page.route("**/api/**", lambda route: route.abort())
        page.goto(State.url + "/")
        expect(page.locator("main")).to_contain_text("the server does not answer")
        page.unroute("**/api/**")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("main h1")).to_have_text("Runs")


@needs_mock
class Report(PageTest):
    """The same pages in one file, without a server."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "report.html"
        subprocess.run(["node", str(HERE / "mock.mjs"), "--report", str(cls.path)], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_opens_filters_and_shows_cases(self):
        for size in SIZES:
            with self.subTest(width=size[0]):
                page = self.open(f"file://{self.path}", size)
                self.wait_rows()
                page.get_by_role("search").get_by_label("State").select_option("failed")
                expect(page).to_have_url(re.compile("state=failed"))
                expect(page.locator(".filter-end .count")).not_to_have_text("240 cases")
                page.get_by_role("searchbox").fill("late")
                expect(page).to_have_url(re.compile("q=late"))
                self.wait_rows()
                page.keyboard.press("Escape")
                page.keyboard.press("j")
                page.keyboard.press("Enter")
                page.wait_for_selector(".conversation")
                first = page.locator("h1").inner_text()
                page.keyboard.press("j")
                expect(page.locator("h1")).not_to_have_text(first)
                page.go_back()
                expect(page.locator("h1")).to_have_text(first)
                page.keyboard.press("Escape")
                self.wait_rows()
                self.assertIn("state=failed", page.evaluate("location.hash"))
                for text in ("Compare", "Report:", "Pass (y)"):
                    self.assertEqual(page.get_by_text(text).count(), 0)
                self.check_quiet()

    def test_an_address_in_it_can_be_kept(self):
        page = self.open(f"file://{self.path}#/runs/{NEWEST}/samples/return-00005?grader=quality")
        expect(page.locator("h1")).to_have_text("return-00005")
        expect(page.locator(".grade-card.current")).to_contain_text("Answer quality")
        page.evaluate("location.hash = '#/runs/none'")
        expect(page.locator("main h1")).to_have_text("Not found")
        self.check_quiet()


if __name__ == "__main__":
    unittest.main()
