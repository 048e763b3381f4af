"""From the first line to the last: loads what evalrs asks for, says so, and answers until requests end."""

from __future__ import annotations

import faulthandler
import io
import os
import sys
from typing import Any, Dict, NoReturn

from .channel import Channel
from .faults import describe, details_of
from .inputs import Inputs, Workspace
from .letta.classes import CLIENT, Classes, is_installed
from .lifetime import end, watch
from .loading import Unloadable, find, load
from .replies import parse, to_own_json
from .roles import Role
from .serving import InOrder, Overlapped, Service


def run() -> NoReturn:
    """Serves one function, and ends the process."""
    _tame_prints()
    channel = Channel()
    watch(channel)
    first = channel.receive_one()
    if first is None:
        end()
    request = parse(first)["load"]
    workspace = Workspace(request["workspace"])
    try:
        service = _load(request, workspace)
    except BaseException as fault:
        if channel.orphaned:
            os._exit(1)
        _send(channel, {"unloadable": _reason(fault, workspace)})
        end()
    if channel.orphaned:
        os._exit(0)
    _send(channel, {"loaded": _loaded(service)})
    if service.role.overlaps:
        Overlapped(channel, service).run()
    else:
        InOrder(channel, service).run()
    end()


def _load(request: Dict[str, Any], workspace: Workspace) -> Service:
    """Loads the function; whatever its module raises is raised."""
    path = os.path.abspath(request["path"])
    inputs = Inputs(workspace, path)
    inputs.listen()
    module = load(path, workspace, inputs)
    function = find(module, request["function"])
    classes = Classes(request["role"])
    return Service(Role(request["role"], function, classes, request.get("sees", False)), inputs, workspace, classes.warnings)


def _loaded(service: Service) -> Dict[str, Any]:
    news = service.inputs.news()
    return {
        "runtime": "python " + ".".join(str(part) for part in sys.version_info[:3]),
        "overlaps": service.role.overlaps,
        "files": news.get("files", []),
        "missed": news.get("missed", []),
        "reads": news.get("reads", []),
        "warnings": service.warnings,
    }


def _reason(fault: BaseException, workspace: Workspace) -> Dict[str, str]:
    if isinstance(fault, Unloadable):
        return {"message": str(fault), "details": ""}
    message = describe(fault)
    if isinstance(fault, ImportError) and (fault.name or "").split(".")[0] == CLIENT and is_installed(CLIENT):
        message += f"; {_other_release()}"
    return {"message": message, "details": details_of(fault, workspace)}


def _other_release() -> str:
    """What to do where the installed client is not of the release that a file was written for."""
    from importlib.metadata import version

    try:
        release = version("letta-client")
    except Exception:
        release = "of unknown version"
    return (
        f"letta-client {release} is installed, and the file may be written for another release: install that, for "
        f"example with `{sys.executable} -m pip install 'letta-client<1'`"
    )


def _send(channel: Channel, message: Dict[str, Any]) -> None:
    channel.add(to_own_json(message))
    channel.flush()


def _tame_prints() -> None:
    """Lets prints appear line by line, and never fail for a character that the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    try:
        faulthandler.enable(all_threads=False)
    except Exception:
        # A closed stderr only costs the stack of a crash.
        pass
