"""Tagger to and from an archive, and from the text dump of a CRFsuite model.

Zero weights are left out, and with them attributes that have no other weight; probabilities do not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loglinear.data.chain_features import ChainFeatures
from loglinear.errors import ModelFileError
from loglinear.features import TOKEN_FEATURISERS, schemes
from loglinear.features.attributes import AttributeFeatures
from loglinear.features.phrases import file_names
from loglinear.features.sequences import as_label
from loglinear.features.templates import TemplateFeatures
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_classes import file_name
from loglinear.formats.crfsuite.binary import read_crfsuite_model
from loglinear.formats.crfsuite.model import CrfsuiteModel
from loglinear.formats.named_arrays import Chosen
from loglinear.hmm.model import HMM
from loglinear.hmm.oov import OovMap
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
from loglinear.models.tagger.constraints import as_constraint, constraint_base
from loglinear.models.tagger.input_only import InputOnly
from loglinear.models.tagger.inputs import TokenReader

KIND = "tagger"
# Pairs of labels that a file may ask for, each of which takes memory: so many, or so many for each of its weights.
_MOST_PAIRS, _MOST_PER_WEIGHT = 1 << 24, 1 << 10
_LABELS: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "bool": "True".__eq__}  # from text, by their type
_LISTS = {
    "node_ptr": "<i8",
    "node_label": "<i4",
    "pair_ptr": "<i8",
    "pair_code": "<i4",
    "transition_code": "<i4",
    "trigram_code": "<i4",
}


def save(model: Any, path: Any) -> None:
    """Write the model to a file."""
    files.save(path, to_archive(model))


def to_archive(model: Any) -> Archive:
    """Return what the file of a model holds."""
    features, weights, reader = model.features_, model.weights_, model.reader_
    featuriser, n_attributes, n_weights = reader.featuriser, features.n_attributes, int(np.count_nonzero(weights))
    arrays: dict[str, Any] = {name: getattr(features, name) for name in _LISTS}
    arrays["weights"] = weights
    if n_weights < weights.size:
        arrays |= _nonzero(features, weights)
    if featuriser is not None:
        used = _used(arrays["node_ptr"], arrays["pair_ptr"], features.n_numbers)
        if used.size < n_attributes:
            n_attributes, featuriser = used.size, featuriser.take(used[: used.size - features.n_numbers])
            ends = np.append(used, -1)  # the attributes between two used ones have no features
            arrays["node_ptr"], arrays["pair_ptr"] = arrays["node_ptr"][ends], arrays["pair_ptr"][ends]
    arrays["classes"], arrays["class_offsets"] = pack_strings([str(label) for label in model.classes_])
    parameters = {**model.parameters(), "constraint": as_constraint(model.constraint)}
    # The featuriser has the classes and the phrases themselves.
    parameters["classes"], parameters["lexicon"] = file_name(model.classes), file_names(model.lexicon)
    settings: dict[str, Any] = {"parameters": as_json(parameters)}
    if (kind := type(model.classes_[0]).__name__) != "str":
        settings["labels"] = kind
    settings["reads_columns"], settings["n_columns"] = reader.reads_columns, reader.n_columns
    if reader.n_numbers:
        settings["n_numbers"] = reader.n_numbers
    if reader.emits:
        settings["emissions"] = True
    settings["label_scheme"], settings["illegal_labels"] = model.scheme_, model.n_illegal_
    parts = {"featuriser": featuriser, "oov": reader.oov}
    if model.input_only_ is not None:
        inputs = model.input_only_.nonzero()
        parts["input_only"], arrays["input_weights"] = inputs.featuriser, inputs.weights
    for name, part in parts.items():
        if part is not None:
            values, extra = part.to_arrays()
            settings[name] = {"kind": getattr(part, "kind", name), "settings": values}
            arrays.update({f"{name}.{key}": array for key, array in extra.items()})
    if model.hmm_ is not None and model.has_base:
        arrays.update({f"hmm.{key}": array for key, array in model.hmm_.to_arrays().items()})
    summary: dict[str, Any] = {"nonzero_weights": n_weights, "labels": len(model.classes_)}
    summary["attributes"] = n_attributes
    summary |= training_summary(model)
    return Archive(KIND, settings, summary, arrays)


def _nonzero(features: ChainFeatures, weights: np.ndarray) -> dict[str, Any]:
    """Return the lists of the features whose weights are not zero, with the weights."""
    found: dict[str, Any] = {"weights": Chosen(weights, weights)}
    parts = np.split(weights, features.offsets[1:-1])
    for name, part in zip(("node_label", "pair_code", "transition_code", "trigram_code"), parts):
        found[name] = Chosen(getattr(features, name), part)
    for name, part in zip(("node_ptr", "pair_ptr"), parts):
        found[name] = _pointers(getattr(features, name), part)
    return found


def _pointers(ptr: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return where the features of each attribute begin when those whose weights are zero are gone."""
    out, n, step = np.zeros_like(ptr), 0, 1 << 18
    for begin in range(0, weights.size, step):
        before = np.cumsum(weights[begin : begin + step] != 0, dtype=np.int64) + n
        first, last = np.searchsorted(ptr, (begin, begin + before.size), side="right")
        out[first:last] = before[ptr[first:last] - begin - 1]
        n = int(before[-1])
    return out


