"""Parser to and from an archive. Features of boundaries with weight zero are left out; probabilities do not change."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import ModelFileError
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.grammar.binarisation import Symbols
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.features import ROLES, TreeFeatures
from loglinear.grammar.lexicon import Lexicon
from loglinear.grammar.rules import RuleTable
from loglinear.models import archive as files
from loglinear.models.archive import (
    Archive,
    as_json,
    check_n_threads,
    parameters_of,
    require,
    restore_summary,
    training_summary,
)
from loglinear.models.parser.pruning import Coarse

KIND = "parser"
_RULES = ("parent", "left", "right", "unary_parent", "unary_child")


def save(model: Any, path: Any) -> None:
    """Write the model to a file."""
    files.save(path, to_archive(model))


def to_archive(model: Any) -> Archive:
    """Return what a file of the model holds."""
    features, weights = _without_zeros(model.features_, model.weights_)
    arrays: dict[str, np.ndarray] = {"weights": weights}
    arrays |= _grammar_arrays("grammar", model.grammar_)
    if model.coarse_ is not None:
        arrays |= _grammar_arrays("coarse", model.coarse_.grammar)
    arrays |= {f"lexicon.{name}": array for name, array in model.grammar_.lexicon.to_arrays().items()}
    arrays |= {"features.rule_ptr": features.rule_ptr, "features.rule_weight": features.rule_weight}
    for role, ptr, target in zip(ROLES, features.role_ptr, features.role_target):
        arrays |= {f"features.{role}_ptr": ptr, f"features.{role}_target": target}
    settings = {"parameters": as_json(model.parameters()), "root": model.root_}
    rules = model.grammar_.rules
    summary: dict[str, Any] = {
        "nonzero_weights": int(np.count_nonzero(weights)), "symbols": len(rules.symbols), "rules": rules.n_rules,
        "words": model.grammar_.lexicon.n_words, **training_summary(model),
    }  # fmt: skip
    return Archive(KIND, settings, summary, {name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _without_zeros(features: TreeFeatures, weights: FloatArray) -> tuple[TreeFeatures, FloatArray]:
    kept, ptrs, targets = [weights[: features.n_rule_weights]], [], []
    for role, (ptr, target) in enumerate(zip(features.role_ptr, features.role_target)):
        own = weights[features.offsets[role] : features.offsets[role + 1]]
        good = own != 0
        kept.append(own[good])
        ptrs.append(np.concatenate([[0], np.cumsum(good)]).astype(np.int64)[ptr])
        targets.append(np.ascontiguousarray(target[good]))
    found = TreeFeatures(features.rules, features.lexicon, features.rule_ptr, features.rule_weight, ptrs, targets)
    return found, np.concatenate(kept)


def _grammar_arrays(name: str, grammar: CountedGrammar) -> dict[str, np.ndarray]:
    rules = grammar.rules
    blob, offsets = pack_strings(rules.symbols.names)
    arrays: dict[str, np.ndarray] = {f"{name}.symbols": blob, f"{name}.symbol_offsets": offsets}
    arrays |= {f"{name}.{key}": getattr(rules, key) for key in _RULES}
    return arrays | {f"{name}.{key}": array for key, array in grammar.to_arrays().items()}


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model of an archive, an estimator or a predictor, after checking all that prediction relies on."""
    try:
        model = cls(**parameters_of(archive))
        model.check_settings()
        check_n_threads(model.n_threads)
        model.root_ = archive.settings["root"]
        if not isinstance(model.root_, str) or not model.root_:
            raise ValueError("root must be a label")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    rest = ("grammar_", "coarse_", "features_", "weights_", "_native")
    model.read_when_used(archive, source, rest, lambda: restore(model, archive, source))
    restore_summary(model, archive.summary)
    return model


def restore(model: Any, archive: Archive, source: Any) -> None:
    """Give a model the grammar, the features and the weights of an archive."""
    weights = require(source, archive, "weights", "<f8", 1)
    try:
        lexicon = Lexicon.from_arrays(dict(archive.part("lexicon.")))
        model.grammar_ = _grammar(archive, "grammar", lexicon)
        model.coarse_ = None
        if model.threshold is not None:
            model.coarse_ = Coarse(_grammar(archive, "coarse", lexicon), model.threshold)
        arrays = archive.part("features.")
        if any(array.ndim != 1 for array in arrays.values()):
            raise ValueError("the features are no lists of numbers")
        ptrs = [np.ascontiguousarray(arrays[f"{role}_ptr"], dtype=np.int64) for role in ROLES]
        targets = [np.ascontiguousarray(arrays[f"{role}_target"], dtype=np.int32) for role in ROLES]
        rule_ptr = np.ascontiguousarray(arrays["rule_ptr"], dtype=np.int64)
        rule_weight = np.ascontiguousarray(arrays["rule_weight"], dtype=np.int32)
        features = TreeFeatures(model.grammar_.rules, lexicon, rule_ptr, rule_weight, ptrs, targets)
        model._learn(features, weights)
        if model.coarse_ is not None:
            names = set(model.coarse_.grammar.rules.symbols.names)
            if any(s.coarse not in names for s in model.grammar_.rules.symbols.parsed):
                raise ValueError("the coarse grammar lacks a symbol")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(f"{source}: the parser is damaged ({error})") from None


def _grammar(archive: Archive, name: str, lexicon: Lexicon) -> CountedGrammar:
    arrays = dict(archive.part(f"{name}."))
    symbols = Symbols(tuple(Vocabulary.from_arrays(arrays["symbols"], arrays["symbol_offsets"], distinct=True)))
    columns = [np.ascontiguousarray(arrays[key], dtype=np.int32) for key in _RULES]
    for column in columns:
        if column.ndim != 1 or (column.size and (column.min() < 0 or column.max() >= len(symbols))):
            raise ValueError("a rule has an unknown symbol")
    if columns[0].size != columns[1].size or columns[0].size != columns[2].size or columns[3].size != columns[4].size:
        raise ValueError("rules differ in length")
    rules = RuleTable(symbols, *columns)
    same = all(np.array_equal(getattr(rules, key), column) for key, column in zip(_RULES, columns))
    if not same:  # their numbers are those of probabilities and weights
        raise ValueError("rules are not in their order")
    return CountedGrammar.from_arrays(rules, lexicon, arrays)
