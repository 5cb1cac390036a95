"""Rerankers on the command line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from candidate_problems import random_lists
from children import stopped
from commands import COMMAND, heavy_imports, invoke, refusal, run

from loglinear import LanguageModel, MaxentClassifier, Reranker
from loglinear.formats.nbest import Candidate, CandidateList, read_nbest, write_nbest
from loglinear.report.reranker import verdict

TRAIN, DEV, TEST = random_lists(150, 0), random_lists(60, 1), random_lists(60, 2)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rerank")
    for name, lists in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        write_nbest(root / name, lists)
    options = ("--dev", root / "dev", "--min-count", 1, "--json")
    done = invoke("rerank", "train", root / "train", "-o", root / "m.ll", *options)
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["dev_errors"] <= summary["dev_errors_no_change"] == summary["dev_errors_baseline"]
    assert [row["point"] for row in summary["tuning"] if row["chosen"]] == [summary["chosen"]]
    assert min(row["dev_errors"] for row in summary["tuning"]) == summary["dev_errors"]
    assert summary["lists"] == 150
    return root


def same_as(place: Path, **settings) -> Reranker:
    return Reranker(**{"min_count": 1, **settings}).fit(TRAIN, validation=DEV)


# ---- train ----------------------------------------------------------------------------------------------------------
def test_training_is_that_of_the_library(place: Path) -> None:
    model, expected = Reranker.load(place / "m.ll"), same_as(place)
    assert model.feature_weights() == expected.feature_weights()
    assert model.base_weights() == expected.base_weights()


def test_options_reach_the_model(place: Path, tmp_path: Path) -> None:
    (tmp_path / "function").write_text("the a\non\n")
    done = invoke(
        "rerank", "train", place / "train", place / "dev", "-o", tmp_path / "m.ll", "--dev", place / "test",
        "--method", "maxent", "--words", "1", "--characters", "2,3", "--skips", 1, "--headwords", tmp_path / "function",
        "--base", "score", "--units", "characters", "--tune", "4,1", "--penalty", "elastic_net", "--l1-ratio", 0.3,
        "--max-iterations", 300, "--no-boundaries", "--missing", "worst", "--seed", 3, "--threads", 1, "--by-errors",
        "--tolerance", 1e-3, "--patience", 7, "--solver", "owlqn",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    model = Reranker.load(tmp_path / "m.ll")
    assert model.get_params() == Reranker(
        "maxent", words=(1,), characters=(2, 3), skips=1, headwords=["the", "a", "on"], base=["score"],
        units="characters", tune=[4, 1], penalty="elastic_net", l1_ratio=0.3, max_iterations=300,
        boundaries=False, missing="worst", random_state=3, n_threads=1, by_errors=True, tolerance=1e-3, patience=7,
        solver="owlqn",
    ).get_params()  # fmt: skip
    assert model.n_lists_ == 210
    assert "strength" in done.stdout


@pytest.mark.parametrize("method", ["blasso", "f-boosting", "fslr", "boosting", "perceptron", "none"])
def test_methods_train(place: Path, tmp_path: Path, method: str) -> None:
    options = ("--method", method, "--step", 0.1, "--max-iterations", 30, "--shrinkage", 0.5, "--smoothing", 0.01)
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", "--dev", place / "dev", *options)
    assert done.exit_code == 0, done.stderr
    model = Reranker.load(tmp_path / "m.ll")
    assert done.stdout.splitlines()[-1] == verdict(model)
    assert ("No change wins" in verdict(model)) == model.no_change_ == (model.chosen_ == 0)


def test_methods_are_described() -> None:
    done = invoke("rerank", "train", "--method", "list")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in ("blasso", "boosting", "perceptron", "maxent", "none"))


def test_it_is_said_that_no_change_wins(place: Path, tmp_path: Path) -> None:
    best = [max(one.candidates, key=lambda c: c.scores["score"]).text if one.candidates else "" for one in DEV]
    write_nbest(tmp_path / "dev", [replace(one, reference=text) for one, text in zip(DEV, best)])
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", "--dev", tmp_path / "dev")
    assert done.exit_code == 0, done.stderr
    assert "No change wins" in done.stdout
    assert json.loads(invoke("inspect", tmp_path / "m.ll", "--json").stdout)["no_change"] is True
    applied = invoke("rerank", "apply", tmp_path / "m.ll", tmp_path / "dev").stdout
    assert applied.splitlines() == best


def test_references_of_a_file(place: Path, tmp_path: Path) -> None:
    for name, lists in (("train", TRAIN), ("dev", DEV)):
        write_nbest(tmp_path / name, [replace(one, reference=None) for one in lists])
        lines = [f"{one.id} {one.reference}\n" for one in lists]
        (tmp_path / f"{name}.ref").write_text("".join(lines))
    options = ("--references", tmp_path / "train.ref", "--dev-references", tmp_path / "dev.ref", "--min-count", 1)
    done = invoke("rerank", "train", tmp_path / "train", "-o", tmp_path / "m.ll", "--dev", tmp_path / "dev", *options)
    assert done.exit_code == 0, done.stderr
    assert Reranker.load(tmp_path / "m.ll").feature_weights() == Reranker.load(place / "m.ll").feature_weights()
    more = ("--references", tmp_path / "dev.ref", "--json")
    expected = invoke("rerank", "eval", place / "m.ll", place / "dev", "--json").stdout
    assert invoke("rerank", "eval", place / "m.ll", tmp_path / "dev", *more).stdout == expected


def test_a_language_model_as_base_score(place: Path, tmp_path: Path) -> None:
    LanguageModel(2, "witten-bell").fit([one.reference for one in TRAIN]).save(tmp_path / "lm.ll")
    common = ("--lm", tmp_path / "lm.ll")
    more = ("--dev", place / "dev", *common, "--json")
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", *more)
    assert done.exit_code == 0, done.stderr
    assert list(json.loads(done.stdout)["base_weights"]) == ["score", "lm"]
    assert invoke("rerank", "eval", tmp_path / "m.ll", place / "test", *common).exit_code == 0
    assert invoke("rerank", "apply", tmp_path / "m.ll", place / "test", *common).exit_code == 0
    message = refusal(invoke("rerank", "apply", tmp_path / "m.ll", place / "test"))
    assert "has no score 'lm'" in message
    assert "--lm" in message


def test_kaldi_lists_with_costs(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("u1-1 a cat\nu1-2 a cut\nu2-1 the cut\nu2-2 the cat\n")
    (tmp_path / "ac").write_text("u1-1 3.5\nu1-2 3\nu2-1 4\nu2-2 6\n")
    (tmp_path / "ref").write_text("u1 a cat\nu2 the cat\n")
    options = ("--costs", f"acoustic={tmp_path / 'ac'}")
    done = invoke(
        "rerank", "train", tmp_path / "text", "-o", tmp_path / "m.ll", *options, "--references", tmp_path / "ref",
        "--method", "maxent", "--strength", 0.1,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    applied = invoke("rerank", "apply", tmp_path / "m.ll", tmp_path / "text", *options, "--ids")
    assert applied.stdout == "u1\ta cat\nu2\tthe cat\n"
    assert "NAME=FILE" in refusal(invoke("rerank", "apply", tmp_path / "m.ll", tmp_path / "text", "--costs", "ac"))


# ---- apply ----------------------------------------------------------------------------------------------------------
def test_the_best_text_of_every_list(place: Path) -> None:
    model = Reranker.load(place / "m.ll")
    done = invoke("rerank", "apply", place / "m.ll", place / "test")
    assert done.stdout.splitlines() == model.predict(TEST)
    named = invoke("rerank", "apply", place / "m.ll", place / "test", "--ids").stdout.splitlines()
    assert named == [f"{one.id}\t{text}" for one, text in zip(TEST, model.predict(TEST))]
    piped = run("rerank", "apply", place / "m.ll", stdin=gzip.compress((place / "test").read_bytes()))
    assert piped.stdout == done.stdout, piped.stderr


def test_the_k_best_of_every_list(place: Path) -> None:
    ranked = Reranker.load(place / "m.ll").rerank(TEST, with_scores=True)
    text = invoke("rerank", "apply", place / "m.ll", place / "test", "--nbest", 2).stdout
    expected = ""
    for one in ranked:
        expected += "".join(f"{c.text}\t{c.scores['reranker']:.6f}\n" for c in one.candidates[:2]) + "\n"
    assert text == expected
    assert "at least 1" in refusal(invoke("rerank", "apply", place / "m.ll", place / "test", "--nbest", 0))


def test_lists_in_their_new_order(place: Path, tmp_path: Path) -> None:
    done = invoke("rerank", "apply", place / "m.ll", place / "test", "--json")
    (tmp_path / "out").write_text(done.stdout)
    assert read_nbest(tmp_path / "out") == Reranker.load(place / "m.ll").rerank(TEST, with_scores=True)
    short = invoke("rerank", "apply", place / "m.ll", place / "test", "--json", "--nbest", 1).stdout
    assert all(len(json.loads(line)["hypotheses"]) <= 1 for line in short.splitlines())


# ---- eval and inspect -----------------------------------------------------------------------------------------------
def test_evaluation(place: Path) -> None:
    expected = Reranker.load(place / "m.ll").evaluate(TEST)
    found = json.loads(invoke("rerank", "eval", place / "m.ll", place / "test", "--json").stdout)
    assert found["units"] == "words"
    assert found["reranked"]["rate"] == expected["reranked"]["rate"]
    assert found["baseline"]["interval"] == list(expected["baseline"]["interval"])
    assert found["comparison"]["p_matched_pairs"] == expected["comparison"]["p_matched_pairs"]
    text = invoke("rerank", "eval", place / "m.ll", place / "test", "--samples", 50).stdout
    assert all(word in text for word in ("word error rate", "oracle", "baseline", "reduction", "matched pairs"))


def test_inspection(place: Path, tmp_path: Path) -> None:
    found = json.loads(invoke("inspect", place / "m.ll", "--json").stdout)
    assert found["kind"] == "reranker"
    assert found["nonzero_weights"] == found["weights"] == found["features"] + 1
    assert found["path"][0]["point"] == 0
    text = invoke("inspect", place / "m.ll", "--html", tmp_path / "page.html").stdout
    assert all(title in text for title in ("Base scores", "Features with the largest weights", "Path"))
    assert "Errors along the path" in (tmp_path / "page.html").read_text()


def test_a_trained_reranker_needs_nothing_heavy(place: Path) -> None:
    assert heavy_imports("rerank", "apply", place / "m.ll", place / "test") == []
    assert heavy_imports("rerank", "eval", place / "m.ll", place / "test", "--samples", 10) == []


# ---- bad input ------------------------------------------------------------------------------------------------------
def train_on(tmp_path: Path, lists: list[CandidateList] | str, *more: object) -> str:
    if isinstance(lists, str):
        (tmp_path / "lists").write_text(lists)
    else:
        write_nbest(tmp_path / "lists", lists)
    message = refusal(invoke("rerank", "train", tmp_path / "lists", "-o", tmp_path / "m.ll", *more))
    assert str(tmp_path / "lists") in message
    assert not (tmp_path / "m.ll").exists()
    return message


def test_lists_without_a_reference_are_refused(tmp_path: Path) -> None:
    message = train_on(tmp_path, [*TRAIN[:9], replace(TRAIN[9], id="bare", reference=None)])
    assert f"{tmp_path / 'lists'}: list 'bare' has neither a reference nor errors of its candidates (1 of 10" in message
    assert "--references" in message


def test_empty_files_and_empty_lists(place: Path, tmp_path: Path) -> None:
    assert "there are no lists" in train_on(tmp_path, "")
    lists = [CandidateList("e", [], "a cat"), CandidateList("one", [Candidate("a cat", {"score": 1.0})], "a dog")]
    write_nbest(tmp_path / "lists", lists)
    assert invoke("rerank", "train", tmp_path / "lists", "-o", tmp_path / "m.ll").exit_code == 0
    done = invoke("rerank", "apply", place / "m.ll", tmp_path / "lists")
    assert done.stdout == "\na cat\n"
    assert invoke("rerank", "eval", place / "m.ll", tmp_path / "lists").exit_code == 0


def test_all_candidates_wrong(tmp_path: Path) -> None:
    write_nbest(tmp_path / "lists", [replace(one, reference="zzz yyy") for one in TRAIN])
    done = invoke("rerank", "train", tmp_path / "lists", "-o", tmp_path / "m.ll", "--max-iterations", 20)
    assert done.exit_code == 0, done.stderr


def test_scores_missing_for_some_are_refused(tmp_path: Path) -> None:
    full = [one for one in TRAIN if len(one.candidates) > 1]
    first = replace(full[0], candidates=[full[0].candidates[0], replace(full[0].candidates[1], scores={})])
    message = train_on(tmp_path, [first, *full[1:]])
    assert f"list {first.id!r}, candidate 2 has no score 'score' (1 of" in message
    assert "--missing worst" in message
    done = invoke("rerank", "train", tmp_path / "lists", "-o", tmp_path / "m.ll", "--missing", "worst")
    assert done.exit_code == 0, done.stderr


def test_nan_scores_are_refused(tmp_path: Path) -> None:
    text = '{"id": "a", "reference": "x", "hypotheses": [{"text": "x", "score": 1}, {"text": "y", "score": NaN}]}\n'
    message = train_on(tmp_path, text)
    assert f"{tmp_path / 'lists'}:1: " in message
    assert "NaN is not a finite number; leave the score out" in message


def test_hypotheses_with_the_separator_inside(place: Path, tmp_path: Path) -> None:
    (tmp_path / "moses").write_text("0 ||| a ||| b ||| score= 1 ||| 1\n")
    assert invoke("rerank", "apply", place / "m.ll", tmp_path / "moses").stdout == "a ||| b\n"
    odd = CandidateList("a\tb", [Candidate("the\tcat\nsat ||| on", {"score": 1.0})], "the cat")
    write_nbest(tmp_path / "lists", [odd])
    done = invoke("rerank", "apply", place / "m.ll", tmp_path / "lists", "--ids")
    assert done.stdout == "a b\tthe cat sat ||| on\n"  # one line per list, whatever its texts contain


def test_dev_lists_from_another_feature_space_are_refused(place: Path, tmp_path: Path) -> None:
    foreign = [CandidateList("f", [Candidate("eins", {"score": 0.0}), Candidate("zwei", {"score": 1.0})], "zwei")]
    write_nbest(tmp_path / "dev", foreign)
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", "--dev", tmp_path / "dev")
    assert "none of the features of the training lists" in refusal(done)
    write_nbest(tmp_path / "dev", random_lists(20, 4, scores=("acoustic",)))
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", "--dev", tmp_path / "dev")
    message = refusal(done)
    assert str(tmp_path / "dev") in message
    assert "scores there are: acoustic" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--method", "blaso"), "did you mean 'blasso'"), (("--words", "x"), "--words takes whole numbers"),
     (("--step", "0"), "step must be positive"), (("--units", "x"), "'words', 'characters'"),
     (("--strength", "1,x"), "--strength takes numbers"), (("--method", "maxent", "--tune", "1,2"), "with --dev FILE"),
     (("--format", "x"), "unknown n-best format"), (("--headwords", "/nowhere"), "/nowhere"),
     (("--dev", "/nowhere"), "/nowhere"), (("--lm", "/nowhere"), "/nowhere"), (("--base", "x"), "has no score 'x'")],
)  # fmt: skip
def test_options_that_make_no_sense(place: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = invoke("rerank", "train", place / "train", "-o", tmp_path / "m.ll", *options)
    assert message in refusal(done)


def test_other_models_are_refused(place: Path, tmp_path: Path) -> None:
    MaxentClassifier().fit(["a b", "c"], ["x", "y"]).save(tmp_path / "c.ll")
    message = refusal(invoke("rerank", "apply", tmp_path / "c.ll", place / "test"))
    assert "a classifier, not a reranker; loglinear rerank train" in message
    assert "no such file" in refusal(invoke("rerank", "eval", tmp_path / "nothing.ll", place / "test"))
    assert "cannot be written" in refusal(invoke("rerank", "train", place / "train", "-o", tmp_path / "no" / "m.ll"))


# ---- while it runs --------------------------------------------------------------------------------------------------
def endless_training(place: Path, tmp_path: Path, *more: str) -> list[str]:
    command = [COMMAND, "rerank", "train", str(place / "train"), "-o", str(tmp_path / "m.ll"), "--method", "f-boosting"]
    endless = ["--step", "1e-7", "--max-iterations", "100000000", "--dev", str(place / "dev"), "--min-count", "1"]
    return [*command, *endless, *more]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_saves_the_best_so_far(place: Path, tmp_path: Path) -> None:
    done = stopped(endless_training(place, tmp_path, "--verbose"), "steps")
    assert done.returncode == 130, done.stdout
    assert "interrupted: the best point so far" in done.stdout
    assert Reranker.load(tmp_path / "m.ll").status_ == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
def test_progress_is_shown_on_a_terminal(place: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(endless_training(place, tmp_path), stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    late = threading.Timer(60, process.kill)  # reading then ends with an error, and so does the test
    late.start()
    try:
        shown = b""
        while b"steps" not in shown:
            shown += os.read(ours, 4096)
    finally:
        late.cancel()
        process.kill()
        process.wait()
        os.close(ours)


def test_errors_of_translations_on_the_command_line(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed: pip install 'loglinear[translation]'")
    done = invoke(
        "rerank", "train", place / "test", "-o", tmp_path / "m.ll", "--dev", place / "dev", "--units", "bleu",
        "--words", "1", "--min-count", 1, "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert Reranker.load(tmp_path / "m.ll").units == "bleu"
    found = json.loads(invoke("rerank", "eval", tmp_path / "m.ll", place / "dev", "--json").stdout)
    assert found["units"] == "bleu"
