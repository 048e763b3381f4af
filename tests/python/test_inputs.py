"""Which files a worker reports: modules as `files`, all else that is opened for reading as `reads`."""

import os
import tempfile
import unittest

from harness import WorkerCase, to_grade


class Files(WorkerCase):
    def loaded_files(self, source, **named):
        worker, first = self.load(source, **named)
        self.assertIn("loaded", first)
        return worker, [os.path.relpath(path, self.folder) for path in first["loaded"]["files"]]

    def test_modules_of_the_workspace(self):
        self.write("graders/helper.py", "import sub.deep\nx = 1")
        self.write("graders/sub/__init__.py", "")
        self.write("graders/sub/deep.py", "")
        self.write("graders/unused.py", "")
        source = "import helper, json, fractions\ndef grade(sample, submission): return helper.x"
        worker, files = self.loaded_files(source, name="graders/grade.py")
        self.assertEqual(files, ["graders/helper.py", "graders/sub/__init__.py", "graders/sub/deep.py"])
        self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 1})

    def test_late_imports_are_reported_once(self):
        self.write("late.py", "x = 2")
        self.write("later.py", "raise ValueError('broken')")
        source = """
            def grade(sample, submission):
                if submission == "b":
                    import later
                import late
                return late.x
        """
        for prefix in ("", "async "):
            with self.subTest(prefix):
                worker, files = self.loaded_files(source.replace("def ", prefix + "def "))
                self.assertEqual(files, [])
                late = {"id": 1, "result": 2, "files": [self.path("late.py")]}
                self.assertEqual(worker.ask(to_grade("a")), late)
                self.assertEqual(worker.ask(to_grade("a"), 2), {"id": 2, "result": 2})
                self.assertEqual(worker.ask(to_grade("b"), 3)["error"]["message"], "ValueError: broken")

    def test_files_are_told_before_any_answer_that_may_rest_on_them(self):
        self.write("late.py", "x = 2")
        source = """
            def grade(sample, submission):
                if submission == "b":
                    import late
                    return late.x
                return 1
        """
        for prefix in ("", "async "):
            with self.subTest(prefix):
                worker, _ = self.loaded_files(source.replace("def ", prefix + "def "))
                worker.send(*({"id": n, "input": to_grade(text)} for n, text in enumerate("abba")))
                first, second, *others = [worker.receive() for _ in range(4)]
                late = [self.path("late.py")]
                self.assertEqual([first, second], [{"id": 0, "result": 1}, {"id": 1, "result": 2, "files": late}])
                self.assertEqual(others, [{"id": 2, "result": 2}, {"id": 3, "result": 1}])

    def missed(self, worker):
        """What was told to be missed, without modules for other machines."""
        names = (os.path.relpath(path, self.folder) for path in worker.missed)
        return sorted(name for name in names if not name.endswith((".so", ".pyd")))

    def test_what_is_looked_for_in_vain_is_told(self):
        self.write("lib/helper.py", "from . import inner")
        self.write("lib/package/__init__.py", "")
        self.write("lib/package/deep.py", "")
        self.write("lib/space/part.py", "")
        self.environment["PYTHONPATH"] = f"{self.path('made/later')}:{self.path('lib')}"
        for source, expected in (
            ("import colorsys", ["colorsys", "colorsys.py", "lib/colorsys", "lib/colorsys.py", "made/later"]),
            ("import helper", ["helper", "helper.py", "lib/helper", "made/later"]),
            ("import package.deep", ["lib/package/deep", "made/later", "package", "package.py"]),
            (
                "import space.part",
                ["lib/space.py", "lib/space/__init__.py", "lib/space/part", "made/later", "space", "space.py"],
            ),
            (
                "from package import nothing",
                ["lib/package/nothing", "lib/package/nothing.py", "made/later", "package", "package.py"],
            ),
        ):
            with self.subTest(source):
                body = f"try:\n    {source}\nexcept ImportError: pass\ndef grade(sample, submission): return 1"
                worker, _ = self.load(body, name="g.py")
                # Its own name is looked for too, to find out whether a child would find it.
                missed = [name for name in self.missed(worker) if name not in ("g", "lib/g", "lib/g.py")]
                self.assertEqual(missed, expected)

    def test_what_calls_look_for_in_vain_is_told_once(self):
        source = """
            def grade(sample, submission):
                try:
                    import rules
                except ImportError:
                    return 0
        """
        worker, _ = self.load(source)
        self.assertNotIn(self.path("rules.py"), worker.missed)
        self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 0})
        self.assertIn(self.path("rules.py"), worker.missed)
        worker.missed.clear()
        self.assertEqual(worker.ask(to_grade(), 2), {"id": 2, "result": 0})
        self.assertEqual(worker.missed, set())

    def test_scripts_that_are_executed_are_told(self):
        self.write("h.sh", "echo 1")
        self.write("sub/k.sh", "echo 1")
        for command, read in (
            ("subprocess.run(['sh', 'h.sh'])", "h.sh"),
            ("subprocess.run('sh h.sh', shell=True)", "h.sh"),
            ("subprocess.run(['sh', 'k.sh'], cwd='sub')", "sub/k.sh"),
            ("os.system('sh h.sh')", "h.sh"),
            ("subprocess.run(['true', 'none.sh'])", None),
        ):
            with self.subTest(command):
                source = f"""
                    import os, subprocess
                    os.chdir({self.folder!r})
                    def grade(sample, submission): return {command} and 1 or 1
                """
                worker = self.loaded(source)
                reads = {} if read is None else {"reads": [self.path(read)]}
                self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 1, **reads})

    def test_what_is_installed_is_not_told(self):
        self.write("env/pyvenv.cfg", "")
        self.write("virtual/lib/extra.py", "")
        places = ("lib/site-packages/a1.py", "dist-packages/a2.py", "env/lib/a3.py", "virtual/lib/a4.py", "own/a5.py")
        for place in places:
            self.write(place, "")
        folders = [self.path(os.path.dirname(place)) for place in places]
        self.environment["VIRTUAL_ENV"] = self.path("virtual")
        source = f"import sys\nsys.path += {folders!r}\nimport a1, a2, a3, a4, a5\ndef grade(sample, submission): pass"
        self.assertEqual(self.loaded_files(source)[1], ["own/a5.py"])

    def test_modules_that_must_not_be_looked_at(self):
        source = """
            import sys, types
            class Touchy(types.ModuleType):
                def __getattribute__(self, name): raise SystemError(name)
            sys.modules["touchy"] = Touchy("touchy")
            sys.modules["nothing"] = None
            sys.modules["odd"] = types.SimpleNamespace(__file__=3)
            def grade(sample, submission): return 1
        """
        worker, files = self.loaded_files(source)
        self.assertEqual((files, worker.ask(to_grade())), ([], {"id": 1, "result": 1}))

    def test_a_workspace_by_another_name(self):
        self.write("real/helper.py", "")
        self.write(
            "real/grade.py",
            "import helper\ndef grade(sample, submission): return open(helper.__file__ + '.txt').read()",
        )
        self.write("real/helper.py.txt", "t")
        os.symlink(self.path("real"), self.path("link"))
        for path, workspace in (("link", "link"), ("real", "link"), ("link", "real")):
            with self.subTest(path=path, workspace=workspace):
                worker = self.start()
                folder = self.path(workspace)
                request = {"path": self.path(path + "/grade.py"), "function": "grade", "role": "grade"}
                worker.send({"load": {**request, "workspace": folder}})
                if (path, workspace) == ("link", "real"):
                    # The file itself stands outside the workspace, by the name it was given.
                    self.assertIn("loaded", worker.receive())
                    continue
                self.assertEqual(worker.receive()["loaded"]["files"], [os.path.join(folder, "helper.py")])
                reads = [os.path.join(folder, "helper.py.txt")]
                self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": "t", "reads": reads})
                self.assertEqual(worker.ask(to_grade(), 2), {"id": 2, "result": "t"})

    def test_bytecode_is_never_stale(self):
        """An edit within one second that keeps the size is not told apart by cached bytecode."""
        source = "import helper\ndef grade(sample, submission): return helper.score"
        for score in (0.25, 0.75):
            path = self.write("helper.py", f"score = {score}")
            os.utime(path, (1_000_000_000, 1_000_000_000))
            worker, _ = self.loaded_files(source)
            self.assertEqual(worker.ask(to_grade())["result"], score)
        self.assertFalse(os.path.exists(self.path("__pycache__")))


