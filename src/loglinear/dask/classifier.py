"""DaskMaxentClassifier: a classifier whose examples live on the workers of a Dask cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client

from loglinear import penalties
from loglinear.dask.clients import client_of
from loglinear.dask.examples import Summary, count_part, encode_part, join_features, summarise
from loglinear.dask.shards import Cluster, DaskParts
from loglinear.dask.sources import partitions_of, pieces_of
from loglinear.errors import IncompatibleError
from loglinear.losses.partitioned import PartitionedLoss
from loglinear.models.classifier.estimator import MaxentClassifier
from loglinear.models.classifier.files import Columns
from loglinear.models.classifier.inputs import featuriser_for
from loglinear.models.classifier.labels import number_labels
from loglinear.models.estimator import record_training, restore_on_failure
from loglinear.models.validation import as_pair
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Solution, train

_KIND_EXAMPLES: dict[str, Any] = {"words": [""], "dicts": [{}], "tokens": [[]]}  # one of each, to make its featuriser


class DaskMaxentClassifier(MaxentClassifier):
    """A maximum-entropy classifier that is trained on a Dask cluster; the settings are those of ``MaxentClassifier``.

    client : a ``distributed.Client``; None: the current one
    n_threads : threads of the solver's own vectors, here; workers use the threads that they have

    The optimum is that of training in one process. Sums over parts are taken in a fixed order: the same partitions give
    the same weights, bit for bit, on any workers with the same number of threads.
    """

    def __init__(
        self, penalty: str | None = "l2", strength: float = 1.0, *, client: Any = None, **settings: Any
    ) -> None:
        super().__init__(penalty, strength, **settings)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*MaxentClassifier._get_param_names(), "client"])

    @restore_on_failure
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None, format: str | None = None,
        encoding: str = "utf-8",
    ) -> DaskMaxentClassifier:  # fmt: skip
        """Train on files, by name or pattern, or on Dask arrays, bags or data frames with labels ``y``.

        Files must be readable by every worker. Large plain files are cut where there are fewer files than workers.
        ``validation`` is a pair (X, y) of held-out examples in this process, for ``validation_score_``.
        """
        start = time.perf_counter()
        settings, pair = self._settings(), as_pair(validation)
        if self.tune is not None:
            raise IncompatibleError("tune is not for a cluster: choose the strength on a sample with MaxentClassifier")
        client = client_of(self.client)
        workers = sorted(client.nthreads())
        n_workers = len(workers)
        given = self._parts(X, y, sample_weight, client, n_workers, format, encoding)
        shared = len(given) > n_workers
        reads = {"ngrams": self.ngrams, "classes": self.classes}
        counted = [
            client.submit(count_part, one, reads, shared, pure=False, workers=[workers[k % n_workers]],
                          allow_other_workers=True)
            for k, one in enumerate(given)
        ]  # fmt: skip
        columns = self._join(client.gather([client.submit(summarise, one, pure=False) for one in counted]), y)
        facts = self.classes_, self.n_features_in_, self.fit_intercept, shared
        cluster = Cluster(client, [(encode_part, (one, own, *facts)) for one, own in zip(counted, columns)])
        try:
            loss = PartitionedLoss.of(DaskParts(cluster), len(counted), self._n_weights())
            solution = self._solve(loss, settings)
        finally:
            cluster.release()
        self.strength_ = settings.strength
        self._set_weights(solution.weights)
        record_training(self, solution)
        self._online = None
        self.fit_seconds_ = time.perf_counter() - start
        if pair is not None:
            self.validation_score_ = float(np.mean(self.predict(pair[0]) == np.asarray(pair[1])))
        return self

    def _parts(
        self, X: Any, y: Any, sample_weight: Any, client: Client, n_workers: int, format: str | None, encoding: str
    ) -> Sequence[Any]:
        named = isinstance(X, (str, os.PathLike)) or (
            isinstance(X, (list, tuple)) and bool(X) and all(isinstance(one, (str, os.PathLike)) for one in X)
        )
        if not named:
            return partitions_of(X, y, sample_weight, client)
        if y is not None or sample_weight is not None:
            raise ValueError("files have their labels in them: leave y and sample_weight out")
        return pieces_of(X, n_workers, format, encoding, Columns(self.text_column, self.label_column))

    def _join(self, summaries: Sequence[Summary | None], y: Any) -> list[Any]:
        """Set the classes and the features of all parts; return each part's columns."""
        found = [one for one in summaries if one is not None]
        self.n_examples_ = sum(one.n_examples for one in found)
        if not found:
            raise ValueError("the input holds no examples")
        kinds = sorted({one.kind for one in found})
        if len(kinds) > 1:
            raise ValueError(f"partitions have examples of different kinds: {', '.join(kinds)}")
        labels = np.concatenate([one.labels for one in found])
        self.classes_ = number_labels(labels, labels.size)[0]
        if kinds == ["matrix"]:
            self.featuriser_ = None
            widths = sorted({one.n_columns for one in found})
            if y is not None and len(widths) > 1:  # in files, the last columns may be empty
                raise ValueError(f"partitions of X have {', '.join(map(str, widths))} columns: give all the same")
            self.n_features_in_ = widths[-1]
            return [None] * len(summaries)
        featuriser = featuriser_for(_KIND_EXAMPLES[kinds[0]], ngrams=self.ngrams, min_count=self.min_count,
                                    classes=self.classes)  # fmt: skip
        assert featuriser is not None
        least = self.min_count if kinds == ["words"] else None
        featuriser._vocabulary, columns = join_features(summaries, least, in_order=kinds != ["words"])
        self.featuriser_, self.n_features_in_ = featuriser, len(featuriser.vocabulary)
        if self.n_features_in_ == 0:
            raise ValueError("the examples have no features at all: there is nothing to learn from")
        return columns

    def _solve(self, loss: PartitionedLoss, settings: Any) -> Solution:
        penalty = penalties.make(
            settings.penalty, settings.strength, nonnegative=settings.nonnegative, l1_ratio=settings.l1_ratio,
            n_free=self._n_columns() * self.fit_intercept, n_threads=self.n_threads,
        )
        return train(Objective(loss, penalty, self.n_threads), settings)

    def to_local(self) -> MaxentClassifier:
        """Return the trained model as one of this process, which needs no cluster."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = MaxentClassifier(**parameters)
        local.__dict__.update({k: v for k, v in self.__dict__.items() if k.endswith("_") or k == "_online"})
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file of ``to_local()``."""
        self.to_local().save(path)
