"""Objects that the end of a ``with`` closes, and threads that it ends."""

from __future__ import annotations

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self


@contextlib.contextmanager
def descriptor(number: int) -> Iterator[int]:
    """The descriptor of an open file, which the end of the ``with`` closes."""
    try:
        yield number
    finally:
        os.close(number)


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


class Worker(Closing):
    """Work on a thread of its own for as long as a ``with`` lasts."""

    def __init__(self, name: str | None = None) -> None:
        #: Set when the thread is to end.
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @abstractmethod
    def _work(self) -> None:
        """Works until ``_over`` is set."""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and waits for it; Ctrl-C may come before it is started."""
        self._over.set()
        with contextlib.suppress(RuntimeError):  # It is not started.
            self._thread.join()

    def close(self) -> None:
        """Releases what only the thread used."""

    def __enter__(self) -> Self:
        """Starts the thread."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the thread, then closes the rest."""
        self.stop()
        self.close()
