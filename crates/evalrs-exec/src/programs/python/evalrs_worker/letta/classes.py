"""Chooses the classes that samples, messages and agent states are made of: the installed packages' where there are any.

`isinstance` in the user's code asks for the classes which that code imported. Where `letta_client` is installed those
are its own, so objects are made with them, without validation; what they refuse is made with the stand-ins.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, Dict, List, Optional

from .. import OWN_FOLDER
from .models import Sample, recorded_sample

CLIENT = "letta_client"
#: Where releases of the client keep their classes.
CLIENT_MODULES = (CLIENT, f"{CLIENT}.types", f"{CLIENT}.types.agents")


class Classes:
    """Makes the arguments of functions."""

    def __init__(self, role: str) -> None:
        self.warnings: List[str] = []
        self._messages: Dict[Any, Any] = {}
        self._agent_state: Any = None
        self._sample: Any = _installed_sample()
        if role in ("extract", "reward"):
            from . import messages

            self._own = messages
            if is_installed(CLIENT):
                self._take_client()

    def sample(self, data: Dict[str, Any]) -> Any:
        """A sample."""
        if self._sample is not None:
            try:
                return _with_all(self._sample.model_construct(**data), data)
            except Exception:
                self._sample = None
        return recorded_sample(data)

    def trajectory(self, turns: List[List[Dict[str, Any]]]) -> List[List[Any]]:
        """The messages of every turn."""
        make = self._message if self._messages else self._own.message_of
        return [[make(message) for message in turn] for turn in turns]

    def agent_state(self, data: Optional[Dict[str, Any]]) -> Any:
        """The state of an agent, or `None`."""
        if data is None:
            return None
        data = _with_both_blocks(data)
        if self._agent_state is not None:
            try:
                return self._agent_state.construct(**data)
            except Exception:
                self._agent_state = None
        return self._own.record_of(self._own.AgentState, data)

    def _message(self, data: Dict[str, Any]) -> Any:
        kind = self._messages.get(data.get("message_type"))
        if kind is not None:
            try:
                return kind.construct(**data)
            except Exception:
                # One odd message must not cost the others their class.
                pass
        return self._own.message_of(data)

    def _take_client(self) -> None:
        """Takes the classes of the installed client, by the names that ours have as well."""
        try:
            modules = [importlib.import_module(CLIENT)]
        except Exception as fault:
            told = f"{type(fault).__name__}: {fault}"
            self.warnings.append(
                f"`{CLIENT}` is installed but cannot be imported ({told}); messages have other classes"
            )
            return
        for name in CLIENT_MODULES[1:]:
            try:
                modules.append(importlib.import_module(name))
            except ImportError:
                continue
        for message_type, kind in self._own.BY_TYPE.items():
            self._messages[message_type] = _first(modules, kind.__name__)
        self._agent_state = _first(modules, self._own.AgentState.__name__)


def _with_all(sample: Any, data: Dict[str, Any]) -> Any:
    """The sample with what its class does not know as attributes."""
    for name, value in data.items():
        sample.__dict__.setdefault(name, value)
    return sample


def _with_both_blocks(data: Dict[str, Any]) -> Dict[str, Any]:
    """A state whose blocks stand where older clients have them and where newer ones do."""
    memory = data.get("memory")
    older = memory.get("blocks") if isinstance(memory, dict) else None
    newer = data.get("blocks")
    if older is None and newer is not None:
        return {**data, "memory": {**(memory or {}), "blocks": newer}}
    if newer is None and older is not None:
        return {**data, "blocks": older}
    return data


def _first(modules: List[Any], name: str) -> Any:
    """The class of that name that can be made without validation."""
    for module in modules:
        found = getattr(module, name, None)
        if isinstance(found, type) and hasattr(found, "construct"):
            return found
    return None


def is_installed(package: str) -> bool:
    """Whether an import would find something other than the stand-in."""
    try:
        spec = importlib.util.find_spec(package)
    except Exception:
        return False
    return spec is not None and not (spec.origin or OWN_FOLDER).startswith(OWN_FOLDER)


def _installed_sample() -> Any:
    """The installed package's class of samples, if the user's code has loaded it."""
    found = getattr(sys.modules.get("letta_evals.models"), "Sample", None)
    return found if found is not Sample and hasattr(found, "model_construct") else None
