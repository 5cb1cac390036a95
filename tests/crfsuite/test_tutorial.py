"""sklearn-crfsuite's tutorial, from its source distribution: with the import line changed, its code runs.

Its data are not at hand: made-up sentences stand for them. Pictures are left out, and old names of scikit-learn's
modules are today's.
"""

import random
import re
import subprocess
import sys

import peers

CHANGED = [  # (expression, what stands in its place)
    (r"import sklearn_crfsuite", "from loglinear import crfsuite as sklearn_crfsuite"),  # the import line
    (r"from sklearn_crfsuite import", "from loglinear.crfsuite import"),
    (r"sklearn\.(cross_validation|grid_search) import", "sklearn.model_selection import"),
    (r"import nltk|nltk\.corpus\.conll2002\.fileids\(\)|%%time", ""),
    (r"nltk\.corpus\.conll2002\.iob_sents\('esp\.(train|testb)'\)", r"SENTENCES['\1']"),
    (r"n_iter=50", "n_iter=2, random_state=0"),
    (r"n_jobs=-1", "n_jobs=1"),
]
TOKENS = {
    "PER": ["Anna NNP", "Mr NNP", "Jo NNP", "Smith NNP"], "LOC": ["Oslo NNP", "Rome NNP", "York NNP"],
    "O": ["sees VBZ", "in IN", ". .", "and CC", "rains VBZ", "the DT"],
}  # fmt: skip


def sentences(n, seed):
    rng, found = random.Random(seed), []
    for _ in range(n):
        sentence = []
        for _ in range(rng.randint(2, 5)):
            kind = rng.choice(["PER", "LOC", "O", "O"])
            for k in range(1 if kind == "O" else rng.randint(1, 2)):
                label = "O" if kind == "O" else f"{'I' if k else 'B'}-{kind}"
                sentence.append((*rng.choice(TOKENS[kind]).split(), label))
        found.append(sentence)
    return found


def code_of(page):
    """Return the code of a page of reStructuredText, block after block, without those that draw."""
    blocks = re.findall(r"^\.\. code:: python\n\n((?:(?:    .*)?\n)+)", page, re.MULTILINE)
    blocks = ["\n".join(line[4:] for line in block.splitlines()) for block in blocks]
    code = "\n".join(block for block in blocks if "plt." not in block)
    for old, new in CHANGED:
        code, n = re.subn(old, new, code)
        assert n, f"the tutorial no longer has {old}"
    return code


def test_the_tutorial_runs(pytestconfig, tmp_path):
    page = peers.source(pytestconfig, "sklearn-crfsuite") / "docs" / "CoNLL2002.rst"
    program = f"SENTENCES = {{'train': {sentences(60, 1)!r}, 'testb': {sentences(20, 2)!r}}}\n"
    program += code_of(page.read_text(encoding="utf-8"))
    assert "sklearn_crfsuite.CRF(" in program
    assert "RandomizedSearchCV(crf, params_space" in program
    program += "\nprint('F1 on test:', metrics.flat_f1_score(y_test, y_pred, average='weighted', labels=labels))\n"
    (tmp_path / "tutorial.py").write_text(program, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "tutorial.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    for told in ("best params:", "best CV score:", "model size:", "Top likely transitions:", "Top negative:"):
        assert told in run.stdout
    assert re.search(r"^B-PER  -> I-PER +\d", run.stdout, re.MULTILINE)
    assert float(re.search("F1 on test: (.*)", run.stdout)[1]) > 0.8
