"""N-best lists of files.

    jsonl      an object a line: {"id", "reference"?, "hypotheses": [{"text", "score"?, "scores"?, "errors"?,
               "features"?}]}; "score" is the score of that name, "scores" an object of more, "features" an object
               of numbers for features of one's own
    srilm      NBestList1.0: (score) word ...; NBestList2.0: (score) word ( st: .. et: .. g: .. a: .. ) ...;
               without a header: acoustic-score lm-score n-words word ...; a file is one list, a folder many
    moses      id ||| word ... ||| name= number ... ||| total; lines of one id are one list (also Joshua's form)
    kaldi      utterance-n word ...; costs ``utterance-n number`` are files of their own

The candidates of a list stay in order; equal ones are merged, see :func:`merge_duplicates`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loglinear.errors import FormatError
from loglinear.formats.candidate_list import Candidate, CandidateList, merge_duplicates, with_scores
from loglinear.formats.nbest_text import is_srilm, parse_kaldi, parse_kaldi_costs, parse_moses, parse_srilm, records
from loglinear.formats.text import Source, atomic_write, decode, name_of, read_bytes, split_lines

__all__ = [
    "NBEST_FORMATS",
    "Candidate",
    "CandidateList",
    "json_line",
    "merge_duplicates",
    "read_nbest",
    "with_scores",
    "write_nbest",
]


def read_nbest(
    source: Source,
    format: str | None = None,
    *,
    references: Source | None = None,
    costs: Mapping[str, Source] | None = None,
    encoding: str = "utf-8",
    merge: bool = True,
) -> list[CandidateList]:
    """Lists of a file (plain, gzip, xz, or ``-``), or of a folder of SRILM lists by name of file.

    The format is guessed from the first line unless named. ``references``: a file of right texts, ``id text`` a line,
    or one text a line in the order of the lists. ``costs``: for Kaldi, files of costs by name; the score of that name
    is minus the cost.
    """
    if os.fspath(source) != "-" and Path(source).is_dir():
        paths = sorted(path for path in Path(source).iterdir() if path.is_file())
        lists = [one for path in paths for one in _read_file(path, format or "srilm", encoding)]
    else:
        lists = _read_file(source, format, encoding)
    name = name_of(source)
    if not lists:
        raise FormatError("there are no lists", name)
    for score, file in (costs or {}).items():
        lists = _with_costs(lists, score, file, encoding)
    if references is not None:
        lists = _with_references(lists, references, encoding)
    try:
        return merge_duplicates(lists) if merge else lists
    except ValueError as error:
        raise FormatError(str(error), name) from None


def _read_file(source: Source, format: str | None, encoding: str) -> list[CandidateList]:
    lines, name = _lines(source, encoding), name_of(source)
    if format is None:
        format = _guess(lines, name)
    elif format not in NBEST_FORMATS:
        raise FormatError(f"unknown n-best format {format!r} (known: {', '.join(NBEST_FORMATS)})", name)
    return NBEST_FORMATS[format](lines, name)


def _lines(source: Source, encoding: str) -> list[str]:
    return split_lines(decode(read_bytes(source), name_of(source), encoding))


def write_nbest(path: Source, lists: Iterable[CandidateList]) -> None:
    """Write JSON lines that read back the same, whole or not at all."""
    with atomic_write(path) as file:
        for number, one in enumerate(lists, start=1):
            try:
                line = json_line(one)
            except ValueError as error:
                raise FormatError(str(error), name_of(path), number) from None
            file.write(line)


def json_line(one: CandidateList) -> bytes:
    """A list as a line of JSON."""
    record: dict[str, Any] = {"id": one.id}
    if one.reference is not None:
        record["reference"] = one.reference
    record["hypotheses"] = [_record(candidate) for candidate in one.candidates]
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ValueError(f"list {one.id!r} has a score that is no finite number") from None
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can say
        return json.dumps(record).encode() + b"\n"


def _record(candidate: Candidate) -> dict[str, Any]:
    record: dict[str, Any] = {"text": candidate.text}
    if candidate.scores.keys() == {"score"}:
        record["score"] = candidate.scores["score"]
    elif candidate.scores:
        record["scores"] = candidate.scores
    if candidate.errors is not None:
        record["errors"] = candidate.errors
    if candidate.features:
        record["features"] = candidate.features
    return record


# ---- what comes with the lists --------------------------------------------------------------------------------------
def _guess(lines: list[str], name: str) -> str:
    _, first = next(records(lines), (0, ""))
    if not first:
        raise FormatError("there are no lists", name)
    if first.lstrip().startswith("{"):
        return "jsonl"
    if is_srilm(first):
        return "srilm"
    if "|||" in first:
        return "moses"
    if re.match(r"\S+-\d+(\s|$)", first):
        return "kaldi"
    message = f"the format cannot be guessed from the first line; name it with --format ({', '.join(NBEST_FORMATS)})"
    raise FormatError(message, name)


def _with_costs(lists: list[CandidateList], score: str, source: Source, encoding: str) -> list[CandidateList]:
    """The candidates of a list are numbered from 1, in order, as their keys are."""
    costs = parse_kaldi_costs(_lines(source, encoding), name_of(source))
    result = []
    for one in lists:
        found = costs.get(one.id, {})
        places = sorted(found)
        if places and len(places) != len(one.candidates):
            message = f"{len(places)} costs for the {len(one.candidates)} candidates of {one.id!r}"
            raise FormatError(message, name_of(source))
        scored = [replace(c, scores={**c.scores, score: -found[n]}) for n, c in zip(places, one.candidates)]
        result.append(replace(one, candidates=scored or one.candidates))
    return result


def _with_references(lists: list[CandidateList], source: Source, encoding: str) -> list[CandidateList]:
    name = name_of(source)
    lines = [line for _, line in records(_lines(source, encoding))]
    texts: dict[str, str] = {}
    for line in lines:
        key, *rest = line.split(None, 1)
        texts[key] = rest[0] if rest else ""
    missing = [one.id for one in lists if one.id not in texts]
    if not missing:
        return [replace(one, reference=texts[one.id].strip()) for one in lists]
    if len(lines) == len(lists) and len(missing) == len(lists):  # no line begins with an id: they are in order
        return [replace(one, reference=line.strip()) for one, line in zip(lists, lines)]
    message = (
        f"there is no reference for list {missing[0]!r} (and {len(missing) - 1} others of {len(lists)}); write "
        "'id TAB text' for each list, or one text a line in the order of the lists"
    )
    raise FormatError(message, name)


# ---- JSON lines ---------------------------------------------------------------------------------------------------
def _not_finite(constant: str) -> Any:
    raise ValueError(f"{constant} is no finite number; leave the score out")


_DECODER = json.JSONDecoder(parse_constant=_not_finite)


def parse_json_lists(lines: list[str], name: str) -> list[CandidateList]:
    """Of JSON lines."""
    lists: list[CandidateList] = []
    for number, line in records(lines):
        try:
            record = _DECODER.decode(line.strip())
        except json.JSONDecodeError as error:
            raise FormatError(f"bad JSON at column {error.colno}: {error.msg}", name, number) from None
        except (ValueError, RecursionError) as error:
            raise FormatError(f"bad JSON: {error or 'nested too deeply'}", name, number) from None
        if not isinstance(record, dict):
            raise FormatError("expected a JSON object with 'hypotheses'", name, number)
        lists.append(_json_list(record, len(lists), name, number))
    return lists


def _json_list(record: dict[str, Any], place: int, name: str, line: int) -> CandidateList:
    hypotheses = record.get("hypotheses")
    if not isinstance(hypotheses, list):
        raise FormatError("the object needs 'hypotheses', an array of objects with 'text'", name, line)
    reference = record.get("reference")
    if reference is not None and not isinstance(reference, str):
        raise FormatError("'reference' must be a string", name, line)
    identifier = record.get("id", str(place))
    if not isinstance(identifier, (str, int)) or isinstance(identifier, bool):
        raise FormatError("'id' must be a string or a whole number", name, line)
    candidates = [_json_candidate(item, i, name, line) for i, item in enumerate(hypotheses, start=1)]
    return CandidateList(str(identifier), candidates, reference)


def _json_candidate(item: Any, place: int, name: str, line: int) -> Candidate:
    if isinstance(item, str):
        return Candidate(item)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise FormatError(f"hypothesis {place} must be an object with a string 'text'", name, line)
    where = f"hypothesis {place}"
    scores = _json_numbers(item.get("scores"), f"{where}: 'scores'", name, line)
    if item.get("score") is not None:
        scores["score"] = _json_number(item["score"], f"{where}: 'score'", name, line)
    errors = item.get("errors")
    if errors is not None:
        errors = _json_number(errors, f"{where}: 'errors'", name, line)
        if errors < 0:
            raise FormatError(f"{where}: 'errors' must not be negative, and is {errors:g}", name, line)
    features = _json_numbers(item.get("features"), f"{where}: 'features'", name, line)
    return Candidate(item["text"], scores, errors, features)


def _json_numbers(given: Any, what: str, name: str, line: int) -> dict[str, float]:
    """A missing number is left out."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise FormatError(f"{what} must be an object of numbers", name, line)
    there = {key: value for key, value in given.items() if value is not None}
    return {key: _json_number(value, f"{what}: {key!r}", name, line) for key, value in there.items()}


def _json_number(value: Any, what: str, name: str, line: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{what} must be a number", name, line)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormatError(f"{what} is not a finite number", name, line)
    return number


NBEST_FORMATS: dict[str, Callable[[list[str], str], list[CandidateList]]] = {
    "jsonl": parse_json_lists,
    "srilm": parse_srilm,
    "moses": parse_moses,
    "kaldi": parse_kaldi,
}
