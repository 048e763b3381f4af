"""Results as Python objects. Their members are those of the JSON that evalrs writes (`evalrs schemas RunReport`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Optional

#: Kinds of errors that say: nothing was asked yet. A later run may ask.
PENDING = frozenset({"not_stored", "not_asked"})


@dataclass(frozen=True)
class GradeError:
    """Why a grade could not be made."""

    kind: str
    message: str


@dataclass(frozen=True)
class Grade:
    """The verdict of one grader on one submission."""

    grader: str
    score: float
    #: Whether it passes; false where there is an error.
    passed: bool
    rationale: str
    error: Optional[GradeError] = None
    #: The key of its action, where a judge or a program gave it.
    key: Optional[str] = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    per_turn: tuple = ()

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a judgment that is not cached and whose judge was not called."""
        return self.error is not None and self.error.kind in PENDING


@dataclass(frozen=True)
class Result:
    """One sample under one model in one trial."""

    sample_id: str
    input: Any
    ground_truth: Any
    model: Optional[str]
    trial: int
    #: What each grader looked at, of all graders.
    submissions: Mapping[str, str]
    grades: Mapping[str, Grade]
    #: Why a grader does not look at this sample.
    not_applicable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """The numbers of one grader; `docs/results.md` explains each."""

    grader: str
    n: int
    attempted: int
    errors: int
    avg_score_attempted: Optional[float]
    avg_score_total: Optional[float]
    accuracy: Optional[float]
    stderr: Optional[float]
    #: All of its members, as evalrs wrote them.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Gate:
    """The rule that decides the exit code, and its result."""

    #: `passed`, `failed`, `undecided`, or `None` for a suite without a gate.
    status: Optional[str]
    rule: Optional[str] = None
    value: Optional[float] = None
    threshold: Optional[float] = None
    lowest: Optional[float] = None
    highest: Optional[float] = None


@dataclass(frozen=True)
class Run:
    """One evaluation of a suite."""

    suite: str
    #: 0 passed, 1 the gate failed, 3 incomplete or undecided, 4 judgments are out in a batch.
    exit_code: int
    results: tuple[Result, ...]
    metrics: Mapping[str, Metric]
    gate: Gate
    #: US dollars that all judgments of this report cost when they were made.
    cost: Optional[float]
    #: What evalrs said beside the report: warnings, notes.
    messages: str = field(repr=False)
    header: Mapping[str, Any] = field(repr=False)
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def passed(self) -> bool:
        """Whether the run is complete and its gate, if any, passed."""
        return self.exit_code == 0

    def grades(self) -> Iterator[tuple[Result, Grade]]:
        """Every grade, with the result it belongs to."""
        return ((result, grade) for result in self.results for grade in result.grades.values())

    def failures(self) -> list[tuple[Result, Grade]]:
        """The grades that were made and do not pass."""
        return [(result, grade) for result, grade in self.grades() if grade.error is None and not grade.passed]

    def errors(self) -> list[tuple[Result, Grade]]:
        """The grades that could not be made, though evalrs tried."""
        return [(result, grade) for result, grade in self.grades() if grade.error and not grade.is_pending]

    def pending(self) -> list[tuple[Result, Grade]]:
        """The grades that wait for a judgment that is not cached."""
        return [(result, grade) for result, grade in self.grades() if grade.is_pending]

    def __getitem__(self, sample_id: str) -> Result:
        """The first result of a sample."""
        for result in self.results:
            if result.sample_id == sample_id:
                return result
        raise KeyError(sample_id)


def _only(fields: tuple[str, ...], members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members.get(name) for name in fields}


def _grade(grader: str, members: Mapping[str, Any]) -> Grade:
    error = members.get("error")
    return Grade(
        grader=grader,
        score=members["score"],
        passed=members["pass"],
        rationale=members["rationale"],
        error=None if error is None else GradeError(error["kind"], error["message"]),
        key=members.get("key"),
        metadata=members.get("metadata") or {},
        per_turn=tuple(members.get("per_turn") or ()),
    )


def _submissions(members: Mapping[str, Any]) -> Mapping[str, str]:
    """A text for each grader: lines list once the text that most graders looked at."""
    graders = [*members["grades"], *(members.get("not_applicable") or {})]
    shared = {grader: members["submission"] for grader in graders if "submission" in members}
    return {**shared, **(members.get("submissions") or {})}


def _result(members: Mapping[str, Any]) -> Result:
    return Result(
        **_only(("sample_id", "input", "ground_truth", "model", "trial"), members),
        submissions=_submissions(members),
        grades={grader: _grade(grader, grade) for grader, grade in members["grades"].items()},
        not_applicable=members.get("not_applicable") or {},
    )


def read_run(document: Mapping[str, Any], exit_code: int, messages: str) -> Run:
    """The run that `--format json` describes."""
    header, summary = document["header"], document["summary"]
    numbers = ("n", "attempted", "errors", "avg_score_attempted", "avg_score_total", "accuracy", "stderr")
    metrics = {
        grader: Metric(grader=grader, **_only(numbers, members), raw=members)
        for grader, members in summary["metrics"].items()
    }
    return Run(
        suite=header["suite"],
        exit_code=exit_code,
        results=tuple(_result(members) for members in document["results"]),
        metrics=metrics,
        gate=Gate(**_only(("status", "rule", "value", "threshold", "lowest", "highest"), summary["gate"])),
        cost=summary.get("cost"),
        messages=messages,
        header=header,
        summary=summary,
    )
