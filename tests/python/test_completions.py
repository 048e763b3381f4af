"""Completions in shells as people use them: an interactive bash, zsh and fish on a terminal, and the tabulator key.

A shell that is not installed is skipped. EVALRS names another binary.
"""

import os
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

try:
    import pty
except ImportError:
    # Windows has none.
    pty = None

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs").resolve()
#: Longer than any answer takes, in seconds.
PATIENCE = 30

SUITE = """name: shop
dataset: rows.jsonl
graders:
  polite: {kind: tool, function: contains}
  plain: {kind: tool, function: ascii_printable_only}
gate: {metric_key: polite, op: gte, value: 0.5}
"""
ROWS = '{"id": "order-late", "input": "a", "ground_truth": "b", "output": "b"}\n{"id": "order-lost", "input": "c", "ground_truth": "d", "output": "d"}\n{"id": "refund", "input": "e", "ground_truth": "f", "output": "f"}\n'

#: How a shell is started without what a user has set up, and made to load the completions.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='> '; eval \"$(evalrs completions bash)\""),
    "zsh": (["zsh", "-f", "-i"], "PS1='> '; autoload -Uz compinit; compinit -u -D; source <(evalrs completions zsh)"),
    "fish": (["fish", "--no-config", "-i"], "function fish_prompt; echo '> '; end; evalrs completions fish | source"),
}


class Terminal:
    """A shell on a terminal."""

    def __init__(self, command, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            env = {"HOME": folder, "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8", "COLUMNS": "200"}
            os.execvpe(command[0], command, env)
        self.seen = ""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, pattern):
        """What the shell wrote until then, without control sequences."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text()):
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited in vain for {pattern!r}: {self.text()[-600:]!r}")
            try:
                self.seen += os.read(self.terminal, 1 << 16).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"the shell ended: {self.text()[-600:]!r}") from None
        text, self.seen = self.text(), ""
        return text

    def text(self):
        return re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07|[\r\x07\x08]", "", self.seen)

    def end(self):
        os.close(self.terminal)
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)


@unittest.skipUnless(pty and BINARY.is_file(), "needs a terminal and the binary: `cargo build` makes it")
class CompletionsTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        for name, text in [("suite.yaml", SUITE), ("rows.jsonl", ROWS), ("notes.txt", "")]:
            Path(self.folder, name).write_text(text, encoding="utf-8")
        Path(self.folder, "bin").mkdir()
        Path(self.folder, "bin", "evalrs").symlink_to(BINARY)

    def typed(self, shell, typed):
        """A shell in which that is typed."""
        command, load = SHELLS[shell]
        terminal = Terminal(command, self.folder)
        self.addCleanup(terminal.end)
        terminal.type(load + "; echo rea''dy\n")
        terminal.until(r"ready\s")
        terminal.type(typed)
        return terminal

    def cases(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"needs {shell}")
        for typed, line in [
            ("evalrs validate-r\t", "evalrs validate-refs"),
            ("evalrs run su\t", "evalrs run suite.yaml"),
            ("evalrs run suite.yaml --frozen --sample ref\t", "--sample refund"),
            ("evalrs run suite.yaml --grader po\t", "--grader polite"),
            ("evalrs explain suite.yaml ref\t", "evalrs explain suite.yaml refund"),
            ("evalrs explain suite.yaml refund pl\t", "refund plain"),
            ("evalrs run suite.yaml --max-ca\t", "--max-calls"),
        ]:
            with self.subTest(shell=shell, typed=typed):
                terminal = self.typed(shell, typed)
                # Shells redraw as they like: what stands at the end of the line counts.
                terminal.until(re.escape(line))
        # fish takes one of them at once.
        if shell != "fish":
            terminal = self.typed(shell, "evalrs run suite.yaml --sample ord\t")
            terminal.until("order-l")
            terminal.type("\t\t")
            self.assertNotIn("refund", terminal.until(r"(?s)order-late.*order-lost|order-lost.*order-late"))

    def test_bash(self):
        self.cases("bash")

    def test_zsh(self):
        self.cases("zsh")

    def test_fish(self):
        self.cases("fish")

    def test_what_cannot_be_read_completes_nothing(self):
        Path(self.folder, "broken.yaml").write_text("graders: [", encoding="utf-8")
        for words in [["run", "broken.yaml", "--sample", ""], ["run", "missing.yaml", "--grader", ""], []]:
            env = {**os.environ, "EVALRS_COMPLETE": "bash", "_CLAP_COMPLETE_INDEX": str(len(words)), "_CLAP_IFS": "\n"}
            done = subprocess.run([str(BINARY), "--", "evalrs", *words], cwd=self.folder, env=env, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
