"""Objects over JSON: attribute access to what was recorded, converted when first asked for.

A record keeps every field it was given, known or not. A field that its class declares and the JSON lacks is `None`;
any other is an `AttributeError`, as it is with the real classes.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

Converter = Callable[[Any], Any]


class Record:
    """One JSON object."""

    #: Fields that are `None` where the JSON lacks them.
    FIELDS: Tuple[str, ...] = ()
    #: What becomes of the value of a field; the others are given as they are.
    CONVERTERS: Mapping[str, Converter] = {}

    def __init__(self, **fields: Any) -> None:
        self.__dict__["_data"] = fields

    @classmethod
    def construct(cls, _fields_set: Any = None, **fields: Any) -> "Record":
        """Makes a record without looking at its fields, which is how all are made."""
        return record_of(cls, fields)

    model_construct = construct

    def __getattr__(self, name: str) -> Any:
        # Python asks for special methods while it copies, before there is anything to look into.
        data = self.__dict__.get("_data")
        if data is not None and name in data:
            value = data[name]
            converter = self.CONVERTERS.get(name)
            if converter is not None:
                value = converter(value)
            self.__dict__[name] = value
            return value
        if name in self.FIELDS:
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__["_data"] == self.__dict__["_data"]

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__["_data"].items())
        return f"{type(self).__name__}({fields})"

    def model_dump(self, **_options: Any) -> Dict[str, Any]:
        """The JSON that the record was made of, as a copy."""
        import copy

        return copy.deepcopy(self.__dict__["_data"])

    def model_dump_json(self, **_options: Any) -> str:
        """The same as text, fields in order of their names."""
        return json.dumps(self.__dict__["_data"], sort_keys=True, default=str)

    dict = model_dump
    json = model_dump_json


class Namespace:
    """A bundle of attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


def record_of(kind: type, data: Dict[str, Any]) -> Any:
    """A record of this class over `data`, which is not copied."""
    made: Any = object.__new__(kind)
    made.__dict__["_data"] = data
    return made


def one(kind: type) -> Converter:
    """Converts an object, or every object of a list, to records of one class; anything else is left alone."""

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return record_of(kind, value)
        if isinstance(value, list):
            return [record_of(kind, item) if isinstance(item, dict) else item for item in value]
        return value

    return convert


def moment(value: Any) -> Optional[Any]:
    """An ISO 8601 time as a `datetime`; what is none stays as it is."""
    if not isinstance(value, str):
        return value
    import datetime

    try:
        return datetime.datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
    except ValueError:
        return value
