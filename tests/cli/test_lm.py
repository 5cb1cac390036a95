"""Language models on the command line: training, scoring, files of other tools, mixing, comparing, and refusals."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import COMMAND, figures, heavy_imports, invoke, refusal, run

import loglinear
from loglinear import LanguageModel
from loglinear.backoff.binary import BinaryQueries
from loglinear.models.language_model.files import Text, load_language_model, mix, score_file


def sentences(n: int, seed: int) -> list[str]:
    """Made-up phrases of few words."""
    rng = random.Random(seed)

    def phrase() -> str:
        middle = rng.choice(["old ", "new ", "small ", "", "", ""])
        return f"{rng.choice(['the', 'a'])} {middle}{rng.choice(['dog', 'cat', 'bird', 'fish'])}"

    return [f"{phrase()} {rng.choice(['sees', 'hears', 'likes'])} {phrase()} ." for _ in range(n)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train, valid and test text; maxent.ll and kn.ll of order 3."""
    root = tmp_path_factory.mktemp("lm")
    for name, n in (("train", 300), ("valid", 60), ("test", 50)):
        (root / f"{name}.txt").write_text("\n".join(sentences(n, len(name))) + "\n")
    with (root / "test.txt").open("a") as file:
        file.write("the zebra sees a cat .\n")
    for name, estimator in (("maxent", "maxent"), ("kn", "kneser-ney")):
        args = ("-o", root / f"{name}.ll", "--order", 3, "--estimator", estimator, "--json")
        done = invoke("lm", "train", root / "train.txt", *args)
        assert done.exit_code == 0, done.stderr
        (root / f"{name}.json").write_text(done.stdout)
    return root


# ---- training -------------------------------------------------------------------------------------------------------
def test_summary(place: Path) -> None:
    summary, counted = (json.loads((place / f"{name}.json").read_text()) for name in ("maxent", "kn"))
    words = (place / "train.txt").read_text().split()
    assert summary["tokens"] == len(words) + 300
    assert summary["words"] == len(set(words)) + 2
    assert summary["ngrams_counted"] == counted["ngrams_counted"] == counted["ngrams"]
    assert sum(summary["ngrams"]) <= sum(counted["ngrams"])
    assert summary["weights"] <= sum(summary["ngrams_counted"])
    assert [c["order"] for c in summary["strengths"]] == [1, 2, 3]
    assert len(counted["discounts"]) == 3
    model = loglinear.load(place / "maxent.ll", verify=True)
    assert isinstance(model, LanguageModel)
    assert model.order_ == 3


@pytest.mark.parametrize("estimator", ["maxent", "kneser-ney", "kneser-ney-single", "witten-bell", "add-k"])
def test_every_estimator_is_trained_and_used(place: Path, tmp_path: Path, estimator: str) -> None:
    model = tmp_path / "m.ll"
    done = invoke("lm", "train", place / "train.txt", "-o", model, "--order", 2, "--estimator", estimator)
    assert done.exit_code == 0, done.stderr
    assert f"{estimator}, order 2" in done.stdout
    assert ("objective" in done.stdout) == (estimator == "maxent")
    assert ("discounts" in done.stdout) == estimator.startswith("kneser-ney")
    assert 2 < figures(invoke("lm", "eval", model, place / "test.txt", "--json"))["perplexity"] < 12


