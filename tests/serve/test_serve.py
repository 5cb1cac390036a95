"""Real servers in processes of their own: answers are those of the models, and whatever is asked gets a sentence."""

import http.client
import json
import math
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from commands import invoke, refusal
from serve.conftest import LABEL, Server

import loglinear


def answered(found):
    status, value, _ = found
    assert status == 200, value
    return value


def refused(found, expected):
    status, value, _ = found
    assert status == expected, value
    assert list(value) == ["error"]
    return value["error"]


class TestAnswersAreTheModels:
    @pytest.mark.parametrize(
        ("name", "field", "value"),
        [("films", "text", "good bad film"), ("numbers", "values", [0.5, 1.5]), ("named", "features", {"long": 2.0})],
    )
    def test_classifiers(self, server, model_files, name, field, value):
        found = answered(server.post(f"{name}/predict", **{field: value}))
        model = loglinear.load(model_files[name])
        want = dict(zip(model.classes_, model.predict_proba([value])[0]))
        assert {one["label"]: one["probability"] for one in found["classes"]} == pytest.approx(want)
        assert found["label"] == max(want, key=want.get)
        for one in found["classes"]:
            pushed = sum(push["contribution"] for push in one["pushes"])
            assert one["score"] == pytest.approx(one["intercept"] + pushed)

    def test_a_tagger(self, server, model_files):
        model, sentence = loglinear.load(model_files["parts"]), [("the",), ("cat",), ("runs",)]
        words = ["the", "cat", "runs"]
        rows = [[word] for word in words]
        for asked in ({"text": "the cat runs"}, {"text": "the\ncat\nruns\n"}, {"tokens": words}, {"tokens": rows}):
            found = answered(server.post("parts/tag", **asked))
            assert [one["label"] for one in found["tokens"]] == model.predict([sentence])[0]
            for one, shares in zip(found["tokens"], model.predict_marginals([sentence])[0]):
                assert {other["label"]: other["probability"] for other in one["labels"]} == pytest.approx(shares)
        assert answered(server.post("parts/tag", text=" "))["tokens"] == []
        tokens = [{"w": "b"}, {"w": "a"}]
        found = answered(server.post("attributes/tag", tokens=tokens))
        (want,) = loglinear.load(model_files["attributes"]).predict([tokens])
        assert [one["label"] for one in found["tokens"]] == want

    def test_a_language_model(self, server, model_files):
        model = loglinear.load(model_files["animals"])
        found = answered(server.post("animals/next", text="the", k=3))
        assert [(one["word"], one["probability"]) for one in found["words"]] == [
            (word, pytest.approx(p)) for word, p in model.top("the", 3)
        ]
        for one in found["words"]:
            assert math.exp(sum(push["contribution"] for push in one["pushes"])) == pytest.approx(one["probability"])
        found = answered(server.post("animals/next", text="the", prefix="sl", explained=0))
        assert [(one["word"], one["pushes"]) for one in found["words"]] == [("sleeps", [])]
        found = answered(server.post("animals/score", text="the dog flies"))
        assert found["perplexity"] == pytest.approx(model.perplexity(["the dog flies"]))
        assert [one["unknown"] for one in found["tokens"]] == [False, False, True, False]

    def test_an_input_method_and_a_reranker(self, server, model_files):
        model = loglinear.load(model_files["typing"])
        found = answered(server.post("typing/convert", reading="さとうとしお", k=2))
        assert [one["text"] for one in found["candidates"]] == model.convert(["さとうとしお"], nbest=2)[0]
        assert "".join(one["reading"] for one in found["words"]) == "さとうとしお"
        found = answered(server.post("typing/convert", reading="さと", reranker="choice"))
        assert found["candidates"]
        assert "no reranker is served" in refused(server.post("typing/convert", reading="さと", reranker="films"), 400)
        candidates = [{"text": "the dig", "score": -1.0}, {"text": "the dog", "score": -1.2}]
        found = answered(server.post("choice/rerank", candidates=candidates))["candidates"]
        want = loglinear.load(model_files["choice"]).candidate_scores([{"hypotheses": candidates}])[0]
        assert [one["score"] for one in found] == pytest.approx(sorted(want, reverse=True))
        apart = sum(push["contribution"] for push in found[1]["apart"])
        assert apart == pytest.approx(found[1]["score"] - found[0]["score"])

    def test_a_parser(self, server, model_files):
        found = answered(server.post("trees/parse", text="the cat barks"))
        model = loglinear.load(model_files["trees"])
        (best, probability), *_ = model.predict_nbest([["the", "cat", "barks"]])[0]
        assert (found["tree"], found["nbest"][0]["probability"]) == (str(best), pytest.approx(probability))
        assert found["root"]["label"] == "S"
        assert [child["begin"] for child in found["root"]["children"]] == [0, 2]
        assert found["root"]["probability"] == pytest.approx(1)


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "body", "status", "said"),
        [
            ("none/predict", {}, 404, "no model is served under this name; known: films, numbers"),
            ("films/tag", {}, 404, "it cannot be asked this; known: predict"),
            ("films/predict", {"txt": "a"}, 400, "there is no field 'txt'; known: text"),
            ("films/predict", {"text": 3}, 400, "'text' must be text"),
            ("films/predict", {"text": "a" * 10_001}, 400, "from 0 to 10,000 characters, not 10,001"),
            ("films/predict", {"text": "a", "top": True}, 400, "'top' must be a whole number"),
            ("films/predict", {}, 400, "the model reads text: give the field 'text'"),
            ("films/predict", [], 400, "the request must be a JSON object"),
            ("numbers/predict", {"values": [1]}, 400, "'values' must be 2 numbers, not 1"),
            ("numbers/predict", {"values": [1, "x"]}, 400, "'values' must have numbers"),
            ("named/predict", {"features": {"a": None}}, 400, "'features' must have numbers"),
            ("parts/tag", {"tokens": [[]]}, 400, "a token must be a word, or a list of words"),
            ("parts/tag", {"tokens": [["a", "b"]]}, 400, "must have 1 columns"),
            ("parts/tag", {"text": "a " * 501}, 400, "at most 500 tokens, not 501"),
            ("parts/tag", {}, 400, "give either 'text' or 'tokens'"),
            ("attributes/tag", {"text": "a"}, 400, "the model reads attributes"),
            ("animals/next", {}, 400, "the field 'text' is missing"),
            ("animals/score", {"text": "a " * 501}, 400, "at most 500 words"),
            ("trees/parse", {"text": "a " * 61}, 400, "at most 60 words"),
            ("choice/rerank", {"candidates": ["no score"]}, 400, "has no score 'score'"),
            ("choice/rerank", {"candidates": [{"text": 1}]}, 400, "must be an object with a string 'text'"),
        ],
    )
    def test_what_cannot_be_answered(self, server, path, body, status, said):
        assert said in refused(server.ask("POST", f"/models/{path}", body), status)

    def test_what_is_no_request(self, server):
        path = "/models/films/predict"
        assert "not JSON" in refused(server.ask("POST", path, b"{"), 400)
        assert "not JSON" in refused(server.ask("POST", path, b"\xff"), 400)
        assert "not JSON" in refused(server.ask("POST", path, b"[" * 60_000), 400)
        assert "Content-Type" in refused(server.ask("POST", path, b"text=a", **{"Content-Type": "text/plain"}), 415)
        assert "at most 65,536 bytes" in refused(server.ask("POST", path, {"text": "a" * 70_000}), 413)
        refused(server.ask("GET", path), 405)
        for outside in ("/../pyproject.toml", "/page/../application.py", "/%2e%2e/__init__.py"):
            refused(server.ask("GET", outside), 404)

    def test_names_of_other_sites_do_not_reach_this_machine(self, server):
        assert server.ask("GET", "/models", Host="localhost")[0] == 200
        assert server.ask("GET", "/models", Host="attacker.example")[0] == 400

    def test_answers_that_take_too_long(self, model_files):
        slow = Server(model_files["trees"], "--seconds", "0.01", "--threads", "1")
        try:
            body = {"text": "a " * 60, "nbest": 50}
            with ThreadPoolExecutor(8) as clients:
                found = list(clients.map(lambda _: slow.ask("POST", "/models/trees/parse", body), range(24)))
            assert {status for status, _, _ in found} <= {200, 400, 503}
            late = [value["error"] for status, value, _ in found if status == 503]
            assert all("longer than 0.01 seconds" in said for said in late)
            assert late
            slow.ask("GET", "/models")
        finally:
            slow.close()


