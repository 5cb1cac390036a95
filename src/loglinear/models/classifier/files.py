"""Files of labelled examples to what a classifier is trained on: one function, whatever the format.

svmlight gives a sparse matrix whose column j is index j of the file. Counting from 0 or from 1 is then no setting that
training and prediction could disagree about; a file that counts from 1 merely has an empty column 0.
(``sklearn.datasets.load_svmlight_file(..., zero_based=True)`` numbers columns the same way.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from loglinear.data.matrix import SparseRows
from loglinear.errors import FormatError, IncompatibleError
from loglinear.formats import FORMATS
from loglinear.formats.blocks import after_lines, read_utf8_blocks
from loglinear.formats.examples import Labels, guess
from loglinear.formats.json_text import json_text
from loglinear.formats.jsonl import parse_jsonl
from loglinear.formats.streams.columns import LABEL, TEXT
from loglinear.formats.streams.tables import checked_labels, checked_texts, iterate_table, table_kind
from loglinear.formats.text import Source, decode, name_of, plain_label, plain_line, read_bytes
from loglinear.models.classifier.explain import Explanation, explain
from loglinear.models.classifier.label_sets import split_labels
from loglinear.models.classifier.predictor import ClassifierPredictor
from loglinear.threads import pool

if TYPE_CHECKING:
    from loglinear.models.classifier.estimator import MaxentClassifier

BLOCK = 1 << 22  # bytes of examples classified at a time

# The kind of examples -> (the featurisers that read them, the format they come in, their name in messages).
_KINDS: dict[str, tuple[tuple[str | None, ...], str, str]] = {
    "matrix": ((None,), "svmlight", "numbered features (svmlight)"),
    "text": (("words", "hashed"), "tsv", "text (tsv, or jsonl with 'text')"),
    "features": (("dicts",), "jsonl", "named features (jsonl with 'features')"),
    "tokens": (("tokens",), "jsonl", "tokens (jsonl with 'tokens')"),
}


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples, a label for each (None where none were read), and the name of their file."""

    X: Any  # SparseRows, or a list of texts, of dicts or of token lists
    labels: Labels | None
    kind: str  # a key of _KINDS
    source: str

    def __len__(self) -> int:
        return self.X.n_rows if isinstance(self.X, SparseRows) else len(self.X)

    @property
    def n_features(self) -> int | None:
        """Number of different features that occur; None for examples that a featuriser still has to read."""
        if not isinstance(self.X, SparseRows):
            return None
        return int(np.count_nonzero(np.bincount(self.X.indices, minlength=1)))


class Columns(NamedTuple):
    """Names of columns of JSON lines, Parquet and Arrow files."""

    text: str | None = None  # None: "text"; of JSON lines also "features" or "tokens"
    label: str | None = None  # None: "label"


NAMELESS = Columns()


class NoExamples(FormatError):
    """A file to learn from that holds no examples."""


def read_examples(
    source: Source, format: str | None = None, encoding: str = "utf-8", *, labelled: bool = True,
    columns: Columns = NAMELESS, n_threads: int | None = None, empty_labels: bool = False,
) -> Examples:
    """Read a file (plain or compressed, or ``-``); ``format`` is guessed from its name or first line unless given.

    Without ``labelled``, a line of tsv is all text and labels of jsonl are ignored; svmlight always has labels.
    Parquet and Arrow files are known by their first bytes and have a text and a label in ``columns``.
    ``empty_labels``: a label may be empty, as of examples without any where there may be several.
    """
    name, kind = name_of(source), table_kind(source)
    if kind is not None:
        examples = _joined(list(_table_blocks(source, kind, labelled, columns, BLOCK, empty_labels)), name)
    else:
        if format is None:
            format = guess(source) if columns == NAMELESS else "jsonl"
        data = read_bytes(source)
        examples = parse_examples(format, data, name, encoding, labelled, n_threads, columns, empty_labels)
    if labelled and not len(examples):
        raise NoExamples("the input holds no examples", name)
    return examples


def _table_blocks(
    source: Source, kind: str, labelled: bool, columns: Columns, size: int, empty_labels: bool = False
) -> Iterator[Examples]:
    """Yield the texts and labels of a table, about ``size`` bytes at a time."""
    name, text, label = name_of(source), columns.text or TEXT, columns.label or LABEL
    for batch in iterate_table(source, kind, [text, label] if labelled else [text], size):
        texts = checked_texts(batch.columns[0], text, name, batch.first_row).to_pylist()
        labels = None
        if labelled:
            labels = Labels.of(checked_labels(batch.columns[1], label, name, batch.first_row, empty_labels))
        yield Examples(texts, labels, "text", name)


def _joined(blocks: list[Examples], name: str) -> Examples:
    texts = [text for block in blocks for text in block.X]
    labels = [label for block in blocks if block.labels is not None for label in block.labels[:]]
    return Examples(texts, Labels.of(labels) if labels else None, "text", name)