def test_a_checkpoint_goes_when_training_is_done(place: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c"
    args = ("lm", "train", place / "train.txt", "-o", tmp_path / "m.ll", "--order", 2, "--checkpoint", checkpoint)
    assert invoke(*args, "--max-iterations", 3).exit_code == 0
    assert checkpoint.exists()
    assert invoke(*args).exit_code == 0
    assert not checkpoint.exists()


def test_tuning(place: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.ll"
    args = ("lm", "train", place / "train.txt", "-o", model, "--order", 2, "--tune", "--dev", place / "valid.txt")
    summary = figures(invoke(*args, "--json"))
    tried = [trial["perplexity"] for trial in summary["tuning"]]
    assert len(tried) > 1
    found = figures(invoke("lm", "eval", model, place / "valid.txt", "--json"))["perplexity"]
    assert found <= tried[0]
    assert found <= min(tried) * (1 + 1e-6)  # probabilities are stored in single precision
    assert [trial["chosen"] for trial in summary["tuning"]].count(True) == 1
    assert all(trial["nonzero_weights"] > 0 for trial in summary["tuning"])
    assert "Strengths tried" in invoke(*args).stdout
    assert "Strengths tried" in invoke("inspect", model).stdout
    fine = invoke(*args, "--strength-classes", "fine")
    assert "Strengths by class" in fine.stdout


def test_settings_reach_the_model(place: Path, tmp_path: Path) -> None:
    model, words = tmp_path / "m.ll", tmp_path / "words"
    words.write_text("the\na\ndog\ncat\n")
    args = ("--order", 3, "--penalty", "l2", "--strength", "0.5,0.7", "--min-count", "1,1,2", "--signed")
    done = invoke("lm", "train", place / "train.txt", place / "valid.txt", "-o", model, "--vocab", words, *args)
    assert done.exit_code == 0, done.stderr
    found = loglinear.load(model)
    assert (found.penalty, found.strength, found.min_count) == ("l2", (0.5, 0.7), (1, 1, 2))
    assert not found.nonnegative
    assert sorted(found.vocabulary_) == sorted(["</s>", "<unk>", "the", "a", "dog", "cat"])
    done = invoke(
        "lm", "train", place / "train.txt", "-o", model, "--estimator", "kneser-ney", "--prune", "0,0,1", "--order", 3
    )
    assert done.exit_code == 0, done.stderr
    assert loglinear.load(model).prune == (0, 0, 1)


def test_units_and_standard_input(place: Path, tmp_path: Path) -> None:
    model, text = tmp_path / "m.ll", (place / "train.txt").read_text()
    done = invoke("lm", "train", "-", "-o", model, "--units", "characters", "--order", 4, stdin=text)
    assert done.exit_code == 0, done.stderr
    assert figures(invoke("lm", "eval", model, place / "valid.txt", "--json"))["perplexity"] < 3
    drawn = invoke("lm", "generate", model, "--seed", 3, "-n", 2, "--context", "the d").stdout.splitlines()
    assert all(line.startswith("the d") for line in drawn)
    first = invoke("lm", "next", model, "the do", "-k", 1).stdout
    assert first.startswith("g\t")
    lines = invoke("lm", "score", model, place / "test.txt").stdout.splitlines()
    assert [int(line.split("\t")[1]) for line in lines] == [
        len(line) + 1 for line in (place / "test.txt").read_text().splitlines()
    ]


def test_adaptation_of_a_base(place: Path, tmp_path: Path) -> None:
    more, model = tmp_path / "more.txt", tmp_path / "m.ll"
    more.write_text("the old dog sees the old dog .\n" * 20)
    done = invoke("lm", "train", more, "-o", model, "--order", 3, "--base", place / "kn.ll")
    assert done.exit_code == 0, done.stderr
    before, after = (figures(invoke("lm", "eval", m, more, "--json"))["perplexity"] for m in (place / "kn.ll", model))
    assert after < before
    line = r"^n-grams kept +([\d,]+), those of the base included; (\d+) are in the text$"
    (kept,) = re.findall(line, done.stdout, re.MULTILINE)
    assert "weights kept" not in done.stdout  # of the text's n-grams, which are fewer than those of text and base
    facts = figures(invoke("lm", "train", more, "-o", model, "--order", 3, "--base", place / "kn.ll", "--json"))
    assert kept == (f"{facts['weights']:,}", str(sum(facts["ngrams_counted"])))
    assert facts["weights"] == sum(facts["ngrams"]) > sum(facts["ngrams_counted"])


def test_using_a_model_imports_nothing_heavy(place: Path) -> None:
    assert heavy_imports("lm", "score", place / "maxent.ll", place / "test.txt") == []
    assert heavy_imports("lm", "eval", place / "kn.ll", place / "test.txt", "--json") == []
    assert heavy_imports("lm", "next", place / "kn.ll", "the") == []


# ---- evaluating and scoring -----------------------------------------------------------------------------------------
def test_evaluation(place: Path) -> None:
    found = figures(invoke("lm", "eval", place / "kn.ll", place / "test.txt", "--json"))
    model = LanguageModel.load(place / "kn.ll")
    assert found["perplexity"] == pytest.approx(model.perplexity(place / "test.txt"))
    assert found["n_unknown"] == 1
    assert found["perplexity_without_unknown"] < found["perplexity"]
    assert sum(found["hits"]) == found["n_tokens"]
    assert [(e["word"], e["line"]) for e in found["unknown_examples"]] == [("zebra", 51)]
    text = invoke("lm", "eval", place / "kn.ll", place / "test.txt").stdout
    assert "zebra (line 51)" in text
    assert "order hit" in text


def test_scores_of_lines(place: Path) -> None:
    lines = (place / "test.txt").read_text().splitlines()
    model = LanguageModel.load(place / "kn.ll")
    scored = invoke("lm", "score", place / "kn.ll", place / "test.txt").stdout
    found = [line.split("\t") for line in scored.splitlines()]
    assert [float(f[0]) for f in found] == pytest.approx([model.queries_.score(line) for line in lines], abs=1e-6)
    assert [int(f[1]) for f in found] == [len(line.split()) + 1 for line in lines]
    assert [float(f[2]) for f in found] == pytest.approx([10 ** (-float(p) / int(n)) for p, n, _ in found], rel=1e-4)


def test_every_line_is_answered(place: Path) -> None:
    text = b"\xef\xbb\xbfthe dog\n\n \nthe \xff dog\r\nthe dog"
    found = [line.split("\t") for line in run("lm", "score", place / "kn.ll", stdin=text).stdout.splitlines()]
    assert [int(f[1]) for f in found] == [3, 1, 1, 4, 3]
    assert found[0] == found[-1]
    compressed = invoke("lm", "score", place / "kn.ll", stdin=gzip.compress(text)).stdout.splitlines()
    assert [line.split("\t") for line in compressed] == found
    assert invoke("lm", "score", place / "kn.ll", stdin=b"").stdout == ""


@pytest.mark.parametrize("threshold", [None, 6.0])
def test_blocks_and_threads_do_not_change_scores(place: Path, threshold: float | None) -> None:
    whole = None
    for n_threads, block in ((1, 1 << 20), (2, 1 << 20), (1, 100)):
        model = load_language_model(place / "maxent.ll", n_threads)
        pieces = list(score_file(model, place / "test.txt", threshold=threshold, block=block))
        assert block > 100 or len(pieces) > 5
        whole = b"".join(pieces) if whole is None else whole
        assert b"".join(pieces) == whole


def test_a_threshold_keeps_lines_as_they_are(place: Path) -> None:
    lines = (place / "test.txt").read_text().splitlines(keepends=True)
    scores = invoke("lm", "score", place / "kn.ll", place / "test.txt").stdout.splitlines()
    perplexities = [float(line.split("\t")[2]) for line in scores]
    middle = float(np.median(perplexities)) + 1e-4
    kept = invoke("lm", "score", place / "kn.ll", place / "test.txt", "--threshold", middle).stdout
    assert kept == "".join(line for line, p in zip(lines, perplexities) if p <= middle)
    assert "must be above 0" in refusal(invoke("lm", "score", place / "kn.ll", place / "test.txt", "--threshold", 0))
    odd = b"the  dog\t.\r\nzebra zebra zebra\n a cat ."
    assert run("lm", "score", place / "kn.ll", "--threshold", "90", stdin=odd).stdout == "the  dog\t.\r\n a cat ."


def test_a_closed_pipe_is_no_error(place: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("the dog sees a cat .\n" * 200_000)
    command = f"'{COMMAND}' lm score '{place / 'kn.ll'}' '{long}' | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


# ---- files of other tools -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["m.arpa", "m.arpa.gz"])
def test_arpa_there_and_back(place: Path, tmp_path: Path, name: str) -> None:
    arpa, model = tmp_path / name, tmp_path / "m.ll"
    assert invoke("lm", "export", place / "maxent.ll", arpa, "--full-precision").exit_code == 0
    facts = figures(invoke("lm", "import", arpa, "-o", model, "--json"))
    assert (facts["order"], facts["open"]) == (3, True)
    expected = invoke("lm", "score", place / "maxent.ll", place / "test.txt").stdout
    for path in (model, arpa):
        found = invoke("lm", "score", path, place / "test.txt").stdout
        both = [[float(line.split("\t")[0]) for line in text.splitlines()] for text in (found, expected)]
        assert both[0] == pytest.approx(both[1], abs=1e-5)


def test_a_damaged_arpa_names_its_line(tmp_path: Path) -> None:
    arpa = tmp_path / "bad.arpa"
    arpa.write_text("\\data\\\nngram 1=2\n\n\\1-grams:\n-0.3\t</s>\nx\ta\n\n\\end\\\n")
    assert "bad.arpa:6: " in refusal(invoke("lm", "import", arpa, "-o", tmp_path / "m.ll"))
    assert not (tmp_path / "m.ll").exists()


# ---- mixing ---------------------------------------------------------------------------------------------------------
def test_mixing(place: Path, tmp_path: Path) -> None:
    merged = tmp_path / "m.ll"
    models, texts = (place / "maxent.ll", place / "kn.ll"), (place / "valid.txt", place / "test.txt")
    done = invoke("lm", "mix", *models, "--dev", texts[0], "--test", texts[1], "-o", merged, "--json")
    found = figures(done)
    assert sum(found["weights"]) == pytest.approx(1)
    valid, test = (found["perplexities"][str(text)] for text in texts)
    assert valid["mixture"] <= min(valid["models"]) + 1e-4
    evaluated = [figures(invoke("lm", "eval", m, texts[1], "--json"))["perplexity"] for m in (*models, merged)]
    assert [*test["models"], found["merged"][str(texts[1])]] == pytest.approx(evaluated, rel=1e-5)
    table = invoke("lm", "mix", *models, "--weights", "0.3,0.7", "--test", texts[1]).stdout
    assert "mixture" in table


def test_a_mixture_is_the_weighted_sum(place: Path) -> None:
    models = [LanguageModel.load(place / f"{name}.ll") for name in ("maxent", "kn")]
    text = Text.read(place / "test.txt", models[0])
    each = [np.exp(m.queries_.token_log_probabilities(text.numbered_for(m))) for m in models]
    found = mix(models, weights=[0.25, 0.75]).perplexities(text)
    mixed = np.exp(-np.log(0.25 * each[0] + 0.75 * each[1]).mean())
    assert found == pytest.approx([mixed, *(math.exp(-np.log(p).mean()) for p in each)])


def test_mixing_different_vocabularies(place: Path, tmp_path: Path) -> None:
    other, text, merged = tmp_path / "o.ll", tmp_path / "o.txt", tmp_path / "m.ll"
    text.write_text("a zebra sees the dog .\nthe zebra .\n")
    assert invoke("lm", "train", text, "-o", other, "--order", 2, "--estimator", "witten-bell").exit_code == 0
    args = ("lm", "mix", place / "kn.ll", other, "--tune", "--dev", place / "test.txt", "-o", merged)
    assert "words are only in model 2 (such as 'zebra')" in (told := refusal(invoke(*args)))
    assert "--union" in told
    found = figures(invoke(*args, "--union", "--json"))
    assert min(found["weights"]) > 0
    assert loglinear.load(merged).queries_.next_distribution("the").sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "either given (--weights) or chosen on held-out text (--dev)"),
        (("--weights", "0.5"), "2 models need 2 weights, not 1"),
        (("--weights", "0.5,0.7"), "sum to one"),
        (("--weights", "a,b"), "--weights takes numbers separated by commas"),
    ],
)
def test_weights_that_make_no_mixture(place: Path, args: tuple[str, ...], message: str) -> None:
    assert message in refusal(invoke("lm", "mix", place / "kn.ll", place / "maxent.ll", *args))


