"""The decorators of `letta_evals`: they check the shape of a function, mark its role, and return it as it is.

Annotations may be strings, so that files with `from __future__ import annotations` are taken too.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Optional, Sequence, Tuple

from .models import GradeResult

Function = Callable[..., Any]

SAMPLE_SUBMISSION = (("sample", "submission"),)
TRAJECTORY_CONFIG = (("trajectory", "config"), ("trajectory", "config", "agent_state"))
CONTEXT = (("ctx",),)
CLIENT_SAMPLE = (("client", "sample"),)
SETUP = ((), ("client",), ("client", "model_name"))


def grader(function: Optional[Function] = None, *, name: Optional[str] = None) -> Any:
    """Marks a function of `sample` and `submission` that returns a `GradeResult`."""
    return _mark("grade", "grader", SAMPLE_SUBMISSION, GradeResult)(function, name)


def extractor(function: Optional[Function] = None, *, name: Optional[str] = None) -> Any:
    """Marks a function of `trajectory`, `config` and perhaps `agent_state` that returns text."""
    return _mark("extract", "extractor", TRAJECTORY_CONFIG, str)(function, name)


def reward_composer(function: Optional[Function] = None, *, name: Optional[str] = None) -> Any:
    """Marks a function of `ctx` that returns a number, a dict or a `RewardOutput`."""
    return _mark("reward", "reward_composer", CONTEXT, None)(function, name)


def agent_factory(function: Function) -> Function:
    """Marks an async function of `client` and `sample` that returns the id of an agent."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"agent_factory `{_name(function)}` must be an async function")
    return _mark("agent_factory", "agent_factory", CLIENT_SAMPLE, str)(function, None)


def suite_setup(function: Function) -> Function:
    """Marks a function of nothing, `client`, or `client` and `model_name` that prepares a run."""
    return _mark("suite_setup", "suite_setup", SETUP, type(None))(function, None)


def _mark(role: str, decorator: str, shapes: Sequence[Tuple[str, ...]], returns: Optional[type]) -> Function:
    """The decorator itself, with and without arguments."""

    def decorate(function: Optional[Function], name: Optional[str]) -> Any:
        if function is None:
            return lambda given: decorate(given, name)
        _check(function, decorator, shapes, returns)
        function.__evalrs_role__ = role  # type: ignore[attr-defined]
        function.__evalrs_name__ = name or _name(function)  # type: ignore[attr-defined]
        return function

    return decorate


def _check(function: Function, decorator: str, shapes: Sequence[Tuple[str, ...]], returns: Optional[type]) -> None:
    signature = inspect.signature(function)
    parameters = tuple(signature.parameters)
    if parameters not in shapes:
        wanted = " or ".join(f"({', '.join(shape)})" for shape in shapes)
        found = ", ".join(parameters)
        raise TypeError(f"{decorator} `{_name(function)}` must have the parameters {wanted}, got ({found})")
    if returns is not None and not _allows(signature.return_annotation, returns):
        wanted = "None" if returns is type(None) else returns.__name__
        found = getattr(signature.return_annotation, "__name__", signature.return_annotation)
        raise TypeError(f"{decorator} `{_name(function)}` must return {wanted}, got {found}")


def _allows(annotation: Any, returns: type) -> bool:
    """Whether a return annotation is absent, the class itself, or names it."""
    if annotation is inspect.Signature.empty or annotation is returns:
        return True
    if isinstance(annotation, str):
        name = annotation.strip().strip("'\"").rsplit(".", 1)[-1]
        return name == ("None" if returns is type(None) else returns.__name__)
    return annotation is None and returns is type(None)


def _name(function: Any) -> str:
    return getattr(function, "__name__", repr(function))
