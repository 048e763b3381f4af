"""Makes the client of a Letta server that scripts of a suite are handed: with the user's own package, of any release."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any, Dict

from ..loading import Unloadable
from .classes import CLIENT, is_installed

#: The variables that clients and scripts look at, by what is told of the server.
VARIABLES = {"base_url": "LETTA_BASE_URL", "api_key": "LETTA_API_KEY", "project_id": "LETTA_PROJECT_ID"}
#: Which project is meant, for releases whose client has no parameter for it.
PROJECT_HEADER = "X-Project-Id"


class Clients:
    """Makes clients, each once."""

    def __init__(self, function: str, is_async: bool) -> None:
        if not is_installed(CLIENT):
            raise Unloadable(
                f"`{function}` takes a client of the Letta server, and the package `letta-client` is not installed for "
                f"this Python: install it with `{sys.executable} -m pip install letta-client`, or name another Python "
                "with `runtime` of the target"
            )
        self._kind = "AsyncLetta" if is_async else "Letta"
        self._made: Dict[str, Any] = {}

    def client(self, server: Dict[str, Any]) -> Any:
        """The client of this server."""
        known = repr(sorted(server.items()))
        if known not in self._made:
            for name, variable in VARIABLES.items():
                if server.get(name):
                    os.environ.setdefault(variable, server[name])
            self._made[known] = _make(getattr(importlib.import_module(CLIENT), self._kind), server)
        return self._made[known]


def _make(kind: Any, server: Dict[str, Any]) -> Any:
    given = {"base_url": server.get("base_url"), "timeout": server.get("timeout")}
    project = server.get("project_id")
    known = inspect.signature(kind).parameters
    if "api_key" in known:
        given.update(api_key=server.get("api_key"), project_id=project)
    else:
        given.update(token=server.get("api_key"), headers={PROJECT_HEADER: project} if project else None)
    return kind(**{name: value for name, value in given.items() if value is not None})