# ---- words to come --------------------------------------------------------------------------------------------------
def test_next_words(place: Path) -> None:
    lines = invoke("lm", "next", place / "kn.ll", "the", "old", "-k", 3).stdout.splitlines()
    model = LanguageModel.load(place / "kn.ll")
    assert [line.split("\t")[0] for line in lines] == [word for word, _ in model.top("the old", 3)]
    found = figures(invoke("lm", "next", place / "kn.ll", "-k", 999, "--json"))
    assert sum(entry["probability"] for entry in found) == pytest.approx(1, abs=1e-5)


def test_generated_sentences(place: Path) -> None:
    args = ("lm", "generate", place / "kn.ll", "-n", 4, "--seed", 5, "--context", "the old", "--no-unknown")
    lines = invoke(*args).stdout.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("the old ") for line in lines)
    assert invoke(*args).stdout.splitlines() == lines
    assert [json.loads(line)["text"] for line in invoke(*args, "--json").stdout.splitlines()] == lines
    short = invoke("lm", "generate", place / "kn.ll", "--max-length", 2, "--seed", 1).stdout.splitlines()
    assert all(len(line.split()) <= 2 for line in short)


# ---- comparing ------------------------------------------------------------------------------------------------------
def test_comparison(place: Path) -> None:
    args = ("lm", "compare", place / "kn.ll", place / "maxent.ll", place / "test.txt")
    found = figures(invoke(*args, "--json", "--top", 4))
    for which, model in (("first", "kn"), ("second", "maxent")):
        evaluated = figures(invoke("lm", "eval", place / f"{model}.ll", place / "test.txt", "--json"))
        assert found[f"perplexity_{which}"] == pytest.approx(evaluated["perplexity"])
        assert [part["n_tokens"] for part in found[f"orders_{which}"]] == [n for n in evaluated["hits"] if n]
    assert found["interval"][0] <= found["difference"] <= found["interval"][1]
    assert len(found["words"]) == len(found["sentences"]) == 4
    assert ("unknown words", 1) in [(part["name"], part["n_tokens"]) for part in found["bands"]]
    lines = (place / "test.txt").read_text().splitlines()
    assert {part["name"] for part in found["sentences"]} <= set(lines)
    text = invoke(*args).stdout
    assert all(part in text for part in ("p-value", "By frequency", "By order hit in kn.ll", "Sentences"))
    piped = figures(invoke(*args[:-1], "-", "--json", "--top", 4, stdin=(place / "test.txt").read_text()))
    assert piped["interval"] == found["interval"]


