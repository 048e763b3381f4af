"""evalrs for Python: `run` evaluates a suite with the binary and gives its results as objects.

    import evalrs

    run = evalrs.run("suite.yaml")
    assert run.passed, run.failures()

For pytest there is a plugin: `pytest --evalrs suite.yaml`.
"""

from ._binary import binary
from ._results import Gate, Grade, GradeError, Metric, Result, Run
from ._run import EvalrsError, run

__all__ = ["EvalrsError", "Gate", "Grade", "GradeError", "Metric", "Result", "Run", "binary", "run"]
