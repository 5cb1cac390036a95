import http.client
import json
import subprocess
import threading

import pytest
from commands import COMMAND

from loglinear import InputMethod, LanguageModel, MaxentClassifier, Parser, Reranker, Tagger
from loglinear.formats.trees import parse_trees

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

LABEL = "<img src=x onerror=alert(1)>"  # a class whose name must stay text


def train(folder):
    """Write a small model of each kind and return the files by name."""
    texts, labels = ["good film", "bad film", "good plot", "bad acting"], ["pos", LABEL, "pos", LABEL]
    words = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
    bracketed = """(S (NP (D the) (N dog)) (V barks))
        (S (NP (D a) (N cat)) (V sleeps))
        (S (N it) (V (V sees) (NP (D a) (N dog))))"""
    readings = ["里|さと へ|へ 行く|いく", "佐藤|さとう と|と 里|さと へ|へ", "砂糖|さとう と|と 塩|しお"]
    scored = {"the dig": -1.0, "the dog": -0.8, "a dig": -3.0}
    hypotheses = [{"text": text, "score": score} for text, score in scored.items()]
    lists = [{"hypotheses": hypotheses, "reference": "the dog"}] * 3
    made = {
        "films": MaxentClassifier(ngrams=(1, 2)).fit(texts, labels),
        "numbers": MaxentClassifier().fit([[0.0, 1], [1, 0], [0, 2]], ["a", "b", "a"]),
        "named": MaxentClassifier().fit([{"long": 1.0}, {"short": 2.0}], ["a", "b"]),
        "parts": Tagger("crf", "U:%x[0,0]\nB\n").fit(words, [["D", "N", "V"], ["D", "N", "V"]]),
        "attributes": Tagger("crf").fit([[{"w": "a"}, {"w": "b"}]], [["x", "y"]]),
        "animals": LanguageModel(2, "kneser-ney").fit(["the dog barks", "the cat sleeps", "a dog sleeps"]),
        "typing": InputMethod().fit(readings),
        "choice": Reranker("maxent", units="characters").fit(lists),
        "trees": Parser("pcfg").fit(list(parse_trees(bracketed))),
    }  # fmt: skip
    for name, model in made.items():
        model.save(folder / f"{name}.ll")
    return {name: folder / f"{name}.ll" for name in made}


class Server:
    """A server in a process of its own."""

    def __init__(self, *args):
        command = [COMMAND, "serve", *map(str, args), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        late = threading.Timer(120, self.process.kill)
        late.start()
        self.address = self.process.stdout.readline().removeprefix("Serving at ").partition(" ")[0]
        late.cancel()
        assert self.address, self.process.stderr.read()
        self.host = self.address.removeprefix("http://").rstrip("/")

    def ask(self, method, path, body=None, **headers):
        """Return (status, body, headers) of a request; JSON is parsed."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        text, found = answer.read(), dict(answer.getheaders())
        connection.close()
        value = json.loads(text) if found.get("content-type") == "application/json" else text.decode()
        return answer.status, value, found

    def post(self, path, **body):
        return self.ask("POST", f"/models/{path}", body)

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def model_files(tmp_path_factory):
    return train(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def server(model_files):
    running = Server(*model_files.values())
    yield running
    running.close()
