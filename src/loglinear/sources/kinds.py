"""The kinds of information sources: what each sees of the history before a word.

    Words(3)        the last two words                       words:3
    Skip(1)         the word before the last one             skip:1      Skip(1, 3): the two words before it
    Tags(2)         the tag of the last word                 tags:2      another layer: tags:2:layer=pos
    Topic()         the topic of the document                topic       topic:select=65000; with words, topic:order=3
    Heads(3)        the last two exposed heads               heads:3
    HeadTags(3)     the labels of their constituents         headtags:3
    Classes(2, ..)  the class of the last word               classes:2:classes=FILE
    Function(f)     symbols that a function of yours returns

An order n means chains of n - 1 symbols; with the word that follows they are features of order n, as n-grams are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.clustering.exchange import cluster_words
from loglinear.data.documents import Documents, Layer, Numbering
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.word_vocabulary import BEGIN, END
from loglinear.formats.class_file import read_classes
from loglinear.threads import pool

Symbols = NDArray[np.int32]  # [n_events, depth], -1 where a chain ends
PENALTIES = ("elastic_net", "l1", "l2", "none", "tree-l2", "tree-linf")
State = dict[str, Any]  # what a source has learnt: lists of names, arrays of numbers


@dataclass(frozen=True)
class History:
    """What a function of the history sees before one event."""

    words: tuple[str, ...]  # of the sentence so far, after <s>
    layers: Mapping[str, tuple[str, ...]]  # symbols of these words
    before: Mapping[str, str]  # symbols known before the event
    labels: Mapping[str, str]  # of the document


@dataclass(frozen=True, kw_only=True)
class InformationSource:
    """Settings that all sources share.

    min_count : features that occur less often are left out: one number, or one per order (not decreasing); 0: features
        of order 2 also for words that a context was never seen with
    select : keep so many features of order 2, those with the largest log-likelihood ratio; None: all
    penalty : "elastic_net", "l1", "l2", "none", or a norm of every feature with those of longer contexts, "tree-l2" or
        "tree-linf"; None: that of the model
    strength, l1_ratio : of the penalty; one number or one per order (one for tree norms); None: those of the model, and
        for topics a ridge
    nonnegative : whether weights may not be negative; None: as the model says
    values : a real-valued feature: a function (context, word) -> number; None: features are 1
    """

    kind: ClassVar[str]
    if TYPE_CHECKING:  # every kind has it as a field of its own, in its own place

        @property
        def order(self) -> int:
            """Return one more than the number of symbols of a whole chain."""

    min_count: int | Sequence[int] = 1
    select: int | None = None
    penalty: str | None = None
    strength: float | Sequence[float] | None = None
    l1_ratio: float | Sequence[float] | None = None
    nonnegative: bool | None = None
    values: Callable[[tuple[str, ...], str], float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order < 2:
            raise ValueError(f"{self.kind}: the order is {self.order!r}; it must be a whole number from 2")
        if self.select is not None and (not isinstance(self.select, int) or self.select < 1):
            raise ValueError(f"{self.kind}: select is {self.select!r}; it must be a whole number from 1")
        if self.select is not None and self.order != 2:
            raise ValueError(f"{self.kind}: select chooses features of order 2; this source has order {self.order}")
        if self.penalty is not None and self.penalty not in PENALTIES:
            raise ValueError(f"{self.kind}: unknown penalty {self.penalty!r}; known: {', '.join(PENALTIES)}")

    @property
    def depth(self) -> int:
        """Return the number of symbols of a whole chain."""
        return self.order - 1

    @property
    def name(self) -> str:
        """Return the name in tables and explanations."""
        return self.kind

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the names of the history variables, in the order of the chain."""
        return tuple(f"{self.name}-{k}" for k in range(1, self.depth + 1))

    def learn(self, documents: Documents, numbering: Numbering) -> State:
        """Return what the source must know to number the symbols of other documents."""
        return {}

    def check_state(self, numbering: Numbering, state: State) -> None:
        """Raise ValueError for a state, read from a file, that ``symbols`` and ``symbol_name`` could not rely on."""

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the chain of symbols of every event."""
        raise NotImplementedError

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return the name of a symbol at a place of the chain."""
        raise NotImplementedError

    def spec(self) -> str:
        """Return the source as the command line writes it."""
        given = [self.kind]
        for field in fields(self):
            value = getattr(self, field.name)
            made_here = field.name == "classes" and isinstance(value, int)
            if value != field.default and (made_here or field.name not in ("values", "function", "classes")):
                plain = int(value) if isinstance(value, bool) else value
                parts = value if isinstance(value, (list, tuple)) else [plain]
                given.append(f"{field.name}={'+'.join(str(part) for part in parts)}")
        return ":".join(given)


