"""``flashgc hints demo``: shows the effect of hints in a minute."""

from __future__ import annotations

import json

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.command.hints.following import Seconds


@command(seconds={"type": Seconds()})
def demo(seconds: float, picture: str, as_json: bool, quiet: bool) -> int:
    r"""Show what a drive saves when it begins to receive hints.

    A load overwrites a small drive through the page cache. In the middle, a follower of the page
    cache begins to tell the drive which pages will be overwritten. The picture shows the write
    amplification over time.

    Options:
      --seconds
          Length of the load, half of it without hints. [default: 40]
      --plot FILE as picture
          File for the picture: .svg, .pdf or .png. [default: hints.svg]
      --json as as_json
          One JSON document per line on stdout.
      --quiet
          Show no progress.

    Examples:
      flashgc hints demo
      flashgc hints demo --plot hints.png --seconds 120

    \b
    Needs root, FUSE, loop devices, fio, and a kernel with tracepoints. All files are
    in a scratch folder, which the command removes at the end.
    """
    from flashgc._core import Control
    from flashgc.command.hints.following import summary
    from flashgc.command.output import Output
    from flashgc.device.live import demo
    from flashgc.device.pace import Pace, terminating
    from flashgc.plot.files import check_ending
    from flashgc.terminal.progress import Bars

    check_ending(picture, "--plot: ")
    with Bars(quiet=quiet) as bars, terminating():
        shown = demo.run(seconds, Pace(bars.show, Control()))
    Output(quiet=quiet, picture=picture).draw(lambda: demo.draw(shown))
    if as_json:
        click.echo(json.dumps({**shown.to_dict(), "picture": picture}))
    else:
        summary([*demo.describe(shown), ("picture", picture)])
    return OK
