"""Online models with what only tests need."""

from itertools import pairwise

import numpy as np

from loglinear.models.language_model.online import OnlineNgrams, _batches
from loglinear.threads import pool


class Examined(OnlineNgrams):
    """A model with epochs over the text of its tree, and with the objective that they minimise."""

    def extend(self, sentences):
        self._native.extend(pool(self.n_threads), *sentences.contiguous())

    def set_weights(self, w):
        self._native.set_values(pool(self.n_threads), np.ascontiguousarray(w))

    def epoch(self, seed):
        """Learn from all sentences of the tree in one pass, shuffled."""
        text = self._native.text()
        sizes = np.diff(np.append(np.flatnonzero(text == self.n_words), text.size))  # a mark begins each sentence
        order = np.random.default_rng(seed).permutation(sizes.size)
        for a, b in pairwise(_batches(sizes[order], self.batch_tokens)):
            self._native.step(pool(self.n_threads), order[a:b], float(self.n_tokens))

    def loss_and_gradient(self, sentences):
        """Return the loss of sentences of the tree and its gradient per n-gram, without multiplicity."""
        out = np.empty(self.n_entries)
        return self._native.gradient(pool(self.n_threads), np.asarray(sentences, dtype=np.int64), out), out

    def objective(self):
        """Return the loss of all text plus the penalty."""
        return self.loss_and_gradient(np.arange(self._native.n_sentences))[0] + self.penalty_value()

    def penalty_value(self):
        """Return the penalty at ``weights``."""
        tree, x = self.tree()
        V, s = self.n_words, self._strengths
        m, depth = (a[V:].astype(np.int64) for a in (tree.entry_multiplicity, tree.entry_depth))
        depths = np.arange(tree.order)
        norms = np.asarray(s.norms)[np.minimum(depths, len(s.norms) - 1)] * self.penalty.depth_growth**depths
        ridges = np.asarray(s.ridges)[np.minimum(depths, len(s.ridges) - 1)] * s.ridge_growth**depths
        sums = np.append(0.0, np.cumsum(norms))  # a class is penalised as all its n-grams
        squares = self.penalty.unigram_strength * float(x[:V] @ x[:V]) + float((m * ridges[depth]) @ x[V:] ** 2)
        return squares / 2 + float((sums[depth + m] - sums[depth]) @ self._group_norms(tree.trie, x)[V:])

    def _group_norms(self, trie, x):
        """Return the norm of every entry with all entries below it."""
        if self._strengths.norm in ("l1", "none"):
            return np.abs(x)
        is_l2 = self._strengths.norm == "tree-l2"
        scale = trie.entry_count + max(self._strengths.ridges[0], 1e-300)
        norms = scale * x**2 if is_l2 else np.abs(x)
        for k in range(trie.order - 1, 1, -1):
            rows = slice(trie.entry_start[k], trie.entry_start[k + 1])
            (np.add if is_l2 else np.maximum).at(norms, trie.entry_parent[rows], norms[rows])
        return np.sqrt(norms / scale) if is_l2 else norms
