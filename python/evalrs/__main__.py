"""`python -m evalrs`: the binary, instead of this process where possible."""

import os
import subprocess
import sys

from ._binary import binary


def main():
    """Ends as the binary ends."""
    command = [binary(), *sys.argv[1:]]
    if os.name == "nt":
        try:
            sys.exit(subprocess.call(command))
        except KeyboardInterrupt:
            sys.exit(130)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
