
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.errors import FormatError
from loglinear.formats.running_text import TextOptions, iterate_text, read_text
from loglinear.formats.text import map_bytes
from loglinear.formats.units import join_units, split_units
from tests.packing import PACKS


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.binary(max_size=60), max_size=3), st.sampled_from(["words", "characters", "bytes"]),
    st.booleans(), st.booleans(), st.integers(1, 40),
)  # fmt: skip
def test_any_bytes_in_any_chunks(data, units, keep_empty, skip, chunk_size):
    texts = [np.frombuffer(text, np.uint8) for text in data]

    def outcome(n_threads, size):
        try:
            found = _core.tokenise_corpus(_core.ThreadPool(n_threads), texts, units, keep_empty, skip, size)
        except _core.ParseError as error:
            return error.args
        return [array.tolist() for array in found]

    assert outcome(1, 0) == outcome(3, chunk_size)


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=30))
def test_units_of_strings_are_those_of_files(text):
    for units in ("words", "characters", "bytes"):
        if units == "characters" and text.endswith("\r"):  # the end of a line
            continue
        found = read_text(iter([text]), TextOptions(units=units))
        assert [found.unit(i) for i in found.tokens.tolist()] == split_units(text, units)
    assert join_units(split_units(text, "bytes"), "bytes") == text


def test_units_and_back():
    assert split_units("a b\t c") == ["a", "b", "c"]
    assert split_units("a\u00a0é b", "characters") == ["a", "\u00a0", "é", "▁", "b"]
    assert split_units("é <", "bytes") == ["<0xC3>", "<0xA9>", "<0x20>", "<"]
    assert join_units(["a", "b"]) == "a b"
    assert join_units(["a", "▁", "é"], "characters") == "a é"
    assert join_units(["<", "0", "x", "4", "1", ">", "<0xC3>", "<0xA9>", "<0xC3>"], "bytes") == "<0x41>é\ufffd"


def test_places_of_first_occurrences(tmp_path):
    (tmp_path / "a").write_text("x\n\ny x\n")
    (tmp_path / "b").write_text("\nz y")
    text = read_text([tmp_path / "a", tmp_path / "b"], TextOptions())
    assert [text.unit(i) for i in range(3)] == ["x", "y", "z"]
    assert [text.place(i) for i in range(3)] == [
        (str(tmp_path / "a"), 1), (str(tmp_path / "a"), 3), (str(tmp_path / "b"), 2)
    ]  # fmt: skip
    assert text.counts.tolist() == [2, 2, 1]
    assert text.n_lines == 5
    blocks = list(iterate_text([tmp_path / "a", tmp_path / "b"], 1, TextOptions()))
    assert [(block.source[-1], block.first_line, block.text.n_lines) for block in blocks] == [
        ("a", 1, 1), ("a", 2, 1), ("a", 3, 1), ("b", 1, 1), ("b", 2, 1)
    ]  # fmt: skip
    assert blocks[2].text.place(0)[1] == 3


@pytest.mark.parametrize("pack", PACKS)
def test_bytes_of_files(tmp_path, pack):
    for data in (b"", b"\n", b"ab\ncd\n\nlast", b"x" * 5000 + b"\ny\n"):
        (tmp_path / "f").write_bytes(pack(data))
        assert map_bytes(tmp_path / "f").tobytes() == data
    with pytest.raises(FormatError, match="no such file"):
        map_bytes(tmp_path / "nowhere")


def test_bindings_check_their_arguments():
    pool = _core.ThreadPool(1)
    with pytest.raises(ValueError, match="unit must be"):
        _core.tokenise_corpus(pool, [], "lines", False, False)
    tokens = np.array([0, 3], np.uint32)
    with pytest.raises(ValueError, match="a token is not below 3"):
        _core.renumber_tokens(pool, tokens, np.zeros(3, np.uint32))
    assert tokens.tolist() == [0, 3]
    with pytest.raises(TypeError):
        _core.renumber_tokens(pool, tokens.astype(np.int64), np.zeros(3, np.uint32))
