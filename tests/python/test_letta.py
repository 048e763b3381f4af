"""Files written for Letta Evals, with the stand-ins and with installed packages."""

import unittest

from harness import WorkerCase, sample, to_grade

CALL = {"name": "search", "arguments": '{"q": "rust"}', "tool_call_id": "call-1"}
TRAJECTORY = [
    [
        {"message_type": "user_message", "id": "m0", "date": "2025-10-22T00:05:29Z", "content": "find rust"},
        {"message_type": "reasoning_message", "id": "m1", "reasoning": "search for it", "source": "reasoner_model"},
        {"message_type": "tool_call_message", "id": "m1", "tool_call": CALL, "tool_calls": [CALL]},
        {
            "message_type": "tool_return_message",
            "id": "m2",
            "tool_return": "found",
            "status": "success",
            "tool_call_id": "call-1",
        },
        {
            "message_type": "assistant_message",
            "id": "m3",
            "content": [{"type": "text", "text": "Done:"}, {"type": "text", "text": "ok"}],
        },
    ],
    [
        {"message_type": "brand_new_message", "id": "m4", "novelty": {"a": 1}},
        {"message_type": "assistant_message", "id": "m5", "content": "ANSWER: 42 and 43", "extra": "kept"},
    ],
]
STATE = {
    "id": "agent-1",
    "memory": {"blocks": [{"label": "human", "value": "Ada"}]},
    "blocks": [{"label": "human", "value": "Ada"}],
}

GRADER = '''
from __future__ import annotations

import re

from letta_evals.decorators import grader
from letta_evals.models import GradeResult, Sample


@grader
def numbers(sample: Sample, submission: str) -> GradeResult:
    """Share of the expected numbers that the submission names."""
    wanted = set(re.findall(r"\\d+", sample.ground_truth or ""))
    found = wanted & set(re.findall(r"\\d+", submission))
    if not wanted:
        return GradeResult(score=0.0, rationale="nothing was expected")
    rationale = f"{len(found)} of {len(wanted)}"
    return GradeResult(score=len(found) / len(wanted), rationale=rationale, metadata={"found": sorted(found)})


@grader(name="slow")
async def slow_numbers(sample: Sample, submission: str) -> GradeResult:
    import asyncio

    await asyncio.sleep(0)
    return numbers(sample, submission)


@grader
def careless(sample, submission):
    return 1.0


@grader
def beyond(sample, submission):
    return GradeResult(score=1.5, rationale="")
'''

EXTRACTOR = """
from typing import List, Optional

from letta_client import AgentState, AssistantMessage, LettaMessageUnion, ToolCallMessage, ToolReturnMessage
from letta_evals.decorators import extractor
from letta_evals.extractors.builtin import last_assistant
from letta_evals.extractors.utils import flatten_content, get_assistant_messages


@extractor
def calls(trajectory: List[List[LettaMessageUnion]], config: dict) -> str:
    names = []
    for turn in trajectory:
        for message in turn:
            if isinstance(message, ToolCallMessage):
                names.append(f"{message.tool_call.name}({message.tool_call.arguments})")
            elif isinstance(message, ToolReturnMessage):
                names.append(message.tool_return)
    return config.get("separator", ", ").join(names)


@extractor
def with_state(trajectory: List[List[LettaMessageUnion]], config: dict, agent_state: Optional[AgentState]) -> str:
    if agent_state is None:
        return "none"
    return agent_state.memory.blocks[0].label + "=" + agent_state.blocks[0].value


@extractor
def answers(trajectory, config) -> str:
    assert all(isinstance(message, AssistantMessage) for message in get_assistant_messages(trajectory))
    return " / ".join(flatten_content(message.content) for message in get_assistant_messages(trajectory))


@extractor
def builtin(trajectory, config) -> str:
    return last_assistant(trajectory, config)
"""

REWARD = """
from letta_evals import RewardOutput, reward_composer


@reward_composer
def weighted(ctx):
    total = 0.25 * ctx.grades["style"].score + 0.75 * ctx.grades["facts"].score
    metadata = {"by": ctx.model_handle, "input": ctx.sample.input, "style": ctx.submissions["style"]}
    return RewardOutput(score=total, metadata=metadata)


@reward_composer
def gated(ctx) -> float:
    if ctx.agent_state is not None or ctx.agent_id is not None or ctx.usage is not None:
        raise ValueError("unexpected")
    return float(any(message.message_type == "assistant_message" for turn in ctx.trajectory for message in turn))


def plain(ctx):
    return {"score": min(grade.score for grade in ctx.grades.values() if grade.score is not None)}
"""


def to_extract(config=None, state=None, trajectory=TRAJECTORY):
    return {"trajectory": trajectory, "config": config, "agent_state": state}


