"""Files through a tagger: training on a file, and the labels, n best labellings or probabilities of a file as text.

The best labels of a conll file take the short way: bytes are parsed, labelled and written natively, and no token ever
becomes a Python object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.display.numbers import both_forms, probability
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.columns import Columns
from loglinear.features.schemes import SCHEMES
from loglinear.features.sequences import FlatLabels
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.features.vocabulary import pack_strings
from loglinear.formats.conll import CodedColumn, format_conll
from loglinear.formats.json_text import json_text
from loglinear.formats.text import Source, decode, each_line, name_of, read_bytes
from loglinear.models.tagger.inputs import TokenInputs
from loglinear.models.tagger.mistakes import words_of
from loglinear.models.tagger.predictor import TaggerPredictor
from loglinear.models.tagger.reading import (
    BLOCK,
    Layout,
    Sequences,
    blocks,
    format_for_training,
    layout_for,
    parse_sequences,
    read_sequences,
)

if TYPE_CHECKING:
    from loglinear.models.tagger.trainer import TaggerTrainer


# ---- training -------------------------------------------------------------------------------------------------------
def train_on_file(
    source: Source, settings: dict[str, Any], *, continued: Source | None = None, validation: Source | None = None,
    unlabelled: Source | None = None, format: str | None = None, encoding: str = "utf-8", label_column: int = -1,
    comments: bool = False,
) -> tuple[TaggerTrainer, Sequences]:
    """Train a tagger on a file of labelled sequences; return it with the sequences.

    Parameters
    ----------
    settings : parameters of :class:`Tagger`
    continued : a model file to continue, with its settings but for those given; None trains a new model
    validation : a file of labelled sequences that chooses the strength (``tune``) or is only scored
    unlabelled : a file of columns without labels, which EM completes (``em`` in the settings)
    format, encoding, label_column, comments : how the files are read; a format of None is guessed
    """
    model = make_tagger(continued, settings)
    if (unlabelled is None) != (model.em == 0):
        raise ValueError("unlabelled sequences are learnt from by EM: give --unlabelled FILE and --em ROUNDS together")
    format = training_format(model, source, format)
    reading: dict[str, Any] = {"label_column": label_column, "comments": comments, "n_threads": model.n_threads}
    sequences, pair = read_sequences(source, format, encoding, **reading), None
    if validation is not None:
        held_out = read_sequences(validation, format, encoding, n_columns=sequences.n_columns, **reading)
        pair = held_out.X, held_out.labels
    X, labels = sequences.X, sequences.labels
    if unlabelled is not None:
        X, labels = _with_unlabelled(sequences, read_sequences(
            unlabelled, format, encoding, n_columns=sequences.n_columns, **{**reading, "label_column": None}
        ))  # fmt: skip
    return model.fit(X, labels, validation=pair), sequences


def _with_unlabelled(sequences: Sequences, more: Sequences) -> tuple[Columns, FlatLabels]:
    """Return the sequences of both and their labels, -1 where there are none."""
    labels = sequences.labels
    assert labels is not None
    if not isinstance(sequences.X, Columns) or not isinstance(more.X, Columns):
        raise FormatError("unlabelled sequences must be columns, and these are attributes", more.source)
    X = sequences.X.followed_by(more.X)
    unknown = np.full(more.n_tokens, -1, dtype=np.int32)
    return X, FlatLabels(np.concatenate([labels.numbers, unknown]), X.sequence_ptr, labels.names)


# A model that is continued keeps these settings: its attributes are numbered by them.
_FIXED = ("estimator", "templates", "classes", "lexicon", "order", "min_count", "hash_bits", "oov", "initialise")


def make_tagger(continued: Source | None, settings: dict[str, Any]) -> TaggerTrainer:
    """Return a tagger to train: a new one, or one that continues a model file."""
    from loglinear.models.tagger.trainer import TaggerTrainer

    if continued is None:
        new = TaggerTrainer(**settings)
        if new.needs_base and new.estimator != "hmm" and new.templates is None:
            raise ValueError(f"M-estimation needs templates: name a set ({', '.join(TEMPLATE_SETS)}) or a file")
        return new
    model = TaggerPredictor.load(continued)
    if model.has_base:
        message = f"{continued}: an estimator {model.estimator!r} cannot be continued: train it on all the data"
        raise IncompatibleError(message)
    for name in _FIXED:
        if name in settings and settings[name] != getattr(model, name):
            had = getattr(model, name)
            raise IncompatibleError(f"{continued}: its {name} is {had!r}, and cannot change when it is continued")
    tagger = TaggerTrainer.from_pretrained(model)
    for name, value in {"tune": None, "checkpoint": None, **settings}.items():
        setattr(tagger, name, value)
    return tagger


def training_format(model: TaggerTrainer, source: Source, format: str | None = None) -> str:
    """Return the format of a training file, guessed unless given; raise where the tagger cannot read it."""
    if hasattr(model, "reader_"):
        return layout_for(model, format).format
    columns = model.templates is not None or model.estimator == "hmm"
    if format == "crfsuite" and columns:
        raise ValueError("templates and HMMs read columns, but the attributes of crfsuite are features already")
    if format == "conll" and not columns:
        raise ValueError(f"columns need templates: name a set ({', '.join(TEMPLATE_SETS)}) or a file of templates")
    return format_for_training(source, columns) if format is None else format


# ---- prediction -----------------------------------------------------------------------------------------------------
def tag_file(
    model: TaggerPredictor, source: Source, layout: Layout, *, nbest: int | None = None, marginals: bool = False,
    input_scores: bool = False, constraint: Any = None, as_json: bool = False, block: int = BLOCK,
) -> Iterator[bytes]:
    """Yield the text of a file with predicted labels, block by block; see :func:`tag`."""
    options: dict[str, Any] = {"nbest": nbest, "marginals": marginals, "input_scores": input_scores}
    for sequences in blocks(source, layout, block):
        yield tag(model, sequences, constraint=constraint, as_json=as_json, **options)


def tag_text(model: TaggerPredictor, text: bytes, layout: Layout | None = None, **options: Any) -> bytes:
    """Return a text with predicted labels; ``options`` are those of :func:`tag`.

    A layout of None reads the text as in training, but without labels.
    """
    layout = layout_for(model, label_column=None, n_threads=model.n_threads) if layout is None else layout
    return tag(model, parse_sequences(text, "<text>", layout), **options)


def tag(
    model: TaggerPredictor, sequences: Sequences, *, nbest: int | None = None, marginals: bool = False,
    input_scores: bool = False, constraint: Any = None, as_json: bool = False,
) -> bytes:
    """Return the columns as they were read with the label as one more; of crfsuite data the label alone.

    A text becomes two columns, the token and the label.

    ``marginals`` makes the label ``label/probability``; ``nbest`` writes every sequence that many times, each after a
    line ``# rank probability``; ``input_scores`` gives the ``input_log_probability`` of every sequence alone, one per
    line; ``as_json`` gives one object per sequence instead, of a text with its tokens.
    """
    inputs = model.encode(sequences.X)
    if as_json:
        tokens = [[word for word, in sentence] for sentence in sequences.X] if sequences.format == "text" else None
        return _json_lines(model, inputs, tokens, nbest, marginals, input_scores, constraint)
    if input_scores:
        if nbest is not None or marginals:
            raise ValueError("--input-scores prints no labels: with --nbest or --marginals it goes only with --json")
        return "".join(f"{score:.6f}\n" for score in model.input_log_probability(inputs).tolist()).encode()
    if nbest is not None:
        if marginals:
            raise ValueError("--nbest and --marginals can be combined only with --json")
        return _nbest_text(model, sequences, inputs, nbest, constraint)
    numbers = model.predict_numbers(inputs, constraint=constraint)
    label: Any = (numbers, *pack_strings([str(label) for label in model.classes_]))
    if marginals:
        table = model.marginal_array(inputs, constraint=constraint)
        shares = table[np.arange(numbers.size), numbers].tolist()
        label = [f"{model.classes_[k]}/{p:.6f}" for k, p in zip(numbers.tolist(), shares)]
    return _text(sequences, [label])


def _text(sequences: Sequences, more: list[CodedColumn | list[str]]) -> bytes:
    """Return the file again, with more columns. Labels alone are one column, which may hold blanks as in crfsuite."""
    echo = sequences.echo or []
    text = format_conll(sequences.X.sequence_ptr, [*echo, *more], sequences.separator if echo else "\t")
    return text if text.endswith(b"\n\n") else text + b"\n"  # so that the next block begins a new sequence


def _nbest_text(model: TaggerPredictor, sequences: Sequences, inputs: TokenInputs, k: int, constraint: Any) -> bytes:
    ptr = sequences.X.sequence_ptr.tolist()
    before = [""] * sequences.n_tokens
    if sequences.echo:
        lines = _text(sequences, []).decode("utf-8", "surrogatepass").split("\n")
        before = [line + sequences.separator for line in lines if line]
    out = []
    for start, found in zip(ptr, model.predict_nbest(inputs, k, logarithms=True, constraint=constraint)):
        for rank, (labels, log_p) in enumerate(found):
            out.append(f"# {rank} {probability(log_p)}")
            out += [f"{before[start + t]}{label}" for t, label in enumerate(labels)]
            out.append("")
    return "".join(line + "\n" for line in out).encode("utf-8", "surrogatepass")


def _json_lines(
    model: TaggerPredictor, inputs: TokenInputs, tokens: list[list[str]] | None, k: int | None, marginals: bool,
    input_scores: bool, constraint: Any,
) -> bytes:
    found: list[dict[str, Any]] = [{"labels": labels} for labels in model.predict(inputs, constraint=constraint)]
    if tokens is not None:
        found = [{"tokens": words, **entry} for words, entry in zip(tokens, found)]
    if k is not None:
        for entry, best in zip(found, model.predict_nbest(inputs, k, logarithms=True, constraint=constraint)):
            entry["nbest"] = [{"labels": labels} | both_forms(log_p) for labels, log_p in best]
    if marginals:
        for entry, rows in zip(found, model.predict_marginals(inputs, constraint=constraint)):
            entry["marginals"] = rows
    if input_scores:
        for entry, score in zip(found, model.input_log_probability(inputs).tolist()):
            entry["input_log_probability"] = score
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in found).encode("utf-8", "surrogatepass")


def explain_file(
    model: TaggerPredictor, source: Source, layout: Layout, *, top: int = 5, as_json: bool = False, block: int = BLOCK
) -> Iterator[bytes]:
    """Yield the explanation of every sequence as text with an empty line after it, or as one JSON object per line."""
    for sequences in blocks(source, layout, block):
        for sequence in sequences.X:
            explained, words = model.explain(sequence), words_of(model, sequence)
            if as_json:
                text = json_text(explained.to_dict(top, words))
            else:
                text = explained.to_text(top, words) + "\n"
            yield f"{text}\n".encode("utf-8", "surrogatepass")


def evaluate_file(
    model: TaggerPredictor, source: Source, layout: Layout, constraint: Any = None, *, errors: int = 0
) -> dict[str, Any]:
    """Score a tagger on a file of labelled sequences; ``errors`` is that of ``TaggerPredictor.evaluate``."""
    sequences = parse_sequences(read_bytes(source), name_of(source), layout)
    assert sequences.labels is not None
    known = {str(label) for label in model.classes_}
    if sequences.n_columns != model.reader_.n_columns and known.isdisjoint(sequences.labels.names):
        which = f"none of the values in its column {layout.label_column} is a label of the model"
        raise FormatError(f"{which}; is the label missing?", sequences.source, 1)
    return model.evaluate(sequences.X, sequences.labels, constraint=constraint, errors=errors)


def read_constraint(name: str | None) -> Any:
    """Return a constraint by its name: a scheme, "auto", or a file of forbidden label pairs.

    The file has two labels per line, the second of which must not follow the first.
    """
    if name is None or name == "auto" or name in SCHEMES:
        return name
    try:
        text = decode(read_bytes(name), name_of(name))
    except FormatError as error:
        known = ", ".join((*SCHEMES, "auto"))
        raise FormatError(f"neither a label scheme ({known}) nor a file that can be read", name) from error
    pairs = []
    for number, line in enumerate(each_line(text), start=1):
        labels = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            continue
        if len(labels) != 2:
            message = f"expected two labels, the second of which must not follow the first, found {len(labels)}"
            raise FormatError(message, name, number)
        pairs.append((labels[0], labels[1]))
    return pairs
