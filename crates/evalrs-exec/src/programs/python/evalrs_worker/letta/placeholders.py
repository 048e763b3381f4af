"""Classes that can be imported, annotated with and derived from, and tell who uses them which package that takes."""

from __future__ import annotations

from typing import Any, Callable


class Placeholder:
    """Stands for a class of a package that is not installed."""

    PACKAGE = ""
    NAME = ""

    def __init__(self, *_positional: Any, **_named: Any) -> None:
        raise ImportError(f"`{self.NAME}` needs the package `{self.PACKAGE}`, which is not installed for this Python")


def placeholders(package: str, module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: any class that it lacks is a placeholder, all else is missing.

    `package` is what has to be installed, by the name that its index knows it under.
    """

    def find(name: str) -> Any:
        if not name[:1].isupper():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return type(name, (Placeholder,), {"PACKAGE": package, "NAME": name, "__module__": module})

    return find


def missing_function(package: str, name: str) -> Callable[..., Any]:
    """A function that only says which package it takes."""

    def call(*_positional: Any, **_named: Any) -> Any:
        raise ImportError(f"`{name}` needs the package `{package}`, which is not installed for this Python")

    call.__name__ = name
    return call
