"""The names of `letta_client` that graders and extractors import; what talks with a server is a placeholder."""

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
