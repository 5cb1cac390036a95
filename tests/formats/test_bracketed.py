"""Bracketed trees: reading, writing, stripping and heads."""

import os
from pathlib import Path

import numpy as np
import pytest

from loglinear.errors import FormatError
from loglinear.formats.bracketed import Trees, format_bracketed, parse_bracketed, plain_label, read_bracketed, strip
from loglinear.formats.trees import Tree, head_child
from loglinear.grammar.binarisation import Binarisation, Symbol, Symbols, unbinarise

TEXT = b"""( (S (NP-SBJ (DT the) (NN dog))
     (VP (VBZ eats) (NP (-NONE- *T*-1)) (NP (NP (NN meat)))) (. .)))
(S (VP (VB Go))) (TOP (NN dog))  ( (FRAG (NP (NP (NP (NN x))))) )
"""


def test_trees_share_lines_and_span_them_and_are_written_back():
    trees = parse_bracketed(TEXT, "f")
    assert len(trees) == 4
    assert format_bracketed(trees).count(b"\n") == 4
    assert parse_bracketed(format_bracketed(trees)) == trees
    assert trees.sentences()[0] == ["the", "dog", "eats", "*T*-1", "meat", "."]
    assert trees.tags()[1] == ["VB"]
    assert Trees.of(list(trees)) == trees
    assert str(list(trees)[1]) == "(S (VP (VB Go)))"
    assert trees.take([2, 0]).sentences() == [["dog"], ["the", "dog", "eats", "*T*-1", "meat", "."]]


def test_chunks_and_threads_do_not_matter():
    from loglinear import _core
    from loglinear.threads import pool

    text = np.frombuffer(TEXT * 50, dtype=np.uint8)
    whole = [np.asarray(a) for a in _core.read_brackets(pool(1), text)[:4]]
    for threads in (1, 2):
        for chunk in (1, 100, 1000):
            found = _core.read_brackets(pool(threads), text, chunk)
            assert all(np.array_equal(a, b) for a, b in zip(found, whole))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN a)))\n(S (NP (NN b))", "f:2: tree 2: the tree ends before its brackets close"),
        ("(S (NP (NN a)))\n)", "f:2: tree 2: a closing bracket without an opening one"),
        ("(S\n(NP))", "f:2: tree 1: the bracket of 'NP' holds neither a word nor brackets"),
        ("()", "f:1: tree 1: an empty bracket"),
        ("(S (NP a (NN b)))", "f:1: tree 1: a word stands beside a bracket"),
        ("(S (NN a) b)", "f:1: tree 1: 'b' stands beside a word or brackets"),
        ("(S ((NN a)))", "a bracket inside of a tree has no label"),
        ("word (S (NN a))", "f:1: tree 1: 'word' stands outside of all brackets"),
        ("", "f: there are no trees"),
        ("(X " * 3000 + "(N a)" + ")" * 3000, "brackets are nested more than 2,000 deep"),
    ],
)
def test_bad_brackets_name_file_line_and_tree(text, message):
    with pytest.raises(FormatError) as error:
        parse_bracketed(text.encode(), "f")
    assert message in str(error.value)


def test_bytes_that_are_no_text_and_other_encodings():
    with pytest.raises(FormatError, match=r"is not valid UTF-8; name the right encoding"):
        parse_bracketed(b"(S (N caf\xe9))", "f")
    assert parse_bracketed(b"(S (N caf\xe9))", encoding="latin-1").words == ("café",)


def test_what_could_not_be_read_back_is_not_written():
    with pytest.raises(FormatError, match=r"label 'A\(B' has a bracket or a blank in it .* -LRB-"):
        format_bracketed(Trees.of([Tree("A(B", "x")]))
    with pytest.raises(FormatError, match="word 'x y' has a bracket or a blank"):
        format_bracketed(Trees.of([Tree("A", "x y")]))
    with pytest.raises(ValueError, match="has both a word and children"):
        Trees.of([Tree("A", "x", [Tree("B", "y")])])
    with pytest.raises(ValueError, match="leaves must have words"):
        Trees.of([Tree("A")])


