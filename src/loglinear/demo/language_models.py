"""Language models: maximum entropy and modified Kneser-Ney on Python's documentation, by perplexity, size and time."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from loglinear.demo.docstrings import Corpus
from loglinear.demo.sentences import Prose, documentation
from loglinear.display.charts import Curve, Plot
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.models import LanguageModel

ORDERS = (1, 2, 3, 4, 5)
TUNED = 3  # order at which strengths are chosen; strengths of longer n-grams are much like those of trigrams
ESTIMATORS = ("maxent", "kneser-ney")
SETTINGS: dict[str, Any] = {"min_word_count": 2, "random_state": 0, "verbose": 0}
CONTEXTS = ("return the number of", "raised if the", "this method is called", "a sequence of", "the first argument")
_Key = tuple[str, int]


def run(corpus: Corpus) -> list[Section]:
    """Return the sections on language models."""
    prose = documentation(corpus)
    table, models = compare(prose)
    about = (
        f"Data: {prose.about}. Words seen once are <unk>. Maximum entropy has one weight per n-gram, nonnegative above "
        "unigrams, under an elastic net; n-grams whose weight is zero are not stored."
    )
    parts: dict[str, Any] = {"tables": [table], "plots": [by_order(table)]}
    return [Section("Which word comes next?", [finding(table), about], **parts), next_words(models)]


def finding(table: Table) -> str:
    """Return by how much maximum entropy differs from Kneser-Ney at the highest order."""
    found = {row[1]: row for row in table.rows if row[0] == ORDERS[-1]}
    ours, theirs = (found[name] for name in ESTIMATORS)
    return (
        f"The next word: perplexity {ours[2]:.1f} by maximum entropy and {theirs[2]:.1f} by Kneser-Ney "
        f"({ours[2] / theirs[2] - 1:+.1%}), with {ours[5]:,} n-grams and {theirs[5]:,}."
    )


def compare(prose: Prose) -> tuple[Table, dict[_Key, LanguageModel]]:
    """Compare both estimators at every order; the highest also with the default strengths of maximum entropy."""
    tuned = _fit(LanguageModel(TUNED, tune="validation", **SETTINGS), prose)
    penalty = strengths(tuned)
    models: dict[_Key, LanguageModel] = {}
    for order in ORDERS:
        models["maxent", order] = _fit(LanguageModel(order, **penalty, **SETTINGS), prose)
        models["kneser-ney", order] = _fit(LanguageModel(order, "kneser-ney", **SETTINGS), prose)
    skipping = LanguageModel(sources=f"words:{TUNED},skip:1", **penalty, **SETTINGS)
    models["maxent, with skipped words", TUNED] = _fit(skipping, prose)
    models["maxent, default strengths", ORDERS[-1]] = _fit(LanguageModel(ORDERS[-1], **SETTINGS), prose)
    columns = (
        "order", "estimator", "test perplexity", "against Kneser-Ney", "n-grams counted", "n-grams kept", "file, MB",
        "seconds",
    )  # fmt: skip
    spelt = ", ".join(f"{strength:.2f}" for strength in penalty["strength"])
    note = (
        "Perplexity per token, ends of sentences and <unk> included. Seconds from text to model. tune='validation' "
        f"chose {spelt} for pairs and longer n-grams on the validation text, at order {TUNED}, in "
        f"{tuned.fit_seconds_:.1f} s."
    )
    usual = {order: models["kneser-ney", order].perplexity(prose.test) for order in ORDERS}
    return Table(columns, [_row(name, model, prose, usual) for (name, _), model in models.items()], note=note), models


def strengths(tuned: LanguageModel) -> dict[str, Any]:
    """Return the strengths of a trained model as settings for another."""
    unigrams, *longer = tuned.strengths_
    totals = [entry["l1"] + entry["l2"] for entry in longer]
    ratios = [entry["l1"] / total for entry, total in zip(longer, totals)]
    return {"strength": tuple(totals), "l1_ratio": tuple(ratios), "unigram_strength": unigrams["l2"]}


def _fit(model: LanguageModel, prose: Prose) -> LanguageModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(prose.train, validation=prose.validation if model.tune is not None else None)


def _row(name: str, model: LanguageModel, prose: Prose, usual: dict[int, float]) -> tuple[Any, ...]:
    """Return a row of the table; ``usual`` has the perplexity of Kneser-Ney by order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.ll")
        model.save(path)
        size = path.stat().st_size / 1e6
    counts = (sum(model.counts_), sum(model.n_ngrams_))
    perplexity = model.perplexity(prose.test)
    less = None if name == "kneser-ney" else f"{perplexity / usual[model.order_] - 1:+.1%}"
    return model.order_, name, perplexity, less, *counts, size, model.fit_seconds_


def by_order(table: Table) -> Plot:
    """Plot perplexity against order, one curve per estimator."""
    points = {name: [(row[0], row[2]) for row in table.rows if row[1] == name] for name in ESTIMATORS}
    curves = [Curve(name, [n for n, _ in found], [y for _, y in found]) for name, found in points.items()]
    return Plot("Longer contexts, lower perplexity", curves, "order", "perplexity of the test text")


def next_words(models: dict[_Key, LanguageModel], k: int = 4) -> Section:
    """Return the most probable next words of both estimators, and sentences sampled from maximum entropy."""
    rows = []
    for context in CONTEXTS:
        cells = [
            ", ".join(f"{word} {p:.2f}" for word, p in models[name, ORDERS[-1]].top(context, k)) for name in ESTIMATORS
        ]
        rows.append((context, *cells))
    drawn = models["maxent", ORDERS[-1]].sample(3, max_length=40)
    return Section(
        "What the language models say",
        ["Three sentences sampled from maximum entropy; the most probable words after a beginning of a sentence."],
        quote="\n".join(drawn),
        tables=[Table(("context", *ESTIMATORS), rows)],
    )
