"""Commands that use a model answer every record of a pipe as it comes, before the next one is sent.

Each test starts the real process. A limit of time is only there to fail a process that never answers.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import COMMAND, run

MODELS = Path(__file__).parents[1] / "saved_models"
LIMIT = 120  # seconds: generous, for a busy machine


def nbest_line(*texts: str) -> str:
    return json.dumps({"hypotheses": [{"text": text, "score": -1.0 - i} for i, text in enumerate(texts)]}) + "\n"


def moses(number: int, *texts: str) -> str:
    return "".join(f"{number} ||| {text} ||| lm= -1 ||| {-1 - i}\n" for i, text in enumerate(texts))


# The command -> (arguments, records, lines of the answer to a record). Records of moses end where the next one begins.
SPOKEN = {
    "classify predict": (["classifier.ll"], ["Parse a string\n", "\n", "schedule a função\n"], 1),
    "classify predict --json": (["classifier.ll", "--proba", "--json"], ["Parse a string\n", "Return it\n"], 1),
    "classify predict --labelled": (["classifier.ll", "--labelled"], ["x\tParse a string\n", "y\tReturn it\n"], 1),
    "classify predict found to be labelled": (["classifier.ll"], ["email\tParse a string\n", "?\tReturn it\n"], 1),
    "classify predict jsonl": (
        ["classifier.ll", "--format", "jsonl"], ['{"text": "Parse a string"}\n', '\n{"text": "Return it"}\n'], 1,
    ),
    "classify predict svmlight": (["classifier_of_a_matrix.ll"], ["1 0:1 4:2\n", "# none\n1 3:0.5\n", "2 99:1\n"], 1),
    "tag predict": (["tagger.ll"], ["x NAME a\n= OP =\n\n", "1 NUMBER 1\né NAME a\n \n"], 3),
    "tag predict --nbest": (["tagger.ll", "--nbest", "2"], ["x NAME a\n\n", "1 NUMBER 1\n\n"], 6),
    "tag predict --json": (["tagger.ll", "--json", "--marginals"], ["x NAME a\n\n", "1 NUMBER 1\n\n"], 1),
    "lm score": (["language_model.ll"], ["the value is\n", "\n", "naïve value\n"], 1),
    "lm score --threshold": (["language_model.ll", "--threshold", "1e9"], ["the value is\n", "the class\n"], 1),
    "rerank apply": (["reranker.ll"], [nbest_line("turn a", "turn b"), nbest_line("turn é")], 1),
    "rerank apply --ids": (["reranker.ll", "--ids"], [nbest_line("turn a"), nbest_line("turn b")], 1),
    "rerank apply --json": (["reranker.ll", "--json"], [nbest_line("turn a"), nbest_line("turn b", "turn")], 1),
    "rerank apply --nbest": (["reranker.ll", "--nbest", "2"], [nbest_line("a", "b"), nbest_line("c", "d")], 3),
    "ime convert": (["input_method.ll"], ["43 46788\n", "\n", "2668377466 86\n"], 1),
    "ime convert --nbest": (["input_method.ll", "--nbest", "2"], ["86 2\n", "2 86\n"], 3),
    "ime convert --json": (["input_method.ll", "--json"], ["43 46788\n", "86\n"], 1),
}  # fmt: skip


def arguments(name: str) -> list[str]:
    """Return the arguments of an entry of SPOKEN, the command first."""
    model, *rest = SPOKEN[name][0]
    return [*name.split()[:2], str(MODELS / model), *rest]


class Conversation:
    """A running command: say something, read its answer."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    def say(self, text: bytes) -> None:
        self.child.stdin.write(text)
        self.child.stdin.flush()

    def hear(self, n_lines: int) -> bytes:
        """Return so many lines of the answer; the limit of time ends the child, and with it this wait."""
        return b"".join(self.child.stdout.readline() for _ in range(n_lines))

    def end(self) -> bytes:
        """Send no more, and return the rest of the answers."""
        self.child.stdin.close()
        rest = self.child.stdout.read()
        assert self.child.wait() == 0
        return rest