def parse_examples(
    format: str, data: bytes, name: str, encoding: str, labelled: bool, n_threads: int | None,
    columns: Columns = NAMELESS, empty_labels: bool = False,
) -> Examples:
    """Return the examples of bytes in a format."""
    several: dict[str, Any] = {"empty_labels": True} if empty_labels else {}
    if columns != NAMELESS:
        if format != "jsonl":
            raise ValueError(f"columns of JSON lines, Parquet and Arrow files have names, those of {format} have none")
        named = {"text_column": columns.text, "label_column": columns.label or LABEL}
        rows = parse_jsonl(decode(data, name, encoding), name, labelled=labelled, **named, **several)  # type: ignore[arg-type]
        return Examples(rows.examples, Labels.of(rows.labels) if labelled else None, rows.kind, name)
    found = FORMATS[format].parse(
        data, name, encoding=encoding, labelled=labelled, n_threads=pool(n_threads).size, **several
    )
    X = found.examples
    if found.kind == "matrix":
        X = SparseRows(X.indptr, X.indices, X.values, X.n_features)
    return Examples(X, found.labels if labelled else None, found.kind, name)


def train_on_file(
    model: MaxentClassifier, source: Source, format: str | None = None, encoding: str = "utf-8", *,
    validation: Source | None = None,
) -> Examples:
    """Fit a classifier to a file; ``validation`` is a file of held-out examples. Returns the training examples."""
    columns = Columns(model.text_column, model.label_column)
    several = model.label_separator is not None
    examples = read_examples(
        source, format, encoding, columns=columns, n_threads=model.n_threads, empty_labels=several
    )
    pair = None
    if validation is not None:
        held_out = read_examples(
            validation, format, encoding, columns=columns, n_threads=model.n_threads, empty_labels=several
        )
        held_out, _ = match(held_out, examples.kind, examples.X.n_columns if examples.kind == "matrix" else 0)
        pair = held_out.X, held_out.labels
    model.fit(examples.X, examples.labels, validation=pair)
    return examples


def kind_of(model: ClassifierPredictor) -> str:
    """Return the kind of examples a classifier was trained on."""
    featuriser = None if model.featuriser_ is None else model.featuriser_.kind
    return next(kind for kind, (reads, _, _) in _KINDS.items() if featuriser in reads)


def read_for(
    model: ClassifierPredictor, source: Source, format: str | None = None, encoding: str = "utf-8", *,
    labelled: bool = True, columns: Columns = NAMELESS, n_threads: int | None = None,
) -> tuple[Examples, int]:
    """Read examples for a trained classifier; also return how many values were left out as features it does not know.

    A file whose format cannot be guessed is taken to have the format the model was trained on. Matrices get the
    model's number of columns; text models ignore unknown words by themselves.
    """
    format = _format_for(model, source, format, columns)
    examples = read_examples(
        source, format, encoding, labelled=labelled, columns=columns, n_threads=n_threads,
        empty_labels=model.label_separator is not None,
    )
    return match(examples, kind_of(model), int(model.n_features_in_))


def _format_for(
    model: ClassifierPredictor, source: Source, format: str | None, columns: Columns = NAMELESS
) -> str:
    if format is None and columns != NAMELESS:
        return "jsonl"
    usual = _KINDS[kind_of(model)][1]
    try:
        return format or (guess(source) if name_of(source) != "<stdin>" else usual)
    except FormatError:
        return usual


def match(examples: Examples, kind: str, n_features: int) -> tuple[Examples, int]:
    """Give examples the columns they had in training, and return how many values were left out.

    Raises IncompatibleError for examples of another kind. Examples that are no matrix stay as they are.
    """
    if examples.kind != kind and not len(examples):
        return examples, 0
    if examples.kind != kind:
        raise IncompatibleError(
            f"{examples.source}: the model was trained on {_KINDS[kind][2]}, but this is {_KINDS[examples.kind][2]}"
        )
    if kind != "matrix":
        return examples, 0
    X = examples.X.with_columns(n_features)
    return replace(examples, X=X), examples.X.n_nonzeros - X.n_nonzeros


