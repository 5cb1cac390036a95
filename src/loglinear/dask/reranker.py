"""DaskReranker: a reranker whose n-best lists live on the workers of a Dask cluster."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from loglinear.dask.clients import client_of
from loglinear.dask.estimator import OnCluster
from loglinear.dask.lists import (
    ListFacts,
    ListSettings,
    SpreadLists,
    SpreadTask,
    encode_part,
    list_facts,
    read_part,
)
from loglinear.dask.parts import PartTasks
from loglinear.dask.shards import Cluster, Held
from loglinear.dask.sources import are_names, delayed_parts, list_pieces_of
from loglinear.data.candidates import RANK, CandidateLists, check_missing
from loglinear.data.edit_distance import ErrorUnits
from loglinear.errors import IncompatibleError
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.text import Source
from loglinear.models.reranker.estimator import Reranker
from loglinear.models.reranker.files import ListFiles
from loglinear.models.reranker.inputs import check_comparable, choose_base
from loglinear.models.reranker.methods import BATCH
from loglinear.models.trainer import training_method

SPREAD = (*BATCH, "none")  # the methods that are sums over lists


class DaskReranker(OnCluster, Reranker):
    """A reranker that is trained on a Dask cluster; the settings are those of ``Reranker``.

    method : "maxent" (default), "exponential", "expected-error" or "none", which are sums over lists; the others change
        one weight at a time, or go from list to list, and are for training in one process
    client : a ``distributed.Client``; None: the current one
    n_threads : threads of the solver's own vectors, here; workers use the threads that they have

    The optimum is that of training in one process, with the same features. Sums over parts are taken in a fixed order:
    the same partitions give the same weights, bit for bit, on any workers with the same number of threads.
    """

    local = Reranker

    def __init__(self, method: str = "maxent", *, client: Any = None, **settings: Any) -> None:
        super().__init__(method, **settings)
        self.client = client

    @training_method
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, validation: Any = None, base_model: str | os.PathLike[str] | None = None,
        format: str | None = None, encoding: str = "utf-8", references: Source | None = None,
        costs: Mapping[str, Source] | None = None,
    ) -> DaskReranker:  # fmt: skip
        """Train on files, by name or pattern, or on a Dask bag of lists or of dicts.

        Files must be readable by every worker; format, encoding, references and costs say how they are read, as by
        ``rerank train``. Large plain files of JSON lines are cut where there are fewer files than workers.
        ``base_model`` is the file of a language model. ``validation`` are held-out lists, in this process or in a file.
        """
        began = time.perf_counter()
        self.check_settings()
        self._check_spread(y, validation, base_model)
        client = client_of(self.client)
        files = ListFiles(format, references, costs, encoding=encoding)
        if are_names(X):
            given: Sequence[Any] = list_pieces_of(X, max(len(client.nthreads()), 1), files)
        else:
            given = delayed_parts(client, X)
        tasks = PartTasks(client, given, self.verbose)
        unlearnt, language = self._new_features(), None if base_model is None else os.fspath(base_model)
        read = tasks.submit(read_part, given, unlearnt, language)
        every: list[ListFacts | None] = tasks.results(tasks.submit(list_facts, read, tasks.shared), "partitions read")
        facts = [one for one in every if one is not None]
        if not facts:
            raise ValueError("there are no lists to learn from")
        names = self._base_names(facts, language is not None)
        features = copy.copy(unlearnt)
        joined = iter(features.join([one.uses for one in facts]))
        numbers = [np.empty(0, np.int32) if one is None else next(joined) for one in every]
        vocabulary = features.vocabulary
        own: list[tuple[Vocabulary, Any]] = [(vocabulary.take(one.astype(np.intp)), one) for one in numbers]
        held_out = None if validation is None else self._held_out_of(validation, language, files, features, names)
        settings = ListSettings(names, cast(ErrorUnits, self.units), check_missing(self.missing))
        cluster = Cluster(tasks.workers, [(Held, (encode_part, one)) for one in read], given)
        del read
        try:
            again = [(encode_part, read_part, one, unlearnt, language) for one in given]
            parts = cluster.encode([(one, settings, tasks.shared) for one in own], again)
            data = SpreadLists(parts, facts, features, names, numbers)
            if held_out is not None:
                check_comparable(data, held_out)
            self._follow(SpreadTask(data, held_out, self, self._path_before(data)), features, names)
        finally:
            cluster.release()
        self.fit_seconds_ = time.perf_counter() - began
        self._warn()
        return self

    def _check_spread(self, y: Any, validation: Any, base_model: Any) -> None:
        """Raise for settings that have no meaning on a cluster."""
        if self.method not in SPREAD:
            raise IncompatibleError(
                f"method {self.method!r} is no sum over lists that could be spread over a cluster: train it in one "
                f"process, with Reranker; {', '.join(SPREAD)} can be spread"
            )
        if y is not None:
            raise ValueError("lists have their references or errors in them: leave y out")
        if not (base_model is None or isinstance(base_model, (str, os.PathLike))):
            raise TypeError(
                f"base_model is {type(base_model).__name__}; workers need the name of a model file that they can read: "
                "save the language model first"
            )
        self._check_tune(validation)

    def _base_names(self, facts: Sequence[ListFacts], language_model: bool) -> tuple[str, ...]:
        found = set().union(*(one.scores for one in facts))
        names = choose_base(found, self.base, language_model)
        if RANK in names and RANK in found and any(RANK not in one.scores for one in facts):
            raise ValueError(f"some partitions have the score {RANK!r}, and others have not: give it to all lists")
        return names

    def _held_out_of(
        self, validation: Any, language: str | None, files: ListFiles, features: Any, names: tuple[str, ...]
    ) -> CandidateLists:
        model = None
        if language is not None:
            from loglinear.models.language_model.files import load_language_model

            model = load_language_model(language, self.n_threads)
        if isinstance(validation, (str, os.PathLike)):
            validation = files.read(os.fspath(validation))
        return self._held_out(validation, model, features, names)
