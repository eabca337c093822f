"""``flashgc device create``: makes a drive in a new file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashgc._documents import dumps
from flashgc.command.declaring import command
from flashgc.command.device.options import drive_options, past_options, planned
from flashgc.command.entrance import OK
from flashgc.command.options import GroupedCommand
from flashgc.units import format_count as n
from flashgc.units import format_size


@command(cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("experiment", required=False, type=click.Path(path_type=Path))
@drive_options
@past_options
def create(
    file: Path,
    experiment: Path | None,
    fill: str | None,
    aged: str | None,
    as_json: bool,
    **typed: Any,
) -> int:
    """Make a drive in FILE: an empty one, or one with a past.

    EXPERIMENT is a TOML file with the sections [drive] and [gc]; options override it.

    Options:
      --json

    Examples:
      flashgc device create drive.flash --capacity 8GiB --spare 7% --victim greedy
      flashgc device create drive.flash --scheme zgc-gd --durability power
      flashgc device create aged.flash --capacity 4GiB --fill 72% --aged uniform

    The file is sparse: it takes room on the disk only as the drive is written.
    """
    from flashgc.device import trust
    from flashgc.device.past import make, past

    if file.absolute().parent.is_dir():
        # Root could not serve the drive from a folder that others can change.
        trust.check_folder(file.absolute().parent, is_parent=True)
    plan = planned(experiment, typed)
    behind = past(fill, aged)
    if behind is None:
        facts = plan.create(file)
    else:
        facts, done = make(plan, behind, file)
        facts = {**facts, "past": done}
    if as_json:
        click.echo(dumps({"file": str(file), **facts}))
    else:
        show_made(str(file), facts)
    return OK


def show_made(name: str, figures: dict[str, Any]) -> None:
    """Print the configuration of a drive."""
    from flashgc.device.options_of import pages_with_parity
    from flashgc.device.past import in_words
    from flashgc.terminal.render import console, facts, show

    out = console()
    together = figures["blocks_together"]
    whole = f"{n(figures['blocks'])} superblocks of {n(together)} blocks"
    if figures["parity"] is not None:
        _, stripe, _ = figures["parity"]
        whole += f", {n(together // stripe)} of them parity,"
    rows = [
        ("drive", name),
        (
            "capacity",
            f"{format_size(figures['capacity_bytes'])} for the host, of "
            f"{format_size(figures['physical_bytes'])}: "
            f"{whole if together > 1 else n(figures['blocks']) + ' blocks'} of "
            f"{n(pages_with_parity(figures) // together)} pages of 4 KiB",
        ),
        ("victim", figures["policies"]["victim"]),
        ("placement", figures["policies"]["placement"]),
        ("durability", figures["durability"]),
        *([("past", in_words(figures["past"]))] if "past" in figures else []),
    ]
    show(out, facts(out, rows))
