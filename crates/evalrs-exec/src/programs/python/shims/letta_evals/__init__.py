"""The names of the `letta_evals` package that graders, extractors and reward composers import."""

from evalrs_worker.letta.decorators import agent_factory, extractor, grader, reward_composer, suite_setup
from evalrs_worker.letta.models import GradeResult, RewardOutput, Sample
from evalrs_worker.letta.placeholders import missing_function, placeholders

__getattr__ = placeholders("letta-evals", __name__)
run_suite = missing_function("letta-evals", "run_suite")
