"""ARPA files as back-off models; ``loglinear.formats.arpa`` describes the format."""

from __future__ import annotations

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, native_model
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats import arpa as text_format
from loglinear.formats.text import Source, name_of
from loglinear.threads import pool


def read_arpa(path: Source, *, n_threads: int | None = None) -> BackoffModel:
    """Read the model of a file (plain, gzip, xz, zstd, or ``-``); its words keep the order of the file.

    The vocabulary is open if the file has ``<unk>``. Contexts in which a longer one ends are added if the file, a
    pruned one for instance, lacks them.
    """
    arrays = text_format.read_arpa_arrays(path, n_threads=n_threads)
    words = WordVocabulary(Vocabulary.from_arrays(arrays.blob, arrays.offsets))
    return backoff_model(words, arrays.shape, arrays.log_backoff, arrays.log_probability)


def write_arpa(
    model: BackoffModel, path: Source, full_precision: bool = False, *, n_threads: int | None = None
) -> None:
    """Write a model whole or not at all: 7 significant digits of log10, or all 17, which read back as the same doubles.

    Every beginning and every end of an n-gram is written as an n-gram too, as readers expect; those that the model
    lacks, because their weight was zero or they were pruned, get the probability that backing off gives, so that no
    probability changes. A file whose name ends in .gz, .xz or .zst is compressed; ``-`` is standard output.
    """
    threads = pool(n_threads)
    words = model.vocabulary.words
    try:
        text = _core.ArpaText(threads, native_model(model, threads), words.blob, words.offsets)
    except ValueError as error:
        raise FormatError(str(error), name_of(path)) from None
    text_format.write_arpa_text(path, text, model.order, full_precision=full_precision, n_threads=n_threads)
