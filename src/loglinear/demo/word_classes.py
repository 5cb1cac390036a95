"""Word classes: what stands between like neighbours in Python's documentation, and what classes and a memory of the
document do for a language model."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from loglinear.demo.docstrings import Corpus
from loglinear.demo.sentences import Prose, documentation
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.models import LanguageModel
from loglinear.models.word_classes import WordClasses

N_CLASSES = 60
SOURCES = "words:3,classes:4,skip:1"
COMMON: dict[str, Any] = {"order": 3, "min_word_count": 2, "tolerance": 1e-3, "verbose": 0}
MODELS: dict[str, dict[str, Any]] = {
    "maximum entropy": {},
    "classes first, then words": {"classes": N_CLASSES, "sources": SOURCES},
    "the same with a cache": {"classes": N_CLASSES, "sources": SOURCES, "cache": 300},
}


def run(corpus: Corpus) -> list[Section]:
    """Return the section on word classes."""
    prose = documentation(corpus)
    about = (
        f"Data: {prose.about}. Words move between {N_CLASSES} classes while a class bigram model explains the text "
        "better. A class-factored model then predicts the class of the next word from several sources, and the word "
        "within its class; a cache raises the words that were used lately. All are exactly normalised."
    )
    compared = compare(prose)
    plain, classes, cached = (row[1] for row in compared.rows)
    finding = (
        f"Words that are alike: predicting the class of a word first takes the perplexity from {plain:.1f} to "
        f"{classes:.1f}, and a memory of the words used lately to {cached:.1f}."
    )
    return [Section("Which words are alike?", [finding, about], tables=[learnt(prose), compared])]


def learnt(prose: Prose, n_shown: int = 8) -> Table:
    """Return classes that have many frequent words, with their bits."""
    classes = WordClasses(N_CLASSES, min_count=2, verbose=0).fit(prose.train)
    words: list[list[str]] = [[] for _ in range(N_CLASSES)]
    for word, label in zip(classes.words_, classes.labels_.tolist()):
        if word[0].isalpha():
            words[label].append(word)
    several = [label for label in range(N_CLASSES) if len(words[label]) > 3][:n_shown]
    rows = [(classes.bits_[label], len(words[label]), ", ".join(words[label][:8])) for label in several]
    note = f"Clustered in {classes.fit_seconds_:.1f} s. Classes whose bits begin alike are alike."
    return Table(("bits", "words", "the most frequent"), rows, note=note)


def compare(prose: Prose) -> Table:
    """Return the perplexity of an n-gram model, a class-factored one, and one with a cache."""
    rows = []
    for name, settings in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            validation = prose.validation if "cache" in settings else None
            model = LanguageModel(**settings, **COMMON).fit(prose.train, validation=validation)
        rows.append((name, model.perplexity(prose.test), model.n_weights_, model.fit_seconds_))
    note = f"Order {COMMON['order']}; the cache is fitted on the validation text. Seconds from text to model."
    return Table(("model", "test perplexity", "weights", "seconds"), rows, note=note)
