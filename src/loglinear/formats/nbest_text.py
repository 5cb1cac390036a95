"""Parsers of n-best lists in the formats of SRILM, of Moses and Joshua, and of Kaldi.

Each parser takes the lines of a file, and the name of the file for messages. Scores stay as they are in the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from loglinear.errors import FormatError
from loglinear.formats.candidate_list import Candidate, CandidateList
from loglinear.formats.streams.compression import without_suffix


def records(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Return the lines that are not blank with their numbers, from 1."""
    return ((number, line) for number, line in enumerate(lines, start=1) if line and not line.isspace())


def parse_number(text: str, what: str, name: str, line: int) -> float:
    """Return a finite number; ``what`` names it in messages."""
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"{what} {text[:40]!r} is not a number", name, line) from None
    if not math.isfinite(value):
        raise FormatError(f"{what} is {text[:40]}; leave the candidate out or give it a finite score", name, line)
    return value


# ---- SRILM --------------------------------------------------------------------------------------------------------
_HEADERLESS = re.compile(r"\s*[-+.\d]\S*\s+[-+.\d]\S*\s+\d+(\s|$)")
_STATE = re.compile(r"-[0-9]$")
_SCORED = re.compile(r"\s*\(\s*(\S+?)\s*\)\s*(.*)")


def is_srilm(line: str) -> bool:
    """Whether a file that begins with this line is SRILM's."""
    return line.startswith("NBestList") or bool(_HEADERLESS.match(line))


def parse_srilm(lines: list[str], name: str) -> list[CandidateList]:
    """Parse a file of SRILM, of version 1.0, 2.0 or without a header: one list, named after the file."""
    version, candidates = "", []
    for number, line in records(lines):
        if line.startswith("NBestList"):
            version = line.split()[0].removeprefix("NBestList")
            if version not in ("1.0", "2.0"):
                raise FormatError(f"NBestList{version} is not known; versions 1.0 and 2.0 are", name, number)
            continue
        candidates.append((_headed if version else _headerless)(line, version, name, number))
    identifier = without_suffix(Path(name).name)
    for suffix in (".nbest", ".txt"):
        identifier = identifier.removesuffix(suffix)
    return [CandidateList(identifier, candidates)]


def _headed(line: str, version: str, name: str, number: int) -> Candidate:
    match = _SCORED.fullmatch(line)
    if match is None:
        raise FormatError(f"expected '(score) word ...' of NBestList{version}", name, number)
    score = parse_number(match[1], "the score", name, number)
    if version == "1.0":
        return Candidate(match[2].strip(), {"score": score})
    text, acoustic, model = _timed_words(match[2], name, number)
    return Candidate(text, {"score": score, "acoustic": acoustic, "lm": model})


def _timed_words(text: str, name: str, number: int) -> tuple[str, float, float]:
    """Return the words, and the sums of their scores ``a:`` and ``g:``. A bracket without times is a word.

    A word may be followed by its phones and states, with times and scores of their own: they end no later than the
    word, or their names end in a hyphen and a digit. They are no words, and the score of the word includes theirs.
    """
    words: list[str] = []
    sums = {"a:": 0.0, "g:": 0.0}
    tokens, at, end_of_word = text.split(), 0, -math.inf
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if at + 1 >= len(tokens) or tokens[at] != "(" or tokens[at + 1] != "st:":
            words.append(token)
            continue
        try:
            end = tokens.index(")", at)
        except ValueError:
            raise FormatError("a bracket '( st: ...' is not closed", name, number) from None
        inside = dict(zip(tokens[at + 1 : end : 2], tokens[at + 2 : end : 2]))
        at = end + 1
        times = [parse_number(inside.get(key, "0"), f"the time '{key}'", name, number) for key in ("st:", "et:")]
        if max(times) <= end_of_word or _STATE.search(token):
            continue
        words.append(token)
        end_of_word = times[1]
        for key in sums:
            if key in inside:
                sums[key] += parse_number(inside[key], f"the score '{key}'", name, number)
    return " ".join(words), sums["a:"], sums["g:"]


def _headerless(line: str, version: str, name: str, number: int) -> Candidate:
    fields = line.split(None, 3)
    if len(fields) < 3:
        raise FormatError("expected 'acoustic-score lm-score number-of-words word ...'", name, number)
    acoustic = parse_number(fields[0], "the acoustic score", name, number)
    model = parse_number(fields[1], "the language model score", name, number)
    n_words = parse_number(fields[2], "the number of words", name, number)
    text = fields[3].strip() if len(fields) > 3 else ""
    return Candidate(text, {"acoustic": acoustic, "lm": model, "words": n_words})


# ---- Moses and Joshua -----------------------------------------------------------------------------------------------
def list_of_moses(line: str) -> str:
    """Return the id of the list that a line belongs to; nothing for an empty line."""
    return line.partition("|||")[0].strip()


_SEGMENT = re.compile(r"\|[0-9]+-[0-9]+(,[^|]*)?\|")  # |0-1| after a phrase: the source words it translates


