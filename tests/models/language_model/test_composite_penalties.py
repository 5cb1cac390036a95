import numpy as np
import pytest

from loglinear.data.documents import iterate_documents, number_documents
from loglinear.losses.composite import CompositeLoss
from loglinear.models import LanguageModel
from loglinear.models.language_model.composite.penalty import SourcePenalties, own_penalty
from loglinear.models.language_model.penalty import DEFAULTS, NgramPenalty
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.penalties import Blocks, ByClass
from loglinear.sources import Tags, Topic, Words, parse_source
from loglinear.sources.extraction import extract, problem_of
from loglinear.sources.normalisers import make_normaliser
from tests.composite_problems import DOCUMENTS, direct_sums

TREES = ("tree-l2", "tree-linf")


def objective_of(sources, penalty):
    documents, numbering = number_documents(iterate_documents(DOCUMENTS))
    features = extract(sources, documents, numbering)
    problem = problem_of(features, documents, numbering, training=True)
    loss = CompositeLoss(problem, make_normaliser(problem, "sharing"))
    own = SourcePenalties(features, problem, [own_penalty(source, penalty) for source in sources])
    return Objective(loss, own.make()), features


@pytest.mark.parametrize("name", TREES)
def test_the_optimum_under_a_tree_norm_of_every_source_is_certified(name):
    objective, _ = objective_of([Words(3), Tags(3), Topic()], DEFAULTS[name])
    assert isinstance(objective.penalty, Blocks)
    assert len(objective.penalty.blocks) == 4
    solver = choose_solver(objective, "auto", {})[0]
    assert solver.name == "fista"
    found = minimise(objective, solver, tolerance=1e-10, violation_tolerance=1e-7, max_iterations=5000)
    _, expected, _ = direct_sums(objective.loss.problem, found.weights)
    gradient = expected - objective.loss.problem.observed
    assert objective.penalty.violation(found.weights, gradient) < 1e-5


@pytest.mark.parametrize("name", TREES)
def test_where_a_feature_vanishes_so_do_those_of_longer_contexts(name):
    objective, features = objective_of([Words(3), Tags(3)], DEFAULTS[name])
    found = minimise(objective, choose_solver(objective, "auto", {})[0], tolerance=1e-9, max_iterations=3000).weights
    for one, offset in zip(features, objective.loss.problem.offsets):
        own = found[offset : offset + one.table.n_entries]
        deeper = one.table.entries_of_depth(2)
        above = own[one.table.entry_parent[deeper]]
        assert np.all(own[deeper][above == 0] == 0)
        assert np.any(own != 0)


def test_one_tree_is_that_of_an_ngram_model():
    texts = [s["words"] for d in DOCUMENTS for s in d["sentences"]]
    plain = LanguageModel(3, penalty="tree-l2", verbose=0, tolerance=1e-9).fit(texts)
    held = LanguageModel(sources=[Words(3), Topic(strength=1e4)], penalty="tree-l2", verbose=0, tolerance=1e-9)
    held.fit(DOCUMENTS)
    for history in ("", "the", "the dog"):
        np.testing.assert_allclose(held.next_distribution(history), plain.next_distribution(history), atol=1e-4)


def test_every_source_may_have_a_penalty_of_its_own(tmp_path):
    sources = [Words(3, penalty="tree-linf", strength=0.3), Tags(2, penalty="l1", strength=0.2), Topic()]
    model = LanguageModel(sources=sources, verbose=0).fit(DOCUMENTS)
    rows = {row["ngrams"]: row for row in model.strengths_}
    assert rows["words, order 2"]["group"] == 0.3
    assert rows["tags, order 2"] == {"ngrams": "tags, order 2", "order": 2, "l1": 0.2, "l2": 0.0}
    assert rows["topic, order 2"]["l2"] == pytest.approx(0.9)
    model.save(tmp_path / "m.ll")
    assert LanguageModel.load(tmp_path / "m.ll").perplexity(DOCUMENTS) == model.perplexity(DOCUMENTS)
    assert parse_source(sources[0].spec()) == sources[0]
    with pytest.raises(ValueError, match="give all sources one kind of penalty"):
        LanguageModel(sources=sources, tune="validation", verbose=0).fit(DOCUMENTS, validation=DOCUMENTS)


def test_strengths_of_trees_are_tuned_by_source():
    model = LanguageModel(sources="words:3,topic", penalty="tree-l2", tune="validation", verbose=0)
    model.fit(DOCUMENTS, validation=DOCUMENTS)
    assert {len(trial["strengths"]) for trial in model.tuning_} == {6}
    chosen = next(trial for trial in model.tuning_ if trial["chosen"])
    assert model.strengths_[1]["group"] == pytest.approx(chosen["strengths"][0])
    assert model.strengths_[3]["group"] == pytest.approx(chosen["strengths"][3])


def test_without_trees_all_sources_are_classes_of_one_penalty():
    assert isinstance(objective_of([Words(3), Topic()], NgramPenalty())[0].penalty, ByClass)


def test_what_tree_norms_refuse():
    with pytest.raises(ValueError, match="unknown penalty 'tree'; known: elastic_net"):
        Words(3, penalty="tree")
    with pytest.raises(ValueError, match="l1_ratio is a setting of elastic_net, not of tree-l2"):
        own_penalty(Words(3, l1_ratio=0.5), DEFAULTS["tree-l2"])
    with pytest.raises(ValueError, match="tree-linf has one strength for all orders, not 2"):
        own_penalty(Words(3, strength=(1, 2)), DEFAULTS["tree-linf"])