class Reads(WorkerCase):
    def test_files_read_at_import(self):
        self.write("rules.json", "{}")
        source = (
            "import json\nrules = json.load(open(__file__.replace('grade.py', 'rules.json')))\ndef grade(s, t): pass"
        )
        _, first = self.load(source)
        self.assertEqual(first["loaded"]["reads"], [self.path("rules.json")])

    def test_what_counts_as_reading(self):
        table = [
            ("open(at('data.txt')).read()", ["data.txt"]),
            ("open(at('data.txt'), 'rb').read()", ["data.txt"]),
            ("open(at('data.txt').encode()).read()", ["data.txt"]),
            ("open(os.open(at('data.txt'), os.O_RDONLY)).read()", ["data.txt"]),
            ("pathlib.Path(at('data.txt')).read_text()", ["data.txt"]),
            ("(os.chdir(at('')), open('data.txt').read())", ["data.txt"]),
            ("open(at('data.txt'), 'r+').read()", ["data.txt"]),
            ("[open(at(name)).read() for name in ('other.py', 'data.txt')]", ["data.txt", "other.py"]),
            ("open(at('new.txt'), 'w').write('x')", []),
            ("open(at('log.txt'), 'a+').read()", []),
            ("(open(at('new.txt'), 'w').write('x'), open(at('new.txt')).read())", []),
            ("open(at('tmp/scratch.txt')).read()", []),
            ("open(at('env/lib/site-packages/p/data.txt')).read()", []),
            ("open('/etc/hostname').read()", []),
            ("open(__file__).read()", []),
            ("os.path.exists(at('data.txt')) and os.listdir(at(''))", []),
            ("open(at('none.txt')).read()", []),
            ("os.open(at(''), os.O_RDONLY)", []),
        ]
        source = """
            import os, pathlib
            def at(name): return os.path.join(os.path.dirname(__file__), name)
            def grade(sample, submission):
                eval(submission)
                return 1
        """
        for name in ("data.txt", "other.py", "tmp/scratch.txt", "env/lib/site-packages/p/data.txt"):
            self.write(name, "x")
        self.environment["TMPDIR"] = self.path("tmp")
        for expression, names in table:
            with self.subTest(expression):
                reply = self.loaded(source).ask(to_grade(expression))
                self.assertEqual(reply.get("reads", []), [self.path(name) for name in names])

    def test_each_is_told_once(self):
        self.write("data.txt", "x")
        source = "def grade(sample, submission): return open(__file__.replace('grade.py', 'data.txt')).read()"
        worker = self.loaded(source)
        self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": "x", "reads": [self.path("data.txt")]})
        self.assertEqual(worker.ask(to_grade(), 2), {"id": 2, "result": "x"})

    def test_reads_outside_the_workspace_are_not_told(self):
        with tempfile.NamedTemporaryFile() as file:
            worker = self.loaded(f"def grade(sample, submission): return open({file.name!r}).read()")
            self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": ""})


if __name__ == "__main__":
    unittest.main()
