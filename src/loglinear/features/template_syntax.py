"""The templates of CRF++ and Wapiti, parsed.

A template is a line: a letter, any text, and macros in it. The letter says what the attribute goes with:

    U or u    the label              B or b    the pair of labels            *    both

    U00:%x[-1,0]/%x[0,1]       the value in column 0 one row before, and that in column 1 of the token itself
    U01:%X[0,0]                an upper-case command letter gives the value in lower case
    U02:%x[@1,0] %x[@-1,0]     rows counted from the first token (@1, @2, ...) and from the last (@-1, @-2, ...)
    U03:%t[0,0,"^\\u"]          true or false: whether the expression matches somewhere in the value
    U04:%m[0,0,"...?$"]        the text that it matches, which may be empty
    U05:%x[<,0]                the value in column 0 of any row before: a gap
    U05:%x[0,0] %x[>,1]        the value in column 0, and that in column 1 of any row after
    U05:%s[0,0]                the shape of the value: X for capitals, x for other letters, d for digits, others as they
                               are; runs of one kind are cut to two ("McDonald-12's": XxXxx-dd'x)
    U05:%c[0,0]                the word class of the value (features/word_classes.py)
    U06:%c[0,0,4]              the first 4 characters of it: of a string of bits, a class that is four merges from all
    U07:%l[0,0,"person"]       where the token lies in a phrase of that type of a lexicon: S, B, I, E or O
                               (features/phrases.py)
    B                          no macro: the transition from label to label

Expressions are those of Wapiti (native/text/wapiti_regex.hh), with the letters, digits, spaces and punctuation of
Unicode. Rows outside a sequence have marks for values, which depend on the tool that the templates are of:

    loglinear    _B-1, _B-2, ... and _E+1, _E+2, ..., whatever the command
    crf++        _B-1 ... _B-8 and _B+1 ... _B+8; rows further away are refused
    wapiti       _x-1 ... _x-4, then _x-#, and _x+1 ... _x+4, then _x+#, as values: commands apply to them

A gap lies before, or after, all other rows of its template; the template makes an attribute for
every row of the sequence that lies there, and all macros with a gap look at the same row. A comment begins with ``#``
at the start of a line, or after a blank outside macros. Attributes of two templates are never the same, even where
their text is.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from loglinear import _core
from loglinear.errors import FormatError

DIALECTS = ("loglinear", "crf++", "wapiti")
# Marks by dialect, before a sequence and then after it, nearest first; those of loglinear have no end.
BORDER_MARKS: dict[str, tuple[str, ...]] = {
    "loglinear": (),
    "crf++": tuple(f"_B{sign}{k}" for sign in "-+" for k in range(1, 9)),
    "wapiti": tuple(f"_x{sign}{k}" for sign in "-+" for k in (1, 2, 3, 4, "#")),
}
LABEL, PAIR = 1, 2  # scopes, as bits
_SCOPES = {"u": LABEL, "b": PAIR, "*": LABEL | PAIR}
# Limits that no real template file comes near; beyond them a number is a typing error.
MAX_ROW = 1000
ANY_BEFORE, ANY_AFTER = -(2**31), 2**31 - 1  # rows of gaps
_GAPS = {"<": ANY_BEFORE, ">": ANY_AFTER}
_MAX_COLUMN = 1023
_MAX_MACROS = 64
_MAX_TEMPLATES = 10_000


class View(NamedTuple):
    """A column and the function of its values: same, lower, test, match, match_lower, shape, class or phrase.

    The pattern of ``class`` is how many characters of it are seen; all where it is empty. That of ``phrase`` is the
    type of the phrases; it sees a token among its neighbours and not the value alone.
    """

    column: int
    function: str
    pattern: str = ""


class Macro(NamedTuple):
    """Looks at a row through a view; absolute rows are 1, 2, ... from the first token and -1, -2, ... from the last.

    The rows ``ANY_BEFORE`` and ``ANY_AFTER`` are gaps.
    """

    row: int
    view: int
    absolute: bool


class Template(NamedTuple):
    """A line that makes attributes: its macros, and the text around them (one piece more than there are macros)."""

    scope: int
    macros: tuple[Macro, ...]
    pieces: tuple[str, ...]
    line: int


class TemplateFile(NamedTuple):
    """A parsed text of templates."""

    templates: list[Template]  # those that make attributes
    views: list[View]
    has_transitions: bool  # a template without macros asks for plain pairs of labels


def parse_templates(text: str, source: str = "<templates>") -> TemplateFile:
    """Parse template text; a FormatError names the line, what is wrong and what to do."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FormatError("the text holds half of a surrogate pair; decode it again", source) from None
    templates: list[Template] = []
    views: dict[View, int] = {}
    has_transitions = False
    for number, line in enumerate(text.split("\n"), start=1):
        parser = _LineParser(line.strip(), source, number, views)
        template = parser.parse()
        if template is None:
            continue
        if not template.macros and template.scope & PAIR:
            has_transitions = True
            template = template._replace(scope=template.scope & ~PAIR)
        if template.scope:
            templates.append(template)
        if len(templates) > _MAX_TEMPLATES:
            raise FormatError(f"more than {_MAX_TEMPLATES} templates; use fewer", source, number)
    if not templates and not has_transitions:
        raise FormatError("there are no templates; expected lines such as U00:%x[0,0]", source)
    return TemplateFile(templates, list(views), has_transitions)


