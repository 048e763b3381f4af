"""Which argument each parameter of a function gets: by its name, else by its place."""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any, Callable, Dict, List, Sequence

from .binding import Binding
from .loading import Unloadable

VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def bind_as_told(function: Callable[..., Any], wanted: Sequence[str], least: int) -> Binding:
    """How to call a function by its signature.

    Parameters that are called like something wanted get that, wherever they stand; what then is left goes to others
    that have no default, in order. Without any such name the first ones are given by place.
    """
    try:
        signature = _signature(function)
    except (TypeError, ValueError):
        # Some callables do not tell.
        return tuple(wanted[:least]), {}
    named = {name for name, one in signature.parameters.items() if name in wanted and one.kind not in VARIADIC}
    if not named:
        return _by_place(function, signature, wanted, least)
    return _by_name(function, signature, wanted, least)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The function's own signature; of a wrapper that takes anything, that of what it wraps."""
    own = inspect.signature(function, follow_wrapped=False)
    if all(one.kind in VARIADIC for one in own.parameters.values()):
        return inspect.signature(function)
    return own


def _by_place(
    function: Callable[..., Any], signature: inspect.Signature, wanted: Sequence[str], least: int
) -> Binding:
    counts = list(range(least, len(wanted) + 1))
    if any(one.kind is Parameter.VAR_POSITIONAL for one in signature.parameters.values()):
        # What takes anything hands it on, and to most that there may be of it.
        counts.reverse()
    for count in counts:
        try:
            signature.bind(*range(count))
            return tuple(wanted[:count]), {}
        except TypeError:
            continue
    try:
        signature.bind(**dict.fromkeys(wanted[:least]))
    except TypeError:
        raise _refusal(function, signature, wanted, least) from None
    return (), {name: name for name in wanted[:least]}


def _by_name(
    function: Callable[..., Any], signature: inspect.Signature, wanted: Sequence[str], least: int
) -> Binding:
    parameters = signature.parameters
    left = [name for name in wanted if name not in parameters]
    by_place: List[str] = []
    by_name: Dict[str, str] = {}
    # Behind a parameter that keeps its default, all others are given by name.
    is_behind = False
    for name, one in parameters.items():
        if one.kind in VARIADIC:
            continue
        if name in wanted:
            given = name
        elif one.default is not Parameter.empty:
            is_behind = True
            continue
        elif left:
            given = left.pop(0)
        else:
            raise _refusal(function, signature, wanted, least, name)
        if one.kind is not Parameter.KEYWORD_ONLY and not is_behind:
            by_place.append(given)
        elif one.kind is not Parameter.POSITIONAL_ONLY:
            by_name[name] = given
        else:
            raise _refusal(function, signature, wanted, least)
    rest = [name for name in left if name in wanted[:least]]
    kinds = [one.kind for one in parameters.values()]
    if Parameter.VAR_POSITIONAL in kinds and not is_behind and by_place + rest == list(wanted[: len(by_place + rest)]):
        by_place += rest
    elif Parameter.VAR_KEYWORD in kinds:
        by_name.update({name: name for name in rest})
    return tuple(by_place), by_name


def _refusal(
    function: Callable[..., Any], signature: inspect.Signature, wanted: Sequence[str], least: int, extra: str = ""
) -> Unloadable:
    name = getattr(function, "__name__", "the function")
    shapes = " or ".join(f"({', '.join(wanted[:count])})" for count in range(least, len(wanted) + 1))
    why = f"; there is nothing for `{extra}`, which has no default" if extra else ""
    return Unloadable(f"`{name}{signature}` has to take {shapes}{why}")
