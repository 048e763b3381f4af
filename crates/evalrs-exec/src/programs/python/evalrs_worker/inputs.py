"""Which files of the workspace the user's code depends on: the modules it loaded, those it looked for in vain, and what
else it opened for reading or had executed.

Only what happens in this process is seen: not what its children open, nor directory listings. Which of the files
are declared inputs is for evalrs to decide.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from . import OWN_FOLDER

#: Folders whose files belong to an installation, wherever they stand.
INSTALLED = frozenset(("site-packages", "dist-packages", "node_modules"))
#: What marks the root of a virtual environment.
ENVIRONMENT_MARK = "pyvenv.cfg"
#: Where temporary files go unless one of these variables says otherwise.
TEMPORARY = ("/tmp", "/var/tmp")
TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
#: Events of commands that are executed, and how many words of one are looked at.
EXECUTED = frozenset(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"))
MOST_WORDS = 20
#: Flags of `open` that make a file, or make it anew: reading it afterwards reads one's own scratch file.
CREATES = os.O_CREAT | os.O_TRUNC


class Workspace:
    """A folder, less the environments and installed packages inside it."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        real = os.path.realpath(folder)
        #: How paths inside begin, by either name of the folder.
        self.beginnings = tuple({_closed(self.folder), _closed(real)})
        prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV", ""), OWN_FOLDER]
        roots = (self._relative(os.path.abspath(prefix)) for prefix in prefixes if prefix)
        self._roots = frozenset(root for root in roots if root)
        self._installed: Dict[str, bool] = {"": False}

    def place(self, path: str) -> Optional[str]:
        """The absolute path below the workspace's own name; `None` outside, and inside installations."""
        relative = self._relative(os.path.abspath(path))
        if not relative or self._is_installed(os.path.dirname(relative)):
            return None
        return os.path.join(self.folder, relative)

    def _relative(self, path: str) -> Optional[str]:
        for beginning in self.beginnings:
            if path.startswith(beginning):
                return path[len(beginning) :]
        return None

    def _is_installed(self, folder: str) -> bool:
        known = self._installed.get(folder)
        if known is None:
            known = (
                os.path.basename(folder) in INSTALLED
                or folder in self._roots
                or os.path.exists(os.path.join(self.folder, folder, ENVIRONMENT_MARK))
                or self._is_installed(os.path.dirname(folder))
            )
            self._installed[folder] = known
        return known


class Inputs:
    """What has been used since the last report."""

    def __init__(self, workspace: Workspace, file: str) -> None:
        self._workspace = workspace
        self._temporary = tuple(_temporary_folders(workspace))
        self._names: Set[str] = set(sys.modules)
        self._count = len(sys.modules)
        self._modules: Set[str] = {workspace.place(file) or file}
        self._opened: Set[str] = set()
        self._written: Set[str] = set()
        self._told: Set[str] = set()
        self._missed: Set[str] = set()
        self._told_missed: Set[str] = set()

    def listen(self) -> None:
        """Takes note of every file that is opened from now on."""
        sys.addaudithook(self._hear)

    def has_news(self) -> bool:
        """Whether a report could say something; cheap enough to be asked after every call."""
        return bool(self._opened) or bool(self._missed) or len(sys.modules) != self._count

    def miss(self, paths: Iterable[str]) -> None:
        """Takes note of files that a module was looked for in, and that are not there."""
        for path in paths:
            placed = self._workspace.place(path)
            if placed is not None and placed not in self._told_missed and not os.path.exists(placed):
                self._told_missed.add(placed)
                self._missed.add(placed)

    def news(self) -> Dict[str, List[str]]:
        """The `files`, `missed` and `reads` since the last report, sorted; what is empty is left out."""
        files = self._new_modules()
        opened, self._opened = self._opened, set()
        missed, self._missed = self._missed, set()
        reads = sorted(path for path in map(self._as_read, opened) if path is not None)
        self._told.update(reads, filter(os.path.isfile, opened))
        news = (("files", files), ("missed", sorted(missed)), ("reads", reads))
        return {name: paths for name, paths in news if paths}

    def _new_modules(self) -> List[str]:
        if len(sys.modules) == self._count:
            return []
        # Threads of the user's code may import at the same time; a copy is made without a pause between.
        modules = list(sys.modules.items())
        self._count = len(modules)
        found: Set[str] = set()
        for name, module in modules:
            if name in self._names:
                continue
            self._names.add(name)
            path = _file_of(module)
            placed = path and self._workspace.place(path)
            if placed and placed not in self._modules:
                found.add(placed)
        self._modules |= found
        return sorted(found)

    def _hear(self, event: str, arguments: Tuple[Any, ...]) -> None:
        if event != "open" and event not in EXECUTED:
            return
        try:
            if event == "open":
                self._note(arguments[0], arguments[2])
            else:
                self._note_executed(event, arguments)
        except Exception:
            # Raising here would keep the user's code from opening its file.
            pass

    def _note_executed(self, event: str, arguments: Tuple[Any, ...]) -> None:
        """Takes note of what a command names: the program, and scripts that it is handed."""
        if event == "os.system":
            words, folder = os.fsdecode(arguments[0]).split(), None
        else:
            first, folder = arguments[1], arguments[2] if event == "subprocess.Popen" else None
            listed = [first] if isinstance(first, (str, bytes, os.PathLike)) else list(first)
            words = [os.fsdecode(word) for word in listed[:MOST_WORDS]]
            # With a shell the whole command is one word.
            words = [part for word in words for part in (word, *word.split()[:MOST_WORDS])]
        for word in words:
            path = os.path.join(os.fsdecode(folder or ""), word)
            if os.path.isfile(path):
                self._note(path, os.O_RDONLY)

    def _note(self, name: Any, flags: int) -> None:
        if isinstance(name, int):
            return
        path = os.path.abspath(os.fsdecode(name))
        if not path.startswith(self._workspace.beginnings):
            return
        if flags & CREATES:
            self._written.add(path)
        elif (flags & os.O_ACCMODE) != os.O_WRONLY and path not in self._written and path not in self._told:
            self._opened.add(path)

    def _as_read(self, path: str) -> Optional[str]:
        """How an opened file is told; `None` for modules, scratch files, devices and what was told before."""
        placed = self._workspace.place(path)
        if placed is None or placed in self._modules or placed in self._told or not os.path.isfile(placed):
            return None
        if "__pycache__" in placed or placed.startswith(self._temporary):
            return None
        return placed


def _file_of(module: Any) -> Optional[str]:
    """The file of a module, without waking modules that load themselves when looked at."""
    try:
        path = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:
        return None
    return path if isinstance(path, str) else None


def _temporary_folders(workspace: Workspace) -> List[str]:
    """The folders for temporary files inside the workspace; one that contains the workspace hides nothing."""
    named = [os.environ[name] for name in TEMPORARY_VARIABLES if os.environ.get(name)]
    placed = (workspace.place(folder) for folder in (*named, *TEMPORARY))
    return [_closed(folder) for folder in placed if folder is not None]


def _closed(folder: str) -> str:
    return folder.rstrip(os.sep) + os.sep
