"""Mutated template files on small data: attributes or FormatError, and the same attributes as plain Python makes.

python tests/fuzz/fuzz_templates.py --minutes 10
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import main, mutate

from loglinear.errors import FormatError, LoglinearError
from loglinear.features.columns import Columns
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.features.template_syntax import Macro, TemplateFile, parse_templates
from loglinear.features.templates import TemplateFeatures

CORPUS = [text.encode() for text in TEMPLATE_SETS.values()] + [
    b"U00:%x[-1,0]/%x[0,1]\nB\n",
    b"u:%X[@1,0] %x[@-1,1]  # comment\nb:%x[0,0]\n*\n",
    b'*:%t[0,0,"^\\u\\l*$"]\nU:%m[-2,1,"..?$"]%M[1,0,"\\d*"]\n',
    b"U\nB01\n",
]
TOKENS = [b"%x[0,0]", b"%t[", b'"', b"\\", b"[", b"]", b"%", b"@", b"*", b"?", b"#", b" ", b"\n", b"-", b"9" * 20,
          b"\xff", b",", b"^", b"$", b"\x00", b"\xc3\xa9"]  # fmt: skip
WORDS = ["the", "The", "é", "É1", "x-y", "42", "U.S.", ""]


def value(sequence: list[tuple[str, ...]], at: int, macro: Macro, file: TemplateFile) -> str:
    """What a macro without an expression sees."""
    n = len(sequence)
    place = at + macro.row if not macro.absolute else macro.row - 1 if macro.row > 0 else n + macro.row
    if not 0 <= place < n:
        return f"_B-{-place}" if place < 0 else f"_E+{place - n + 1}"
    view = file.views[macro.view]
    string = sequence[place][view.column]
    return string.lower() if view.function == "lower" else string


def twin(sequences: list[list[tuple[str, ...]]], file: TemplateFile) -> list[list[str]]:
    """Names of the attributes of each token."""
    rows = []
    for sequence in sequences:
        for at in range(len(sequence)):
            row = []
            for template in file.templates:
                values = [value(sequence, at, macro, file) for macro in template.macros]
                row.append("".join(a + b for a, b in zip(template.pieces, [*values, ""])))
            rows.append(row)
    return rows


def check(rng: random.Random) -> None:
    """One mutated template file on random sequences."""
    text = mutate(rng, CORPUS, TOKENS).decode("utf-8", "surrogateescape" if rng.random() < 0.1 else "replace")
    try:
        file = parse_templates(text)
    except FormatError:
        return
    if any(view.function == "class" for view in file.views):
        return  # it needs a file of classes
    n_columns = 1 + max((view.column for view in file.views), default=0)
    sequences = [
        [tuple(rng.choice(WORDS) for _ in range(min(n_columns, 4))) for _ in range(rng.randrange(5))]
        for _ in range(rng.randrange(1, 5))
    ]
    columns = Columns.from_lists([[(w,) for w in WORDS[:1] * n_columns]] if not any(sequences) else sequences)
    try:
        featuriser = TemplateFeatures(text if "%" in text else text + "\n")
        rows = featuriser.fit_transform(columns, rng.randrange(1, 4))
    except LoglinearError:
        assert columns.n_columns < n_columns
        return
    again = TemplateFeatures.from_arrays(*featuriser.to_arrays()).transform(columns)
    assert (again.indices == rows.indices).all()
    if all(view.function in ("same", "lower") for view in file.views):
        names = featuriser.names()
        found = [[names[i] for i in rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:])]
        assert found == twin(list(columns), file)


if __name__ == "__main__":
    main(check)
