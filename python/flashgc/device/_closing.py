"""Objects that the end of a ``with`` closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something with a ``close``, which the end of a ``with`` calls."""

    @abstractmethod
    def close(self) -> None:
        """Ends it."""

    def __enter__(self) -> Self:
        """The thing itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()
