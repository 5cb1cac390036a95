"""Optional packages, imported when something needs them."""

from __future__ import annotations

import importlib
from typing import Any

from loglinear.errors import MissingPackageError


def require(module: str, what_needs: str, extra: str) -> Any:
    """Import a module of an optional package; MissingPackageError, which begins with ``what_needs``, if it is absent.

    extra : the extra of this package that installs it
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module if module.startswith("backports") else module.partition(".")[0]
        how = f"pip install {package}, or pip install 'loglinear[{extra}]'"
        raise MissingPackageError(f"{what_needs} the package {package}; install it: {how}") from error
