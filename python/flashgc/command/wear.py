"""``flashgc wear``: the cost of a real drive's writes, from its logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.entrance import BROKEN, OK
from flashgc.command.output import Output

if TYPE_CHECKING:
    from flashgc.logs.outcome import Wear
    from flashgc.logs.reading import Readings
    from flashgc.progress import Show


def _folder(_context: Any, parameter: Any, value: str | None) -> str | None:
    if value is not None and not value:
        raise ConfigError(f"{parameter.opts[0]}: the name is empty; hint: give a folder")
    return value


@command(keep={"callback": _folder})
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
def wear(
    logs: tuple[str, ...],
    capacity: str | None,
    spare: str | None,
    rated: str | None,
    workload: str | None,
    budget: str | None,
    wait: str | None,
    keep: str | None,
    prometheus: bool,
    output: Output,
) -> int:
    r"""Say what the writes of a real drive cost, from logs of one drive at two or more times.

    LOG is a file, a folder of files, or a drive such as /dev/nvme0. The command reads the JSON and
    the text of nvme smart-log, ocp smart-add-log, fdp stats, endurance-log, id-ctrl, intel and
    solidigm smart-log-add, of smartctl and of flashgc device stat, raw log pages, and tables (CSV).
    Logs of one time belong together. A log's time is the one in it, or behind its name
    (FILE=2026-11-30T12:00), or that of the file's last change.

    A drive is read with the programs nvme and smartctl, which must be installed. Nothing is
    written to it.

    Options:
      --capacity SIZE
          Capacity of the drive, if no log has it.
      --spare SHARE
          Share of the flash beyond the capacity, for the predictions.
      --rated SIZE
          Bytes that the data sheet lets the host write, such as 1400TB.
      --workload TEXT
          Simulate the changes for a host that writes TEXT: uniform, 80/20 (80% of the writes to 20%
          of the pages), zipf:theta=0.9 or another generator. By default they are from models.
      --budget LIMITS
          Limits, such as waf=2,dwpd=1,years=5. The exit code is 3 if one is surely broken.
      --wait TIME
          Read the drive a second time after TIME, such as 10min.
      --keep FOLDER
          Keep the logs of a drive in FOLDER, and compare them with those that it has.
      --prometheus
          Text for Prometheus on stdout.
      --plot
      --json
      --out
      --quiet

    Examples:
      flashgc wear before/*.json after/*.json
      flashgc wear monday.json=2026-11-30T12:00 tuesday.json=2026-12-01T12:00
      flashgc wear before after --workload 80/20
      flashgc wear table.csv --capacity 1920GB --plot wear.svg
      flashgc wear /dev/nvme0 --keep /var/lib/wear --budget waf=2,years=5
      flashgc wear /dev/nvme0 --keep /var/lib/wear --prometheus > /var/lib/node/wear.prom

    \b
    A row of a table has the counts of one time:
      time,host_bytes_written,media_bytes_written
      2026-11-30T12:00,351TB,512TB
    """
    from flashgc.command.show.wear import show_broken, show_wear
    from flashgc.logs import plot
    from flashgc.logs import prometheus as exposition
    from flashgc.terminal.progress import Bar

    if prometheus and output.as_json:
        raise ConfigError("--prometheus: found --json, too; hint: give one of them")
    options = {"capacity": capacity, "spare": spare, "rated": rated, "budget": budget,
               "workload": workload}  # fmt: skip
    with Bar(quiet=output.quiet, unit="values") as bar:
        outcome = _computed(_read(logs, wait, keep), options, bar.show)
    if prometheus:
        click.echo(exposition.text(outcome), nl=False)
        output.deliver(outcome.to_json())
    else:
        output.give(outcome, show_wear)
    output.warn(outcome.findings)
    output.draw(lambda: plot.over_time(outcome))
    if outcome.broken:
        show_broken(outcome)
        return BROKEN
    return OK


def _read(arguments: tuple[str, ...], wait: str | None, keep: str | None) -> Readings:
    """The readings of files, and of a drive: now, in a while, and those that were kept."""
    from flashgc.logs import drive
    from flashgc.logs.reading import logs_in, logs_of_text, together

    drives = [argument for argument in arguments if drive.is_drive(argument)]
    if len(drives) > 1:
        raise ConfigError(f"LOG: found {len(drives)} drives, expected one; hint: one at a time")
    pause = 0.0
    for name, value in (("--wait", wait), ("--keep", keep)):
        if value is not None and not drives:
            raise ConfigError(f"{name}: found no drive; hint: give a drive such as /dev/nvme0")
    if wait is not None:
        pause = _pause(wait)
    logs = [log for name in arguments if name not in drives for log in logs_in(name)]
    for name in drives:
        for number in range(1 if wait is None else 2):
            if number:
                time.sleep(pause)
            document = drive.logged(name)
            if keep is not None:
                if not number:
                    logs += [log for each in drive.kept_before(document, keep)
                             for log in logs_in(each)]  # fmt: skip
                drive.keep(document, keep)
            logs += logs_of_text(name, drive.text(document))
    return together(logs)


def _pause(text: str) -> float:
    from flashgc.checkpoints import parse_time

    seconds = parse_time(text)
    if seconds is None or not 1 <= seconds <= 7 * 86_400:
        raise ConfigError(f"--wait: found '{text}', expected 1s to 7 days; hint: 10min")
    return seconds


def _computed(read: Readings, options: dict[str, str | None], show: Show) -> Wear:
    """The result; messages name options as typed."""
    from flashgc.logs.compute import of_readings

    try:
        return of_readings(read, **options, show=show)
    except ConfigError as fault:
        name = str(fault).partition(":")[0]
        raise ConfigError(f"--{fault}" if name in options else str(fault)) from None
