"""Saves pictures to files and pages: saving the same picture gives the same bytes."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from flashgc import _files
from flashgc._core import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The formats, which are also the extensions of file names.
FORMATS = ("svg", "pdf", "png")


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 300) -> None:
    """Save a picture as SVG, PDF or PNG, by the extension of ``path``.

    ``dpi`` is the resolution of PNG. The file is written completely or not at all. It contains no
    date, so that the same picture gives the same bytes.

    Raises :class:`flashgc.ConfigError` for another extension, and :class:`OSError`, which names the
    file, if it cannot be written.

    >>> from flashgc.plot import Series, against, save
    >>> save(against([Series("a", [1, 2], [3, 4])], x_label="d"), "figure.gif")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: figure.gif: found '.gif', expected .svg, .pdf or .png; hint: name it \
figure.svg
    """
    from flashgc.plot.look import drawn

    name = os.fsdecode(path)
    if "\0" in name:
        raise ConfigError(f"path: found {name!r}, expected a file's name; hint: figure.svg")
    kind = check_ending(name)
    if not 10 <= dpi <= 2400:
        raise ConfigError(f"dpi: found {dpi}, expected 10 to 2400; hint: leave it out")
    _files.write(name, drawn(figure, kind, dpi=dpi))


def check_ending(name: str, what: str = "") -> str:
    """The format for a file's name; messages begin with ``what``."""
    stem, ending = os.path.splitext(name)
    kind = ending[1:].lower()
    if kind not in FORMATS:
        text = f"'{ending}'" if ending else "no ending"
        raise ConfigError(
            f"{what}{name}: found {text}, expected .svg, .pdf or .png; hint: name it {stem}.svg"
        )
    return kind


def to_svg(figure: Figure, *, prefix: str, label: str | None = None) -> str:
    """A picture as an ``<svg>`` element for a page of HTML.

    Every id in it begins with ``prefix``, which must differ between the pictures of a page.
    ``label`` describes the picture for readers who cannot see it.

    Raises :class:`flashgc.ConfigError` if ``prefix`` cannot begin an id.

    >>> from flashgc.plot import Series, against, to_svg
    >>> figure = against([Series("a", [1, 2], [3, 4])], x_label="d")
    >>> to_svg(figure, prefix="fig1", label="a over d")[:45]
    '<svg role="img" aria-label="a over d" id="fig'
    """
    from flashgc.foreign import for_html
    from flashgc.plot.look import drawn

    if not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
        raise ConfigError(f"prefix: found '{prefix}', expected a word; hint: fig1")
    whole = drawn(figure, "svg", salt=prefix).decode()
    text = whole[whole.index("<svg ") :]
    text = re.sub(r" *<metadata>.*?</metadata>\n", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    # Its only style rule would otherwise apply to the whole page.
    text = text.replace('<style type="text/css">*{', f'<style type="text/css">#{prefix} *{{')
    role = f'role="img" aria-label="{for_html(label)}"' if label else 'role="img"'
    return f'<svg {role} id="{prefix}"{text.removeprefix("<svg")}'.rstrip() + "\n"
