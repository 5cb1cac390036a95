"""Files through a tagger: the best labels, the n best labellings, or probabilities, as text or JSON lines.

The best labels of a conll file take the short way: bytes are parsed, labelled and written natively, and no token ever
becomes a Python object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.schemes import SCHEMES
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.features.vocabulary import pack_strings
from loglinear.formats.conll import CodedColumn, format_conll
from loglinear.formats.text import Source, decode, name_of, read_bytes, split_lines
from loglinear.models import Tagger, load
from loglinear.models.tagger.reading import (
    BLOCK,
    Layout,
    Sequences,
    blocks,
    format_for_training,
    layout_for,
    parse_sequences,
)


def tag_file(
    model: Tagger,
    source: Source,
    layout: Layout,
    *,
    nbest: int | None = None,
    marginals: bool = False,
    constraint: Any = None,
    as_json: bool = False,
    block: int = BLOCK,
) -> Iterator[bytes]:
    """The text of a file with predicted labels, piece by piece; see :func:`tag`."""
    for sequences in blocks(source, layout, block):
        yield tag(model, sequences, nbest=nbest, marginals=marginals, constraint=constraint, as_json=as_json)


def tag_text(model: Tagger, text: bytes, layout: Layout | None = None, **options: Any) -> bytes:
    """Text in, text with labels out; without a layout, as the model was trained but without labels. See :func:`tag`."""
    layout = layout_for(model, label_column=None, n_threads=model.n_threads) if layout is None else layout
    return tag(model, parse_sequences(text, "<text>", layout), **options)


def tag(
    model: Tagger,
    sequences: Sequences,
    *,
    nbest: int | None = None,
    marginals: bool = False,
    constraint: Any = None,
    as_json: bool = False,
) -> bytes:
    """The columns as they were read and the label as one more; of crfsuite data the label alone.

    ``marginals`` makes the label ``label/probability``; ``nbest`` writes every sequence so many times, each after a
    line ``# rank probability``; ``as_json`` gives one object per sequence instead.
    """
    if as_json:
        return _json_lines(model, sequences, nbest, marginals, constraint)
    if nbest is not None:
        if marginals:
            raise ValueError("probabilities of labels and the n best labellings go together only as JSON")
        return _nbest_text(model, sequences, nbest, constraint)
    numbers = model.predict_numbers(sequences.X, constraint=constraint)
    label: Any = (numbers, *pack_strings(model.classes_))
    if marginals:
        table = model.marginal_array(sequences.X, constraint=constraint)
        shares = table[np.arange(numbers.size), numbers].tolist()
        label = [f"{model.classes_[k]}/{p:.6f}" for k, p in zip(numbers.tolist(), shares)]
    return _text(sequences, [label])


def _text(sequences: Sequences, more: list[CodedColumn | list[str]]) -> bytes:
    """The file again, with more columns. Labels alone are one column, which may hold blanks as crfsuite's may."""
    echo = sequences.echo or []
    text = format_conll(sequences.X.sequence_ptr, [*echo, *more], sequences.separator if echo else "\t")
    return text if text.endswith(b"\n\n") else text + b"\n"  # so that the next block is not the same sequence


def _nbest_text(model: Tagger, sequences: Sequences, k: int, constraint: Any) -> bytes:
    ptr = sequences.X.sequence_ptr.tolist()
    before = [""] * sequences.n_tokens
    if sequences.echo:
        lines = _text(sequences, []).decode("utf-8", "surrogatepass").split("\n")
        before = [line + sequences.separator for line in lines if line]
    out = []
    for start, found in zip(ptr, model.predict_nbest(sequences.X, k, constraint=constraint)):
        for rank, (labels, probability) in enumerate(found):
            out.append(f"# {rank} {probability:.6f}")
            out += [before[start + t] + label for t, label in enumerate(labels)]
            out.append("")
    return "".join(line + "\n" for line in out).encode("utf-8", "surrogatepass")


def _json_lines(model: Tagger, sequences: Sequences, k: int | None, marginals: bool, constraint: Any) -> bytes:
    found: list[dict[str, Any]] = [
        {"labels": labels} for labels in model.predict(sequences.X, constraint=constraint)
    ]
    if k is not None:
        for entry, best in zip(found, model.predict_nbest(sequences.X, k, constraint=constraint)):
            entry["nbest"] = [{"labels": labels, "probability": probability} for labels, probability in best]
    if marginals:
        for entry, rows in zip(found, model.predict_marginals(sequences.X, constraint=constraint)):
            entry["marginals"] = rows
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in found).encode("utf-8", "surrogatepass")


# What a model that is continued keeps: its attributes are already numbered by these.
_FIXED = ("estimator", "templates", "order", "min_count", "hash_bits", "oov", "initialise")


def make_tagger(continued: Source | None, settings: dict[str, Any]) -> Tagger:
    """A tagger to train: a new one, or one that continues a model file, with its settings but for those given."""
    if continued is None:
        model = Tagger(**settings)
        needs = model.estimator == "m-estimation" or model.initialise is not None
        if needs and model.templates is None:
            raise ValueError(f"M-estimation needs templates: name a set ({', '.join(TEMPLATE_SETS)}) or a file")
        return model
    model = Tagger.from_pretrained(load_tagger(continued))
    if model.estimator in ("hmm", "m-estimation"):
        raise IncompatibleError(f"{continued}: an estimator {model.estimator!r} is not continued, only trained anew")
    for name in _FIXED:
        if name in settings and settings[name] != getattr(model, name):
            had = getattr(model, name)
            raise IncompatibleError(f"{continued}: its {name} is {had!r} and stays so when it is continued")
    return model.set_params(**{"tune": None, "checkpoint": None, **settings})


def training_format(model: Tagger, source: Source, format: str | None = None) -> str:
    """The format of a training file, guessed unless given; refused where the tagger cannot read it."""
    if hasattr(model, "reader_"):
        return layout_for(model, format).format
    columns = model.templates is not None or model.estimator == "hmm"
    if format == "crfsuite" and columns:
        raise ValueError("templates and HMMs read columns; attributes of crfsuite are features already")
    if format == "conll" and not columns:
        raise ValueError(f"columns need templates: name a set ({', '.join(TEMPLATE_SETS)}) or a file of templates")
    return format_for_training(source, columns) if format is None else format


def load_tagger(path: Source) -> Tagger:
    """The tagger in a model file; other kinds are refused."""
    return load(path, "tagger")


def read_constraint(name: str | None) -> Any:
    """A scheme by its name, "auto", or a file of forbidden label pairs: two labels a line, the second not to follow."""
    if name is None or name == "auto" or name in SCHEMES:
        return name
    try:
        text = decode(read_bytes(name), name_of(name))
    except FormatError as error:
        known = ", ".join((*SCHEMES, "auto"))
        raise FormatError(f"no scheme of labels ({known}), and no file that can be read", name) from error
    pairs = []
    for number, line in enumerate(split_lines(text), start=1):
        labels = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            continue
        if len(labels) != 2:
            message = f"expected two labels, the second of which may not follow the first, found {len(labels)}"
            raise FormatError(message, name, number)
        pairs.append((labels[0], labels[1]))
    return pairs
