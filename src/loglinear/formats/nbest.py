"""Files of n-best lists.

    jsonl      one object per line: {"id", "reference"?, "hypotheses": [{"text", "score"?, "scores"?, "errors"?,
               "features"?}]}; "scores" and "features" are objects of numbers, "score" is short for one score; other
               names of the fields are in ALIASES, and a hypothesis may be a string
    json       one array of such objects
    srilm      NBestList1.0: (score) word ...; NBestList2.0: (score) word ( st: .. et: .. g: .. a: .. ) ..., also with
               phones and states after a word; without a header: acoustic-score lm-score n-words word ...; a file is
               one list, a folder many
    moses      id ||| word ... ||| name= number ... ||| total; lines with the same id are one list (also Joshua's form)
    kaldi      utterance-n word ...; costs, ``utterance-n number``, are in files of their own

The candidates of a list stay in order; equal ones are merged, see :func:`merge_duplicates`. A new format is one new
file and one line in NBEST_FORMATS.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from loglinear.errors import FormatError
from loglinear.formats import nbest_text
from loglinear.formats.candidate_list import BadList, Candidate, CandidateList, merge_duplicates
from loglinear.formats.nbest_text import records
from loglinear.formats.text import Source, atomic_write, decode, name_of, read_bytes, split_lines
from loglinear.registry import Registry


class NbestFormat(NamedTuple):
    """How lists are read from the lines of a file, and how the format is recognised.

    ``parse`` takes the lines and the name of the file for messages. Neighbouring lines for which ``list_of`` gives the
    same are one list, by default the whole file. None says that every line is one; ``parse`` then also takes the
    number of lists before.
    """

    parse: Callable[..., list[CandidateList]]
    recognises: Callable[[str], bool]  # of the first line that is not blank
    list_of: Callable[[str], str] | None = lambda line: ""


def read_nbest(
    source: Source, format: str | None = None, *, references: Source | None = None,
    costs: Mapping[str, Source] | None = None, encoding: str = "utf-8", merge: bool = True,
) -> list[CandidateList]:
    """Return the lists of a file, or those of a folder of SRILM lists sorted by file name.

    Parameters
    ----------
    source : a path, plain or compressed, or ``-`` for stdin
    format : one of NBEST_FORMATS; None: guessed from the first line
    references : a file of right texts: one line ``id text`` per list, or one line ``text`` per list in their order
    costs : Kaldi's files of costs by name; the score of that name is minus the cost
    encoding : of all the files
    merge : whether candidates of one list that have the same words are merged
    """
    if is_folder(source):
        paths = sorted(path for path in Path(source).iterdir() if path.is_file())
        lists = [one for path in paths for one in _read_file(path, format or "srilm", encoding)]
    else:
        lists = _read_file(source, format, encoding)
    if not lists:
        raise FormatError("there are no lists", name_of(source))
    lists = Costs(costs, encoding).added_to(lists)
    if references is not None:
        lists = _with_references(lists, references, encoding)
    return merged(lists, name_of(source)) if merge else lists


def merged(lists: list[CandidateList], name: str) -> list[CandidateList]:
    """Merge equal candidates of every list; errors name the file."""
    try:
        return merge_duplicates(lists)
    except BadList as error:
        raise FormatError(str(error), name) from None


def is_folder(source: Source) -> bool:
    """Return whether a source is a folder of files."""
    return os.fspath(source) != "-" and Path(source).is_dir()


def _read_file(source: Source, format: str | None, encoding: str) -> list[CandidateList]:
    lines, name = _lines(source, encoding), name_of(source)
    return NBEST_FORMATS[guess_format(lines, name) if format is None else format].parse(lines, name)


def _lines(source: Source, encoding: str) -> list[str]:
    return split_lines(decode(read_bytes(source), name_of(source), encoding))


def write_nbest(path: Source, lists: Iterable[CandidateList]) -> None:
    """Write the lists as JSON lines, atomically; they read back the same."""
    with atomic_write(path) as file:
        for number, one in enumerate(lists, start=1):
            try:
                line = json_line(one)
            except ValueError as error:
                raise FormatError(str(error), name_of(path), number) from None
            file.write(line)


def json_line(one: CandidateList) -> bytes:
    """Return a list as a line of JSON."""
    record: dict[str, Any] = {"id": one.id}
    if one.reference is not None:
        record["reference"] = one.reference
    record["hypotheses"] = [_record(candidate) for candidate in one.candidates]
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ValueError(f"list {one.id!r} has a score that is not a finite number") from None
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can express
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


# ---- formats, costs, references -------------------------------------------------------------------------------------
def guess_format(lines: list[str], name: str) -> str:
    """Return the format of the lines of a file, by the first of them that is not blank."""
    _, first = next(records(lines), (0, ""))
    if not first:
        raise FormatError("there are no lists", name)
    for format in NBEST_FORMATS:
        if NBEST_FORMATS[format].recognises(first):
            return format
    message = f"the format cannot be guessed from the first line; name it with --format ({', '.join(NBEST_FORMATS)})"
    raise FormatError(message, name)


class Costs:
    """Kaldi's files of costs by the name of a score, keyed by list and by place; the score is minus the cost."""

    def __init__(self, files: Mapping[str, Source] | None, encoding: str = "utf-8") -> None:
        self._costs = [
            (score, name_of(file), nbest_text.parse_kaldi_costs(_lines(file, encoding), name_of(file)))
            for score, file in (files or {}).items()
        ]

    def added_to(self, lists: list[CandidateList]) -> list[CandidateList]:
        """Return the lists with these scores; the places of a list in a file are those of its candidates."""
        return [self._scored(one) for one in lists] if self._costs else lists

    def _scored(self, one: CandidateList) -> CandidateList:
        for score, name, costs in self._costs:
            found = costs.get(one.id, {})
            places = sorted(found)
            if places and len(places) != len(one.candidates):
                raise FormatError(f"{len(places)} costs for the {len(one.candidates)} candidates of {one.id!r}", name)
            scored = [replace(c, scores={**c.scores, score: -found[n]}) for n, c in zip(places, one.candidates)]
            one = replace(one, candidates=scored or one.candidates)
        return one


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
    raise ValueError(f"{constant} is not a finite number; leave the score out")


