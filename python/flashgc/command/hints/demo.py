"""``flashgc hints demo``: what hints save, in a minute."""

from __future__ import annotations

import json

import click

from flashgc.command.entrance import CONTEXT, OK
from flashgc.command.hints.following import JSON, Seconds


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc hints demo
  flashgc hints demo --plot hints.png --seconds 120

\b
Needs root, FUSE, loop devices, fio, and a kernel with tracepoints. All files are
in a scratch folder, which the command removes at the end.""",
)
@click.option(
    "--seconds",
    type=Seconds(),
    default=40.0,
    help="Length of the load, half of it without hints. [default: 40]",
)
@click.option(
    "--plot",
    "picture",
    metavar="FILE",
    default="hints.svg",
    help="File for the picture: .svg, .pdf or .png. [default: hints.svg]",
)
@JSON
@click.option("--quiet", is_flag=True, help="Show no progress.")
def demo(seconds: float, picture: str, as_json: bool, quiet: bool) -> int:
    """Show what a drive saves when it begins to receive hints.

    A load overwrites a small drive through the page cache. In the middle, a follower of the page
    cache begins to tell the drive which pages will be overwritten. The picture shows the write
    amplification over time.
    """
    from flashgc._core import Control
    from flashgc.command.hints.following import summary
    from flashgc.command.output import draw
    from flashgc.device.live import demo
    from flashgc.device.pace import Pace, terminating
    from flashgc.plot.files import check_ending
    from flashgc.terminal.progress import Bars

    check_ending(picture, "--plot: ")
    with Bars(quiet=quiet) as bars, terminating():
        shown = demo.run(seconds, Pace(bars.show, Control()))
    draw(lambda: demo.draw(shown), picture, measured=True, quiet=quiet)
    if as_json:
        click.echo(json.dumps({**shown.to_dict(), "picture": picture}))
    else:
        summary([*demo.describe(shown), ("picture", picture)])
    return OK
