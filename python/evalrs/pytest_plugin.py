"""`pytest --evalrs suite.yaml`: one test for each sample and grader, and one for the gate.

Tests are collected with `evalrs run --frozen`, which makes no calls. The first test that runs evaluates the suite once, for all
tests that are selected; with pytest-xdist one worker does so for all. evalrs itself grades, caches and reports.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shlex
import shutil
import tempfile
import textwrap
from pathlib import Path

import pytest

from ._run import EvalrsError, run

#: What came of each suite, by its path.
_EVALUATIONS = pytest.StashKey[dict]()
#: The folder where the workers of pytest-xdist share that.
_SHARED = pytest.StashKey[str]()
_WIDTH = 100
#: The most characters of a submission or an input that a failure shows.
_SHOWN = 2000


def pytest_addoption(parser):
    group = parser.getgroup("evalrs", "evaluation of agents by evalrs")
    group.addoption(
        "--evalrs",
        action="append",
        default=[],
        metavar="SUITE",
        help="Test the samples of this suite; may be repeated. Without other arguments nothing else is tested",
    )
    group.addoption(
        "--evalrs-ask",
        action="store_true",
        help="Call judges and run agents for results that are not cached. Without it such tests are skipped",
    )
    group.addoption(
        "--evalrs-max-cost",
        type=float,
        metavar="DOLLARS",
        help="Stop before a suite has spent more than this; implies --evalrs-ask",
    )
    group.addoption(
        "--evalrs-frozen",
        action="store_true",
        help="Only replay the cache: do not run grading programs either",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "evalrs(suite, grader): a test that evalrs makes from a suite")
    config.stash[_EVALUATIONS] = {}
    # A worker of pytest-xdist is handed the arguments of the controller.
    if hasattr(config, "workerinput"):
        return
    if _asks(config) and config.option.evalrs_frozen:
        raise pytest.UsageError("--evalrs-frozen asks nothing: leave out --evalrs-ask and --evalrs-max-cost")
    suites = [str(Path(config.invocation_params.dir, suite)) for suite in config.option.evalrs]
    for suite in suites:
        if not os.path.isfile(suite):
            raise pytest.UsageError(f"--evalrs: `{suite}` is not a file; name a suite, such as evals/suite.yaml")
    if not suites:
        return
    is_given = config.args_source == config.ArgsSource.ARGS
    is_typed = any(str(word).split("=")[0] == "--evalrs" for word in config.invocation_params.args)
    if is_typed and not is_given:
        config.args[:] = []
    config.args += [suite for suite in suites if suite not in config.args]


def _asks(config):
    return config.option.evalrs_ask or config.option.evalrs_max_cost is not None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Gives a worker of pytest-xdist the folder where all of them share the evaluation of one."""
    if _SHARED not in node.config.stash:
        node.config.stash[_SHARED] = tempfile.mkdtemp(prefix="evalrs-pytest-")
    node.workerinput["evalrs_shared"] = node.config.stash[_SHARED]


def pytest_unconfigure(config):
    if _SHARED in config.stash:
        shutil.rmtree(config.stash[_SHARED], ignore_errors=True)


def pytest_collect_file(file_path, parent):
    named = parent.config.option.evalrs
    folder = parent.config.invocation_params.dir
    if any(Path(folder, suite).resolve() == file_path.resolve() for suite in named):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


class SuiteFile(pytest.File):
    """A suite."""

    def collect(self):
        try:
            found = run(self.path, frozen=True, record=False)
        except (EvalrsError, FileNotFoundError) as error:
            raise self.CollectError(str(error)) from None
        self.suite = found.suite
        for case, result in _cases(found).items():
            for grader in result.grades:
                yield GradeItem.from_parent(self, name=f"{case}::{grader}", case=case, result=result, grader=grader)
        if found.gate.status is not None:
            yield GateItem.from_parent(self, name="gate")

    def evaluation(self):
        """What came of the suite. Evaluates it, unless that is done."""
        done = self.config.stash[_EVALUATIONS]
        if self.path not in done:
            done[self.path] = self._evaluated_once()
        if isinstance(done[self.path], EvalrsError):
            raise done[self.path]
        return done[self.path]

    def _evaluated_once(self):
        """Evaluates the suite; where there are several workers in one of them, so that nothing is asked twice."""
        worker = getattr(self.config, "workerinput", None)
        if worker is None:
            return self._evaluated()
        name = hashlib.sha256(bytes(self.path)).hexdigest()
        shared = Path(worker["evalrs_shared"], f"{name}.pickle")
        with _locked(shared.with_suffix(".lock")):
            if not shared.exists():
                unfinished = shared.with_suffix(".unfinished")
                unfinished.write_bytes(pickle.dumps(self._evaluated()))
                unfinished.replace(shared)
        return pickle.loads(shared.read_bytes())

    def _evaluated(self):
        option = self.config.option
        chosen = {} if _asks(self.config) else {"frozen": True} if option.evalrs_frozen else {"offline": True}
        try:
            return run(self.path, **chosen, **self._selection(), max_cost=option.evalrs_max_cost)
        except EvalrsError as error:
            return error

    def _selection(self):
        """The samples and graders of the tests that are selected; empty where the gate is one, which needs all."""
        items = [item for item in self.session.items if item.parent is self]
        if any(isinstance(item, GateItem) for item in items):
            return {}
        return {
            "samples": list(dict.fromkeys(item.result.sample_id for item in items)),
            "graders": list(dict.fromkeys(item.grader for item in items)),
        }


