"""Text to numbers: choose the words of the vocabulary, and number the words of the sentences.

A vocabulary made from text is numbered by falling frequency, ties by first occurrence, after the reserved symbols.
Words outside an open vocabulary become ``<unk>``; outside a closed one they raise an error. ``<unk>`` in a text is the
unknown word itself; ``<s>`` and ``</s>`` are not words, since every sentence has them anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.data.memory import UNIT_BYTES, part_bytes, readable
from loglinear.data.sentences import Sentences, SpooledSentences, UnknownWords
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_list import read_vocabulary
from loglinear.features.word_vocabulary import BEGIN, END, UNKNOWN, WordVocabulary
from loglinear.formats.running_text import (
    RunningText,
    TextOptions,
    TextSource,
    iterate_text,
    read_text,
    spool_text,
    spooled_units,
)
from loglinear.formats.text import Source
from loglinear.formats.units import Units

UnknownPolicy: TypeAlias = Literal["token", "error"]
ReservedPolicy: TypeAlias = Literal["error", "skip"]

BLOCK = 1 << 22  # bytes; numbering them takes about ten times as much memory
_N_EXAMPLES = 5
_BOUNDARIES = (BEGIN, END)


@dataclass(frozen=True, eq=False)
class CorpusBlock:
    """Whole lines of a source."""

    sentences: Sentences
    n_lines: int
    first_line: int  # from 1
    source: str
    text: bytes  # the lines as they were read


def read_corpus(
    source: TextSource, *, vocabulary: WordVocabulary | None = None, min_count: int = 1, max_words: int | None = None,
    vocabulary_file: Source | None = None, units: Units = "words", unknown: UnknownPolicy = "token",
    reserved: ReservedPolicy = "error", encoding: str = "utf-8", text_column: str | None = None,
    n_threads: int | None = None, progress: Callable[[int, int], None] | None = None,
) -> tuple[Sentences, WordVocabulary]:
    """Read text whole: a file (plain or compressed, or ``-``), a list of files, or an iterable of sentences.

    A sentence is a line; lines without words are skipped. A sentence in memory is a string to split or a list of words.
    Of files and records (dicts) that have columns, ``text_column`` is the text (formats/streams/columns.py).
    ``progress`` is told how many bytes of the files have been read, and of how many.
    The vocabulary is ``vocabulary``, or the words of ``vocabulary_file`` (one per line), or the ``max_words`` most
    frequent words that occur at least ``min_count`` times. ``unknown="error"`` closes it: a word outside raises
    FormatError, as with a closed ``vocabulary``. ``reserved="skip"`` leaves out the words ``<s>`` and ``</s>``, which
    otherwise raise FormatError. ``sentences.unknown`` lists the words that became ``<unk>``.
    """
    _check_policies(unknown, reserved)
    _check_choice(vocabulary, vocabulary_file, min_count, max_words)
    text = read_text(source, TextOptions(units, encoding, False, reserved == "skip", n_threads, text_column, progress))
    if text.tokens.size == 0:
        raise FormatError(f"there are no {units}; give text with at least one", ", ".join(text.sources))
    marks = _marks(text)
    vocabulary = vocabulary or _chosen(text, marks, min_count, max_words, vocabulary_file, unknown, encoding)
    return _numbered(text, marks, vocabulary, unknown, n_threads), vocabulary


def choose_words(
    text: RunningText, min_count: int = 1, max_words: int | None = None, vocabulary_file: Source | None = None, *,
    unknown: UnknownPolicy = "token", encoding: str = "utf-8",
) -> WordVocabulary:  # fmt: skip
    """Return the vocabulary that a text gives, of which only the units and their counts matter."""
    return _chosen(text, _marks(text), min_count, max_words, vocabulary_file, unknown, encoding)


def number_text(
    text: RunningText, vocabulary: WordVocabulary, *, unknown: UnknownPolicy = "token", n_threads: int | None = None
) -> Sentences:
    """Return a text in the numbers of a vocabulary. Its tokens are overwritten, to hold a corpus only once."""
    return _numbered(text, _marks(text), vocabulary, unknown, n_threads)


def spool_corpus(
    source: TextSource, *, limit: int, folder: str, vocabulary: WordVocabulary | None = None, min_count: int = 1,
    max_words: int | None = None, vocabulary_file: Source | None = None, units: Units = "words",
    unknown: UnknownPolicy = "token", reserved: ReservedPolicy = "error", encoding: str = "utf-8",
    text_column: str | None = None, n_threads: int | None = None, progress: Callable[[int, int], None] | None = None,
) -> tuple[SpooledSentences, WordVocabulary]:
    """Read text as :func:`read_corpus` does, into a temporary file of the folder, in at most ``limit`` bytes of memory.

    The tokens are written as they are read, numbered by first occurrence; the vocabulary is chosen at the end. So the
    source is read once, standard input too, and only the table of its distinct words is in memory. Raise ValueError for
    a text with more of them than the limit allows.
    """
    _check_policies(unknown, reserved)
    _check_choice(vocabulary, vocabulary_file, min_count, max_words)
    options = TextOptions(units, encoding, False, reserved == "skip", n_threads, text_column, progress)
    spool = spool_text(source, options, part_bytes(limit), folder, lambda n: _check_units(n, limit))
    text = spooled_units(spool, source)
    if spool.n_tokens == 0:
        raise FormatError(f"there are no {units}; give text with at least one", ", ".join(text.sources))
    spool.forget_units()
    marks = _marks(text)
    vocabulary = vocabulary or _chosen(text, marks, min_count, max_words, vocabulary_file, unknown, encoding)
    numbers, report = _numbers_of(text, marks, vocabulary, unknown)
    return SpooledSentences(vocabulary.n_words, spool, numbers, report), vocabulary


def iter_corpus(
    source: TextSource, vocabulary: WordVocabulary, block_bytes: int = BLOCK, *, units: Units = "words",
    unknown: UnknownPolicy = "token", reserved: ReservedPolicy = "error", keep_empty: bool = True,
    encoding: str = "utf-8", text_column: str | None = None, n_threads: int | None = None,
) -> Iterator[CorpusBlock]:
    """Read text in blocks of about ``block_bytes``, in bounded memory; see :func:`read_corpus`.

    With ``keep_empty`` every line is a sentence, so that results per sentence align with the lines. A line is never
    cut. Standard input is processed as it comes.
    """
    _check_policies(unknown, reserved)
    options = TextOptions(units, encoding, keep_empty, reserved == "skip", n_threads, text_column)
    for block in iterate_text(source, block_bytes, options):
        sentences = _numbered(block.text, _marks(block.text), vocabulary, unknown, n_threads)
        yield CorpusBlock(sentences, block.text.n_lines, block.first_line, block.source, block.data)


def _check_units(n_units: int, limit: int) -> None:
    if n_units * UNIT_BYTES > limit:
        raise ValueError(
            f"memory={readable(limit)} is too little to number the {n_units:,} distinct words that were read so far: "
            f"give at least {readable(2 * n_units * UNIT_BYTES)}, or text with fewer"
        )


def _check_policies(unknown: str, reserved: str) -> None:
    if unknown not in ("token", "error"):
        raise ValueError(f"unknown must be 'token' or 'error', not {unknown!r}")
    if reserved not in ("error", "skip"):
        raise ValueError(f"reserved must be 'error' or 'skip', not {reserved!r}")


def _check_choice(
    vocabulary: WordVocabulary | None, vocabulary_file: Source | None, min_count: int, max_words: int | None
) -> None:
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, not {min_count!r}")
    if max_words is not None and max_words < 1:
        raise ValueError(f"max_words must be at least 1 or None, not {max_words!r}")
    by_count = min_count > 1 or max_words is not None
    if (vocabulary is not None) + (vocabulary_file is not None) + by_count > 1:
        raise ValueError("choose words in one way: by vocabulary, by vocabulary_file, or by min_count and max_words")


def _marks(text: RunningText) -> NDArray[np.int32]:
    """Return 0 for ``<unk>`` and -1 for all other units: [n_units]. Raise FormatError for boundary symbols."""
    marks = np.empty(text.counts.size, dtype=np.int32)
    Vocabulary.from_strings([UNKNOWN, *_BOUNDARIES]).index().find(text.blob, text.offsets, marks)
    wrong = np.flatnonzero(marks > 0)
    if wrong.size:
        message = (
            f"{text.unit(int(wrong[0]))!r} is reserved for the ends of sentences and is no word; remove it, or skip "
            "these symbols (reserved='skip')"
        )
        raise FormatError(message, *text.place(int(wrong[0])))
    return marks


def _chosen(
    text: RunningText, marks: NDArray[np.int32], min_count: int, max_words: int | None, file: Source | None,
    unknown: UnknownPolicy, encoding: str,
) -> WordVocabulary:
    """Return the words of a file, or those of the text that are frequent enough."""
    is_open = unknown == "token"
    if file is None:
        return _frequent_words(text, marks, min_count, max_words, is_open)
    return _by_frequency(text, read_vocabulary(file, is_open=is_open, encoding=encoding))


def _frequent_words(
    text: RunningText, marks: NDArray[np.int32], min_count: int, max_words: int | None, is_open: bool
) -> WordVocabulary:
    candidates = np.flatnonzero((marks < 0) & (text.counts >= min_count))
    order = candidates[np.argsort(-text.counts[candidates], kind="stable")][:max_words]
    return with_symbols(Vocabulary(text.blob, text.offsets).take(order), is_open)


def _by_frequency(text: RunningText, listed: WordVocabulary) -> WordVocabulary:
    """Return the same words by falling frequency in the text; equally frequent words keep their order."""
    counts = np.zeros(len(listed), dtype=np.int64)
    numbers = _look_up(text, listed)
    counts[numbers[numbers >= 0]] = text.counts[numbers >= 0]
    n_symbols = 2 if listed.is_open else 1
    order = n_symbols + np.argsort(-counts[n_symbols:], kind="stable")
    return WordVocabulary(listed.words.take(np.concatenate([np.arange(n_symbols), order])))


def with_symbols(words: Vocabulary, is_open: bool) -> WordVocabulary:
    """Return the vocabulary of the reserved symbols and these words, which must not include them."""
    blob, offsets = pack_strings([END, UNKNOWN] if is_open else [END])
    joined = np.concatenate([offsets, offsets[-1] + words.offsets[1:]])
    return WordVocabulary(Vocabulary(np.concatenate([blob, words.blob]), joined))


def _look_up(text: RunningText, vocabulary: WordVocabulary) -> NDArray[np.int32]:
    numbers = np.empty(text.counts.size, dtype=np.int32)
    vocabulary.words.index().find(text.blob, text.offsets, numbers)
    return numbers


def _numbers_of(
    text: RunningText, marks: NDArray[np.int32], vocabulary: WordVocabulary, unknown: UnknownPolicy
) -> tuple[NDArray[np.uint32], UnknownWords]:
    """Return the number in the vocabulary of each unit, and a report of those that it lacks."""
    numbers = _look_up(text, vocabulary)
    outside = np.flatnonzero(numbers < 0)
    if outside.size and (unknown == "error" or not vocabulary.is_open):
        message = (
            f"the word {text.unit(int(outside[0]))!r} is not in the vocabulary, which is closed; add it there, or "
            "train with a word for unknown ones (unknown='token')"
        )
        raise FormatError(message, *text.place(int(outside[0])))
    numbers[outside] = 1
    report = UnknownWords(
        n_tokens=int(text.counts[outside].sum()),
        n_types=outside.size,
        n_literal=int(text.counts[marks == 0].sum()),
        examples=tuple((text.unit(int(i)), *text.place(int(i))) for i in outside[:_N_EXAMPLES]),
    )
    return numbers.astype(np.uint32), report


def _numbered(
    text: RunningText, marks: NDArray[np.int32], vocabulary: WordVocabulary, unknown: UnknownPolicy,
    n_threads: int | None,
) -> Sentences:
    """Return the text in the numbers of the vocabulary. Its tokens are overwritten, to hold a corpus only once."""
    numbers, report = _numbers_of(text, marks, vocabulary, unknown)
    _core.renumber_tokens(threads.pool(n_threads), text.tokens, numbers)
    return Sentences(vocabulary.n_words, text.tokens, text.sentence_ptr, report)
