"""``flashgc device exec``: a command on a fresh drive, and what it did to the flash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc.command.common import JSON
from flashgc.command.device.options import (
    OWN,
    RealtimeCommand,
    check_addresses,
    clocked,
    drive_options,
    plan_of,
    realtime_options,
    serving_options,
    user_option,
)
from flashgc.command.device.up import filesystem_options, mount_words
from flashgc.command.entrance import CONTEXT
from flashgc.command.options import Named, asked

if TYPE_CHECKING:
    from flashgc.device.execution import Executed
    from flashgc.device.replaying import Replayed


#: Percentiles that are shown, by their keys.
PERCENTILES = (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))


@click.command(
    "exec",
    cls=RealtimeCommand,
    context_settings={**CONTEXT, "ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  flashgc device exec -- fio --name=w --rw=randwrite --size=200m --loops=5
  flashgc device exec --fs xfs --capacity 2GiB --victim greedy -- ./benchmark.sh
  flashgc device exec --compare greedy,d-choices,cost-benefit -- ./benchmark.sh
  flashgc device exec --record writes.flashgc.zst -- make -j4
  flashgc device exec --realtime --device mlc --preemption pgc -- ./benchmark.sh

The command's working directory is the new file system, and so is its TMPDIR.
flashgc exits with its exit code. Needs root, FUSE and loop devices.""",
)
@drive_options
@realtime_options(with_drive=True)
@filesystem_options
@serving_options
@user_option
@click.option(
    "--keep",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep the drive in FILE. [default: a temporary file]",
)
@click.option(
    "--experiment",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Experiment file with the sections [drive] and [gc]; options override it.",
)
@click.option(
    "--allow-python",
    is_flag=True,
    help="Let the Python policy that --experiment names run with your rights.",
)
@click.option(
    "--compare",
    "policies",
    metavar="POLICY,POLICY",
    help="Replay the writes on drives with these victim policies or GC presets, and rank them.",
)
@JSON
@click.option("--quiet", "-q", is_flag=True, help="No progress and no notes.")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def execute(
    command: tuple[str, ...],
    fs: str,
    mount_options: str,
    nbd: str | None,
    http: str | None,
    listen_anywhere: bool,
    record: Path | None,
    user: str | None,
    keep: Path | None,
    experiment: Path | None,
    policies: str | None,
    allow_python: bool,
    realtime: bool,
    slower: str | None,
    aged: str | None,
    hints: str | None,
    as_json: bool,
    quiet: bool,
    **typed: Any,
) -> int:
    """Run COMMAND on a fresh drive and say what it did to the flash.

    Like perf stat, for flash: a file system is made on a new drive, COMMAND runs in it, and its
    bytes are followed from the write calls down to the erased blocks.
    """
    from flashgc.command.show.findings import warn_each
    from flashgc.command.show.results import deliver
    from flashgc.device import execution, replaying
    from flashgc.device.serving import Fronts

    check_addresses(nbd, http, listen_anywhere=listen_anywhere)
    own = {name: typed.pop(name) for name in OWN}
    given = asked(experiment, typed, may_load=permission(experiment, given=allow_python))
    clock = clocked(given, is_on=realtime, slower=slower, aged=aged, hints=hints)
    plan = plan_of(given, own)
    wanted = replaying.wanted(policies)
    with replaying.recording(record, bool(wanted)) as trace:
        done = execution.execute(
            command,
            plan,
            filesystem=fs,
            options=mount_words(mount_options),
            record=trace,
            keep=keep,
            fronts=Fronts(nbd=nbd, http=http, listen_anywhere=listen_anywhere),
            user=user,
            clocked=clock,
        )
        compared = replaying.replayed(trace, done, wanted, quiet=quiet) if wanted else None
    if as_json:
        document = done.to_dict()
        if compared is not None:
            document = {**document, "replayed": compared.to_dict()}
        from flashgc._documents import dumps

        deliver(dumps(document), as_json=True, out=None)
    else:
        show(done, compared, record)
    warn_each(done.findings, quiet=quiet)
    return done.exit_code if done.exit_code >= 0 else 128 - done.exit_code


