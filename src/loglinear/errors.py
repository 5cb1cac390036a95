"""The errors of loglinear. Each message says what was wrong, where, and what to do."""

from __future__ import annotations


class LoglinearError(Exception):
    """Base of all errors raised by this package on purpose."""


class FormatError(LoglinearError, ValueError):
    """Input that does not follow its format; names the file and the line."""

    def __init__(self, message: str, source: str | None = None, line: int | None = None) -> None:
        where = "" if source is None else f"{source}: " if line is None else f"{source}:{line}: "
        super().__init__(where + message)
        self.message = message
        self.source = source
        self.line = line

    def after(self, n_lines: int) -> FormatError:
        """Return the same error in a file that has so many lines before those which the error counts."""
        return FormatError(self.message, self.source, None if self.line is None else self.line + n_lines)


class IncompatibleError(LoglinearError, ValueError):
    """Pieces that cannot work together, such as a solver and a penalty that lacks the power it needs."""


class ModelFileError(LoglinearError, ValueError):
    """A model file that is truncated, damaged, foreign or from another version."""


class MissingPackageError(LoglinearError, ImportError):
    """An optional package that is not installed; says what needs it and how to install it."""


class InterruptedWarning(UserWarning):
    """Training was interrupted; the best weights so far are kept."""
