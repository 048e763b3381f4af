"""The extractors that Letta Evals brings along, for files that call them from their own.

Messages may be of the stand-in classes or of an installed client's, so they are told apart by `message_type`.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .decorators import extractor

Trajectory = List[List[Any]]
Config = Dict[str, Any]


def flatten_content(content: Any) -> str:
    """Text as it is, and the text of every part with one space between."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(part.text for part in content)
    raise ValueError(f"Unexpected content type: {type(content)}")


def get_messages_by_type(trajectory: Trajectory, message_type: type) -> List[Any]:
    """All messages of one class, in order."""
    return [message for turn in trajectory for message in turn if isinstance(message, message_type)]


def get_assistant_messages(trajectory: Trajectory) -> List[Any]:
    """All answers of the agent, in order."""
    return [message for turn in trajectory for message in _of_type(turn, "assistant_message")]


def get_tool_calls(trajectory: Trajectory) -> List[Tuple[Any, Any]]:
    """Every message with a tool call, with the first tool return after it in the same turn."""
    pairs = []
    for turn in trajectory:
        for index, message in enumerate(turn):
            if message.message_type == "tool_call_message":
                returned = next(_of_type(turn[index + 1 :], "tool_return_message"), None)
                if returned is not None:
                    pairs.append((message, returned))
    return pairs


def get_last_turn_messages(trajectory: Trajectory, message_type: Optional[type] = None) -> List[Any]:
    """The messages of one class, by default the agent's answers, of the last turn."""
    if not trajectory:
        return []
    if message_type is None:
        return get_assistant_messages(trajectory[-1:])
    return get_messages_by_type(trajectory[-1:], message_type)


@extractor
def last_assistant(trajectory: Trajectory, config: Config) -> str:
    """The agent's last answer."""
    texts = _answers(trajectory)
    return texts[-1] if texts else ""


@extractor
def first_assistant(trajectory: Trajectory, config: Config) -> str:
    """The agent's first answer."""
    texts = _answers(trajectory)
    return texts[0] if texts else ""


@extractor
def all_assistant(trajectory: Trajectory, config: Config) -> str:
    """All of the agent's answers, joined with `separator`."""
    return config.get("separator", "\n").join(_answers(trajectory))


@extractor
def last_turn(trajectory: Trajectory, config: Config) -> str:
    """The agent's answers of the last turn, joined with `separator`."""
    return config.get("separator", "\n").join(_answers(trajectory[-1:]))


@extractor
def pattern(trajectory: Trajectory, config: Config) -> str:
    """What a regular expression finds in the newest answer that it matches."""
    expression, group = re.compile(config["pattern"]), config.get("group", 0)
    for text in reversed(_answers(trajectory)):
        if config.get("search_all", False):
            found = [_captured(match, group) for match in expression.finditer(text)]
            if found:
                return " ".join(found)
        else:
            match = expression.search(text)
            if match:
                return match.group(group)
    return ""


@extractor
def tool_arguments(trajectory: Trajectory, config: Config) -> str:
    """The arguments of the first call of the tool, as they were sent."""
    call = _first_call(trajectory, config["tool_name"])
    return "{}" if call is None else call.arguments


@extractor
def tool_output(trajectory: Trajectory, config: Config) -> str:
    """What the first call of the tool gave back."""
    call = _first_call(trajectory, config["tool_name"])
    for turn in trajectory if call is not None else []:
        for message in _of_type(turn, "tool_return_message"):
            if message.tool_call_id == call.tool_call_id:
                return message.tool_return
    return ""


@extractor
def after_marker(trajectory: Trajectory, config: Config) -> str:
    """What follows the marker in the newest answer that contains it."""
    marker = config["marker"]
    for text in reversed(_answers(trajectory)):
        before, found, after = text.partition(marker)
        if found:
            return (found + after if config.get("include_marker", False) else after).strip()
    return ""


@extractor
def memory_block(trajectory: Trajectory, config: Config, agent_state: Any) -> str:
    """The value of a block of the agent's memory."""
    label = config["block_label"]
    if agent_state is None:
        raise RuntimeError("memory_block extractor requires agent_state, but it was not retrieved")
    blocks = getattr(agent_state, "blocks", None) or getattr(getattr(agent_state, "memory", None), "blocks", None)
    return next((block.value for block in blocks or [] if block.label == label), "")


def _of_type(messages: List[Any], message_type: str) -> Iterator[Any]:
    return (message for message in messages if getattr(message, "message_type", None) == message_type)


def _answers(trajectory: Trajectory) -> List[str]:
    return [flatten_content(message.content) for message in get_assistant_messages(trajectory)]


def _captured(match: Any, group: Any) -> str:
    """A match among several: with two groups and more `group` counts the captures, from zero."""
    captures = match.groups(default="")
    if len(captures) < 2:
        return captures[0] if captures else match.group()
    return captures[group]


def _first_call(trajectory: Trajectory, tool: str) -> Any:
    """The first call of a tool, among those of one message in their order."""
    for turn in trajectory:
        for message in _of_type(turn, "tool_call_message"):
            calls = getattr(message, "tool_calls", None) or message.tool_call
            for call in calls if isinstance(calls, list) else [calls]:
                if call is not None and call.name == tool:
                    return call
    return None