# ---- what a user can do wrong ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        (b"", (), "there are no words"),
        (b"\n \n", (), "there are no words"),
        (b"a b\na </s> b\n", (), ":2: '</s>' is reserved"),
        (b"a b\nc \xff d\n", (), ":2: "),
        (b"a b\nc\x00d\n", (), ":2: "),
        (b"a b\n", ("--vocab", "WORDS", "--unknown", "error"), ":1: the word 'b' is not in the vocabulary"),
        (b"a b\n", ("--estimator", "kneser-ney", "--strength", "1"), "strength is a setting of maxent"),
        (b"a b\n", ("--prune", "0,1"), "prune is a setting of kneser-ney"),
        (b"a b\n", ("--tune",), "--tune chooses on held-out data: give them with --dev FILE"),
        (b"a b\n", ("--strength", "x"), "--strength takes numbers"),
        (b"a b\n", ("--estimator", "magic"), "unknown estimator 'magic'"),
        (b"a b\n", ("--order", "0"), "order"),
        (b"a b\n", ("--tune", "--dev", "EMPTY"), "there are no words"),
        (b"a b\n", ("--base", "TEXT"), "corpus.txt"),
    ],
)
def test_refusals_of_training(tmp_path: Path, text: bytes, args: tuple[str, ...], message: str) -> None:
    corpus, words, empty, model = (tmp_path / name for name in ("corpus.txt", "words", "empty", "m.ll"))
    corpus.write_bytes(text)
    words.write_text("a\n")
    empty.write_text("")
    paths = {"WORDS": words, "EMPTY": empty, "TEXT": corpus}
    done = invoke("lm", "train", corpus, "-o", model, "--order", 2, *(paths.get(a, a) for a in args))
    assert message in refusal(done)
    assert not model.exists()


