"""Options that name a file: what cannot be written is refused before the work starts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flashgc import _files
from flashgc.command.render import warn
from flashgc.plot.files import check_ending, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def option(example: str) -> Callable[[Any, Any, str | None], str | None]:
    """The callback of such an option: refuses a name that cannot be written.

    ``example`` is a name that would do.
    """

    def check(_context: Any, parameter: Any, value: str | None) -> str | None:
        if value is not None:
            _files.check(value, parameter.opts[0], example)
        return value

    return check


def picture(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option that names a picture: refuses a format that there is not, too."""
    if value is not None:
        place = parameter.opts[0]
        _files.check(value, place, "figure.svg")
        check_ending(value, f"{place}: ")
    return value


def draw(make: Callable[[], Figure], name: str | None, *, measured: bool, quiet: bool) -> None:
    """Makes and writes the picture that was asked for, if one was and there is what to draw."""
    if name is None:
        return
    if not measured:
        warn(f"{name} was not drawn: nothing was measured", quiet=quiet)
        return
    # The first picture on a machine makes a list of its fonts, and matplotlib would say so.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    save(make(), name)
