"""Online training of language models from minibatches, in one pass over a stream of text.

    minimise  - sum over tokens of log p(w | h)  +  penalty(weights)

by the stochastic accelerated proximal method of Nelakanti et al. (2013), algorithm 1, corrected. native/stream/tree.hh
has its equations, the reason why its steps must shrink, and how trees that a batch does not touch catch up later. The
n-grams (h, w) of contexts h that have always occurred together share one weight, so memory is that of the collapsed
tree (data/suffix_tree.py), which grows with the text. Under penalties that separate such n-grams, tree-l2 and strengths
that differ by order, every n-gram has a weight.

Penalties are those of batch training (``TreePenalty``, ``NgramPenalty``). On the tree of the whole text the objective
is the same too, except that an unknown word gets its share of probability only when the model is made.

Every step moves all weights of a tree, so a pass costs steps times classes: let ``batch_tokens`` grow with the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.backoff_form import backoff_of, model_of_packed
from loglinear.models.language_model.penalty import DEFAULTS, NgramPenalty, TreePenalty
from loglinear.threads import pool

BATCH_TOKENS = 400  # as in the paper
GAIN = 0.2  # measured: a quarter of it overshoots; three times as much needs three times as many epochs

Callback = Callable[[int, float], "bool | None"]  # tokens of this pass so far, their mean loss; True stops it


class OnlineNgrams:
    """The weights, the counts and the tree of a model in training.

    Parameters
    ----------
    n_words : size of the vocabulary
    order : longest n-gram; None: histories reach back to the beginning of the sentence
    penalty : as in batch training
    batch_tokens : tokens per step
    gain : how fast steps shrink (0: not at all, for batches that are the whole corpus)
    mu : constant of strong convexity with respect to the counts, if known
    lipschitz : Lipschitz constant of the loss in the metric of the counts; None: the mean number of n-grams per token
    eager : update the trees that a batch does not touch at once instead of later (for tests)
    n_threads : native threads; None: all cores
    """

    def __init__(
        self,
        n_words: int,
        order: int | None = 5,
        penalty: TreePenalty | NgramPenalty = DEFAULTS["tree-linf"],
        *,
        batch_tokens: int = BATCH_TOKENS,
        gain: float = GAIN,
        mu: float = 0.0,
        lipschitz: float | None = None,
        eager: bool = False,
        n_threads: int | None = None,
    ) -> None:
        if order is not None and (not isinstance(order, int) or isinstance(order, bool) or order < 1):
            raise ValueError(f"the order is {order!r}; it must be a whole number from 1, or None for no limit")
        if not isinstance(batch_tokens, int) or batch_tokens < 1:
            raise ValueError(f"batch_tokens is {batch_tokens!r}; it must be a whole number from 1")
        if not n_words >= 1:
            raise ValueError(f"{n_words} words: a model needs one to predict at least")
        self.n_words, self.order, self.penalty = n_words, order, penalty
        self.batch_tokens, self.n_threads = batch_tokens, n_threads
        self._strengths = _Strengths.of(penalty)
        self._native = _core.OnlineTree(
            n_words, order or 0, self._strengths.norm, self.collapses, penalty.nonnegative, self._strengths.norms,
            self._strengths.ridges, penalty.depth_growth, self._strengths.ridge_growth, penalty.unigram_strength, gain,
            mu, lipschitz or 0.0, eager,
        )  # fmt: skip

    # ---- what it holds ----------------------------------------------------------------------------------------------
    @property
    def collapses(self) -> bool:
        """Whether n-grams of contexts that always occur together share a weight."""
        return self._strengths.collapses

    @property
    def n_tokens(self) -> int:
        """Return the number of tokens of the tree, ends of sentences included."""
        return self._native.n_tokens

    @property
    def n_steps(self) -> int:
        """Return the number of batches learnt so far."""
        return self._native.n_steps

    @property
    def n_entries(self) -> int:
        """Weights: unigrams and entries of classes."""
        return self._native.n_entries

    @property
    def weights(self) -> FloatArray:
        """Return the weights of unigrams, then of the entries block by block: [n_entries]."""
        w = np.empty(self.n_entries)
        self._native.values(pool(self.n_threads), w)
        return w

    # ---- learning ---------------------------------------------------------------------------------------------------
    def learn(self, sentences: Sentences, *, callback: Callback | None = None) -> float:
        """Learn from new sentences in one pass; return their mean loss per token, scored before they are learnt.

        A batch stands for all tokens of the tree so far. ``callback`` is called after each batch; if it returns True,
        the sentences after that are not added to the tree.
        """
        self._check(sentences)
        words, ptr = sentences.contiguous()
        cuts = _batches(np.diff(ptr) + 1, self.batch_tokens)
        threads, loss, begin, n_tokens = pool(self.n_threads), 0.0, self.n_tokens, 0
        for a, b in pairwise(cuts):
            loss += self._native.learn(threads, words[ptr[a] : ptr[b]], ptr[a : b + 1] - ptr[a])
            n_tokens = self.n_tokens - begin
            if callback is not None and callback(n_tokens, loss / n_tokens):
                break
        return loss / max(n_tokens, 1)

    # ---- results ----------------------------------------------------------------------------------------------------
    def tree(self) -> tuple[SuffixTree, FloatArray]:
        """Return the classes so far (all n-grams, if none collapse) and their weights."""
        *arrays, length, end, source = self._native.layout()
        text = np.append(self._native.text(), np.uint32(self.n_words))
        trie = NgramTrie(arrays[0].size - 1, self.n_words, *arrays)
        return SuffixTree(trie, length, end, text, int(length.max()) + 1), self.weights[source]

    def to_backoff(self, vocabulary: WordVocabulary) -> BackoffModel:
        """Return the model in back-off form, without n-grams whose weight is zero."""
        packed = self.pack(vocabulary)
        if packed is not None:
            return model_of_packed(packed, vocabulary, n_threads=self.n_threads)
        tree, w = self._with_unknown(vocabulary)
        return backoff_of(NgramMaxentLoss(tree.trie, n_threads=self.n_threads), vocabulary, w)

    def pack(self, vocabulary: WordVocabulary) -> dict[str, NDArray[Any]] | None:
        """Return the arrays that a file of the model holds if n-grams collapse, None if they do not."""
        if not self.collapses:
            return None
        tree, w = self._with_unknown(vocabulary)
        return tree.pack(w)

    def _with_unknown(self, vocabulary: WordVocabulary) -> tuple[SuffixTree, FloatArray]:
        if vocabulary.n_words != self.n_words:
            raise ValueError(f"a vocabulary of {vocabulary.n_words} words for a model of {self.n_words}")
        tree, w = self.tree()
        _give_unknown(tree.trie, vocabulary, w)
        return tree, w

    # ---- details ----------------------------------------------------------------------------------------------------
    def _check(self, sentences: Sentences) -> None:
        if sentences.n_words != self.n_words:
            raise ValueError(f"sentences of a vocabulary of {sentences.n_words} words for a model of {self.n_words}")

@dataclass(frozen=True)
class _Strengths:
    """A penalty as the native steps take it: by depth, which is order - 2; the last value holds for the rest."""

    norm: str
    norms: list[float]
    ridges: list[float]
    ridge_growth: float
    collapses: bool

    @classmethod
    def of(cls, penalty: TreePenalty | NgramPenalty) -> _Strengths:
        if isinstance(penalty, TreePenalty):
            name = penalty.penalty
            return cls(name, [float(penalty.strength)], [float(penalty.l2)], 1.0, name == "tree-linf")
        flat = replace(penalty, depth_growth=1.0)  # which the native steps multiply in
        pairs = [flat.of_order(n + 2) for n in range(max(len(penalty.strength), len(penalty.l1_ratio)))]
        same = len(set(pairs)) == 1 and penalty.depth_growth == 1.0
        norms, ridges = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
        return cls("l1" if any(norms) else "none", norms, ridges, float(penalty.depth_growth), same)


def _batches(tokens: NDArray[Any], size: int) -> list[int]:
    """Return where batches of whole sentences begin, each of at least ``size`` tokens; the rest joins the last."""
    total = np.cumsum(tokens)
    cuts, reached = [0], 0
    while reached + size <= (total[-1] if total.size else 0):
        cuts.append(int(np.searchsorted(total, reached + size)) + 1)
        reached = int(total[cuts[-1] - 1])
    if cuts[-1] < total.size:
        cuts[-1 if len(cuts) > 1 else 1 :] = [int(total.size)]
    return cuts


def _give_unknown(trie: NgramTrie, vocabulary: WordVocabulary, w: FloatArray) -> None:
    """If the text had no ``<unk>``, set its weight so that it is as probable as half the words seen once together.

    A text tells nothing of words it lacks; the ridge alone would leave them next to no probability.
    """
    unknown = vocabulary.unknown
    if unknown is None or trie.entry_count[unknown] > 0 or trie.context_count[0] == 0:
        return
    counts = trie.entry_count[: trie.n_words]
    share = 0.5 * max(int(np.count_nonzero(counts == 1)), 1) / float(trie.context_count[0])
    others = np.delete(w[: trie.n_words], unknown)
    top = float(others.max())
    w[unknown] = top + np.log(np.exp(others - top).sum()) + np.log(share / (1 - share))
