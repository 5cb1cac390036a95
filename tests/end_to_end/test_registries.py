"""A user's own format and penalty, added through the registries, work on the command line as built-in ones do."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
PLUGIN = '''
"""One format (text ~ label) and one penalty (l1 by its proximal map alone), with one line for each."""
import numpy as np

from loglinear.formats import FORMATS
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.text import decode, split_lines
from loglinear.penalties import PENALTIES


def parse_toy(data, name, *, encoding, labelled, n_threads):
    """Text, a tilde and the label."""
    lines = split_lines(decode(data, name, encoding))
    texts, _, labels = zip(*(line.rpartition(" ~ ") if " ~ " in line else (line, "", "") for line in lines))
    return Records("text", list(texts), Labels.of(labels) if labelled else None)


class Toy:
    """strength * sum |w|, by its proximal map alone."""

    def __init__(self, strength=1.0, *, n_free=0, n_threads=None):
        self.strength, self.n_free = strength, n_free

    def _split(self, w):
        return w[: w.size - self.n_free], w[w.size - self.n_free :]

    def value(self, w):
        return self.strength * float(np.abs(self._split(w)[0]).sum())

    def prox(self, z, step, out):
        out[:] = z
        held = self._split(out)[0]
        held[:] = np.sign(held) * np.maximum(np.abs(held) - step * self.strength, 0.0)

    def violation(self, w, gradient):
        (held, _), (slope, free) = self._split(w), self._split(gradient)
        inside = np.abs(slope + self.strength * np.sign(held))
        least = np.where(held != 0.0, inside, np.maximum(np.abs(slope) - self.strength, 0.0))
        return float(max(least.max(initial=0.0), np.abs(free).max(initial=0.0)))

    def max_strength(self, gradient_at_zero):
        return float(np.abs(self._split(gradient_at_zero)[0]).max()) / self.strength


FORMATS.register("toy", ExampleFormat(parse_toy, (".toy",), lambda line: b" ~ " in line))
PENALTIES.register("toy", Toy)
'''


SESSION = """
import json, sys
import plugin
from typer.testing import CliRunner
from loglinear.cli.app import app

for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.stderr)
    print(json.dumps(done.stdout))
"""


def session(folder: Path, *commands: tuple[object, ...]) -> list[str]:
    """Return what commands print in a process of their own that imports the plugin first."""
    words = json.dumps([list(map(str, command)) for command in commands])
    run = [sys.executable, "-c", SESSION, words]
    done = subprocess.run(run, cwd=folder, capture_output=True, timeout=120, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_examples(path: Path, n: int, seed: int) -> None:
    """Write lines whose label is told by one word of five, in the toy format."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    words = rng.integers(50, size=(n, 4))
    lines = [f"{' '.join(f'w{k}' for k in row)} {'good' if y else 'bad'} ~ {'yes' if y else 'no'}"
             for row, y in zip(words, labels)]  # fmt: skip
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def test_a_format_and_a_penalty_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    write_examples(tmp_path / "train.toy", 200, 0)
    write_examples(tmp_path / "test", 50, 1)
    toy = ("--format", "toy", "--penalty", "toy", "--strength", 3, "--tolerance", 1e-6, "--json")
    as_l1 = ("--penalty", "l1", "--strength", 3, "--tolerance", 1e-6, "--json")
    *figures, penalties, formats = session(
        tmp_path,
        ("classify", "train", "train.toy", "-o", "m.ll", *toy),
        ("classify", "eval", "m.ll", "test", "--format", "toy", "--json"),
        ("classify", "train", "train.toy", "-o", "l1.ll", *as_l1),
        ("classify", "eval", "l1.ll", "test", "--json"),
        ("classify", "train", "--penalty", "list"),
        ("classify", "train", "--format", "list"),
    )
    trained, scores, expected, guessed = map(json.loads, figures)
    assert trained["penalty"] == "toy"
    assert scores["accuracy"] == 1.0

    # The penalty is l1 by another name, so the optimum is that of l1; and the format is recognised without its name.
    np.testing.assert_allclose(trained["objective"], expected["objective"], rtol=1e-5)
    assert guessed["accuracy"] == 1.0

    # Both are described where the built-in ones are.
    assert "strength * sum |w|, by its proximal map alone." in penalties
    assert "Text, a tilde and the label." in formats


def test_every_row_of_the_table_names_a_folder_and_a_registry() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w -]+) \| `(\S+?)`[^|]*\| `([\w.]+):(\w+)`", text, re.M)
    assert {"penalty", "solver", "format of examples", "kind of model"} <= {what for what, *_ in rows}
    for what, place, module, name in rows:
        assert (CONTRIBUTING.parent / place).exists(), what
        registry = getattr(importlib.import_module(module), name)
        for entry in registry:
            assert registry[entry] is not None, f"{what} {entry}"
            if callable(registry[entry]):
                assert (registry[entry].__doc__ or "").strip(), f"{what} {entry} has no docstring"
