"""A search over c1 and c2, as in sklearn-crfsuite's tutorial: its CRF and ours behind the same code.

Words, suffixes, capitals and parts of speech of three tokens; the first sentences of CoNLL-2000; settings drawn from
the tutorial's distributions with one seed, three folds each. Both sides then train once more at c1 = c2 = 0.1, and
tell the objective that they reached in as many iterations.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.processes import megabytes

SENTENCES, DRAWS, ITERATIONS = 1200, 4, 100


def _attributes(rows: list[list[str]], i: int) -> dict[str, Any]:
    found: dict[str, Any] = {"bias": 1.0, "first": i == 0, "last": i == len(rows) - 1}
    for offset in (-1, 0, 1):
        if 0 <= i + offset < len(rows):
            word, tag = rows[i + offset][:2]
            found |= {
                f"{offset}:lower": word.lower(), f"{offset}:title": word.istitle(), f"{offset}:upper": word.isupper(),
                f"{offset}:tag": tag, f"{offset}:tag2": tag[:2],
            }  # fmt: skip
    word = rows[i][0]
    return found | {"suffix3": word[-3:], "suffix2": word[-2:], "digits": word.isdigit()}


def _sentences(path: Path) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")[:SENTENCES]
    rows = [[line.split(" ") for line in block.split("\n")] for block in blocks]
    X = [[_attributes(sentence, i) for i in range(len(sentence))] for sentence in rows]
    return X, [[row[2] for row in sentence] for sentence in rows]


def _search(package: Any, folder: Path) -> dict[str, Any]:
    import scipy.stats
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import RandomizedSearchCV

    X, y = _sentences(folder / "train.txt")
    settings = {"algorithm": "lbfgs", "max_iterations": ITERATIONS, "all_possible_transitions": True}
    f1 = make_scorer(package.metrics.flat_f1_score, average="weighted", zero_division=0)
    space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
    search = RandomizedSearchCV(
        package.CRF(**settings), space, cv=3, n_iter=DRAWS, n_jobs=1, scoring=f1, random_state=0
    )
    start = time.perf_counter()
    search.fit(X, y)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    crf = package.CRF(c1=0.1, c2=0.1, **settings).fit(X, y)
    last = crf.training_log_.last_iteration
    return {
        "seconds": seconds, "trainings": 3 * DRAWS + 1, "F1 of the best": 100 * search.best_score_,
        "c1 of the best": search.best_params_["c1"], "c2 of the best": search.best_params_["c2"],
        "peak MB": megabytes(), "seconds at 0.1": time.perf_counter() - start, "iterations at 0.1": last["num"],
        "objective at 0.1": last["loss"],
    }  # fmt: skip


def search_by_crfsuite(folder: Path) -> dict[str, Any]:
    import sklearn_crfsuite
    import sklearn_crfsuite.metrics

    return _search(sklearn_crfsuite, folder)


def search_by_loglinear(folder: Path) -> dict[str, Any]:
    from loglinear import crfsuite

    return _search(crfsuite, folder)
