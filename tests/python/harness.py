"""Drives worker.py as evalrs does: a process of its own, requests on descriptor 4, replies on descriptor 3."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKER = os.path.join(ROOT, "crates", "evalrs-exec", "src", "programs", "python", "worker.py")
#: How evalrs starts a worker: descriptor 4 brings requests, 3 takes replies, prints go to stderr.
START = ["/bin/sh", "-c", 'exec "$@" 3>&1 1>&2 4<&0 0</dev/null', "sh"]
#: Longer than anything here takes, in seconds.
PATIENCE = 30


class Worker:
    """One worker process and its pipes."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            START + [sys.executable, WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env=environment,
        )
        self._buffer = b""
        #: Where it told to have looked for modules in vain; what is not there is told of nearly every import.
        self.missed = set()

    def send(self, *messages):
        """Sends messages in one write."""
        self.send_raw("".join(json.dumps(message) + "\n" for message in messages).encode())

    def send_raw(self, block):
        rest = memoryview(block)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def receive(self):
        """The next message, or `None` when there will be no more."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError("the worker does not answer")
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line.decode("utf-8"))
        self.missed.update(message.pop("missed", []), message.get("loaded", {}).pop("missed", []))
        return message

    def ask(self, given, ident=1):
        """Sends one request and returns its reply."""
        self.send({"id": ident, "input": given})
        return self.receive()

    def finish(self):
        """Ends the requests; returns the exit status and what was printed."""
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        printed = self.process.stderr.read().decode("utf-8", "replace")
        self.stop()
        return status, printed

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


class WorkerCase(unittest.TestCase):
    """A workspace in a temporary folder, and workers that are stopped after each test."""

    maxDiff = None

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="evalrs-worker-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.environment.pop("VIRTUAL_ENV", None)

    def path(self, name):
        return os.path.join(self.folder, *name.split("/"))

    def write(self, name, text):
        """Writes a file of the workspace; returns its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def start(self):
        worker = Worker(self.environment)
        self.addCleanup(worker.stop)
        return worker

    def load(self, source, function="grade", role="grade", name="grade.py"):
        """Starts a worker for a function of this source; returns it and its first message."""
        path = self.write(name, source)
        worker = self.start()
        request = {"path": path, "function": function, "role": role, "workspace": self.folder}
        worker.send({"load": request})
        return worker, worker.receive()

    def loaded(self, *arguments, **named):
        """The same for a source that has to load."""
        worker, first = self.load(*arguments, **named)
        self.assertIn("loaded", first)
        return worker

    def unloadable(self, *arguments, **named):
        """What is said of a source that must not load."""
        worker, first = self.load(*arguments, **named)
        self.assertIn("unloadable", first)
        self.assertIsNone(worker.receive())
        self.assertEqual(worker.finish()[0], 0)
        return first["unloadable"]


def sample(**fields):
    """A sample as evalrs sends it."""
    names = ("ground_truth", "agent_args", "rubric_vars", "extra_vars", "metadata", "tags")
    return {"id": 0, "input": "q", **dict.fromkeys(names), **fields}


def to_grade(submission="a", **fields):
    """The input of a grader."""
    return {"sample": sample(**fields), "submission": submission}
