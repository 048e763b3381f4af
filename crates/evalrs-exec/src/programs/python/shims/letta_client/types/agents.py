"""The classes of messages, where other releases keep them."""

from typing import Any

import letta_client


def __getattr__(name: str) -> Any:
    return getattr(letta_client, name)
