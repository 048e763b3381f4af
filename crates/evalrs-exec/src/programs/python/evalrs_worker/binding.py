"""How the user's function is called: nearly always as its role says, and that is seen without the module `inspect`.

To import that takes as long as half an interpreter's start; only functions of another form need it.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

#: The arguments given by place, in order, and those given by name, each called what it is called in `wanted`.
Binding = Tuple[Tuple[str, ...], Dict[str, str]]

#: What `co_flags` says of `*args`, of `**kwargs`, and of async functions.
VARIADIC = 0x04 | 0x08
COROUTINE = 0x80
#: What makes a function pass for another one than its code says.
DISGUISES = ("__wrapped__", "__signature__", "_is_coroutine_mark", "_is_coroutine_marker")


def bind(function: Callable[..., Any], wanted: Sequence[str], least: int) -> Binding:
    """How to call a function with what is `wanted`; unless it asks for more, the first `least` of that."""
    code = _code(function)
    if code is not None and not code.co_flags & VARIADIC and not code.co_kwonlyargcount:
        names = code.co_varnames[: code.co_argcount]
        if names and names == tuple(wanted[: len(names)]):
            return names, {}
    from .signatures import bind_as_told

    return bind_as_told(function, wanted, least)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling the function gives something to wait for."""
    code = _code(function)
    if code is not None:
        return bool(code.co_flags & COROUTINE)
    import inspect

    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def _code(function: Callable[..., Any]) -> Optional[CodeType]:
    """The code of a function that is what its code says."""
    if type(function) is not FunctionType or any(name in vars(function) for name in DISGUISES):
        return None
    return function.__code__
