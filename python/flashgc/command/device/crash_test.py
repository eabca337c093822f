"""``flashgc device crash-test``: crashes a drive in many ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flashgc._core import ConfigError, Control, suggest
from flashgc.command.declaring import command
from flashgc.command.ended import until_stopped
from flashgc.command.entrance import FAILED, INTERRUPTED, OK
from flashgc.terminal.progress import Bars
from flashgc.units import format_count, format_duration, parse_count

if TYPE_CHECKING:
    from flashgc.device.campaign.report import Level


@command(seconds={"type": click.FloatRange(min=0.1)})
def crash_test(
    level: str,
    images: str | None,
    operations: str | None,
    kills: str | None,
    cuts: str | None,
    seconds: float,
    seed: str,
    fs: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Crash drives in many ways, and check that they keep what they promised.

    Flushed data must not be lost. A page must not be torn, older than its last flush, or another
    page's. Damage must be an error that the drive counts.

    Options:
      --level LEVEL[,LEVEL]
          Levels to run: images, fuzz, kill, files, databases, postgres, hints, or all of
          them. [default: all]
      --images N
          Number of images of the level images. [default: 100,000]
      --operations N
          Number of steps of the level fuzz. [default: 200,000]
      --kills N
          Number of servers that the level kill kills. [default: 50]
      --cuts N
          Number of cuts of each file system. [default: 50]
      --seconds S
          Seconds for the levels postgres and hints, and for each database. [default: 30]
      --seed S
          The first seed. [default: 1]
      --fs FS[,FS]
          File systems of the level files: ext4, xfs, btrfs. [default: ext4]
      --json
      --quiet, -q
          No progress.

    Examples:
      flashgc device crash-test
      flashgc device crash-test --level images --images 1000000
      flashgc device crash-test --level fuzz --seed 17 --operations 1e8
      flashgc device crash-test --level files --fs ext4,xfs,btrfs --cuts 300
      flashgc device crash-test --level postgres --seconds 600
      flashgc device crash-test --level hints --seconds 300

    The exit code is 1 if a promise was broken. Ctrl-C ends a level and keeps its
    results so far. The levels with file systems need root, FUSE and loop devices.
    Their mounts are removed when the command ends, or else when the next one begins.
    """
    import json

    from flashgc.device.campaign.levels import Sizes, campaign
    from flashgc.device.pace import Pace

    usual = Sizes()

    def count(text: str | None, option: str, otherwise: int) -> int:
        return otherwise if text is None else parse_count(text, option)

    sizes = Sizes(
        images=count(images, "--images", usual.images),
        operations=count(operations, "--operations", usual.operations),
        kills=count(kills, "--kills", usual.kills),
        cuts=count(cuts, "--cuts", usual.cuts),
        seconds=seconds,
    )
    levels = _levels(level)
    filesystems = _filesystems(fs)
    control = Control()

    def report(level: Level) -> None:
        if not as_json:
            bars.close()
            _show(level)

    with until_stopped(control), Bars(quiet=quiet) as bars:
        pace = Pace(bars.show, control)
        done = campaign(
            levels,
            sizes,
            pace,
            seed=parse_count(seed, "--seed"),
            filesystems=filesystems,
            report=report,
        )
    if as_json:
        documents = [level.to_dict() for level in done]
        document = {"seed": parse_count(seed, "--seed"), "levels": documents}
        click.echo(json.dumps(document, indent=2))
    if any(level.broken is not None for level in done):
        return FAILED
    return INTERRUPTED if any(level.stopped for level in done) else OK


def _levels(text: str) -> list[str]:
    from flashgc.device.campaign.levels import LEVELS

    if text == "all":
        return list(LEVELS)
    return _words(text, "--level", [*LEVELS, "all"])


def _filesystems(text: str) -> list[str]:
    from flashgc.device.mounts import MAKERS

    return _words(text, "--fs", list(MAKERS))


def _words(text: str, option: str, known: list[str]) -> list[str]:
    words = [word for word in text.split(",") if word]
    for word in words or [""]:
        if word not in known:
            raise ConfigError(f"{option}: found '{word}'; hint: {suggest(word, known)}")
    return words


def _show(level: Level) -> None:
    """Print the outcome of a level."""
    if level.skipped is not None:
        click.echo(f"{level.name}: not run: {level.skipped}")
        return
    what = "a promise is broken" if level.broken else "every promise kept"
    stopped = ", stopped early" if level.stopped else ""
    click.echo(f"{level.name}: {what} in {format_duration(level.seconds)}{stopped}")
    for name, count in level.counts.items():
        number = format_count(count) if isinstance(count, int) else count
        click.echo(f"  {name.replace('_', ' ')}: {number}")
    if level.broken is not None:
        click.echo(f"  seed {level.broken.seed}: {level.broken.what}")
        for step in level.broken.script:
            click.echo(f"    {step}")