def _previous(
    numbers: NDArray[Any], documents: Documents, first: int, depth: int, begin: int
) -> NDArray[np.int32]:
    """Return the numbers of the events ``first``, ``first`` + 1, ... before each in its sentence: [n_events, depth].

    Before the first event of a sentence comes ``begin``, if it is not negative, and then -1.
    """
    out = np.empty((documents.n_events, depth), np.int32)
    given = np.ascontiguousarray(numbers, np.int32)
    _core.previous_symbols(pool(), given, documents.event_ptr, first, depth, begin, out)
    return out


@dataclass(frozen=True)
class Words(InformationSource):
    """The last words."""

    kind: ClassVar[str] = "words"
    order: int = 3

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the words before each event, the last one first."""
        return _words(documents, numbering, 1, self.depth)

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a word."""
        return numbering.vocabulary.word(number)


def _words(documents: Documents, numbering: Numbering, first: int, depth: int) -> Symbols:
    return _previous(documents.words, documents, first, depth, numbering.vocabulary.begin)


@dataclass(frozen=True)
class Skip(InformationSource):
    """Words before the last ones, which are skipped."""

    kind: ClassVar[str] = "skip"
    skipped: int = 1
    order: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.skipped, int) or self.skipped < 1:
            raise ValueError(f"skip: {self.skipped!r} words to skip; it must be a whole number from 1")

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the variables of the words, which Words has too."""
        return tuple(f"words-{k}" for k in range(self.skipped + 1, self.skipped + self.depth + 1))

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the words before the skipped ones."""
        return _words(documents, numbering, self.skipped + 1, self.depth)

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a word."""
        return numbering.vocabulary.word(number)


@dataclass(frozen=True)
class Tags(InformationSource):
    """The tags of the last words, or another layer over them."""

    kind: ClassVar[str] = "tags"
    order: int = 2
    layer: str = "tags"

    @property
    def name(self) -> str:
        """Return the name of the layer."""
        return self.layer

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the symbols of the words before each event."""
        layer = _layer(self, documents.layers, self.layer, documents)
        numbers = documents.at_events(layer.numbers, -1)
        begin = len(numbering.layers.get(self.layer, ()))  # <s>
        return _previous(numbers, documents, 1, self.depth, begin)

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a symbol of the layer."""
        names = numbering.layers[self.layer]
        return names[number] if number < len(names) else BEGIN


def _layer(source: InformationSource, layers: Mapping[str, Layer], name: str, documents: Documents) -> Layer:
    if name not in layers:
        have = [*documents.layers, *documents.before, *documents.labels]
        place = f" ({documents.place(0)})" if documents.places else ""
        told = f"the layers {', '.join(have)}" if have else "words only"
        raise FormatError(f"the source {source.spec()} needs the layer {name!r}, and the documents{place} have {told}")
    return layers[name]


@dataclass(frozen=True)
class Topic(InformationSource):
    """The label of the document, or a symbol known before each event, such as a topic assigned from the history.

    Of a higher order, the last words extend it: ``Topic(order=3)`` has the topic, and the topic with the last word.

    A topic that training has not seen, or a document without one, has no topic features: the model falls back to its
    other sources.
    """

    kind: ClassVar[str] = "topic"
    label: str = "topic"
    order: int = 2

    @property
    def name(self) -> str:
        """Return the name of the label."""
        return self.label

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the name of the label, and the words that extend it."""
        return (self.label, *(f"words-{k}" for k in range(1, self.depth)))

    def learn(self, documents: Documents, numbering: Numbering) -> State:
        """Return the share of the events that each topic has, by which ``marginal`` n-grams mix topics."""
        topics = self._topics(documents, numbering)
        names = (numbering.before if self.label in documents.before else numbering.labels).get(self.label, ())
        counts = np.bincount(topics[topics >= 0], minlength=len(names)).astype(np.float64)
        return {"share": counts / max(counts.sum(), 1.0)}

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the topic of every event, then the last words."""
        topics = self._topics(documents, numbering)[:, None]
        if self.depth == 1:
            return topics
        return np.concatenate([topics, _words(documents, numbering, 1, self.depth - 1)], axis=1)

    def _topics(self, documents: Documents, numbering: Numbering) -> NDArray[np.int32]:
        if self.label in documents.before:
            return documents.before[self.label].numbers
        if self.label not in documents.labels and self.label in numbering.labels:  # text without labels
            return np.full(documents.n_events, -1, np.int32)
        layer = _layer(self, documents.labels, self.label, documents)
        return layer.numbers[documents.document_of_events]

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a topic, or a word."""
        if place:
            return numbering.vocabulary.word(number)
        return (numbering.before if self.label in numbering.before else numbering.labels)[self.label][number]


