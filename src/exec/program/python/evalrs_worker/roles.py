"""What a function of each role is called with, and what may stand for its result.

A role turns the `input` of a request into arguments, and a result into something with a JSON form. Whether a score is
in range or a submission is text is judged by evalrs.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Tuple

from .letta.classes import Classes
from .letta.models import recorded_grade
from .letta.records import Namespace
from .loading import Unloadable

Maker = Callable[[Dict[str, Any], Classes], Tuple[Any, ...]]

#: Types that are their own JSON: most results, which need no second look.
PLAIN = frozenset((float, int, bool, str, dict, list, type(None)))
#: How a decorator names the role that it marks a function with, and what that is called.
MARK = "__evalrs_role__"
DECORATORS = {"grade": "grader", "extract": "extractor", "reward": "reward_composer"}
#: What functions of a role are called with, for the sentence that says so.
PARAMETERS = {"grade": ("sample", "submission"), "extract": ("trajectory", "config"), "reward": ("ctx",)}


class Role:
    """How one function is called."""

    def __init__(self, role: str, function: Callable[..., Any], classes: Classes) -> None:
        mark = getattr(function, MARK, role)
        name = getattr(function, "__name__", "the function")
        if mark != role:
            raise Unloadable(f"`{name}` is decorated with @{DECORATORS.get(mark, mark)}, not @{DECORATORS[role]}")
        self.overlaps = _is_async(function)
        self._must_be_grade = role == "grade" and hasattr(function, MARK)
        self._name = name
        count = _parameters(role, function, name)
        makers: Dict[str, Maker] = {"grade": _grade, "extract": _extract(count), "reward": _reward}
        self._make, self._classes = makers[role], classes

    def arguments(self, given: Dict[str, Any]) -> Tuple[Any, ...]:
        """The positional arguments of a call."""
        return self._make(given, self._classes)

    def result(self, value: Any) -> Any:
        """The result as values that JSON has; those it does not know are left for the encoder to refuse."""
        if _is_result(value):
            told = {"score": value.score, "metadata": value.metadata}
            if hasattr(value, "rationale"):
                told["rationale"] = value.rationale
            return told
        if self._must_be_grade:
            raise TypeError(f"grader `{self._name}` must return a GradeResult, not {type(value).__name__}")
        return value


def _is_result(value: Any) -> bool:
    """Whether the value is a `GradeResult` or `RewardOutput`, of this package or of any other."""
    return type(value) not in PLAIN and hasattr(value, "score") and hasattr(value, "metadata")


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def _parameters(role: str, function: Callable[..., Any], name: str) -> int:
    """With how many arguments the function is called; refuses functions that take another number."""
    wanted = PARAMETERS[role]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some callables do not tell; they are called with what the role always gives.
        return len(wanted)
    counts = [len(wanted)] if role != "extract" else [3, 2]
    for count in counts:
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise Unloadable(f"`{name}{signature}` has to take ({', '.join(wanted)})")


def _grade(given: Dict[str, Any], classes: Classes) -> Tuple[Any, ...]:
    return classes.sample(given["sample"]), given["submission"]


def _extract(count: int) -> Maker:
    def arguments(given: Dict[str, Any], classes: Classes) -> Tuple[Any, ...]:
        trajectory = classes.trajectory(given["trajectory"])
        config = given.get("config") or {}
        if count == 2:
            return trajectory, config
        return trajectory, config, classes.agent_state(given.get("agent_state"))

    return arguments


def _reward(given: Dict[str, Any], classes: Classes) -> Tuple[Any, ...]:
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
    return (context,)
