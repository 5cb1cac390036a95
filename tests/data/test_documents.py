import numpy as np
import pytest

from loglinear.data.documents import is_layered, iterate_documents, number_documents, plain_documents
from loglinear.data.sentences import Sentences
from loglinear.errors import FormatError
from tests.composite_problems import DOCUMENTS


def test_numbers_of_words_layers_and_labels():
    documents, numbering = number_documents(iterate_documents(DOCUMENTS[:2]))
    assert documents.n_documents == 2
    assert documents.n_events == 16
    assert documents.words[3] == 0
    assert documents.position.tolist()[:5] == [0, 1, 2, 3, 0]
    assert numbering.layers["tags"] == ("D", "N", "V")
    assert documents.layers["tags"].numbers.tolist()[:3] == [0, 1, 2]
    assert documents.labels["topic"].names == ("pets", "cars")
    assert documents.document_of_events.tolist() == [0] * 8 + [1] * 8


def test_new_symbols_are_unknown_to_a_known_numbering():
    _, numbering = number_documents(iterate_documents(DOCUMENTS[:1]))
    other = [{"words": ["the", "cat"], "tags": ["D", "Z"], "topic": "news"}]
    documents, _ = number_documents(iterate_documents(other), like=numbering)
    assert documents.layers["tags"].numbers.tolist() == [0, -1]
    assert documents.labels["topic"].numbers.tolist() == [-1]
    assert documents.sentences.words[1] == numbering.vocabulary.unknown


def test_some_of_the_documents():
    documents, _ = number_documents(iterate_documents(DOCUMENTS))
    part = documents.subset([1, 4])
    assert part.n_documents == 2
    assert part.n_events == 16
    np.testing.assert_array_equal(part.words[:8], documents.words[8:16])
    assert part.labels["topic"].numbers.tolist() == [1, 0]
    assert part.layers["tags"].numbers.size == part.n_tokens


def test_a_layer_that_some_sentences_lack_is_refused():
    with pytest.raises(FormatError, match="<documents>:2: the sentence lacks the layer 'tags', which others have"):
        number_documents(iterate_documents([{"words": ["a"], "tags": ["X"]}, {"words": ["b"]}]))
    with pytest.raises(FormatError, match="there are no sentences"):
        number_documents(iterate_documents([]))


def test_plain_text_is_one_document():
    documents = plain_documents(Sentences(5, np.array([2, 3, 4], np.uint32), np.array([0, 1, 3])))
    assert documents.n_documents == 1
    assert documents.words.tolist() == [2, 0, 3, 4, 0]


def test_what_is_layered():
    assert is_layered(DOCUMENTS)
    assert is_layered("a.jsonl")
    assert is_layered(["a.mrg"])
    assert not is_layered("a.txt")
    assert not is_layered(["a b", "c"])
    assert not is_layered([["a", "b"]])
    assert is_layered("a.txt", "tagged")
    assert not is_layered("a.jsonl", "text")
