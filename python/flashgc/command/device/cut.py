"""``flashgc device cut-test``: power cuts for a command, and checks of its acknowledgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flashgc._core import ConfigError, Control
from flashgc._documents import dumps
from flashgc.command.declaring import command
from flashgc.command.ended import until_stopped
from flashgc.command.entrance import BROKEN, INTERRUPTED, OK
from flashgc.terminal.progress import Bars
from flashgc.terminal.render import console, facts
from flashgc.terminal.render import show as print_
from flashgc.units import format_count as n
from flashgc.units import format_duration, format_share, parse_count

if TYPE_CHECKING:
    from flashgc.device.cutting.running import Outcome, Smallest


@command(
    context={"ignore_unknown_options": False, "allow_interspersed_args": False},
    fs=("ext4", "xfs", "btrfs"),
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def cut_test(
    command: tuple[str, ...],
    check: str,
    cuts: str,
    timeout: str,
    seed: str,
    fs: str,
    capacity: str | None,
    keep: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    r"""Run COMMAND on a recorded drive, cut the power again and again, and check its promises.

    The command runs once. Each cut makes the drive as a loss of power may leave it: writes since
    the last flush are lost, reordered or torn at 4 KiB. The file system is mounted again, and the
    check runs. The smallest cut that breaks a promise is shown.

    Options:
      --check 'COMMAND'
          Shell command that looks at the files after a cut; exit code 0 if all is there.
      --cuts N
          Number of power cuts. [default: 200]
      --timeout TIME
          Time for one check; a longer one breaks a promise. [default: 60s]
      --seed S
          Seed of the cuts. [default: 1]
      --fs WORD
          File system to make: ext4, xfs or btrfs. [default: ext4]
      --capacity SIZE
          Physical size of the drive. [default: 256MiB; for xfs 400MiB]
      --keep DIR
          Keep the recording and the results in DIR. A second call with the same DIR goes on.
      --json
      --quiet, -q
          No progress.

    Examples:
      flashgc device cut-test --check "python $PWD/cut_wrong.py check" \
        -- python $PWD/cut_wrong.py folder
      flashgc device cut-test --cuts 1000 --keep runs --check "sh $PWD/check.sh" \
        -- sh $PWD/work.sh

    The command's working directory is the new file system, and so is its TMPDIR. It
    writes a line into the file $FLASHGC_ACK after each promise, for example
    "acknowledged 17". The check runs by sh in the same folder after the cut.
    $FLASHGC_ACKED is a file with the lines before the cut, $FLASHGC_LAST the last
    one. Its exit code is 0 if every promise holds, and may say which one does not.

    The exit code is 3 if a promise was broken. Ctrl-C ends the cuts and keeps the
    results so far. Needs root, FUSE and loop devices.
    """
    from flashgc.checkpoints import parse_time
    from flashgc.device.cutting import running
    from flashgc.device.cutting.keeping import Request
    from flashgc.device.cutting.recording import CAPACITIES

    wanted = parse_count(cuts, "--cuts")
    if wanted < 1:
        raise ConfigError(f"--cuts: found {wanted}, expected at least 1; hint: 200")
    seconds = parse_time(timeout)
    if not seconds:
        raise ConfigError(f"--timeout: found {timeout}, expected a time; hint: 60s")
    size = capacity or CAPACITIES.get(fs, "")
    request = Request(list(command), check, fs, size, parse_count(seed, "--seed"))
    control = Control()
    with until_stopped(control), Bars(quiet=quiet) as bars:
        done = running.run(request, wanted, keep, bars.show, control, seconds)
    if as_json:
        click.echo(dumps(done.to_dict()))
    else:
        show(done, keep)
    if done.broken:
        return BROKEN
    return INTERRUPTED if done.stopped else OK


def show(done: Outcome, keep: Path | None) -> None:
    """Prints the outcome of a run of cuts."""
    out = console()
    share = format_share(done.broken / done.done) if done.done else "0%"
    of = "" if done.done == done.wanted else f" of {n(done.wanted)}, stopped early"
    rows = [
        ("command", " ".join(done.asked.command)),
        ("time", f"{format_duration(done.seconds)}, {n(done.acknowledged)} lines acknowledged"),
        (
            "drive",
            f"{done.asked.capacity} for {done.asked.filesystem}: {n(done.commands)} commands, "
            f"{n(done.flushes)} flushes among them",
        ),
        (
            "cuts",
            f"{n(done.done)}{of}: {_uncut(done)}; seed {done.asked.seed}",
        ),
        ("broken", f"{n(done.broken)} of them ({share})" if done.broken else "none"),
        *(("", f"{n(count)}: {why}") for why, count in done.found.items()),
    ]
    if not done.broken:
        rows.append(("holds for", f"{done.asked.filesystem} of {done.kernel}, and this run"))
    if done.resumed:
        rows.insert(4, ("earlier", f"{n(done.resumed)} of these cuts were done before, in {keep}"))
    print_(out, facts(out, rows))
    if done.smallest is not None:
        out.print()
        print_(out, facts(out, _smallest(done.smallest)))
        for line in done.smallest.said.splitlines():
            out.print(f"  {line}", markup=False, highlight=False)


def _uncut(done: Outcome) -> str:
    """A text with the number of flushes at which no cut was tried."""
    if not done.flushes_uncut:
        return "each flush had one"
    empty = f", {n(done.flushes_empty)} of them with nothing to make durable"
    return (
        f"{n(done.flushes_uncut)} of {n(done.flushes)} flushes had no cut"
        f"{empty if done.flushes_empty else ''}"
    )


def _smallest(cut: Smallest) -> list[tuple[str, str]]:
    what = "at a flush, " if cut.is_at_flush else ""
    last = f", the last one '{cut.last}'" if cut.acknowledged else ""
    lost = f"{n(cut.lost)} of {n(cut.pieces)} pieces since the last flush"
    if not cut.lost:
        lost += ": the drive has all that it was given"
    if cut.named:
        more = ", ..." if cut.lost > len(cut.named) else ""
        lost += f": {', '.join(cut.named)}{more}"
    rows = [
        ("smallest cut", f"number {cut.number}, {what}behind {n(cut.given)} commands"),
        ("acknowledged", f"{n(cut.acknowledged)} lines{last}"),
        ("lost", lost),
        ("found", cut.why),
    ]
    if cut.image is not None:
        rows.append(("drive", f"{cut.image}: flashgc device up mounts it"))
    return rows
