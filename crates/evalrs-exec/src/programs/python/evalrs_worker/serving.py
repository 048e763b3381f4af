"""Answers requests: one after the other, or, where the function is async, all at once."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .channel import Channel, leave
from .faults import error_of
from .inputs import Inputs, Workspace
from .replies import parse_first, to_json, to_own_json
from .roles import PLAIN, Role


class Service:
    """One function, and what it takes to answer with it."""

    def __init__(self, role: Role, inputs: Inputs, workspace: Workspace, warnings: List[str]) -> None:
        self.role = role
        self.inputs = inputs
        self.workspace = workspace
        self.warnings = warnings

    def success(self, request: Dict[str, Any], text: str) -> str:
        """The reply that carries a result."""
        return f'{{"id":{request["id"]},"result":{text}{self._news()}}}'

    def failure(self, request: Dict[str, Any], fault: BaseException) -> str:
        """The reply that carries an exception."""
        error = to_own_json(error_of(fault, self.workspace))
        return f'{{"id":{request["id"]},"error":{error}{self._news()}}}'

    def _news(self) -> str:
        """What a reply adds when files were loaded or opened: it is the first one that may rest on them."""
        if not self.inputs.has_news():
            return ""
        news = to_own_json(self.inputs.news())
        return f",{news[1:-1]}" if len(news) > 2 else ""


class InOrder:
    """Answers one request after the other."""

    def __init__(self, channel: Channel, service: Service) -> None:
        self._channel = channel
        self._service = service
        self._loop: Any = None

    def run(self) -> None:
        """Answers until there are no more requests."""
        channel = self._channel
        while True:
            if channel.is_quiet():
                channel.flush()
            lines = channel.receive()
            if lines is None:
                channel.flush()
                return
            for line in lines:
                channel.add(self._answer(parse_first(line)[0]))

    def _answer(self, request: Dict[str, Any]) -> str:
        service = self._service
        try:
            result = service.role.call(request["input"])
            if type(result) not in PLAIN and hasattr(result, "__await__"):
                result = self._wait_for(result)
            text = to_json(service.role.result(result))
        except BaseException as fault:
            if self._channel.orphaned:
                leave(fault)
            return service.failure(request, fault)
        return service.success(request, text)

    def _wait_for(self, result: Any) -> Any:
        """The result of something that a plain function returned to be awaited."""
        if self._loop is None:
            self._loop = _event_loop()
        return self._loop.run_until_complete(_awaited(result))


class Overlapped:
    """Works on every request as soon as it arrives, all on one event loop."""

    def __init__(self, channel: Channel, service: Service) -> None:
        self._channel = channel
        self._service = service
        self._loop = _event_loop()
        self._loop.add_reader(channel.requests, self._read)
        # The loop itself holds tasks weakly only.
        self._tasks: Dict[int, Any] = {}
        self._ended = False
        self._will_flush = False

    def run(self) -> None:
        """Answers until there are no more requests, also when the user's code stops the loop."""
        self._read()
        while not self._ended or self._tasks:
            self._loop.run_forever()
        self._channel.flush()

    def _read(self) -> None:
        """Starts what can be read."""
        if self._channel.orphaned:
            leave()
        lines = self._channel.receive()
        if lines is None:
            self._loop.remove_reader(self._channel.requests)
            self._ended = True
            self._stop_when_idle()
            return
        for line in lines:
            request = parse_first(line)[0]
            self._tasks[request["id"]] = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Dict[str, Any]) -> None:
        service = self._service
        fault: Optional[BaseException] = None
        try:
            result = await service.role.call(request["input"])
            text = to_json(service.role.result(result))
        except BaseException as raised:
            fault = raised
        if self._channel.orphaned:
            leave(fault)
        reply = service.success(request, text) if fault is None else service.failure(request, fault)
        del self._tasks[request["id"]]
        self._channel.add(reply)
        if not self._will_flush:
            self._will_flush = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Sends the replies of one turn of the loop together."""
        self._will_flush = False
        self._channel.flush()
        self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        if self._ended and not self._tasks:
            self._loop.stop()


async def _awaited(result: Any) -> Any:
    return await result


def _event_loop() -> Any:
    """A loop; up to Python 3.9, where objects made at import were bound to one, it is that one."""
    import asyncio
    import sys

    if sys.version_info < (3, 10):
        try:
            return asyncio.get_event_loop()
        except RuntimeError:
            pass
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop
