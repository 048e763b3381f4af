"""The extractors that can be named in a suite."""

from evalrs_worker.letta.extracting import (
    after_marker,
    all_assistant,
    first_assistant,
    last_assistant,
    last_turn,
    memory_block,
    pattern,
    tool_arguments,
    tool_output,
)
