"""How workers load, answer, batch and end: everything but misbehaviour and Letta's own classes."""

import json
import os
import subprocess
import sys
import threading
import time
import unittest

from harness import START, WORKER, WorkerCase, to_grade

NAN = "NaN"


class Loading(WorkerCase):
    def test_says_what_it_has_loaded(self):
        worker, first = self.load("def grade(sample, submission): return 1.0")
        version = ".".join(str(part) for part in sys.version_info[:3])
        expected = {"runtime": f"python {version}", "overlaps": False, "files": [], "reads": [], "warnings": []}
        self.assertEqual(first, {"loaded": expected})
        self.assertEqual(worker.finish(), (0, ""))

    def test_overlaps_only_what_is_async(self):
        table = [
            ("def grade(sample, submission): return 1.0", False),
            ("async def grade(sample, submission): return 1.0", True),
            ("class A:\n    async def __call__(self, sample, submission): return 1.0\ngrade = A()", True),
            ("grade = lambda sample, submission: 1.0", False),
            ("import functools\ndef g(k, sample, submission): return k\ngrade = functools.partial(g, 0.5)", False),
        ]
        for source, overlaps in table:
            with self.subTest(source):
                worker, first = self.load(source)
                self.assertEqual(first["loaded"]["overlaps"], overlaps)
                self.assertIn("result", worker.ask(to_grade()))

    def test_refuses_what_cannot_be_served(self):
        table = [
            ("def grader(sample, submission): pass", "`grade.py` defines no `grade`; did you mean `grader`?"),
            ("x = 1", "`grade.py` defines no `grade`"),
            ("grade = 3", "`grade` in `grade.py` is not a function but a value of type `int`"),
            ("def grade(text): pass", "`grade(text)` has to take (sample, submission)"),
            ("import sys\nsys.exit(3)", "SystemExit: 3"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
            ("def grade(:", "SyntaxError: invalid syntax (grade.py, line 1)"),
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        ]
        for source, message in table:
            with self.subTest(source):
                self.assertEqual(self.unloadable(source)["message"], message)

    def test_refuses_functions_that_ask_for_more_than_there_is(self):
        grade = "has to take (sample, submission)"
        extract = "has to take (trajectory, config) or (trajectory, config, agent_state)"
        table = [
            ("grade", "()", f"`f()` {grade}"),
            ("grade", "(a, b, c)", f"`f(a, b, c)` {grade}"),
            ("grade", "(*, a, b)", f"`f(*, a, b)` {grade}"),
            (
                "grade",
                "(submission, sample, limit)",
                f"`f(submission, sample, limit)` {grade}; there is nothing for `limit`, which has no default",
            ),
            ("grade", "(a, b, sample)", f"`f(a, b, sample)` {grade}; there is nothing for `b`, which has no default"),
            ("extract", "(messages)", f"`f(messages)` {extract}"),
            ("extract", "(a, b, c, d)", f"`f(a, b, c, d)` {extract}"),
            ("reward", "()", "`f()` has to take (ctx)"),
            ("compare", "(a, b)", "`f(a, b)` has to take (matchup)"),
            ("reward", "(ctx, b)", "`f(ctx, b)` has to take (ctx); there is nothing for `b`, which has no default"),
        ]
        for role, parameters, message in table:
            with self.subTest(role + parameters):
                told = self.unloadable(f"def f{parameters}: pass", function="f", role=role)
                self.assertEqual(told["message"], message)

    def test_a_missing_file_is_told(self):
        worker = self.start()
        path = self.path("none.py")
        worker.send({"load": {"path": path, "function": "grade", "role": "grade", "workspace": self.folder}})
        message = worker.receive()["unloadable"]["message"]
        self.assertEqual(message, f"`{path}` does not exist")

    def test_details_show_the_users_frames_only(self):
        self.write("helper.py", "import json\ndef read(text):\n    return json.loads(text)\n")
        details = self.unloadable("import helper\nhelper.read('{')\n")["details"]
        expected = (
            "Traceback (most recent call last):\n"
            '  File "grade.py", line 2, in <module>\n'
            "    helper.read('{')\n"
            '  File "helper.py", line 3, in read\n'
            "    return json.loads(text)\n"
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
        )
        self.assertEqual(details, expected)

    def test_module_is_like_any_other(self):
        source = """
            from __future__ import annotations
            import dataclasses, pickle, sys, os

            @dataclasses.dataclass
            class Point:
                x: int

            def grade(sample, submission):
                assert pickle.loads(pickle.dumps(Point(3))) == Point(3)
                assert sys.modules[__name__].Point is Point
                assert sys.path[0] == os.path.dirname(__file__), sys.path
                assert not any("programs/python" in folder for folder in sys.path), sys.path
                assert sys.argv == [__file__]
                return [__name__, os.path.basename(__file__)]
        """
        table = [
            ("grade.py", "grade"),
            ("my-grader.py", "evalrs_program_my-grader"),
            ("json.py", "evalrs_program_json"),
        ]
        for name, module in table:
            with self.subTest(name):
                self.assertEqual(self.loaded(source, name=name).ask(to_grade()), {"id": 1, "result": [module, name]})

    def test_a_file_named_like_a_standard_module_stands_in_nobodys_way(self):
        source = "import fractions, statistics\ndef grade(sample, submission): return statistics.mean([0.0, 1.0])"
        self.assertEqual(self.loaded(source, name="statistics.py").ask(to_grade())["result"], 0.5)

    def test_spawned_processes_find_the_function(self):
        source = """
            import multiprocessing
            from letta_evals.models import GradeResult
            def double(x): return 2 * x
            def grade(sample, submission):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    return pool.map(double, [1, 2])
        """
        # The child is an ordinary Python, which would leave bytecode beside the worker's modules.
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.assertEqual(self.loaded(source).ask(to_grade()), {"id": 1, "result": [2, 4]})


class Answering(WorkerCase):
    def test_results_are_passed_on_as_json(self):
        table = [
            ("0.5", 0.5),
            ("1", 1),
            ("True", True),
            ("None", None),
            ("{'score': 1.0, 'rationale': 'é\\n\"'}", {"score": 1.0, "rationale": 'é\n"'}),
            ("(1, [2, {'a': None}])", [1, [2, {"a": None}]]),
            ("float('nan')", NAN),
            ("{'score': float('inf'), float('nan'): [float('-inf')]}", {"score": "Infinity", NAN: ["-Infinity"]}),
            ("{1: 2, None: 3, True: 4}", {"1": 4, "null": 3}),
            ("'lone \\ud800, pair \\ud83d\\ude00'", "lone \ufffd, pair \U0001f600"),
            ("'[' * 5000", "[" * 5000),
            ("'1' * 5000", "1" * 5000),
            ("type('numpy_like', (), {'__module__': 'numpy', 'tolist': lambda self: 0.25})()", 0.25),
            ("submission", "\u2028 \U0001f600 \x00"),
            ("sample.ground_truth", None),
            ("sample.extra_vars['k']", "v"),
            ("repr(sample)[:12]", "Sample(id=0,"),
        ]
        worker = self.loaded("def grade(sample, submission): return eval(sample.input)")
        for expression, expected in table:
            with self.subTest(expression):
                given = to_grade("\u2028 \U0001f600 \x00", input=expression, extra_vars={"k": "v"})
                self.assertEqual(worker.ask(given, 7), {"id": 7, "result": expected})

    def test_parameters_get_what_they_are_called(self):
        table = [
            ("(sample, submission)", "sample.input, submission", ["q", "a"]),
            ("(submission, sample)", "sample.input, submission", ["q", "a"]),
            ("(*, submission, sample)", "sample.input, submission", ["q", "a"]),
            ("(submission, *, sample)", "sample.input, submission", ["q", "a"]),
            ("(submission='', sample=None)", "sample.input, submission", ["q", "a"]),
            ("(submission, sample, /)", "sample.input, submission", ["q", "a"]),
            ("(sample, submission, metadata=None)", "sample.input, submission, metadata", ["q", "a", None]),
            ("(submission, limit=3, sample=None)", "sample.input, submission, limit", ["q", "a", 3]),
            ("(submission, *rest, sample, **more)", "sample.input, submission, rest, more", ["q", "a", [], {}]),
            ("(submission)", "submission", "a"),
            ("(sample)", "sample.input", "q"),
            ("(submission, limit=3)", "submission, limit", ["a", 3]),
            ("(sample, *rest)", "sample.input, rest", ["q", ["a"]]),
            ("(sample, **rest)", "sample.input, rest", ["q", {"submission": "a"}]),
            ("(answer, sample)", "sample.input, answer", ["q", "a"]),
            ("(sample, answer)", "sample.input, answer", ["q", "a"]),
            ("(case, answer)", "case.input, answer", ["q", "a"]),
            ("(case, answer=None)", "case.input, answer", ["q", "a"]),
            ("(*given)", "given[0].input, given[1]", ["q", "a"]),
            ("(**given)", "given['sample'].input, given['submission']", ["q", "a"]),
        ]
        for prefix in ("", "async "):
            for parameters, told, expected in table:
                with self.subTest(prefix + parameters):
                    worker = self.loaded(f"{prefix}def grade{parameters}: return {told}")
                    self.assertEqual(worker.ask(to_grade("a")), {"id": 1, "result": expected})

    def test_wrappers_get_what_they_or_the_wrapped_are_called(self):
        table = [
            "lambda *args, **named: function(*args, **named)",
            "lambda *args: function(*args)",
            "lambda sample, submission: function(submission, sample)",
        ]
        for wrapper in table:
            with self.subTest(wrapper):
                source = f"""
                    import functools
                    def wrap(function): return functools.wraps(function)({wrapper})
                    @wrap
                    def grade(submission, sample): return [sample.input, submission]
                """
                self.assertEqual(self.loaded(source).ask(to_grade("a"))["result"], ["q", "a"])

    def test_parameters_of_other_roles(self):
        trajectory = {"trajectory": [[{"message_type": "user_message", "content": "hi"}]], "config": {"k": 1}}
        sample = to_grade()["sample"]
        table = [
            ("extract", "(trajectory, config)", "len(trajectory), config", [1, {"k": 1}]),
            ("extract", "(config, trajectory)", "len(trajectory), config", [1, {"k": 1}]),
            ("extract", "(trajectory, config, limit=3)", "len(trajectory), config, limit", [1, {"k": 1}, 3]),
            ("extract", "(trajectory, agent_state)", "len(trajectory), agent_state.id", [1, "x"]),
            ("extract", "(turns, options, state)", "len(turns), options, state.id", [1, {"k": 1}, "x"]),
            ("extract", "(turns, options, limit=3)", "len(turns), options, limit", [1, {"k": 1}, 3]),
            ("extract", "(trajectory)", "len(trajectory)", 1),
            ("reward", "(ctx)", "ctx.sample.input", "q"),
            ("reward", "(context)", "context.sample.input", "q"),
            ("reward", "(weight=2, *, ctx)", "weight, ctx.sample.input", [2, "q"]),
            ("compare", "(matchup)", "sorted(matchup)", ["agent_state", "config", "sample", "trajectory"]),
            ("compare", "(given, weight=2)", "given['config'], weight", [{"k": 1}, 2]),
        ]
        for role, parameters, told, expected in table:
            with self.subTest(role + parameters):
                worker = self.loaded(f"def f{parameters}: return {told}", function="f", role=role)
                given = {"sample": sample, "agent_state": {"id": "x"}, **trajectory}
                self.assertEqual(worker.ask(given), {"id": 1, "result": expected})

    def test_what_is_no_json_is_an_error(self):
        table = [
            ("object()", "the result contains a value of type `object`, which is not JSON"),
            ("{'a': {1, 2}}", "the result contains a value of type `set`, which is not JSON"),
            ("(x for x in ())", "the result contains a value of type `generator`, which is not JSON"),
            ("b'bytes'", "the result contains a value of type `bytes`, which is not JSON"),
            ("10 ** 400", "the result contains an integer of more than 300 digits"),
            ("'x' * 70_000_000", "the result is 70 MB of JSON, and 64 MB is the most"),
            ("nested(150)", "the result is nested more than 100 levels deep"),
            ("nested(200_000)", "the result is nested more than 100 levels deep"),
            ("{(1, 2): 3}", "keys must be str, int, float, bool or None, not tuple"),
            ("loop()", "the result contains itself and is not JSON"),
        ]
        helpers = (
            "def nested(n):\n    a = []\n    for _ in range(n): a = [a]\n    return a\n"
            "def loop():\n    a = []\n    a.append(a)\n    return a\n"
        )
        worker = self.loaded(f"{helpers}def grade(sample, submission): return eval(submission)")
        for expression, message in table:
            with self.subTest(expression):
                error = worker.ask(to_grade(expression))["error"]
                self.assertEqual((error["message"], error["transient"]), (f"NotJson: {message}", False))

    def test_exceptions_are_answers(self):
        table = [
            ("ValueError('no such thing')", "ValueError: no such thing", False),
            ("KeyError('k')", "KeyError: 'k'", False),
            ("AssertionError()", "AssertionError", False),
            ("SystemExit(2)", "SystemExit: 2", False),
            ("KeyboardInterrupt()", "KeyboardInterrupt", True),
            ("GeneratorExit()", "GeneratorExit", False),
            ("RecursionError('deep')", "RecursionError: deep", False),
            ("ImportError('gone')", "ImportError: gone", True),
            ("FileNotFoundError(2, 'No such file', 'x')", "FileNotFoundError: [Errno 2] No such file: 'x'", True),
            ("ConnectionRefusedError('no')", "ConnectionRefusedError: no", True),
            ("__import__('asyncio').TimeoutError()", "TimeoutError", True),
            ("MemoryError()", "MemoryError", True),
            ("type('APIConnectionError', (Exception,), {})('down')", "APIConnectionError: down", True),
            ("type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", "Odd: (its text cannot be told)", False),
            ("ValueError('lone \\ud800')", "ValueError: lone \ufffd", False),
        ]
        for prefix in ("", "async "):
            worker = self.loaded(f"{prefix}def grade(sample, submission):\n    raise eval(submission)")
            for expression, message, transient in table:
                with self.subTest(prefix + expression):
                    error = worker.ask(to_grade(expression))["error"]
                    self.assertEqual((error["message"], error["transient"]), (message, transient))
                    self.assertIn('File "grade.py", line 2, in grade', error["details"])

    def test_deep_and_chained_tracebacks_stay_short(self):
        source = """
            def deep(n):
                return deep(n + 1)

            def grade(sample, submission):
                try:
                    deep(0)
                except RecursionError as fault:
                    raise ValueError("x" * 9000) from fault
        """
        details = self.loaded(source).ask(to_grade())["error"]["details"]
        self.assertLessEqual(len(details), 4000)
        self.assertRegex(details, r"\.\.\. \d+ more frames \.\.\.")
        self.assertNotIn("evalrs_worker", details)

    def test_causes_are_told_oldest_first(self):
        source = "def grade(sample, submission):\n    try: {}['k']\n    except KeyError: raise ValueError('bad:')"
        details = self.loaded(source).ask(to_grade())["error"]["details"]
        lines = [line for line in details.split("\n") if not line.startswith(" ")]
        head = "Traceback (most recent call last):"
        self.assertEqual(lines, [head, "KeyError: 'k'", "while handling which:", head, "ValueError: bad:"])

    def test_prints_are_harmless(self):
        source = """
            import os, subprocess, sys
            print("at import")
            def grade(sample, submission):
                print("lone \\ud800")
                os.write(1, b"raw\\n")
                subprocess.run(["echo", "from a child"])
                print(repr(sys.stdin.read()))
                return 1.0
        """
        worker = self.loaded(source)
        self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 1.0})
        self.assertEqual(worker.finish(), (0, "at import\nlone \\ud800\nraw\nfrom a child\n''\n"))

    def test_awaitables_of_plain_functions_are_awaited(self):
        source = """
            import asyncio
            async def later():
                await asyncio.sleep(0)
                return 0.75
            def grade(sample, submission):
                return later()
        """
        worker = self.loaded(source)
        self.assertEqual([worker.ask(to_grade(), n)["result"] for n in (1, 2)], [0.75, 0.75])


