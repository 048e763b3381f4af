"""The extractors and what they are made of."""

from evalrs_worker.letta.decorators import extractor
