"""The models of `letta_evals`: samples, grades and rewards."""

from __future__ import annotations

from typing import Any, Dict, Optional

from .records import Namespace


class Sample(Namespace):
    """A sample of the dataset; fields that it lacks are `None`."""

    id: Any = None
    input: Any = None
    ground_truth: Any = None
    agent_args: Optional[Dict[str, Any]] = None
    rubric_vars: Optional[Dict[str, Any]] = None
    extra_vars: Optional[Dict[str, Any]] = None
    metadata: Optional[Dict[str, Any]] = None
    tags: Any = None
    #: What a sample has only where the suite says that the function `sees` it.
    SEEN = ("row", "model", "trial", "submission", "output", "hint", "trajectory")
    #: What can be subscripted is no sequence: without this, it would be asked for item 0.
    __iter__ = None

    def __getattr__(self, name: str) -> Any:
        """Says what to do about a field that is not handed over."""
        raise AttributeError(_unseen(name) or f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getitem__(self, name: str) -> Any:
        """The same for who takes a sample for a dictionary."""
        try:
            return self.__dict__[name]
        except KeyError:
            raise KeyError(_unseen(name) or name) from None

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def model_dump(self, **_options: Any) -> Dict[str, Any]:
        """The fields as a dict."""
        return dict(self.__dict__)

    def model_copy(self, *, update: Optional[Dict[str, Any]] = None, deep: bool = False) -> "Sample":
        """A copy with some fields changed."""
        return type(self)(**{**self.__dict__, **(update or {})})


class GradeResult(Namespace):
    """A grade: a score between 0.0 and 1.0, why, and whatever else is to be kept."""

    def __init__(
        self, *, score: float, rationale: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None, **_rest: Any
    ) -> None:
        self.score = _in_range(score)
        self.rationale = rationale
        self.metadata = {} if metadata is None else metadata


class RewardOutput(Namespace):
    """A composed reward: a score between 0.0 and 1.0, and how it came about."""

    def __init__(self, *, score: float, metadata: Optional[Dict[str, Any]] = None, **_rest: Any) -> None:
        self.score = _in_range(score)
        self.metadata = metadata


def _unseen(name: str) -> str:
    """How a function comes to see a field that samples can have; empty of any other."""
    return f"`sample.{name}` is not handed over: say `sees: [{name}]` in the suite" if name in Sample.SEEN else ""


def recorded_sample(data: Dict[str, Any]) -> Sample:
    """A sample over `data`, which is not copied."""
    made = Sample.__new__(Sample)
    made.__dict__ = data
    return made


def recorded_grade(grade: Dict[str, Any]) -> GradeResult:
    """A grade that was given earlier, whatever its score."""
    made = GradeResult.__new__(GradeResult)
    made.__dict__.update({"score": None, "rationale": None, "metadata": {}}, **grade)
    return made


def _in_range(score: Any) -> float:
    """The score as a float; numbers as text are taken, as the real models do."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise ValueError(f"Score must be a number, got {score!r}") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"Score must be between 0.0 and 1.0, got {number}")
    return number