class Transport(WorkerCase):
    def test_many_requests_in_order(self):
        worker = self.loaded("def grade(sample, submission): return sample.id")
        count = 5000
        requests = [{"id": n, "input": to_grade(id=n)} for n in range(count)]
        # Replies fill their pipe before all is sent, so somebody has to read at the same time.
        sender = threading.Thread(target=worker.send, args=requests)
        sender.start()
        self.addCleanup(sender.join)
        self.assertEqual([worker.receive() for _ in range(count)], [{"id": n, "result": n} for n in range(count)])

    def test_requests_may_come_in_pieces_and_with_the_first_line(self):
        path = self.write("grade.py", "def grade(sample, submission): return submission")
        worker = self.start()
        load = {"load": {"path": path, "function": "grade", "role": "grade", "workspace": self.folder}}
        lines = [load] + [{"id": n, "input": to_grade("é" * n)} for n in (1, 2)]
        block = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        worker.send_raw(block[:-30])
        self.assertIn("loaded", worker.receive())
        for index in range(len(block) - 30, len(block)):
            worker.send_raw(block[index : index + 1])
        self.assertEqual([worker.receive()["result"] for _ in (1, 2)], ["é", "éé"])

    def test_large_messages_pass(self):
        worker = self.loaded("def grade(sample, submission): return submission")
        text = "é" * 4_000_000
        self.assertEqual(worker.ask(to_grade(text))["result"], text)

    def test_a_slow_answer_does_not_keep_those_before_it(self):
        source = """
            import os, time
            def grade(sample, submission):
                while submission == "slow" and not os.path.exists(sample.input):
                    time.sleep(0.001)
                return submission
        """
        worker = self.loaded(source)
        gate = self.path("gate")
        worker.send({"id": 1, "input": to_grade("fast")}, {"id": 2, "input": to_grade("slow", input=gate)})
        # Within a millisecond of the last flush the first reply waits for company, so the second has to end.
        self.write("gate", "")
        self.assertEqual([worker.receive()["result"] for _ in (1, 2)], ["fast", "slow"])

    def test_async_requests_overlap(self):
        source = """
            import asyncio
            arrived = []
            def gather():
                arrived.append(1)
                return len(arrived)
            async def grade(sample, submission):
                if submission == "bad":
                    raise ValueError("bad")
                gather()
                while len(arrived) < 3:
                    await asyncio.sleep(0.001)
                return asyncio.current_task() is not None
        """
        worker = self.loaded(source)
        given = [to_grade("bad"), to_grade(), to_grade(), to_grade()]
        worker.send(*({"id": n, "input": one} for n, one in enumerate(given)))
        replies = sorted((worker.receive() for _ in given), key=lambda reply: reply["id"])
        self.assertEqual(replies[0]["error"]["message"], "ValueError: bad")
        self.assertEqual(replies[1:], [{"id": n, "result": True} for n in (1, 2, 3)])
        self.assertEqual(worker.finish()[0], 0)

    def test_ends_with_its_requests(self):
        table = {
            "plain": "def grade(sample, submission): return 1.0",
            "async": "async def grade(sample, submission): return 1.0",
            "a thread is left running": (
                "import threading, time\n"
                "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
                "def grade(sample, submission): return 1.0"
            ),
            "a task is left running": (
                "import asyncio\n"
                "async def grade(sample, submission):\n"
                "    asyncio.ensure_future(asyncio.sleep(1000))\n"
                "    return 1.0"
            ),
            "an exit handler hangs": (
                "import atexit, time\natexit.register(time.sleep, 1000)\ndef grade(sample, submission): return 1.0"
            ),
        }
        for name, source in table.items():
            with self.subTest(name):
                worker = self.loaded(source)
                self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 1.0})
                start = time.monotonic()
                self.assertEqual(worker.finish()[0], 0)
                self.assertLess(time.monotonic() - start, 10)

    def test_ends_although_a_function_hangs(self):
        workers = []
        for prefix, wait in (("", "time.sleep(1000)"), ("async ", "await asyncio.sleep(1000)")):
            source = f"import asyncio, time\n{prefix}def grade(sample, submission):\n    {wait}"
            workers.append(self.loaded(source))
            workers[-1].send({"id": 1, "input": to_grade()})
            workers[-1].process.stdin.close()
        self.assertEqual([worker.finish()[0] for worker in workers], [0, 0])

    def test_ends_when_nobody_reads(self):
        worker = self.loaded("import time\ndef grade(sample, submission): time.sleep(1000)")
        worker.send({"id": 1, "input": to_grade()})
        worker.process.stdout.close()
        self.assertEqual(worker.process.wait(10), 0)

    def test_answers_what_was_asked_before_the_end(self):
        path = self.write("grade.py", "async def grade(sample, submission): return 1.0")
        load = {"load": {"path": path, "function": "grade", "role": "grade", "workspace": self.folder}}
        lines = [load] + [{"id": n, "input": to_grade()} for n in range(50)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run(
            START + [sys.executable, WORKER], input=text, stdout=subprocess.PIPE, text=True, timeout=30
        )
        self.assertEqual((done.returncode, done.stdout.count('"result":1.0')), (0, 50))

    def test_exit_handlers_run(self):
        marker = self.path("marker")
        handler = f"import atexit\natexit.register(lambda: open({marker!r}, 'w').close())"
        self.loaded(f"{handler}\ndef grade(sample, submission): pass").finish()
        self.assertTrue(os.path.exists(marker))


if __name__ == "__main__":
    unittest.main()
