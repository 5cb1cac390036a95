"""Sequences that every Python carries: the lines of its standard library, with the role of each name in them.

The task is to label every name in a logical line with its role: definition of a function, parameter, attribute, call,
variable read or written, and so on. The gold labels come from the syntax tree, which sees the whole file; a tagger sees
one line. A token has three columns: text, class and shape. A module is used for training or for testing, never both,
and the same Python gives the same lines in every run.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import string
import sysconfig
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from loglinear.errors import LoglinearError

# Modules of many authors and ages, each in every Python from 3.10 on.
TRAIN_MODULES = (
    "asyncio/locks asyncio/queues asyncio/streams bisect cmd code codecs configparser contextlib copy csv "
    "dataclasses difflib filecmp fnmatch fractions functools getopt gettext heapq html/parser http/cookies "
    "http/server json/decoder json/encoder logging/config mimetypes netrc optparse pprint queue random selectors "
    "shelve shlex smtplib"
)
TEST_MODULES = (
    "asyncio/subprocess calendar concurrent/futures/thread email/message graphlib hmac socketserver string "
    "textwrap timeit wsgiref/handlers"
)
_TOKENS = {False: (60_000, 15_000), True: (6_000, 1_500)}  # to train and to test on; quick or not

_NAME_CLASSES = {tokenize.NAME: "NAME", tokenize.OP: "OP", tokenize.NUMBER: "NUMBER", tokenize.STRING: "STRING"}
_SHAPES = ((re.compile(r"[a-z]+"), "a"), (re.compile(r"[A-Z]+"), "A"), (re.compile(r"[0-9]+"), "0"))
_Place = tuple[int, int]  # line and column


class TaggedLines(NamedTuple):
    """Sequences of tokens, each (text, class, shape), and a label per token."""

    sequences: list[list[tuple[str, str, str]]]
    labels: list[list[str]]

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return sum(map(len, self.labels))


class _Token(NamedTuple):
    place: _Place
    text: str
    kind: str


def identifier_roles(quick: bool = False, *, folder: str | None = None) -> tuple[TaggedLines, TaggedLines]:
    """Return training and test lines, about 60,000 and 15,000 tokens; a tenth of that if ``quick``."""
    root = Path(sysconfig.get_path("stdlib") if folder is None else folder)
    parts = []
    for names, n_tokens in zip((TRAIN_MODULES, TEST_MODULES), _TOKENS[quick]):
        paths = [root / f"{name}.py" for name in names.split()]
        parts.append(_tagged(paths[: len(paths) // 4 + 1] if quick else paths, n_tokens))
    if not all(part.labels for part in parts):
        raise LoglinearError(f"this Python comes without the sources of its standard library (looked in {root})")
    return parts[0], parts[1]


def shape(text: str) -> str:
    """Return the text with runs of small letters, capitals and digits as one character: ``getHTTP_2`` is ``aA_0``."""
    for run, letter in _SHAPES:
        text = run.sub(letter, text)
    return text


def _tagged(paths: Iterable[Path], n_tokens: int) -> TaggedLines:
    """Return lines with about ``n_tokens`` tokens in all, spread evenly over the files."""
    lines = [line for path in paths for line in _lines(path)]
    share = min(1.0, n_tokens / max(1, sum(map(len, lines))))
    chosen = [line for i, line in enumerate(lines) if int((i + 1) * share) > int(i * share)]
    sequences = [[(token.text, token.kind, shape(token.text)) for token, _ in line] for line in chosen]
    return TaggedLines(sequences, [[role for _, role in line] for line in chosen])


def _lines(path: Path) -> list[list[tuple[_Token, str]]]:
    """Return the logical lines of a file with the role of every token; none if it is missing or does not parse."""
    try:
        source = _read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings of the standard library
            tree = ast.parse(source)
        lines = list(_logical_lines(source))
    except (OSError, SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        return []
    roles = _Roles([token for line in lines for token in line]).of(tree)
    return [[(token, roles.get(token.place, "O")) for token in line] for line in lines]


def _read(path: Path) -> str:
    """Return a source in ASCII, since syntax trees count bytes and tokens count characters."""
    path = path if path.exists() else path.with_suffix("") / "__init__.py"
    with tokenize.open(path) as file:
        return file.read().encode("ascii", "replace").decode()


def _logical_lines(source: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each logical line, without comments and indentation.

    A string is reduced to its prefix and quotes, since its content says nothing about the line. From Python 3.12 on an
    f-string is many tokens; they become one again, as before.
    """
    line: list[_Token] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            depth += 1
            if depth == 1:
                line.append(_Token(token.start, _bare(token.string), "STRING"))
        elif name.endswith("STRING_END"):
            depth -= 1
        elif depth == 0 and token.type == tokenize.NEWLINE:
            yield line
            line = []
        elif depth == 0 and token.type in _NAME_CLASSES:
            kind = "KEYWORD" if keyword.iskeyword(token.string) else _NAME_CLASSES[token.type]
            line.append(_Token(token.start, _bare(token.string) if kind == "STRING" else token.string, kind))
    if line:
        yield line


