"""Examples of pages: code, and beneath it what the page says that the code prints.

A ```python or ```bash block may be followed by a ```text block, its whole output. There, ``...`` stands for anything,
blanks for any number of blanks, and numbers with decimals may differ by one in their last digit. Under ```text varies,
numbers may differ by half: such output is about text that comes with Python, whose versions differ.
"""

import re
from dataclasses import dataclass

_FENCED = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PIECES = re.compile(r"(\.\.\.|\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)")
_NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"
VARIES = 0.5  # of a number, where output varies with the version of Python


@dataclass(frozen=True)
class Example:
    """A block of code of a page, and the output that the page shows."""

    language: str
    code: str  # after as many empty lines as there are before it on the page, so that tracebacks have its line numbers
    shown: str  # "" if nothing
    varies: bool = False


def examples(text, *languages):
    """Return the examples of a page in these languages."""
    fences, found = list(_FENCED.finditer(text)), []
    for fence, after in zip(fences, [*fences[1:], None]):
        if fence[1] not in languages:
            continue
        code = "\n" * text.count("\n", 0, fence.start(3)) + fence[3]
        is_output = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        found.append(Example(fence[1], code, after[3] if is_output else "", is_output and "varies" in after[2]))
    return found


def difference(shown, printed, *, varies=False):
    """Return None if the output is as shown, or else what differs."""
    shown, printed = _plain(shown), _plain(printed)
    pattern, numbers = "", []
    for i, piece in enumerate(_PIECES.split(shown)):
        if i % 2 == 0:
            pattern += re.escape(piece)
        elif piece == "...":
            pattern += ".*?"
        else:
            pattern += _NUMBER
            numbers.append(piece)
    found = re.fullmatch(pattern, printed, flags=re.DOTALL)
    if found is None:
        return f"the page shows\n{shown}\nbut this is printed:\n{printed}"
    wrong = [f"{a} is shown, {b} printed" for a, b in zip(numbers, found.groups()) if not _near(a, b, varies)]
    return "; ".join(wrong) + f", in\n{printed}" if wrong else None


def _plain(text):
    """Return the text with single blanks, none of them at the ends of lines."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _near(shown, printed, varies):
    a, b = (float(text.replace(",", "")) for text in (shown, printed))
    mantissa, _, exponent = shown.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    last_digit = 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0
    return abs(a - b) <= max(1.01 * last_digit, VARIES * abs(a) if varies else 0.0)
