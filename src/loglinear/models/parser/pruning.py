"""Pruning by a coarse grammar: symbols over spans that it finds unlikely are left out of charts.

The coarse grammar is the one without siblings and ancestors in its symbols; a symbol of the model may stand where the
probability of its coarse symbol is at least the threshold (Charniak et al. 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loglinear import _core
from loglinear.formats.bracketed import Trees
from loglinear.grammar.binarisation import Binarisation
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.features import Sentences, TreeFeatures, length_buckets
from loglinear.grammar.lexicon import Lexicon
from loglinear.grammar.rules import RuleTable
from loglinear.threads import pool


@dataclass(frozen=True)
class PruningCost:
    """What pruning left: the share of the symbols over spans that the coarse grammar could have made."""

    kept: float
    gold_lost: float | None = None  # share of the gold trees' symbols that the threshold alone would have left out


@dataclass(frozen=True, eq=False)
class Coarse:
    """A coarse grammar and the threshold below which it prunes."""

    grammar: CountedGrammar
    threshold: float

    @classmethod
    def fit(cls, trees: Trees, lexicon: Lexicon, words: Any, direction: str, threshold: float, settings: Any) -> Coarse:
        """Count the coarse grammar of trees."""
        binary = Binarisation(direction, 0, 1).apply(trees)
        rules = RuleTable.of(binary)
        parts, _ = rules.parts(binary)
        counted = CountedGrammar.fit(rules, lexicon, parts, words, word_smoothing=settings.word_smoothing)
        return cls(counted, threshold)

    @cached_property
    def _native(self) -> Any:
        g = self.grammar
        n_buckets = int(length_buckets().max()) + 1
        n, V, K = g.rules.n_rules, g.lexicon.n_words + 1, g.lexicon.n_classes + 1
        none = [np.zeros(size + 1, dtype=np.int64) for size in (*[2 * V + 2 * K + K * K] * 3, n_buckets)]
        empty = np.empty(0, dtype=np.int32)
        features = TreeFeatures(g.rules, g.lexicon, np.zeros(n + 1, dtype=np.int64), empty, none, [empty] * 4)
        return _core.TreeModel(
            features.native, np.empty(0), g.log_probability, g.word_ptr, g.word_tag, g.word_log_probability
        )

    def masks(
        self, rules: RuleTable, sentences: Sentences, gold: Trees | None = None, direction: str = "right",
        n_threads: int | None = None,
    ) -> tuple[Any, PruningCost]:
        """Return the masks of sentences and what they cost; the symbols of ``gold`` trees are always kept."""
        own = self.grammar.rules.symbols
        number = {name: k for k, name in enumerate(own.names)}
        coarse = np.array([number[s.coarse] for s in rules.symbols.parsed], dtype=np.int32)
        always: tuple[Any, ...] = (None, None, None, None)
        arguments = (pool(n_threads), self._native, sentences.native, self.threshold)
        n_words = (len(own) + 63) // 64
        if gold is not None:
            binary = Binarisation(direction, 0, 1).apply(gold)
            symbol = np.array([number[name] for name in binary.labels], dtype=np.int32)[binary.label]
            always = (binary.tree_ptr, symbol, *binary.spans)
        ptr, bits, kept, possible, lost = _core.coarse_masks(*arguments, *always)
        masks = _core.TreeMasks(ptr, bits, coarse, n_words)
        share = None if gold is None else lost / max(always[1].size, 1)
        return masks, PruningCost(kept / possible if possible else 1.0, share)
