"""Tutorials as Jupyter notebooks: ``python docs/notebooks.py FOLDER`` writes those of ``NOTEBOOKS``.

The pages are the only source. Blocks of Python and of the shell become cells; what they print is left out, because the
cells print it.
"""

import json
import re
import sys
from pathlib import Path

NOTEBOOKS = ("chunking", "named_entities", "recogniser")
_BLOCK = re.compile(r"^```(python|bash|text)[^\n]*\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)


def notebook(text):
    """Return a page as a notebook of format 4."""
    cells, place = [], 0
    for block in [*_BLOCK.finditer(text), None]:
        prose = text[place : block.start() if block else len(text)].strip()
        if prose:
            cells.append(_cell("markdown", prose))
        if block and block[1] != "text":
            cells.append(_cell("code", ("%%bash\n" if block[1] == "bash" else "") + block[2].strip("\n")))
        place = block.end() if block else place
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def _cell(kind, source):
    cell = {"cell_type": kind, "metadata": {}, "source": source}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def write(folder):
    """Write all notebooks to a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in NOTEBOOKS:
        text = Path(__file__).with_name("tutorials").joinpath(f"{name}.md").read_text(encoding="utf-8")
        content = json.dumps(notebook(text), indent=1, ensure_ascii=False) + "\n"
        folder.joinpath(f"{name}.ipynb").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
