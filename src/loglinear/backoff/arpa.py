"""ARPA files as back-off models; ``loglinear.formats.arpa`` describes the format."""

from __future__ import annotations

import os
import warnings

import numpy as np

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, native_model
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import END, UNKNOWN, WordVocabulary
from loglinear.formats import arpa as text_format
from loglinear.formats.blocks import read_line_blocks
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import Source, name_of
from loglinear.threads import pool

_ROUNDING = 1e-3  # files have few digits
_ENTRIES = 1 << 20  # n-grams that are looked at together


def read_arpa(path: Source, *, encoding: str | None = "utf-8", n_threads: int | None = None) -> BackoffModel:
    """Read the model of a file (plain, gzip, bz2, xz, zstd, or ``-``); its words keep the order of the file.

    The vocabulary is open if the file has ``<unk>``. Contexts in which a longer one ends are added if the file, a
    pruned one for instance, lacks them. An ``encoding`` of None takes the bytes of words as they are.
    """
    arrays = text_format.read_arpa_arrays(path, encoding=encoding, n_threads=n_threads)
    words = WordVocabulary(Vocabulary.from_arrays(arrays.blob, arrays.offsets))
    model = backoff_model(words, arrays.shape, arrays.log_backoff, arrays.log_probability)
    _warn_of_mass(model, path)
    return model


def _warn_of_mass(model: BackoffModel, path: Source) -> None:
    """Warn of a context whose n-grams alone have a probability above one, with the line where they begin."""
    worst, place, first = 1.0 + _ROUNDING, -1, 0
    while first < model.n_contexts:  # a block of contexts at a time
        begin = int(model.context_entry[first])
        last = int(np.searchsorted(model.context_entry, begin + _ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), model.n_contexts)
        sums = np.zeros(int(model.context_entry[last]) - begin + 1)
        np.cumsum(np.exp(model.log_probability[begin : begin + sums.size - 1]), out=sums[1:])
        masses = np.diff(sums[model.context_entry[first : last + 1].astype(np.int64) - begin])
        if masses.max() > worst:
            worst, place = float(masses.max()), first + int(masses.argmax())
        first = last
    if place >= 0:
        context = _words_of(model, place)
        line = _line_of(path, context)
        source = name_of(path) + (f":{line}" if line else "")
        after = f"after {context.decode(errors='backslashreplace')!r} " if context else ""
        warnings.warn(
            f"{source}: the probabilities of the words {after}sum to {worst:.4g}; the model is no distribution, "
            "and its perplexities mean nothing",
            stacklevel=2,
        )


def _words_of(model: BackoffModel, context: int) -> bytes:
    """Return the words of a context."""
    strings, words = model.vocabulary.words, []
    while context > 0:
        word = int(model.context_word[context])
        is_begin = word == model.vocabulary.begin
        words.append(b"<s>" if is_begin else strings.blob[strings.offsets[word] : strings.offsets[word + 1]].tobytes())
        context = int(np.searchsorted(model.context_child, context, side="right")) - 1
    return b" ".join(words)


def _line_of(path: Source, context: bytes) -> int | None:
    """Return the first line of an n-gram that begins so; None where it is not found."""
    mark = b"\t" + context + b" " if context else b"\\1-grams:"
    if os.fspath(path) == "-" or is_url(path):
        return None
    n_lines = 1
    for block in read_line_blocks(path, 1 << 22):
        if (at := block.find(mark)) >= 0:
            return n_lines + block.count(b"\n", 0, at)
        n_lines += block.count(b"\n")
    return None


def with_unknown(model: BackoffModel, log_probability: float) -> BackoffModel:
    """Return the model with ``<unk>`` in its vocabulary: itself if it has one, else with this natural logarithm."""
    words = model.vocabulary
    if words.is_open:
        return model
    one, first = np.uint32(1), Vocabulary.from_strings([END, UNKNOWN])
    vocabulary = WordVocabulary(first.joined(words.words.take(np.arange(1, words.n_words))))
    context_word = model.context_word + (model.context_word >= one).astype(np.uint32)  # 1, 2, ... make room
    context_word[0] = model.context_word[0]  # that of the empty context is none
    entry_word = model.entry_word + (model.entry_word >= one).astype(np.uint32)
    entry_start = model.entry_start + (np.arange(model.order + 1) > 0)
    context_entry = model.context_entry + (np.arange(model.n_contexts + 1) > 0).astype(np.uint32)
    shape = (
        model.context_start, entry_start, context_word, model.context_child, context_entry,
        np.insert(entry_word, 1, one),
    )  # fmt: skip
    return backoff_model(vocabulary, shape, model.log_backoff, np.insert(model.log_probability, 1, log_probability))


def write_arpa(
    model: BackoffModel, path: Source, full_precision: bool = False, *, n_threads: int | None = None
) -> None:
    """Write a model whole or not at all: 7 significant digits of log10, or all 17, which read back as the same doubles.

    Every beginning and every end of an n-gram is written as an n-gram too, as readers expect; those that the model
    lacks, because their weight was zero or they were pruned, get the probability that backing off gives, so that no
    probability changes. A file whose name ends in .gz, .bz2, .xz or .zst is compressed; ``-`` is standard output.
    """
    threads = pool(n_threads)
    words = model.vocabulary.words
    try:
        text = _core.ArpaText(threads, native_model(model, threads), words.blob, words.offsets)
    except ValueError as error:
        raise FormatError(str(error), name_of(path)) from None
    text_format.write_arpa_text(path, text, model.order, full_precision=full_precision, n_threads=n_threads)
