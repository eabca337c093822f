"""A progress bar with text below it. It is imported only if needed, because rich loads slowly."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.progress import Progress
from rich.text import Text


class CaptionedBar(Progress):
    """A progress bar with lines of text below it."""

    below = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar and the text below it, cut at the width of the terminal."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below, style="dim", no_wrap=True, overflow="ellipsis")
