"""ParserPredictor: everything that a trained parser can be asked. It needs numpy and the extension only."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.formats.bracketed import Trees
from loglinear.formats.trees import Tree
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.features import Sentences, TreeFeatures
from loglinear.metrics.brackets import BracketScores, score_trees
from loglinear.models.archive import Archive
from loglinear.models.parser import file as parser_file
from loglinear.models.parser.charts import Charts, ParserInputs, read_inputs
from loglinear.models.parser.explain import TreeExplanation, explain
from loglinear.models.parser.pruning import Coarse, PruningCost
from loglinear.models.parser.settings import ParserSettings
from loglinear.models.predictor import Predictor

if TYPE_CHECKING:
    from typing_extensions import Self


class ParserPredictor(ParserSettings, Predictor):
    """A trained parser: trees, probabilities and explanations of new sentences.

    ``X`` is a list of sentences, each a list of words or text with blanks between words; or ``Trees``, whose words are
    taken. Most methods take two limits on the trees, by name:

    brackets : None, or per sentence a list of (begin, end) or (begin, end, label): words [begin, end) must be a
        constituent, of that label if one is given
    tags : None, or per sentence None or a list of tags, None for any
    """

    kind = parser_file.KIND
    grammar_: CountedGrammar  # rules and words, and their relative frequencies
    features_: TreeFeatures
    weights_: FloatArray
    coarse_: Coarse | None  # what prunes, where anything does
    root_: str  # the most frequent label of whole trees
    validation_score_: float  # where training had held-out trees

    def encode(self, X: Any) -> ParserInputs:
        """Return sentences as the model reads them; the other methods take them in place of ``X``, read already."""
        self.check_fitted()
        return read_inputs(self.grammar_.lexicon, X)

    def _charts(self, X: Any, brackets: Any = None, tags: Any = None) -> Charts:
        return Charts(self, self.encode(X), brackets, tags)

    # ---- trees -------------------------------------------------------------------------------------------------------
    def predict(self, X: Any, *, objective: str = "probability", cost: float = 0.0, **limits: Any) -> list[Tree]:
        """Return the best tree of every sentence.

        ``objective`` is "probability", the most probable tree, or "recall", the one with the greatest expected number
        of right constituents; ``cost`` is then taken off for every constituent (0.5 weighs precision like recall).
        """
        return list(self.predict_trees(X, objective=objective, cost=cost, **limits))

    def predict_trees(self, X: Any, *, objective: str = "probability", cost: float = 0.0, **limits: Any) -> Trees:
        """Return the best tree of every sentence as flat arrays."""
        if objective not in ("probability", "recall"):
            raise ValueError(f"objective must be 'probability' or 'recall', not {objective!r}")
        charts = self._charts(X, **limits)
        trees, scores = charts.recall(cost) if objective == "recall" else charts.best()
        missing = np.flatnonzero(np.isneginf(scores))
        if missing.size:
            warnings.warn(
                f"{missing.size} of {len(trees)} sentences have no tree under this grammar, the first is number "
                f"{missing[0] + 1}; each gets a flat one",
                stacklevel=3,
            )
        return trees

    def predict_nbest(
        self, X: Any, k: int = 10, *, logarithms: bool = False, **limits: Any
    ) -> list[list[tuple[Tree, float]]]:
        """Return up to k best trees of every sentence with their probabilities, best first.

        ``logarithms`` gives those of the probabilities, which of long sentences may be too small for a number.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        charts = self._charts(X, **limits)
        trees, scores, ptr = charts.nbest(k)
        log_p = scores - np.repeat(charts.log_normalisers(), np.diff(ptr))
        found = list(zip(trees, (log_p if logarithms else np.exp(log_p)).tolist()))
        return [found[a:b] for a, b in itertools.pairwise(ptr.tolist())]

    def sample(self, X: Any, n_samples: int = 1, random_state: int = 0, **limits: Any) -> list[list[Tree]]:
        """Return, for every sentence, ``n_samples`` trees drawn from p(tree | sentence)."""
        if n_samples < 0 or not 0 <= random_state < 2**64:
            raise ValueError("n_samples and random_state must not be negative, and random_state below 2^64")
        trees, ptr = self._charts(X, **limits).samples(n_samples, random_state)
        drawn = list(trees)
        return [drawn[a:b] for a, b in itertools.pairwise(ptr.tolist())]

    # ---- probabilities -----------------------------------------------------------------------------------------------
    def predict_marginals(
        self, X: Any, *, threshold: float = 0.01, **limits: Any
    ) -> list[list[tuple[int, int, str, float]]]:
        """Return (begin, end, label, probability) of every constituent and tag of at least ``threshold``.

        A label that stands several times over a span, in a chain, counts as often.
        """
        ptr, begin, end, label, p = self._charts(X, **limits).marginals(threshold)
        rules = self.grammar_.rules
        names = [*rules.symbols.labels, *(rules.symbols.parsed[s].chain[0] for s in rules.tag_symbol.tolist())]
        rows = list(zip(begin.tolist(), end.tolist(), [names[k] for k in label.tolist()], p.tolist()))
        return [rows[a:b] for a, b in itertools.pairwise(ptr.tolist())]

    def log_probability(self, trees: Any) -> FloatArray:
        """Return log p(tree | its words) of trees [n_trees]; -inf for a rule that training lacks or pruning removed."""
        trees = as_trees(trees)
        inputs = self.encode(trees)
        scores = self.tree_scores(trees, inputs.sentences)
        known = scores > -np.inf
        scores[known] -= self._charts(inputs).log_normalisers()[known]
        return scores

    def tree_scores(self, trees: Trees, sentences: Sentences) -> FloatArray:
        """Return w . f(x, y) + log q0 of trees [n_trees]; -inf where a rule or a reading of a word is unknown."""
        rules, grammar = self.grammar_.rules, self.grammar_
        binary = self.binarisation.apply(trees)
        number = rules.symbols.number
        symbol = np.array([number.get(name, -1) for name in binary.labels], dtype=np.int32)[binary.label]
        good = symbol >= 0
        known = np.ones(len(trees), dtype=bool)
        known[binary.tree_of[~good]] = False
        renamed = Trees(
            binary.tree_ptr, np.maximum(symbol, 0), binary.word, binary.size, rules.symbols.names, binary.words
        )
        parts, in_grammar = rules.parts(renamed)
        word_scores = grammar.reading_scores(parts, sentences.words)
        known &= in_grammar
        leaf = parts.rule < 0
        tree_of = np.repeat(np.arange(len(trees)), np.diff(parts.part_ptr))
        known[tree_of[leaf][np.isneginf(word_scores)]] = False
        out = np.full(len(trees), -np.inf)
        if known.any():
            kept = np.flatnonzero(known)
            counts = self.features_.counts(sentences, parts, self.n_threads)
            from loglinear.threads import pool

            counts.margins(pool(self.n_threads), self.weights_, None, 1, margins := np.empty(len(trees)))
            if self.has_base:
                base = np.zeros(leaf.size)
                base[~leaf] = grammar.log_probability[parts.rule[~leaf]]
                base[leaf] = word_scores
                base[~np.isfinite(base)] = 0.0
                margins += np.add.reduceat(base, parts.part_ptr[:-1])
            out[kept] = margins[kept]
        return out

    def input_log_probability(self, X: Any) -> FloatArray:
        """Return log of the sum over trees of q0 exp(w . f): scores of sentences under a joint model [n_sentences]."""
        if not self.has_base:
            raise ValueError(f"estimator {self.estimator!r} models trees given the words, not the words themselves")
        return self._charts(X).log_normalisers()

    # ---- evaluation --------------------------------------------------------------------------------------------------
    def evaluate(self, trees: Any, **options: Any) -> dict[str, Any]:
        """Return the figures of ``parse eval``: labelled bracketing as evalb counts it, exact matches, tags."""
        return self._scores(trees, **options).to_dict()

    def _scores(self, trees: Any, **options: Any) -> BracketScores:
        gold = as_trees(trees)
        return score_trees(gold, self.predict_trees(gold, **options))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the F1 of labelled constituents; ``X`` are trees, or sentences whose trees are ``y``."""
        return self._scores(as_trees(X if y is None else y)).f1

    def explain(self, sentence: Any) -> TreeExplanation:
        """Return the best tree of one sentence with the share of every feature in its score."""
        return explain(self, sentence)

    # ---- what charts need --------------------------------------------------------------------------------------------
    def _learn(self, features: TreeFeatures, weights: FloatArray) -> None:
        """Take features and weights for prediction."""
        self.features_, self.weights_ = features, np.ascontiguousarray(weights, dtype=np.float64)
        g = self.grammar_
        base = (g.log_probability, g.word_log_probability) if self.has_base else (None, None)
        self._native = _core.TreeModel(features.native, self.weights_, base[0], g.word_ptr, g.word_tag, base[1])

    def _masks_for(self, sentences: Sentences) -> tuple[Any, PruningCost | None]:
        if self.coarse_ is None:
            return None, None
        return self.coarse_.masks(self.grammar_.rules, sentences, n_threads=self.n_threads)

    def _flat_tree(self, words: list[str]) -> Tree:
        """Return the tree of a sentence that the grammar has none for: its words under their likeliest tags."""
        g = self.grammar_
        children = []
        for word, number in zip(words, g.lexicon.numbers(words).tolist()):
            place = slice(*g.word_ptr[number : number + 2].tolist())
            tag = g.rules.tag_symbol[g.word_tag[place][int(np.argmax(g.word_probability[place]))]]
            children.append(Tree(g.rules.symbols.parsed[tag].chain[0], word))
        return Tree(self.root_, None, children)

    # ---- files -------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically; ``loglinear.load`` reads it. Zero weights of boundaries are left out."""
        self.check_fitted()
        parser_file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Return the model in a file that ``loglinear.load`` has opened."""
        return parser_file.load(cls, archive, source)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "_native"}
        if "weights_" in state:
            state["features_"], state["grammar_"], state["coarse_"] = None, None, None
            state["_archive"] = parser_file.to_archive(self)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        archive = state.pop("_archive", None)
        self.__dict__.update(state)
        if archive is not None:
            parser_file.restore(self, archive, "<pickle>")


def as_trees(trees: Any) -> Trees:
    """Return trees as flat arrays."""
    if isinstance(trees, Trees):
        return trees
    trees = list(trees)
    if bad := next((t for t in trees if not isinstance(t, Tree)), None):
        raise TypeError(f"trees are needed, not {type(bad).__name__}; read_bracketed reads them from a file")
    return Trees.of(trees)
