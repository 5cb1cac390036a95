"""Attributes given by the caller: sequences of dicts or of lists of strings, or a file of CRFsuite.

A token is a dict or a list of names. The rules for dicts are those of python-crfsuite:

    {"w": "dog"}          w:dog, value 1          {"f": ["a", "b"]}     f:a and f:b, value 1 (also sets and tuples)
    {"w": 2.5}            w, value 2.5            {"f": {"a": 0.5}}     f:a, value 0.5 (and so on inwards)
    {"w": True}           w, value 1; False: 0    bytes are decoded as UTF-8

Sequences are read once, one at a time and natively: what stays in memory is the encoded arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.errors import LoglinearError
from loglinear.features.numbers import finite_number
from loglinear.features.sequences import EncodedSequences, TokenRows, check_sequence_ptr, take_ranges
from loglinear.features.token_featuriser import Buckets, TokenFeaturiser, check_counts, check_indices
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.formats.crfsuite.data import CrfsuiteData

_MAX_DEPTH = 32
_KINDS = "a number, a boolean, a string, a list of strings or a dict"


class AttributeSequences(EncodedSequences[list[dict[str, float]]]):
    """Attributes: token t has the attributes ``rows.indices[rows.indptr[t]:rows.indptr[t + 1]]``.

    Its items, the sequences, are lists of dicts ``{name: value}``.
    """

    def __init__(self, sequence_ptr: NDArray[np.int64], rows: TokenRows, vocabulary: Vocabulary) -> None:
        check_sequence_ptr(sequence_ptr)
        if sequence_ptr[-1] != rows.n_tokens or rows.indptr[-1] != rows.indices.size:
            raise ValueError(f"sequences of {sequence_ptr[-1]} tokens, but attributes of {rows.n_tokens}")
        if rows.indices.size and (rows.indices.min() < 0 or rows.indices.max() >= len(vocabulary)):
            raise ValueError(f"attribute numbers must be below {len(vocabulary)}")
        self.sequence_ptr = sequence_ptr  # [n_sequences + 1]
        self.rows = rows
        self.vocabulary = vocabulary

    @classmethod
    def from_crfsuite(cls, data: CrfsuiteData) -> AttributeSequences:
        """Return the sequences that a reader found, without a copy."""
        vocabulary = Vocabulary(data.attribute_blob, data.attribute_offsets)
        return cls(data.sequence_ptr, TokenRows(data.indptr, data.indices, data.values), vocabulary)

    @classmethod
    def from_lists(cls, X: Iterable[Iterable[Any]], *, mixed: bool = False) -> AttributeSequences:
        """Encode sequences of dicts or of lists of strings (both: ``mixed``); X may be a generator."""
        if isinstance(X, AttributeSequences):
            return X
        encoder = AttributeEncoder(mixed=mixed)
        for sequence in X:
            encoder.add(sequence)
        return encoder.finish()

    def _sequence(self, i: int) -> list[dict[str, float]]:
        tokens = range(self.sequence_ptr[i], self.sequence_ptr[i + 1])
        return [dict(self._attributes(t)) for t in tokens]

    def _attributes(self, t: int) -> Iterator[tuple[str, float]]:
        for place in range(self.rows.indptr[t], self.rows.indptr[t + 1]):
            value = 1.0 if self.rows.values is None else float(self.rows.values[place])
            yield self.vocabulary[int(self.rows.indices[place])], value

    def take(self, rows: NDArray[Any] | Sequence[int]) -> AttributeSequences:
        """Return the sequences with these numbers, in this order; the vocabulary is shared."""
        ptr, tokens = take_ranges(self.sequence_ptr, np.asarray(rows, dtype=np.int64))
        return AttributeSequences(ptr, self.rows.take(tokens), self.vocabulary)

    def __repr__(self) -> str:
        return f"AttributeSequences({len(self)} sequences, {self.n_tokens} tokens, {len(self.vocabulary)} attributes)"


class AttributeEncoder:
    """Collects sequences one at a time. Plain dicts and lists are read natively, all other tokens here."""

    def __init__(self, *, mixed: bool = False) -> None:
        self.mixed = mixed  # whether some tokens may be dicts and others lists
        self._rows = _core.AttributeReader(mixed)

    @property
    def n_sequences(self) -> int:
        """Number of sequences so far."""
        return self._rows.n_sequences

    def add(self, sequence: Iterable[Any]) -> None:
        """Encode one more sequence; where it is refused, the encoder is as before."""
        if isinstance(sequence, (str, bytes, Mapping)) or not isinstance(sequence, Iterable):
            raise TypeError(f"sequence {self.n_sequences} is {type(sequence).__name__}, not a list of tokens")
        tokens: Any = sequence if type(sequence) in (list, tuple) else list(sequence)
        try:
            at = 0
            while (at := self._rows.add_tokens(tokens, at)) < len(tokens):
                self._add_token(tokens[at], lambda at=at: f"sequence {self.n_sequences}, token {at}")  # type: ignore
                at += 1
        except BaseException:
            self._rows.drop_tokens()
            raise
        self._rows.end_sequence()

    def add_encoded(self, sequences: AttributeSequences) -> None:
        """Take over sequences that are encoded already."""
        rows, names = sequences.rows, sequences.vocabulary
        self._rows.add_encoded(
            sequences.sequence_ptr, rows.indptr, rows.indices, rows.values, names.blob, names.offsets
        )

    def _add_token(self, token: Any, where: Callable[[], str]) -> None:
        """Encode a token that is not a plain one, or refuse it."""
        is_dict = isinstance(token, Mapping)
        if not is_dict and (isinstance(token, (str, bytes)) or not isinstance(token, Iterable)):
            raise TypeError(f"{where()} is {type(token).__name__}, not a dict or a list of attributes")
        if self._rows.is_dict not in (None, is_dict) and not self.mixed:
            kinds = ("a dict", "a list") if is_dict else ("a list", "a dict")
            raise TypeError(f"{where()} is {kinds[0]}, but those before are {kinds[1]}; give all tokens alike")
        pairs = list(_flatten(token, "", where, 0)) if is_dict else [(_text(n, where, "attribute"), 1.0) for n in token]
        values = np.array([value for _, value in pairs], dtype=np.float64)
        self._rows.add_pairs(*pack_strings([name for name, _ in pairs]), values, is_dict)

    def finish(self, *, more: bool = False) -> AttributeSequences:
        """Return all sequences, after which the encoder is empty; or, with ``more``, copies of them."""
        ptr, indptr, indices, values, *names = self._rows.arrays(more)
        return AttributeSequences(ptr, TokenRows(indptr, indices, values if values.size else None), Vocabulary(*names))


def _flatten(items: Mapping[Any, Any], prefix: str, where: Any, depth: int) -> Iterator[tuple[str, float]]:
    """Yield names and values of a dict; those of inner dicts and lists are named ``name:inner name``."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"{where()}: dicts inside dicts, more than {_MAX_DEPTH} deep")
    for key, value in items.items():
        name = prefix + _text(key, where, "attribute name")
        if isinstance(value, (str, bytes)):
            yield f"{name}:{_text(value, where, name)}", 1.0
        elif isinstance(value, Mapping):
            yield from _flatten(value, name + ":", where, depth + 1)
        elif isinstance(value, (list, tuple, set, frozenset)):
            inner = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
            for item in inner:
                yield f"{name}:{_text(item, where, name)}", 1.0
        else:
            yield name, finite_number(value, lambda: f"{where()}: attribute", name, _KINDS)