def _bare(literal: str) -> str:
    """Return a string literal, or the beginning of one, without its content."""
    quotes = literal.lstrip(string.ascii_letters)
    width = 3 if quotes[:3] in ('"""', "'''") else 1
    return literal[: len(literal) - len(quotes)] + 2 * quotes[:width]


class _Roles:
    """The roles of names by the place where they begin.

    Syntax trees give the places of nodes; some names have no node and are searched for among the tokens.
    """

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.places = [token.place for token in tokens]
        self.roles: dict[_Place, str] = {}

    def of(self, tree: ast.AST) -> dict[_Place, str]:
        """Return the roles of all names outside strings. Parents are visited first, so that their roles win."""
        stack = [tree]
        while stack:
            node = stack.pop()
            if type(node).__name__ not in ("JoinedStr", "TemplateStr"):
                self._visit(node)
                stack.extend(ast.iter_child_nodes(node))
        return self.roles

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self._say((node.lineno, node.col_offset), f"variable-{'load' if _is_load(node) else 'store'}")
        elif isinstance(node, ast.Attribute):
            self._say(_last_name(node, node.attr), "attribute")
        elif isinstance(node, ast.Call):
            self._name(node.func, "call")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._definition(node)
        elif isinstance(node, ast.arg):
            self._say((node.lineno, node.col_offset), "parameter")
        elif isinstance(node, ast.keyword) and node.arg is not None:
            self._say((node.lineno, node.col_offset), "keyword-argument")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._all_names(node, "import")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self._all_names(node, "variable-store")
        elif isinstance(node, ast.ExceptHandler) and node.name is not None and node.type is not None:
            self._after(_end(node.type), "as", "variable-store")
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            self._say(_last_name(node, node.name), "variable-store")

    def _say(self, place: _Place, role: str) -> None:
        self.roles.setdefault(place, role)

    def _name(self, node: ast.expr, role: str) -> None:
        """Give a role to the name of an expression: its own, or that of its last attribute."""
        if isinstance(node, ast.Name):
            self._say((node.lineno, node.col_offset), role)
        elif isinstance(node, ast.Attribute):
            self._say(_last_name(node, node.attr), role)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._name(decorator.func if isinstance(decorator, ast.Call) else decorator, "decorator")
        word, role = ("class", "definition-class") if isinstance(node, ast.ClassDef) else ("def", "definition-function")
        self._after((node.lineno, node.col_offset), word, role)

    def _after(self, place: _Place, word: str, role: str) -> None:
        """Give a role to the name after the first ``word`` at or after a place."""
        for i in range(bisect_left(self.places, place), len(self.tokens) - 1):
            if self.tokens[i].text == word:
                self._say(self.places[i + 1], role)
                return

    def _all_names(self, node: ast.stmt, role: str) -> None:
        first = bisect_left(self.places, (node.lineno, node.col_offset))
        for token in self.tokens[first : bisect_left(self.places, _end(node))]:
            if token.kind == "NAME":
                self._say(token.place, role)


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _end(node: ast.stmt | ast.expr | ast.pattern) -> _Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _last_name(node: ast.expr | ast.pattern, name: str) -> _Place:
    """Return where a name begins that ends at the end of its node."""
    line, column = _end(node)
    return line, column - len(name)
