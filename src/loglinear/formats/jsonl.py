"""JSON lines: one object per line, with a ``label`` and one of ``text``, ``features`` or ``tokens``.

    {"label": "spam", "text": "cheap pills"}
    {"label": "NN", "features": {"suffix": "ing", "length": 7, "capital": false}}
    {"label": "spam", "tokens": ["cheap", "pills"]}

All lines of a file are of the same kind. Blank lines are skipped, other keys are ignored.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from loglinear.errors import FormatError
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.streams.columns import text_of
from loglinear.formats.text import Source, decode, each_line, name_of, read_bytes

KINDS = ("text", "features", "tokens")


class JsonlData(NamedTuple):
    """Labels (none if they were not asked for), examples, and the kind of the examples."""

    labels: list[str]
    examples: list[Any]  # str, dict[str, float | int | bool | str] or list[str]
    kind: str  # one of KINDS


def read_jsonl(source: Source, encoding: str = "utf-8", *, labelled: bool = True) -> JsonlData:
    """Return the examples of a file (plain or compressed, or ``-``). Labels become text.

    Without ``labelled``, labels may be missing and are ignored.
    """
    data = parse_jsonl(decode(read_bytes(source), name_of(source), encoding), name_of(source), labelled=labelled)
    if not data.examples:
        raise FormatError("the input holds no examples", name_of(source))
    return data


def parse_jsonl(
    text: str, name: str = "<text>", *, labelled: bool = True, text_column: str | None = None,
    label_column: str = "label", empty_labels: bool = False,
) -> JsonlData:
    """Return the examples of a text, of which there may be none.

    ``text_column`` is the key of the text, whatever other keys there are; ``label_column`` is that of the label.
    """
    labels: list[str] = []
    examples: list[Any] = []
    kind: str | None = None
    for number, line in enumerate(each_line(text), start=1):
        if not line or line.isspace():
            continue
        record = _parse(line, name, number)
        found = _kind(record, name, number) if text_column is None else "text"
        if kind is None:
            kind = found
        elif found != kind:
            message = f"the kind of example changes from {kind!r} to {found!r}; all lines must be of the same kind"
            raise FormatError(message, name, number)
        if labelled:
            labels.append(_label(record, label_column, name, number, empty_labels))
        if text_column is None:
            example = record[found]
            _CHECKS[found](example, name, number)
        else:
            example = text_of(record, text_column, name, number)
        examples.append(example)
    return JsonlData(labels, examples, kind or "text")


def _parse_block(
    data: bytes, name: str, *, encoding: str, labelled: bool, n_threads: int, empty_labels: bool = False
) -> Records:
    """One JSON object per line, with a label and one of text, features (named values) or tokens."""
    found = parse_jsonl(decode(data, name, encoding), name, labelled=labelled, empty_labels=empty_labels)
    return Records(found.kind, found.examples, Labels.of(found.labels) if labelled else None)


JSONL = ExampleFormat(_parse_block, (".jsonl", ".json"), lambda line: line.startswith(b"{"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {twice!r} occurs twice in one object")
    return result


def _no_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _parse(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise FormatError(f"bad JSON at column {error.colno}: {error.msg}", name, number) from None
    except ValueError as error:
        raise FormatError(f"bad JSON: {error}", name, number) from None
    except RecursionError:
        raise FormatError("bad JSON: nested too deeply", name, number) from None
    if not isinstance(record, dict):
        raise FormatError(f"expected a JSON object, found {_type(record)}", name, number)
    return record


def _kind(record: dict[str, Any], name: str, number: int) -> str:
    kinds = [kind for kind in KINDS if kind in record]
    if len(kinds) != 1:
        raise FormatError(
            "the object needs one of the keys 'text', 'features' and 'tokens', and has "
            + (" and ".join(map(repr, kinds)) if kinds else "none"),
            name,
            number,
        )
    return kinds[0]


def _label(record: dict[str, Any], column: str, name: str, number: int, empty_labels: bool) -> str:
    if column not in record:
        raise FormatError(f"the object has no {column!r}", name, number)
    label = record[column]
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, int):
        return str(label)
    if not isinstance(label, str):
        raise FormatError(f"the label must be a string, an integer or a boolean, not {_type(label)}", name, number)
    if not label and not empty_labels:
        raise FormatError("the label is empty", name, number)
    return label


def _check_text(text: object, name: str, number: int) -> None:
    if not isinstance(text, str):
        raise FormatError(f"'text' must be a string, not {_type(text)}", name, number)


def _check_features(features: object, name: str, number: int) -> None:
    if not isinstance(features, dict):
        raise FormatError(f"'features' must be an object, not {_type(features)}", name, number)
    for key, value in features.items():
        if not isinstance(value, (str, int, float)):
            raise FormatError(
                f"feature {key!r} must be a number, a string or a boolean, not {_type(value)}", name, number
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise FormatError(f"feature {key!r} is not a finite number", name, number)


def _check_tokens(tokens: object, name: str, number: int) -> None:
    if not isinstance(tokens, list):
        raise FormatError(f"'tokens' must be an array, not {_type(tokens)}", name, number)
    for position, token in enumerate(tokens):
        if not isinstance(token, str):
            raise FormatError(f"token {position} must be a string, not {_type(token)}", name, number)


_CHECKS = {"text": _check_text, "features": _check_features, "tokens": _check_tokens}


def _type(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
