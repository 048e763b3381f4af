"""What a function of each role is called with, and what may stand for its result.

A role turns the `input` of a request into arguments, and a result into something with a JSON form. Whether a score is
in range or a submission is text is judged by evalrs.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .binding import Binding, bind, is_async
from .letta.classes import Classes
from .letta.models import recorded_grade
from .letta.records import Namespace
from .loading import Unloadable

Values = Dict[str, Any]

#: Types that are their own JSON: most results, which need no second look.
PLAIN = frozenset((float, int, bool, str, dict, list, type(None)))
#: What truth values are called, those of numpy too.
TRUTHS = frozenset(("bool", "bool_"))
#: How a decorator names the role that it marks a function with, and what that is called.
MARK = "__evalrs_role__"
DECORATORS = {
    "grade": "grader",
    "extract": "extractor",
    "reward": "reward_composer",
    "agent_factory": "agent_factory",
    "suite_setup": "suite_setup",
}
#: What functions of a role may be called with, and with how much of it those are that name none of it.
PARAMETERS = {
    "grade": (("sample", "submission"), 2),
    "extract": (("trajectory", "config", "agent_state"), 2),
    "reward": (("ctx",), 1),
    "compare": (("matchup",), 1),
    "target": (("task",), 1),
    "tool": (("name", "arguments", "call"), 2),
    "agent_factory": (("client", "sample"), 2),
    "suite_setup": (("client", "model_name"), 0),
}
#: What extractors may be called with besides where their suite says what they see of the sample.
SEEING = {"extract": (("trajectory", "config", "agent_state", "sample"), 2)}
#: What functions do that are called for a role which has no decorator.
UNDECORATED = {"compare": "does not compare", "target": "is no target", "tool": "answers no tool calls"}


class Role:
    """How one function is called."""

    def __init__(self, role: str, function: Callable[..., Any], classes: Classes, sees: bool = False) -> None:
        mark = getattr(function, MARK, role)
        name = getattr(function, "__name__", "the function")
        if mark != role:
            instead = f"not @{DECORATORS[role]}" if role in DECORATORS else f"and {UNDECORATED[role]}"
            raise Unloadable(f"`{name}` is decorated with @{DECORATORS.get(mark, mark)}, {instead}")
        self.overlaps = is_async(function)
        self._must_be_grade = role == "grade" and hasattr(function, MARK)
        self._takes_pairs = role == "grade" and not self._must_be_grade
        self._is_setup = role == "suite_setup"
        self._name = name
        #: Calls the function with the `input` of a request.
        self.call = _caller(role, function, classes, sees)

    def result(self, value: Any) -> Any:
        """The result as values that JSON has; those it does not know are left for the encoder to refuse."""
        if _is_result(value):
            told = {"score": value.score, "metadata": value.metadata}
            if hasattr(value, "rationale"):
                told["rationale"] = value.rationale
            return told
        if self._takes_pairs and _is_pair(value):
            verdict = "pass" if type(value[0]).__name__ in TRUTHS else "score"
            return {verdict: value[0], "rationale": value[1]}
        if self._is_setup:
            return None
        if self._must_be_grade:
            raise TypeError(f"grader `{self._name}` must return a GradeResult, not {type(value).__name__}")
        return value


def _is_pair(value: Any) -> bool:
    """Whether the value is a score, or whether it is a pass, and why that is."""
    if type(value) is not tuple or len(value) != 2:
        return False
    score, why = value
    is_score = score is None or isinstance(score, (int, float)) or type(score).__module__ == "numpy"
    return is_score and (why is None or isinstance(why, str))


def _is_result(value: Any) -> bool:
    """Whether the value is a `GradeResult` or `RewardOutput`, of this package or of any other."""
    return type(value) not in PLAIN and hasattr(value, "score") and hasattr(value, "metadata")


def _grade(given: Dict[str, Any], classes: Classes) -> Values:
    return {"sample": classes.sample(given["sample"]), "submission": given["submission"]}


def _extract(given: Dict[str, Any], classes: Classes) -> Values:
    sample = given.get("sample")
    return {
        "trajectory": classes.trajectory(given["trajectory"]),
        "config": given.get("config") or {},
        "agent_state": classes.agent_state(given.get("agent_state")),
        "sample": None if sample is None else classes.sample(sample),
    }


def _reward(given: Dict[str, Any], classes: Classes) -> Values:
    grades = {name: recorded_grade(grade) for name, grade in (given.get("grades") or {}).items()}
    context = Namespace(
        sample=classes.sample(given["sample"]),
        grades=grades,
        submissions=given.get("submissions") or {},
        trajectory=classes.trajectory(given.get("trajectory") or []),
        agent_id=given.get("agent_id"),
        model_handle=given.get("model_handle"),
        agent_state=classes.agent_state(given.get("agent_state")),
        usage=given.get("usage"),
        timing=given.get("timing"),
    )
    return {"ctx": context}


def _compare(given: Dict[str, Any], classes: Classes) -> Values:
    return {"matchup": given}


def _target(given: Dict[str, Any], classes: Classes) -> Values:
    return {"task": given}


def _tool(given: Dict[str, Any], classes: Classes) -> Values:
    return {"name": given["name"], "arguments": given["arguments"], "call": given}


def _script(function: Callable[..., Any], binding: Binding) -> Callable[[Dict[str, Any], Any, Optional[str]], Any]:
    """What calls a function that works with a server, with the `input` of a request, a sample and a model."""
    by_place, by_name = binding
    clients = None
    if "client" in (*by_place, *by_name.values()):
        from .letta.client import Clients

        # What is decorated is handed what Letta Evals hands it.
        wants_async = is_async(function) or hasattr(function, MARK)
        clients = Clients(getattr(function, "__name__", "the function"), wants_async)

    def call(given: Dict[str, Any], sample: Any, model: Optional[str]) -> Any:
        values = {"sample": sample, "model_name": model}
        if clients is not None:
            values["client"] = clients.client(given["server"])
        named = {name: values[value] for name, value in by_name.items()}
        return function(*(values[value] for value in by_place), **named)

    return call


def _factory(function: Callable[..., Any], binding: Binding, classes: Classes) -> Callable[[Dict[str, Any]], Any]:
    """What has an agent made for a sample."""
    call = _script(function, binding)
    return lambda given: call(given, classes.sample(given["sample"]), None)


def _setup(function: Callable[..., Any], binding: Binding) -> Callable[[Dict[str, Any]], Any]:
    """What prepares a server: once, or where the function takes one, for each model."""
    call = _script(function, binding)
    by_place, by_name = binding
    takes_model = "model_name" in (*by_place, *by_name.values())

    def models(given: Dict[str, Any]) -> Any:
        return (given.get("models") or [None]) if takes_model else [None]

    def in_turn(given: Dict[str, Any]) -> None:
        for model in models(given):
            call(given, None, model)

    async def awaited(given: Dict[str, Any]) -> None:
        for model in models(given):
            await call(given, None, model)

    return awaited if is_async(function) else in_turn


#: What functions of a role are called with, by name.
MAKERS: Dict[str, Callable[[Dict[str, Any], Classes], Values]] = {
    "grade": _grade,
    "extract": _extract,
    "reward": _reward,
    "compare": _compare,
    "target": _target,
    "tool": _tool,
}


def _caller(role: str, function: Callable[..., Any], classes: Classes, sees: bool) -> Callable[[Dict[str, Any]], Any]:
    """What calls the function with the `input` of a request."""
    by_place, by_name = bind(function, *((SEEING if sees else {}).get(role) or PARAMETERS[role]))
    if role == "agent_factory":
        return _factory(function, (by_place, by_name), classes)
    if role == "suite_setup":
        return _setup(function, (by_place, by_name))
    if (by_place, by_name) == (("sample", "submission"), {}):
        # Nearly all are called so, many thousand times.
        return lambda given: function(classes.sample(given["sample"]), given["submission"])
    make = MAKERS[role]

    def call(given: Dict[str, Any]) -> Any:
        values = make(given, classes)
        named = {name: values[value] for name, value in by_name.items()}
        return function(*(values[value] for value in by_place), **named)

    return call
