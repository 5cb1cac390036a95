"""TokenReader: sequences of columns or attributes to the numbers of attributes that a tagger knows."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.data.token_arrays import Arrays, TokenArrays, as_token_arrays, number_row
from loglinear.features.attributes import AttributeFeatures, AttributeSequences
from loglinear.features.columns import Columns
from loglinear.features.phrases import PhraseLexicon
from loglinear.features.sequences import TokenRows
from loglinear.features.template_sets import is_built_in
from loglinear.features.template_syntax import dialect_of
from loglinear.features.templates import TemplateFeatures, load_templates
from loglinear.features.token_featuriser import TokenFeaturiser
from loglinear.features.word_classes import WordClassLexicon
from loglinear.hmm.oov import OovMap
from loglinear.models.tagger.settings import TaggerSettings
from loglinear.threads import pool


def number_name(column: int) -> str:
    """Return the name of a column of numbers, as an attribute."""
    return f"numbers[{column}]"


@dataclass(frozen=True, eq=False)
class TokenInputs:
    """Encoded sequences; ``columns`` is None where the model reads attributes, else the columns after the OOV map."""

    sequence_ptr: NDArray[np.int64]
    rows: TokenRows
    n_attributes: int
    columns: Columns | None
    numbers: Arrays | None = None  # values of the last attributes, by sequence
    emissions: Arrays | None = None  # given scores of labels, by sequence

    @cached_property
    def native(self) -> _core.Sequences:
        """Return the tokens and attributes for the kernels, checked once."""
        arrays = self.numbers or [], self.emissions or []
        return _core.Sequences(self.sequence_ptr, *self.rows, self.n_attributes, *arrays)

    def values_of(self, token: int) -> list[tuple[int, float]]:
        """Return (attribute, value) of a token; an attribute may be there several times."""
        a, b = self.rows.indptr[token : token + 2].tolist()
        values = [1.0] * (b - a) if self.rows.values is None else self.rows.values[a:b].tolist()
        found = list(zip(self.rows.indices[a:b].tolist(), values))
        if self.numbers:
            row = number_row(self.numbers, self.sequence_ptr, token).tolist()
            found += zip(range(self.n_attributes - len(row), self.n_attributes), row)
        return found

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return self.sequence_ptr.size - 1


def _without_columns(X: Iterable[Any]) -> Iterator[Any]:
    """Yield the sequences; raise TypeError for one of tuples, which are columns and not attributes."""
    for number, sequence in enumerate(X):
        if isinstance(sequence, (list, tuple)) and sequence and isinstance(sequence[0], tuple):
            raise TypeError(
                f"sequence {number}, token 0 is a tuple, as tokens in columns are, and columns need templates: "
                "Tagger(templates='chunking'), or another set or text of templates; attributes would be a list of "
                "strings"
            )
        yield sequence


@dataclass
class TokenReader:
    """A featuriser of tokens (None for an HMM, which has no features), and the map of unknown values, if any."""

    featuriser: TokenFeaturiser | None
    oov: OovMap | None
    reads_columns: bool
    n_columns: int | None = None  # number in training, where it reads columns
    n_numbers: int = 0  # columns of numbers beside the attributes, which are numbered after them
    emits: bool = False  # whether scores of labels are given

    @classmethod
    def for_settings(cls, settings: TaggerSettings) -> TokenReader:
        """Make the reader of a tagger that is to be trained; a base distribution needs columns and the OOV map."""
        return cls.make(
            settings.templates, columns=settings.needs_base,
            oov=settings.oov or settings.has_base, features=settings.estimator != "hmm", min_count=settings.min_count,
            hash_bits=settings.hash_bits, classes=settings.classes, lexicon=settings.lexicon,
            dialect="loglinear" if settings.needs_base else settings.dialect,  # a base knows no value outside
        )

    @classmethod
    def make(
        cls, templates: Any, *, columns: bool, oov: bool, features: bool, min_count: int, hash_bits: int | None,
        classes: Any = None, lexicon: Any = None, dialect: str = "loglinear",
    ) -> TokenReader:
        """Make a reader by its pieces; ``columns``: the input is columns even without templates."""
        if isinstance(templates, os.PathLike):
            templates = os.fspath(templates)
        if templates is not None and (not isinstance(templates, str) or not templates.strip()):
            raise ValueError(f"templates must be a name, a file or template text, not {templates!r}")
        for what, given in (("word classes", classes), ("the phrases of a lexicon", lexicon)):
            if given is not None and (templates is None or not features):
                raise ValueError(f"{what} are seen by templates: name a set of them, such as templates='ner'")
        word_classes = None if classes is None else WordClassLexicon.of(classes)
        phrases = None if lexicon is None else PhraseLexicon.of(lexicon)
        reads_columns = templates is not None or columns
        featuriser: TokenFeaturiser | None = None
        if features and templates is not None:
            text = templates if "\n" in templates or "%" in templates else load_templates(templates)
            if dialect == "auto":
                ours = word_classes is not None or phrases is not None or is_built_in(text)
                dialect = "loglinear" if ours else dialect_of(text)
            featuriser = TemplateFeatures(
                text, min_count=min_count, hash_bits=hash_bits, classes=word_classes, lexicon=phrases, dialect=dialect
            )
        elif features:
            featuriser = AttributeFeatures(min_count=min_count, hash_bits=hash_bits)
        return cls(featuriser, OovMap() if oov else None, reads_columns)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return (0 if self.featuriser is None else self.featuriser.n_attributes) + self.n_numbers

    @property
    def columns_read(self) -> list[int]:
        """The columns that prediction looks at: those that templates name, or all where unknown values are mapped."""
        if self.oov is None and isinstance(self.featuriser, TemplateFeatures):
            return sorted({view.column for view in self.featuriser.views})
        return list(range(self.n_columns or 0))

    def read(self, X: Any, n_threads: int | None, how: str = "transform") -> TokenInputs:
        """Encode sequences; ``how`` is "fit_transform", "transform" or "extend"."""
        if (arrays := as_token_arrays(X)) is not None:
            return self._with_arrays(arrays, n_threads, how)
        if (self.n_numbers or self.emits) and how != "fit_transform":
            raise TypeError("the model reads numbers beside attributes: give TokenArrays, as in training")
        self.n_numbers, self.emits = (0, False) if how == "fit_transform" else (self.n_numbers, self.emits)
        return self._read_tokens(X, n_threads, how)

    def _with_arrays(self, X: TokenArrays, n_threads: int | None, how: str) -> TokenInputs:
        """Encode sequences of numbers, and of attributes where there are some."""
        found = X.width, X.emissions is not None
        if how == "fit_transform":
            self.n_numbers, self.emits = found
            if X.attributes is None:
                self.featuriser, self.reads_columns = None, False
        elif len(X) and found != (self.n_numbers, self.emits):
            expected = f"{self.n_numbers} numbers per token and {'' if self.emits else 'no '}emissions"
            raise ValueError(f"the model was trained with {expected}; these sequences have others")
        if (X.attributes is None) != (self.featuriser is None):
            raise ValueError("attributes beside the numbers must be there as in training")
        if X.attributes is None:
            nothing = TokenRows(np.zeros(X.n_tokens + 1, dtype=np.int64), np.empty(0, dtype=np.int32), None)
            inner = TokenInputs(X.sequence_ptr, nothing, 0, None)
        else:
            inner = self._read_tokens(X.attributes, n_threads, how)
        return replace(inner, n_attributes=self.n_attributes, numbers=X.numbers, emissions=X.emissions)

    def _read_tokens(self, X: Any, n_threads: int | None, how: str) -> TokenInputs:
        threads = pool(n_threads).size
        columns = None
        if self.reads_columns:
            if isinstance(X, AttributeSequences):
                raise TypeError("the model reads columns under templates, but these are attributes")
            source: Any = X if isinstance(X, Columns) else Columns.from_lists(X)
            if source.n_tokens == 0 and how == "transform":
                return self._nothing(source.sequence_ptr)
            if how == "fit_transform":
                self.n_columns = source.n_columns
            if self.oov is not None:
                source = self.oov.fit_transform(source) if how == "fit_transform" else self.oov.transform(source)
            columns = source
        else:
            if isinstance(X, Columns):
                raise TypeError(
                    "these are columns, and columns need templates: name a set (such as 'chunking') or give their text"
                )
            source = X if isinstance(X, AttributeSequences) else AttributeSequences.from_lists(_without_columns(X))
        if self.featuriser is None:
            empty = np.zeros(source.n_tokens + 1, dtype=np.int64)
            rows = TokenRows(empty, np.empty(0, dtype=np.int32), None)
        else:
            rows = getattr(self.featuriser, how)(source, threads)
        ptr = np.ascontiguousarray(source.sequence_ptr, dtype=np.int64)
        return TokenInputs(ptr, rows, self.n_attributes, columns)

    def _nothing(self, sequence_ptr: NDArray[np.int64]) -> TokenInputs:
        """Return inputs without any token, which do not tell how many columns there are."""
        none = np.empty(0, dtype=np.int32)
        known = [] if self.oov is None else self.oov.vocabularies
        columns = Columns(sequence_ptr, [none for _ in known], known)
        rows = TokenRows(np.zeros(1, dtype=np.int64), none, None)
        return TokenInputs(sequence_ptr, rows, self.n_attributes, columns)

    def growing(self) -> TokenReader:
        """Return a copy to extend, which leaves this reader as it is."""
        return replace(self, featuriser=copy.copy(self.featuriser))
