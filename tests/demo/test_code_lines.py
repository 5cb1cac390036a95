"""Roles of names by hand, and properties of all lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from loglinear.demo.code_lines import TaggedLines, identifier_roles, shape
from loglinear.errors import LoglinearError
from loglinear.features.schemes import schemes_of

SOURCE = '''# comment – not in ASCII
import os.path as p, sys; from a.b import (c,
    d as e)
@p.wraps(x)
@cached
async def run(self, *args: int, k=os.sep, **rest) -> f"{hidden}":
    """Doc \\
    string with blanks"""
    global state
    state, self.count[i] = g(k=1)(a.b.c(), rf'{x!r:{w}} {"y"}' "z")
    try: pass
    except (A, B) as error: del state
class C(Base, metaclass=M): match = lambda q: (yield)
'''
EXPECTED = [
    "import os/import . path/import as p/import , sys/import ; from a/import . b/import import ( c/import , d/import "
    "as e/import )",
    "@ p/variable-load . wraps/decorator ( x/variable-load )",
    "@ cached/decorator",
    'async def run/definition-function ( self/parameter , * args/parameter : int/variable-load , k/parameter = '
    'os/variable-load . sep/attribute , ** rest/parameter ) -> f"" :',
    '""""""',
    "global state/variable-store",
    "state/variable-store , self/variable-load . count/attribute [ i/variable-load ] = g/call ( k/keyword-argument = 1 "
    ") ( a/variable-load . b/attribute . c/call ( ) , rf'' \"\" )",
    "try : pass",
    "except ( A/variable-load , B/variable-load ) as error/variable-store : del state/variable-store",
    "class C/definition-class ( Base/variable-load , metaclass/keyword-argument = M/variable-load ) : "
    "match/variable-store = lambda q/parameter : ( yield )",
]  # fmt: skip


def as_text(lines: TaggedLines) -> list[str]:
    return [
        " ".join(token[0] if label == "O" else f"{token[0]}/{label}" for token, label in zip(sequence, labels))
        for sequence, labels in zip(lines.sequences, lines.labels)
    ]


def test_roles_by_hand_and_files_that_do_not_parse(tmp_path: Path) -> None:
    (tmp_path / "bisect.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "cmd.py").write_text("def (", encoding="utf-8")
    (tmp_path / "code.py").write_bytes(b"\xff\x00")
    (tmp_path / "string").mkdir()
    (tmp_path / "string" / "__init__.py").write_text("x = 1\n", encoding="utf-8")
    train, test = identifier_roles(folder=str(tmp_path))
    assert as_text(train) == EXPECTED
    assert test.sequences == [[("x", "NAME", "a"), ("=", "OP", "="), ("1", "NUMBER", "0")]]
    assert train.sequences[5][0] == ("global", "KEYWORD", "a")


def test_shapes() -> None:
    texts = ("getHTTPResponse_2", "__init__", "+=", "X", "")
    assert [shape(text) for text in texts] == ["aAa_0", "__a__", "+=", "A", ""]


def test_the_quick_corpus_is_small_and_the_same_every_time() -> None:
    train, test = identifier_roles(quick=True)
    assert (train, test) == identifier_roles(quick=True)
    assert 4_000 < train.n_tokens < 8_000
    assert 1_000 < test.n_tokens < 2_000


def test_the_whole_corpus() -> None:
    train, test = identifier_roles()
    assert 50_000 < train.n_tokens < 70_000
    assert 12_000 < test.n_tokens < 18_000
    roles = {label for labels in train.labels for label in labels}
    assert len(roles) == 11
    assert schemes_of(roles) == ()
    for part in (train, test):
        assert roles >= {label for labels in part.labels for label in labels}
        for sequence, labels in zip(part.sequences, part.labels):
            assert len(sequence) == len(labels) > 0
            for (text, kind, form), label in zip(sequence, labels):
                assert not any(map(str.isspace, text + kind + form))  # fit for a file of columns
                assert label == "O" or kind == "NAME"


def test_a_python_without_sources_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoglinearError, match="without the sources of its standard library"):
        identifier_roles(folder=str(tmp_path))
