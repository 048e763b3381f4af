"""The models; those of suites and results are placeholders."""

from typing import Any

from evalrs_worker.letta.models import GradeResult, RewardOutput, Sample
from evalrs_worker.letta.placeholders import placeholders

#: Names that stand here and belong to the client, which may be installed although this package is not.
CLIENTS = ("LettaMessageUnion", "AgentState")
_placeholder = placeholders("letta-evals", __name__)


def __getattr__(name: str) -> Any:
    if name not in CLIENTS:
        return _placeholder(name)
    import letta_client
    import letta_client.types

    found = getattr(letta_client, name, None) or getattr(letta_client.types, name, None)
    return Any if found is None else found
