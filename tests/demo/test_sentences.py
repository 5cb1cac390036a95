"""Sentences of the documentation: how they are cut, and that no text is in two parts."""

from __future__ import annotations

from loglinear.demo.docstrings import Corpus, stdlib_docstrings
from loglinear.demo.sentences import documentation, sentences


def test_sentences_by_hand() -> None:
    text = 'Return *x*.real, e.g. 1.5; see "__new__()". Don\'t wait!  <s> Is it so?\nNo.'
    assert list(sentences([text])) == [
        'return * x * . real , e.g . 1.5 ; see " __new__ ( ) " .',
        "don't wait !",
        "< s > is it so ?",
    ]


def test_parts_are_of_whole_texts_taken_once() -> None:
    texts = [f"Number {i} is here. It is called by number {i}." for i in range(400)]
    prose = documentation(Corpus([], [], [], [], "", quick=True, documents=texts + texts))
    parts = [set(prose.train), set(prose.validation), set(prose.test)]
    assert sum(len(p) for p in (prose.train, prose.validation, prose.test)) == 800
    for part in parts:
        numbers = {sentence.split()[1] for sentence in part if sentence.startswith("number")}
        assert {f"it is called by number {n} ." for n in numbers} <= part
    assert len(set.union(*parts)) == sum(map(len, parts))
    assert 500 < len(prose.train) < 740
    assert len(prose.validation) > 20
    assert len(prose.test) > 20


def test_the_same_every_time_and_fit_for_a_language_model() -> None:
    corpus = stdlib_docstrings(quick=True)
    prose = documentation(corpus)
    assert prose == documentation(corpus)
    words = {word for part in (prose.train, prose.validation, prose.test) for line in part for word in line.split(" ")}
    assert "" not in words
    assert not words & {"<s>", "</s>", "<unk>"}
    assert "words to train on" in prose.about
