"""Experiments run from end to end on corpora made up here."""

import gzip
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loglinear import MaxentClassifier, Tagger

ROOT = Path(__file__).parents[2]


def sentence(rng, kinds):
    """Tokens (word, tag, label): spans of some kinds, whose words and tags tell them apart."""
    tokens = []
    for _ in range(rng.integers(2, 6)):
        kind = rng.choice([*kinds, "O"])
        for k in range(1 if kind == "O" else rng.integers(1, 4)):
            label = "O" if kind == "O" else f"{'I' if k else 'B'}-{kind}"
            tag = f"{kind[0]}{min(k, 1)}" if rng.random() < 0.9 else "X"
            tokens.append((f"{kind[:2]}{rng.integers(8)}", tag, label))
    return tokens


def write(path, sentences, separator, columns):
    path.parent.mkdir(exist_ok=True)
    lines = ["\n".join(separator.join(token[c] for c in columns) for token in tokens) for tokens in sentences]
    path.write_bytes(gzip.compress("\n\n".join([*lines, ""]).encode()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("corpora"), np.random.default_rng(0)
    for name, n in (("train", 60), ("test", 20)):
        sentences = [sentence(rng, ["NP", "VP"]) for _ in range(n)]
        write(root / "conll2000" / f"{name}.txt.gz", sentences, " ", (0, 1, 2))
    for name in ("wnut17train.conll.gz", "emerging.dev.conll.gz", "emerging.test.annotated.gz"):
        sentences = [sentence(rng, ["person", "location"]) for _ in range(20)]
        write(root / "wnut17" / name, sentences, "\t", (0, 2))
    for treebank in ("ewt", "imst"):
        for name in ("train", "dev", "test"):
            sentences = [sentence(rng, ["NP", "VP"]) for _ in range(20)]
            write(root / treebank / f"{name}.tsv.gz", sentences, "\t", (0, 1, 2))
    brown = [
        f"d{genre}{document}\t{genre}\t" + " ".join(f"{word}{genre}/{tag}" for word, tag, _ in sentence(rng, ["NP"]))
        for genre in ("news", "lore")
        for document in range(10)
        for _ in range(3)
    ]
    (root / "brown").mkdir()
    (root / "brown" / "brown.tsv.gz").write_bytes(gzip.compress("\n".join([*brown, ""]).encode()))
    return root


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    """Import from the root of the repository; figures are drawn without the search for a tight layout."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr("matplotlib.figure.Figure.tight_layout", lambda figure: None)


def check_page(page, sections, main, options, monkeypatch):
    """The page has a section for every part, and is rebuilt from the results alone, remarks included."""
    text = page.read_text(encoding="utf-8")
    remarks = set(re.findall(r"<!-- remarks ([\w-]+) -->", text))
    assert set(sections) <= remarks
    assert text.count("\nCommit ") == text.count("; `python -m experiments.") > 0
    assert "nan" not in text
    name = sorted(sections)[0]
    page.write_text(text.replace(f"remarks {name} -->\n", f"remarks {name} -->\nBy hand.\n"), encoding="utf-8")
    monkeypatch.delenv("LOGLINEAR_DATA", raising=False)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, dpi: None)  # they were drawn before
    main([*options, "--page"])
    assert page.read_text(encoding="utf-8").replace("By hand.\n", "") == text
    return text


def test_m_estimation(folder, tmp_path, monkeypatch):
    from experiments.m_estimation.__main__ import PARTS, main

    monkeypatch.setenv("LOGLINEAR_DATA", str(folder))
    output = tmp_path / "results"
    options = ["--quick", "--threads", "1", "--output", str(output)]
    main(options)
    text = check_page(output / "m_estimation.md", PARTS, main, options, monkeypatch)
    assert "| extended | CRF |" in text
    for picture in ("times", "curves", "cloud", "initialiser", "clustered"):
        assert (output / f"m_estimation_{picture}.png").stat().st_size > 0
    with pytest.raises(SystemExit, match="LOGLINEAR_DATA"):
        main([*options, "--parts", "table1"])


@pytest.mark.parametrize("estimator", ["crf", "memm", "pseudolikelihood", "m-estimation", "hmm"])
def test_chains_of_the_experiment_are_taggers(folder, estimator):
    from experiments.m_estimation.task import Chain, Family, chunking, one_type

    corpus = chunking(folder, quick=True).map(lambda part: one_type(part, "NP"))
    chain = Chain(Family(estimator, "sha-pereira"), corpus.train, 30, 1)
    weights = np.zeros(chain.features.n_weights) if estimator == "hmm" else chain.solve(2.0).weights
    tagger = Tagger(
        estimator, "sha-pereira", order=2, oov=True, strength=0.5, solver="lbfgs", max_iterations=30, tolerance=0.0,
        n_threads=1, verbose=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger.fit(corpus.train.X, corpus.train.y)
    np.testing.assert_array_equal(tagger.weights_, weights)
    assert tagger.predict(corpus.test.X) == chain.predict(corpus.test, weights)


def test_input_only_features_are_counted_and_expected(folder):
    """Their observed means and expectations are those of the labelled n-grams, summed over labels."""
    from experiments.m_estimation.task import Chain, Family, chunking

    corpus = chunking(folder, quick=True)
    plain = Chain(Family("m-estimation", "hmm"), corpus.train, 10, 1)
    more = Chain(Family("m-estimation", "hmm", input_only=3), corpus.train, 10, 1)
    before, after = plain.problem.loss, more.problem.loss
    n = before.n_weights
    np.testing.assert_array_equal(after.expectations[:n], before.expectations)
    lengths = np.diff(plain.data.sequence_ptr)
    totals = np.add.reduceat(after.counts.values, after.counts.indptr[:-1])
    known = np.add.reduceat(before.counts.values, before.counts.indptr[:-1])
    np.testing.assert_array_equal(totals - known, 6 * lengths)  # three n-grams of words and of tags for each token
    assert np.all(after.expectations[n:] >= 0)
    unigrams = after.expectations[n:].max()
    assert unigrams < lengths.mean()
    assert more.score(corpus.test, more.solve(1.0).weights).f1 > 0


def test_hierarchical_training(tmp_path, monkeypatch):
    from experiments.hierarchical_training.__main__ import CORPORA, main

    rng = np.random.default_rng(0)
    for _, path in CORPORA.values():
        lines = [" ".join(f"w{k}" for k in rng.zipf(1.5, rng.integers(1, 9)) if k < 40) for _ in range(200)]
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    monkeypatch.delenv("LOGLINEAR_DATA", raising=False)
    output, raw = tmp_path / "results", tmp_path / "raw.json"
    options = ["--minutes", "0.02", "--sampled", "20", "--output", str(output), "--json", str(raw)]
    with pytest.raises(SystemExit, match="LOGLINEAR_DATA"):
        main(options)
    main([*options, "--data", str(tmp_path)])
    text = check_page(output / "hierarchical_training.md", ["terms", "times"], main, options, monkeypatch)
    assert all(f"| {title} |" in text for title, _ in CORPORA.values())
    assert "| IIS |" in text


@pytest.fixture
def three_corpora(tmp_path):
    """Brown, PTB and Gutenberg, made up: sentences of phrases that come again, in the layouts of the real ones."""
    rng = np.random.default_rng(0)
    words = [a + b for a in "bdfgklmnpr" for b in ("a", "e", "i", "o", "u", "ai")]
    phrases = [[words[k % 60] for k in rng.zipf(1.4, rng.integers(2, 6))] for _ in range(80)]

    def line(n=8):
        return [word for _ in range(n) for word in phrases[rng.integers(80) if rng.random() < 0.7 else 0]][: 2 * n]

    brown = []
    for document in range(40):
        for _ in range(12):
            tokens = [f"{word.upper()}/nn" for word in line()]
            brown.append(f"c{document}\tnews\tPaul/np-tl " + " ".join(tokens) + " 17/cd ./.")
    ptb = [" ".join([*line(), "<unk>", "N"]) for _ in range(500)]
    gutenberg = []
    for book in range(30):
        mark = f"of this project gutenberg ebook book {book % 28} * * *"
        gutenberg += ["the project gutenberg ebook", f"* * * start {mark}"]
        gutenberg += [" ".join([*line(), *(".", "”")[: rng.integers(1, 3)]]) for _ in range(25)]
        gutenberg += [f"* * * end {mark}", "a licence of many words"]
    for name, lines in (
        ("brown/brown.tsv.gz", brown), ("ptb/ptb.train.txt.gz", ptb), ("gutenberg/gutenberg13m.txt.gz", gutenberg),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    return tmp_path


def test_corpora_of_structured_penalties(three_corpora, monkeypatch):
    from experiments.structured_penalties import corpora

    monkeypatch.setattr(corpora, "FRONT_WORDS", 20)
    monkeypatch.setattr(corpora, "BOOK_WORDS", 300)
    brown, books = corpora.brown(three_corpora), corpora.gutenberg(three_corpora)
    assert len(brown) == 40
    assert brown[0][0][0] == "<proper_noun>"
    assert brown[0][0][-2:] == ["#n", "."]
    assert len(books) == 28  # the two that come again are left out, and so is what stands between books
    words = {word for book in books for sentence in book for word in sentence}
    assert not words & {"gutenberg", "licence", "*"}
    assert all(sentence[-1] in (".", "”") for book in books for sentence in book)
    few = corpora.without_rare([[["a", "b", "a"], ["c"]]], 1)
    assert few == [[["a", "<unknown>", "a"], ["<unknown>"]]]

    sizes = corpora.Sizes(train=600, test=100, tuning=200, validation=50, subsets=2)
    pieces = corpora.deal([[[f"d{d}"] * 10] * 10 for d in range(30)], sizes)
    seen = [piece.vocabulary.n_words - 2 for piece in [pieces.tuning, *pieces.subsets]]  # without </s> and <unk>
    assert seen == [2, 6, 6]
    assert all((piece.test.words == 1).all() for piece in pieces.subsets)  # no document is in two texts
    with pytest.raises(SystemExit, match="too small"):
        corpora.deal([[["a"]]], sizes)


def test_search_of_structured_penalties():
    from experiments.structured_penalties.task import search

    best, trials = search(
        lambda x: np.log(x[0] / 3) ** 2 + np.log(x[1] / 0.8) ** 2, (1.0, 1.0, 0.5), (2.0, 1.3, 1.0), 6
    )
    np.testing.assert_allclose(best, (3.0, 0.8, 0.5), rtol=0.02)
    assert len(trials) == len({tuple(trial["values"]) for trial in trials}) < 60


def test_structured_penalties(three_corpora, tmp_path, monkeypatch):
    from experiments.structured_penalties import corpora
    from experiments.structured_penalties.__main__ import PARTS, main

    monkeypatch.setattr(corpora, "FRONT_WORDS", 20)
    monkeypatch.setattr(corpora, "BOOK_WORDS", 300)
    monkeypatch.setenv("LOGLINEAR_DATA", str(three_corpora))
    output = tmp_path / "results"
    options = ["--quick", "--threads", "1", "--output", str(output)]
    main([*options, "--corpora", "brown"])
    text = check_page(output / "structured_penalties.md", PARTS, main, options, monkeypatch)
    assert text.count("\n| wℓ2ᵀ |") == 4  # strengths and perplexities, chosen once and at every order
    assert text.count("\n| αℓ2ᵀ, plain |") == 2
    assert "| heap on T |" in text
    for picture in ("perplexity", "norms", "parameters", "timing"):
        assert (output / f"structured_penalties_{picture}.png").stat().st_size > 0
    raw = output / "structured_penalties.json"
    results = json.loads(raw.read_text(encoding="utf-8"))
    del results["parts"]["timing"]  # measured elsewhere: its section stays
    raw.write_text(json.dumps(results), encoding="utf-8")
    main([*options, "--page"])
    assert (output / "structured_penalties.md").read_text(encoding="utf-8").replace("By hand.\n", "") == text
    with pytest.raises(SystemExit, match="LOGLINEAR_DATA"):
        main([*options, "--parts", "parameters"])


@pytest.fixture
def readings_and_lists(tmp_path):
    """Texts with readings, most of which are shared by words that domains prefer differently; lists with errors."""
    rng = np.random.default_rng(0)
    kana, kanji = "あいうえおかきくけこ", "山川田木日月火水金土"
    words = [(f"{kanji[i]}{kanji[j]}", kana[i % 5] + kana[j]) for i in range(10) for j in range(10)] + [("と", "と")]

    def sentence(liked):
        chosen = [words[k % 100] if rng.random() < 0.5 else words[liked[k % 9]] for k in rng.zipf(1.3, 4)]
        return " ".join("|".join(pair) for pair in [chosen[0], words[100], *chosen[1:]])

    texts = {"background": (300, range(9))}
    for name, low in (("science", 20), ("cooking", 50)):
        texts |= {f"{name}.{part}": (n, range(low, low + 9)) for part, n in (("train", 80), ("dev", 40), ("test", 40))}
    (tmp_path / "ime").mkdir()
    for name, (n, liked) in texts.items():
        lines = [sentence(liked) for _ in range(n)]
        (tmp_path / "ime" / f"{name}.txt.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    (tmp_path / "nbest").mkdir()
    for name, scored in (("atis.train", True), ("chime4", False), ("lrs2", False)):
        records = []
        for i in range(60):
            spoken = [f"w{k}" for k in rng.integers(6, size=4)]
            texts_of = [" ".join(spoken)] + [" ".join([*spoken[:k], "uh", *spoken[k:]]) for k in range(3)]
            made = [{"text": t} | ({"score": float(rng.normal())} if scored else {}) for t in rng.permutation(texts_of)]
            records.append(json.dumps({"id": f"{name}{i}", "reference": " ".join(spoken), "hypotheses": made}))
        (tmp_path / "nbest" / f"{name}.jsonl.gz").write_bytes(gzip.compress("\n".join(records).encode()))
    return tmp_path


def test_approximation_lasso(readings_and_lists, tmp_path, monkeypatch):
    from experiments.approximation_lasso import methods
    from experiments.approximation_lasso.__main__ import PARTS, main

    monkeypatch.setattr(methods, "ITERATIONS", 5)
    monkeypatch.setenv("LOGLINEAR_DATA", str(readings_and_lists))
    output, work = tmp_path / "results", tmp_path / "work"
    options = ["--quick", "--threads", "1", "--output", str(output)]
    main([*options, "--work", str(work)])
    assert sorted(path.name for path in work.iterdir())[0] == "cooking.dev.20best.60.jsonl"
    text = check_page(output / "approximation_lasso.md", PARTS, main, options, monkeypatch)
    assert text.count("\n| BLasso, step chosen |") == 6  # rates, sizes and times, of two tasks
    assert "| *Yomiuri, 8,000* | 7.69 | 3.70 | 3.69 (+0.27) | 2.88 (+21.95) | 2.85 (+22.76 / +1.04) |" in text
    for picture in ("l1", "errors", "steps"):
        assert (output / f"approximation_lasso_{picture}.png").stat().st_size > 0
    with pytest.raises(SystemExit, match="LOGLINEAR_DATA"):
        main([*options, "--parts", "curves"])


def test_samples_of_approximation_lasso():
    from experiments.approximation_lasso.claims import at_equal_loss
    from experiments.approximation_lasso.lists import numbers_of, part_of

    assert numbers_of("first-3", 10) == [0, 1, 2]
    assert numbers_of("4", 10) == [0, 2, 5, 7]
    assert numbers_of("20", 3) == numbers_of("first-20", 3) == [0, 1, 2]
    parts = [part_of(f"list {i}") for i in range(500)]
    assert [parts.count(part) > 50 for part in ("train", "dev", "test")] == [True] * 3
    curves = [{"loss": [8.0, 4.0, 2.0], "l1": [0.0, a, 2 * a]} for a in (1.0, 2.0)]
    losses, ratios = at_equal_loss({name: {"curve": c} for name, c in zip(("blasso", "f-boosting"), curves)}, 4)
    np.testing.assert_allclose(losses, np.geomspace(8, 2, 5)[1:])
    np.testing.assert_allclose(ratios, 0.5)


def test_plain_blasso_takes_the_same_steps():
    from scipy import sparse

    from benchmarks.rerank.page import entries_per_step, features_per_step, made_up
    from benchmarks.rerank.plain_blasso import PlainBlasso
    from loglinear.stagewise import Stagewise

    data = made_up(6000, 40)
    path = Stagewise("blasso", step=0.3, max_iterations=400, n_threads=1).follow(data)
    assert path.backward.any()
    rows = data.rows
    differences = sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.n_columns))
    plain = PlainBlasso(differences, data.base @ path.base, 0.3)
    steps = [plain.take() for _ in range(path.n_steps)]
    np.testing.assert_array_equal([k for k, _ in steps], path.feature)
    np.testing.assert_allclose([change for _, change in steps], path.change, rtol=1e-6)
    np.testing.assert_allclose(plain.weights, path.features_at(path.n_steps), rtol=1e-6, atol=1e-12)
    assert 12 <= features_per_step(data, path) <= entries_per_step(data, path)


def test_certificates(tmp_path, monkeypatch):
    from experiments.certificates import __main__ as experiment
    from experiments.certificates.problems import Problem, wine

    def two(folder):
        for penalty in ("l2", "l1"):
            model = MaxentClassifier(penalty, 1.0)
            yield Problem(f"classifier, auto, {penalty} 1", "wine", model, wine(folder), {})

    monkeypatch.setenv("LOGLINEAR_DATA", str(tmp_path))
    monkeypatch.setattr(experiment, "KINDS", {"classifiers": two})
    experiment.main(["--output", str(tmp_path), "--parts", "classifiers"])
    page = (tmp_path / "certificates.md").read_text()
    assert "| problems | 2 |" in page
    assert "| converged, but the true gap is above the tolerance | 0 |" in page
    assert "| bounds below the true gap | 0 |" in page
    assert "| wine | classifier, auto, l1 1 |" in page


def test_estimators_of_trees(tmp_path, monkeypatch):
    from benchmarks.parse import main as benchmark
    from experiments.tree_estimation.__main__ import main
    from loglinear.formats.bracketed import format_bracketed
    from loglinear.grammar.model import Grammar

    rules = [("S", ("NP", "VP"), 1.0), ("NP", ("DT", "NN"), 0.7), ("NP", ("NP", "PP"), 0.3), ("VP", ("VB", "NP"), 0.6)]
    rules += [("VP", ("VP", "PP"), 0.4), ("PP", ("IN", "NP"), 1.0), ("DT", "the", 0.5), ("DT", "a", 0.5)]
    rules += [("NN", "dog", 0.5), ("NN", "cat", 0.5), ("VB", "sees", 1.0), ("IN", "with", 1.0)]
    trees = Grammar.from_rules(rules, "S").sample(80, np.random.default_rng(0))
    (tmp_path / "treebank").mkdir()
    (tmp_path / "treebank" / "wsj_sample.mrg.gz").write_bytes(gzip.compress(format_bracketed(trees)))
    monkeypatch.setenv("LOGLINEAR_DATA", str(tmp_path))
    parts = "table,times,curves,variants"
    main(["--quick", "--parts", parts, "--models", "pcfg;m-estimation;crf", "--output", str(tmp_path)])
    text = (tmp_path / "tree_estimation.md").read_text(encoding="utf-8")
    for name in ("pcfg", "m-estimation", "crf"):
        assert text.count(f"\n| {name} |") == 4  # figures 1 and 3, both tables of figure 2
    assert text.count("\n| right-branching |") == text.count("\n| tags of heads |") == 1
    benchmark(["--output", str(tmp_path / "parse.md"), "--threads", "1"])
    assert (tmp_path / "parse.md").read_text(encoding="utf-8").count("\n| pcfg") == 2
