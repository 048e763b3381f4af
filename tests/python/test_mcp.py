"""`evalrs mcp`, by the official Python client where it is installed (EVALRS_TEST_MCP_PYTHON names a Python that has it), and by lines.

EVALRS names another binary.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from judge import judge

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs").resolve()
PYTHON = os.environ.get("EVALRS_TEST_MCP_PYTHON") or sys.executable

SUITE = """name: shop
dataset: rows.jsonl
graders:
  polite: {kind: rubric, prompt: "Polite? {submission}", model: gpt-4o-mini, pass_threshold: 0.5}
  right: {kind: tool, function: contains}
gate: {metric_key: polite, op: gte, value: 0.5}
"""
ROWS = "".join(json.dumps({"id": f"q{at}", "input": "a", "ground_truth": "b", "output": f"b{at}"}) + "\n" for at in range(4))

#: Calls tools with the client and prints what they gave: a line for the tools, and one for each call.
CLIENT = """
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    command, calls, env = json.loads(sys.argv[1])
    async with stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=env)) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print(json.dumps([tool.name for tool in (await session.list_tools()).tools]))
            for name, arguments in calls:
                dumped = (await session.call_tool(name, arguments)).model_dump(mode="json", by_alias=True)
                print(json.dumps(dumped))

asyncio.run(main())
"""


def has_client():
    """Whether there is a client."""
    return subprocess.run([PYTHON, "-c", "import mcp.client.stdio"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(BINARY.is_file(), "needs the binary: `cargo build` makes it")
class McpTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        for name, text in [("suite.yaml", SUITE), ("rows.jsonl", ROWS), ("bad.yaml", SUITE.replace("rubric", "rubrik"))]:
            Path(self.folder, name).write_text(text, encoding="utf-8")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder}

    def client(self, calls, *flags):
        """What the official client gets."""
        command = [str(BINARY), "mcp", *flags]
        words = [PYTHON, "-c", CLIENT, json.dumps([command, calls, self.env])]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def lines(self, *messages, flags=()):
        """What the server writes to these messages; texts are written as they are."""
        text = "".join((message if isinstance(message, str) else json.dumps(message)) + "\n" for message in messages)
        done = subprocess.run([str(BINARY), "mcp", *flags], cwd=self.folder, env=self.env, input=text, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    @unittest.skipUnless(has_client(), "needs the package mcp")
    def test_the_official_client_uses_every_tool(self):
        calls = [
            ("validate", {"suite": "suite.yaml"}),
            ("validate", {"suite": "bad.yaml"}),
            ("plan", {"suite": "suite.yaml"}),
            ("run", {"suite": "suite.yaml"}),
            ("run", {"suite": "suite.yaml", "graders": ["right"], "samples": ["q1"]}),
            ("explain", {"suite": "suite.yaml", "sample": "q1", "grader": "right"}),
            ("diff", {"suite": "suite.yaml"}),
            ("list", {"what": "graders"}),
            ("run", {"suite": "missing.yaml"}),
        ]
        tools, *results = self.client(calls)
        self.assertEqual(tools, ["validate", "plan", "run", "explain", "diff", "list"])
        self.assertEqual([bool(result["isError"]) for result in results], [False] * 8 + [True])
        valid, invalid, plan, frozen, narrow, explained, diff, listed = (result["structuredContent"] for result in results[:8])
        self.assertEqual((valid["valid"], invalid["valid"]), (True, False))
        self.assertEqual(plan["graders"]["polite"]["to_ask"], 4)
        self.assertEqual((frozen["exit_code"], frozen["gate"]["status"], len(frozen["errors"])), (3, "undecided", 4))
        self.assertEqual({error["error"]["kind"] for error in frozen["errors"]}, {"not_stored"})
        self.assertEqual((narrow["samples"], narrow["failures"], narrow["gate"]["status"]), (1, [], None))
        self.assertIn("right", json.dumps(explained))
        self.assertTrue(diff)
        self.assertIn("exact_match", json.dumps(listed))
        self.assertIn("missing.yaml", results[8]["content"][0]["text"])

    @unittest.skipUnless(has_client(), "needs the package mcp")
    def test_runs_of_a_session_share_its_budget(self):
        with judge(lambda _: 0.25) as server:
            self.env |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "NO_PROXY": "*"}
            run = ("run", {"suite": "suite.yaml"})
            _, *results = self.client([run, run], "--max-calls", "3")
            first, second = (result["structuredContent"] for result in results)
            self.assertEqual((len(server.asked), len(first["errors"]), len(first["failures"])), (3, 1, 3))
            self.assertEqual((second["exit_code"], len(second["errors"])), (3, 1))
            # Without a budget the same server asks nothing.
            self.client([run])
            self.assertEqual(len(server.asked), 3)
            _, last = self.client([run], "--max-cost", "1")
            last = last["structuredContent"]
            self.assertEqual((len(server.asked), last["exit_code"], last["gate"]["status"]), (4, 1, "failed"))
            self.assertEqual(last["failures"][0]["rationale"], "scored 0.25")

    def test_messages_that_are_wrong_are_answered(self):
        ask = lambda method, **params: {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        call = lambda name, **arguments: ask("tools/call", name=name, arguments=arguments)
        for message, code in [
            ("{", -32700),
            ({"jsonrpc": "2.0", "id": 1}, -32600),
            (ask("server/discover"), -32601),
            (call("remove", suite="suite.yaml"), -32602),
            (call("plan"), -32602),
            (call("plan", suite=7), -32602),
            (call("run", suite="suite.yaml", samples="q1"), -32602),
            (ask("tools/call", name="plan", arguments=[]), -32602),
            (call("list", what="secrets"), -32602),
        ]:
            with self.subTest(message=message):
                [reply] = self.lines(message)
                self.assertEqual(reply["error"]["code"], code)
        # Neither a notification nor an empty line asks for a reply.
        self.assertEqual(self.lines({"jsonrpc": "2.0", "method": "notifications/initialized"}, "", {"jsonrpc": "2.0", "id": 4, "result": {}}), [])
        # An argument is never a flag.
        [reply] = self.lines(call("plan", suite="--help"))
        self.assertIn("`--help`", reply["result"]["content"][0]["text"])

    def test_versions_are_agreed_on(self):
        for wanted, agreed in [("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")]:
            [reply] = self.lines({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": wanted}})
            self.assertEqual((reply["result"]["protocolVersion"], reply["result"]["serverInfo"]["name"]), (agreed, "evalrs"))


if __name__ == "__main__":
    unittest.main()
