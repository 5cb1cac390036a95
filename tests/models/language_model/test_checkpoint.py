"""Checkpoints of language models: what is resumed, what is another problem, and what cannot have one."""

import numpy as np
import pytest

from loglinear import LanguageModel, load
from loglinear.errors import LoglinearError

RNG = np.random.default_rng(5)
TEXT = [" ".join(f"w{k}" for k in RNG.zipf(1.5, 7).clip(max=40)) for _ in range(80)]
KINDS = {
    "in the sweep": {"solver": "fista"},
    "single precision": {"solver": "fista", "solver_options": {"single_precision": True}},
    "tree": {"penalty": "tree-l2"},
    "collapsed": {"order": None, "penalty": "l1"},
}


def model(**settings):
    return LanguageModel(**{"order": 3, "tolerance": 1e-9, "max_iterations": 5000, "verbose": 0, **settings})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_training_goes_on_to_the_same_optimum(kind, tmp_path):
    settings = {**KINDS[kind], "checkpoint": tmp_path / "c"}
    whole = model(**KINDS[kind]).fit(TEXT)
    part = model(**{**settings, "max_iterations": 8}).fit(TEXT)
    rest = model(**settings).fit(TEXT)
    assert not part.converged_
    assert rest.history_.objective[0] == pytest.approx(part.objective_, rel=1e-12)
    assert rest.converged_
    assert rest.objective_ == pytest.approx(whole.objective_, rel=2e-9)
    assert rest.n_iter_ > 8
    rest.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").checkpoint is None


@pytest.mark.parametrize(
    "change",
    [
        {"order": 2}, {"strength": 0.1}, {"penalty": "l2"}, {"unknown": "error"}, {"order": None}, {"text": TEXT[1:]},
    ],
)
def test_another_problem_is_refused(change, tmp_path):
    text = change.pop("text", TEXT)
    model(checkpoint=tmp_path / "c").fit(TEXT)
    with pytest.raises(LoglinearError, match="a checkpoint of another problem"):
        model(checkpoint=tmp_path / "c", **change).fit(text)


def test_the_base_is_part_of_the_problem(tmp_path):
    bases = [model(estimator="add-k", k=k).fit(TEXT[:40]) for k in (0.5, 1.0)]
    model(base=bases[0], checkpoint=tmp_path / "c").fit(TEXT)
    with pytest.raises(LoglinearError, match="a checkpoint of another problem"):
        model(base=bases[1], checkpoint=tmp_path / "c").fit(TEXT)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "kneser-ney"}, "is counted: leave one of them out"),
        ({"memory": "1G"}, "checkpoint cannot be combined with memory"),
        ({"tune": "validation"}, "checkpoint cannot be combined with tune"),
        ({"sources": "words:2,topic"}, "checkpoint cannot be combined with sources"),
        ({"classes": 3}, "checkpoint cannot be combined with classes"),
    ],
)
def test_what_cannot_be_resumed_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        model(checkpoint="c", **settings).fit(TEXT)
    with pytest.raises(ValueError, match="checkpoint"):
        model(checkpoint="c", **settings).partial_fit(TEXT)
