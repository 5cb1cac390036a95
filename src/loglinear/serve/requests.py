"""The fields of a request: one description is both the check of what comes in and its JSON schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_JSON_TYPES = {"text": "string", "whole": "integer", "list": "array", "object": "object"}
_CALLED = {"text": "text", "whole": "a whole number", "list": "a list", "object": "an object"}
_TYPES: dict[str, Any] = {"text": str, "whole": int, "list": list, "object": dict}
_BOUNDS = {  # of JSON schema
    "text": ("minLength", "maxLength"), "whole": ("minimum", "maximum"), "list": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}  # fmt: skip


class BadRequest(ValueError):
    """A request that cannot be answered; the message says why."""


@dataclass(frozen=True)
class Field:
    """One field: its kind ("text", "whole", "list" or "object"), its meaning, and its default (None: may be absent).

    ``least`` and ``most`` bound a number, or the length of a text, a list or an object.
    """

    kind: str
    about: str
    default: Any = None
    required: bool = False
    least: int = 0
    most: int = 10_000

    def check(self, name: str, value: Any) -> Any:
        """Return the value; BadRequest if it is of another kind or out of bounds."""
        if not isinstance(value, _TYPES[self.kind]) or isinstance(value, bool):
            raise BadRequest(f"'{name}' must be {_CALLED[self.kind]}")
        size: int = value if self.kind == "whole" else len(value)
        if not self.least <= size <= self.most:
            what = "" if self.kind == "whole" else " characters" if self.kind == "text" else " entries"
            raise BadRequest(f"'{name}' must be from {self.least} to {self.most:,}{what}, not {size:,}")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the field as JSON schema."""
        low, high = _BOUNDS[self.kind]
        found: dict[str, Any] = {"type": _JSON_TYPES[self.kind], "description": self.about}
        found |= {low: self.least, high: self.most}
        if self.kind == "list":
            found["items"] = {}
        if self.default is not None:
            found["default"] = self.default
        return found


Fields = Mapping[str, Field]


def check_fields(fields: Fields, body: Any) -> dict[str, Any]:
    """Return the values of all fields, defaults included; BadRequest for anything else."""
    if not isinstance(body, dict):
        raise BadRequest("the request must be a JSON object")
    unknown = [name for name in body if name not in fields]
    if unknown:
        raise BadRequest(f"there is no field {unknown[0]!r}; known: {', '.join(fields)}")
    missing = [name for name, field in fields.items() if field.required and name not in body]
    if missing:
        raise BadRequest(f"the field {missing[0]!r} is missing")
    return {
        name: field.check(name, body[name]) if body.get(name) is not None else field.default
        for name, field in fields.items()
    }


def schema_of(fields: Fields) -> dict[str, Any]:
    """Return the fields as the JSON schema of an object."""
    return {
        "type": "object",
        "properties": {name: field.schema() for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def check_numbers(name: str, values: Any) -> dict[str, float]:
    """Return an object of finite numbers by name."""
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise BadRequest(f"'{name}' must have numbers, but {key!r} is {value!r}"[:200])
    return {key: float(value) for key, value in values.items()}


def check_words(name: str, values: Any) -> list[str]:
    """Return a list of non-empty words without blanks."""
    for value in values:
        if not isinstance(value, str) or value.split() != [value]:
            raise BadRequest(f"'{name}' must be words without blanks, but has {value!r}"[:200])
    return list(values)