def _text(value: Any, where: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{where()}: {what} {value!r} is not valid UTF-8; decode it first") from None
    raise TypeError(f"{where()}: {what} {value!r} is {type(value).__name__}, not a string")


class AttributeFeatures(TokenFeaturiser):
    """Attributes that occur at least ``min_count`` times; with ``hash_bits``, 2^hash_bits numbers shared by hashing.

    Numbered by first occurrence. All go with the label, and plain pairs of labels are features too.
    """

    kind = "attributes"
    has_transitions = True

    def __init__(self, *, min_count: int = 1, hash_bits: int | None = None) -> None:
        check_counts(min_count, hash_bits)
        self.min_count = min_count
        self.hash_bits = hash_bits
        self._vocabulary: Vocabulary | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the names of the attributes; raise an error before ``fit_transform`` or if they are hashed."""
        if self._vocabulary is None:
            reason = "are hashed" if self.hash_bits is not None else "are not known yet; call fit_transform first"
            raise LoglinearError(f"AttributeFeatures: the names of the attributes {reason}")
        return self._vocabulary

    @property
    def n_attributes(self) -> int:
        """Number of attributes; refused before ``fit_transform``."""
        return len(self.vocabulary) if self.hash_bits is None else len(self._hashed())

    @property
    def scopes(self) -> NDArray[np.uint8]:
        """Return 1 for every attribute: each goes with the label."""
        return np.ones(self.n_attributes, dtype=np.uint8)

    def names(self) -> list[str]:
        """Return the name of each attribute; ``#number`` where they are hashed."""
        if self.hash_bits is None:
            return list(self.vocabulary)
        return [f"#{number}" for number in self._hashed().numbers().tolist()]

    def name(self, number: int) -> str:
        """Return the name of one attribute."""
        return self.vocabulary[number] if self.hash_bits is None else f"#{self._hashed().numbers()[number]}"

    def fit_transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Learn the attributes of the tokens, and return those of each."""
        self._vocabulary = self._buckets = None
        return self.extend(sequences, n_threads)

    def extend(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Like fit_transform, but known attributes keep their numbers and new ones come after them."""
        encoded = AttributeSequences.from_lists(sequences)
        if self.hash_bits is not None:
            self._buckets = self._buckets or Buckets(self.hash_bits)
            return self.transform(encoded, n_threads)
        rows, found = encoded.rows, encoded.vocabulary
        numbers = np.full(len(found), -1, dtype=np.int32)
        if self._vocabulary is not None:
            self._vocabulary.index().find(found.blob, found.offsets, numbers)
        n_known = 0 if self._vocabulary is None else len(self._vocabulary)
        counts = np.bincount(rows.indices, minlength=len(found))
        new = np.flatnonzero((numbers < 0) & (counts >= self.min_count))
        new = new[np.argsort(_first_places(rows.indices, len(found))[new], kind="stable")]
        if n_known + new.size >= 2**31:
            raise LoglinearError("more than 2147483647 attributes; use hash_bits")
        numbers[new] = np.arange(n_known, n_known + new.size, dtype=np.int32)
        added = found.take(new)
        self._vocabulary = added if self._vocabulary is None else self._vocabulary.joined(added)
        return TokenRows(rows.indptr, numbers[rows.indices], rows.values).keep_known()

    def transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Return the known attributes of each token; others are left out."""
        encoded = AttributeSequences.from_lists(sequences)
        rows, found = encoded.rows, encoded.vocabulary
        if self.hash_bits is not None:
            hashes = _core.hash_strings(found.blob, found.offsets)
            numbers = (hashes >> np.uint64(64 - self.hash_bits)).astype(np.int32)
            return self._hashed().rows(TokenRows(rows.indptr, numbers[rows.indices], rows.values))
        numbers = np.empty(len(found), dtype=np.int32)
        self.vocabulary.index().find(found.blob, found.offsets, numbers)
        return TokenRows(rows.indptr, numbers[rows.indices], rows.values).keep_known()

    def _shared_names(self, parts: Sequence[AttributeFeatures]) -> list[Vocabulary]:
        return [part.vocabulary for part in parts]

    def _learn_names(self, names: Vocabulary) -> None:
        self._vocabulary = names

    def take(self, indices: NDArray[Any] | Sequence[int]) -> AttributeFeatures:
        """Return a featuriser that knows only the chosen attributes, renumbered in the order given."""
        smaller = copy.copy(self)
        if self.hash_bits is not None:
            smaller._buckets = self._hashed().take(indices)
        else:
            smaller._vocabulary = self.vocabulary.take(check_indices(indices, self.n_attributes))
        return smaller

    def settings(self) -> dict[str, Any]:
        """Return the parameters of the constructor, as JSON values."""
        return {"min_count": self.min_count, "hash_bits": self.hash_bits}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"attribute_blob": self.vocabulary.blob, "attribute_offsets": self.vocabulary.offsets}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        blob = self._array(arrays, "attribute_blob", np.uint8)
        self._vocabulary = Vocabulary.from_arrays(blob, self._array(arrays, "attribute_offsets", np.int64))
        self._vocabulary.index()


def _first_places(indices: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Return where each number occurs first; ``indices.size`` where it does not occur."""
    first = np.full(n, indices.size, dtype=np.int64)
    first[indices[::-1]] = np.arange(indices.size - 1, -1, -1)
    return first
