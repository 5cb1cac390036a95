"""Attributes by templates (see template_syntax.py): extraction, look-up and names.

    attribute = (template, codes of what its macros see)

A view is a column with a function of its values; each distinct value is mapped once and numbered in the vocabulary of
the view. A code is such a number, or for places outside the sequence

    _B-k = -2 k        _E+k = -2 k - 1        and -2^31 pads the codes of a template with fewer macros.

Where the dialect is that of CRF++ or Wapiti, the marks of such places are values like others, after those of a column.

Attributes are numbered by first occurrence, in order of tokens and then of templates, whatever the number of threads.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError, IncompatibleError, LoglinearError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.phrases import PHRASE_ARRAY, PhraseLexicon
from loglinear.features.sequences import TokenRows
from loglinear.features.template_sets import CLASS_TEMPLATES, TEMPLATE_SETS, is_built_in, lexicon_templates
from loglinear.features.template_syntax import (
    BORDER_MARKS,
    Template,
    TemplateFile,
    View,
    check_dialect,
    parse_templates,
)
from loglinear.features.token_featuriser import Buckets, TokenFeaturiser, check_counts, check_indices
from loglinear.features.views import number_values, values_before, values_of_tokens, view_strings
from loglinear.features.vocabulary import Vocabulary, join_vocabularies
from loglinear.features.word_classes import CLASS_ARRAY, WordClassLexicon
from loglinear.formats.text import Source, decode, read_bytes

_EMPTY = np.zeros(0, dtype=np.int32)


def load_templates(name_or_path: Source) -> str:
    """Return the text of a built-in set, or of a file, which is checked."""
    if isinstance(name_or_path, str) and name_or_path in TEMPLATE_SETS:
        return TEMPLATE_SETS[name_or_path]
    name = str(name_or_path)
    try:
        text = decode(read_bytes(name_or_path), name)
    except FormatError as error:
        if Path(name).exists():
            raise
        known = ", ".join(TEMPLATE_SETS)
        raise FormatError(f"no such file, and no built-in set of templates ({known})", name) from error
    parse_templates(text, name)
    return text


def boundary_name(code: int) -> str:
    """Return the name ``_B-k`` or ``_E+k`` of a negative code."""
    return f"_B-{-code // 2}" if code % 2 == 0 else f"_E+{(-code - 1) // 2}"


class TemplateFeatures(TokenFeaturiser):
    """Attributes that occur at least ``min_count`` times; with ``hash_bits``, 2^hash_bits numbers shared by hashing.

    ``templates`` is the name of a built-in set or template text; for a file use :func:`load_templates`. With hashing,
    attributes of different scopes (label, pair, both) get separate parts of the numbers, and names are not kept.

    ``classes`` are the word classes that macros ``%c`` see, ``lexicon`` the phrases that macros ``%l`` see; templates
    without such a macro get some. ``dialect`` says how places outside the sequence are marked (template_syntax.py).
    """

    kind = "templates"

    def __init__(
        self, templates: str, *, min_count: int = 1, hash_bits: int | None = None,
        classes: WordClassLexicon | None = None, lexicon: PhraseLexicon | None = None, dialect: str = "loglinear",
    ) -> None:
        check_counts(min_count, hash_bits)
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.classes, self.lexicon = classes, lexicon
        self.dialect = dialect
        self._set_text(_template_text(templates))
        if classes is not None and not self.sees("class"):
            self._set_text(self.text.rstrip("\n") + "\n" + CLASS_TEMPLATES)
        if lexicon is not None and not self.sees("phrase"):
            self._set_text(self.text.rstrip("\n") + "\n" + lexicon_templates(lexicon.types))
        self._check_types()
        check_dialect(TemplateFile(self.templates, self.views, self._has_transitions), dialect)
        self._codes: NDArray[np.int32] | None = None  # [n_attributes, max_macros]
        self._template_of: NDArray[np.int32] | None = None  # [n_attributes]
        self._vocabularies: list[Vocabulary] = []
        self._index: _core.AttributeIndex | None = None

    def _set_text(self, text: str) -> None:
        self.text = text
        self.templates, self.views, self._has_transitions = parse_templates(text)

    def _check_types(self) -> None:
        """Raise ValueError for a type that templates name and the lexicon lacks."""
        known = list(self.lexicon.types) if self.lexicon is not None else []
        for view in self.views if known else ():
            if view.function == "phrase" and view.pattern not in known:
                types = ", ".join(known)
                raise ValueError(f"the templates look at phrases of type {view.pattern!r}; the lexicon has {types}")

    # ---- attributes

    @property
    def max_macros(self) -> int:
        """Return the number of macros of the longest template."""
        return max((len(template.macros) for template in self.templates), default=0)

    @property
    def n_columns_needed(self) -> int:
        """Return the number of columns that the data must have."""
        return 1 + max((view.column for view in self.views), default=-1)

    def sees(self, function: str) -> bool:
        """Return whether a template looks through such a function: at word classes, at phrases."""
        return any(view.function == function for view in self.views)

    @property
    def has_transitions(self) -> bool:
        """Whether the templates ask for plain pairs of labels."""
        return self._has_transitions

    @property
    def n_attributes(self) -> int:
        """Number of attributes; refused before ``fit_transform``."""
        return self.attribute_template.size if self.hash_bits is None else len(self._hashed())

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """Return the template of each attribute: [n_attributes]."""
        return self._learned()[0]

    @property
    def attribute_values(self) -> NDArray[np.int32]:
        """Return the codes of each attribute, see above: [n_attributes, max_macros]."""
        return self._learned()[1]

    @property
    def view_vocabularies(self) -> list[Vocabulary]:
        """Return the values of each view."""
        self._learned()
        return self._vocabularies

    @property
    def scopes(self) -> NDArray[np.uint8]:
        """What each attribute goes with: 1 the label, 2 the pair of labels, 3 both: [n_attributes]."""
        of_template = np.array([template.scope for template in self.templates], dtype=np.uint8)
        if self.hash_bits is None:
            return of_template[self.attribute_template]
        _, bits, scopes = self._hash_layout()
        return np.array(scopes, dtype=np.uint8)[self._hashed().numbers() >> bits]

    def names(self) -> list[str]:
        """Return the names of the attributes: as CRF++ would print them; of a built-in set without the letter."""
        if self.hash_bits is not None:
            return [f"#{number}" for number in self._hashed().numbers().tolist()]
        values, begin = [list(vocabulary) for vocabulary in self.view_vocabularies], self._name_begin
        return [
            _name(self.templates[template], codes, values)[begin:]
            for template, codes in zip(self.attribute_template.tolist(), self.attribute_values.tolist())
        ]

    def name(self, number: int) -> str:
        """Return the name of one attribute."""
        if self.hash_bits is not None:
            return f"#{self._hashed().numbers()[number]}"
        template, codes = self.templates[self.attribute_template[number]], self.attribute_values[number].tolist()
        return _name(template, codes, self.view_vocabularies)[self._name_begin :]

    @property
    def _name_begin(self) -> int:
        text = self.text if self.lexicon is None else self.text.removesuffix(lexicon_templates(self.lexicon.types))
        return 1 if is_built_in(text.removesuffix(CLASS_TEMPLATES)) else 0

    # ---- columns to rows

    def fit_transform(self, columns: Columns, n_threads: int = 1) -> TokenRows:
        """Learn the attributes of the tokens, and return those of each; all have the value 1."""
        self._template_of = self._codes = self._buckets = None
        return self.extend(columns, n_threads)

    def extend(self, columns: Columns, n_threads: int = 1) -> TokenRows:
        """Like fit_transform, but known attributes keep their numbers and new ones come after them."""
        self._check_columns(columns)
        if self.hash_bits is not None:
            self._buckets = self._buckets or Buckets(self.hash_bits)
            return self.transform(columns, n_threads)
        known = [self._vocabularies[v] if self._codes is not None else None for v in range(len(self.views))]
        maps, vocabularies, marked = [], [], bool(BORDER_MARKS[self.dialect])  # a mark may be a value too
        for view, vocabulary in zip(self.views, known):
            numbers, larger = number_values(view, self._column(columns, view), vocabulary, self.classes, marked)
            maps.append(numbers)
            vocabularies.append(larger)
        template_of = _EMPTY if self._template_of is None else self._template_of
        codes = _EMPTY if self._codes is None else self._codes.reshape(-1)
        rows, template_of, codes = self._native().fit(
            threads.pool(n_threads), columns.sequence_ptr, values_of_tokens(self.views, columns, self.lexicon), maps,
            template_of, codes, self.min_count,
        )
        self._index = None
        self._template_of, self._vocabularies = template_of, vocabularies
        self._codes = codes.reshape(template_of.size, self.max_macros)
        self._prune()
        return _rows(rows)

    def transform(self, columns: Columns, n_threads: int = 1) -> TokenRows:
        """Return the known attributes of each token; others are left out."""
        self._check_columns(columns)
        ids = values_of_tokens(self.views, columns, self.lexicon)
        if self.hash_bits is None:
            maps = [self.view_ids(columns, v) for v in range(len(self.views))]
            return _rows(self._look_up().find(threads.pool(n_threads), columns.sequence_ptr, ids, maps))
        buckets = self._hashed()
        first, bits, _ = self._hash_layout()
        values = [view_strings(view, self._column(columns, view), self.classes) for view in self.views]
        hashes = [_core.hash_strings(*strings) for strings in values]
        rows = self._native().hash(threads.pool(n_threads), columns.sequence_ptr, ids, hashes, first, bits)
        return buckets.rows(_rows(rows))

    def view_ids(self, columns: Columns, view: int) -> NDArray[np.int32]:
        """Return the number in a view of each distinct value of its column, -1 where it is unknown."""
        known, values = self.view_vocabularies[view], self._column(columns, self.views[view])
        if self.views[view].function == "same" and values is known:
            return np.arange(len(known), dtype=np.int32)
        blob, offsets = view_strings(self.views[view], values, self.classes)
        numbers = np.empty(offsets.size - 1, dtype=np.int32)
        known.index().find(blob, offsets, numbers)
        return numbers

    def _column(self, columns: Columns, view: View) -> Vocabulary:
        """Return the values that tokens have before the view maps them, and the marks of its borders."""
        values, marks = values_before(view, columns), BORDER_MARKS[self.dialect]
        return values.joined(Vocabulary.from_strings(marks)) if marks else values

    # ---- parts of the data

    def _shared_names(self, parts: Sequence[TemplateFeatures]) -> list[Vocabulary]:
        """Return rows of numbers, the template and the codes in vocabularies of all parts, as strings of bytes."""
        maps = []
        self._vocabularies = []
        for view in range(len(self.views)):
            joined, numbers = join_vocabularies([part.view_vocabularies[view] for part in parts])
            self._vocabularies.append(joined)
            maps.append(numbers)
        found, width = [], 1 + self.max_macros
        for k, part in enumerate(parts):
            rows = np.empty((part.n_attributes, width), dtype=np.int32)
            rows[:, 0], rows[:, 1:] = part.attribute_template, part.attribute_values
            for (places, macro), view in self._places(part.attribute_template):
                codes = rows[places, 1 + macro]
                rows[places, 1 + macro] = np.where(codes >= 0, maps[view][k][np.maximum(codes, 0)], codes)
            bounds = np.arange(part.n_attributes + 1, dtype=np.int64) * (4 * width)
            found.append(Vocabulary(rows.view(np.uint8).reshape(-1), bounds))
        return found

    def _learn_names(self, names: Vocabulary) -> None:
        rows = np.frombuffer(names.blob.tobytes(), dtype=np.int32).reshape(len(names), 1 + self.max_macros)
        self._template_of, self._codes = rows[:, 0].copy(), rows[:, 1:].copy()
        self._index = None
        self._prune()

    # ---- selection and saving

    def take(self, indices: NDArray[Any] | Sequence[int]) -> TemplateFeatures:
        """Return a featuriser that knows only the chosen attributes, renumbered in the order given."""
        smaller = copy.copy(self)
        if self.hash_bits is not None:
            smaller._buckets = self._hashed().take(indices)
            return smaller
        chosen = check_indices(indices, self.n_attributes)
        smaller._template_of, smaller._codes = self.attribute_template[chosen], self.attribute_values[chosen]
        smaller._vocabularies, smaller._index = list(self._vocabularies), None
        smaller._prune()
        return smaller

    def settings(self) -> dict[str, Any]:
        """Return the parameters of the constructor, as JSON values; templates always as text."""
        own = {"templates": self.text, "min_count": self.min_count, "hash_bits": self.hash_bits}
        return own if self.dialect == "loglinear" else {**own, "dialect": self.dialect}

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings (JSON values) and arrays, those of word classes and phrases included."""
        settings, arrays = super().to_arrays()
        for begin, part in ((CLASS_ARRAY, self.classes), (PHRASE_ARRAY, self.lexicon)):
            if part is not None:
                arrays = arrays | {begin + name: array for name, array in part.to_arrays().items()}
        return settings, arrays

    @classmethod
    def from_arrays(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TemplateFeatures:
        """Return the featuriser that ``to_arrays`` described, checked."""
        featuriser = super().from_arrays(settings, arrays)
        featuriser.classes, featuriser.lexicon = WordClassLexicon.among(arrays), PhraseLexicon.among(arrays)
        for function, part in (("class", featuriser.classes), ("phrase", featuriser.lexicon)):
            if part is None and featuriser.sees(function):
                raise ModelFileError(f"featuriser {cls.kind!r}: its {function} arrays are missing")
        try:
            featuriser._check_types()
        except ValueError as error:
            raise ModelFileError(f"featuriser {cls.kind!r}: {error}") from None
        return featuriser

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "attribute_template": self.attribute_template,
            "attribute_values": self.attribute_values,
        }
        for number, vocabulary in enumerate(self.view_vocabularies):
            arrays |= {f"view_{number}_blob": vocabulary.blob, f"view_{number}_offsets": vocabulary.offsets}
        return arrays

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._template_of = self._array(arrays, "attribute_template", np.int32)
        self._codes = self._array(arrays, "attribute_values", np.int32, 2)
        for number in range(len(self.views)):
            blob = self._array(arrays, f"view_{number}_blob", np.uint8)
            offsets = self._array(arrays, f"view_{number}_offsets", np.int64)
            self._vocabularies.append(Vocabulary.from_arrays(blob, offsets, distinct=True))
        for vocabulary in self._vocabularies:
            vocabulary.index()
        self._look_up()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    # ---- helpers

    def _learned(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if self.hash_bits is not None:
            raise LoglinearError("hashed attributes have no templates and values; fit without hash_bits to keep them")
        if self._template_of is None or self._codes is None:
            raise LoglinearError("TemplateFeatures has no attributes yet; call fit_transform first")
        return self._template_of, self._codes

    def _hash_layout(self) -> tuple[NDArray[np.int32], int, list[int]]:
        """Return the first number of each template, the bits within each part of the numbers, and its scope."""
        scopes = sorted({template.scope for template in self.templates})
        parts = 1 if len(scopes) < 2 else 2 if len(scopes) == 2 else 4
        bits = (self.hash_bits or 0) - parts.bit_length() + 1
        if bits < 1:
            raise ValueError("hash_bits is too small for templates of three scopes; use more bits")
        first = np.array([scopes.index(template.scope) << bits for template in self.templates], dtype=np.int32)
        return first, bits, (scopes + [1] * parts)[:parts]

    def _native(self) -> _core.TemplateSet:
        macros = [macro for template in self.templates for macro in template.macros]
        ptr = np.zeros(len(self.templates) + 1, dtype=np.int64)
        np.cumsum([len(template.macros) for template in self.templates], out=ptr[1:])
        return _core.TemplateSet(
            ptr,
            np.array([macro.row for macro in macros], dtype=np.int32),
            np.array([macro.view for macro in macros], dtype=np.int32),
            np.array([macro.absolute for macro in macros], dtype=np.uint8),
            len(self.views),
            len(BORDER_MARKS[self.dialect]) // 2,
        )

    def _look_up(self) -> _core.AttributeIndex:
        """Return the native table, built once; two threads that come first build it twice, and one is dropped."""
        index = self._index
        if index is None:
            template_of, codes = self._learned()
            if codes.shape != (template_of.size, self.max_macros):
                raise ValueError(f"attribute_values must have {self.max_macros} columns and a row for each attribute")
            sizes = np.array([len(vocabulary) for vocabulary in self._vocabularies], dtype=np.int64)
            index = _core.AttributeIndex(self._native(), template_of, codes.reshape(-1), sizes)
            self._index = index
        return index

    def _check_columns(self, columns: Columns) -> None:
        if not isinstance(columns, Columns):
            raise TypeError(f"expected Columns, not {type(columns).__name__}; use Columns.from_lists")
        if columns.n_columns >= self.n_columns_needed:
            return
        for template in self.templates:
            for macro in template.macros:
                column = self.views[macro.view].column
                if column >= columns.n_columns:
                    text = self.text.split("\n")[template.line - 1].strip()
                    raise IncompatibleError(
                        f"template line {template.line}, {text!r}, looks at column {column}, "
                        f"but the data have {columns.n_columns} (numbered from 0); change the template or the data"
                    )

    def _prune(self) -> None:
        """Drop values that no attribute has, so that a cut featuriser is small."""
        template_of, codes = self._learned()
        used = [np.zeros(len(vocabulary), dtype=bool) for vocabulary in self._vocabularies]
        for place, view in self._places(template_of):
            seen = codes[place][codes[place] >= 0]
            used[view][seen] = True
        if all(flags.all() for flags in used):
            return
        numbers = [np.cumsum(flags, dtype=np.int64).astype(np.int32) - 1 for flags in used]
        codes = codes.copy()
        for place, view in self._places(template_of):
            column = codes[place]
            inside = column >= 0
            column[inside] = numbers[view][column[inside]]
            codes[place] = column
        self._codes = codes
        self._vocabularies = [
            vocabulary if flags.all() else vocabulary.take(np.flatnonzero(flags))
            for vocabulary, flags in zip(self._vocabularies, used)
        ]

    def _places(self, template_of: NDArray[np.int32]) -> list[tuple[tuple[NDArray[np.int64], int], int]]:
        """Return where in the codes those of each macro are, and its view."""
        order = np.argsort(template_of, kind="stable")
        bounds = np.searchsorted(template_of[order], np.arange(len(self.templates) + 1))
        return [
            ((order[bounds[t] : bounds[t + 1]], m), macro.view)
            for t, template in enumerate(self.templates)
            for m, macro in enumerate(template.macros)
        ]


def _template_text(templates: str) -> str:
    if not isinstance(templates, str):
        raise TypeError(f"templates must be a name or template text, not {type(templates).__name__}")
    if templates in TEMPLATE_SETS:
        return TEMPLATE_SETS[templates]
    if "%" in templates or "\n" in templates or templates in ("B", "b", "U", "u", "*"):
        return templates
    known = ", ".join(TEMPLATE_SETS)
    raise ValueError(f"unknown templates {templates!r}; the built-in sets are {known}; read a file with load_templates")


def _rows(found: tuple[Any, ...]) -> TokenRows:
    indptr, indices = found
    return TokenRows(indptr, indices, None)


def _name(template: Template, codes: list[int], values: Sequence[list[str] | Vocabulary]) -> str:
    pieces = [template.pieces[0]]
    for macro, code, piece in zip(template.macros, codes, template.pieces[1:]):
        pieces += [boundary_name(code) if code < 0 else values[macro.view][code], piece]
    return "".join(pieces)
