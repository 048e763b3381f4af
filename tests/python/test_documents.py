"""The documents as their readers use them: recipes and the skill for agents are run, links lead somewhere, and the book has every page.

A recipe is a section: its files are the blocks after a line that ends with "`NAME`:" (a JSON Lines block without one is `dataset.jsonl`), its commands the
blocks of `sh`, run in one empty folder in their order. A scripted judge stands in for models. EVALRS names another binary.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from judge import judge

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs").resolve()
DOCS = ROOT / "docs"
SKILL = ROOT / "src/commands/init/SKILL.md"


def blocks(text):
    """The fenced blocks of a text: what is written, the line before, and the language."""
    found, before, lines = [], "", iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            body = []
            for inner in lines:
                if inner.startswith("```"):
                    break
                body.append(inner)
            found.append(("\n".join(body) + "\n", before, line[3:].split(" ")[0]))
        elif line.strip():
            before = line
    return found


def sections(path):
    """The sections of a page, by their titles."""
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def slug(title):
    """The anchor of a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(path):
    """A page without its fenced blocks and code."""
    return re.sub(r"`[^`\n]*`", "`", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL))


def anchors(path):
    """The anchors of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {slug(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def pages():
    """Every page of the documents."""
    return sorted(page for page in DOCS.rglob("*.md")) + [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "cache/README.md", "examples/ci/README.md")]


class LinksTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        broken = []
        for page in pages():
            for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                there = (page.parent / name).resolve() if name else page
                if not there.exists() or anchor and there.suffix == ".md" and anchor not in anchors(there):
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(broken, [])

    def test_the_book_has_every_page_once(self):
        listed = re.findall(r"\]\(([^)]+)\)", (DOCS / "SUMMARY.md").read_text(encoding="utf-8"))
        there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.name != "SUMMARY.md"}
        # `dist/book` lists these by itself.
        coming_from = {page for page in there if page.startswith("coming-from/")}
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(sorted(set(listed) | coming_from), sorted(there))



@unittest.skipUnless(shutil.which(os.environ.get("MDBOOK", "mdbook")), "needs mdbook")
class BookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.html = Path(place.name, "html")
        cls.built = subprocess.run(["bash", str(ROOT / "dist/book"), place.name], capture_output=True, text=True, check=False)

    def test_the_book_builds(self):
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        self.assertNotIn("WARN", self.built.stderr)
        self.assertTrue((self.html / "recipes.html").is_file())

    def test_its_links_lead_somewhere(self):
        broken = []
        for page in self.html.rglob("*.html"):
            for target in re.findall(r'<a href="([^"#]+)', page.read_text(encoding="utf-8")):
                if ":" not in target and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(self.html)}: {target}")
        self.assertEqual(broken, [])

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_its_search_finds_every_key(self):
        command = ["node", str(ROOT / "tests/book/search.mjs"), str(self.html), str(DOCS / "suite/keys.md")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        self.assertEqual(found["missing"], [])
        self.assertGreater(found["keys"], 200)


@unittest.skipUnless(BINARY.is_file() and shutil.which("bash"), "needs the binary (`cargo build`) and bash")
class CommandsTest(unittest.TestCase):
    def run_section(self, title, text):
        """Runs the commands of a section over its files; gives what they wrote."""
        with tempfile.TemporaryDirectory() as place, judge(lambda _: 1.0) as server:
            folder = Path(place)
            (folder / "bin").mkdir()
            (folder / "bin" / "evalrs").symlink_to(BINARY)
            script = "set -e\n"
            for body, before, language in blocks(text):
                named = re.search(r"`([\w./-]+)`:$", before)
                if language == "sh":
                    script += body
                elif named or language == "jsonl":
                    path = folder / (named.group(1) if named else "dataset.jsonl")
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(body, encoding="utf-8")
            env = {
                **{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ},
                "HOME": place,
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                "OPENAI_API_KEY": "k",
                "OPENAI_BASE_URL": server.url,
            }
            done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
            self.assertEqual(done.returncode, 0, f"{title}\n{done.stdout}")
            return done.stdout

    def test_every_recipe_works(self):
        recipes = sections(DOCS / "recipes.md")
        self.assertGreaterEqual(len(recipes), 8)
        for title, text in recipes:
            with self.subTest(recipe=title):
                self.assertTrue(any(language == "sh" for _, _, language in blocks(text)), "a recipe has commands")
                self.run_section(title, text)

    def test_the_commands_of_the_skill_work(self):
        shown = self.run_section("skill", SKILL.read_text(encoding="utf-8"))
        self.assertIn('"gate":{"status":"passed"', shown)

    def test_the_suite_of_the_skill_is_valid(self):
        text = SKILL.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as place:
            for body, _, language in blocks(text):
                if language in ("yaml", "jsonl"):
                    Path(place, "suite.yaml" if language == "yaml" else "dataset.jsonl").write_text(body, encoding="utf-8")
            done = subprocess.run([str(BINARY), "validate", "suite.yaml"], cwd=place, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_skill_is_installed_where_agents_look(self):
        with tempfile.TemporaryDirectory() as place:
            command = [str(BINARY), "init", "--skill", place]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for folder in (".claude/skills/evalrs", ".agents/skills/evalrs"):
                self.assertEqual(Path(place, folder, "SKILL.md").read_bytes(), SKILL.read_bytes())
            again = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((again.returncode, "nothing was written" in again.stderr), (2, True), again.stderr)

    def test_the_skill_says_what_it_is(self):
        head = re.match(r"---\nname: (.+)\ndescription: (.+)\n", SKILL.read_text(encoding="utf-8"))
        # What the convention allows.
        self.assertRegex(head.group(1), r"^[a-z0-9-]{1,64}$")
        self.assertLessEqual(len(head.group(2)), 1024)
        # A colon and a space would end the text in YAML.
        self.assertNotIn(": ", head.group(2))


if __name__ == "__main__":
    unittest.main()
