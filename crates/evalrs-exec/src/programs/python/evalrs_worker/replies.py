"""The JSON of replies: what a function returns becomes one line that every JSON reader takes, or a clear refusal."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable

#: The longest line, in bytes; a little less than 64 MB, for what stands around a result.
MOST_BYTES = 63_000_000
#: The deepest nesting of lists and objects; common readers stop at 128.
MOST_DEPTH = 100
TOO_DEEP = f"the result is nested more than {MOST_DEPTH} levels deep"
#: Integers with more digits exceed what a double holds, and readers refuse them.
MOST_DIGITS = 300
_LONG_NUMBER = re.compile(r"\d{%d}" % MOST_DIGITS)


class NotJson(TypeError):
    """A result that has no JSON form; the message names what is in the way."""


def to_json(value: Any) -> str:
    """The JSON text of a result, on one line; NaN and the infinities become strings of those names."""
    try:
        text = _encode_at_once(value)
    except Exception:
        text = _encode_with_care(value)
    if len(text) > MOST_DEPTH:
        _refuse_what_readers_refuse(text)
    return text


def _encode_with_care(value: Any) -> str:
    """The same for values that need it, or have no JSON."""
    try:
        return _encode(value)
    except ValueError as fault:
        if "ircular" in str(fault):
            raise NotJson("the result contains itself and is not JSON") from None
        return _encode(_without_special_floats(value))
    except TypeError as fault:
        raise NotJson(str(fault)) from None
    except RecursionError:
        raise NotJson(TOO_DEEP) from None


def mend(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which UTF-8 cannot carry, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(value: Any) -> Any:
    """What stands for a value that `json` does not know: numbers of numpy are numbers, all else is refused."""
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise NotJson(f"the result contains a value of type `{name}`, which is not JSON")


def _made_once() -> Callable[[Any], str]:
    """An encoder that does not look for what contains itself; made once, where `encode` makes one for every call."""
    try:
        escape = json.encoder.encode_basestring
        encode = json.encoder.c_make_encoder(None, _plain, escape, None, ":", ",", False, False, False)  # type: ignore
        if "".join(encode([{"a": 1.5}], 0)) == '[{"a":1.5}]':
            return lambda value: "".join(encode(value, 0))
    except Exception:
        # Not every interpreter has this one.
        pass
    return _encode


# Methods are looked up once: what the user's code puts in their place later is for that code only.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode
_encode_at_once = _made_once()
parse = json.JSONDecoder().decode
#: The value that a text begins with, and where it ends.
parse_first = json.JSONDecoder().raw_decode
to_own_json = json.JSONEncoder(ensure_ascii=False).encode


def _without_special_floats(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else _name(value)
    if isinstance(value, dict):
        return {_without_special_floats(key): _without_special_floats(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_special_floats(item) for item in value]
    if type(value).__module__ == "numpy":
        return _without_special_floats(_plain(value))
    return value


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _refuse_what_readers_refuse(text: str) -> None:
    # No character takes more than four bytes, so that most texts need not be encoded to be measured.
    if len(text) * 4 > MOST_BYTES:
        size = len(mend(text).encode())
        if size > MOST_BYTES:
            raise NotJson(f"the result is {size / 1e6:.0f} MB of JSON, and 64 MB is the most")
    if text.count("[") + text.count("{") > MOST_DEPTH and _depth(text) > MOST_DEPTH:
        raise NotJson(TOO_DEEP)
    if _LONG_NUMBER.search(text) and _has_long_integer(parse(text)):
        raise NotJson(f"the result contains an integer of more than {MOST_DIGITS} digits")


def _depth(text: str) -> int:
    """How deep lists and objects are nested, brackets within strings not counted."""
    depth = deepest = 0
    for mark in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        first = mark.group()[0]
        if first in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in "]}":
            depth -= 1
    return deepest


def _has_long_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_long_integer(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_long_integer(item) for item in value)
    return isinstance(value, int) and abs(value) >= 10**MOST_DIGITS
