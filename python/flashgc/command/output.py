"""Callbacks of options that name a file: an impossible file is refused before the work starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from flashgc import _files
from flashgc._core import ConfigError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from flashgc.store.keeping import Keeping


def option(example: str) -> Callable[[Any, Any, str | None], str | None]:
    """Make the callback of an option for a file; it refuses a name that cannot be written.

    ``example`` is a valid name, for hints.
    """

    def check(_context: Any, parameter: Any, value: str | None) -> str | None:
        if value is not None:
            _files.check(value, parameter.opts[0], example)
        return value

    return check


def picture(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option for a picture; it also refuses unknown formats."""
    if value is not None:
        from flashgc.plot.files import check_ending

        place = parameter.opts[0]
        _files.check(value, place, "figure.svg")
        check_ending(value, f"{place}: ")
    return value


def table(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option for a table; it also refuses unknown formats."""
    if value is not None:
        from flashgc import tables

        tables.check(value, parameter.opts[0])
    return value


#: Kinds of pictures of wear, and the function of :mod:`flashgc.plot` for each.
WEAR = {"histogram": "wear_histogram", "evolution": "wear_evolution", "survival": "survival"}
#: All kinds of pictures of simulated drives.
KINDS = ("amplification", *WEAR)
#: Kinds of pictures that need blocks with an endurance.
_MORTAL = ("evolution", "survival")


def kind(
    command: str | None, picture: str | None, configs: Sequence[Mapping[str, Any]], usual: str
) -> str:
    """The kind of picture to draw, checked before the work.

    By default it is ``usual`` if drives live until a failure, and otherwise ``amplification``.
    """
    mortal = all(config.get("endurance") for config in configs)
    if command is None:
        dying = all("until" in config["length"] for config in configs)
        return usual if mortal and dying else "amplification"
    if command not in KINDS:
        raise ConfigError(
            f"--plot-kind: unknown kind '{command}'; hint: {suggest(command, [*KINDS])}"
        )
    if picture is None:
        raise ConfigError("--plot-kind: there is no picture; hint: give --plot FILE as well")
    if command in _MORTAL and not mortal:
        raise ConfigError(
            f"--plot-kind: {command} needs an endurance, found none; hint: give --endurance 1000"
        )
    return command


def say_kept(keeping: Keeping | None, results: int, *, quiet: bool) -> None:
    """Print how many results were found; raises :class:`OSError` if one was not stored."""
    if keeping is None:
        return
    if keeping.found and not quiet:
        which = "found" if keeping.found == results else f"{keeping.found} of {results} found"
        click.echo(f"{which} in {keeping.path}", err=True)
    if keeping.error is not None:
        raise keeping.error


def draw(make: Callable[[], Figure], name: str | None, *, measured: bool, quiet: bool) -> None:
    """Draw and write the picture, if one is requested and there are results."""
    if name is None:
        return
    import logging

    from flashgc.plot.files import save
    from flashgc.terminal.render import warn

    if not measured:
        warn(f"{name} was not drawn: nothing was measured", quiet=quiet)
        return
    # For its first picture on a machine, matplotlib makes a list of fonts and logs that.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        figure = make()
    except ConfigError as error:  # The results are valid without their picture.
        warn(f"{name} was not drawn: {error}", quiet=quiet)
        return
    save(figure, name)
