"""Descriptions of model files, and the general options."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from commands import invoke, run

from loglinear import __version__


def test_version_is_quick_and_loads_nothing_heavy() -> None:
    assert run("--version").stdout == f"loglinear {__version__}\n"
    heavy = ("numpy", "scipy", "sklearn", "loglinear._core")
    code = f"import sys, loglinear.cli.app; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_names_the_commands() -> None:
    text = invoke("--help").stdout
    assert all(name in text for name in ("classify", "inspect", "demo"))


def test_description_as_json(folder: Path) -> None:
    found = json.loads(invoke("inspect", folder / "text.ll", "--json", "--top", 3).stdout)
    assert found["kind"] == "maxent-classifier"
    assert found["checksum"] == "ok"
    assert found["version"] == __version__
    assert found["file_bytes"] == (folder / "text.ll").stat().st_size
    assert 0 < found["nonzero_weights"] <= found["weights"]
    assert found["settings"]["parameters"]["penalty"] == "l2"
    assert found["training"]["converged"] is True
    assert all(len(features) == 3 for features in found["top_features"].values())


def test_a_damaged_file_is_told(folder: Path, tmp_path: Path) -> None:
    raw = bytearray((folder / "text.ll").read_bytes())
    raw[-5] ^= 0xFF
    damaged = tmp_path / "d.ll"
    damaged.write_bytes(raw)
    done = invoke("inspect", damaged)
    assert done.exit_code == 1
    assert "DAMAGED" in done.stdout
    assert "the checksum does not match" in done.stderr
    assert json.loads(invoke("inspect", damaged, "--json").stdout)["checksum"] == "DAMAGED"
    damaged.write_bytes(raw[: len(raw) // 2])
    assert invoke("inspect", damaged).exit_code == 2


def test_the_page_escapes_what_the_model_holds(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"label": label, "tokens": [token]}) + "\n" for label, token in (("<b>", "<script>"), ("&", "x\ty"))
    )
    model, page = tmp_path / "m.ll", tmp_path / "m.html"
    assert invoke("classify", "train", "-", "-o", model, "--format", "jsonl", stdin=lines).exit_code == 0
    assert invoke("inspect", model, "--html", page).exit_code == 0
    text = page.read_text()
    assert "&lt;script&gt;" in text
    assert "<script" not in text


def test_results_come_first_and_then_what_differs_from_the_defaults(folder: Path, tmp_path: Path) -> None:
    lines = "".join(f"{label}\t{text}\n" for label, text in (("a", "one two"), ("b", "two three")) * 6)
    model, page = tmp_path / "m.ll", tmp_path / "m.html"
    trained = ("classify", "train", "-", "-o", model, "--format", "tsv", "--strength", "0.01", "--solver", "lbfgs")
    assert invoke(*trained, stdin=lines).exit_code == 0
    shown = invoke("inspect", model, "--html", page).stdout
    titles = ("Results", "Settings that differ", "Top features", "Training", "File")
    places = [shown.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    changed = shown[shown.index("Settings that differ") : shown.index("Top features")]
    assert "strength" in changed
    assert "lbfgs" in changed
    assert "tolerance" not in changed
    html = page.read_text()
    assert "how far the objective is above its optimum" in html  # a chart, from the history in the file
    assert 'class="bars"' in html
    history = json.loads(invoke("inspect", model, "--json").stdout)["training"]["history"]
    assert history["objective"] == sorted(history["objective"], reverse=True)
    assert len(history["objective"]) == len(history["seconds"]) == len(history["passes"])
