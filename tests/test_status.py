"""Why training ended: the members are the texts that model files, JSON and messages hold."""

import json
import pickle

from loglinear.status import Status


def test_a_status_is_its_text():
    assert f"{Status.MAX_ITERATIONS}" == str(Status.MAX_ITERATIONS) == "max_iterations reached"
    assert json.dumps({"status": Status.INTERRUPTED}) == '{"status": "interrupted"}'
    assert Status("converged") is Status.CONVERGED
    assert Status.COUNTED in {"counted"}
    assert pickle.loads(pickle.dumps(Status.ONLINE)) is Status.ONLINE
