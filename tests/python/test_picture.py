"""The picture of `watch` in the README shows what the binary draws."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs")


@unittest.skipUnless(BINARY.is_file() and os.name == "posix", "needs the binary (`cargo build`) and a pseudo-terminal")
class PictureTest(unittest.TestCase):
    def test_the_picture_of_watch_is_current(self):
        command = [sys.executable, str(ROOT / "docs/images/watch.py"), "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
