"""Predictor: the part of every model that uses what training has learnt. It needs numpy and the extension only."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from loglinear.models.archive import Archive, check_finite, damage_told
from loglinear.models.notebook import Shown, model_section

if TYPE_CHECKING:
    from typing_extensions import Self

    from loglinear.display.page import Section


READ_AT_ONCE = 1 << 23  # bytes of arrays: a file with more is read when the model is first used


class _Unread:
    """What of a large file has not been read yet."""

    def __init__(self, names: tuple[str, ...], read: Callable[[], None]) -> None:
        self.names, self.read, self.lock, self.is_reading = names, read, threading.RLock(), False


class Predictor(Shown):
    """A trained model, read from a file, without the means to train it.

    Its subclass in ``models/<kind>/predictor.py`` predicts, scores and explains; the estimator inherits from that one
    and from ``models.estimator.Estimator`` and adds training. What training learnt ends in an underscore in both.
    The settings of the model are attributes: an estimator's are its parameters, a predictor's are those of the file.
    """

    kind: ClassVar[str]  # as model files and ``models.KINDS`` name it
    n_threads: int | None = None

    def __init__(self, **settings: Any) -> None:
        for name in settings:
            if name.startswith("_") or name.endswith("_") or callable(getattr(type(self), name, None)):
                raise ValueError(f"{name!r} is no setting")
        vars(self).update(settings)
        self._settings_names = tuple(settings)

    def sections(self) -> list[Section]:
        """Return what a notebook shows: how training ended, and the settings that differ from their defaults."""
        return [model_section(self)]

    def parameters(self) -> dict[str, Any]:
        """Return the settings by name, as a model file keeps them."""
        return {name: getattr(self, name) for name in self._settings_names}

    # ---- large files ------------------------------------------------------------------------------------------------
    def read_when_used(self, archive: Archive, source: Any, names: tuple[str, ...], read: Callable[[], None]) -> None:
        """Call ``read``, which sets the attributes of these names: now, or for a large file when one is asked for.

        Then opening takes no longer for a larger model, and what is read is checked before its first use all the same.
        """
        if archive.nbytes <= READ_AT_ONCE:
            read()
            return

        def checked() -> None:
            with damage_told(source):
                read()
            check_finite(source, archive)

        self._unread = _Unread(names, checked)

    def read_rest(self) -> None:
        """Read what ``read_when_used`` has left for later."""
        unread: _Unread | None = vars(self).get("_unread")
        if unread is None:
            return
        with unread.lock:
            if "_unread" in vars(self) and not unread.is_reading:
                before, unread.is_reading = dict(vars(self)), True
                try:
                    unread.read()
                except BaseException:
                    for name in vars(self).keys() - before.keys():
                        del vars(self)[name]
                    raise
                finally:
                    unread.is_reading = False
                del self._unread

    def __getattr__(self, name: str) -> Any:
        unread = vars(self).get("_unread")
        if unread is not None and name in unread.names:
            with unread.lock:  # another thread waits here for the one that reads, which comes here itself
                if not unread.is_reading:
                    self.read_rest()
            if name in vars(self):
                return vars(self)[name]
        if isinstance(of_class := getattr(type(self), name, None), property):
            return of_class.__get__(self)  # which raised an AttributeError of its own, such as NotFittedError
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        self.read_rest()
        return dict(vars(self))

    def check_fitted(self) -> None:
        """Raise sklearn's NotFittedError if there is nothing to predict with. A model read from a file is trained."""

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> Self:
        """Read a model file of this kind; ``mmap`` is as in ``loglinear.load``."""
        from loglinear.models import made, open_archive

        return made(cls, open_archive(path, cls.kind, mmap=mmap), path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the model of an opened file; ``source`` is the name of the file in messages."""
        raise NotImplementedError
