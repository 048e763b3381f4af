"""The classes of messages, where some releases keep them."""

from evalrs_worker.letta.messages import (
    AgentState,
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    AssistantMessage,
    Block,
    EventMessage,
    HiddenReasoningMessage,
    ImageContent,
    LettaMessageUnion,
    Memory,
    ReasoningMessage,
    SummaryMessage,
    SystemMessage,
    TextContent,
    ToolCall,
    ToolCallDelta,
    ToolCallMessage,
    ToolReturn,
    ToolReturnMessage,
    UserMessage,
)
from evalrs_worker.letta.placeholders import placeholders

__getattr__ = placeholders("letta-client", __name__)