class TestTheServer:
    def test_many_clients_at_once(self, server, model_files):
        """1,000 requests of every kind from 16 clients: each gets its own answer, and memory stays flat."""
        asked = [
            ("films/predict", {"text": "good film"}), ("films/predict", {"text": "bad plot"}),
            ("numbers/predict", {"values": [0.5, 1.5]}), ("named/predict", {"features": {"long": 2.0}}),
            ("parts/tag", {"text": "the dog barks"}), ("attributes/tag", {"tokens": [{"w": "b"}, {"w": "a"}]}),
            ("animals/next", {"text": "the"}), ("animals/score", {"text": "the dog flies"}),
            ("typing/convert", {"reading": "さとうとしお", "reranker": "choice"}),
            ("choice/rerank", {"candidates": [{"text": "the dig", "score": -1.0}, {"text": "the dog", "score": -1.2}]}),
            ("trees/parse", {"text": "the cat barks"}),
        ]  # fmt: skip
        assert {path.partition("/")[0] for path, _ in asked} == set(model_files)
        want = [answered(server.post(path, **body)) for path, body in asked]

        def ask(i):
            path, body = asked[i % len(asked)]
            return answered(server.post(path, **body)) == want[i % len(asked)]

        def resident():
            pages = Path(f"/proc/{server.process.pid}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGESIZE")

        with ThreadPoolExecutor(16) as clients:
            assert all(clients.map(ask, range(500)))
            before = resident() if Path("/proc/self/statm").exists() else 0
            assert all(clients.map(ask, range(1000)))
        if before:
            assert resident() - before < 8 << 20

    def test_answers_wait_for_no_acknowledgement(self, server):
        """A second packet that waits for the client to acknowledge the first would take 40 ms."""
        client, body = http.client.HTTPConnection(server.host, timeout=60), json.dumps({"text": "good film"})
        took = []
        for _ in range(20):
            began = time.perf_counter()
            client.request("POST", "/models/films/predict", body, {"content-type": "application/json"})
            assert client.getresponse().read()
            took.append(time.perf_counter() - began)
        client.close()
        assert sorted(took)[5] < 0.03

    def test_models_and_reference(self, server, model_files):
        status, found, headers = server.ask("GET", "/models")
        assert (status, found["version"]) == (200, loglinear.__version__)
        assert [one["name"] for one in found["models"]] == list(model_files)
        assert next(one for one in found["models"] if one["name"] == "films")["classes"] == [LABEL, "pos"]
        assert "default-src 'none'" in headers["content-security-policy"]
        _, described, _ = server.ask("GET", "/openapi.json")
        assert described["openapi"].startswith("3.")
        for one in found["models"]:
            for operation in one["operations"]:
                asked = described["paths"][f"/models/{one['name']}/{operation}"]["post"]
                schema = asked["requestBody"]["content"]["application/json"]["schema"]
                assert schema["properties"]
                assert set(schema["required"]) <= set(schema["properties"])
        page = server.ask("GET", "/reference")[1]
        assert all(f"/models/{name}/" in page for name in model_files)

    @pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
    def test_signals_end_it(self, model_files, sign):
        running = Server(model_files["films"])
        answered(running.post("films/predict", text="good"))
        running.process.send_signal(sign)
        _, said = running.process.communicate(timeout=30)
        assert running.process.returncode == (130 if sign == signal.SIGINT else -signal.SIGTERM)
        assert "Traceback" not in said
        host, port = running.host.split(":")
        with pytest.raises(OSError):
            socket.create_connection((host, int(port)), timeout=1)

    def test_names_and_refusals(self, model_files, tmp_path):
        film = model_files["films"]
        running = Server(f"one={film}", f"two={film}")
        try:
            assert [one["name"] for one in running.ask("GET", "/models")[1]["models"]] == ["one", "two"]
            port = running.host.split(":")[1]
            assert "--port 0 takes any free port" in refusal(invoke("serve", film, "--port", port))
        finally:
            running.close()
        assert "give model files to serve" in refusal(invoke("serve"))
        assert "two models are named 'films'" in refusal(invoke("serve", film, film))
        assert "a name has letters" in refusal(invoke("serve", f"a b={film}"))
        assert "a port is a number from 0 to 65535" in refusal(invoke("serve", film, "--port", "70000"))
        (tmp_path / "no.ll").write_text("no model")
        assert "no.ll" in refusal(invoke("serve", tmp_path / "no.ll"))


def test_one_model_serves_many_threads(model_files):
    """What the server relies on: using a model changes nothing in it, whatever the thread."""
    from loglinear.models import load_predictor

    model, texts = load_predictor(model_files["films"]), ["good film", "bad plot"] * 50
    want, found = model.predict_proba(texts), []
    threads = [threading.Thread(target=lambda: found.append(model.predict_proba(texts))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, want) for one in found)
    assert json.dumps(model.explain("good").to_dict())
