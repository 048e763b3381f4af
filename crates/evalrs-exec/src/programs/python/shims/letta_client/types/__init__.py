"""The classes of messages, where some releases keep them."""

from typing import Any

import letta_client


def __getattr__(name: str) -> Any:
    return getattr(letta_client, name)
