"""ARPA files as back-off models; ``loglinear.formats.arpa`` describes the format."""

from __future__ import annotations

import numpy as np

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, native_model
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import END, UNKNOWN, WordVocabulary
from loglinear.formats import arpa as text_format
from loglinear.formats.text import Source, name_of
from loglinear.threads import pool


def read_arpa(path: Source, *, encoding: str | None = "utf-8", n_threads: int | None = None) -> BackoffModel:
    """Read the model of a file (plain, gzip, bz2, xz, zstd, or ``-``); its words keep the order of the file.

    The vocabulary is open if the file has ``<unk>``. Contexts in which a longer one ends are added if the file, a
    pruned one for instance, lacks them. An ``encoding`` of None takes the bytes of words as they are.
    """
    arrays = text_format.read_arpa_arrays(path, encoding=encoding, n_threads=n_threads)
    words = WordVocabulary(Vocabulary.from_arrays(arrays.blob, arrays.offsets))
    return backoff_model(words, arrays.shape, arrays.log_backoff, arrays.log_probability)


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
