"""Lexicons of input methods: the words of every reading.

Text is ``surface|reading`` pairs separated by blanks: what is written, and what is typed for it. The first ``|`` after
the first character separates them. A reading has no blanks; a word may have several readings and a reading many
words. Surfaces are numbered by falling frequency, ties by first occurrence; readings are sorted by their bytes.

Readings are *given* in this way, or are those of a telephone's *keypad*: text is then only words, and the reading
of a word is the digits of its letters: abc are on 2, def on 3, ghi on 4, jkl on 5, mno on 6, pqrs on 7, tuv on 8, wxyz
on 9; a digit is typed as itself, any other character as 1 (ITU-T E.161). Accents are dropped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.errors import FormatError, ModelFileError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import RESERVED
from loglinear.formats.running_text import RunningText, TextOptions, TextSource, read_text

Readings: TypeAlias = Literal["given", "keypad"]

_LETTERS = ("abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz")
KEYS = {letter: str(key) for key, letters in enumerate(_LETTERS, 2) for letter in letters}
KEYS |= {digit: digit for digit in "0123456789"}

_REMEDY = "write every word as surface|reading, without blanks inside"


def digits(word: str) -> str:
    """Return the keys of a word; upper and lower case are typed alike."""
    plain = word.lower() if word.isascii() else unicodedata.normalize("NFKD", word.lower())
    return "".join(KEYS.get(c, "1") for c in plain if not unicodedata.combining(c)) or "1" * len(word)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The lexemes of reading r are [reading_ptr[r], reading_ptr[r + 1]): surfaces, ascending, and their counts."""

    surfaces: Vocabulary
    readings: Vocabulary
    reading_ptr: NDArray[np.int64]  # [n_readings + 1]
    surface: NDArray[np.uint32]  # [n_lexemes]
    count: NDArray[np.int64]  # [n_lexemes]

    @property
    def n_lexemes(self) -> int:
        """Return the number of pairs of a reading and a surface."""
        return self.surface.size

    def words(self, reading: str) -> list[tuple[str, int]]:
        """Return the surfaces of a reading and their counts, the most frequent first."""
        (number,) = self.readings.ids([reading])
        if number < 0:
            return []
        run = slice(int(self.reading_ptr[number]), int(self.reading_ptr[number + 1]))
        order = np.argsort(-self.count[run], kind="stable")
        return [(self.surfaces[int(s)], int(n)) for s, n in zip(self.surface[run][order], self.count[run][order])]

    def __contains__(self, reading: object) -> bool:
        return reading in self.readings

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Yield (surface, reading, count) of every lexeme."""
        names = list(self.surfaces)
        for number, reading in enumerate(self.readings):
            for i in range(int(self.reading_ptr[number]), int(self.reading_ptr[number + 1])):
                yield names[self.surface[i]], reading, int(self.count[i])

    def knows(self, text: ReadText) -> NDArray[np.bool_]:
        """Return for each sentence whether the lexicon has all its words with their readings: [n_sentences]."""
        surface = self.surfaces.ids(list(text.surfaces)).astype(np.int64)[text.unit_surface]
        reading = self.readings.ids(list(text.readings)).astype(np.int64)[text.unit_reading]
        keys = np.repeat(np.arange(len(self.readings)), np.diff(self.reading_ptr)) * len(self.surfaces) + self.surface
        known = (surface >= 0) & (reading >= 0) & np.isin(reading * len(self.surfaces) + surface, keys)
        return np.logical_and.reduceat(known[text.text.tokens], text.text.sentence_ptr[:-1])

    def log_channel(self) -> NDArray[np.float32]:
        """Return log p(reading | surface) of every lexeme, estimated by counts: [n_lexemes]."""
        totals = np.bincount(self.surface, weights=self.count, minlength=len(self.surfaces))
        return np.log(self.count / totals[self.surface]).astype(np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file must hold."""
        return {
            "surfaces": np.asarray(self.surfaces.blob),
            "surface_offsets": np.asarray(self.surfaces.offsets),
            "readings": np.asarray(self.readings.blob),
            "reading_offsets": np.asarray(self.readings.offsets),
            "reading_ptr": self.reading_ptr,
            "surface": self.surface,
            "count": self.count,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Lexicon:
        """Take arrays as ``arrays()`` returned them, after a check; converters check what only they rely on."""
        dtypes = {"reading_ptr": np.int64, "surface": np.uint32, "count": np.int64}
        for name, dtype in dtypes.items():
            if not isinstance(arrays.get(name), np.ndarray) or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ModelFileError(f"lexicon: {name!r} is missing or is not one-dimensional {np.dtype(dtype).name}")
        try:
            surfaces = Vocabulary.from_arrays(arrays["surfaces"], arrays["surface_offsets"], distinct=True)
            readings = Vocabulary.from_arrays(arrays["readings"], arrays["reading_offsets"], distinct=True)
        except KeyError as error:
            raise ModelFileError(f"lexicon: {error.args[0]!r} is missing") from None
        ptr, surface, count = (np.ascontiguousarray(arrays[name]) for name in dtypes)
        wrong = ptr.size != len(readings) + 1 or ptr[0] != 0 or ptr[-1] != surface.size or np.any(np.diff(ptr) < 1)
        if wrong or count.size != surface.size or np.any(count < 1) or np.any(surface >= len(surfaces)):
            raise ModelFileError("lexicon: its arrays do not fit together")
        return cls(surfaces, readings, ptr, surface, count)


@dataclass(frozen=True, eq=False)
class ReadText:
    """Text of surfaces and their readings. Sentence i is the tokens [sentence_ptr[i], sentence_ptr[i + 1])."""

    surfaces: Vocabulary  # distinct, by first occurrence
    readings: Vocabulary  # likewise
    text: RunningText  # its units are the distinct pairs
    unit_surface: NDArray[np.int32]  # [n_units]
    unit_reading: NDArray[np.int32]  # [n_units]

    @property
    def n_sentences(self) -> int:
        """Return the number of lines with words."""
        return self.text.sentence_ptr.size - 1

    def sentences(self, separator: str = "") -> tuple[list[str], list[str]]:
        """Return (the written sentences, with blanks between words; the typed ones, with ``separator`` between)."""
        spelt = [list(self.surfaces), list(self.readings)]
        units = [[names[i] for i in of.tolist()] for names, of in zip(spelt, (self.unit_surface, self.unit_reading))]
        tokens, ptr = self.text.tokens.tolist(), self.text.sentence_ptr.tolist()
        lines = [tokens[a:b] for a, b in pairwise(ptr)]
        written, typed = ([between.join([names[t] for t in line]) for line in lines]
                          for names, between in zip(units, (" ", separator)))  # fmt: skip
        return written, typed

    def lexicon(self, min_count: int = 1) -> tuple[Lexicon, NDArray[np.int64]]:
        """Return the lexicon of surfaces that occur ``min_count`` times, and the surface of every token, or -1."""
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1, not {min_count!r}")
        totals = np.bincount(self.unit_surface, weights=self.text.counts, minlength=len(self.surfaces))
        chosen = np.flatnonzero(totals >= min_count)
        if chosen.size == 0:
            message = f"no word occurs {min_count} times; lower the minimum count, or give more text"
            raise FormatError(message, ", ".join(self.text.sources))
        order = chosen[np.argsort(-totals[chosen], kind="stable")]
        number = np.full(len(self.surfaces), -1, dtype=np.int64)
        number[order] = np.arange(order.size)
        kept = number[self.unit_surface]
        made = _lexicon(self.surfaces.take(order), self.readings, kept, self.unit_reading, self.text.counts)
        return made, kept[self.text.tokens]


def read_readings(
    source: TextSource, *, readings: Readings = "given", encoding: str = "utf-8", n_threads: int | None = None
) -> ReadText:
    """Read text with readings: a file (plain or compressed, or ``-``), a list of files, or an iterable of sentences.

    Lines without words are skipped; a word without a reading raises FormatError with its file and line.
    """
    if readings not in ("given", "keypad"):
        raise ValueError(f"readings must be 'given' or 'keypad', not {readings!r}")
    text = read_text(source, TextOptions(encoding=encoding, n_threads=n_threads))
    if text.tokens.size == 0:
        raise FormatError(f"there are no words; {_REMEDY}", ", ".join(text.sources))
    made = _split(text) if readings == "given" else _typed(text)
    _refuse_reserved(made)
    return made


def _split(text: RunningText) -> ReadText:
    malformed, *found, unit_surface, unit_reading = _core.split_tokens(text.blob, text.offsets)
    if malformed >= 0:
        message = f"{text.unit(malformed)[:40]!r} is not a word with its reading; {_REMEDY}"
        raise FormatError(message, *text.place(malformed))
    return ReadText(Vocabulary(*found[:2]), Vocabulary(*found[2:]), text, unit_surface, unit_reading)


def _typed(text: RunningText) -> ReadText:
    words = Vocabulary(text.blob, text.offsets)
    numbers: dict[str, int] = {}
    unit_reading = [numbers.setdefault(digits(word), len(numbers)) for word in words]
    every = np.arange(len(words), dtype=np.int32)
    return ReadText(words, Vocabulary.from_strings(numbers), text, every, np.array(unit_reading, dtype=np.int32))


def _refuse_reserved(read: ReadText) -> None:
    for reserved in read.surfaces.ids(list(RESERVED)):
        if reserved >= 0:
            unit = int(np.flatnonzero(read.unit_surface == reserved)[0])
            message = f"{read.surfaces[int(reserved)]!r} is reserved by language models and is no word; remove it"
            raise FormatError(message, *read.text.place(unit))


def merge(first: Lexicon, second: Lexicon) -> Lexicon:
    """Merge two lexicons and add their counts; surfaces of the first keep their numbers, new ones follow."""
    known = first.surfaces.ids(list(second.surfaces)).astype(np.int64)
    fresh = np.flatnonzero(known < 0)
    known[fresh] = len(first.surfaces) + np.arange(fresh.size)
    surfaces = first.surfaces.joined(second.surfaces.take(fresh))
    spelt = first.readings.ids(list(second.readings)).astype(np.int64)
    new = np.flatnonzero(spelt < 0)
    spelt[new] = len(first.readings) + np.arange(new.size)
    readings = first.readings.joined(second.readings.take(new))
    of_first = np.repeat(np.arange(len(first.readings)), np.diff(first.reading_ptr))
    of_second = np.repeat(spelt, np.diff(second.reading_ptr))
    pairs = np.concatenate([of_first, of_second]) * len(surfaces)
    pairs += np.concatenate([first.surface.astype(np.int64), known[second.surface]])
    distinct, place = np.unique(pairs, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=np.concatenate([first.count, second.count])).astype(np.int64)
    return _lexicon(surfaces, readings, distinct % len(surfaces), distinct // len(surfaces), counts)


def _lexicon(
    surfaces: Vocabulary, readings: Vocabulary, unit_surface: np.ndarray, unit_reading: np.ndarray, counts: np.ndarray
) -> Lexicon:
    spelt = readings.blob.tobytes()
    bounds = readings.offsets.tolist()
    in_order = np.array(sorted(range(len(readings)), key=lambda r: spelt[bounds[r] : bounds[r + 1]]), dtype=np.int64)
    rank = np.empty(in_order.size, dtype=np.int64)
    rank[in_order] = np.arange(in_order.size)
    units = np.flatnonzero(unit_surface >= 0)
    units = units[np.lexsort((unit_surface[units], rank[unit_reading[units]]))]
    used, sizes = np.unique(rank[unit_reading[units]], return_counts=True)
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Lexicon(surfaces, readings.take(in_order[used]), ptr, unit_surface[units].astype(np.uint32), counts[units])
