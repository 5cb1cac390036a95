"""DaskTagger: a tagger whose sentences live on the workers of a Dask cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from loglinear.arrays import fingerprint
from loglinear.dask.clients import client_of
from loglinear.dask.estimator import OnCluster
from loglinear.dask.parts import PartTasks
from loglinear.dask.problem import Known, SpreadProblem
from loglinear.dask.sentences import (
    LabelFacts,
    convert_labels,
    count_sentences,
    encode_sentences,
    join_parts,
    label_facts,
    own_features,
)
from loglinear.dask.shards import Cluster, Held
from loglinear.dask.sources import are_names, files_of, partitions_of, sentence_pieces_of
from loglinear.data.chain_features import ChainFeatures
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features import schemes
from loglinear.features.columns import Columns
from loglinear.features.sequences import check_labels
from loglinear.losses.partitioned import PartitionedLoss
from loglinear.models.tagger.constraints import as_constraint, constraint_base
from loglinear.models.tagger.estimator import Tagger
from loglinear.models.tagger.files import training_format
from loglinear.models.tagger.inputs import TokenReader
from loglinear.models.tagger.reading import Layout, read_sequences
from loglinear.models.tagger.training import warn_of_broken
from loglinear.models.trainer import record_training, solver_settings, training_method
from loglinear.models.validation import as_pair

_ALONE = {  # settings that need all sentences in one process, and their values that do not
    "oov": (False, "the first occurrence of every value is known only there"),
    "max_features": (None, "features are ranked under a model of all sentences"),
    "initialise": (None, "the M-estimate to start from is made of all sentences"),
    "input_only": (None, "M-estimation is"),
    "min_feature_count": (0, "how often a feature occurs is known only there"),
    "em": (0, "expectation-maximisation is"),
    "warm_start": (False, "a model is continued there"),
}


class DaskTagger(OnCluster, Tagger):
    """A tagger that is trained on a Dask cluster; the settings are those of ``Tagger``.

    client : a ``distributed.Client``; None: the current one
    n_threads : threads of the solver's own vectors, here; workers use the threads that they have

    Estimators "crf", "memm" and "pseudolikelihood" are sums over sentences, and can be spread; "m-estimation" and "hmm"
    cannot, nor what is in docs/scale.md. The optimum is that of training in one process, with the same features.
    Sums over parts are taken in a fixed order: the same partitions give the same weights, bit for bit, on any workers
    with the same number of threads.
    """

    local = Tagger

    def __init__(self, estimator: str = "crf", templates: Any = None, *, client: Any = None, **settings: Any) -> None:
        super().__init__(estimator, templates, **settings)
        self.client = client

    @training_method
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, validation: Any = None, format: str | None = None, encoding: str = "utf-8",
        label_column: int = -1, comments: bool = False,
    ) -> DaskTagger:  # fmt: skip
        """Train on files, by name or pattern, or on Dask bags of sentences ``X`` and of their labels ``y``.

        Files must be readable by every worker; format, encoding, label_column and comments say how they are read, as
        in ``tag train``. Large plain files are cut between sentences where there are fewer files than workers.
        ``validation`` is a file of held-out sequences, or a pair (X, y) of them in this process: ``tune`` chooses the
        strength on them, and ``validation_score_`` is the score on them.
        """
        began = time.perf_counter()
        self._check()
        pair = validation if isinstance(validation, (str, os.PathLike)) else as_pair(validation)
        self._check_tune(pair)
        for name in ("validation_score_", "tuning_", "history_"):  # what an earlier fit may have left
            self.__dict__.pop(name, None)
        client = client_of(self.client)
        reader = TokenReader.for_settings(self)
        assert reader.featuriser is not None
        reads = reader.featuriser, reader.reads_columns
        if are_names(X):
            if y is not None:
                raise ValueError("files have their labels in them: leave y out")
            layout = Layout(training_format(self, files_of(X)[0], format), encoding, label_column, comments=comments)
            given: Sequence[Any] = sentence_pieces_of(X, max(len(client.nthreads()), 1), layout)
        else:
            given = partitions_of(X, y, None, client)
        tasks = PartTasks(client, given, self.verbose)

        counted = tasks.submit(count_sentences, given, *reads, tasks.shared)
        facts = tasks.results(tasks.submit(label_facts, counted), "partitions read")
        conversion = None
        self.source_scheme_ = _detected(facts).scheme
        if self.scheme is not None:
            conversion = schemes.source_scheme(_names(facts), self.source_scheme_, self.scheme), self.scheme
            counted = tasks.submit(convert_labels, counted, *conversion)
            facts = tasks.results(tasks.submit(label_facts, counted), "partitions read")
        self._learn_labels(facts)
        found = tasks.results(
            tasks.submit(own_features, counted, self.order, self.features == "all", tasks.shared), "partitions counted"
        )
        self.reader_ = reader
        every = [None if one is None else one.names for one in facts]
        features, parts = join_parts(
            found, every, self.classes_, reader.featuriser, order=self.order, all_features=self.features == "all",
            all_transitions=self.transitions == "all",
        )  # fmt: skip
        reader.n_columns = next((one.n_columns for one in facts if one is not None), None)
        del found
        if isinstance(pair, (str, os.PathLike)):
            kind, wanted = "conll" if reader.reads_columns else "crfsuite", reader.n_columns
            read = read_sequences(pair, kind, encoding, label_column=label_column, n_columns=wanted, comments=comments)
            pair = read.X, read.labels
        held_out = None if pair is None else self._held_out(*self._checked(*pair))

        last = self.classes_, self.estimator, self.machine, tasks.shared
        cluster = Cluster(tasks.workers, [(Held, (encode_sentences, one)) for one in counted], given)
        del counted
        try:
            again = [(encode_sentences, count_sentences, one, *reads, tasks.shared, conversion) for one in given]
            shards = cluster.encode([(own, *last) for own in parts], again)
            loss = PartitionedLoss.of(shards, len(given), features.n_weights, self.n_threads)
            problem = SpreadProblem(loss, solver_settings(self), _known(features, self.n_tokens_), features=features)
            self.hmm_, self.input_only_, self.strength_ = None, None, float(self.strength)
            solution = self._solve(problem, None, held_out)  # type: ignore[arg-type]
        finally:
            cluster.release()
        self._learn(features, solution.weights)
        record_training(self, solution)
        self.fit_seconds_ = time.perf_counter() - began
        if held_out is not None:
            self.validation_score_ = self.score(*held_out)
        self._warn()
        return self

    def _check(self) -> None:
        """Raise for settings that have no meaning, or none on a cluster."""
        self.check_settings()
        if self.has_base:
            raise IncompatibleError(
                f"estimator {self.estimator!r} is no sum over sentences that could be spread over a cluster: train it "
                "in one process, with Tagger; 'crf', 'memm' and 'pseudolikelihood' can be spread"
            )
        for name, (value, why) in _ALONE.items():
            if getattr(self, name) != value:
                raise IncompatibleError(f"{name} is for training in one process: {why}. Use Tagger, or leave it out")

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Refuse held-out columns that are not those of the training data."""
        if isinstance(X, Columns) and X.n_columns != self.reader_.n_columns:
            raise FormatError(
                f"the held-out sequences have {X.n_columns} columns besides the label, but those of training have "
                f"{self.reader_.n_columns}"
            )
        return X, y

    def _learn_labels(self, every: Sequence[LabelFacts | None]) -> None:
        """Set the labels and their scheme; refuse parts that do not fit each other."""
        facts = [one for one in every if one is not None]
        self.n_sequences_, self.n_tokens_ = sum(f.n_sequences for f in facts), sum(f.n_tokens for f in facts)
        if not facts:
            raise ValueError("there are no tokens to learn from")
        _check_columns(facts)
        self.classes_ = _names(facts)
        if not self.classes_:
            raise ValueError("no token has a label: there is nothing to learn from")
        if self.estimator != "crf" and not any(one.any_known for one in facts):
            raise ValueError(f"estimator {self.estimator!r} needs labels; only 'crf' learns from partly known ones")
        found = _detected(facts)
        if self.scheme is not None and self.scheme in schemes.schemes_of(self.classes_):
            found = schemes.Detected(self.scheme, sum(one.broken[self.scheme][0] for one in facts))
        self.scheme_, self.n_illegal_ = found
        # A constraint is refused before training rather than after it.
        constraint_base(self.classes_, as_constraint(self.constraint, self.legal_scheme))
        place = None if self.scheme_ is None else _first_broken(facts, self.scheme_)
        warn_of_broken(self.classes_, self.scheme_, self.n_illegal_, place, stacklevel=5)