def parse_moses(lines: list[str], name: str) -> list[CandidateList]:
    """Parse lines ``id ||| text ||| features ||| total``; the text may contain the separator, and marks of segments."""
    candidates: dict[str, list[Candidate]] = {}
    for number, line in records(lines):
        fields = re.split(r"(?:^|(?<=\s))\|\|\|(?=\s|$)", line)
        if len(fields) < 3:
            message = "expected 'id ||| text ||| name= number ... ||| total': fewer than three fields"
            raise FormatError(message, name, number)
        identifier, text, scores = _moses_fields([f.strip() for f in fields], name, number)
        text = " ".join(word for word in text.split(" ") if not _SEGMENT.fullmatch(word))
        candidates.setdefault(identifier, []).append(Candidate(text, scores))
    return [CandidateList(identifier, found) for identifier, found in candidates.items()]


def _moses_fields(fields: list[str], name: str, line: int) -> tuple[str, str, dict[str, float]]:
    """Return the id, the text and the scores. The text may contain the separator, but not at its end."""
    if not fields[0] or " " in fields[0]:
        raise FormatError("the id before the first ||| must be one word", name, line)
    at = _place_of_features(fields)
    if at is None:
        message = "after the text there is no field of scores, 'name= number ...' or numbers alone, before the total"
        raise FormatError(message, name, line)
    if at + 1 == len(fields) and _is_number(fields[at]):
        scores = {"score": parse_number(fields[at], "the score", name, line)}
    else:
        scores = _moses_features(fields[at], name, line)
        if at + 1 < len(fields):
            scores["score"] = parse_number(fields[at + 1], "the total score", name, line)
    return fields[0], " ||| ".join(fields[1:at]), scores


_MOSES_NAME = re.compile(r"([^\s=]+)=(\S*)|([A-Za-z][^\s:]*):")


def _place_of_features(fields: list[str]) -> int | None:
    """Return the last field of named scores, else of numbers, before the total; or the third if there is no total."""
    likely = [i for i in range(2, len(fields)) if _is_moses_features(fields[i])]
    followed = [i for i in likely if i + 1 < len(fields) and _is_number(fields[i + 1])]
    named = [i for i in followed if not all(_is_number(token) for token in fields[i].split())]
    last = [i for i in likely if i == 2 and len(fields) == 3]
    return next((found[-1] for found in (named, followed, last) if found), None)


def _is_moses_features(text: str) -> bool:
    tokens = text.split()
    return bool(tokens) and all(_MOSES_NAME.fullmatch(t) or _is_number(t) for t in tokens)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _moses_features(text: str, name: str, number: int) -> dict[str, float]:
    """Parse ``lm= -3.2 tm= -1 -2`` (Moses; also ``lm:``) or ``lm=-3.2 tm_0=-1`` (Joshua) into named scores.

    Several numbers after one name become scores ``name_0``, ``name_1`` and so on.
    """
    groups: list[tuple[str, list[float]]] = []
    for token in text.split():
        match = _MOSES_NAME.fullmatch(token)
        if match is None:
            if not groups:
                groups.append(("feature", []))
            groups[-1][1].append(parse_number(token, f"the score {groups[-1][0]!r}", name, number))
            continue
        key = match[1] or match[3]
        groups.append((key, [parse_number(match[2], f"the score {key!r}", name, number)] if match[2] else []))
    scores: dict[str, float] = {}
    for key, values in groups:
        for i, value in enumerate(values):
            scores[key if len(values) == 1 else f"{key}_{i}"] = value
    return scores


# ---- Kaldi ----------------------------------------------------------------------------------------------------------
def is_kaldi(line: str) -> bool:
    """Whether a file that begins with this line is Kaldi's."""
    return re.match(r"\S+-\d+(\s|$)", line) is not None


def list_of_kaldi(line: str) -> str:
    """Return the utterance that a line belongs to; nothing for an empty line."""
    return line.partition(" ")[0].rpartition("-")[0] if line else ""


def parse_kaldi(lines: list[str], name: str) -> list[CandidateList]:
    """Parse lines ``utterance-n word ...``; candidates are in the order of n."""
    lists: dict[str, dict[int, Candidate]] = {}
    for line, (utterance, place), text in keyed_lines(lines, name):
        found = lists.setdefault(utterance, {})
        if place in found:
            raise FormatError(f"'{utterance}-{place}' is there twice; each candidate needs its own key", name, line)
        found[place] = Candidate(text)
    return [CandidateList(utterance, [found[n] for n in sorted(found)]) for utterance, found in lists.items()]


def parse_kaldi_costs(lines: list[str], name: str) -> dict[str, dict[int, float]]:
    """Parse lines ``utterance-n number``, the costs of candidates."""
    costs: dict[str, dict[int, float]] = {}
    for line, (utterance, place), text in keyed_lines(lines, name):
        costs.setdefault(utterance, {})[place] = parse_number(text, "the cost", name, line)
    return costs


def keyed_lines(lines: list[str], name: str) -> Iterator[tuple[int, tuple[str, int], str]]:
    """Yield (line, (utterance, place), rest) of lines that begin with a key ``utterance-place``."""
    for line, record in records(lines):
        key, *rest = record.split(None, 1)
        utterance, _, place = key.rpartition("-")
        if not utterance or not re.fullmatch(r"[0-9]{1,9}", place):
            raise FormatError(f"the key {key[:40]!r} does not end in '-' and the place in the list", name, line)
        yield line, (utterance, int(place)), rest[0].strip() if rest else ""
