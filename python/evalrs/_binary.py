"""Finds the evalrs binary. This package only starts it and reads its output."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

#: Names a binary to use in place of the installed one.
VARIABLE = "EVALRS_BINARY"
_NAME = "evalrs.exe" if sys.platform == "win32" else "evalrs"


def _beside_the_package():
    """The places where installers put the scripts of a package."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    # `pip install --target DIR` and `--prefix DIR`: DIR/evalrs beside DIR/bin, or DIR/lib/python3.x/site-packages/evalrs.
    folder = Path(__file__).resolve().parent.parent
    yield folder / "bin"
    yield from (parent / ("Scripts" if os.name == "nt" else "bin") for parent in list(folder.parents)[2:3])


def binary() -> str:
    """The path of the binary: EVALRS_BINARY, else the one installed with this package, else the one on PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"{VARIABLE} names `{named}`, which is not a file")
        return named
    for folder in _beside_the_package():
        path = Path(folder) / _NAME
        # The interpreter's own folder may hold a script of the same name that starts this package.
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("evalrs")
    if found is None:
        raise FileNotFoundError(
            f"the binary `{_NAME}` is neither beside this package nor on PATH: install it with `pip install evalrs-cli`, "
            f"or name one in {VARIABLE}"
        )
    return found
