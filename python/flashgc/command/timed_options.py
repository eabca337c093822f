"""The options of drives with a clock, and a command that lists them apart from the others."""

from __future__ import annotations

import click

from flashgc.command.option import Option, names
from flashgc.registry import arrivals
from flashgc.timed import devices

#: The option that chooses such a drive.
DRIVE = Option(
    "drive.kind",
    "--drive",
    "WORD",
    "counting: page programs; timed: with a clock, channels and queues. [default: counting]",
    words=lambda: ["counting", "timed"],
)

YES_NO = ["yes", "no"]

TIMED = (
    Option(
        "drive.device",
        "--device",
        "NAME",
        "Preset for what is not given: pgc-slc, jasmine-4, jasmine-16, slc, mlc, tlc, qlc; see "
        "flashgc policies.",
        words=lambda: [device.name for device in devices()],
    ),
    Option("drive.channels", "--channels", "N", "Channels, each with a bus. [default: 1]"),
    Option("drive.ways", "--ways", "N", "Packages a channel. [default: 1]"),
    Option("drive.dies", "--dies", "N", "Dies a package. [default: 1]"),
    Option("drive.planes", "--planes", "N", "Planes a die. [default: 1]"),
    Option(
        "drive.striping",
        "--striping",
        "ORDER",
        "Plane of a page: an order of Channel, Way, Die and Plane, the first varying fastest, or "
        "dynamic: the die with the least to do. [default: CWDP]",
        words=lambda: ["CWDP", "PDWC", "dynamic"],
    ),
    Option(
        "drive.scheduling",
        "--scheduling",
        "WORD",
        "Next request of a die: fifo, reads-first. [default: fifo]",
        words=lambda: ["fifo", "reads-first"],
    ),
    Option(
        "drive.multi_plane",
        "--multi-plane",
        "yes|no",
        "Operations of one kind at several planes of a die go together. [default: no]",
        words=lambda: YES_NO,
    ),
    Option(
        "drive.cache_commands",
        "--cache-commands",
        "yes|no",
        "Transfers overlap with the cells' work on operations of the same kind. [default: no]",
        words=lambda: YES_NO,
    ),
    Option(
        "drive.write_cache", "--write-cache", "SIZE", "Write cache: 64MiB, or pages. [default: 0]"
    ),
    Option(
        "drive.queue_depth",
        "--queue-depth",
        "N",
        "Requests that the drive works on at a time; others wait before it. [default: 256]",
    ),
    Option(
        "workload.arrivals",
        "--arrivals",
        "SPEC",
        "When requests come: poisson:rate=20000, periodic:mean=50us, gaps:gap=uniform:1ms:5ms, "
        "bursts:rate=50000,on=2ms,off=8ms, closed:threads=8,think=0us. [default: a trace's own "
        "times, or closed:threads=1]",
        words=names(arrivals),
    ),
    Option(
        "workload.rate_scale",
        "--rate-scale",
        "X",
        "Requests come so many times as fast. [default: 1]",
    ),
    Option(
        "workload.disorder",
        "--disorder",
        "WORD",
        "Times of a trace that go back: refuse, sort. [default: refuse]",
        words=lambda: ["refuse", "sort"],
    ),
    Option(
        "gc.preemption",
        "--preemption",
        "SPEC",
        "How collections give way: none; pgc (between flash operations) with +merge, +pipeline, "
        "+erase-suspend; suspend. [default: none]",
        several=True,
        words=lambda: ["none", "pgc", "pgc+merge", "pgc+merge+pipeline", "suspend"],
    ),
    Option(
        "gc.suspend",
        "--suspend",
        "TIMES",
        "What suspending takes: 20us, or suspend=20us,resume=0us,most=8,least-erase=700us,"
        "least-program=100us. [default: 20us]",
    ),
    Option(
        "gc.search",
        "--search",
        "TIME",
        "Time that the search of a victim holds its die. [default: 0us]",
    ),
    Option(
        "gc.poll",
        "--poll",
        "TIME",
        "A look into the queue at a preemption point. [default: 0us]",
    ),
    Option(
        "gc.collect_in",
        "--collect-in",
        "WORD",
        "What counts its erased blocks together and has one collection at a time: plane, die, "
        "channel, drive. [default: plane]",
        words=lambda: ["plane", "die", "channel", "drive"],
    ),
    Option(
        "gc.gc_low",
        "--gc-low",
        "N|SHARE",
        "Erased blocks at which collections start, a plane (2) or of all (5%). [default: 2]",
    ),
    Option(
        "gc.gc_high",
        "--gc-high",
        "N|SHARE",
        "Erased blocks above which they stop. [default: --gc-low]",
    ),
    Option(
        "gc.gc_hard",
        "--gc-hard",
        "N|SHARE",
        "Erased blocks below which writes wait. [default: 0]",
    ),
    Option(
        "gc.idle",
        "--idle",
        "SPEC",
        "Collections of idle dies: below=10%,after=1ms. [default: none]",
    ),
    Option(
        "gc.copy_back",
        "--copy-back",
        "yes|no",
        "Pages are moved inside their die, without the bus. [default: no]",
        words=lambda: YES_NO,
    ),
    Option(
        "gc.holds_unit",
        "--holds-unit",
        "yes|no",
        "A collection without preemption holds all dies of its unit. [default: no]",
        words=lambda: YES_NO,
    ),
    Option(
        "run.resolution",
        "--resolution",
        "TIME",
        "Slices of what goes on over time. [default: so that there are 256 to 512]",
    ),
    Option(
        "run.timeline",
        "--timeline",
        "FILE",
        "Write single operations of the first run to FILE: .json for ui.perfetto.dev, or a picture "
        "as .svg, .pdf or .png.",
    ),
    Option(
        "run.window",
        "--window",
        "FROM:TO",
        "The time that --timeline shows. [default: 0ms:50ms]",
    ),
)

_PATHS = {option.path.replace(".", "__") for option in TIMED}


class GroupedCommand(click.Command):
    """A command that lists the options of drives with a clock under a heading of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options in two groups."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], "With --drive timed": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                timed = parameter.name in _PATHS
                groups["With --drive timed" if timed else "Options"].append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)
