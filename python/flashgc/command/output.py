"""Options that name a file: what cannot be written is refused before the work starts."""

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
        from flashgc.plot.files import check_ending

        place = parameter.opts[0]
        _files.check(value, place, "figure.svg")
        check_ending(value, f"{place}: ")
    return value


def table(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option that names a table: refuses a form that there is not, too."""
    if value is not None:
        from flashgc import tables

        tables.check(value, parameter.opts[0])
    return value


#: Kinds of pictures of wear, and what in :mod:`flashgc.plot` draws each.
WEAR = {"histogram": "wear_histogram", "evolution": "wear_evolution", "survival": "survival"}
#: All kinds of pictures of simulated drives.
KINDS = ("amplification", *WEAR)
#: Kinds of pictures that need blocks with an endurance.
_MORTAL = ("evolution", "survival")


def kind(
    command: str | None, picture: str | None, configs: Sequence[Mapping[str, Any]], usual: str
) -> str:
    """The kind of picture that was asked for, checked before the work.

    Without one, it is ``usual`` where drives live until a failure, and else ``amplification``.
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
    """Says how many of the results were found; raises :class:`OSError` where one was not kept."""
    if keeping is None:
        return
    if keeping.found and not quiet:
        which = "found" if keeping.found == results else f"{keeping.found} of {results} found"
        click.echo(f"{which} in {keeping.path}", err=True)
    if keeping.error is not None:
        raise keeping.error


def draw(make: Callable[[], Figure], name: str | None, *, measured: bool, quiet: bool) -> None:
    """Makes and writes the picture that was asked for, if one was and there is what to draw."""
    if name is None:
        return
    import logging

    from flashgc.plot.files import save
    from flashgc.terminal.render import warn

    if not measured:
        warn(f"{name} was not drawn: nothing was measured", quiet=quiet)
        return
    # The first picture on a machine makes a list of its fonts, and matplotlib would say so.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        figure = make()
    except ConfigError as error:  # The results are there even if a picture of them cannot be.
        warn(f"{name} was not drawn: {error}", quiet=quiet)
        return
    save(figure, name)