class StandIns(WorkerCase):
    def extract(self, source, function, given):
        return self.loaded(source, function=function, role="extract").ask(given).get("result")

    def test_graders(self):
        half = {"score": 0.5, "rationale": "1 of 2", "metadata": {"found": ["4"]}}
        table = [
            ("numbers", "4", {"result": half}),
            ("slow_numbers", "4", {"result": half}),
            ("careless", "4", "TypeError: grader `careless` must return a GradeResult, not float"),
            ("beyond", "4", "ValueError: Score must be between 0.0 and 1.0, got 1.5"),
        ]
        for function, submission, expected in table:
            with self.subTest(function):
                reply = self.loaded(GRADER, function=function).ask(to_grade(submission, ground_truth="4 or 5"))
                told = reply["error"]["message"] if "error" in reply else {"result": reply["result"]}
                self.assertEqual(told, expected)

    def test_extractors(self):
        call = 'search({"q": "rust"})'
        table = [
            ("calls", to_extract(), f"{call}, found"),
            ("calls", to_extract({"separator": "|"}), f"{call}|found"),
            ("calls", to_extract(trajectory=[]), ""),
            ("with_state", to_extract(), "none"),
            ("with_state", to_extract(state=STATE), "human=Ada"),
            ("with_state", to_extract(state={"blocks": STATE["blocks"]}), "human=Ada"),
            ("with_state", to_extract(state={"memory": {"blocks": STATE["blocks"]}}), "human=Ada"),
            ("answers", to_extract(), "Done: ok / ANSWER: 42 and 43"),
            ("builtin", to_extract(), "ANSWER: 42 and 43"),
        ]
        for function, given, expected in table:
            with self.subTest(function):
                self.assertEqual(self.extract(EXTRACTOR, function, given), expected)

    def test_builtin_extractors(self):
        table = [
            ("first_assistant", {}, "Done: ok"),
            ("all_assistant", {"separator": "+"}, "Done: ok+ANSWER: 42 and 43"),
            ("last_turn", {}, "ANSWER: 42 and 43"),
            ("pattern", {"pattern": r"\d+"}, "42"),
            ("pattern", {"pattern": r"\d+", "search_all": True}, "42 43"),
            ("pattern", {"pattern": r"(\d)(\d)", "search_all": True, "group": 1}, "2 3"),
            ("pattern", {"pattern": r"(D)one", "group": 1}, "D"),
            ("pattern", {"pattern": "none"}, ""),
            ("tool_arguments", {"tool_name": "search"}, CALL["arguments"]),
            ("tool_arguments", {"tool_name": "other"}, "{}"),
            ("tool_output", {"tool_name": "search"}, "found"),
            ("tool_output", {"tool_name": "other"}, ""),
            ("after_marker", {"marker": "ANSWER:"}, "42 and 43"),
            ("after_marker", {"marker": "ANSWER:", "include_marker": True}, "ANSWER: 42 and 43"),
            ("memory_block", {"block_label": "human"}, "Ada"),
            ("memory_block", {"block_label": "none"}, ""),
        ]
        source = """
            from letta_evals.extractors import builtin
            def pick(trajectory, config, agent_state):
                name = config.pop("name")
                state = [agent_state] if name == "memory_block" else []
                return getattr(builtin, name)(trajectory, config, *state)
        """
        worker = self.loaded(source, function="pick", role="extract")
        for name, config, expected in table:
            with self.subTest(name=name, config=config):
                self.assertEqual(worker.ask(to_extract({"name": name, **config}, STATE))["result"], expected)

    def test_messages_are_what_was_recorded(self):
        table = [
            ("turns[0][0].date.isoformat()", "2025-10-22T00:05:29+00:00"),
            ("turns[0][0].name", None),
            ("turns[0][0].run_id", None),
            ("hasattr(turns[0][0], 'tool_call')", False),
            ("turns[0][2].tool_calls[0].tool_call_id", "call-1"),
            ("turns[0][2].tool_calls[0] == turns[0][2].tool_call", True),
            ("turns[0][3].stdout", None),
            ("[part.text for part in turns[0][4].content]", ["Done:", "ok"]),
            ("type(turns[0][4].content[0]).__name__", "TextContent"),
            ("type(turns[1][0]).__name__", "LettaMessage"),
            ("turns[1][0].novelty['a']", 1),
            ("turns[1][1].extra", "kept"),
            ("turns[1][1].model_dump()", TRAJECTORY[1][1]),
            ("copy.deepcopy(turns) == turns and pickle.loads(pickle.dumps(turns)) == turns", True),
            ("letta_client.AssistantMessage(id='1', content='x').message_type", "assistant_message"),
            ("turns[0][0].tool_call", "AttributeError: 'UserMessage' object has no attribute 'tool_call'"),
        ]
        source = "import copy, pickle, letta_client\ndef pick(turns, config): return eval(config['expression'])"
        worker = self.loaded(source, function="pick", role="extract")
        for expression, expected in table:
            with self.subTest(expression):
                reply = worker.ask(to_extract({"expression": expression}))
                self.assertEqual(reply["error"]["message"] if "error" in reply else reply["result"], expected)

    def test_every_message_type_has_its_class(self):
        types = (
            "system_message user_message assistant_message reasoning_message hidden_reasoning_message "
            "tool_call_message tool_return_message approval_request_message approval_response_message summary_message event_message"
        ).split()
        source = """
            import letta_client, letta_client.types, letta_client.types.agents
            def pick(turns, config):
                wrong = []
                for message in turns[0]:
                    name = "".join(word.title() for word in message.message_type.split("_"))
                    for module in (letta_client, letta_client.types, letta_client.types.agents):
                        if not isinstance(message, getattr(module, name)) or type(message).__name__ != name:
                            wrong.append(name)
                return wrong
        """
        turn = [{"message_type": name} for name in types]
        self.assertEqual(self.extract(source, "pick", to_extract(trajectory=[turn])), [])

    def test_rewards(self):
        grade = {"rationale": "", "metadata": {}}
        given = {
            "sample": sample(),
            "grades": {"style": {"score": 1.0, **grade}, "facts": {"score": 0.5, **grade}, "broken": {"score": None}},
            "submissions": {"style": "s", "facts": "f"},
            "trajectory": TRAJECTORY,
            "agent_id": None,
            "model_handle": "m",
            "agent_state": None,
        }
        weighted = {"score": 0.625, "metadata": {"by": "m", "input": "q", "style": "s"}}
        for function, expected in (("weighted", weighted), ("gated", 1.0), ("plain", {"score": 0.5})):
            with self.subTest(function):
                self.assertEqual(self.loaded(REWARD, function=function, role="reward").ask(given)["result"], expected)

    def test_every_documented_import(self):
        imports = [
            "from letta_evals import grader, extractor, agent_factory, suite_setup, reward_composer, RewardOutput",
            "from letta_evals import Sample, GradeResult, SampleResult, TargetResult, Metrics, run_suite, Runner",
            "from letta_evals.decorators import grader, extractor, agent_factory, suite_setup, reward_composer",
            "from letta_evals.models import GradeResult, Sample, LettaMessageUnion, AgentState, RewardOutput",
            "from letta_evals.rewards import RewardContext",
            "from letta_evals.extractors.builtin import last_assistant",
            "from letta_evals.extractors.utils import flatten_content, get_assistant_messages, get_tool_calls",
            "from letta_client import LettaMessageUnion, ToolCallMessage, AsyncLetta, CreateBlock, MessageCreate",
            "from letta_client import AgentState, AssistantMessage, ToolReturnMessage, ToolCall, TextContent, Letta",
            "from letta_client.client import BaseTool",
            "from letta_client.types import CreateBlockParam, AgentState",
            "from letta_client.types.tool import BaseTool",
            "from letta_client.types.agents import ToolCallMessage",
        ]
        worker = self.loaded("def grade(sample, submission): exec(submission)")
        for line in imports:
            with self.subTest(line):
                self.assertEqual(worker.ask(to_grade(line)), {"id": 1, "result": None})

    def test_placeholders_say_what_is_missing(self):
        source = """
            from letta_client import AsyncLetta
            from letta_client.client import BaseTool
            from letta_evals import run_suite
            class Tool(BaseTool): pass
            async def make(client: AsyncLetta): pass
            def grade(sample, submission): return eval(submission)
        """
        table = [
            ("AsyncLetta(base_url='x')", "`AsyncLetta` needs the package `letta-client`"),
            ("Tool()", "`BaseTool` needs the package `letta-client`"),
            ("run_suite('x')", "`run_suite` needs the package `letta-evals`"),
        ]
        worker = self.loaded(source)
        for expression, message in table:
            with self.subTest(expression):
                error = worker.ask(to_grade(expression))["error"]
                expected = f"ImportError: {message}, which is not installed for this Python"
                self.assertEqual((error["message"], error["transient"]), (expected, True))
        self.assertIn("cannot import name 'nothing'", self.unloadable("from letta_client import nothing")["message"])

    def test_decorators_check_the_shape(self):
        table = [
            ("@grader\ndef f(a, b): ...", "grader `f` must have the parameters (sample, submission), got (a, b)"),
            ("@grader\ndef f(sample, submission) -> str: ...", "grader `f` must return GradeResult, got str"),
            ("@grader\ndef f(sample, submission) -> 'float': ...", "grader `f` must return GradeResult, got float"),
            (
                "@extractor\ndef f(turns, config): ...",
                "extractor `f` must have the parameters (trajectory, config) or (trajectory, config, agent_state), "
                "got (turns, config)",
            ),
            ("@extractor\ndef f(trajectory, config) -> int: ...", "extractor `f` must return str, got int"),
            (
                "@reward_composer\ndef f(context): ...",
                "reward_composer `f` must have the parameters (ctx), got (context)",
            ),
            ("@agent_factory\ndef f(client, sample): ...", "agent_factory `f` must be an async function"),
            ("@suite_setup\ndef f(client) -> int: ...", "suite_setup `f` must return None, got int"),
            ("@grader\ndef f(sample, submission) -> 'models.GradeResult': ...", None),
            ("@grader(name='g')\ndef f(sample, submission) -> GradeResult: ...", None),
            ("@extractor\nasync def f(trajectory, config, agent_state) -> 'str': ...", None),
            ("@agent_factory\nasync def f(client, sample) -> str: ...", None),
            ("@suite_setup\ndef f() -> None: ...", None),
        ]
        worker = self.loaded("from letta_evals import *\ndef grade(sample, submission): exec(submission, globals())")
        for source, message in table:
            with self.subTest(source):
                reply = worker.ask(to_grade(source))
                told = reply["error"]["message"] if "error" in reply else None
                self.assertEqual(told, message and f"TypeError: {message}")

    def test_a_function_of_another_role_is_refused(self):
        source = "from letta_evals import extractor\n@extractor\ndef grade(trajectory, config): return ''"
        message = "`grade` is decorated with @extractor, not @grader"
        self.assertEqual(self.unloadable(source)["message"], message)
        message = "`grade` is decorated with @extractor, and does not compare"
        self.assertEqual(self.unloadable(source, role="compare")["message"], message)