class PredictedFile:
    """The most probable classes of a file, one line per example, block by block; standard input as it comes.

    ``labelled`` says whether lines of tsv begin with a label, which is ignored; None decides by the first lines that
    come, and tells ``note`` in a sentence if they do. ``proba`` adds the probability of every class; ``as_json`` gives
    an object per line instead. ``n_ignored`` counts the values so far that were left out as features the model does
    not know. Other parameters are as in :func:`read_for`.
    """

    def __init__(
        self, model: ClassifierPredictor, source: Source, format: str | None = None, encoding: str = "utf-8", *,
        labelled: bool | None = None, note: Callable[[str], None] | None = None, proba: bool = False,
        as_json: bool = False, columns: Columns = NAMELESS, block: int = BLOCK,
    ) -> None:
        self.model, self.source, self.encoding, self.block = model, source, encoding, block
        self.table, self.columns = table_kind(source), columns
        self.format, self.labelled, self.note = "", labelled, note
        if self.table is None:
            self.format = _format_for(model, source, format, columns)
        if self.format == "svmlight" and labelled is False:
            raise ValueError("lines of svmlight always begin with a label; write 0 where it is unknown")
        self.proba, self.as_json = proba, as_json
        self.n_ignored = 0
        self._labels = [str(label) for label in model.classes_.tolist()]
        self._names = [plain_line(label) for label in self._labels]

    def __iter__(self) -> Iterator[bytes]:
        for examples in self._blocks():
            examples, n_ignored = match(examples, kind_of(self.model), int(self.model.n_features_in_))
            self.n_ignored += n_ignored
            yield "".join(f"{line}\n" for line in self._answers(examples)).encode("utf-8", "surrogatepass")

    def _answers(self, examples: Examples) -> Iterator[str]:
        probabilities = self.model.predict_proba(examples.X)
        if self.model.label_form_ is None:
            chosen = probabilities.argmax(axis=1)[:, None].tolist()
        else:
            chosen = [np.flatnonzero(row).tolist() for row in probabilities > 0.5]
        return map(self._line, chosen, probabilities.tolist())

    def _blocks(self) -> Iterator[Examples]:
        if self.table is not None:
            yield from _table_blocks(self.source, self.table, False, self.columns, self.block)
            return
        n_lines, n_threads, labelled = 0, self.model.n_threads, self.labelled
        for data in read_utf8_blocks(self.source, self.block, self.encoding):
            if labelled is None and data.strip():
                labelled = self._begins_with_labels(data)
            with after_lines(n_lines):
                name, labels = name_of(self.source), bool(labelled)
                empty = self.model.label_separator is not None
                found = parse_examples(self.format, data, name, "utf-8", labels, n_threads, self.columns, empty)
            n_lines += data.count(b"\n")
            if len(found):
                yield found

    def _begins_with_labels(self, data: bytes) -> bool:
        known = _KnownLabels({plain_label(label) for label in self._labels})
        known.separator = self.model.label_separator
        found = FORMATS[self.format].begins_with_labels(data, known)
        if found and self.note is not None:
            self.note(
                f"{name_of(self.source)}: the lines begin with classes of the model, which are taken for labels and "
                "ignored; --unlabelled takes the whole line for text"
            )
        return found

    def _line(self, chosen: list[int], probabilities: list[float]) -> str:
        several = self.model.label_form_ is not None
        if self.as_json:
            labels = [self._labels[c] for c in chosen]
            shares = {"probabilities": dict(zip(self._labels, probabilities))} if self.proba else {}
            answer = {"labels": labels} if several else {"label": labels[0]}
            return json.dumps({**answer, **shares}, ensure_ascii=False)
        text = (self.model.label_separator or ",").join(self._names[c] for c in chosen)
        if self.proba:
            return "\t".join([text, *(f"{name}={p:.6g}" for name, p in zip(self._names, probabilities))])
        return text


class _KnownLabels(set[str]):
    """The labels of a model; with a separator, texts of several of them are known too."""

    separator: str | None = None

    def __contains__(self, label: object) -> bool:
        if self.separator is None:
            return super().__contains__(label)
        return all(super(_KnownLabels, self).__contains__(one) for one in split_labels(str(label), self.separator))


class ExplainedFile(PredictedFile):
    """The explanations of a file of examples, as text with an empty line after each, or as one JSON object per line.

    ``top`` is the number of features to tell, those of largest effect; other parameters are as in PredictedFile.
    """

    def __init__(self, model: ClassifierPredictor, source: Source, *args: Any, top: int = 10, **options: Any) -> None:
        super().__init__(model, source, *args, **options)
        self.top = top

    def _answers(self, examples: Examples) -> Iterator[str]:
        rows = self.model._rows(examples.X)
        for i in range(rows.n_rows):
            yield explained_line(explain(self.model, rows.take(np.array([i]))), self.top, self.as_json)


def explained_line(explained: Explanation, top: int, as_json: bool) -> str:
    """Return an explanation as text with a line end, or as JSON."""
    return json_text(explained.to_dict(top)) if as_json else f"{explained.to_text(top)}\n"


def explain_text(model: ClassifierPredictor, text: str) -> Explanation:
    """Explain the decision about a text; IncompatibleError for a model that reads no text."""
    kind = kind_of(model)
    if kind not in ("text", "tokens"):
        raise IncompatibleError(f"the model was trained on {_KINDS[kind][2]}, not on text: give examples on stdin")
    return model.explain(text if kind == "text" else text.split())