def _used(node_ptr: np.ndarray, pair_ptr: np.ndarray, n_numbers: int) -> np.ndarray:
    """Return the attributes that have a feature, and all that are columns of numbers."""
    used = (node_ptr[1:] > node_ptr[:-1]) | (pair_ptr[1:] > pair_ptr[:-1])
    used[used.size - n_numbers :] = True
    return np.flatnonzero(used)


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model of an archive, an estimator or a predictor, after checking all that prediction relies on."""
    settings = archive.settings
    try:
        parameters = parameters_of(archive)
        if isinstance(parameters.get("constraint"), list):
            parameters["constraint"] = tuple((as_label(a), as_label(b)) for a, b in parameters["constraint"])
        model = cls(**parameters)
        model.check_settings()
        check_n_threads(model.n_threads)
        reads_columns, n_columns = bool(settings["reads_columns"]), settings.get("n_columns")
        if n_columns is not None and (type(n_columns) is not int or n_columns < 1):
            raise ValueError("n_columns must be a positive number")
        n_numbers, emits = settings.get("n_numbers", 0), settings.get("emissions", False)
        if type(n_numbers) is not int or not 0 <= n_numbers < 2**31 or type(emits) is not bool:
            raise ValueError("n_numbers must be a number of at least 0, and emissions true or false")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    blob, offsets = require(source, archive, "classes", "|u1", 1), require(source, archive, "class_offsets", "<i8", 1)
    try:
        from_text = _LABELS[settings.get("labels", "str")]
        model.classes_ = [from_text(text) for text in Vocabulary.from_arrays(blob, offsets)]
        if len(set(model.classes_)) != len(model.classes_):
            raise ModelFileError("a label occurs twice")
    except (KeyError, TypeError, ValueError) as error:  # ModelFileError is a ValueError
        raise ModelFileError(f"{source}: the labels are damaged ({error})") from None
    restore_summary(model, archive.summary)

    def read() -> None:
        _read_features(model, archive, source, (reads_columns, n_columns, n_numbers, emits))

    rest = ("reader_", "features_", "weights_", "hmm_", "input_only_", "scheme_", "n_illegal_", "_models")
    model.read_when_used(archive, source, rest, read)
    return model


def _read_features(model: Any, archive: Archive, source: Any, reader: tuple[bool, Any, int, bool]) -> None:
    """Read the features and the weights of a model whose settings and labels have been read."""
    settings, (reads_columns, n_columns, n_numbers, emits) = archive.settings, reader
    featuriser = _part(archive, source, "featuriser")
    oov = _part(archive, source, "oov")
    if (isinstance(featuriser, TemplateFeatures) or model.has_base) and not reads_columns:
        raise ModelFileError(f"{source}: the model's settings are damaged (its features need columns)")
    model.reader_ = TokenReader(featuriser, oov, reads_columns, n_columns, n_numbers, emits)
    lists = {name: require(source, archive, name, dtype, 1) for name, dtype in _LISTS.items()}
    weights = require(source, archive, "weights", "<f8", 1)
    L, most_pairs = len(model.classes_), max(_MOST_PAIRS, _MOST_PER_WEIGHT * weights.size)
    if most_pairs < L * L:
        raise ModelFileError(f"{source}: the model is damaged ({weights.size} weights for {L} labels)")
    features = ChainFeatures(L, **lists, n_numbers=n_numbers)
    model.hmm_, model.input_only_ = _hmm(archive, source, model), _input_only(archive, source, model)
    try:
        if features.node_ptr.size != model.reader_.n_attributes + 1:
            raise ValueError("attributes and features differ in number")
        model.scheme_, model.n_illegal_ = _scheme(settings, model, features)
        constraint_base(model.classes_, as_constraint(model.constraint, model.legal_scheme))
        model._learn(features, weights)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's features are damaged ({error})") from None


def _scheme(settings: dict[str, Any], model: Any, features: ChainFeatures) -> schemes.Detected:
    """Return the scheme of the training labels; older files lack it, but have the pairs of labels that occurred."""
    if "label_scheme" not in settings:
        observed = features.transition_code if model.transitions == "observed" else features.transition_code[:0]
        return schemes.detect_by_pairs(model.classes_, observed)
    scheme, n_illegal = settings["label_scheme"], settings.get("illegal_labels")
    if type(n_illegal) is not int or n_illegal < 0:
        raise ValueError("illegal_labels must be a number of at least 0")
    if scheme is not None and scheme not in schemes.schemes_of(model.classes_):
        raise ValueError(f"the labels are not of the scheme {scheme!r}")
    return schemes.Detected(scheme, n_illegal)


def _part(archive: Archive, source: Any, name: str) -> Any:
    """Return the featuriser or the OOV map of the archive, or None."""
    entry = archive.settings.get(name)
    if entry is None:
        return None
    arrays = archive.part(name + ".")
    try:
        kind: Any = OovMap if name == "oov" else TOKEN_FEATURISERS[entry["kind"]]
        return kind.from_arrays(dict(entry["settings"]), arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's {name} is damaged ({error})") from None


def _input_only(archive: Archive, source: Any, model: Any) -> InputOnly | None:
    featuriser = _part(archive, source, "input_only")
    if featuriser is None:
        return None
    weights = require(source, archive, "input_weights", "<f8", 1)
    fits = model.has_base and isinstance(featuriser, TemplateFeatures) and weights.size == featuriser.n_attributes
    if not fits or not np.all(np.isfinite(weights)):
        raise ModelFileError(f"{source}: the model's input-only features are damaged")
    return InputOnly(featuriser, weights)


def _hmm(archive: Archive, source: Any, model: Any) -> HMM | None:
    if not model.has_base:
        return None
    try:
        hmm = HMM.from_arrays(dict(archive.part("hmm.")))
        if hmm.n_labels != len(model.classes_):
            raise ValueError("labels differ in number")
        if model.reader_.oov is None or [e.shape[1] for e in hmm.emissions] != list(model.reader_.oov.sizes):
            raise ValueError("columns differ in their number of values")
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's base distribution is damaged ({error})") from None
    return hmm


def from_crfsuite(cls: Any, source: Any) -> Any:
    """Return a tagger with the weights of a CRFsuite model, binary or as text."""
    return from_crfsuite_model(cls, read_crfsuite_model(source))


def from_crfsuite_model(cls: Any, found: CrfsuiteModel) -> Any:
    """Return a tagger with these labels, attributes and weights."""
    model = cls()
    model.classes_ = list(found.labels)
    L, n_attributes = len(found.labels), len(found.attributes)
    node, node_weights = _sorted_codes(found.states, L)
    steps, step_weights = _sorted_codes(found.transitions, L)
    features = ChainFeatures(
        L,
        np.searchsorted(node, np.arange(n_attributes + 1) * L).astype(np.int64),
        (node % L).astype(np.int32),
        np.zeros(n_attributes + 1, dtype=np.int64),
        np.empty(0, dtype=np.int32),
        steps.astype(np.int32),
        np.empty(0, dtype=np.int32),
    )
    blob, offsets = pack_strings(found.attributes)
    arrays = {"attribute_blob": blob, "attribute_offsets": offsets}
    model.reader_ = TokenReader(AttributeFeatures.from_arrays({}, arrays), None, False)
    model.hmm_ = None
    model.scheme_, model.n_illegal_ = schemes.detect_by_pairs(model.classes_, features.transition_code)
    model._learn(features, np.concatenate([node_weights, step_weights]))
    return model


def _sorted_codes(part: Any, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of features, ascending, and their weights."""
    first, second, weights = part
    codes = first * n_labels + second
    order = np.argsort(codes, kind="stable")
    return codes[order], weights[order]


def to_crfsuite_model(model: Any) -> CrfsuiteModel:
    """Return the weights that are not zero, with the attributes that have one; labels are text."""
    f = model.features_
    featuriser = model.reader_.featuriser
    plain = featuriser is not None and not f.pair_code.size and not f.trigram_code.size and not model.has_base
    plain = plain and not model.reader_.n_numbers and not model.reader_.emits
    if not plain or model.estimator != "crf":
        raise ValueError(
            "CRFsuite's models are first-order CRFs whose attributes go with the label alone; this tagger has other "
            "features or another estimator: keep it as a .ll file"
        )
    node, _, steps, _ = f.split(model.weights_)
    kept, transitions = np.flatnonzero(node), np.flatnonzero(steps)
    used, attributes = np.unique(f.attribute_of()[kept], return_inverse=True)
    L, codes = len(model.classes_), f.transition_code[transitions].astype(np.int64)
    return CrfsuiteModel(
        [str(label) for label in model.classes_], featuriser.take(used).names(),
        (attributes.reshape(-1).astype(np.int64), f.node_label[kept].astype(np.int64), node[kept]),
        (codes // L, codes % L, steps[transitions]),
    )
