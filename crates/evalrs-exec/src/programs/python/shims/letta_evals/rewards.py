"""What reward composers import beside the decorator; the context is for annotations."""

from evalrs_worker.letta.decorators import reward_composer
from evalrs_worker.letta.models import RewardOutput
from evalrs_worker.letta.placeholders import placeholders

__getattr__ = placeholders("letta-evals", __name__)
