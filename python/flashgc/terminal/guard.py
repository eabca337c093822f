"""Standard streams that escape control characters of a terminal, whoever writes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, cast

from flashgc.foreign import for_terminal

if TYPE_CHECKING:
    import io


class Guarded:
    """A text stream that escapes text and writes it to another stream."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        #: The other stream, for a screen that controls the terminal and escapes names itself.
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Write ``text``, escaped; return the number of its characters."""
        self.unguarded.write(for_terminal(text))
        return len(text)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.unguarded, attribute)


def guarded(stream: io.TextIOWrapper) -> TextIO:
    """Return ``stream`` in a guard."""
    return cast("TextIO", Guarded(stream))


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream inside a guard, or the stream itself if it has no guard."""
    return getattr(stream, "unguarded", stream)