@contextmanager
def conversation(*command: str, stdin: int = subprocess.PIPE) -> Iterator[Conversation]:
    child = subprocess.Popen(
        [COMMAND, *command], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    late = threading.Timer(LIMIT, child.kill)
    late.start()
    try:
        yield Conversation(child)
    finally:
        in_time = late.is_alive()
        late.cancel()
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    assert in_time, f"{' '.join(command[:2])} did not answer"


@pytest.mark.parametrize("name", SPOKEN)
def test_every_record_is_answered_before_the_next(name: str) -> None:
    _, records, n_lines = SPOKEN[name]
    whole = run(*arguments(name), stdin="".join(records).encode())
    with conversation(*arguments(name)) as spoken:
        heard = b""
        for record in records:
            spoken.say(record.encode())
            heard += spoken.hear(n_lines)
        heard += spoken.end()
    assert heard.decode() == whole.stdout
    assert whole.stdout.count("\n") == n_lines * len(records)


@pytest.mark.parametrize("name", ["classify predict", "tag predict", "lm score", "rerank apply", "ime convert"])
def test_a_last_line_without_an_end_and_lines_with_carriage_returns(name: str) -> None:
    _, records, n_lines = SPOKEN[name]
    plain = run(*arguments(name), stdin="".join(records).encode())
    *before, last = (record.replace("\n", "\r\n").encode() for record in records)
    with conversation(*arguments(name)) as spoken:
        heard = b""
        for record in before:
            spoken.say(record)
            heard += spoken.hear(n_lines)
        spoken.say(last.rstrip())
        heard += spoken.end()
    assert heard.decode() == plain.stdout


@pytest.mark.parametrize("name", ["classify predict", "tag predict", "lm score", "rerank apply", "ime convert"])
def test_characters_that_come_in_two_pieces(name: str) -> None:
    _, records, _ = SPOKEN[name]
    data = "".join(records).encode()
    plain = run(*arguments(name), stdin=data)
    with conversation(*arguments(name)) as spoken:
        for byte in data:
            spoken.say(bytes([byte]))
        assert spoken.end().decode() == plain.stdout


def test_sentences_of_a_text_are_tagged_one_by_one(tmp_path: Path) -> None:
    model, data = tmp_path / "m.ll", tmp_path / "d.conll"
    data.write_text("the B-NP\ndog I-NP\nbarks O\n")
    assert run("tag", "train", data, "-o", model, "--templates", "hmm", "--estimator", "hmm").returncode == 0
    with conversation("tag", "predict", str(model), "--text") as spoken:
        spoken.say(b"the dog barks\n")
        assert spoken.hear(4) == b"the B-NP\ndog I-NP\nbarks O\n\n"
        spoken.say(b"the dog")
        assert spoken.end() == b"the B-NP\ndog I-NP\n\n"


def test_a_list_of_moses_ends_where_the_next_begins_or_at_an_empty_line(tmp_path: Path) -> None:
    command = ("rerank", "apply", str(MODELS / "reranker.ll"), "--ids")
    with conversation(*command) as spoken:
        spoken.say(moses(7, "turn a", "turn b").encode() + moses(8, "as it is").encode())
        assert spoken.hear(1) == b"7\tturn a\n"
        spoken.say(b"\n")
        assert spoken.hear(1) == b"8\tas it is\n"
        spoken.say(moses(9, "now").encode())
        assert spoken.end() == b"9\tnow\n"


def test_a_list_that_goes_on_after_it_was_answered_is_refused() -> None:
    command = ("rerank", "apply", str(MODELS / "reranker.ll"))
    with conversation(*command) as spoken:
        spoken.say(moses(7, "turn a").encode() + moses(8, "as").encode())
        assert spoken.hear(1) == b"turn a\n"
        spoken.say(moses(7, "turn b").encode() + moses(9, "as").encode())
        assert b"error: <stdin>: the lines of list '7' are not together; sort the file by its ids" in (
            spoken.child.stderr.read()
        )


def test_errors_count_the_lines_of_the_whole_stream() -> None:
    with conversation(*arguments("classify predict jsonl")) as spoken:
        spoken.say(b'{"text": "Parse"}\n')
        spoken.hear(1)
        spoken.say(b'\n{"text": 3}\n')
        assert spoken.child.stderr.read() == b"error: <stdin>:3: 'text' must be a string, not a number\n"
        assert spoken.child.wait() == 2


@pytest.mark.parametrize("name", ["classify predict", "tag predict", "lm score", "rerank apply", "ime convert"])
def test_the_command_ends_quietly_where_nobody_reads_its_answers(name: str) -> None:
    record = SPOKEN[name][1][0].encode()
    with conversation(*arguments(name)) as spoken:
        spoken.say(record)
        spoken.hear(SPOKEN[name][2])
        spoken.child.stdout.close()
        spoken.say(record)
        assert spoken.child.wait() == 141
        assert spoken.child.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("name", ["classify predict", "tag predict", "lm score", "rerank apply", "ime convert"])
def test_ctrl_c_while_waiting_for_a_line(name: str) -> None:
    with conversation(*arguments(name)) as spoken:
        spoken.say(SPOKEN[name][1][0].encode())
        spoken.hear(SPOKEN[name][2])
        spoken.child.send_signal(signal.SIGINT)
        assert spoken.child.wait() == 130
        assert spoken.child.stderr.read() == b"interrupted\n"


@pytest.mark.parametrize("name", ["classify predict", "tag predict", "lm score", "rerank apply", "ime convert"])
def test_a_terminal_is_answered_line_by_line(name: str) -> None:
    _, records, n_lines = SPOKEN[name]
    ours, theirs = pty.openpty()
    plain = run(*arguments(name), stdin=records[0].encode())
    with conversation(*arguments(name), stdin=theirs) as spoken:
        os.write(ours, records[0].encode())
        assert spoken.hear(n_lines).decode() == plain.stdout
        os.write(ours, b"\x04")  # Ctrl-D
        assert spoken.child.wait() == 0
    os.close(ours)
    os.close(theirs)
