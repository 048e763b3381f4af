"""Loads the user's file as a module of its own, and takes the function from it.

Files of the workspace are always compiled from their source: cached bytecode is told apart by whole seconds and sizes
only, so after a quick edit it may be that of the version before.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Callable, List, Mapping, Optional

from . import OWN_FOLDER
from .inputs import Inputs, Workspace

#: What a module is called whose file cannot lend it its name.
SPARE_NAME = "evalrs_program"

#: Where the standard library keeps its modules; those that are built in are never hidden by a file.
STANDARD = (os.path.dirname(os.__file__), os.path.join(os.path.dirname(os.__file__), "lib-dynload"))
#: Standard modules that do more than define something when they are imported.
PLAYFUL = ("this", "antigravity")


class Unloadable(Exception):
    """The file holds no such function; the message says so in one sentence."""


class FreshSourceLoader(SourceFileLoader):
    """Loads from source, neither reading nor writing cached bytecode."""

    def path_stats(self, path: str) -> Mapping[str, Any]:  # type: ignore[override]
        """Refuses, which the import system takes for: there can be no cached bytecode."""
        raise OSError(f"no cached bytecode for {path}")


def load(path: str, workspace: Workspace, inputs: Inputs) -> ModuleType:
    """Executes the file at `path` in a fresh module; whatever it raises is raised."""
    if not os.path.isfile(path):
        raise Unloadable(f"`{path}` does not exist")
    stem = os.path.splitext(os.path.basename(path))[0]
    _keep_standard_module(stem)
    _import_from_source(workspace, inputs)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    name = _name_for(stem, path)
    loader = FreshSourceLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise Unloadable(f"`{path}` is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return sys.modules.get(name, module)


def find(module: ModuleType, name: str) -> Callable[..., Any]:
    """The function called `name`."""
    file = os.path.basename(module.__file__ or module.__name__)
    try:
        found = getattr(module, name)
    except AttributeError:
        import difflib

        near = difflib.get_close_matches(name, [known for known in vars(module) if not known.startswith("__")], 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise Unloadable(f"`{file}` defines no `{name}`{hint}") from None
    if not callable(found):
        raise Unloadable(f"`{name}` in `{file}` is not a function but a value of type `{type(found).__name__}`")
    return found


def _keep_standard_module(stem: str) -> None:
    """Makes sure that a file called, say, `random.py` does not stand in the way of the module of that name."""
    try:
        spec = importlib.util.find_spec(stem) if stem.isidentifier() and stem not in PLAYFUL else None
        if spec is not None and os.path.dirname(spec.origin or "") in STANDARD:
            importlib.import_module(stem)
    except Exception:
        # What cannot be imported now would not be found by the user's code either.
        pass


def _name_for(stem: str, path: str) -> str:
    """The file's own name where an import would find just this file by it, so that spawned processes find it too."""
    if not stem.isidentifier() or stem in sys.modules:
        return f"{SPARE_NAME}_{stem}".replace(".", "_")
    try:
        spec = importlib.util.find_spec(stem)
    except Exception:
        spec = None
    if spec is not None and spec.origin and os.path.realpath(spec.origin) == os.path.realpath(path):
        return stem
    return f"{SPARE_NAME}_{stem}"


def _import_from_source(workspace: Workspace, inputs: Inputs) -> None:
    """Has modules of the workspace, and the worker's own, compiled from source without keeping bytecode."""
    details = ((ExtensionFileLoader, EXTENSION_SUFFIXES), (FreshSourceLoader, SOURCE_SUFFIXES))
    finder_for = _finder_that_tells(inputs).path_hook(*details)  # type: ignore[arg-type]

    def hook(folder: str) -> Any:
        own = folder.startswith(OWN_FOLDER)
        if not own and workspace.place(os.path.join(folder or os.getcwd(), "module.py")) is None:
            raise ImportError(f"{folder} is not a folder of the workspace")
        if not os.path.isdir(folder or os.getcwd()):
            # Modules are looked for there once it is made.
            inputs.miss([folder])
        return finder_for(folder)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def _finder_that_tells(inputs: Inputs) -> Any:
    """A finder that notes where it looks in vain: a file that is made there is found instead of what is found now."""

    class TellingFinder(FileFinder):
        """Finds modules in one folder."""

        def find_spec(self, fullname: str, target: Any = None) -> Any:
            """The module in this folder, if it is there."""
            spec = super().find_spec(fullname, target)
            base = os.path.join(self.path, fullname.rpartition(".")[2])
            inputs.miss(_missed(base, spec.origin if spec is not None else None))
            return spec

    return TellingFinder


def _missed(base: str, found: Optional[str]) -> List[str]:
    """The paths that come before the file that was found for the module at `base`, in the order of the finder."""
    suffixes = EXTENSION_SUFFIXES + SOURCE_SUFFIXES
    is_folder = os.path.isdir(base)
    candidates = [os.path.join(base, "__init__" + suffix) for suffix in suffixes] if is_folder else [base]
    candidates += [base + suffix for suffix in suffixes]
    return candidates[: candidates.index(found)] if found in candidates else candidates
