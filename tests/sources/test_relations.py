import itertools
from xml.etree import ElementTree

from loglinear.data.documents import iterate_documents, number_documents
from loglinear.sources import parse_sources
from loglinear.sources.extraction import extract, problem_of
from loglinear.sources.relations import arcs, digraph_svg, digraph_text, hierarchise, patterns_of, relations_of
from tests.composite_problems import DOCUMENTS


def found(spec):
    documents, numbering = number_documents(iterate_documents(DOCUMENTS))
    features = extract(parse_sources(spec), documents, numbering)
    return patterns_of(features), problem_of(features, documents, numbering)


def test_relations_of_patterns():
    patterns, problem = found("words:3,topic")
    by_names = {(r.first, r.second): r for r in relations_of(patterns, problem)}
    assert by_names["words-2 words-1", "words-1"].kind == "nested"
    assert by_names["words-1", "topic"].kind == "overlapping"
    nested = by_names["words-2 words-1", "words-1"]
    assert nested.both_words == nested.first_words <= nested.second_words


def test_trigrams_are_nested_in_skipped_bigrams_too():
    patterns, _ = found("words:3,skip:1")
    assert ("words-2 words-1", "words-2") in arcs(patterns)
    assert ("words-2 words-1", "words-1") in arcs(patterns)
    assert ("words-2 words-1", "unigram") not in arcs(patterns)  # it follows from the others


def test_maximal_patterns_form_the_highest_super_feature():
    patterns, _ = found("words:3,topic,tags:2")
    levels = hierarchise(patterns)
    assert [names for _, names in levels] == [["words-2 words-1", "topic", "tags-1"], ["words-1"], ["unigram"]]
    for (higher, _), (lower, _) in itertools.pairwise(levels):
        assert lower < higher  # super-features are nested


def test_drawings():
    patterns, problem = found("words:3,topic")
    assert "words-2 words-1 -> words-1" in digraph_text(patterns)
    drawing = ElementTree.fromstring(digraph_svg(patterns, relations_of(patterns, problem)))
    assert len(drawing.findall("{http://www.w3.org/2000/svg}text")) == 4
