"""`worker.py --check FILE NAME`, which reads a file and executes nothing of it."""

import json
import os
import subprocess
import sys
import unittest

from harness import WORKER, WorkerCase

FOUND = {"ok": True, "async": False}
FOUND_ASYNC = {"ok": True, "async": True}


def problem(message, line=1, column=1, **rest):
    return {"problem": {"message": message, "line": line, "column": column, **rest}}


class Checking(WorkerCase):
    def check(self, path, name="grade"):
        done = subprocess.run(
            [sys.executable, WORKER, "--check", path, name], stdout=subprocess.PIPE, check=True, env=self.environment
        )
        self.assertEqual(done.stdout.count(b"\n"), 1)
        return json.loads(done.stdout)

    def test_names_at_the_top_level(self):
        missing = "`grade.py` defines no `grade` at its top level"
        table = [
            ("def grade(): pass", FOUND),
            ("async def grade(): pass", FOUND_ASYNC),
            ("class grade: pass", FOUND),
            ("grade = lambda: 1", FOUND),
            ("a, (grade, *b) = f()", FOUND),
            ("grade: object = 3", FOUND),
            ("async def a(): pass\nb = a\ngrade = b", FOUND_ASYNC),
            ("grade = grade", FOUND),
            ("from other import score as grade", FOUND),
            ("import grade.part", FOUND),
            ("from other import *", FOUND),
            ("try:\n  def grade(): pass\nexcept E: pass", FOUND),
            ("if x:\n  pass\nelse:\n  async def grade(): pass", FOUND_ASYNC),
            ("with f() as grade: pass", FOUND),
            ("if (grade := 3): pass", FOUND),
            ("raise SystemExit('must not run')\ndef grade(): pass", FOUND),
            ("import os.grade", problem(missing)),
            ("grade: object", problem(missing)),
            ("def f():\n  def grade(): pass", problem(missing)),
            ("class A:\n  def grade(self): pass", problem(missing)),
            ("[grade for grade in ()]", problem(missing)),
            ("grade.x = 3", problem(missing)),
            ("\n\nif x:\n  def grades(): pass", problem(missing, 4, 3, suggestion="grades")),
            ("", problem(missing)),
        ]
        for source, expected in table:
            with self.subTest(source):
                self.assertEqual(self.check(self.write("grade.py", source)), expected)

    def test_files_without_syntax(self):
        table = [
            (b"x = 1\ndef grade(:\n", 2, 11),
            (b"def grade():\nreturn 1", 2, 1),
            (b"x = '\xff'", 1, 1),
            (b"# coding: nonsense\n", 1, 1),
            (b"x = \0", 1, 1),
            (b"(" * 300, 1, 1),
        ]
        for source, line, column in table:
            with self.subTest(source):
                path = self.path("grade.py")
                with open(path, "wb") as file:
                    file.write(source)
                told = self.check(path)["problem"]
                self.assertRegex(told["message"], "^syntax error: .")
                self.assertEqual(told["line"], line)
                if line == 2:
                    self.assertEqual(told["column"], column)

    def test_files_that_cannot_be_read(self):
        for name, message in (("none.py", "No such file or directory"), ("", "Is a directory")):
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                self.assertEqual(self.check(path), problem(f"cannot be read: {message}"))


if __name__ == "__main__":
    unittest.main()
