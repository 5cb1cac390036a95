"""Sequences that every Python carries: the lines of its standard library, and what each name in them is for.

The task: given the tokens of a logical line, say of every name whether it defines a function, is a parameter, an
attribute, something called, a variable read or written, and so on. The truth comes from the syntax tree, which sees the
whole file; a tagger sees one line. A token has three columns: text, class and shape. Modules are either trained on or
tested on, never both, and the same Python gives the same lines in every run.
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
_TRAIN = (
    "asyncio/locks asyncio/queues asyncio/streams bisect cmd code codecs configparser contextlib copy csv "
    "dataclasses difflib filecmp fnmatch fractions functools getopt gettext heapq html/parser http/cookies "
    "http/server json/decoder json/encoder logging/config mimetypes netrc optparse pprint queue random selectors "
    "shelve shlex smtplib"
)
_TEST = (
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
    """Lines to train and to test on, about 60,000 and 15,000 tokens; a tenth of that where ``quick``."""
    root = Path(sysconfig.get_path("stdlib") if folder is None else folder)
    parts = []
    for names, n_tokens in zip((_TRAIN, _TEST), _TOKENS[quick]):
        paths = [root / f"{name}.py" for name in names.split()]
        parts.append(_tagged(paths[: len(paths) // 4 + 1] if quick else paths, n_tokens))
    if not all(part.labels for part in parts):
        raise LoglinearError(f"this Python comes without the sources of its standard library (looked in {root})")
    return parts[0], parts[1]


def shape(text: str) -> str:
    """Runs of small letters, capitals and digits as one character each: ``getHTTP_2`` is ``aA_0``."""
    for run, letter in _SHAPES:
        text = run.sub(letter, text)
    return text


def _tagged(paths: Iterable[Path], n_tokens: int) -> TaggedLines:
    """As many lines as hold about the tokens wanted, spread evenly over all the files."""
    lines = [line for path in paths for line in _lines(path)]
    share = min(1.0, n_tokens / max(1, sum(map(len, lines))))
    chosen = [line for i, line in enumerate(lines) if int((i + 1) * share) > int(i * share)]
    sequences = [[(token.text, token.kind, shape(token.text)) for token, _ in line] for line in chosen]
    return TaggedLines(sequences, [[role for _, role in line] for line in chosen])


def _lines(path: Path) -> list[list[tuple[_Token, str]]]:
    """The logical lines of a file with the role of every token; none if it is missing or does not parse."""
    try:
        source = _read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in other people's strings
            tree = ast.parse(source)
        lines = list(_logical_lines(source))
    except (OSError, SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        return []
    roles = _Roles([token for line in lines for token in line]).of(tree)
    return [[(token, roles.get(token.place, "O")) for token in line] for line in lines]


def _read(path: Path) -> str:
    """A source in ASCII, since trees count bytes and tokens count characters; other letters are in comments mostly."""
    path = path if path.exists() else path.with_suffix("") / "__init__.py"
    with tokenize.open(path) as file:
        return file.read().encode("ascii", "replace").decode()


def _logical_lines(source: str) -> Iterator[list[_Token]]:
    """Tokens up to each end of a logical line, without comments and indentation.

    A string is its prefix and quotes alone, since what it says is no matter here. From 3.12 on an f-string is many
    tokens; they are made one again, as it was before.
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
    """A string literal, or the begin of one, without what is between its quotes."""
    quotes = literal.lstrip(string.ascii_letters)
    width = 3 if quotes[:3] in ('"""', "'''") else 1
    return literal[: len(literal) - len(quotes)] + 2 * quotes[:width]


class _Roles:
    """The roles of names, by where they begin. Trees give places of nodes; some names have to be found among tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.places = [token.place for token in tokens]
        self.roles: dict[_Place, str] = {}

    def of(self, tree: ast.AST) -> dict[_Place, str]:
        """Visit all nodes but those inside strings, parents first: what a parent knows of a child comes first."""
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
        """The name that an expression is known by: its own or that of its last attribute."""
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
        """The name after the first such word at or after a place."""
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
    """Where a name begins that ends where its node ends."""
    line, column = _end(node)
    return line, column - len(name)