class Installed(WorkerCase):
    """Packages that stand where an import finds them win over the stand-ins."""

    def install(self, text):
        self.write("lib/letta_client/__init__.py", text)
        self.environment["PYTHONPATH"] = self.path("lib")

    CLIENT = """
        class Message:
            def __init__(self): raise TypeError("must not be validated")
            @classmethod
            def construct(cls, **fields):
                if fields.get("content") == "refused": raise ValueError("odd")
                made = cls.__new__(cls)
                made.__dict__.update(fields)
                return made
        class AssistantMessage(Message): pass
        class AgentState(Message): pass
    """
    PICK = """
        def pick(trajectory, config, agent_state):
            kinds = [type(message).__module__ for message in trajectory[0]]
            return kinds + [type(agent_state).__module__]
    """

    def test_messages_are_of_its_classes(self):
        self.install(self.CLIENT)
        turn = [
            {"message_type": "assistant_message", "content": "a"},
            {"message_type": "assistant_message", "content": "refused"},
            {"message_type": "event_message"},
        ]
        reply = self.loaded(self.PICK, function="pick", role="extract").ask(to_extract(state=STATE, trajectory=[turn]))
        own = "evalrs_worker.letta.messages"
        self.assertEqual(reply["result"], ["letta_client", own, own, "letta_client"])

    def test_samples_and_grades_are_of_its_classes(self):
        self.write("lib/letta_evals/__init__.py", "")
        models = """
            class Sample:
                @classmethod
                def model_construct(cls, **fields):
                    made = cls.__new__(cls)
                    made.__dict__.update(fields)
                    return made
            class GradeResult:
                def __init__(self, score):
                    self.score, self.rationale, self.metadata = score, "", {}
        """
        self.write("lib/letta_evals/models.py", models)
        self.environment["PYTHONPATH"] = self.path("lib")
        source = """
            from letta_evals.models import GradeResult, Sample
            def grade(sample, submission): return GradeResult(float(type(sample) is Sample and sample.input == "q"))
        """
        worker, first = self.load(source)
        self.assertEqual(len(first["loaded"]["files"]), 2)
        self.assertEqual(worker.ask(to_grade())["result"], {"score": 1.0, "rationale": "", "metadata": {}})

    def test_one_that_fails_is_told_of(self):
        self.install("raise ImportError('broken')")
        worker, first = self.load(self.PICK, function="pick", role="extract")
        warning = (
            "`letta_client` is installed but cannot be imported (ImportError: broken); messages have other classes"
        )
        self.assertEqual(first["loaded"]["warnings"], [warning])
        self.assertIn("result", worker.ask(to_extract(state=STATE)))


if __name__ == "__main__":
    unittest.main()
