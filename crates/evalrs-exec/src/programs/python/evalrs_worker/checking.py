"""Tells whether a file defines a name at its top level, by reading its syntax and executing nothing."""

from __future__ import annotations

import ast
import json
import os
from typing import Any, Dict, Iterator, List, Optional

#: What opens a scope of its own: names bound inside are not the module's.
SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
#: What stands for the unknown names of `from module import *`.
STAR = "*"
#: How many names are followed from one assignment to the next.
MOST_ALIASES = 10


def report(path: str, name: str) -> None:
    """Prints what there is to say about `name` in the file at `path`, as one line of JSON."""
    print(json.dumps(check(path, name)))


def check(path: str, name: str) -> Dict[str, Any]:
    """`{"ok", "async"}` for a file that defines the name, else `{"problem"}`; lines and columns count from 1."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except SyntaxError as fault:
        return _problem(f"syntax error: {fault.msg}", fault.lineno, fault.offset)
    except OSError as fault:
        return _problem(f"cannot be read: {fault.strerror}")
    except ValueError as fault:
        return _problem(f"syntax error: {fault}")
    except (RecursionError, MemoryError):
        return _problem("syntax error: the file is nested too deeply")
    names = _names(tree)
    if name in names:
        return {"ok": True, "async": _is_async(names, name)}
    if STAR in names:
        return {"ok": True, "async": False}
    return _missing(path, name, names)


def _missing(path: str, name: str, names: Dict[str, ast.AST]) -> Dict[str, Any]:
    message = f"`{os.path.basename(path)}` defines no `{name}` at its top level"
    import difflib

    near = difflib.get_close_matches(name, names, 1)
    if not near:
        return _problem(message)
    place = names[near[0]]
    told = _problem(message, getattr(place, "lineno", 1), getattr(place, "col_offset", 0) + 1)
    told["problem"]["suggestion"] = near[0]
    return told


def _problem(message: str, line: Optional[int] = None, column: Optional[int] = None) -> Dict[str, Any]:
    return {"problem": {"message": message, "line": max(line or 1, 1), "column": max(column or 1, 1)}}


def _names(tree: ast.AST) -> Dict[str, ast.AST]:
    """What the module binds, with the statement or name that does so last."""
    names: Dict[str, ast.AST] = {}
    for node in _top_level(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                names.update({found: node for part in ast.walk(target) for found in _bound(part)})
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            names[node.target.id] = node
        else:
            for found in _bound(node):
                names.setdefault(found, node)
    return names


def _bound(node: ast.AST) -> List[str]:
    """The name that a node binds by itself, if any."""
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of the module's own scope, in order, also those under `if`, `try` and the like."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES) and not (isinstance(child, ast.AnnAssign) and child.value is None):
            yield from _top_level(child)


def _is_async(names: Dict[str, ast.AST], name: str) -> bool:
    """Whether the name is an async function, also by another name."""
    for _ in range(MOST_ALIASES):
        node = names.get(name)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Name):
            name = node.value.id
        else:
            return isinstance(node, ast.AsyncFunctionDef)
    return False
