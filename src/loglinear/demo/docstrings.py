"""Text that every Python carries: the docstrings of the standard library, read at run time.

The task is to tell which package or module a docstring is from. The name of the package itself is removed from its
texts, because it would give the answer away. Training and test texts are split by a hash of the qualified name, so they
are the same in every run.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loglinear.errors import LoglinearError

_SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "lib2to3", "pydoc_data", "ensurepip"}
_QUICK = {"asyncio", "email", "http", "logging", "unittest", "xml"}  # the packages of the quick version
_MIN_WORDS = 4  # shorter docstrings say too little to be classified
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Corpus:
    """Texts and labels, for training and for testing; ``about`` describes their source."""

    train_texts: list[str]
    train_labels: list[str]
    test_texts: list[str]
    test_labels: list[str]
    about: str
    quick: bool = False
    documents: list[str] = field(default_factory=list)  # all texts found, unchanged, of all packages


def stdlib_docstrings(*, quick: bool = False, folder: str | None = None) -> Corpus:
    """Return the docstrings of the packages that have most; pydoc's topics if this Python has no sources.

    ``quick`` takes a few packages only; ``folder`` is the standard library to read, None for that of this Python.
    """
    root = Path(sysconfig.get_path("stdlib") if folder is None else folder)
    found = list(_docstrings(root, _QUICK if quick else None))
    what = f"docstrings of the standard library in {root}"
    if len(Counter(label for label, _, _ in found)) < 4:
        found, what = topic_paragraphs(), "sections of pydoc's topics, since this Python comes without its sources"
    counts = Counter(label for label, _, _ in found)
    chosen = {label for label, count in counts.most_common(6 if quick else 20) if count >= 8}
    if len(chosen) < 2:
        raise LoglinearError("this Python comes without any text to run the demonstration on")
    train: list[tuple[str, str]] = []
    test: list[tuple[str, str]] = []
    kept: Counter[str] = Counter()
    for label, name, text in sorted(found):
        if label not in chosen or (quick and kept[label] >= 60):
            continue
        kept[label] += 1
        bucket = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=2).digest()[0]
        (test if bucket < 52 else train).append((_without_name(text, label), label))  # one in five
    about = f"{what}: {len(train):,} to train on, {len(test):,} to test on, {len(chosen)} classes"
    texts = [[t for t, _ in part] for part in (train, test)]
    labels = [[y for _, y in part] for part in (train, test)]
    return Corpus(texts[0], labels[0], texts[1], labels[1], about, quick, [text for _, _, text in found])


def _docstrings(root: Path, only: set[str] | None = None) -> Iterator[tuple[str, str, str]]:
    """Yield (top-level name, qualified name, docstring) of everything documented, each text once."""
    seen: set[str] = set()
    for path in _sources(root, only):
        parts = path.relative_to(root).with_suffix("").parts
        label = re.sub("^_(py)?", "", parts[0])  # _pydecimal is the Python version of decimal
        for name, text in _documented(path):
            text = re.sub(r"\s+", " ", text)
            if len(text.split()) >= _MIN_WORDS and text not in seen:
                seen.add(text)
                yield label, ".".join([*parts, name]), text


def _sources(root: Path, only: set[str] | None) -> Iterator[Path]:
    """Yield the source files in sorted order, without tests and without installed packages."""
    for folder, folders, files in os.walk(root):
        top = Path(folder) == root
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith(("__", "config-")))
        if only is not None and top:
            folders[:], files = [f for f in folders if f in only], []
        yield from (
            Path(folder, f) for f in sorted(files) if f.endswith(".py") and not f.startswith(("test_", "_test"))
        )


def _documented(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings of the standard library
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        prefix, node = stack.pop()
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node, clean=False)):
            yield prefix, text
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _DOCUMENTED):
                stack.append((f"{prefix}.{getattr(child, 'name', '')}", child))
            elif isinstance(child, ast.stmt):
                stack.append((prefix, child))


def topic_paragraphs() -> list[tuple[str, str, str]]:
    """Return (topic, name, text) of the paragraphs of pydoc's topics."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return []
    found = []
    for topic, text in topics.items():
        for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
            paragraph = re.sub(r"\s+", " ", paragraph).strip()
            if len(paragraph.split()) >= _MIN_WORDS:
                found.append((str(topic), f"{topic}.{number}", paragraph))
    return found


def _without_name(text: str, label: str) -> str:
    """Remove the words that contain the label's name; for names of one or two letters, the word itself only."""
    name = re.escape(label)
    return re.sub(rf"\w*{name}\w*" if len(label) > 2 else rf"\b{name}\b", " ", text, flags=re.IGNORECASE)
