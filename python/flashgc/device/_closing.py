"""A base class for objects that close at the end of a ``with`` statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """An object with a method ``close``, which runs at the end of a ``with`` statement."""

    @abstractmethod
    def close(self) -> None:
        """Close the object."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the object."""
        self.close()
