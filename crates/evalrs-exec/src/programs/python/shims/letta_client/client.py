"""Clients and tools, all of them placeholders."""

from evalrs_worker.letta.placeholders import placeholders

__getattr__ = placeholders("letta-client", __name__)
