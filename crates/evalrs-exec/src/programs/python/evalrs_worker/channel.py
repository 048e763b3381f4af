"""The two descriptors that lead to evalrs: lines of requests in, batches of replies out.

Both are moved to high numbers at once, so that code which closes or reuses small descriptors does no harm, and are
closed in children: only this process may reply. It knows nothing of what the lines say.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time
from typing import List, Optional

from .replies import mend

REQUESTS = 4
REPLIES = 3
#: Where the descriptors go; the user's files take the lowest free numbers and stay far below.
HIGH = 200
#: One read: what a pipe holds at most by default, several times over.
CHUNK = 1 << 18
#: The longest that a reply waits for company, in seconds.
PATIENCE = 0.001


class Channel:
    """Requests and replies, one document a line."""

    def __init__(self) -> None:
        self.requests = _moved(REQUESTS)
        self.replies = _moved(REPLIES)
        self.orphaned = False
        self._ready: List[str] = []
        self._parts: List[bytes] = []
        self._unsent: List[str] = []
        #: When replies were last sent, in seconds of the monotonic clock.
        self.flushed = time.monotonic()
        self._poll = select.poll()
        self._poll.register(self.requests, select.POLLIN | select.POLLHUP)
        os.register_at_fork(after_in_child=self._orphan)

    def receive(self) -> Optional[List[str]]:
        """The lines of one read, possibly none; `None` when there will be no more."""
        if self._ready:
            ready, self._ready = self._ready, []
            return ready
        chunk = os.read(self.requests, CHUNK)
        if not chunk:
            return None
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._parts.append(chunk)
            return []
        self._parts.append(head)
        block = b"".join(self._parts)
        self._parts = [tail] if tail else []
        return [line for line in block.decode().split("\n") if line]

    def receive_one(self) -> Optional[str]:
        """The next line alone; what came with it is left for `receive`."""
        while True:
            lines = self.receive()
            if lines is None:
                return None
            if lines:
                self._ready = lines[1:]
                return lines[0]

    def is_quiet(self) -> bool:
        """Whether no further request can be read without waiting."""
        return not self._ready and not self._poll.poll(0)

    def add(self, reply: str) -> None:
        """Takes a line to send; it waits for others for a millisecond at most while there is work."""
        if self.orphaned:
            leave()
        self._unsent.append(reply)
        if time.monotonic() - self.flushed > PATIENCE:
            self.flush()

    def flush(self) -> None:
        """Sends what waits."""
        if not self._unsent or self.orphaned:
            return
        self._unsent.append("")
        text = "\n".join(self._unsent)
        self._unsent.clear()
        try:
            block = text.encode()
        except UnicodeEncodeError:
            block = mend(text).encode()
        self._write(block)
        self.flushed = time.monotonic()

    def _write(self, block: bytes) -> None:
        rest = memoryview(block)
        while rest:
            rest = rest[os.write(self.replies, rest) :]

    def _orphan(self) -> None:
        """In a forked child: forgets the channel, so that only the parent replies."""
        self.orphaned = True
        self._unsent.clear()
        self._ready = []
        for descriptor in (self.requests, self.replies):
            try:
                os.close(descriptor)
            except OSError:
                pass


def leave(fault: Optional[BaseException] = None) -> None:
    """Ends a forked child that came back from the user's function, with the status it would have had by itself."""
    status = 0
    if isinstance(fault, SystemExit):
        status = fault.code if isinstance(fault.code, int) else int(fault.code is not None)
    elif fault is not None:
        sys.__excepthook__(type(fault), fault, fault.__traceback__)
        status = 1
    flush_prints()
    os._exit(status & 0xFF)


def flush_prints() -> None:
    """Writes out what the user's code has printed, whatever it did to the streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _moved(descriptor: int) -> int:
    """The same pipe under a high number that children do not inherit."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    except OSError:
        os.set_inheritable(descriptor, False)
        return descriptor
    os.close(descriptor)
    return moved
