"""What the user's code may do to its process without harm to the replies."""

import os
import unittest

from harness import WorkerCase, to_grade


class Processes(WorkerCase):
    def check_alone(self, source, expected, requests=2):
        """Every request gets exactly its own reply, and nothing follows."""
        worker = self.loaded(source)
        for ident in range(1, requests + 1):
            self.assertEqual(worker.ask(to_grade(), ident), {"id": ident, "result": expected})
        worker.process.stdin.close()
        self.assertIsNone(worker.receive())
        self.assertEqual(worker.process.wait(30), 0)

    def test_forked_children_never_reply(self):
        table = {
            "the child comes back": ("if os.fork() == 0: return 99\n    os.wait()\n    return 1", 1),
            "the child raises": (
                "if os.fork() == 0: raise ValueError('in the child')\n    return os.wait()[1] >> 8",
                1,
            ),
            "the child exits": ("if os.fork() == 0: sys.exit(7)\n    return os.wait()[1] >> 8", 7),
            "the child ends": ("if os.fork() == 0: os._exit(5)\n    return os.wait()[1] >> 8", 5),
            "the child writes to what was the pipe": (
                "if os.fork() == 0:\n        for n in range(3, 256):\n            try: os.write(n, b'{}\\n')\n"
                "            except OSError: pass\n        os._exit(0)\n    return os.wait()[1]",
                0,
            ),
        }
        for name, (body, expected) in table.items():
            for prefix in ("", "async "):
                with self.subTest(prefix + name):
                    source = f"import os, sys\n{prefix}def grade(sample, submission):\n    {body}"
                    self.check_alone(source, expected)

    def test_a_child_forked_at_import_never_replies(self):
        source = "import os\nchild = os.fork()\ndef grade(sample, submission): return child > 0"
        self.check_alone(source, True)

    def test_a_forked_child_does_not_answer_what_is_waiting(self):
        source = "import os\ndef grade(sample, submission):\n    os.fork()\n    return 1"
        worker = self.loaded(source)
        worker.send(*({"id": n, "input": to_grade()} for n in range(20)))
        self.assertEqual([worker.receive()["id"] for _ in range(20)], list(range(20)))
        worker.process.stdin.close()
        self.assertIsNone(worker.receive())

    def test_pools_work(self):
        table = [
            "import multiprocessing\ndef work(x): return x + 1\n"
            "def grade(sample, submission):\n"
            "    with multiprocessing.Pool(2) as pool: return sum(pool.map(work, [0, 1]))",
            "import concurrent.futures\ndef work(x): return x + 1\n"
            "def grade(sample, submission):\n"
            "    with concurrent.futures.ProcessPoolExecutor(2) as pool: return sum(pool.map(work, [0, 1]))",
            "import concurrent.futures\npool = concurrent.futures.ProcessPoolExecutor(1)\ndef work(x): return x + 1\n"
            "def grade(sample, submission): return sum(pool.map(work, [0, 1]))",
        ]
        for source in table:
            with self.subTest(source):
                self.check_alone(source, 3)

    def test_children_do_not_inherit_the_channel(self):
        source = """
            import os, subprocess
            def grade(sample, submission):
                command = ["ls", "-l", "/proc/self/fd"]
                listing = subprocess.run(command, close_fds=False, capture_output=True, text=True)
                own = {os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) >= 200}
                return [len(own), [link for link in own if link in listing.stdout]]
        """
        if os.path.isdir("/proc/self/fd"):
            self.check_alone(source, [2, []])


class Descriptors(WorkerCase):
    def test_small_descriptors_are_the_users(self):
        table = [
            "os.close(3) if is_open(3) else None\n    os.close(4) if is_open(4) else None",
            "os.closerange(3, 100)",
            "files = [open(os.devnull, 'w') for _ in range(5)]\n    [os.write(file.fileno(), b'x') for file in files]",
            "os.close(0)",
            "sys.stdout.close(); sys.stderr.close()",
            "os.close(1); os.close(2)",
            "sys.stdout = sys.stderr = None",
            "os.dup2(os.open(os.devnull, os.O_RDWR), 3)",
        ]
        head = (
            "import os, sys\ndef is_open(n):\n    try: os.fstat(n)\n    except OSError: return False\n    return True\n"
            "def grade(sample, submission):\n    "
        )
        for body in table:
            with self.subTest(body):
                worker = self.loaded(head + body + "\n    return 1")
                self.assertEqual(worker.ask(to_grade()), {"id": 1, "result": 1})
                worker.process.stdin.close()
                self.assertEqual(worker.process.wait(30), 0)

    def test_a_closed_channel_ends_the_process(self):
        source = "import os\ndef grade(sample, submission): os.closerange(3, 1000)"
        worker = self.loaded(source)
        worker.send({"id": 1, "input": to_grade()})
        self.assertIsNone(worker.receive())
        self.assertNotEqual(worker.process.wait(30), None)

    def test_a_process_that_ends_itself_is_seen(self):
        worker = self.loaded("import os\ndef grade(sample, submission): os._exit(9)")
        worker.send({"id": 1, "input": to_grade()})
        self.assertIsNone(worker.receive())
        self.assertEqual(worker.process.wait(30), 9)


class Interpreter(WorkerCase):
    def test_odd_deeds_do_no_harm(self):
        table = {
            "recursion": "def f(): f()\n    try: f()\n    except RecursionError: pass",
            "threads": "threading.Thread(target=time.sleep, args=(1000,)).start()",
            "a thread that raises": "threading.Thread(target=lambda: 1 / 0).start()",
            "an alarm": "signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.001)",
            "another folder": "os.chdir('/')",
            "no path": "sys.path.clear()",
            "patched json": "json.loads = json.dumps = json.JSONEncoder.encode = None",
            "a frozen clock": "time.monotonic = lambda: 0.0",
            "no modules": "sys.modules.pop('json', None); sys.modules.pop(__name__, None)",
            "a trace function": "sys.settrace(lambda *a: None)",
            "a hook that raises": "sys.excepthook = None",
        }
        for name, body in table.items():
            with self.subTest(name):
                source = (
                    "import json, os, signal, sys, threading, time\n"
                    f"def grade(sample, submission):\n    {body}\n    return submission"
                )
                worker = self.loaded(source)
                for ident in (1, 2):
                    self.assertEqual(worker.ask(to_grade("s"), ident), {"id": ident, "result": "s"})
                self.assertEqual(worker.finish()[0], 0)

    def test_loops_of_the_users_own(self):
        table = {
            "asyncio.run": "def grade(sample, submission): return asyncio.run(later())",
            "a stopped loop": (
                "async def grade(sample, submission):\n    asyncio.get_event_loop().stop()\n    return await later()"
            ),
            "a cancelled task": (
                "async def grade(sample, submission):\n    task = asyncio.ensure_future(later())\n    task.cancel()\n"
                "    try: await task\n    except asyncio.CancelledError: return 1"
            ),
            "a lock made at import": (
                "lock = asyncio.Lock()\nasync def grade(sample, submission):\n    async with lock: return await later()"
            ),
        }
        head = "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 1\n"
        for name, source in table.items():
            with self.subTest(name):
                worker = self.loaded(head + source)
                worker.send({"id": 1, "input": to_grade()}, {"id": 2, "input": to_grade()})
                replies = [worker.receive() for _ in (1, 2)]
                self.assertEqual(sorted(reply["id"] for reply in replies if reply["result"] == 1), [1, 2])

    def test_a_task_that_cancels_itself_is_answered(self):
        source = """
            import asyncio
            async def grade(sample, submission):
                asyncio.current_task().cancel()
                await asyncio.sleep(1)
        """
        worker = self.loaded(source)
        self.assertEqual(worker.ask(to_grade())["error"]["message"], "CancelledError")
        self.assertIn("error", worker.ask(to_grade(), 2))


if __name__ == "__main__":
    unittest.main()
