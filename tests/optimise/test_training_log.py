"""What training writes to a log, for every kind of model and method, and what it does where it cannot write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import loglinear
from loglinear import InputMethod, LanguageModel, MaxentClassifier, Parser, Reranker, Tagger
from loglinear.formats.trees import parse_trees
from loglinear.models.word_classes import WordClasses
from loglinear.optimise import training_log
from loglinear.optimise.training_log import log_step, logging_to

KEYS = ["stage", "run", "step", "seconds", "passes", "objective", "gap", "held_out"]
TEXTS, LABELS = ["good film", "bad film", "good plot", "bad plot"], ["pos", "neg", "pos", "neg"]
WORDS = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
TAGS = [["D", "N", "V"], ["D", "N", "V"]]
TEXT = ["the dog barks", "the cat sleeps", "a dog sleeps"]
BRACKETED = """(S (NP (D the) (N dog)) (VP (V sees) (NP (NP (D a) (N cat)) (PP (P on) (NP (D the) (N mat))))))
    (S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat)) (PP (P on) (NP (D the) (N mat)))))"""
TREES = [*parse_trees(BRACKETED), *parse_trees(BRACKETED)][:3]
READINGS = ["里|さと へ|へ 行く|いく", "佐藤|さとう と|と 里|さと へ|へ"]
HYPOTHESES = [{"text": "the dig", "score": -1.0}, {"text": "the dog", "score": -0.8}, {"text": "a dig", "score": -3.0}]
LISTS = [{"hypotheses": HYPOTHESES, "reference": "the dog"}] * 3
QUIET: dict[str, Any] = {"verbose": 0}


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


FITS = {
    "classifier": lambda log: MaxentClassifier(log=log).fit(TEXTS, LABELS, validation=(TEXTS, LABELS)),
    "tuned classifier": lambda log: MaxentClassifier(tune=[1, 0.1], log=log).fit(
        TEXTS, LABELS, validation=(TEXTS, LABELS)
    ),
    "tagger": lambda log: Tagger("crf", "U:%x[0,0]\nB\n", log=log).fit(WORDS, TAGS, validation=(WORDS, TAGS)),
    "parser": lambda log: Parser("crf", max_iterations=5, log=log, pruning=None).fit(TREES, validation=TREES),
    "maxent": lambda log: LanguageModel(2, log=log).fit(TEXT, validation=TEXT),
    "tuned maxent": lambda log: LanguageModel(2, tune="validation", log=log).fit(TEXT, validation=TEXT),
    "kneser-ney": lambda log: LanguageModel(2, "kneser-ney", log=log).fit(TEXT, validation=TEXT),
    "input method": lambda log: InputMethod(2, log=log).fit(READINGS, validation=READINGS),
    "boosting": lambda log: Reranker("boosting", log=log).fit(LISTS, validation=LISTS),
    "perceptron": lambda log: Reranker("perceptron", log=log).fit(LISTS, validation=LISTS),
    "batch reranker": lambda log: Reranker("maxent", log=log).fit(LISTS, validation=LISTS),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_every_training_writes_its_steps(name: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    model = FITS[name](log)
    *steps, last = entries(log)
    assert all(list(entry) == KEYS for entry in [*steps, last])
    seconds = [entry["seconds"] for entry in [*steps, last]]
    assert seconds == sorted(seconds)
    assert last["held_out"] == model.validation_score_
    assert last["stage"].startswith("end: ")
    if name in ("classifier", "tagger", "parser", "maxent"):
        assert last["passes"] == model.n_iter_
        history = model.history_
        run = [entry for entry in steps if entry["stage"] == "training"]
        assert [entry["objective"] for entry in run] == history.objective[1:]
        assert [entry["step"] for entry in run] == list(range(1, len(run) + 1))
        assert run[0]["held_out"] is not None
    if name not in ("kneser-ney", "boosting"):
        model.save(tmp_path / "m.ll")
        assert loglinear.load(tmp_path / "m.ll").log is None
    if name == "tuned classifier":
        assert {entry["run"] for entry in steps} == {1, 2}
    if name == "batch reranker":
        assert {entry["stage"] for entry in steps} == {"training"}
    if name == "kneser-ney":
        assert [entry["stage"] for entry in steps] == ["reading", "counting", "estimating"]


def test_word_classes_write_their_passes(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    found = WordClasses(2, log=log, **QUIET).fit(TEXT)
    passes = [entry for entry in entries(log) if entry["stage"] == "clustering"]
    assert passes[-1]["step"] == found.n_iter_
    assert passes[-1]["objective"] == pytest.approx(found.log_likelihood_)


def test_held_out_scores_take_a_tenth_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    from loglinear.optimise import progress
    from loglinear.solvers.solver import State

    clock = iter([0.0, 5.0, 60.0, 61.0])  # the first score takes 5 seconds, the second 1
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    held_out = progress.HeldOut(lambda w: float(w))
    state = State(weights=0.5, value=1.0, violation=1.0)  # type: ignore[arg-type]
    assert [held_out(state, trained) for trained in (0.0, 1.0, 49.0, 51.0, 52.0)] == [0.5, None, None, 0.5, None]


def test_logs_nest_and_end(tmp_path: Path) -> None:
    log_step("nobody listens")
    with logging_to(tmp_path / "a"):
        with logging_to(None):
            log_step("outer")
        with logging_to(tmp_path / "b"):
            log_step("inner")
        log_step("outer again", 1, gap=float("inf"))
    assert [entry["stage"] for entry in entries(tmp_path / "a")] == ["outer", "outer again"]
    assert [entry["stage"] for entry in entries(tmp_path / "b")] == ["inner"]
    assert entries(tmp_path / "a")[1]["gap"] is None
    assert not training_log.is_logged()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a device of Linux")
def test_a_full_disk_ends_the_log_and_not_the_training() -> None:
    with pytest.warns(UserWarning, match="/dev/full: cannot be written: No space left on device; the log ends here"):
        model = MaxentClassifier(log="/dev/full").fit(TEXTS, LABELS)
    assert model.converged_


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        MaxentClassifier(log=tmp_path / "no" / "log").fit(TEXTS, LABELS)
