"""DaskMaxentClassifier: a classifier whose examples live on the workers of a Dask cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client

from loglinear.arrays import fingerprint
from loglinear.dask.clients import client_of
from loglinear.dask.estimator import OnCluster
from loglinear.dask.examples import HASHED, Summary, count_part, encode_part, join_features, summarise
from loglinear.dask.parts import PartTasks
from loglinear.dask.problem import Known, SpreadProblem
from loglinear.dask.shards import Cluster, Held
from loglinear.dask.sources import are_names, partitions_of, pieces_of
from loglinear.errors import IncompatibleError
from loglinear.features.text.settings import TextSettings
from loglinear.features.weighting import COUNT
from loglinear.losses.partitioned import PartitionedLoss
from loglinear.models.classifier.estimator import MaxentClassifier
from loglinear.models.classifier.files import Columns, read_for
from loglinear.models.classifier.inputs import featuriser_for
from loglinear.models.classifier.labels import class_weights_of, number_labels
from loglinear.models.classifier.tuning import check_tune, tune_on
from loglinear.models.trainer import record_training, training_method
from loglinear.models.validation import as_pair
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Solution

# One example of each kind, to make its featuriser.
_KIND_EXAMPLES: dict[str, Any] = {"words": [""], HASHED: [""], "dicts": [{}], "tokens": [[]]}


class DaskMaxentClassifier(OnCluster, MaxentClassifier):
    """A maximum-entropy classifier that is trained on a Dask cluster; the settings are those of ``MaxentClassifier``.

    client : a ``distributed.Client``; None: the current one
    n_threads : threads of the solver's own vectors, here; workers use the threads that they have

    The optimum is that of training in one process. Sums over parts are taken in a fixed order: the same partitions give
    the same weights, bit for bit, on any workers with the same number of threads.
    """

    local = MaxentClassifier

    def __init__(
        self, penalty: str | None = "l2", strength: float = 1.0, *, client: Any = None, **settings: Any
    ) -> None:
        super().__init__(penalty, strength, **settings)
        self.client = client

    @training_method
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None, format: str | None = None,
        encoding: str = "utf-8",
    ) -> DaskMaxentClassifier:  # fmt: skip
        """Train on files, by name or pattern, or on Dask arrays, bags or data frames with labels ``y``.

        Bags of records and data frames with a ``text_column`` may have their labels in their ``label_column``.
        Files must be readable by every worker. Large plain files are cut where there are fewer files than workers.
        ``validation`` is a file of held-out examples, or a pair (X, y) of them in this process: ``tune`` chooses the
        strength on them, and ``validation_score_`` is the accuracy on them.
        """
        start = time.perf_counter()
        settings = self._settings()
        if self.label_separator is not None:
            raise IncompatibleError("a cluster trains on examples with one label each: leave out label_separator")
        if self.one_vs_rest:
            raise IncompatibleError("a cluster trains one problem for all classes: leave out one_vs_rest")
        pair = validation if isinstance(validation, (str, os.PathLike)) else as_pair(validation)
        check_tune(self, pair)
        if self.tune == "cv":
            raise IncompatibleError("tune='cv' is not for a cluster: give held-out examples, and tune='validation'")
        before = (self.classes_, self._flat()) if self.warm_start and hasattr(self, "coef_") else None
        for name in ("tuning_", "validation_score_"):  # what an earlier fit may have left
            self.__dict__.pop(name, None)
        client = client_of(self.client)
        given = self._parts(X, y, sample_weight, client, format, encoding)
        tasks = PartTasks(client, given, self.verbose)
        texts = TextSettings.of(self)
        texts.featuriser()  # what is wrong with the settings is said here
        reads = replace(texts, min_count=1, weighting=COUNT)  # rarities are those of all parts, and are counted first
        counted = tasks.submit(count_part, given, reads, tasks.shared)
        columns = self._join(tasks.results(tasks.submit(summarise, counted), "partitions read"), y)
        if isinstance(pair, (str, os.PathLike)):
            named = Columns(self.text_column, self.label_column)
            examples, _ = read_for(self, pair, format, encoding, columns=named, n_threads=self.n_threads)
            pair = examples.X, examples.labels
        held_out = None if pair is None else self._encoded(*pair)
        weighted = (COUNT, None) if self.featuriser_ is None else (self.featuriser_.weighting, self.featuriser_._idf)
        facts = self.classes_, self.n_features_in_, self.fit_intercept, *weighted, self._by_class, tasks.shared
        cluster = Cluster(tasks.workers, [(Held, (encode_part, one)) for one in counted], given)
        del counted
        try:
            again = [(encode_part, count_part, one, reads, tasks.shared) for one in given]
            shards = cluster.encode([(own, *facts) for own in columns], again)
            loss = PartitionedLoss.of(shards, len(given), self._n_weights(), self.n_threads)
            n_free = self._n_columns() * self.fit_intercept
            problem = SpreadProblem(loss, settings, self._known(), n_free)
            self.strength_ = settings.strength
            solution = self._solve(problem, held_out, before)
        finally:
            cluster.release()
        self._set_weights(solution.weights)
        record_training(self, solution)
        self._online = None
        if held_out is not None:
            self.validation_score_ = float(np.mean(self.predict(held_out[0]) == held_out[1]))
        self.fit_seconds_ = time.perf_counter() - start
        self._warn(None, tuning=self.tune is not None)
        return self

    def _parts(
        self, X: Any, y: Any, sample_weight: Any, client: Client, format: str | None, encoding: str
    ) -> Sequence[Any]:
        columns = Columns(self.text_column, self.label_column)
        if not are_names(X):
            return partitions_of(X, y, sample_weight, client, columns)
        if y is not None or sample_weight is not None:
            raise ValueError("files have their labels in them: leave y and sample_weight out")
        return pieces_of(X, max(len(client.nthreads()), 1), format, encoding, columns)

    def _join(self, summaries: Sequence[Summary | None], y: Any) -> list[Any]:
        """Set the classes and the features of all parts; return each part's columns."""
        found = [one for one in summaries if one is not None]
        self.n_examples_ = sum(one.n_examples for one in found)
        if not found:
            raise ValueError("the input holds no examples")
        kinds = sorted({one.kind for one in found})
        if len(kinds) > 1:
            raise ValueError(f"partitions have examples of different kinds: {', '.join(kinds)}")
        types = sorted({"text" if one.labels.dtype.kind in "OSU" else "numbers" for one in found})
        if len(types) > 1:
            raise ValueError("some partitions have labels that are text, and others numbers: give all the same")
        labels = np.concatenate([one.labels for one in found])
        self.classes_, numbers = number_labels(labels, labels.size)
        counts = np.bincount(numbers, np.concatenate([one.label_counts for one in found]), self.classes_.size)
        self._by_class = class_weights_of(self.class_weight, self.classes_, counts)
        if kinds == ["matrix"]:
            self.featuriser_ = None
            widths = sorted({one.n_columns for one in found})
            if y is not None and len(widths) > 1:  # in files, the last columns may be empty
                raise ValueError(f"partitions of X have {', '.join(map(str, widths))} columns: give all the same")
            self.n_features_in_ = widths[-1]
            return [None] * len(summaries)
        featuriser = featuriser_for(_KIND_EXAMPLES[kinds[0]], TextSettings.of(self))
        assert featuriser is not None
        if kinds == [HASHED]:
            self.featuriser_, self.n_features_in_ = featuriser, featuriser.n_features
            documents = np.zeros(self.n_features_in_, np.int64)
            for part in found:
                assert part.documents is not None
                documents += part.documents
            featuriser.set_document_counts(documents, self.n_examples_)
            return [None] * len(summaries)
        least = self.min_count if kinds == ["words"] else None
        featuriser._vocabulary, columns = join_features(summaries, least, in_order=kinds != ["words"])
        self.featuriser_, self.n_features_in_ = featuriser, featuriser.n_features
        if self.n_features_in_ == 0:
            raise ValueError("the examples have no features at all: there is nothing to learn from")
        documents = np.zeros(self.n_features_in_, np.int64)
        for one, own in zip(summaries, columns):
            if one is not None and one.documents is not None and own is not None:
                documents[own[own >= 0]] += one.documents[own >= 0]
        featuriser.set_document_counts(documents, self.n_examples_)
        return columns

    def _solve(self, problem: SpreadProblem, held_out: Any, before: Any) -> Solution:
        """Solve at ``strength_``, or at the one that ``tune`` chooses."""
        if self.tune is not None:
            strengths = None if isinstance(self.tune, str) else self.tune
            tuned = tune_on(self._held_out(*held_out), problem, strengths)
            assert tuned.solution is not None
            self.strength_, self.tuning_ = tuned.strength, tuned.table
            return tuned.solution
        w0 = None
        if before is not None and np.array_equal(before[0], self.classes_) and before[1].size == self._n_weights():
            w0 = before[1]
        settings = problem.settings
        named = ("classifier", settings.penalty, self.strength_, f"{self.n_examples_}x{self.n_features_in_}")
        checkpoint = open_checkpoint(self.checkpoint, problem.data, *named, settings.solver)
        return problem.solve(self.strength_, start=w0, checkpoint=checkpoint)

    def _known(self) -> Known:
        """Return the fingerprint of the features and the classes, however the examples are cut into parts."""
        featuriser, start = self.featuriser_, " ".join(map(str, self.classes_.tolist()))
        if featuriser is None:
            return Known(fingerprint(None, start=start))
        start += "" if featuriser.settings() == {} else f" {featuriser.settings()}"
        return Known(fingerprint(*featuriser._name_arrays().values(), start=start))
