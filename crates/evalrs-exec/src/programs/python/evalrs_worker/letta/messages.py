"""The message classes of `letta_client`, agent states, and which class a recorded message gets."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Union

from .records import Record, moment, one, record_of

Fields = Tuple[str, ...]

#: Fields that every message has.
COMMON: Fields = ("id", "date", "name", "message_type", "otid", "sender_id", "step_id", "is_err", "seq_id", "run_id")


class ToolCall(Record):
    """A call of a tool; `arguments` is JSON text."""

    FIELDS = ("name", "arguments", "tool_call_id")


class ToolCallDelta(ToolCall):
    """A part of a call, as streams carry it."""


class ToolReturn(Record):
    """What a tool gave back, in a list of several."""

    FIELDS = ("tool_return", "status", "tool_call_id", "stdout", "stderr", "type")


class TextContent(Record):
    """A part of a message that is text."""

    FIELDS = ("text", "type")


class ImageContent(Record):
    """A part of a message that is an image; it has no `text`."""

    FIELDS = ("source", "type")
    CONVERTERS = {"source": one(Record)}


PARTS: Dict[Any, type] = {"text": TextContent, "image": ImageContent}


def _parts(content: Any) -> Any:
    """Content as it is when it is text, otherwise its parts as records."""
    if not isinstance(content, list):
        return content
    return [
        record_of(PARTS.get(part.get("type"), Record), part) if isinstance(part, dict) else part for part in content
    ]


class LettaMessage(Record):
    """A message of any type; itself the class of types that this module does not know."""

    FIELDS: Fields = COMMON
    CONVERTERS = {
        "date": moment,
        "content": _parts,
        "tool_call": one(ToolCall),
        "tool_calls": one(ToolCall),
        "tool_returns": one(ToolReturn),
        "approvals": one(Record),
        "compaction_stats": one(Record),
    }
    #: The `message_type` of the class.
    TYPE: Optional[str] = None

    def __init__(self, **fields: Any) -> None:
        if self.TYPE is not None:
            fields.setdefault("message_type", self.TYPE)
        super().__init__(**fields)


class SystemMessage(LettaMessage):
    """What the agent is told by its makers."""

    TYPE = "system_message"
    FIELDS = (*COMMON, "content")


class UserMessage(LettaMessage):
    """What the agent is asked."""

    TYPE = "user_message"
    FIELDS = (*COMMON, "content")


class AssistantMessage(LettaMessage):
    """What the agent answers: text, or a list of parts."""

    TYPE = "assistant_message"
    FIELDS = (*COMMON, "content")


class ReasoningMessage(LettaMessage):
    """What the agent thinks."""

    TYPE = "reasoning_message"
    FIELDS = (*COMMON, "source", "reasoning", "signature")


class HiddenReasoningMessage(LettaMessage):
    """That the agent thinks, and does not tell."""

    TYPE = "hidden_reasoning_message"
    FIELDS = (*COMMON, "state", "hidden_reasoning")


class ToolCallMessage(LettaMessage):
    """The agent calls tools: the first as `tool_call`, all of them as `tool_calls` where they were recorded."""

    TYPE = "tool_call_message"
    FIELDS = (*COMMON, "tool_call", "tool_calls")


class ToolReturnMessage(LettaMessage):
    """What a tool gave back."""

    TYPE = "tool_return_message"
    FIELDS = (*COMMON, "tool_return", "status", "tool_call_id", "stdout", "stderr", "tool_returns")


class ApprovalRequestMessage(LettaMessage):
    """The agent asks whether it may call a tool."""

    TYPE = "approval_request_message"
    FIELDS = (*COMMON, "tool_call", "tool_calls")


class ApprovalResponseMessage(LettaMessage):
    """The answer to that."""

    TYPE = "approval_response_message"
    FIELDS = (*COMMON, "approve", "approval_request_id", "reason", "approvals")


class SummaryMessage(LettaMessage):
    """What stands for messages that were dropped."""

    TYPE = "summary_message"
    FIELDS = (*COMMON, "summary", "compaction_stats")


class EventMessage(LettaMessage):
    """Something that happened to the agent."""

    TYPE = "event_message"
    FIELDS = (*COMMON, "event_type", "event_data")


MESSAGES = (
    SystemMessage,
    UserMessage,
    AssistantMessage,
    ReasoningMessage,
    HiddenReasoningMessage,
    ToolCallMessage,
    ToolReturnMessage,
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    SummaryMessage,
    EventMessage,
)
BY_TYPE: Dict[Any, type] = {kind.TYPE: kind for kind in MESSAGES}

#: For annotations; each member can be asked for with `isinstance`.
LettaMessageUnion = Union[MESSAGES]  # type: ignore[valid-type]


class Block(Record):
    """A block of an agent's memory."""

    FIELDS = ("id", "label", "value", "limit", "description", "metadata", "read_only")


class Memory(Record):
    """The memory of an agent."""

    FIELDS = ("blocks", "file_blocks", "prompt_template")
    CONVERTERS = {"blocks": one(Block), "file_blocks": one(Block)}


class AgentState(Record):
    """An agent as its server tells it; its blocks stand in `memory.blocks`, with newer servers in `blocks` as well."""

    FIELDS = (
        "id",
        "name",
        "agent_type",
        "system",
        "memory",
        "blocks",
        "tools",
        "llm_config",
        "model",
        "tags",
        "metadata",
    )
    CONVERTERS = {
        "memory": one(Memory),
        "blocks": one(Block),
        "tools": one(Record),
        "llm_config": one(Record),
        "embedding_config": one(Record),
        "sources": one(Record),
    }


def message_of(data: Dict[str, Any]) -> Any:
    """The message over recorded JSON."""
    return record_of(BY_TYPE.get(data.get("message_type"), LettaMessage), data)
