"""`dist/release` in a copy of the tree: no placeholder is left, a second run changes nothing, and a new version reaches every file."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/acme/evalrs"


@unittest.skipUnless(shutil.which("bash") and shutil.which("awk"), "needs bash and awk")
class ReleaseTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.tree = Path(place.name)
        for name in (".github", "crates", "dist", "docs", "examples", "python", "src"):
            shutil.copytree(ROOT / name, self.tree / name)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, self.tree / path.name)

    def release(self, *words):
        return subprocess.run(["bash", "dist/release", *words], cwd=self.tree, capture_output=True, text=True, check=False)

    def read(self, name):
        return (self.tree / name).read_text(encoding="utf-8")

    def placeholders(self):
        """Every line that has a placeholder."""
        found = []
        for path in filter(Path.is_file, self.tree.rglob("*")):
            lines = path.read_text(encoding="utf-8", errors="ignore").splitlines()
            found += [f"{path.relative_to(self.tree)}: {line}" for line in lines if re.search(r"OWN[E]R|URL_OF_", line)]
        return found

    def test_it_leaves_no_placeholder(self):
        done = self.release(ADDRESS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.placeholders(), [])
        readme = self.read("README.md")
        for line in ("pip install evalrs-cli ", "npm install --global evalrs-cli ", "brew install acme/tap/evalrs\n", "cargo install --locked evalrs-cli "):
            self.assertIn(f"\n{line}", readme)
        self.assertIn(f"\ncurl -LsSf {ADDRESS}/releases/latest/download/install.sh | sh\n", readme)
        self.assertNotIn("before release", self.read("docs/install.md"))
        self.assertIn("- uses: acme/evalrs@v0\n", self.read("docs/ci.md"))
        self.assertIn(f'\nrepository = "{ADDRESS}"', self.read("Cargo.toml"))
        again = self.release()
        self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)

    def test_another_version_and_another_address_reach_every_file(self):
        self.release(ADDRESS)
        manifest = self.tree / "Cargo.toml"
        manifest.write_text(re.sub(r'^version = ".*"$', 'version = "1.2.3"', self.read("Cargo.toml"), count=1, flags=re.MULTILINE), encoding="utf-8")
        done = self.release("https://example.org/new.name/evalrs.git")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r'version = "1\.2\.3", path', self.read("Cargo.toml"))), len(re.findall(r'version = ".*", path', self.read("Cargo.toml"))))
        for name in ("docs/ci.md", "examples/ci/pre-commit.yml"):
            self.assertIn("repo: https://example.org/new.name/evalrs\n    rev: v1.2.3\n", self.read(name))
        self.assertNotIn("acme", self.read("docs/ci.md") + self.read("README.md") + self.read("Cargo.toml"))

    def test_it_needs_an_address(self):
        for words in ((), ("evalrs",), ("https://github.com/evalrs",)):
            done = self.release(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("dist/release: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
