import numpy as np
import pytest

from loglinear.data.documents import iterate_documents, number_documents
from loglinear.errors import FormatError, IncompatibleError
from loglinear.sources import Classes, Function, Heads, Skip, Tags, Topic, Words, parse_source, parse_sources
from loglinear.sources.extraction import extract
from tests.composite_problems import DOCUMENTS


def numbered(documents=DOCUMENTS[:2]):
    return number_documents(iterate_documents(documents))


def named(source, event):
    """Return the symbols that a source sees before an event of the documents."""
    documents, numbering = numbered()
    state = source.learn(documents, numbering)
    row = source.symbols(documents, numbering, state)[event]
    return [source.symbol_name(int(n), k, numbering, state) if n >= 0 else None for k, n in enumerate(row)]


def test_what_each_source_sees():  # events: the dog barks </s> a dog eats </s> | the car ...
    assert named(Words(3), 0) == ["<s>", None]
    assert named(Words(3), 2) == ["dog", "the"]
    assert named(Words(3), 4) == ["<s>", None]
    assert named(Skip(1), 1) == ["<s>"]
    assert named(Skip(1), 2) == ["the"]
    assert named(Skip(1), 0) == [None]
    assert named(Skip(1, 3), 3) == ["dog", "the"]
    assert named(Tags(3), 2) == ["N", "D"]
    assert named(Tags(2), 0) == ["<s>"]
    assert named(Topic(), 3) == ["pets"]
    assert named(Topic(), 9) == ["cars"]
    assert named(Classes(2, {"the": "det", "a": "det", "dog": "noun"}), 1) == ["det"]
    assert named(Classes(2, {"the": "det"}), 2) == [None]
    assert named(Function(lambda h: [str(len(h.words)), h.labels["topic"]], order=3), 2) == ["3", "pets"]


def test_classes_are_read_from_files_of_both_forms(tmp_path):
    path = tmp_path / "classes"
    path.write_text("the\tdet\ndog\tnoun\n")
    assert named(Classes(2, path), 1) == ["det"]
    path.write_text("00\tthe\t7\n01\tdog\t3\n")
    assert named(Classes(3, str(path)), 2) == ["01", "00"]
    path.write_text("the\tdet\nthe\tnoun\n")
    with pytest.raises(FormatError, match=":2: the word 'the' is also in line 1"):
        named(Classes(2, path), 1)


def test_specifications():
    assert parse_sources("words:3,topic,tags:2") == [Words(3), Topic(), Tags(2)]
    assert parse_source("topic:select=65000") == Topic(select=65000)
    assert parse_source("topic:genre") == Topic("genre")
    assert parse_source("skip:2:3") == Skip(2, 3)
    assert parse_source("words:4:min_count=1+2+3") == Words(4, min_count=(1, 2, 3))
    for source in (Words(4, min_count=(1, 2, 3)), Topic("genre", select=9, strength=0.5), Tags(2, "pos"), Skip(2, 3)):
        assert parse_source(source.spec()) == source
    with pytest.raises(IncompatibleError, match="unknown information source 'word'; did you mean 'words'"):
        parse_source("word:3")
    with pytest.raises(ValueError, match="order='x' is no number"):
        parse_source("words:x")
    with pytest.raises(ValueError, match="must be a whole number from 2"):
        Words(1)
    with pytest.raises(ValueError, match="occurs twice"):
        parse_sources("topic,topic")


def test_a_missing_layer_is_named_with_what_there_is():
    documents, numbering = numbered()
    with pytest.raises(FormatError, match=r"heads needs the layer 'head1', and the documents \(.*:1\) have .* tags, "):
        extract([Heads(3)], documents, numbering)


def test_a_function_must_be_deterministic_and_return_strings():
    documents, numbering = numbered()
    calls = iter(range(10**6))
    with pytest.raises(ValueError, match="is not deterministic: before event 1"):
        Function(lambda h: [str(next(calls))]).learn(documents, numbering)
    with pytest.raises(TypeError, match="must return a list of strings"):
        Function(lambda h: [len(h.words)]).learn(documents, numbering)


def test_real_valued_features():
    documents, numbering = numbered()
    lengths = Words(2, values=lambda context, word: float(len(context[0]) * len(word)))
    table = extract([lengths], documents, numbering)[0].table
    assert table.entry_value is not None
    assert set(table.entry_value) <= {float(a * b) for a in range(10) for b in range(10)}
    with pytest.raises(ValueError, match="not a finite number"):
        extract([Words(2, values=lambda c, w: np.nan)], documents, numbering)