def test_odd_but_possible_text(tmp_path: Path) -> None:
    model, corpus = tmp_path / "m.ll", tmp_path / "c.txt"
    corpus.write_bytes(b"a\n")
    for estimator in ("maxent", "kneser-ney"):
        done = invoke("lm", "train", corpus, "-o", model, "--order", 6, "--estimator", estimator)
        assert done.exit_code == 0, done.stderr
        assert loglinear.load(model).queries_.next_distribution("").sum() == pytest.approx(1, abs=1e-5)
    done = invoke("lm", "train", corpus, "-o", model, "--order", 2, "--strength", 1e6)
    assert done.exit_code == 0
    assert "the strength is too high" in done.stderr


def test_a_closed_vocabulary_names_the_unknown_word(place: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.ll"
    args = ("--unknown", "error", "--order", 2, "--estimator", "witten-bell")
    assert invoke("lm", "train", place / "train.txt", "-o", model, *args).exit_code == 0
    test = place / "test.txt"
    assert "test.txt:51: the word 'zebra'" in refusal(invoke("lm", "eval", model, test))
    done = invoke("lm", "score", model, test)
    assert done.exit_code == 2
    assert "test.txt:51: the word 'zebra'" in done.stderr
    assert "'zebra' of sentence 51" in refusal(invoke("lm", "compare", model, model, test))
    assert "'zebra'" in refusal(invoke("lm", "next", model, "zebra"))


def test_models_of_other_kinds_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "not a language model" in refusal(invoke("lm", "eval", folder / "text.ll", folder / "train.tsv"))
    assert "no such file" in refusal(invoke("lm", "eval", tmp_path / "none.ll", folder / "train.tsv"))
    assert "there is no folder" in refusal(invoke("lm", "export", folder / "text.ll", tmp_path / "no" / "m.arpa"))


def test_inspection(place: Path) -> None:
    found = figures(invoke("inspect", place / "maxent.ll", "--json"))
    assert found["kind"] == "language-model"
    assert found["order"] == 3
    assert found["weights"] == sum(found["ngrams"])
    text = invoke("inspect", place / "kn.ll").stdout
    assert all(part in text for part in ("N-grams", "discounts", "First words"))


# ---- binary files of KenLM, other encodings -----------------------------------------------------------------------
def test_a_model_is_exported_as_a_small_binary(place: Path, tmp_path: Path) -> None:
    exact, small = tmp_path / "exact.bin", tmp_path / "small.bin"
    for path, options in ((exact, ()), (small, ("--quantise", 8))):
        assert invoke("lm", "export", place / "kn.ll", path, *options).exit_code == 0
    assert BinaryQueries.open(exact).kind == "trie"
    assert BinaryQueries.open(small).kind == "trie, quantised and array-compressed"
    wanted = load_language_model(place / "kn.ll").perplexity(place / "test.txt")
    for path, near in ((exact, 1e-6), (small, 5e-3)):
        done = invoke("lm", "eval", path, place / "test.txt", "--json")
        assert json.loads(done.stdout)["perplexity"] == pytest.approx(wanted, rel=near)
    told = refusal(invoke("lm", "export", place / "kn.ll", tmp_path / "x.bin", "--quantise", 40))
    assert "quantise must be between 2 and 25 bits, not 40" in told


def test_an_arpa_file_in_another_encoding_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "latin.arpa"
    LanguageModel(2, "kneser-ney").fit(["café noir", "thé"]).to_arpa(tmp_path / "utf8.arpa")
    path.write_bytes((tmp_path / "utf8.arpa").read_text("utf-8").encode("latin-1"))
    assert invoke("lm", "import", path, "-o", tmp_path / "m.ll", "--encoding", "latin-1").exit_code == 0
    assert "café" in load_language_model(tmp_path / "m.ll").vocabulary_
    assert "encoding" in refusal(invoke("lm", "import", path, "-o", tmp_path / "m.ll"))
