"""Functions that all commands share: errors and warnings as one plain line on stderr, tables and JSON on stdout."""

from __future__ import annotations

import codecs
import functools
import inspect
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from loglinear import interrupts
from loglinear.cli.help import Command, swapped
from loglinear.cli.outputs import check_outputs

if TYPE_CHECKING:
    from loglinear.display.page import Section
    from loglinear.display.tables import Table

ERROR, INTERRUPTED, BROKEN_PIPE = 2, interrupts.EXIT_CODE, 141
_Command = TypeVar("_Command", bound=Callable[..., None])


class App(typer.Typer):
    """A group whose commands have the help of this package."""

    def command(  # type: ignore[override]
        self, name: str | None = None, *, cls: type[Command] = Command, **settings: Any
    ) -> Callable[[_Command], _Command]:
        """Register a command."""
        return super().command(name, cls=cls, **settings)


def new_app(*, add_completion: bool = False, **settings: Any) -> App:
    """Make the ``app`` of a command or of a group of commands, with plain help (rich would take longer than numpy)."""
    return App(
        no_args_is_help=True,
        add_completion=add_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


def note(message: str) -> None:
    """Print one line on stderr; control characters in it are escaped."""
    from loglinear.formats.text import printable

    print(printable(message), file=sys.stderr, flush=True)


def note_unseen(unseen: dict[str, int]) -> None:
    """Warn of labels that never occurred in training."""
    if unseen:
        names = ", ".join(f"{label!r} ({count})" for label, count in sorted(unseen.items(), key=lambda p: -p[1])[:10])
        more = "" if len(unseen) <= 10 else f" and {len(unseen) - 10} more"
        note(f"warning: labels never seen in training count as errors: {names}{more}")


def command(function: _Command) -> _Command:
    """Turn errors that a user can cause into one sentence and an exit code; LOGLINEAR_DEBUG=1 shows the traceback.

    Outputs are checked first.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        from loglinear.errors import LoglinearError
        from loglinear.optimise.room import writing

        given = inspect.signature(function).bind(*args, **kwargs).arguments
        try:
            with interrupts.raise_interrupts(), _warnings_as_lines(), _escaped_on_terminals():
                check_outputs(function, given)
                with writing([given[name] for name in ("output", "checkpoint") if given.get(name) is not None]):
                    function(*args, **kwargs)
                sys.stdout.flush()
        except BrokenPipeError:
            # The reader of our output has closed it. Python would complain again when it flushes stdout at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except (LoglinearError, ValueError, OSError, MemoryError) as error:
            if os.environ.get("LOGLINEAR_DEBUG"):
                traceback.print_exc()
            told = swapped(function, given) if isinstance(error, (LoglinearError, ValueError)) else None
            note(f"error: {told or sentence(error)}")
            raise typer.Exit(ERROR) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run  # type: ignore[return-value]


def sentence(error: BaseException) -> str:
    """Return an error on one line."""
    if isinstance(error, MemoryError):
        detail = str(error)
        return "not enough memory" + (f": {detail}" if detail else "")
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    from loglinear.errors import InterruptedWarning

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        note(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)  # the command itself says it, with the exit code
        warnings.showwarning = show
        yield


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file that is being written in system errors, which do not name it when the disk is full."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror or error}") from error


def save_model(model: Any, path: str, checkpoint: str | None = None) -> None:
    """Save what may have taken long to train; if ``path`` cannot be written, save it elsewhere and say where.

    A first Ctrl-C waits until the model is saved; a second one ends the save.

    checkpoint : where the weights are, too
    """
    from loglinear.errors import FormatError

    try:
        with interrupts.CtrlC() as control:
            model.save(path)
    except (OSError, MemoryError, FormatError) as error:
        why = sentence(error) if isinstance(error, (MemoryError, FormatError)) else error.strerror or str(error)
        why = why.removeprefix(f"{path}: ").removeprefix("cannot write: ")
        kept = _save_elsewhere(model, path)
        there = f"the model is kept as {kept}" if kept else "nor can it be written to the folder of temporary files"
        weights = "" if checkpoint is None else f"; its weights are in the checkpoint {checkpoint}"
        raise ValueError(f"{path}: cannot be written: {why}; {there}{weights}") from error
    if control.pressed:
        note(f"{path} is saved")
        raise KeyboardInterrupt


def _save_elsewhere(model: Any, path: str) -> str | None:
    """Save a model in a new folder for temporary files, or in one of the home folder; None where neither can be."""
    for parent in (None, os.path.expanduser("~")):  # noqa: PTH111
        try:
            folder = tempfile.mkdtemp(prefix="loglinear-", dir=parent)
        except OSError:
            continue
        kept = os.path.join(folder, os.path.basename(path))  # noqa: PTH118, PTH119
        try:
            model.save(kept)
        except (OSError, MemoryError, ValueError):
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106
            continue
        return kept
    return None


def write(pieces: Iterable[bytes]) -> None:
    """Write pieces of text to stdout, each as soon as it is there."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """Print a JSON value on one line; numbers that JSON lacks (infinity, NaN) become null."""
    from loglinear.formats.json_text import json_text

    print(json_text(value))


def print_facts(facts: Sequence[tuple[str, Any]]) -> None:
    """Print names and values, one pair per line."""
    from loglinear.formats.text import printable

    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(printable(f"{name:<{width}}  {value}"))


def print_table(table: Table) -> None:
    """Print a table on stdout."""
    from rich.console import Console

    from loglinear.display.tables import to_rich

    width = None if sys.stdout.isatty() else 120
    Console(file=_raw_output(), width=width, highlight=False, markup=False).print(to_rich(table))


MISTAKES = 20  # of a page, where the command was not told how many


def write_html(path: str | None, title: str, sections: Callable[[], Sequence[Section]]) -> None:
    """Write sections of a report as a page, if there is a file for it."""
    if path is not None:
        from loglinear.display.page import write_page

        with naming(path):
            write_page(path, title, sections())


def print_mistakes(found: Mapping[str, Any]) -> None:
    """Print the mistakes that an evaluation told, if it was asked for them."""
    if "errors" in found:
        from loglinear.report.mistakes import mistake_lines

        print("\n".join(mistake_lines(found["errors"])))


def print_sections(sections: Sequence[Section]) -> None:
    """Print sections of a report on stdout; plots are in the HTML page only."""
    from loglinear.formats.text import plain_line, printable

    for section in sections:
        title = plain_line(section.title)
        print(f"\n{title}\n{'=' * len(title)}")
        for paragraph in section.paragraphs:
            print(printable(paragraph))
        if section.quote:
            print("\n".join(f"    {printable(line)}" for line in section.quote.splitlines()))
        for table in [*section.tables, *section.plain]:
            print_table(table)


# ---- terminals: control characters of data are escaped there, while pipes and files get the bytes as they are -------
class _Terminal:
    """A text stream, with its ``buffer``, to a terminal."""

    def __init__(self, stream: Any) -> None:
        self.raw = stream  # for what draws with control characters of its own
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        from loglinear.formats.text import printable  # needs numpy, which not every command does

        self.raw.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


class _Bytes:
    """Where bytes are written that are text in UTF-8."""

    def __init__(self, terminal: _Terminal) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Any) -> int:
        self._terminal.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._terminal.raw.flush()


@contextmanager
def _escaped_on_terminals() -> Iterator[None]:
    """Escape what is printed within the block, if standard output is a terminal."""
    stream = sys.stdout
    if isinstance(stream, _Terminal) or not stream.isatty():
        yield
        return
    sys.stdout = _Terminal(stream)  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout = stream


def _raw_output() -> Any:
    """Return standard output for what has escaped its text and draws with control characters of its own."""
    return sys.stdout.raw if isinstance(sys.stdout, _Terminal) else sys.stdout
