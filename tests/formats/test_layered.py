import json

import pytest

from loglinear.errors import FormatError
from loglinear.formats.layered import kind_of, read_columns, read_json, read_tagged, read_trees
from loglinear.formats.trees import exposed_heads, parse_trees

TREE = "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ eats) (-NONE- *T*) (NP (NN meat))) (. .)))"


def test_sentences_and_documents_of_json_lines():
    lines = [
        '{"words": ["a", "b"], "tags": ["X", "Y"], "topic": "t"}',
        "",
        '{"words": ["c"], "tags": ["X"], "topic": "t"}',
        '{"topic": "u", "sentences": [{"words": ["d"], "tags": ["Y"], "before": {"h": ["<s>", "d"]}}]}',
    ]
    first, second = read_json(lines, "f")
    assert first.labels == {"topic": "t"}
    assert [s.words for s in first.sentences] == [["a", "b"], ["c"]]
    assert first.sentences[1].line == 3
    assert first.sentences[0].layers == {"tags": ["X", "Y"]}
    assert second.sentences[0].before == {"h": ["<s>", "d"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "f:1: not JSON"),
        ("[]", 'f:1: expected an object with "words", a sentence, or with "sentences"'),
        ('{"words": ["a"], "tags": ["X", "Y"]}', "f:1: layer 'tags' has 2 symbols, and the sentence needs 1, for its"),
        ('{"words": ["a"], "before": {"h": ["X"]}}', "layer 'h' has 1 symbols, and the sentence needs 2, for"),
        ('{"words": ["a", 1]}', "f:1: 'words' must be a list of strings"),
        ('{"words": ["a"], "topic": 1.5}', "f:1: 'topic' must be a string or a whole number"),
        ('{"sentences": [{"words": ["a"], "topic": "t"}]}', "f:1: sentence 1: 'topic' labels a sentence inside"),
    ],
)
def test_bad_json_lines_name_file_and_line(line, message):
    with pytest.raises(FormatError) as error:
        list(read_json([line], "f"))
    assert message in str(error.value)


def test_columns_and_tagged_words():
    lines = ["# newdoc", "# topic = t", "a\tX\t1", "b\tY\t2", "", "c\tX\t1", "# newdoc", "d\tX\t3"]
    found = list(read_columns(lines[:6], "f"))
    assert found[0].labels == {"topic": "t"}
    assert found[0].sentences[0].layers == {"tags": ["X", "Y"]}
    assert next(iter(read_columns(lines[2:4], "f", ["tags", "n"]))).sentences[0].layers["n"] == ["1", "2"]
    with pytest.raises(FormatError, match="f:2: 1 columns, and the word with tags needs 2"):
        list(read_columns(["a X", "b"], "f"))
    (document,) = read_tagged(["1/2/CD a/X", "", "b/Y"], "f")
    assert document.sentences[0].words == ["1/2", "a"]
    assert document.sentences[1].line == 3
    with pytest.raises(FormatError, match="f:1: 'word' is no word/tag"):
        list(read_tagged(["word"], "f"))


def test_exposed_heads_of_a_tree_by_hand():
    (tree,) = parse_trees(TREE)
    words, tags, before = exposed_heads(tree)
    assert words == ["the", "dog", "eats", "meat", "."]
    assert tags == ["DT", "NN", "VBZ", "NN", "."]
    assert before["head1"] == ["<s>", "the", "dog", "eats", "eats", "eats"]
    assert before["headtag1"] == ["<s>", "DT", "NP", "VBZ", "VP", "S"]
    assert before["head2"] == ["<s>", "<s>", "<s>", "dog", "dog", "<s>"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP a)) )", "tree 2: a closing bracket without an opening one"),
        ("(S (NP a)", "tree 1: the tree ends before its brackets close"),
        ("(S (NP a)) word", "tree 2: 'word' stands outside of all brackets"),
        ("(S (NP a)) (S (-NONE- *))", "tree 2 has no words"),
        ("(S (NP a b))", "tree 1: 'b' stands beside a word or brackets"),
    ],
)
def test_bad_trees_name_their_number(text, message):
    with pytest.raises(FormatError) as error:
        list(read_trees([text], "f.mrg"))
    assert message in str(error.value)
    assert "f.mrg" in str(error.value)


def test_trees_of_json_lines_must_have_the_words_of_the_text():
    words = ["the", "dog", "eats", "meat", "."]
    ((sentence,),) = (d.sentences for d in read_json([json.dumps({"words": words, "tree": TREE})], "f"))
    ((alone,),) = (d.sentences for d in read_trees([TREE], "f.mrg"))
    assert (sentence.layers, sentence.before) == (alone.layers, alone.before)
    for record, message in (
        ({"words": ["the", "cat"], "tree": TREE}, "f:1: tree: word 2 is 'dog', and the text has 'cat'"),
        ({"words": [*words, "!"], "tree": TREE}, "f:1: tree: word 6 is its end, and the text has '!'"),
        ({"words": words, "tree": TREE[:-1]}, "f:1: tree 1: the tree ends before its brackets close"),
        ({"words": words, "tree": TREE + TREE}, 'f:1: "tree" holds 2 trees, and a sentence has one'),
        ({"words": words, "tree": ["S"]}, 'f:1: "tree" must be a string'),
        ({"sentences": [{"words": ["a"], "tree": TREE}]}, "f:1: sentence 1: tree: word 1 is 'the', and the text has"),
    ):
        with pytest.raises(FormatError) as error:
            list(read_json([json.dumps(record)], "f"))
        assert message in str(error.value)


def test_names_tell_the_format():
    assert kind_of("a.jsonl.gz") == "json"
    assert kind_of("a.mrg") == "trees"
    assert kind_of("a.txt") is None
