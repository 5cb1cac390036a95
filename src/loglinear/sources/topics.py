"""Topics of documents, and a deterministic function that assigns them from the words so far.

Documents without labels are clustered (spherical k-means over tf-idf vectors). A ``TopicAssigner`` scores topics
linearly in the counts of the words that came before in the document,

    topic(history) = argmax_t  n bias_t + sum over earlier words of weight[word, t],       n their number

and changes its mind between sentences only; the first sentence of a document has no topic.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear.data.documents import Documents, Layer

FloatArray = NDArray[np.float64]
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class TopicAssigner:
    """Weights of words for topics."""

    weights: NDArray[np.float32]  # [n_words, n_topics]
    bias: NDArray[np.float32]  # [n_topics]
    names: tuple[str, ...]

    def assign(self, documents: Documents, label: str = "topic") -> Documents:
        """Return the documents with a layer of topics known before each event, from earlier sentences alone."""
        ptr = documents.sentences.sentence_ptr
        chosen = np.full(documents.sentences.n_sentences, -1, np.int32)
        for d in range(documents.n_documents):
            first, end = documents.document_ptr[d : d + 2]
            score = np.zeros(self.bias.size)
            for s in range(int(first), int(end)):
                if s > first:
                    chosen[s] = int(np.argmax(score))
                words = documents.sentences.words[ptr[s] : ptr[s + 1]]
                score += self.weights[words].sum(axis=0, dtype=np.float64) + words.size * self.bias
        numbers = np.repeat(chosen, np.diff(documents.event_ptr))
        before = {**documents.before, label: Layer(numbers, self.names)}
        return Documents(documents.sentences, documents.document_ptr, documents.layers, before, documents.labels,
                         documents.places)  # fmt: skip

    def assign_documents(self, documents: Documents) -> NDArray[np.int32]:
        """Return the topic of every whole document: [n_documents]."""
        ptr = documents.sentences.sentence_ptr[documents.document_ptr]
        out = np.empty(documents.n_documents, np.int32)
        for d in range(out.size):
            words = documents.sentences.words[ptr[d] : ptr[d + 1]]
            out[d] = int(np.argmax(self.weights[words].sum(axis=0, dtype=np.float64) + words.size * self.bias))
        return out


def relative_counts(documents: Documents, words: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return the counts of some words in each document over its length: [n_documents, n_words]."""
    column = np.full(documents.sentences.n_words, -1, np.int64)
    column[words] = np.arange(words.size)
    ptr = documents.sentences.sentence_ptr[documents.document_ptr]
    out = np.zeros((documents.n_documents, words.size), np.float32)
    for d in range(documents.n_documents):
        columns = column[documents.sentences.words[ptr[d] : ptr[d + 1]]]
        out[d] = np.bincount(columns[columns >= 0], minlength=words.size)[: words.size] / max(ptr[d + 1] - ptr[d], 1)
    return out


def cluster_documents(
    documents: Documents, n_topics: int, *, n_words: int = 4000, seed: int = 0
) -> tuple[NDArray[np.int32], TopicAssigner]:
    """Cluster documents; return the topic of each and the function that assigns topics to others.

    ``n_words`` : the most frequent words that are in at most a third of the documents make the vectors
    """
    if not 1 <= n_topics <= documents.n_documents:
        raise ValueError(f"{n_topics} topics for {documents.n_documents} documents")
    words, idf = _telling_words(documents, n_words)
    rows = _unit(np.sqrt(relative_counts(documents, words)) * idf)
    rng = np.random.default_rng(seed)
    centres = _far_apart(rows, n_topics, rng)
    topic = np.full(documents.n_documents, -1)
    for _ in range(_ROUNDS):
        scores = rows @ centres.T
        found = np.argmax(scores, axis=1)
        if np.array_equal(found, topic):
            break
        topic = found
        sums = np.zeros_like(centres)
        np.add.at(sums, topic, rows)
        empty = np.flatnonzero(np.bincount(topic, minlength=n_topics) == 0)
        worst = np.argsort(scores[np.arange(topic.size), topic])[: empty.size]
        sums[empty] = rows[worst]
        centres = _unit(sums)
    weights = np.zeros((documents.sentences.n_words, n_topics), np.float32)
    weights[words] = (centres * idf).T  # linear in the counts: the same direction, without the root
    names = tuple(f"topic{k + 1}" for k in range(n_topics))
    return topic.astype(np.int32), TopicAssigner(weights, np.zeros(n_topics, np.float32), names)


def _telling_words(documents: Documents, n_words: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    V = documents.sentences.n_words
    in_documents = np.zeros(V, np.int64)
    ptr = documents.sentences.sentence_ptr[documents.document_ptr]
    for a, b in itertools.pairwise(ptr):
        in_documents[np.unique(documents.sentences.words[a:b])] += 1
    counts = np.bincount(documents.sentences.words, minlength=V)
    usable = (in_documents <= max(documents.n_documents // 3, 1)) & (in_documents >= 2)
    if not usable.any():
        usable = in_documents > 0
    words = np.argsort(-np.where(usable, counts, -1), kind="stable")[: min(n_words, int(usable.sum()))]
    return np.sort(words), np.log(documents.n_documents / in_documents[np.sort(words)] + 1).astype(np.float32)


def _unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    norm = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows / np.where(norm > 0, norm, 1)


def _far_apart(rows: NDArray[np.floating], n: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Return rows to begin from, each drawn with probability proportional to its distance from those before."""
    chosen = [int(rng.integers(rows.shape[0]))]
    nearest = rows @ rows[chosen[0]]
    while len(chosen) < n:
        distance = np.maximum(1 - nearest, 0).astype(np.float64)
        total = distance.sum()
        pick = int(rng.choice(rows.shape[0], p=distance / total)) if total > 0 else int(rng.integers(rows.shape[0]))
        chosen.append(pick)
        nearest = np.maximum(nearest, rows @ rows[pick])
    return rows[chosen].copy()


def naive_bayes_assigner(documents: Documents, label: str = "topic", smoothing: float = 0.1) -> TopicAssigner:
    """Return the assigner of labelled documents: log-odds of smoothed unigrams, with the frequency of each topic."""
    layer = documents.labels[label]
    n_topics, V = len(layer.names), documents.sentences.n_words
    tokens = np.repeat(layer.numbers[np.repeat(np.arange(documents.n_documents), np.diff(documents.document_ptr))],
                       np.diff(documents.sentences.sentence_ptr))  # fmt: skip
    known = tokens >= 0
    flat = tokens[known].astype(np.int64) * V + documents.sentences.words[known]
    counts = np.bincount(flat, minlength=n_topics * V).reshape(n_topics, V).astype(np.float64)
    overall = counts.sum(axis=0) + 1
    smoothed = counts + smoothing * overall / overall.sum() * V
    log_p = np.log(smoothed / smoothed.sum(axis=1, keepdims=True)) - np.log(overall / overall.sum())
    return TopicAssigner(np.ascontiguousarray(log_p.T, np.float32), np.zeros(n_topics, np.float32), tuple(layer.names))


