"""How the process ends: when evalrs is gone, and without waiting for whatever the user's code has left running."""

from __future__ import annotations

import _thread
import atexit
import os
import select
import time
from typing import NoReturn

from .channel import Channel, flush_prints

#: How long work in progress may go without a reply once there are no more requests, in seconds.
PATIENCE = 5.0
#: How long exit handlers may take, in seconds.
GRACE = 1.0


def watch(channel: Channel) -> None:
    """Ends the process when nobody reads replies any more, or when work hangs after requests have ended.

    A thread of its own does this, because the user's function may hang in the main one. It sleeps all the while.
    """
    _thread.start_new_thread(_wait_for_end, (channel,))


def end(status: int = 0) -> NoReturn:
    """Ends the process at once: exit handlers run, threads are not waited for."""
    try:
        _thread.start_new_thread(_cut_off, (status,))
        atexit._run_exitfuncs()
    except BaseException:
        # A handler's fault has been printed by now; nothing may keep the process.
        pass
    finally:
        flush_prints()
        os._exit(status)


def _wait_for_end(channel: Channel) -> None:
    poll = select.poll()
    # Without wanted events only the far end's closing is told, however many requests wait unread.
    poll.register(channel.requests, 0)
    poll.register(channel.replies, 0)
    closed = [descriptor for descriptor, _ in poll.poll()]
    poll.unregister(channel.requests)
    seen = None
    while channel.replies not in closed and channel.flushed != seen:
        seen = channel.flushed
        closed = [descriptor for descriptor, _ in poll.poll(PATIENCE * 1000)]
    os._exit(0)


def _cut_off(status: int) -> None:
    time.sleep(GRACE)
    os._exit(status)