def _cases(found):
    """The results of a run, by what pytest calls them."""
    cases = {}
    for result in found.results:
        model = f"[{result.model}]" if result.model else ""
        trial = f"[trial {result.trial}]" if result.trial else ""
        # Two colons part the names of pytest, and line breaks its lines.
        case = " ".join((result.sample_id + model + trial).replace("::", ":").split()) or "-"
        # What differed in white space alone.
        while case in cases:
            case += "'"
        cases[case] = result
    return cases


@contextlib.contextmanager
def _locked(path):
    """Holds a file locked. The lock of a process that dies is gone."""
    with open(path, "w", encoding="utf-8") as file:
        if os.name == "nt":
            import msvcrt

            while True:
                # Gives up after ten seconds.
                with contextlib.suppress(OSError):
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Failed(Exception):
    """A grade that does not pass, or a gate."""


class _Item(pytest.Item):
    """A test that evalrs makes of a suite."""

    def __init__(self, **options):
        super().__init__(**options)
        self.add_marker(pytest.mark.evalrs)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (_Failed, EvalrsError, FileNotFoundError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def _suite_name(self):
        return os.path.relpath(self.path, self.config.invocation_params.dir)


class GradeItem(_Item):
    """What one grader says of one sample."""

    def __init__(self, *, case, result, grader, **options):
        super().__init__(**options)
        self.case, self.result, self.grader = case, result, grader
        self.user_properties.append(("evalrs.suite", self.parent.suite))

    def setup(self):
        """Skips what is pending. What could not be graded is an error of pytest, not a failure."""
        result = _cases(self.parent.evaluation()).get(self.case)
        if result is None or self.grader not in result.grades:
            raise _Failed(f"`{self._suite_name()}` changed while it was tested: run pytest again")
        self.result, self.grade = result, result.grades[self.grader]
        if self.grade.is_pending:
            hint = "" if _asks(self.config) else "; --evalrs-ask makes the calls"
            pytest.skip(f"pending: {self.grade.error.message}{hint}")
        if self.grade.error:
            raise _Failed(self._told(f"{self.grade.error.kind}: {self.grade.error.message}"))

    def runtest(self):
        self.user_properties.append(("evalrs.score", self.grade.score))
        if not self.grade.passed:
            raise _Failed(self._told(f"score {self.grade.score:.3f}"))

    def reportinfo(self):
        return self.path, None, f"{self.case} {self.grader}"

    def _told(self, verdict):
        grade, result = self.grade, self.result
        parts = [f"{self.grader}: {verdict}"]
        shown = [("rationale", grade.rationale), ("submission", result.submissions.get(self.grader))]
        shown += [("input", result.input), ("ground truth", result.ground_truth)]
        parts += [_part(label, value) for label, value in shown if value not in (None, "")]
        parts.append(f"more: evalrs explain {_word(self._suite_name())} {_word(result.sample_id)} {_word(self.grader)}")
        return "\n".join(parts)


class GateItem(_Item):
    """The gate of a suite."""

    def setup(self):
        self.found = self.parent.evaluation()

    def runtest(self):
        gate, pending = self.found.gate, len(self.found.pending())
        if gate.status == "passed":
            return
        value = "" if gate.value is None else f": {gate.value:.3f}"
        parts = [f"gate {gate.status}: {gate.rule}{value}"]
        if gate.status == "undecided" and gate.lowest is not None:
            parts.append(f"between {gate.lowest:.3f} and {gate.highest:.3f}, depending on grades that are missing")
        if pending:
            parts.append(f"pending: {pending}; `evalrs run {_word(self._suite_name())}` or --evalrs-ask makes the calls")
        raise _Failed("\n".join(parts))

    def reportinfo(self):
        return self.path, None, "gate"


def _word(text):
    """A text as a word of a shell."""
    return shlex.quote(str(text))


def _part(label, value):
    """A labelled text, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]} … ({len(text) - _SHOWN} characters more)"
    if len(text) + len(label) < _WIDTH and "\n" not in text:
        return f"{label}: {text}"
    return f"{label}:\n" + textwrap.indent(text, "  ")
