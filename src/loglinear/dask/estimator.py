"""What the estimators of this package share: they are those of one process, trained elsewhere."""

from __future__ import annotations

import os
from typing import Any, ClassVar


class OnCluster:
    """A mixin before an estimator of one process: the parameter ``client``, and the way back to that estimator."""

    local: ClassVar[type[Any]]  # the estimator of one process

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls.local._get_param_names(), "client"])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator of one process, as a model file keeps them."""
        return {name: getattr(self, name) for name in self.local._get_param_names()}

    def to_local(self) -> Any:
        """Return the trained model as one of this process, which needs no cluster."""
        local = self.local(**self.parameters())
        settings = self.get_params(deep=False)  # type: ignore[attr-defined]
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name not in settings})
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file of ``to_local()``."""
        self.to_local().save(path)
