"""The options of a stored drive: the options of ``run`` that apply to it, and its own options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc._core import ConfigError
from flashgc._origins import Given
from flashgc.command.common import F, with_options
from flashgc.command.declaring import adds, options_of
from flashgc.command.options import GroupedCommand, _Option, asked
from flashgc.device import realtime
from flashgc.device.making import DURABILITIES, FRONTIER, OPTIONS, Plan, configuration, plan
from flashgc.options import PATHS

if TYPE_CHECKING:
    from flashgc.device.serving import Fronts

#: The keywords of the drive's own options.
OWN = ("durability", "journal")


def drive_options(command: F) -> F:
    """Add the options that make a drive."""
    return with_options(
        _own_options(command), [_DriveOption(PATHS[path], several=False) for path in OPTIONS]
    )


@adds(durability=DURABILITIES)
def _own_options(durability: str, journal: str | None) -> None:
    """Options of a stored drive that no experiment has.

    Options:
      --durability WORD
          Event that flushed data survive: the end of the process (process), a loss of power
          (power), or only a clean shutdown (none). [default: process]
      --journal SIZE
          Size of the journal in the file. [default: 64MiB]
    """


class _DriveOption(_Option):
    """An option of an experiment, with the default of a stored drive in its help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The two columns of the help."""
        record = super().get_help_record(ctx)
        if record is None or self.option.path != "gc.frontier":
            return record

        first, text = record
        return first, f"{text.rpartition(' [default: ')[0]} [default: {FRONTIER}]"


def planned(experiment: Path | None, typed: dict[str, Any]) -> Plan:
    """The plan of the drive from an experiment file and options."""
    own = {name: typed.pop(name) for name in OWN}
    return plan_of(asked(experiment, typed), own)


def plan_of(given: Given, own: dict[str, Any]) -> Plan:
    """The plan of the drive from the values in ``given`` and the drive's ``own`` options."""
    places = {**given.places, "durability": "--durability", "journal": "--journal"}
    return plan(given.values, places, python=given.python, **own)


class RealtimeCommand(GroupedCommand):
    """A command that serves a drive, optionally with a clock."""

    timed = "With --realtime"


def realtime_options(*, with_drive: bool) -> Callable[[F], F]:
    """Add ``--realtime``, the options that need it, and the options of the timed drive.

    ``with_drive`` is true if the command already has options of a drive and of its past.
    """
    names = {"realtime", "slower", "hints", *(() if with_drive else ("aged",))}
    parameters: list[click.Parameter] = [
        _Option(PATHS[path], several=False)
        for path in realtime.OPTIONS
        if not (with_drive and path in OPTIONS)
    ]
    parameters += [option for option in options_of(_realtime) if option.name in names]
    return lambda command: with_options(command, parameters)


def _realtime(realtime: bool) -> None:
    """Options of a drive that answers as a timed one would.

    Options:
      --realtime
          Answer each request when a timed drive of the same size and policies would. Needs --device
          or --times.
      --slower FACTOR
          Slow the time of --realtime down by this factor, for a drive that is too fast for this
          host: 4x. [default: 1x]
      --aged FACTOR|TRACE
          Overwrite the data of the --realtime drive this many times, at random, before its clock
          starts: 2x. Or let it execute the requests of TRACE, a recording of the drive since it was
          made. [default: 0x]
      --hints WAY
          How the --realtime drive gets hints of the host: perfect (at once, without a command),
          piggyback (on the reads and writes that follow), command or dsm (commands that take the
          drive time), with the parameters of flashgc run --hints. [default: perfect]
    """


@adds()
def past_options() -> None:
    """The past of a drive that is made.

    Options:
      --fill SHARE
          Give this share of the drive data, as if it had been used before. They are zeros and take
          no room. [default: 0%; with --aged 100%]
      --aged FACTOR|WORKLOAD|TRACE
          Overwrite these data: a number of times at random (3x), as a workload of flashgc run does
          until write amplification settles (hotcold:r=0.2,f=0.8), or as the requests of a
          recording. [default: 0x]
    """


@dataclass(frozen=True)
class Clocked:
    """The options of a clock. The clock is made when the configuration of the drive is known."""

    values: dict[str, dict[str, Any]]
    places: dict[str, str]
    slower: str | None
    aged: str | None
    hints: str | None

    def __call__(self, read: Mapping[str, Any]) -> realtime.Clock:
        """Make the clock for a drive with the configuration ``read``."""
        return realtime.clock(
            read,
            self.values,
            self.places,
            slower=self.slower,
            aged=self.aged,
            hints=self.hints,
        )


