"""Standard streams that pass on nothing that steers a terminal, whoever writes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, cast

from flashgc.foreign import for_terminal

if TYPE_CHECKING:
    import io


class Guarded:
    """A text stream over another one; what is written is escaped first."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        #: The stream itself, for a screen that steers the terminal and escapes names on its own.
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Writes ``text``; the number of its characters."""
        self.unguarded.write(for_terminal(text))
        return len(text)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.unguarded, attribute)


def guarded(stream: io.TextIOWrapper) -> TextIO:
    """Return ``stream``, guarded."""
    return cast("TextIO", Guarded(stream))


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream behind a guarded one, or the stream itself."""
    return getattr(stream, "unguarded", stream)
