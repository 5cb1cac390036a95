import json

import pytest

from tests.commands import invoke
from tests.composite_problems import DOCUMENTS


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS), encoding="utf-8")
    return path


def test_train_and_evaluate_documents(corpus, tmp_path):
    model = tmp_path / "m.ll"
    done = invoke("lm", "train", corpus, "-o", model, "--sources", "words:3,topic,tags:2", "--json")
    assert done.exit_code == 0, done.output
    given = json.loads(invoke("lm", "eval", model, corpus, "--json").stdout)
    inferred = json.loads(invoke("lm", "eval", model, corpus, "--infer-topics", "--json").stdout)
    assert 1 < given["perplexity"] < inferred["perplexity"]
    assert given["n_tokens"] == 48


def test_score_and_compare_documents(corpus, tmp_path):
    for name, spec in (("a", "words:3,topic"), ("b", "words:2")):
        assert invoke("lm", "train", corpus, "-o", tmp_path / name, "--sources", spec).exit_code == 0
    lines = invoke("lm", "score", tmp_path / "a", corpus).stdout.splitlines()
    assert len(lines) == 12
    assert all(len(line.split("\t")) == 3 for line in lines)
    done = invoke("lm", "compare", tmp_path / "a", tmp_path / "b", corpus, "--json")
    assert done.exit_code == 0, done.output
    refused = invoke("lm", "score", tmp_path / "a", corpus, "--threshold", 10)
    assert "this model reads documents" in refused.output


def test_plan_prints_methods_and_relations(corpus, tmp_path):
    drawing = tmp_path / "g.svg"
    done = invoke("lm", "plan", corpus, "--sources", "words:3,topic", "--graph", "text", "--measure")
    assert done.exit_code == 0, done.output
    for expected in ("partition-hierarchical", "measured seconds", "words-2 words-1 -> words-1", "overlapping"):
        assert expected in done.stdout
    done = invoke("lm", "plan", corpus, "--sources", "words:3,topic", "--graph", drawing, "--json")
    assert json.loads(done.stdout)["histories"] > 0
    assert drawing.read_text().startswith("<svg")


def test_export_one_topic_and_measure_what_that_loses(corpus, tmp_path):
    model, arpa = tmp_path / "m.ll", tmp_path / "m.arpa"
    assert invoke("lm", "train", corpus, "-o", model, "--sources", "words:3,topic").exit_code == 0
    losses = {}
    for topic in ("cars", "marginal"):
        done = invoke("lm", "export", model, arpa, "--topic", topic, "--test", corpus, "--json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        losses[topic] = found["loss"]
        assert found["perplexity_of_ngrams"] == pytest.approx(found["perplexity"] * (1 + found["loss"]))
        assert arpa.read_text().startswith("\\data\\")
    assert losses["cars"] > losses["marginal"] > 0
    shown = invoke("lm", "export", model, arpa, "--topic", "cars", "--test", corpus).stdout
    assert f"({losses['cars']:+.2%})" in shown
    refused = invoke("lm", "export", model, arpa, "--topic", "news")
    assert "the model has no topic 'news'; it has cars, pets" in refused.output
    assert invoke("lm", "train", corpus, "-o", model, "--sources", "words:3").exit_code == 0
    assert "has no topic source" in invoke("lm", "export", model, arpa, "--topic", "cars").output


def test_histories_with_layers_are_json_objects(corpus, tmp_path):
    model = tmp_path / "m.ll"
    assert invoke("lm", "train", corpus, "-o", model, "--sources", "words:3,topic,tags:2").exit_code == 0
    history = {"words": ["the"], "tags": ["D"], "topic": "cars"}
    assert invoke("lm", "next", model, json.dumps(history), "-k", 1).stdout.startswith("car\t")
    assert "topic: cars car" in invoke("lm", "explain", model, json.dumps({**history, "words": ["car"]})).stdout
    drawn = invoke("lm", "generate", model, "--context", json.dumps(history), "-n", 2, "--seed", 1).stdout.splitlines()
    assert [line.split()[0] for line in drawn] == ["the", "the"]
    refused = invoke("lm", "next", model, '{"words": ["the"]')
    assert "a history that begins with { must be a JSON object" in refused.output
    assert "layer 'tags' has 2 symbols" in invoke("lm", "next", model, '{"words": ["the"], "tags": ["D", "N"]}').output


def test_near_disjoint_sources_report_their_error(corpus, tmp_path):
    done = invoke("lm", "train", corpus, "-o", tmp_path / "m.ll", "--sources", "words:3,topic", "--disjoint",
                  "words+topic")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "taken for disjoint" in done.stdout
    assert "log Z is off by" in done.stdout
    terms = {}
    for more in ([], ["--disjoint", "words+topic"]):
        found = json.loads(invoke("lm", "plan", corpus, "--sources", "words:3,topic", "--json", *more).stdout)
        terms[len(more)] = next(m["terms"] for m in found["methods"] if m["method"] == "sharing")
    assert terms[2] < terms[0]


def test_tree_norms_by_source(corpus, tmp_path):
    by_source, by_model = ["words:3:penalty=tree-l2,topic"], ["words:3,topic", "--penalty", "tree-l2"]
    for arguments in (by_source, by_model):
        done = invoke("lm", "train", corpus, "-o", tmp_path / "m.ll", "--sources", *arguments)
        assert done.exit_code == 0, done.output
        assert "group" in done.stdout
        assert invoke("inspect", tmp_path / "m.ll").exit_code == 0


def test_bad_documents_name_file_and_line(corpus, tmp_path):
    lines = corpus.read_text(encoding="utf-8").splitlines()
    for change, message in (
        (lambda d: d.pop("topic"), "bad.jsonl:4: the document has no 'topic', which the source topic needs"),
        (lambda d: d["sentences"][1].pop("tags"), "bad.jsonl:4: the sentence lacks the layer 'tags'"),
        (lambda d: d["sentences"][1]["tags"].pop(), "bad.jsonl:4: sentence 2: layer 'tags' has 2 symbols"),
        (lambda d: d.update(topic=["a"]), "bad.jsonl:4: 'topic' must be a string or a whole number"),
    ):  # fmt: skip
        document = json.loads(lines[3])
        change(document)
        bad = tmp_path / "bad.jsonl"
        bad.write_text("\n".join([*lines[:3], json.dumps(document), *lines[4:]]), encoding="utf-8")
        done = invoke("lm", "train", bad, "-o", tmp_path / "m.ll", "--sources", "words:3,topic,tags:2")
        assert done.exit_code == 2
        assert message in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sources", "words:3,heads"], "the source heads needs the layer 'head1'"),
        (["--sources", "words:3,topik"], "unknown information source 'topik'; did you mean 'topic'"),
        (["--sources", "words:3,topic", "--method", "fast"], "unknown method 'fast'"),
        (["--sources", "words:3,topic", "--memory", "100"], "no method fits in 100 bytes: "),
        (["--sources", "words:3,topic", "--estimator", "kneser-ney"], "sources is a setting of maxent"),
    ],
)
def test_refusals(corpus, tmp_path, arguments, message):
    done = invoke("lm", "train", corpus, "-o", tmp_path / "m.ll", *arguments)
    assert done.exit_code != 0
    assert message in done.output


def test_a_graph_needs_a_name_that_says_what_it_is(corpus):
    done = invoke("lm", "plan", corpus, "--sources", "words:2,topic", "--graph", "g.png")
    assert done.exit_code != 0
    assert "--graph takes text or a file that ends in .svg" in done.output