@dataclass(frozen=True)
class Heads(InformationSource):
    """The exposed heads of the partial parse, the last one first: layers head1, head2, ... known before each event."""

    kind: ClassVar[str] = "heads"
    prefix: ClassVar[str] = "head"
    order: int = 3

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the symbols of these layers, numbered as in the first."""
        return np.stack([self._numbers(documents, numbering, k) for k in range(1, self.depth + 1)], axis=1)

    def _numbers(self, documents: Documents, numbering: Numbering, k: int) -> NDArray[np.int32]:
        return _layer(self, documents.before, f"{self.prefix}{k}", documents).numbers

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a head, or the label of one."""
        return numbering.before[f"{self.prefix}{place + 1}"][number]


@dataclass(frozen=True)
class HeadTags(Heads):
    """The labels of the constituents that these heads stand for: layers headtag1, headtag2, ..."""

    kind: ClassVar[str] = "headtags"
    prefix: ClassVar[str] = "headtag"


@dataclass(frozen=True)
class Classes(InformationSource):
    """The classes of the last words, or of those before the ``skipped`` last ones.

    classes : a dict from words to classes; a file, ``word TAB class`` or the paths of Brown's tool; a number of
        classes, which are made of the text to train on; None: those of a class-factored model

    A word without a class has no class features: a chain ends before it.
    """

    kind: ClassVar[str] = "classes"
    order: int = 2
    classes: Mapping[str, str] | str | os.PathLike[str] | int | None = None
    skipped: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.skipped, int) or self.skipped < 0:
            raise ValueError(f"classes: {self.skipped!r} words to skip; it must be a whole number from 0")
        if isinstance(self.classes, str) and self.classes.isdecimal():
            object.__setattr__(self, "classes", int(self.classes))

    @property
    def name(self) -> str:
        """Return the name, with the number of classes where they are made here."""
        return f"classes{self.classes}" if isinstance(self.classes, int) else self.kind

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the names of the history variables, in the order of the chain."""
        return tuple(f"{self.name}-{k}" for k in range(self.skipped + 1, self.skipped + self.depth + 1))

    def learn(self, documents: Documents, numbering: Numbering) -> State:
        """Return the class of every word of the vocabulary, <s> included; -1 for words without one."""
        if self.classes is None:
            raise ValueError("classes: give the class of each word, as a dict or a file of lines word TAB class, or a "
                             "number of classes")  # fmt: skip
        if isinstance(self.classes, int):
            labels = cluster_words(documents.sentences, self.classes)
            of_label = np.concatenate([labels.astype(np.int32), [self.classes + 1]]).astype(np.int32)  # <s>
            return {"names": [*map(str, range(self.classes)), END, BEGIN], "of_word": of_label}
        by_word = self.classes if isinstance(self.classes, Mapping) else read_classes(self.classes)
        names = list(dict.fromkeys([*by_word.values(), BEGIN]))
        number = {name: n for n, name in enumerate(names)}
        words = [*numbering.vocabulary, BEGIN]
        of_word = [number[by_word[w]] if w in by_word else number[BEGIN] if w == BEGIN else -1 for w in words]
        return {"names": names, "of_word": np.array(of_word, np.int32)}

    def check_state(self, numbering: Numbering, state: State) -> None:
        """Raise ValueError unless every word has a class that has a name, or none."""
        names, of_word = state.get("names"), state.get("of_word")
        if names is None or of_word is None or of_word.shape != (numbering.vocabulary.n_words + 1,) or not (
            of_word.dtype.kind == "i" and of_word.min() >= -1 and of_word.max() < len(names)
        ):  # fmt: skip
            raise ValueError("classes: the classes of the words are damaged")

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the classes of the words before each event."""
        words = _words(documents, numbering, self.skipped + 1, self.depth)
        return np.where(words >= 0, state["of_word"][words], -1).astype(np.int32)

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a class."""
        return str(state["names"][number])


_CHECKED = 200  # events on which a function is called twice


@dataclass(frozen=True)
class Function(InformationSource):
    """Symbols that a function of the history returns: a list of strings, the most important one first.

    The function gets a ``History`` and must always return the same for the same history. Register a source of yours to
    save models that use it: ``SOURCES.register("name", lambda **given: Function(f, title="name", **given))``.
    """

    kind: ClassVar[str] = "function"
    function: Callable[[History], Sequence[str]] | None = None
    order: int = 2
    title: str = "function"

    @property
    def name(self) -> str:
        """Return the title."""
        return self.title

    def spec(self) -> str:
        """Return the source by the name under which it must be registered."""
        return super().spec().replace("function", self.title, 1).replace(f":title={self.title}", "")

    def learn(self, documents: Documents, numbering: Numbering) -> State:
        """Return the names of all symbols; raise ValueError for a function that is not deterministic."""
        chains = list(self._chains(documents, numbering))
        again = self._chains(documents, numbering)
        for n, (first, second) in enumerate(zip(chains[:_CHECKED], again), start=1):
            if first != second:
                raise ValueError(f"the function of source {self.title!r} is not deterministic: before event {n} it "
                                 f"returned {first!r} and then {second!r}")  # fmt: skip
        return {"names": list(dict.fromkeys(symbol for chain in chains for symbol in chain))}

    def check_state(self, numbering: Numbering, state: State) -> None:
        """Raise ValueError unless the symbols have names."""
        if "names" not in state:
            raise ValueError(f"the names of the symbols of source {self.title!r} are missing")

    def symbols(self, documents: Documents, numbering: Numbering, state: State) -> Symbols:
        """Return the numbers of what the function returns."""
        number = {name: n for n, name in enumerate(state["names"])}
        out = np.full((documents.n_events, self.depth), -1, np.int32)
        for row, chain in zip(out, self._chains(documents, numbering)):
            for k, symbol in enumerate(chain):
                row[k] = number.get(symbol, -1)
        return out

    def _chains(self, documents: Documents, numbering: Numbering) -> Any:
        if self.function is None:
            raise IncompatibleError(f"the source {self.title!r} has no function: register it before the model is used")
        for history in histories(documents, numbering):
            chain = self.function(history)
            if not isinstance(chain, (list, tuple)) or not all(isinstance(s, str) for s in chain):
                raise TypeError(f"the function of source {self.title!r} must return a list of strings, not {chain!r}")
            yield tuple(chain[: self.depth])

    def symbol_name(self, number: int, place: int, numbering: Numbering, state: State) -> str:
        """Return a symbol."""
        return str(state["names"][number])


def histories(documents: Documents, numbering: Numbering) -> Any:
    """Yield the history of every event."""
    words = [numbering.vocabulary.word(int(w)) for w in documents.sentences.words]
    tables = {name: [*layer.names, BEGIN] for name, layer in {**documents.layers, **documents.before}.items()}
    of_event = documents.document_of_events
    event = 0
    for a, b in zip(documents.sentences.sentence_ptr[:-1], documents.sentences.sentence_ptr[1:]):
        names = {k: layer.names for k, layer in documents.labels.items()}
        labels = {k: names[k][n] for k, layer in documents.labels.items()
                  if (n := int(layer.numbers[of_event[event]])) >= 0}  # fmt: skip
        for place in range(int(a), int(b) + 1):
            layers = {k: tuple(tables[k][n] for n in v.numbers[a:place]) for k, v in documents.layers.items()}
            before = {k: tables[k][v.numbers[event]] for k, v in documents.before.items()}
            yield History((BEGIN, *words[int(a) : place]), layers, before, labels)
            event += 1
