"""Serves one Python function to evalrs, or checks that a file defines it.

    worker.py                    answer requests from descriptor 4 on descriptor 3
    worker.py --check FILE NAME  print one line of JSON about FILE, executing nothing of it

This file only finds its own modules and chooses between the two. It has to be readable by interpreters older than
those that are supported, so that they say so instead of stumbling over syntax.
"""

import importlib
import json
import os
import sys

OLDEST = (3, 8)
REPLIES = 3


def refuse_interpreter():
    """Tells evalrs that this interpreter is too old."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    wanted = ".".join(str(part) for part in OLDEST)
    message = "Python %s or newer is needed, and `%s` is %s" % (wanted, sys.executable, found)
    if sys.argv[1:2] == ["--check"]:
        print(json.dumps({"problem": {"message": message, "line": 1, "column": 1}}))
    else:
        os.write(REPLIES, (json.dumps({"unloadable": {"message": message, "details": ""}}) + "\n").encode())


def find_own_module(name):
    """Imports a module of the worker's package, and leaves no trace of that: neither a search path nor bytecode."""
    here = os.path.dirname(os.path.abspath(__file__))
    writes_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, here)
    try:
        from evalrs_worker import shims

        module = importlib.import_module("evalrs_worker." + name)
    finally:
        sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
        sys.dont_write_bytecode = writes_bytecode
    # Processes that the user's code spawns read this file again, and need the stand-ins to find that code.
    shims.install(os.path.join(here, "shims"))
    return module


def main():
    """Does what the command line asks for."""
    if sys.argv[1:2] == ["--check"]:
        find_own_module("checking").report(*sys.argv[2:4])
    else:
        find_own_module("program").run()


if sys.version_info < OLDEST:
    refuse_interpreter()
elif __name__ == "__main__":
    main()
else:
    find_own_module("shims")