_DECODER = json.JSONDecoder(parse_constant=_not_finite)


# Other names of the fields, as they are found in the files of others; the first that is there counts.
ALIASES = {
    "hypotheses": ("nbest", "hyps", "candidates", "input"),
    "reference": ("ref", "transcript", "target", "output"),
    "id": ("utt_id", "utterance", "key"),
    "text": ("hypothesis", "hyp", "sentence"),
    "score": ("log_prob", "logprob"),
}


def _field(record: Mapping[str, Any], name: str) -> Any:
    return next((record[key] for key in (name, *ALIASES[name]) if record.get(key) is not None), None)


def parse_json_lists(lines: list[str], name: str, n_before: int = 0) -> list[CandidateList]:
    """Parse JSON lines; lists without an id are numbered after ``n_before`` others."""
    lists: list[CandidateList] = []
    for number, line in records(lines):
        lists.append(list_of_record(_decoded(line.strip(), name, number), n_before + len(lists), name, number))
    return lists


def parse_json_array(lines: list[str], name: str) -> list[CandidateList]:
    """Parse one JSON array of objects, on any number of lines."""
    found = _decoded("\n".join(lines).strip(), name, None)
    if not isinstance(found, list):
        raise FormatError("expected a JSON array of objects with 'hypotheses'", name)
    return [list_of_record(record, place, f"{name}, list {place + 1}") for place, record in enumerate(found)]


def _decoded(text: str, name: str, line: int | None) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"bad JSON at column {error.colno}: {error.msg}", name, line or error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"bad JSON: {error or 'nested too deeply'}", name, line) from None


def list_of_record(record: Any, place: int, name: str, line: int | None = None) -> CandidateList:
    """Return the list of an object of JSON or a dict; ``place`` is its id if it has none."""
    if not isinstance(record, Mapping):
        raise FormatError("expected a JSON object with 'hypotheses'", name, line)
    hypotheses = _field(record, "hypotheses")
    if not isinstance(hypotheses, (list, tuple)):
        raise FormatError("the object needs 'hypotheses', an array of objects with 'text'", name, line)
    reference = _field(record, "reference")
    if reference is not None and not isinstance(reference, str):
        raise FormatError("'reference' must be a string", name, line)
    identifier = _field(record, "id")
    identifier = str(place) if identifier is None else identifier
    if not isinstance(identifier, (str, int)) or isinstance(identifier, bool):
        raise FormatError("'id' must be a string or a whole number", name, line)
    candidates = [_json_candidate(item, i, name, line) for i, item in enumerate(hypotheses, start=1)]
    return CandidateList(str(identifier), candidates, reference)


def _json_candidate(item: Any, place: int, name: str, line: int | None) -> Candidate:
    if isinstance(item, str):
        return Candidate(item)
    text = _field(item, "text") if isinstance(item, Mapping) else None
    if not isinstance(text, str):
        raise FormatError(f"hypothesis {place} must be an object with a string 'text'", name, line)
    where = f"hypothesis {place}"
    scores = _json_numbers(item.get("scores"), f"{where}: 'scores'", name, line)
    if (score := _field(item, "score")) is not None:
        scores["score"] = _json_number(score, f"{where}: 'score'", name, line)
    errors = item.get("errors")
    if errors is not None:
        errors = _json_number(errors, f"{where}: 'errors'", name, line)
    features = _json_numbers(item.get("features"), f"{where}: 'features'", name, line)
    return Candidate(text, scores, errors, features)


def _json_numbers(given: Any, what: str, name: str, line: int | None) -> dict[str, float]:
    """Return an object of numbers; nulls are left out."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise FormatError(f"{what} must be an object of numbers", name, line)
    there = {key: value for key, value in given.items() if value is not None}
    return {key: _json_number(value, f"{what}: {key!r}", name, line) for key, value in there.items()}


def _json_number(value: Any, what: str, name: str, line: int | None) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{what} must be a number", name, line)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormatError(f"{what} is not a finite number", name, line)
    return number


NBEST_FORMATS: Registry[NbestFormat] = Registry(
    "n-best format",
    {
        "jsonl": NbestFormat(parse_json_lists, lambda line: line.lstrip().startswith("{"), None),
        "json": NbestFormat(parse_json_array, lambda line: line.lstrip().startswith("[")),
        "srilm": NbestFormat(nbest_text.parse_srilm, nbest_text.is_srilm),
        "moses": NbestFormat(nbest_text.parse_moses, lambda line: "|||" in line, nbest_text.list_of_moses),
        "kaldi": NbestFormat(nbest_text.parse_kaldi, nbest_text.is_kaldi, nbest_text.list_of_kaldi),
    },
)
