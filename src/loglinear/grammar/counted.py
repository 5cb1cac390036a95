"""A grammar counted from trees: relative frequencies of rules, smoothed; words of tags with classes of unknown ones.

    p(r | A)  =  (count(r) + smoothing) / sum over the rules of A

    p(w | t)  ∝  c(w) (c(t, w) + smoothing p_new(t)) / (c(w) + smoothing)

where p_new(t) is the share of tag t among rare words: a known word may have any tag that new words have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import ModelFileError
from loglinear.grammar.lexicon import Lexicon
from loglinear.grammar.model import Grammar, Ints
from loglinear.grammar.rules import Parts, RuleTable


@dataclass(frozen=True, eq=False)
class CountedGrammar:
    """Probabilities of numbered rules, and of the words of a lexicon under tags."""

    rules: RuleTable
    lexicon: Lexicon
    probability: FloatArray  # [n_rules]
    word_ptr: NDArray[np.int64]  # [n_words + 1]
    word_tag: Ints  # tags of each word
    word_probability: FloatArray  # p(word | tag)

    @classmethod
    def fit(
        cls, rules: RuleTable, lexicon: Lexicon, parts: Parts, words: Ints, *, smoothing: float = 0.0,
        word_smoothing: float = 1.0,
    ) -> CountedGrammar:
        """Count rules in the parts of trees; ``words`` are the numbers of all their words."""
        for name, value in (("smoothing", smoothing), ("word_smoothing", word_smoothing)):
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must not be negative, not {value!r}")
        used = parts.rule >= 0
        counts = np.bincount(parts.rule[used], minlength=rules.n_rules) + smoothing
        parent = np.concatenate([rules.parent, rules.unary_parent])
        total = np.bincount(parent, weights=counts, minlength=len(rules.symbols))
        tags = -1 - parts.rule[~used]
        table = _word_table(tags, words, rules.n_tags, lexicon, word_smoothing)
        word, tag = np.nonzero(table.T)
        ptr = np.searchsorted(word, np.arange(lexicon.n_words + 1)).astype(np.int64)
        return cls(rules, lexicon, counts / total[parent], ptr, tag.astype(np.int32), table[tag, word])

    @cached_property
    def grammar(self) -> Grammar:
        """The same as a grammar of symbols and words."""
        r = self.rules
        word = np.repeat(np.arange(self.lexicon.n_words), np.diff(self.word_ptr)).astype(np.int32)
        return Grammar(
            r.symbols.names, r.symbols.root, r.parent, r.left, r.right, self.probability[: r.n_binary],
            r.unary_parent, r.unary_child, self.probability[r.n_binary :], r.tag_symbol[self.word_tag], word,
            self.word_probability, tuple(self.lexicon.words),
        )  # fmt: skip

    @cached_property
    def log_probability(self) -> FloatArray:
        """Logarithms of the probabilities of rules [n_rules]."""
        with np.errstate(divide="ignore"):
            return np.log(self.probability)

    @cached_property
    def word_log_probability(self) -> FloatArray:
        """Logarithms of the probabilities of words."""
        return np.log(self.word_probability)

    def reading_scores(self, parts: Parts, words: Ints) -> FloatArray:
        """Return log p(word | tag) of the tagged words of trees, -inf for a tag that the word never has [n_words]."""
        tags = -1 - parts.rule[parts.rule < 0]
        order = self._reading_codes
        wanted = words.astype(np.int64) * self.rules.n_tags + tags
        place = np.minimum(np.searchsorted(order, wanted), order.size - 1)
        return np.where(order[place] == wanted, self.word_log_probability[place], -np.inf)

    @cached_property
    def _reading_codes(self) -> NDArray[np.int64]:
        word = np.repeat(np.arange(self.lexicon.n_words), np.diff(self.word_ptr))
        return word * self.rules.n_tags + self.word_tag

    # ---- saving ------------------------------------------------------------------------------------------------------
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file, without rules and lexicon."""
        return {"probability": self.probability, "word_ptr": self.word_ptr, "word_tag": self.word_tag,
                "word_probability": self.word_probability}  # fmt: skip

    @classmethod
    def from_arrays(cls, rules: RuleTable, lexicon: Lexicon, arrays: dict[str, NDArray[Any]]) -> CountedGrammar:
        """Return the grammar of a model file; ModelFileError unless its probabilities sum to one."""
        try:
            p = np.ascontiguousarray(arrays["probability"], dtype=np.float64)
            q = np.ascontiguousarray(arrays["word_probability"], dtype=np.float64)
            ptr = np.ascontiguousarray(arrays["word_ptr"], dtype=np.int64)
            tag = np.ascontiguousarray(arrays["word_tag"], dtype=np.int32)
            if p.shape != (rules.n_rules,) or q.shape != tag.shape or ptr.shape != (lexicon.n_words + 1,):
                raise ValueError("arrays differ in length")
            if ptr[0] != 0 or ptr[-1] != tag.size or np.any(np.diff(ptr) < 0):
                raise ValueError("pointers of words are damaged")
            if (tag.size and (tag.min() < 0 or tag.max() >= rules.n_tags)) or np.any(q <= 0):
                raise ValueError("a word has an unknown tag or no probability")
            found = cls(rules, lexicon, p, ptr, tag, q)
            _ = found.grammar
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"grammar: {error}") from None
        return found


def _word_table(tags: Ints, words: Ints, n_tags: int, lexicon: Lexicon, smoothing: float) -> FloatArray:
    """Return p(word | tag) [n_tags, n_words]."""
    counts = np.zeros((n_tags, lexicon.n_words))
    np.add.at(counts, (tags, words), 1.0)
    new = counts[:, lexicon.n_known :].sum(axis=1)
    if not new.any():
        new = counts.sum(axis=1)  # every word is known: a new one has the tags of all
    new /= new.sum()
    counts[:, lexicon.n_known] += new  # the class of words whose spelling is new, as often as once
    of_word = counts.sum(axis=0)
    seen = of_word > 0
    joint = np.zeros_like(counts)
    joint[:, seen] = (counts[:, seen] + smoothing * new[:, None]) * (of_word[seen] / (of_word[seen] + smoothing))
    return joint / joint.sum(axis=1, keepdims=True)
