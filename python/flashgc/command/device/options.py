"""The options that make a stored drive: those of ``run`` that a drive keeps, and its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flashgc.command.options import F, _Option, asked, complete
from flashgc.device.making import DURABILITIES, OPTIONS, Plan, plan
from flashgc.options import PATHS

#: Its own options, by the names of the keywords.
OWN = ("durability", "journal")


def drive_options(command: F) -> F:
    """Adds the options that make a drive."""
    made: list[click.Parameter] = [_DriveOption(PATHS[path], several=False) for path in OPTIONS]
    made += [
        click.Option(
            ["--durability"],
            metavar="WORD",
            default="process",
            shell_complete=complete(lambda: DURABILITIES),
            help="What flushed data survive: the end of the process (process), a loss of power "
            "(power), or only a clean shutdown (none). [default: process]",
        ),
        click.Option(
            ["--journal"],
            metavar="SIZE",
            help="Size of the journal in the file. [default: 64MiB]",
        ),
    ]
    parameters: list[click.Parameter] = getattr(command, "__click_params__", [])
    parameters.extend(reversed(made))
    command.__click_params__ = parameters  # type: ignore[attr-defined]
    return command


class _DriveOption(_Option):
    """An option of an experiment, with what a stored drive makes of it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The two columns of the help."""
        record = super().get_help_record(ctx)
        if record is None or self.option.path != "gc.frontier":
            return record
        from flashgc.device.making import FRONTIER

        first, text = record
        return first, f"{text.rpartition(' [default: ')[0]} [default: {FRONTIER}]"


def planned(experiment: Path | None, typed: dict[str, Any]) -> Plan:
    """The drive that was asked for, by an experiment file and options."""
    own = {name: typed.pop(name) for name in OWN}
    given = asked(experiment, typed)
    places = {**given.places, "durability": "--durability", "journal": "--journal"}
    return plan(given.values, places, python=given.python, **own)


#: How hosts reach a drive: the options of ``serve`` that ``up`` and ``exec`` have too.
def serving_options(command: F) -> F:
    """Adds ``--nbd``, ``--http`` and ``--record``."""
    options: list[Callable[[F], F]] = [
        click.option(
            "--nbd",
            metavar="ADDRESS",
            help="Serve the NBD protocol at HOST:PORT or unix:PATH.",
        ),
        click.option(
            "--http",
            metavar="ADDRESS",
            help="Show the drive on a page at HOST:PORT, or at PORT for this machine alone.",
        ),
        click.option(
            "--record",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Record all requests into a trace, for flashgc run: .flashgc, perhaps followed "
            "by .zst or .gz.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def durability_option(command: F) -> F:
    """Adds ``--durability`` of a drive that is there."""
    return click.option(
        "--durability",
        metavar="WORD",
        help="What flushed data survive, in place of what the drive was made with.",
    )(command)