def clocked(
    given: Given, *, is_on: bool, slower: str | None, aged: str | None, hints: str | None
) -> Clocked | None:
    """The options of a clock, if one is requested; its values are removed from ``given``."""
    values: dict[str, dict[str, Any]] = {}
    for path in realtime.OPTIONS:
        section, key = path.split(".")
        keys = given.values.get(section, {})
        if not isinstance(keys, dict) or key not in keys:
            continue
        if path not in OPTIONS:
            if not is_on:
                where = given.places.get(path, key)
                if path == "drive.page_size":
                    continue
                raise ConfigError(f"{where} applies with --realtime; hint: give both or none")
            values.setdefault(section, {})[key] = keys.pop(key)
        elif is_on:
            # The superblocks are those of the flash that gives the times.
            is_of_flash = path == "drive.superblock"
            values.setdefault(section, {})[key] = keys.pop(key) if is_of_flash else keys[key]
    if is_on:
        return Clocked(values, given.places, slower, aged, hints)
    for name, value in (("slower", slower), ("aged", aged), ("hints", hints)):
        if value is not None:
            raise ConfigError(f"--{name} applies with --realtime; hint: give both or none")
    return None


@adds()
def serving_options(listen_anywhere: bool, record: Path | None) -> None:
    """The ways in which hosts reach a drive.

    Options:
      --nbd ADDRESS
          Serve the NBD protocol at HOST:PORT or unix:PATH.
      --nvme-tcp ADDRESS
          Serve an NVMe drive over TCP at HOST:PORT[,block=512], for nvme connect.
      --http ADDRESS
          Show the drive on a web page at HOST:PORT, or at PORT for this machine only.
      --listen-anywhere
          Let --nbd, --nvme-tcp and --http have addresses that other machines can reach. Nothing
          protects the drive there: no authentication, no encryption.
      --record FILE
          Record all requests into a trace, for flashgc run: .flashgc, optionally followed by .zst
          or .gz.
    """


def addresses_of(typed: dict[str, Any]) -> dict[str, Any]:
    """Remove from ``typed`` the addresses at which a drive is to be served, and return them.

    Print a warning about addresses that nothing protects, even with ``--quiet``.
    """
    from flashgc.device.listening import check

    given = {name: typed.pop(name) for name in ("nbd", "nvme_tcp", "http")}
    anywhere = typed.pop("listen_anywhere")
    flags = {f"--{name.replace('_', '-')}": address for name, address in given.items()}
    warning = check(flags, anywhere=anywhere)
    if warning is not None:
        click.echo(warning, err=True)
    return {**given, "listen_anywhere": anywhere}


def existing_drive_options(command: F) -> F:
    """Add the options for serving an existing drive, except for its mount point."""
    for adding in (_quiet, realtime_options(with_drive=False), _existing, serving_options):
        command = adding(command)
    return command


@adds()
def _quiet(quiet: bool) -> None:
    """Silence.

    Options:
      --quiet, -q
          Print only the warnings about what is not protected.
    """


@adds()
def _existing(allow_python: bool) -> None:
    """Options of a drive that is there.

    Options:
      --user NAME
          Run the server as this user, when root starts it. [default: the owner of FILE; if root
          owns it, flashgc or nobody]
      --durability WORD
          Durability for this time, instead of the one that the drive was made with: process, power
          or none.
      --allow-python
          Let the Python policy that FILE names run with your rights. Its file must be yours or
          root's, and only its owner may write it.
    """


def fronts_of(file: Path, typed: dict[str, Any], fuse: Path | None = None) -> Fronts:
    """The front ends of the drive in ``file``; their options are removed from ``typed``."""
    from flashgc.device.serving import Fronts

    given = addresses_of(typed)
    given |= {name: typed.pop(name) for name in ("record", "durability", "allow_python")}
    timing = {name: typed.pop(name) for name in ("slower", "aged", "hints")}
    is_on = typed.pop("realtime")
    clock = clocked(asked(None, typed), is_on=is_on, **timing)
    speeds = None if clock is None else clock(configuration(file))
    return Fronts(fuse=fuse, **given, clock=speeds)
