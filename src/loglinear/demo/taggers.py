"""Taggers: five estimators with the same features label the role of every name in lines of Python."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loglinear.demo.code_lines import TaggedLines, identifier_roles
from loglinear.demo.docstrings import Corpus
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.features.columns import Columns
from loglinear.metrics.span_f1 import SpanScores, span_scores
from loglinear.models import Tagger
from loglinear.report.heat_map import attribute_table, transition_table

# Text, class and shape of the token and its neighbours; no pairs, so that a base distribution's expectations are cheap.
TEMPLATES = """\
Utoken=%x[0,0]
Uprevious.token=%x[-1,0]
Unext.token=%x[1,0]
Uprevious2.token=%x[-2,0]
Unext2.token=%x[2,0]
Uclass=%x[0,1]
Uprevious.class=%x[-1,1]
Unext.class=%x[1,1]
Ushape=%x[0,2]
B
"""
# Estimator and strength; M-estimation takes the mean over sequences where the others take the sum.
RUNS = {"crf": 1.0, "memm": 1.0, "pseudolikelihood": 1.0, "m-estimation": 0.1, "hmm": 1.0}


def run(corpus: Corpus) -> list[Section]:
    """Return the sections on taggers."""
    train, test = identifier_roles(corpus.quick)
    table, models = compare(train, test)
    crf = models["crf"]
    weights = [(attribute, label, weight) for (attribute, label), weight in crf.state_features_.items()]
    about = (
        f"Lines of the standard library: {train.n_tokens:,} tokens to train on, {test.n_tokens:,} of other modules to "
        f"test on, {len(crf.classes_)} labels. All see text, class and shape of the token and its neighbours."
    )
    return [
        Section("Which role has each name in a line of Python?", [finding(table), about], tables=[table]),
        Section(
            "What the CRF learnt",
            ["Weights from label to label (red attracts, blue repels), and the attributes for and against each label."],
            tables=[
                transition_table(crf.classes_, crf.transition_matrix(), most=8),
                attribute_table(sorted(weights, key=lambda entry: entry[1]), 4),
            ],
        ),
        undecided(crf, test),
    ]


def finding(table: Table) -> str:
    """Return what training is worth: the best estimator beside the HMM, which is only counted."""
    best = max(table.rows, key=lambda row: row[2])
    counted = next(row for row in table.rows if row[0] == "hmm")
    return (
        f"The role of each name in a line of Python: F1 {best[2]:.1%} by {best[0]}, trained in {best[4]:.1f} seconds; "
        f"{counted[2]:.1%} by a hidden Markov model, which is only counted."
    )


def compare(train: TaggedLines, test: TaggedLines) -> tuple[Table, dict[str, Tagger]]:
    """Compare the estimators on the same lines."""
    models, rows = {}, []
    X, X_test = Columns.from_lists(train.sequences), Columns.from_lists(test.sequences)
    for estimator, strength in RUNS.items():
        model = Tagger(estimator, TEMPLATES, strength=strength, random_state=0, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, train.labels)
        start = time.perf_counter()
        scores = span_scores(test.labels, model.predict(X_test))
        seconds = time.perf_counter() - start
        models[estimator] = model
        figures = (scores.accuracy, name_f1(scores), scores.sequence_accuracy, model.fit_seconds_)
        rows.append((estimator, *figures, test.n_tokens / seconds, int(np.count_nonzero(model.weights_))))
    columns = ("estimator", "accuracy", "F1 of names", "whole lines right", "seconds", "tokens/second", "weights")
    note = "F1 of names: all labels but O together. Seconds to train; tokens labelled in a second, scoring included."
    return Table(columns, rows, note=note), models


def name_f1(scores: SpanScores) -> float:
    """Return the micro-averaged F1 of all labels but O."""
    named = [c for c in scores.labels.classes if c.label != "O"]
    right = sum(row.get(due, 0) for due, row in scores.labels.confusion.items() if due != "O")
    return 2 * right / max(1, sum(c.support + c.predicted for c in named))


def undecided(model: Tagger, test: TaggedLines) -> Section:
    """Show the three best labellings of a short line that the model is unsure of."""
    short = [i for i, line in enumerate(test.sequences) if 4 <= len(line) <= 9]
    nbest = model.predict_nbest([test.sequences[i] for i in short], 3)
    number = int(np.argmin([abs(found[0][1] - 0.6) for found in nbest]))
    line, truth = test.sequences[short[number]], test.labels[short[number]]
    readings = [f"reading {rank}" for rank in range(1, len(nbest[number]) + 1)]
    rows = [
        (token[0], due, *(labels[t] for labels, _ in nbest[number])) for t, (token, due) in enumerate(zip(line, truth))
    ]
    rows.append(("(probability)", "", *(f"{probability:.3f}" for _, probability in nbest[number])))
    return Section(
        "A line with more than one reading",
        ["The three best labellings of a whole line, with their probabilities."],
        quote=" ".join(token[0] for token in line),
        tables=[Table(("token", "truth", *readings), rows)],
    )
