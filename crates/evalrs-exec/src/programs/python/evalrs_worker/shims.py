"""Finds the stand-ins for `letta_evals` and `letta_client` where the real packages are not installed.

The finder stands last, so an installed package always wins.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Optional

PACKAGES = ("letta_evals", "letta_client")


class ShimFinder:
    """Answers for the two packages when nobody before it has found them."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Finds a package in the folder of stand-ins; its submodules are found by the ordinary finder."""
        if name not in PACKAGES:
            return None
        return PathFinder.find_spec(name, [self._folder], target)


def install(folder: str) -> None:
    """Lets the stand-ins in `folder` be imported from now on."""
    if not any(isinstance(finder, ShimFinder) for finder in sys.meta_path):
        sys.meta_path.append(ShimFinder(folder))  # type: ignore[arg-type]
