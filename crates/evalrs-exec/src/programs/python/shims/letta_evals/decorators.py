"""The decorators."""

from evalrs_worker.letta.decorators import agent_factory, extractor, grader, reward_composer, suite_setup
