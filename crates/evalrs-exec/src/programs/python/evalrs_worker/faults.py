"""How exceptions of the user's code are told: one line, the user's own frames, and whether trying again may help."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Dict, List, Optional, Tuple

from . import OWN_FOLDER
from .inputs import Workspace

#: The most characters of details, and how many of them come from the end, where the fault itself is told.
MOST_DETAILS = 4000
MOST_TAIL = 2800
MOST_MESSAGE = 2000
#: Frames shown at the start and at the end of a deep stack.
FIRST_FRAMES = 4
LAST_FRAMES = 12
#: Exceptions shown of a chain of causes, or of a group.
MOST_LINKS = 5

#: What says that the environment, not the input, is at fault.
TRANSIENT = (ImportError, OSError, MemoryError, KeyboardInterrupt)
#: The same for widespread libraries whose exceptions do not derive from `OSError`, by the names of their base classes.
TRANSIENT_NAMES = {"TimeoutError", "TransportError", "APIConnectionError", "ClientConnectionError"}

Frame = Tuple[str, int, str]


def error_of(fault: BaseException, workspace: Workspace) -> Dict[str, Any]:
    """The `error` of a reply."""
    return {
        "message": describe(fault),
        "transient": is_transient(fault),
        "place": place_of(fault, workspace),
        "details": details_of(fault, workspace),
    }


def place_of(fault: BaseException, workspace: Workspace) -> str:
    """Where in the user's files it was raised, as `file:line`; empty where that is nowhere."""
    inside = [frame for frame in _frames(fault.__traceback__) if workspace.place(frame[0]) is not None]
    if not inside:
        return ""
    path, number, _ = inside[-1]
    return f"{os.path.relpath(workspace.place(path) or path, workspace.folder)}:{number}"


def describe(fault: BaseException) -> str:
    """The exception in one sentence: its type and what it says."""
    name = type(fault).__qualname__
    try:
        text = str(fault)
    except BaseException:
        text = "(its text cannot be told)"
    return f"{name}: {text}"[:MOST_MESSAGE] if text else name


def is_transient(fault: BaseException) -> bool:
    """Whether the same call may succeed once the environment is mended."""
    if isinstance(fault, TRANSIENT):
        return True
    return any(kind.__name__ in TRANSIENT_NAMES for kind in type(fault).__mro__)


def details_of(fault: BaseException, workspace: Workspace) -> str:
    """The traceback, reduced to the user's frames, with paths relative to the workspace."""
    try:
        text = "\n".join(_chain(fault, workspace))
    except Exception:
        # Sources and exceptions are the user's, and may be arbitrarily odd.
        text = describe(fault)
    text = text.replace(workspace.folder.rstrip("/") + "/", "")
    if len(text) <= MOST_DETAILS:
        return text
    mark = "\n  ...\n"
    return text[: MOST_DETAILS - MOST_TAIL - len(mark)] + mark + text[-MOST_TAIL:]


def _chain(fault: BaseException, workspace: Workspace) -> List[str]:
    """The exception after those that led to it, oldest first."""
    lines = [_one(fault, workspace)]
    seen = {id(fault)}
    current = fault
    while len(seen) < MOST_LINKS:
        if current.__cause__ is not None:
            earlier, link = current.__cause__, "which caused:"
        elif current.__context__ is not None and not current.__suppress_context__:
            earlier, link = current.__context__, "while handling which:"
        else:
            break
        if id(earlier) in seen:
            break
        seen.add(id(earlier))
        lines[:0] = [_one(earlier, workspace), link]
        current = earlier
    return lines


def _one(fault: BaseException, workspace: Workspace) -> str:
    # Most functions raise nothing, and these take long to import.
    import linecache
    import traceback

    frames = _users(_frames(fault.__traceback__), workspace)
    lines = ["Traceback (most recent call last):"] if frames else []
    left_out = len(frames) - FIRST_FRAMES - LAST_FRAMES
    for index, (path, number, function) in enumerate(frames):
        if left_out > 0 and FIRST_FRAMES <= index < FIRST_FRAMES + left_out:
            if index == FIRST_FRAMES:
                lines.append(f"  ... {left_out} more frames ...")
            continue
        lines.append(f'  File "{path}", line {number}, in {function}')
        source = linecache.getline(path, number).strip()
        if source:
            lines.append(f"    {source}")
    if isinstance(fault, SyntaxError):
        lines.extend(line.rstrip("\n") for line in traceback.format_exception_only(type(fault), fault))
    else:
        lines.append(describe(fault))
    members = getattr(fault, "exceptions", None)
    if isinstance(members, tuple):
        lines.extend(f"  - {describe(member)}" for member in members[:MOST_LINKS])
    return "\n".join(lines)


def _frames(start: Optional[TracebackType]) -> List[Frame]:
    frames: List[Frame] = []
    while start is not None:
        code = start.tb_frame.f_code
        frames.append((code.co_filename, start.tb_lineno, code.co_name))
        start = start.tb_next
    return frames


def _users(frames: List[Frame], workspace: Workspace) -> List[Frame]:
    """The frames of the workspace; without any, all but the worker's and the interpreter's own."""
    inside = [frame for frame in frames if workspace.place(frame[0]) is not None]
    if inside:
        return inside
    return [frame for frame in frames if not frame[0].startswith((OWN_FOLDER, "<frozen "))]
