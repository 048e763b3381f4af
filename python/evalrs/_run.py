"""Starts the binary. Nothing is evaluated here."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Iterable, Mapping, Optional, Union

from ._binary import binary
from ._results import Run, read_run

_Path = Union[str, "os.PathLike[str]"]
#: Exit codes with a report: passed, gate failed, incomplete or undecided, out in a batch.
_REPORTED = frozenset({0, 1, 3, 4})


class EvalrsError(Exception):
    """evalrs could not evaluate. Its text is the message of evalrs, with file, line and column."""

    def __init__(self, command: list[str], exit_code: int, messages: str):
        super().__init__(messages.strip() or f"`{' '.join(command)}` exited with {exit_code}")
        self.command = command
        #: 2 wrong usage or files, 101 a bug, 130 interrupted.
        self.exit_code = exit_code
        self.messages = messages

    def __reduce__(self):
        return type(self), (self.command, self.exit_code, self.messages)


def _several(value: Union[None, str, Iterable[str]]) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _options(named: Mapping[str, Any]) -> list[str]:
    """Flags of the command line: `max_cost=1.5` is `--max-cost=1.5`."""
    arguments = []
    for name, value in named.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            arguments += [f"{flag}={each}" for each in (value if isinstance(value, list) else [value])]
    return arguments


def run(
    suite: _Path,
    *,
    samples: Union[None, str, Iterable[str]] = None,
    graders: Union[None, str, Iterable[str]] = None,
    tags: Union[None, str, Iterable[str]] = None,
    max_samples: Optional[int] = None,
    trials: Optional[int] = None,
    frozen: bool = False,
    offline: bool = False,
    retry_errors: bool = False,
    record: bool = True,
    max_cost: Optional[float] = None,
    max_calls: Optional[int] = None,
    max_concurrent: Optional[int] = None,
    labels: Optional[_Path] = None,
    output: Optional[_Path] = None,
    cache_dir: Optional[_Path] = None,
    arguments: Iterable[str] = (),
    cwd: Optional[_Path] = None,
    env: Optional[Mapping[str, str]] = None,
    timeout: Optional[float] = None,
) -> Run:
    """Evaluates a suite: `evalrs run SUITE --format json`, whose flags the parameters are named after.

    `frozen` replays the cache and makes no calls, `offline` calls neither judges nor agents, `record=False` keeps no
    record of the run. `arguments` are further words of the command line. A failed gate is a result, not an exception;
    invalid files and wrong usage raise `EvalrsError`.
    """
    named = {
        "sample": _several(samples),
        "grader": _several(graders),
        "tags": ",".join(_several(tags)) or None,
        "max_samples": max_samples,
        "trials": trials,
        "frozen": frozen,
        "offline": offline,
        "retry_errors": retry_errors,
        "no_record": not record,
        "max_cost": max_cost,
        "max_calls": max_calls,
        "max_concurrent": max_concurrent,
        "labels": None if labels is None else os.fspath(labels),
        "output": None if output is None else os.fspath(output),
        "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
    }
    command = [binary(), "run", *_options(named), "--format=json", "--quiet", *arguments, "--", os.fspath(suite)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=None if env is None else dict(env),
        timeout=timeout,
        check=False,
    )
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode not in _REPORTED or not done.stdout.strip():
        raise EvalrsError(command, done.returncode, messages)
    return read_run(json.loads(done.stdout), done.returncode, messages)
