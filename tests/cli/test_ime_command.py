"""Input methods on the command line."""

from __future__ import annotations

import gzip
import json
import re
import signal
import sys
from pathlib import Path

import pytest
from candidate_problems import with_score
from children import python, stopped
from commands import heavy_imports, invoke, refusal, run

from loglinear import InputMethod, Reranker

TEXT = "里|さと へ|へ 行く|いく\n\n里|さと と|と 佐藤|さとう\n佐藤|さとう へ|へ\n屁|へ\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ime")
    (root / "text").write_text(TEXT, encoding="utf-8")
    (root / "readings").write_text("さとへいく\n\nさとうへ?\n", encoding="utf-8")
    done = invoke("ime", "build", root / "text", "-o", root / "m.ll", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 6
    return root


def test_build_says_what_it_made(place: Path, tmp_path: Path) -> None:
    done = invoke("ime", "build", place / "text", "-o", tmp_path / "m.ll", "--order", 2, "--min-word-count", 2)
    assert done.exit_code == 0, done.stderr
    assert "readings" in done.stdout
    inspected = json.loads(invoke("inspect", place / "m.ll", "--json").stdout)
    assert inspected["kind"] == "input-method"
    assert inspected["readings"] == 5
    assert "Readings with most words" in invoke("inspect", place / "m.ll").stdout


def test_using_a_model_imports_nothing_heavy(place: Path, tmp_path: Path) -> None:
    (tmp_path / "readings").write_text("さとへいく\n", encoding="utf-8")  # known words: there is no note on stderr
    assert heavy_imports("ime", "convert", place / "m.ll", tmp_path / "readings", "--nbest", 2) == []
    assert heavy_imports("ime", "eval", place / "m.ll", place / "text") == []


def test_readings_are_converted_line_for_line(place: Path) -> None:
    done = invoke("ime", "convert", place / "m.ll", place / "readings")
    assert done.stdout == "里へ行く\n\n佐藤へ?\n"
    assert done.stderr == "1 words are not in the lexicon and are left as typed; the first is in line 3\n"
    data = (place / "readings").read_bytes()
    assert run("ime", "convert", place / "m.ll", stdin=data).stdout == done.stdout
    assert invoke("ime", "convert", place / "m.ll", stdin=gzip.compress(data)).stdout == done.stdout


def test_n_best_as_lines_and_as_candidate_lists(place: Path) -> None:
    done = invoke("ime", "convert", place / "m.ll", place / "readings", "--nbest", 3)
    first, empty, *_ = done.stdout.split("\n\n")
    assert [line.split("\t")[0] for line in first.splitlines()] == ["里へ行く", "里屁行く", "さとへ行く"]
    assert empty.startswith("\t-")
    done = invoke("ime", "convert", place / "m.ll", place / "readings", "--nbest", 3, "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["id"] for r in records] == ["1", "2", "3"]
    assert records[0]["hypotheses"][0]["text"] == "里 へ 行く"
    assert records[0]["reading"] == "さとへいく"
    from loglinear.formats.nbest import read_nbest

    (place / "lists.jsonl").write_text(done.stdout, encoding="utf-8")
    assert len(read_nbest(place / "lists.jsonl")) == 3


def test_evaluation(place: Path) -> None:
    found = json.loads(invoke("ime", "eval", place / "m.ll", place / "text", "--nbest", 5, "--json").stdout)
    assert found["n_sentences"] == 4
    assert 0 <= found["oracle_cer"] <= found["cer"] < 0.5
    assert found["sentences_per_second"] > 0
    assert found["k"] == 5
    assert "character error rate" in invoke("ime", "eval", place / "m.ll", place / "text").stdout


# The background writes A for x and prefers it everywhere; the domain writes B after P and A after Q.
BACKGROUND = "A|x\nP|p A|x\nQ|q A|x\nB|x\n" * 3
DOMAIN = "P|p B|x\nQ|q A|x\nP|p B|x P|p B|x\n" * 5


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("domain")
    for name, text in (("text", BACKGROUND), ("train", DOMAIN), ("dev", DOMAIN)):
        (root / name).write_text(text)
    assert invoke("ime", "build", root / "text", "-o", root / "m.ll", "--order", 2).exit_code == 0
    done = adapt(root, "blasso", "r.ll")
    assert done.exit_code == 0, done.stderr
    return root


def adapt(root: Path, method: str, output: str, *more: object):
    dev = () if "--weight" in more else ("--dev", root / "dev")
    return invoke("ime", "adapt", root / "m.ll", root / "train", *dev, "--method", method, "-o", root / output, *more)


METHODS = {
    "blasso": ["--step", 0.2, "--patience", 50],
    "f-boosting": ["--words", "1,2", "--skips", 1],
    "fslr": ["--max-iterations", 100, "--characters", "1,2"],
    "boosting": ["--smoothing", 0.01, "--shrinkage", 0.5, "--min-count", 1],
    "perceptron": ["--seed", 3, "--max-iterations", 9],
    "maxent": ["--tune", "1,0.1", "--penalty", "l2"],
}


@pytest.mark.parametrize("method", METHODS)
def test_adaptation_by_a_reranker(domain: Path, tmp_path: Path, method: str) -> None:
    done = adapt(domain, method, "again.ll", *METHODS[method], "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["method"], found["sentences"], found["uncovered"]) == (method, 15, 0)
    assert found["dev"]["cer"] < found["dev"]["baseline_cer"] / 2
    assert found["dev"]["reduction"] > 0.5
    assert found["nonzeros"] > 0
    assert not found["no_change"]
    chosen = invoke("ime", "convert", domain / "m.ll", "--reranker", domain / "again.ll", stdin="px\npxpx\n")
    assert chosen.stdout == "PB\nPBPB\n"


def test_a_reranker_converts_and_is_evaluated(domain: Path) -> None:
    assert invoke("ime", "convert", domain / "m.ll", stdin="px\n").stdout == "PA\n"
    with_reranker = ("--reranker", domain / "r.ll")
    done = invoke("ime", "convert", domain / "m.ll", "--nbest", 2, *with_reranker, stdin="px\n")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["PB", "PA", ""]
    done = invoke("ime", "convert", domain / "m.ll", "--nbest", 2, "--json", *with_reranker, stdin="px\n")
    first, second = json.loads(done.stdout)["hypotheses"]
    assert (first["text"], second["text"]) == ("P B", "P A")
    assert first["score"] < second["score"]
    assert first["reranker"] > second["reranker"]
    few = invoke("ime", "convert", domain / "m.ll", "--among", 1, *with_reranker, stdin="px\n")
    assert few.stdout == "PA\n"
    found = json.loads(invoke("ime", "eval", domain / "m.ll", domain / "dev", "--json", *with_reranker).stdout)
    assert found["cer"] == found["oracle_cer"] == 0 < found["baseline_cer"]
    assert found["reduction"] == 1
    assert found["comparison"]["p_matched_pairs"] < 0.05
    shown = invoke("ime", "eval", domain / "m.ll", domain / "dev", *with_reranker).stdout
    assert "errors avoided" in shown
    assert re.search(r"^p-value +\S+ \(matched pairs\), \S+ \(bootstrap\)$", shown, re.MULTILINE)
    assert "comparison" not in json.loads(invoke("ime", "eval", domain / "m.ll", domain / "dev", "--json").stdout)


def test_adaptation_by_interpolation(domain: Path) -> None:
    done = adapt(domain, "map", "map.ll", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0.5 < found["domain_weight"] <= 1
    assert found["dev_perplexities"]["mixture"] < found["dev_perplexities"]["background"]
    assert found["dev"]["cer"] < found["dev"]["baseline_cer"]
    assert invoke("ime", "convert", domain / "map.ll", stdin="px\n").stdout == "PB\n"
    told = adapt(domain, "map", "map.ll", "--weight", 0.25).stdout
    assert "weight of the domain  0.250" in told
    assert json.loads(invoke("inspect", domain / "map.ll", "--json").stdout)["kind"] == "input-method"


def test_words_that_the_lexicon_lacks_are_told(domain: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(DOMAIN + "Z|z P|p\nA|y\n")
    for method in ("blasso", "map"):
        done = invoke("ime", "adapt", domain / "m.ll", tmp_path / "t", "--dev", domain / "dev", "--method", method,
                      "-o", tmp_path / "r.ll")  # fmt: skip
        assert "2 of 17 sentences have words or readings that the lexicon lacks" in done.stderr
        assert "(the first is sentence 16); give their text to ime build as --dictionary" in done.stderr
    found = json.loads(invoke("ime", "eval", domain / "m.ll", tmp_path / "t", "--json").stdout)
    assert (found["n_uncovered"], found["n_unknown"]) == (2, 2)
    assert "sentences not covered" in invoke("ime", "eval", domain / "m.ll", tmp_path / "t").stdout


def test_no_change_is_told(domain: Path, tmp_path: Path) -> None:
    done = invoke("ime", "adapt", domain / "m.ll", domain / "train", "--dev", domain / "text", "-o", tmp_path / "r.ll")
    assert "no change is best on the held-out text" in done.stdout


def test_adaptations_and_rerankers_that_do_not_fit_are_refused(domain: Path, tmp_path: Path) -> None:
    assert "give weight, or validation (--dev)" in refusal(
        invoke("ime", "adapt", domain / "m.ll", domain / "train", "--method", "map", "-o", tmp_path / "r")
    )
    assert "--step is not an option of map" in refusal(adapt(domain, "map", "r", "--step", 0.1))
    assert "--weight is an option of map only" in refusal(adapt(domain, "blasso", "r", "--weight", 0.1))
    assert "unknown method 'x'" in refusal(adapt(domain, "x", "r"))
    assert "--words takes whole numbers" in refusal(adapt(domain, "blasso", "r", "--words", "one"))
    assert "no such file" in refusal(adapt(domain, "blasso", "r", "--headwords", tmp_path / "none"))
    wrong = ("ime", "convert", domain / "m.ll", "--reranker")
    assert "an input method, not a reranker" in refusal(invoke(*wrong, domain / "m.ll", stdin="x\n"))
    lists = InputMethod.load(domain / "m.ll").candidate_lists(domain / "train")
    Reranker("none").fit(lists).save(tmp_path / "words.ll")
    message = refusal(invoke(*wrong, tmp_path / "words.ll", stdin="x\n"))
    assert f"{tmp_path / 'words.ll'}: the reranker was trained to avoid errors of words" in message
    assert "ime adapt" in message
    acoustic = with_score(lists, "acoustic", 1.0)
    Reranker("none", units="characters", base="acoustic").fit(acoustic).save(tmp_path / "acoustic.ll")
    assert "uses the base scores acoustic" in refusal(invoke(*wrong, tmp_path / "acoustic.ll", stdin="x\n"))
    assert not (domain / "r").exists()


def test_function_words_of_a_file(domain: Path, tmp_path: Path) -> None:
    (tmp_path / "function").write_text("Q\n")
    done = adapt(domain, "blasso", "again.ll", "--words", "1", "--headwords", tmp_path / "function")
    assert done.exit_code == 0, done.stderr
    named = [name for name, _ in Reranker.load(domain / "again.ll").feature_weights()]
    assert any(name.startswith("head: P") for name in named)
    assert not any("Q" in name for name in named if name.startswith("head"))


def test_keypad(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("the good home\na good home is home\n")
    assert invoke("ime", "build", tmp_path / "t", "-o", tmp_path / "m.ll", "--keypad").exit_code == 0
    assert invoke("ime", "convert", tmp_path / "m.ll", stdin="843 4663 4663\n").stdout == "the good home\n"
    assert json.loads(invoke("ime", "eval", tmp_path / "m.ll", tmp_path / "t", "--json").stdout)["cer"] == 0


def test_refusals_name_the_file_the_line_and_the_remedy(place: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("里|さと\n里\n", encoding="utf-8")
    message = refusal(invoke("ime", "build", wrong, "-o", tmp_path / "m"))
    assert f"{wrong}:2: '里' is not a word with its reading" in message
    assert f"{wrong}:2:" in refusal(invoke("ime", "eval", place / "m.ll", wrong))
    wrong.write_bytes(b"a|b\n\xff\xfe|c\n")
    assert "not valid utf-8" in refusal(invoke("ime", "build", wrong, "-o", tmp_path / "m"))
    wrong.write_bytes(b"ab\n\n\xff\n")
    done = invoke("ime", "convert", place / "m.ll", wrong)
    assert f"{wrong}:3: byte 0xff is not valid utf-8; name the right encoding" in refusal(done)
    assert "no such file" in refusal(invoke("ime", "convert", place / "m.ll", tmp_path / "none"))
    assert "there is no folder" in refusal(invoke("ime", "build", place / "text", "-o", tmp_path / "none" / "m"))
    invoke("lm", "train", place / "text", "-o", tmp_path / "lm.ll", "--order", 2, "--estimator", "witten-bell")
    assert "not an input method" in refusal(invoke("ime", "convert", tmp_path / "lm.ll", place / "readings"))
    assert not (tmp_path / "m").exists()


def test_encodings(place: Path, tmp_path: Path) -> None:
    for encoding in ("shift_jis", "utf-16"):
        (tmp_path / "t").write_bytes(TEXT.encode(encoding))
        done = invoke("ime", "build", tmp_path / "t", "-o", tmp_path / "m.ll", "--encoding", encoding)
        assert done.exit_code == 0, done.stderr
        (tmp_path / "r").write_bytes("さとへ\r\n".encode(encoding))
        assert invoke("ime", "convert", tmp_path / "m.ll", tmp_path / "r").stdout == "里へ\n"


SLOW_DISK = """
import os, sys, time
from loglinear.cli import main
os.fsync = lambda file: (print("the file is written but not yet renamed", flush=True), time.sleep({seconds}))
sys.argv[1:] = {arguments!r}
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_no_half_file(tmp_path: Path, stop: signal.Signals) -> None:
    """A killed one leaves the old file; Ctrl-C waits until the new one is whole."""
    model, text = tmp_path / "m.ll", tmp_path / "text"
    InputMethod(1).fit(["A|a"]).save(model)
    before = model.read_bytes()
    text.write_text(TEXT)
    seconds = 1 if stop == signal.SIGINT else 600
    build = python(SLOW_DISK.format(arguments=["ime", "build", str(text), "-o", str(model)], seconds=seconds))
    done = stopped(build, "written", stop=stop)
    assert done.returncode == (130 if stop == signal.SIGINT else -stop), done.stdout
    if stop == signal.SIGKILL:
        assert model.read_bytes() == before
    else:
        assert InputMethod.load(model).convert(["さとへ"]) == ["里へ"]
        assert {p.name for p in tmp_path.iterdir()} == {"m.ll", "text"}