def permission(experiment: Path | None, *, given: bool) -> Callable[[Named], None]:
    """Return the check that refuses code named by ``experiment`` without ``--allow-python``.

    The policy serves the drive, which takes root. One that is typed needs no permission.
    """

    def check(named: Named) -> None:
        from flashgc._core import ConfigError
        from flashgc.policy_files import parted, shown

        of_file = [(text, place) for _, text, place in named if not place.startswith("--")]
        if given and not of_file:
            raise ConfigError(
                "--allow-python: no experiment names code; hint: leave it out, a policy that is "
                "typed needs no permission"
            )
        for text, place in of_file if not given else ():
            file, name = parted(text, place)
            raise ConfigError(
                f"{place}: {experiment} names code: {shown(file)} ({shown(name)}), which would run "
                "with your rights; hint: --allow-python if you trust it"
            )

    return check


def show(done: Executed, compared: Replayed | None, record: Path | None) -> None:
    """Prints what the command did."""
    from flashgc.command.show.timed import steadiness
    from flashgc.device.watch import spare_of
    from flashgc.terminal.render import console, facts
    from flashgc.terminal.render import show as print_
    from flashgc.units import format_count as n
    from flashgc.units import format_duration, format_size

    out = console()
    drive = done.drive
    of_drive = f"{drive['policies']['victim']}" + (
        ""
        if drive["policies"]["placement"] == "none"
        else f", placement {drive['policies']['placement']}"
    )
    wa = "no writes" if done.write_amplification is None else f"{done.write_amplification:.3f}"
    overhead = (
        ""
        if done.filesystem_overhead is None
        else f", {done.filesystem_overhead:.3f} for each byte written"
    )
    rows = [
        ("command", f"{' '.join(done.command)}: {_ended(done.exit_code)}"),
        ("time", format_duration(done.seconds)),
        (
            "drive",
            f"{format_size(drive['capacity_bytes'])} for {done.filesystem}, of "
            f"{format_size(drive['physical_bytes'])}; {of_drive}",
        ),
        ("spare", ", ".join(spare_of(done.stat))),
        ("written", f"{format_size(done.written_bytes)} by the command's write calls"),
        ("host bytes", f"{format_size(done.host_bytes)} reached the drive{overhead}"),
        (
            "flash bytes",
            f"{format_size(done.flash_bytes)} programmed: {n(done.copied_pages)} pages copied by "
            f"{n(done.collections)} collections",
        ),
        ("write amplification", f"{wa}{_over_time(out, done)}"),
        ("steady", steadiness(done.steady, done.steadiness)),
        ("erases", n(done.erases)),
        ("TRIM", f"{format_size(done.trimmed_bytes)} discarded"),
        *_latencies(done),
        *_realtime(done),
    ]
    print_(out, facts(out, rows))
    if record is not None:
        from flashgc.device.replaying import command_of

        out.print(f"\nrecorded in {record}; to replay it:", markup=False)
        out.print(f"  {command_of(record, drive)}", markup=False, soft_wrap=True)
    if compared is not None:
        show_compared(compared)


def _ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"


def _over_time(out: Any, done: Executed) -> str:
    """Write amplification of each part of the run, as bars."""
    from flashgc.device.execution import parts_of
    from flashgc.terminal.render import sparkline

    if len(done.samples) < 3 or not done.copied_pages:
        return ""
    values = [programmed / host for host, programmed in parts_of(done.samples, 32)]
    return f"  {sparkline(values)} over the writes, to {max(values):.2f}" if values else ""


def _latencies(done: Executed) -> list[tuple[str, str]]:
    from flashgc.units import format_time

    rows = []
    for name, one in done.latency_us.items():
        if one["count"]:
            told = ", ".join(f"{label} {format_time(one[key])}" for key, label in PERCENTILES)
            rows.append((f"{name} latency", told))
    return rows


def _realtime(done: Executed) -> list[tuple[str, str]]:
    from flashgc.device.realtime import told

    return [] if done.realtime is None else [("realtime", "; ".join(told(done.realtime)))]


def show_compared(compared: Replayed) -> None:
    """Prints what other policies would have made of the writes."""
    from flashgc.terminal.render import LEFT, RIGHT, console, table
    from flashgc.terminal.render import show as print_
    from flashgc.units import format_count as n

    out = console()
    made = table(
        out,
        (
            ("rank", RIGHT),
            ("policy", LEFT),
            ("write amplification", RIGHT),
            ("pages copied", RIGHT),
            ("erases", RIGHT),
        ),
    )
    for rank, one in enumerate(compared.ranking, start=1):
        served = " (served)" if one.was_served else ""
        made.add_row(
            str(rank),
            f"{one.policy}{served}",
            f"{one.write_amplification:.3f}",
            n(one.copied_pages),
            n(one.erases),
        )
    out.print("\nthe same writes, those of mkfs and umount among them, on simulated drives:")
    print_(out, made)
