"""Training on a Dask cluster: the same estimators, with examples that live on its workers.

    from distributed import Client
    from loglinear.dask import DaskMaxentClassifier

    client = Client(address)
    model = DaskMaxentClassifier(ngrams=(1, 2)).fit("shards/*.tsv")
    model.to_local().save("m.ll")
"""

from __future__ import annotations

try:
    import distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("loglinear.dask needs Dask: pip install 'loglinear[dask]'") from error

from loglinear.dask.classifier import DaskMaxentClassifier
from loglinear.dask.clients import cluster
from loglinear.dask.language_model import DaskLanguageModel
from loglinear.dask.reranker import DaskReranker
from loglinear.dask.tagger import DaskTagger

__all__ = ["DaskLanguageModel", "DaskMaxentClassifier", "DaskReranker", "DaskTagger", "cluster"]
