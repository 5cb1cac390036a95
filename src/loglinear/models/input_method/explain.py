"""Why an input method prefers a conversion: the readings of its words, and the n-grams that they form.

    score(words) = sum over words of log p(word | words before) + log p(reading | word)

The first part is explained as the language model explains a sentence (models/language_model/explain.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loglinear.errors import IncompatibleError
from loglinear.models.language_model.explain import explain_numbers
from loglinear.models.notebook import Shown
from loglinear.models.push import Push

if TYPE_CHECKING:
    from loglinear.models.input_method.predictor import InputMethodPredictor
    from loglinear.models.language_model.predictor import LanguageModelPredictor

_BLANKS = re.compile(r"[ \t\n\r\v\f]+")


@dataclass(frozen=True)
class ConvertedWord:
    """A word of a conversion, or its end; its log-probability is the sum of the contributions."""

    word: str
    reading: str  # the part of what was typed that it stands for; empty for the end
    log_probability: float  # natural, of the word after those before it, and of its reading
    unknown: bool  # to the language model; a word that the lexicon lacks is left as typed
    pushes: list[Push]  # n-grams as the language model explains them, then the reading


@dataclass(frozen=True)
class ConversionExplanation(Shown):
    """The words of a conversion, each with what its n-grams and its reading contribute."""

    text: str
    tokens: list[ConvertedWord]

    @property
    def log_probability(self) -> float:
        """Natural logarithm of the probability of words and readings: the score of the conversion."""
        return sum(token.log_probability for token in self.tokens)

    def __str__(self) -> str:
        lines = []
        for token in self.tokens:
            name = f"{token.word} for {token.reading}" if token.reading else token.word
            lines.append(f"{name}: {token.log_probability:.4f}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}" for push in token.pushes]
        return "\n".join([*lines, f"log-probability {self.log_probability:.4f} of {self.text}"])


class Spelling(NamedTuple):
    """The part of a reading that a word stands for."""

    reading: str
    log_channel: float  # log p(reading | word)
    known: bool  # whether the lexicon has the word for it; if not, the word is left as typed


def explain(model: InputMethodPredictor, reading: str, words: Sequence[str] | None = None) -> ConversionExplanation:
    """Explain a conversion of one reading; ``words`` of None are those of the best one."""
    if not isinstance(reading, str):
        raise TypeError(f"explain takes one reading, a string, not {type(reading).__name__}")
    words = model.candidates([reading], 1)[0][0].words if words is None else list(words)
    spellings = _spell(model, reading, words)
    if spellings is None:
        message = f"the words {' '.join(words)!r} do not spell the reading {reading!r}; candidates lists words that do"
        raise ValueError(message)
    language, tokens = model.language_model_, []
    sentence = explain_numbers(language, words, _numbers(language, words, spellings))
    for token, spelt in zip(sentence.tokens, [*spellings, Spelling("", 0.0, True)]):
        pushes = list(token.pushes)
        if spelt.log_channel:
            pushes.append(Push(f"{spelt.reading} for {token.word}", 1.0, spelt.log_channel, spelt.log_channel))
        total = sum(push.contribution for push in pushes)
        tokens.append(ConvertedWord(token.word, spelt.reading, total, token.unknown, pushes))
    return ConversionExplanation(model.text_of(" ".join(words)), tokens)


def _numbers(language: LanguageModelPredictor, words: Sequence[str], spellings: Sequence[Spelling]) -> list[int]:
    """Return the numbers of words in the language model; words that are left as typed are unknown to it."""
    vocabulary, numbers = language.vocabulary_, []
    for word, number, spelt in zip(words, vocabulary.ids(list(words)).tolist(), spellings):
        if number < 0 or not spelt.known:
            if vocabulary.unknown is None:
                raise IncompatibleError(
                    f"the language model has a closed vocabulary, which lacks {word!r}: the conversion has no "
                    "probability that could be explained"
                )
            number = vocabulary.unknown
        numbers.append(number)
    return numbers


def _spell(model: InputMethodPredictor, reading: str, words: Sequence[str]) -> list[Spelling] | None:
    """Return how the words spell the reading, in the most probable way; None if they do not."""
    typed, ends = "", []  # where the piece of each character ends: no word crosses it
    for piece in _BLANKS.split(reading):
        typed += piece
        ends += [len(typed)] * len(piece)
    reached: dict[int, tuple[float, list[Spelling]]] = {0: (0.0, [])}  # by the number of characters spelt so far
    for word in words:
        before, reached, lexemes = reached, {}, _lexemes(model, word)
        for place, (score, path) in before.items():
            for spelt in _fitting(model, word, lexemes, typed[place : ends[place]] if place < len(typed) else ""):
                to, total = place + len(spelt.reading), score + spelt.log_channel
                if to not in reached or total > reached[to][0]:
                    reached[to] = (total, [*path, spelt])
    return reached[len(typed)][1] if len(typed) in reached else None


def _lexemes(model: InputMethodPredictor, word: str) -> list[Spelling]:
    """Return the readings of a word in the lexicon."""
    lexicon = model.lexicon_
    (surface,) = lexicon.surfaces.ids([word]).tolist()
    places = np.flatnonzero(lexicon.surface == surface) if surface >= 0 else np.empty(0, dtype=np.int64)
    readings = np.searchsorted(lexicon.reading_ptr, places, side="right") - 1
    counts = lexicon.count[places]
    weights = np.log(counts / counts.sum()).tolist() if model.channel else [0.0] * places.size
    return [Spelling(lexicon.readings[r], weight, True) for r, weight in zip(readings.tolist(), weights)]


def _fitting(model: InputMethodPredictor, word: str, lexemes: Sequence[Spelling], piece: str) -> Iterator[Spelling]:
    """Yield the readings of a word that a piece, or what is left of it, begins with; the whole where pieces are words.

    A piece (a character, where pieces are not words) that is no reading by itself can be left as typed.
    """
    whole = model.words_are_pieces
    yield from (spelt for spelt in lexemes if (piece == spelt.reading if whole else piece.startswith(spelt.reading)))
    typed = piece if whole else piece[:1]
    if typed and typed == word and typed not in model.lexicon_:
        yield Spelling(typed, 0.0, False)
