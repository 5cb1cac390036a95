"""ItemSequence: the attributes of one sequence, encoded once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loglinear.features.attributes import AttributeSequences


class ItemSequence:
    """The tokens of one sequence, each a dict or a list of attributes, for :class:`Trainer` and :class:`Tagger`.

    Dicts follow python-crfsuite's rules: ``{"w": "dog"}`` is ``w:dog``, ``{"n": 2.5}`` is ``n`` with value 2.5,
    ``{"f": ["a"]}`` and ``{"f": {"a": 1}}`` are ``f:a``.
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self.encoded = encode(pyseq)

    def items(self) -> list[dict[str, float]]:
        """Return ``{attribute: value}`` per token."""
        return self.encoded[0]

    def __len__(self) -> int:
        return self.encoded.n_tokens

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def encode(sequence: Any) -> AttributeSequences:
    """Return one sequence of tokens, encoded."""
    if isinstance(sequence, ItemSequence):
        return sequence.encoded
    return AttributeSequences.from_lists([sequence], mixed=True)
