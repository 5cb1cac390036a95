"""The settings of features of texts, and the featuriser that they ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from loglinear.features.text.hashed import HashedNgrams
from loglinear.features.text.stop_words import stop_words_of
from loglinear.features.text.words import WordNgrams
from loglinear.features.weighting import COUNT, check_weighting
from loglinear.features.word_classes import WordClassLexicon


@dataclass(frozen=True)
class TextSettings:
    """Which n-grams of texts are features, and their values; a model has these as parameters of the same names."""

    ngrams: Sequence[int] = (1,)
    char_ngrams: Sequence[int] = ()
    across_words: bool = False
    lowercase: bool = True
    stop_words: Sequence[str] | str | os.PathLike[str] | None = None
    hash_size: int | None = None
    weighting: str = COUNT
    min_count: int = 1
    classes: Mapping[str, str] | str | os.PathLike[str] | None = None

    @classmethod
    def of(cls, model: Any) -> TextSettings:
        """Return the parameters of a model that have these names."""
        return cls(**{field.name: getattr(model, field.name) for field in fields(cls)})

    def featuriser(self) -> WordNgrams:
        """Return the featuriser of texts; raise ValueError or TypeError for settings that do not fit together."""
        lexicon = None if self.classes is None else WordClassLexicon.of(self.classes).for_texts()
        settings: dict[str, Any] = {
            "ngrams": self.ngrams, "char_ngrams": self.char_ngrams, "across_words": self.across_words,
            "lowercase": self.lowercase, "stop_words": stop_words_of(self.stop_words), "weighting": self.weighting,
            "min_count": self.min_count, "classes": lexicon,
        }  # fmt: skip
        return WordNgrams(**settings) if self.hash_size is None else HashedNgrams(self.hash_size, **settings)

    def refuse(self, what: str, *, weighted: bool = False) -> None:
        """Raise ValueError if there are settings that only texts have; ``weighted``: the weighting is not one of them.

        what : the kind of the examples in the message
        """
        if self.classes is not None:
            raise ValueError("word classes are those of the words of texts: give texts, or leave classes out")
        asked = {"char_ngrams": len(self.char_ngrams) > 0, "stop_words": self.stop_words is not None,
                 "hash_size": self.hash_size is not None}  # fmt: skip
        for name, given in asked.items():
            if given:
                raise ValueError(f"{name} is for texts, and these are {what}: give texts, or leave {name} out")
        if check_weighting(self.weighting) != COUNT and not weighted:
            raise ValueError(
                f"weighting is for texts and lists of tokens, and these are {what}: leave weighting out, or weight "
                "them before"
            )
