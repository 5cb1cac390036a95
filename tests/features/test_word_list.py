import pytest

from loglinear.errors import FormatError
from loglinear.features.word_list import read_vocabulary


def test_blank_lines_and_symbols_are_skipped(tmp_path):
    (tmp_path / "words").write_bytes(b"\xef\xbb\xbf b \r\n\n<s>\n<unk>\na\n</s>")
    assert list(read_vocabulary(tmp_path / "words")) == ["</s>", "<unk>", "b", "a"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb c\n", "words:2: 'b c' holds a blank or a NUL; write one word per line"),
        (b"a\0\n", "words:1: .* holds a blank or a NUL"),
        (b"a\n\na\n", "words:3: 'a' is also in line 1; write each word once"),
        (b"<unk>\n", "words: there are no words"),
        (b"a\n\xff\n", "words:2: byte 0xff .*not valid utf-8"),
    ],
)
def test_bad_lists_are_refused(tmp_path, data, message):
    (tmp_path / "words").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        read_vocabulary(tmp_path / "words")