def _known(features: ChainFeatures, n_tokens: int) -> Known:
    """Return the fingerprint of the features and the size of the data, however they are cut into parts."""
    f = features
    lists = f.node_ptr, f.node_label, f.pair_ptr, f.pair_code, f.transition_code, f.trigram_code
    return Known(fingerprint(*lists, start=str(n_tokens)))


def _names(facts: Sequence[LabelFacts | None]) -> list[Any]:
    """Return the labels of all parts, sorted."""
    names = {name for one in facts if one is not None for name in one.names}
    check_labels(names)
    return sorted(names)


def _detected(facts: Sequence[LabelFacts | None]) -> schemes.Detected:
    """Return the scheme of the labels of all parts."""
    found = [one.broken for one in facts if one is not None]
    return schemes.least_broken(_names(facts), lambda scheme: sum(one[scheme][0] for one in found))


def _first_broken(facts: Sequence[LabelFacts], scheme: str) -> tuple[int, int] | None:
    """Return the sequence, among those of all parts, and the token of the first label that breaks a scheme."""
    before = 0
    for one in facts:
        _, place = one.broken[scheme]
        if place is not None:
            return before + place[0], place[1]
        before += one.n_sequences
    return None


def _check_columns(facts: Sequence[LabelFacts]) -> None:
    """Raise for a part that has another number of columns than the first."""
    first = facts[0]
    for k, one in enumerate(facts):
        if one.n_columns != first.n_columns:
            other = f" as {first.source}" if first.source else ""
            message = f"there are {one.n_columns} columns besides the label, and not {first.n_columns}{other}"
            if one.source:
                raise FormatError(message, one.source)
            raise ValueError(f"partition {k}: {message}; give all partitions the same columns")
