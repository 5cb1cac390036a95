"""Bracketed parse trees, and the exposed heads of their partial parses.

    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))

Before each word, the partial parse is the sequence of constituents that are finished and whose parents are not. Their
head words are *exposed* (Chelba and Jelinek 2000): the last two, with their labels, are what a syntactic language model
knows of the history. A finished tree tells when its constituents end, which the words before need not: figures of
models over gold trees are oracle figures.

Empty elements (-NONE-) are left out; labels lose their functions (NP-SBJ is NP).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

BEGIN = "<s>"

# The head of a constituent: the first child, from the left (l) or the right (r), with the first of these labels that
# any child has; without one, the first child from that side. In the manner of Magerman and Collins.
HEAD_RULES: dict[str, tuple[str, str]] = {
    "ADJP": ("l", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("r", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("r", "CC RB IN"),
    "FRAG": ("r", ""),
    "INTJ": ("l", ""),
    "LST": ("r", "LS :"),
    "NAC": ("l", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "NP": ("r", "NN NNP NNPS NNS NX POS JJR CD NP PRP EX $ ADJP QP JJ JJS DT RB"),
    "NX": ("r", "NN NNP NNPS NNS NX JJR CD NP"),
    "PP": ("l", "IN TO VBG VBN RP FW PP"),
    "PRN": ("l", ""),
    "PRT": ("r", "RP"),
    "QP": ("l", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("r", "VP NP ADVP ADJP PP"),
    "S": ("l", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("l", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("l", "SQ S SINV SBARQ FRAG"),
    "SINV": ("l", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("l", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("r", ""),
    "VP": ("l", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("l", "CC WRB JJ ADJP"),
    "WHADVP": ("r", "CC WRB"),
    "WHNP": ("l", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("r", "IN TO FW"),
}


@dataclass
class Tree:
    """A constituent with children, or a tagged word."""

    label: str
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the tree in brackets, on one line."""
        from loglinear.formats.bracketed import Trees, format_bracketed

        return format_bracketed(Trees.of([self])).decode("utf-8", "surrogatepass").rstrip("\n")


def parse_trees(text: str, source: str = "<text>") -> Iterator[Tree]:
    """Yield the trees of a text, stripped (formats/bracketed.py); errors name the line and the number of the tree."""
    from loglinear.formats.bracketed import parse_bracketed, strip

    if text.strip():
        yield from strip(parse_bracketed(text.encode("utf-8", "surrogatepass"), source), source).trees


def head_child(label: str, labels: list[str]) -> int:
    """Return which of the children, given by their labels, holds the head of a constituent."""
    side, wanted = HEAD_RULES.get(label, ("r", ""))
    places = list(range(len(labels)))[:: 1 if side == "l" else -1]
    if label == "NP" and labels[-1] == "POS":
        return len(labels) - 1
    for name in wanted.split():
        for place in places:
            if labels[place] == name:
                return place
    return next((place for place in places if labels[place][:1].isalpha()), places[0])


def exposed_heads(tree: Tree) -> tuple[list[str], list[str], dict[str, list[str]]]:
    """Return words, tags, and the layers head1, head2, headtag1, headtag2: one per word and one for the end.

    head1 is the last exposed head before the word, headtag1 the label of its constituent; ``<s>`` where there is none.
    """
    words: list[str] = []
    tags: list[str] = []
    exposed: list[tuple[str, str]] = []  # (head word, label) of the finished constituents without a finished parent
    before: dict[str, list[str]] = {name: [] for name in ("head1", "head2", "headtag1", "headtag2")}

    def note() -> None:
        last = [(BEGIN, BEGIN), (BEGIN, BEGIN), *exposed][-2:]
        for place, (head, label) in enumerate(reversed(last), start=1):
            before[f"head{place}"].append(head)
            before[f"headtag{place}"].append(label)

    def walk(node: Tree) -> None:
        if node.word is not None:
            note()
            words.append(node.word)
            tags.append(node.label)
            exposed.append((node.word, node.label))
            return
        first = len(exposed)
        for child in node.children:
            walk(child)
        parts = exposed[first:]
        head = parts[head_child(node.label, [label for _, label in parts])][0]
        exposed[first:] = [(head, node.label)]

    walk(tree)
    note()
    return words, tags, before