def test_stripping_and_putting_back():
    trees = parse_bracketed(TEXT)
    stripped = strip(trees)
    lines = format_bracketed(stripped.trees).decode().splitlines()
    assert lines[0] == "(S (NP (DT the) (NN dog)) (VP (VBZ eats) (NP (NP (NN meat)))) (. .))"
    assert lines[1:] == ["(S (VP (VB Go)))", "(NN dog)", "(FRAG (NP (NP (NP (NN x)))))"]
    assert stripped.undo() == trees
    renamed = Trees.of([_renamed(tree) for tree in stripped.trees])
    put_back = [w.lower() for s in stripped.undo(renamed).sentences() for w in s]
    assert put_back == [w.lower() for s in trees.sentences() for w in s]
    assert [plain_label(x) for x in ("NP-SBJ-1", "-LRB-", "ADVP|PRT", "NP=2")] == ["NP", "-LRB-", "ADVP", "NP"]
    with pytest.raises(FormatError, match="f: tree 1 has no words"):
        strip(parse_bracketed(b"(S (NP (-NONE- *)))"), "f")


def _renamed(tree):
    return Tree(tree.label, None if tree.word is None else tree.word.upper(), [_renamed(c) for c in tree.children])


def test_heads_are_those_of_the_syntactic_language_model():
    trees = strip(parse_bracketed(TEXT)).trees

    def head(node):
        if node.word is not None:
            return node.word
        return head(node.children[head_child(node.label, [c.label for c in node.children])])

    heads = trees.heads()
    for start, tree in zip(trees.tree_ptr, trees):
        assert trees.words[trees.word[heads[start]]] == head(tree)


# ---- binarisation ----------------------------------------------------------------------------------------------------
ODD = [Tree("A+B", None, [Tree("C|D", None, [Tree("~", "x"), Tree("^", "y"), Tree("\\", "z"), Tree("A+B", "w")]),
                          Tree("X", None, [Tree("X", None, [Tree("p", "1"), Tree("q", "2")])]),
                          Tree("X", None, [Tree("X", None, [Tree("X", None, [Tree("p", "1"),
                                                                             Tree("q", "2")])])])])]  # fmt: skip


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("horizontal", [0, 1, 2, None])
@pytest.mark.parametrize("vertical", [1, 2, 3])
def test_binarisation_undoes_exactly(direction, horizontal, vertical):
    trees = Trees.of([*ODD, *strip(parse_bracketed(TEXT)).trees])
    for annotate in (False, True):
        binary = Binarisation(direction, horizontal, vertical, annotate).apply(trees)
        assert unbinarise(binary) == trees
        nodes = np.arange(binary.label.size)
        second = nodes + 1 + binary.size[np.minimum(nodes + 1, nodes.size - 1)]
        children = np.where(binary.is_leaf, 0, np.where(second < nodes + binary.size, 2, 1))
        kinds = Symbols(binary.labels).kind[binary.label]
        assert set(children[kinds >= 3]) <= {0, 2}  # bottoms, parts and tags
        assert set(children[kinds < 3]) == {1}


def test_names_of_symbols_say_what_they_are():
    (tree,) = Binarisation("right", 1, 2).apply(parse_bracketed(b"(S (NP (DT a) (JJ b) (NN c)) (VP (VB d)))"))
    names = [tree.label, tree.children[0].label, tree.children[0].children[0].label]
    assert names == ["r", "pS", "bS"]
    noun = tree.children[0].children[0].children[0].children[0]
    assert [noun.label, noun.children[1].label] == ["bNP^S", "iNP|DT^S"]
    assert Symbol.parse("iNP|DT^S") == Symbol("i", ("NP",), ("DT",), ("S",))
    assert Symbol.parse(r"p\++A\^").chain == ("+", "A^")
    assert Symbol.parse("iNP|").coarse == "iNP|"
    with pytest.raises(ValueError, match="is no symbol"):
        Symbol.parse("XNP")


@pytest.mark.parametrize(
    "settings", [{"direction": "up"}, {"horizontal": -1}, {"vertical": 0}, {"vertical": 1.5}, {"horizontal": True}]
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Binarisation(**settings)


@pytest.mark.skipif("LOGLINEAR_DATA" not in os.environ, reason="LOGLINEAR_DATA is not set")
def test_all_trees_of_the_treebank_come_back():
    raw = read_bracketed(Path(os.environ["LOGLINEAR_DATA"]) / "treebank" / "wsj_sample.mrg.gz")
    assert len(raw) == 3914
    assert parse_bracketed(format_bracketed(raw)) == raw
    stripped = strip(raw)
    assert stripped.undo() == raw
    for how in (Binarisation(), Binarisation("left", 2, 3), Binarisation("right", None, 2, True)):
        assert unbinarise(how.apply(stripped.trees)) == stripped.trees