def dialect_of(text: str) -> str:
    """Return the tool that a text of templates is of, by what only one of them knows; crf++ where both know all."""
    parsed = parse_templates(text)
    macros = [macro for template in parsed.templates for macro in template.macros]
    ours = any(view.function in ("class", "shape", "phrase") for view in parsed.views)
    if ours or any(macro.row in _GAPS.values() for macro in macros):
        return "loglinear"
    lines = [line.strip() for line in text.split("\n")]
    others = any(view.function != "same" for view in parsed.views) or any(line[:1] in ("u", "b", "*") for line in lines)
    if others or any(macro.absolute for macro in macros):
        return "wapiti"
    return "wapiti" if any(abs(macro.row) > _CRFPP_ROWS for macro in macros) else "crf++"


def check_dialect(parsed: TemplateFile, dialect: str) -> None:
    """Raise FormatError for templates that the tool does not know."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, or 'auto', not {dialect!r}")
    for template in parsed.templates if dialect == "crf++" else ():
        for macro in template.macros:
            if macro.row not in _GAPS.values() and abs(macro.row) > _CRFPP_ROWS:
                message = f"row {macro.row}: CRF++ knows rows up to {_CRFPP_ROWS} away; use the dialect 'wapiti'"
                raise FormatError(message, "<templates>", template.line)


_CRFPP_ROWS = 8
_HEAD = re.compile(r"%([A-Za-z])\[")
_PLACE = re.compile(r"[ \t]*(@?)([-+]?[0-9]{1,9}|[<>])[ \t]*,[ \t]*([0-9]{1,9})[ \t]*")
_FUNCTIONS = {
    "x": "same", "X": "lower", "m": "match", "M": "match_lower", "c": "class", "s": "shape", "l": "phrase",
}  # fmt: skip
_LENGTH = re.compile(r",[ \t]*([1-9][0-9]{0,3})[ \t]*")
_PATTERN = re.compile(r',[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*', re.DOTALL)


class _LineParser:
    """One line, from left to right."""

    def __init__(self, line: str, source: str, number: int, views: dict[View, int]) -> None:
        self.line, self.source, self.number, self.views = line, source, number, views

    def fail(self, message: str) -> NoReturn:
        raise FormatError(message, self.source, self.number)

    def parse(self) -> Template | None:
        line = self.line
        if not line or line.startswith("#"):
            return None
        scope = _SCOPES.get(line[0].lower())
        if scope is None:
            self.fail(f"a template begins with U, B or *, not {line[0]!r}; start a comment with #")
        macros: list[Macro] = []
        pieces: list[str] = []
        begin = at = 0
        while at < len(line):
            if line[at] == "%":
                pieces.append(line[begin:at])
                macro, at = self.macro(at)
                macros.append(macro)
                begin = at
            elif line[at] == "#" and line[at - 1] in " \t":
                line = line[:at].rstrip()
            else:
                at += 1
        pieces.append(line[begin:])
        if {ANY_BEFORE, ANY_AFTER} <= {macro.row for macro in macros}:
            self.fail("a template may look at any row before (<) or at any row after (>), not at both; split it in two")
        if len(macros) > _MAX_MACROS:
            self.fail(f"{len(macros)} macros, and at most {_MAX_MACROS} are allowed; split the template")
        return Template(scope, tuple(macros), tuple(pieces), self.number)

    def macro(self, at: int) -> tuple[Macro, int]:
        """Return the macro at a place of the line, and the place after it."""
        shown = repr(self.line[at : at + 30])
        head = _HEAD.match(self.line, at)
        if not head:
            self.fail(f"expected %x[row,column] at {shown}; a percent sign always begins a macro")
        command = head[1]
        if command == "y":
            self.refuse_label(head.end())
        if command.lower() not in "xtm" and command not in "csl":
            self.fail(f"unknown command %{command} at {shown}; the commands are %x, %t, %m, %s, %c and %l")
        place = _PLACE.match(self.line, head.end())
        if not place:
            what = "indirect rows (*) are not supported" if self.line.startswith("*", head.end()) else "bad numbers"
            self.fail(f"{what} at {shown}; expected {_example(command)}, with whole numbers")
        absolute, column = bool(place[1]), int(place[3])
        if absolute and place[2] in _GAPS:
            self.fail(f"a gap at {shown} is not counted from an end of the sequence; leave out the @")
        row = _GAPS[place[2]] if place[2] in _GAPS else int(place[2])
        if abs(row) > MAX_ROW and row not in (ANY_BEFORE, ANY_AFTER):
            self.fail(f"row {row} at {shown} is too far; rows go up to {MAX_ROW}")
        if column > _MAX_COLUMN:
            self.fail(f"column {column} at {shown} is too large; columns go up to {_MAX_COLUMN}")
        if absolute and row == 0:
            self.fail(f"row @0 at {shown}; absolute rows are @1, @2, ... from the start and @-1, @-2, ... from the end")
        end, pattern = place.end(), ""
        if command == "c":
            length = _LENGTH.match(self.line, end)
            end, pattern = (length.end(), length[1]) if length else (end, "")
        elif command not in "xXs":
            end, pattern = self.pattern(end, shown, command)
        if not self.line.startswith("]", end):
            self.fail(f"missing bracket after {self.line[at:end][:60]!r}; expected {_example(command)}")
        return Macro(row, self.view(column, command, pattern), absolute), end + 1

    def refuse_label(self, at: int) -> NoReturn:
        """Raise FormatError for a label that a macro asks for, with what can be had instead."""
        if self.line[at : at + 1] in _GAPS:
            self.fail(
                f"the template {self.line!r} asks for a label any number of rows away, which no chain can decode (it "
                "remembers one label, or two with order=2); look at a column there instead: %x[<,0] or %x[>,0]"
            )
        self.fail(
            f"the template {self.line!r} asks for the label of another token; begin it with B for the pair with the "
            "label before, and set order=2 for runs of three labels"
        )

    def pattern(self, at: int, shown: str, command: str) -> tuple[int, str]:
        match = _PATTERN.match(self.line, at)
        if not match:
            what = "type" if command == "l" else "expression"
            self.fail(f"missing {what} in quotes at {shown}; expected {_example(command)}")
        if command == "l":
            return match.end(), match[1]
        try:
            _core.WapitiRegex(match[1])
        except ValueError as error:
            self.fail(f"bad expression at {shown}: {error}")
        return match.end(), match[1]

    def view(self, column: int, command: str, pattern: str) -> int:
        function = _FUNCTIONS.get(command, "test")
        return self.views.setdefault(View(column, function, pattern), len(self.views))


def _example(command: str) -> str:
    if command == "c":
        return "%c[row,column] or %c[row,column,length]"
    if command == "l":
        return '%l[row,column,"type"]'
    return f"%{command}[row,column]" if command in "xXs" else f'%{command}[row,column,"expression"]'
