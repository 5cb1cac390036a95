"""Classifiers: penalties and solvers compared, the features learnt, one decision explained, a race to the optimum."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loglinear import solvers
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.demo.docstrings import Corpus
from loglinear.display.charts import convergence
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.features.text.words import WordNgrams
from loglinear.metrics.accuracy import accuracy
from loglinear.models import MaxentClassifier
from loglinear.models.classifier.training import LinearProblem
from loglinear.optimise.minimise import Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.stopping import Gap
from loglinear.optimise.training import Settings
from loglinear.report.model import top_feature_table
from loglinear.threads import pool

NGRAMS = (1, 2)
STRENGTH = {"l2": 0.3, "l1": 0.5, "elastic_net": 0.5}
SOLVERS = {"l2": ("auto", "lbfgs", "newton", "clustered"), "l1": ("auto", "owlqn"), "elastic_net": ("auto",)}
RUNS = [(penalty, solver) for penalty, names in SOLVERS.items() for solver in names]


def run(corpus: Corpus) -> list[Section]:
    """Return the sections on classifiers."""
    table, models = compare(corpus)
    return [
        Section(
            "Which part of the standard library is this docstring from?",
            [
                finding(table),
                f"Data: {corpus.about}. Features: words and word pairs; the name of the package itself is removed.",
            ],
            tables=[table],
        ),
        Section(
            "What the model learnt",
            ["l1 keeps few weights; these are the largest of each class."],
            tables=[top_feature_table(models["l1", "auto"].top_features(6))],
        ),
        explained(corpus, models["l2", "auto"]),
        race(corpus),
    ]


def finding(table: Table) -> str:
    """Return which penalty is right most often, and what l1 does with few weights."""
    best = max(table.rows, key=lambda row: row[2])
    sparse = next(row for row in table.rows if row[0] == "l1")
    dense = max(row[6] for row in table.rows)
    return (
        f"The part of the library that a docstring is from: {best[2]:.1%} right under {best[0]}; {sparse[2]:.1%} "
        f"under l1, with {sparse[6]:,} weights instead of {dense:,}."
    )


def compare(corpus: Corpus) -> tuple[Table, dict[tuple[str, str], MaxentClassifier]]:
    """Compare penalties and solvers by accuracy, objective, time, passes and number of non-zero weights."""
    models, rows = {}, []
    for penalty, solver in RUNS:
        model = MaxentClassifier(penalty, STRENGTH[penalty], solver=solver, ngrams=NGRAMS, random_state=0, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table says which runs did not converge
            model.fit(corpus.train_texts, corpus.train_labels)
        models[penalty, solver] = model
        name = solver if solver == model.solver_ else f"{solver} ({model.solver_})"
        right = accuracy(corpus.test_labels, model.predict(corpus.test_texts))
        kept, gap = int(np.count_nonzero(model.coef_)), str(Gap(model.gap_, model.gap_is_bound_))
        rows.append((penalty, name, right, model.objective_, model.fit_seconds_, model.n_iter_, kept, gap))
    n_weights = next(iter(models.values())).coef_.size
    columns = ("penalty", "solver", "test accuracy", "objective", "seconds", "passes", "non-zero weights", "gap")
    strengths = ", ".join(f"{name} {value:g}" for name, value in STRENGTH.items())
    note = f"{n_weights:,} weights in all; strengths: {strengths}. Times include reading words."
    return Table(columns, rows, note=note), models


def explained(corpus: Corpus, model: MaxentClassifier) -> Section:
    """Explain a correct but not trivial decision on a test example."""
    probabilities = model.predict_proba(corpus.test_texts)
    best = probabilities.max(axis=1)
    right = model.classes_[probabilities.argmax(axis=1)] == np.asarray(corpus.test_labels)
    short = np.array([40 <= len(text) <= 240 for text in corpus.test_texts])
    number = int(np.argmin(np.abs(best - 0.8) + 10.0 * ~(right & short)))
    text, explanation = corpus.test_texts[number], model.explain(corpus.test_texts[number])
    label, pushes = explanation.predicted, explanation.top(8)
    rest = explanation.scores[label] - explanation.intercepts[label] - sum(push.contribution for push in pushes)
    rows: list[tuple[str, float | None, float | None, float]] = [
        *((push.feature, push.value, push.weight, push.contribution) for push in pushes),
        ("(intercept)", None, None, explanation.intercepts[label]),
        ("(all other features)", None, None, rest),
    ]
    ranked = sorted(explanation.probabilities.items(), key=lambda pair: -pair[1])[:3]
    said = ", ".join(f"{label} {probability:.3f}" for label, probability in ranked)
    return Section(
        "One decision explained",
        [f"Truth: {corpus.test_labels[number]}. Probabilities: {said}. The score is the sum of these contributions:"],
        quote=text.strip(),
        tables=[Table(("feature", "value", "weight", "contribution"), rows)],
    )


def race(corpus: Corpus) -> Section:
    """Run solvers on the same l2 objective, from the same start, to a tight tolerance."""
    problem = _problem(corpus)
    tolerance, passes = (1e-8, 1000) if corpus.quick else (1e-10, 4000)
    objective = problem.objective(STRENGTH["l2"])
    results = {name: _solve(objective, name, tolerance, passes) for name in ("lbfgs", "clustered", "newton")}
    if problem.by_examples:
        by_examples = problem.objective(STRENGTH["l2"], by_examples=True)
        results["lbfgs by examples"] = _solve(by_examples, "lbfgs", tolerance, passes)
    tight = minimise(objective, solvers.make("newton"), results["newton"].weights, tolerance=1e-14, max_iterations=500)
    best = min(tight.value, *(result.value for result in results.values()))
    rows = [
        (name, result.history.time[-1], result.n_iterations, (result.value - best) / best, result.gap)
        for name, result in results.items()
    ]
    note = (
        "By examples: the same ridge-penalised objective in the coordinates of its examples, which solver='auto' takes "
        "if there are far fewer examples than features."
    )
    columns = ("solver", "seconds", "passes", "relative gap", "gap certified")
    runs = {name: (result.history.time, result.history.objective) for name, result in results.items()}
    title = f"l2 objective of {objective.n_weights:,} weights"
    return Section(
        "A race to the optimum",
        [f"All solvers minimise the same function of {objective.n_weights:,} weights (equal features merged)."],
        tables=[Table(columns, rows, note=note if problem.by_examples else "")],
        plots=[convergence(title, runs, best)],
    )


def _problem(corpus: Corpus) -> LinearProblem:
    words = WordNgrams(ngrams=NGRAMS)
    indptr, indices, values = words.fit_transform(corpus.train_texts, pool().size)
    rows = SparseRows(indptr, indices, np.asarray(values, dtype=np.float64), len(words.vocabulary))
    classes, labels = np.unique(corpus.train_labels, return_inverse=True)
    return LinearProblem(MulticlassData(rows, labels.astype(np.int32), classes.size), Settings("l2", STRENGTH["l2"]))


def _solve(objective: Objective, solver: str, tolerance: float, passes: int) -> Result:
    return minimise(objective, solvers.make(solver), tolerance=tolerance, max_iterations=passes)
