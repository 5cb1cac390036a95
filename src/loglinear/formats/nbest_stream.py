"""N-best lists of a file block by block; those of a pipe or a terminal as soon as they are whole.

Every line of jsonl is a list. A list of moses or kaldi ends where the next one begins, or at an empty line. A file of
srilm is read to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loglinear.errors import FormatError
from loglinear.formats.blocks import after_lines, iterate_lines
from loglinear.formats.candidate_list import CandidateList
from loglinear.formats.nbest import NBEST_FORMATS, Costs, NbestFormat, guess_format, is_folder, merged, read_nbest
from loglinear.formats.text import Source, name_of, split_lines

BLOCK = 1 << 22  # bytes of lists read at a time


def iterate_nbest(
    source: Source, format: str | None = None, *, costs: Mapping[str, Source] | None = None, encoding: str = "utf-8",
    size: int = BLOCK,
) -> Iterator[list[CandidateList]]:
    """Yield the lists of a file as :func:`read_nbest` does, some at a time.

    A list is refused if some of its lines come only after it was yielded: the file is to be sorted by its ids then.
    """
    if is_folder(source):
        yield read_nbest(source, format, costs=costs, encoding=encoding)
        return
    name, scores, n_lists = name_of(source), Costs(costs, encoding), 0
    for lists in _lists(source, format, encoding, size):
        n_lists += len(lists)
        yield merged(scores.added_to(lists), name)
    if not n_lists:
        raise FormatError("there are no lists", name)


def _lists(source: Source, format: str | None, encoding: str, size: int) -> Iterator[list[CandidateList]]:
    name, n_lines, n_lists = name_of(source), 0, 0
    seen: set[str] = set()
    for found, lines in _whole_lists(source, format, encoding, size):
        with after_lines(n_lines):
            if found.list_of is None:
                lists = found.parse(lines, name, n_lists)
            else:
                lists = found.parse(lines, name)
                _check_new(lists, seen, name)
        if lists:
            yield lists
        n_lines += len(lines)
        n_lists += len(lists)


def _check_new(lists: list[CandidateList], seen: set[str], name: str) -> None:
    for one in lists:
        if one.id in seen:
            raise FormatError(f"the lines of list {one.id!r} are not together; sort the file by its ids", name)
        seen.add(one.id)


def _whole_lists(
    source: Source, format: str | None, encoding: str, size: int
) -> Iterator[tuple[NbestFormat, list[str]]]:
    """Yield lines of whole lists, with their format."""
    lines: list[str] = []
    for text in iterate_lines(source, size, encoding):
        lines += split_lines(text)
        if format is None and not text.isspace():
            format = guess_format(lines, name_of(source))
        if format is not None and (end := _end_of_lists(lines, NBEST_FORMATS[format])):
            yield NBEST_FORMATS[format], lines[:end]
            del lines[:end]
    if lines:
        yield NBEST_FORMATS[format or guess_format(lines, name_of(source))], lines


def _end_of_lists(lines: list[str], format: NbestFormat) -> int:
    """Return how many of the lines are of lists that are whole."""
    end = len(lines)
    if format.list_of is not None:
        last = format.list_of(lines[-1])
        while end and format.list_of(lines[end - 1]) == last:
            end -= 1
    return end
