"""The look of pictures: sizes, colours, dashes and markers, the same for all of them."""

from __future__ import annotations

import io
import itertools
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

import matplotlib.style
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType

from flashgc._core import ConfigError, suggest

#: Okabe and Ito, "Color Universal Design" (2008), without yellow, which is invisible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

#: Six dashes and seven colours, so that 42 lines differ even where two have the same colour.
DASHES: tuple[LineStyleType, ...] = (
    "solid",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (6, 1.6, 1.2, 1.6)),
    (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (10, 2.5)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Colours of text, of lines that belong to no group (such as reference lines), and of the grid.
INK, SOFT_INK, GRID = "#222222", "#5f5f5f", "#dedede"


@dataclass(frozen=True)
class Medium:
    """The medium of a picture. Lengths are in inches, text and line widths in points."""

    #: Widths for one column and for two columns.
    widths: tuple[float, float]
    #: Heights for these widths.
    heights: tuple[float, float]
    text: float
    #: Size of the text of ticks and legends.
    small: float
    line: float
    marker: float


MEDIA = {
    "paper": Medium((3.5, 7.2), (2.3, 3.0), text=8.5, small=8, line=1.1, marker=3.6),
    "screen": Medium((7.2, 10.4), (4.0, 4.8), text=11, small=10, line=1.7, marker=5.5),
}


@dataclass(frozen=True)
class Style:
    """A medium, and the number of columns that a picture fills."""

    medium: Medium
    columns: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of one picture with one panel, in inches."""
        return self.medium.widths[self.columns - 1], self.medium.heights[self.columns - 1]


_DEFAULT = Style(MEDIA["screen"], 1)
_current = ContextVar("flashgc.plot.style", default=_DEFAULT)

#: Pixels per inch on an HTML page.
PAGE_DPI = 96

#: The style in which each picture was made. Saving needs it again, because matplotlib computes some
#: parts of a picture only then.
_made_for: WeakKeyDictionary[Figure, Style] = WeakKeyDictionary()

#: Matplotlib's settings are global to the process, so only one thread at a time may change them.
_SETTINGS = threading.RLock()


@contextmanager
def style(medium: Literal["paper", "screen"] = "screen", *, columns: int = 1) -> Iterator[None]:
    """In the ``with`` block, draw for ``"paper"`` or ``"screen"``, over one column or two.

    On paper a column is 3.5 inches wide, two columns are 7.2, and text has 8 to 8.5 points. Put the
    picture into the document without scaling. Outside of a block, pictures are for a screen.

    Raises :class:`flashgc.ConfigError` for another medium or number of columns.

    >>> import flashgc.plot as plot
    >>> with plot.style("paper"):
    ...     figure = plot.against([plot.Series("a", [1, 2], [3, 4])], x_label="d")
    >>> float(figure.get_figwidth())
    3.5
    """
    token = _current.set(_chosen(medium, columns))
    try:
        yield
    finally:
        _current.reset(token)


def _chosen(medium: str, columns: int) -> Style:
    if medium not in MEDIA:
        raise ConfigError(f"unknown medium '{medium}'; hint: {suggest(str(medium), list(MEDIA))}")
    if columns not in (1, 2):
        raise ConfigError(f"columns: found {columns}, expected 1 or 2; hint: one is the default")
    return Style(MEDIA[medium], columns)


def rc_params(medium: Literal["paper", "screen"] = "screen", *, columns: int = 1) -> dict[str, Any]:
    """The settings of :func:`style`, for other pictures: ``matplotlib.rc_context(...)``.

    >>> rc_params("paper")["font.size"]
    8.5
    """
    return _settings(_chosen(medium, columns))


#: The file of the Matplotlib settings that are the same for paper and screen.
_FIXED = Path(__file__).with_suffix(".mplstyle")


def _settings(chosen: Style) -> dict[str, Any]:
    medium = chosen.medium
    fixed: Any = matplotlib.rc_params_from_file(_FIXED, use_default_template=False)
    return {
        **fixed,
        "figure.figsize": chosen.size,
        "font.family": "DejaVu Sans",  # Comes with matplotlib: the same everywhere.
        "font.size": medium.text,
        "axes.labelsize": medium.text,
        "axes.titlesize": medium.text,
        "axes.titlepad": 0.6 * medium.text,
        "figure.titlesize": 1.12 * medium.text,
        **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), medium.small),
        **dict.fromkeys(("text.color", "axes.labelcolor"), INK),
        **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), SOFT_INK),
        "grid.color": GRID,
        "axes.prop_cycle": cycler(color=COLOURS),
        "lines.linewidth": medium.line,
        "lines.markersize": medium.marker,
    }


@contextmanager
def drawing(figure: Figure | None = None) -> Iterator[Style]:
    """Draw a new picture, or more of ``figure``, independent of any ``matplotlibrc``.

    Only one thread at a time can draw.
    """
    chosen = _current.get() if figure is None else _made_for.get(figure, _current.get())
    with _SETTINGS, warnings.catch_warnings():
        # A character that the font lacks is shown as a box.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        with matplotlib.style.context(["default", _settings(chosen)]):
            yield chosen


#: Metadata of the formats, without a date, since with a date two files of one picture would differ.
_UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def drawn(figure: Figure, kind: str, *, dpi: int = 300, salt: str = "flashgc") -> bytes:
    """The picture as the bytes of a file."""
    buffer = io.BytesIO()
    with drawing(figure), matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=_UNDATED.get(kind))
    return buffer.getvalue()


class Picture(Figure):
    """A picture that notebooks display."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = self.get_size_inches()
        # Twice the pixels of a page, so that it is sharp on high-resolution screens.
        shape = {"width": round(width * PAGE_DPI), "height": round(height * PAGE_DPI)}
        return drawn(self, "png", dpi=2 * PAGE_DPI), shape


def new_figure(width: float, height: float) -> Figure:
    """An empty picture in the current style. Lengths are in inches."""
    figure = Picture((width, height))
    _made_for[figure] = _current.get()
    return figure


@dataclass(frozen=True)
class Look:
    """Colour, dash and marker of one group."""

    colour: str
    dash: LineStyleType
    marker: str


def looks(groups: Iterable[str]) -> dict[str, Look]:
    """A look for every group, in the order in which the groups appear.

    >>> list(looks(["c = 0", "c = 1", "c = 0"]))
    ['c = 0', 'c = 1']
    """
    cycle = zip(itertools.cycle(COLOURS), itertools.cycle(DASHES), itertools.cycle(MARKERS))
    return {group: Look(*look) for group, look in zip(dict.fromkeys(groups), cycle, strict=False)}


def contrast(colour: str) -> float:
    """Contrast to a white page, from 1 to 21, as WCAG 2.2 defines it.

    >>> round(contrast("#000000")), round(contrast("#0072B2"), 1)
    (21, 5.2)
    """
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def for_text(colour: str) -> str:
    """``colour``, darkened until text is readable: a contrast of 4.5 (WCAG 2.2, AA).

    >>> for_text("#0072B2"), for_text("#E69F00")
    ('#0072B2', '#9c6c00')
    """
    shade, dark = 1.0, colour
    while contrast(dark) < 4.5:
        shade -= 0.02
        dark = "#" + "".join(f"{round(255 * shade * c):02x}" for c in _channels(colour))
    return dark


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
