import numpy as np
import pytest

from loglinear.data.documents import iterate_documents, number_documents
from loglinear.sources.topics import cluster_documents, naive_bayes_assigner
from tests.composite_problems import DOCUMENTS


def numbered():
    return number_documents(iterate_documents(DOCUMENTS))[0]


def test_clusters_of_documents_are_found_again():
    documents = numbered()
    topics, assigner = cluster_documents(documents, 2)
    assert len(set(topics[::2])) == len(set(topics[1::2])) == 1
    assert topics[0] != topics[1]
    np.testing.assert_array_equal(assigner.assign_documents(documents), topics)
    np.testing.assert_array_equal(cluster_documents(documents, 2)[0], topics)
    with pytest.raises(ValueError, match="9 topics for 6 documents"):
        cluster_documents(documents, 9)


def test_topics_depend_on_earlier_sentences_alone():
    documents = numbered()
    found = naive_bayes_assigner(documents).assign(documents).before["topic"]
    first, second = found.numbers[:4], found.numbers[4:8]
    assert set(first) == {-1}
    assert set(second) == {documents.labels["topic"].numbers[0]}
    shortened = documents.subset([0])
    again = naive_bayes_assigner(documents).assign(shortened).before["topic"]
    np.testing.assert_array_equal(again.numbers, found.numbers[:8])
