"""What extractors are made of."""

from evalrs_worker.letta.extracting import (
    flatten_content,
    get_assistant_messages,
    get_last_turn_messages,
    get_messages_by_type,
    get_tool_calls,
)
