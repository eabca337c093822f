"""``flashgc device exec``: runs a command on a fresh drive, and shows its effect on the flash."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc import _files
from flashgc._core import ConfigError
from flashgc._documents import dumps
from flashgc._origins import Given
from flashgc.command.declaring import command
from flashgc.command.device.options import (
    OWN,
    RealtimeCommand,
    addresses_of,
    clocked,
    drive_options,
    past_options,
    plan_of,
    realtime_options,
    serving_options,
)
from flashgc.command.device.up import filesystem_options, mount_words
from flashgc.command.options import PolicyRows, asked
from flashgc.device.making import OPTIONS
from flashgc.policy_files import parted, shown

if TYPE_CHECKING:
    from flashgc.device.execution import Executed, Source
    from flashgc.device.files.streams import Patterns
    from flashgc.device.past import Past
    from flashgc.device.replaying import Replayed


#: The exit code if a command succeeded, but processes that it left behind had to be ended.
LEFT_BEHIND = 125


@command(
    "exec",
    cls=RealtimeCommand,
    context={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@drive_options
@past_options
@realtime_options(with_drive=True)
@filesystem_options
@serving_options
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def execute(
    command: tuple[str, ...],
    fs: str,
    mount_options: str,
    host: str,
    record: Path | None,
    user: str | None,
    server_user: str | None,
    copy_in: Path | None,
    postgres_log: Path | None,
    wait: bool,
    keep: Path | None,
    experiment: Path | None,
    policies: str | None,
    by_file: bool,
    groups: tuple[str, ...],
    streams: str | None,
    allow_python: bool,
    realtime: bool,
    slower: str | None,
    hints: str | None,
    fill: str | None,
    aged: str | None,
    source: Path | None,
    as_json: bool,
    out: Path | None,
    quiet: bool,
    **typed: Any,
) -> int:
    """Run COMMAND on a fresh drive and say what it did to the flash.

    Like perf stat, for flash: a file system is made on a new drive, COMMAND runs in it, and its
    bytes are followed from the write calls down to the erased blocks.

    Options:
      --from FILE as source
          Run on a copy of the drive in FILE, of flashgc device create, which stays as it is.
          Not with --by-file, --group, --compare, --record and --realtime, which need its past
          request by request.
      --realtime
      --slower
      --hints
      --fs
      --mount-options
      --host
      --nbd
      --nvme-tcp
      --http
      --listen-anywhere
      --record
      --user NAME
          Run COMMAND as this user, who owns the working directory. PostgreSQL refuses to run
          as root. [default: whoever runs flashgc]
      --server-user NAME
          Run the drive's server as this user. [default: flashgc or nobody]
      --copy-in DIR
          Copy the files of DIR into the working directory before anything is measured.
      --postgres-log FILE
          Begin a phase with every checkpoint and behind every automatic vacuum that this log
          of a PostgreSQL server names. Its path is from the working directory.
      --wait
          Wait for the processes that COMMAND leaves behind. [default: end them, SIGTERM
          first]
      --keep FILE
          Keep the drive in FILE. [default: a temporary file]
      --experiment FILE
          Experiment file with the sections [drive] and [gc]; options override it.
      --allow-python
          Let the Python policy that --experiment names run with your rights.
      --compare POLICY,POLICY as policies
          Replay the writes on drives with these victim policies, with the placement and
          streams of the served drive, or with these schemes; and rank them beside the
          served drive.
      --by-file
          Say which files wrote each page and cause the copies, and what a placement handle
          for each of the largest would be worth. ext4 and xfs.
      --group PATTERN,... as groups
          One row of --by-file for all files whose names in the working directory match
          PATTERN, such as 'node_modules/*'; the first one that matches counts. * matches /
          too. Implies --by-file. [default: patterns of names, with N for numbers, hashes and
          random parts]
      --streams-by-file PATTERN=STREAM,... as streams
          Give the writes to files streams by the names of the files in the working directory,
          to a drive with --placement fdp, which is the default then. * matches / too. ext4
          and xfs.
      --json
      --out FILE
          Write the figures into FILE, .json or .html, and print nothing but what COMMAND
          prints.
      --quiet, -q
          No progress and no notes.

    Examples:
      flashgc device exec -- fio --name=w --rw=randwrite --size=200m --loops=5
      flashgc device exec --fs xfs --capacity 2GiB --victim greedy -- ./benchmark.sh
      flashgc device exec --compare greedy,d-choices,cost-benefit -- ./benchmark.sh
      flashgc device exec --record writes.flashgc.zst -- make -j4
      flashgc device exec --realtime --device mlc --preemption pgc -- ./benchmark.sh
      flashgc device exec --user postgres --copy-in ./sql -- /bin/sh load.sh

    The command's working directory is the new file system, and so is its TMPDIR.
    Files named in ARGUMENT are looked for there: name yours with their full paths,
    or copy them in. A line that the command writes into the pipe $FLASHGC_MARK
    begins a phase with that name, with figures of its own; so does
    flashgc device mark NAME.

    flashgc exits with the command's exit code, or with 125 if that is 0 and
    processes that the command left behind had to be ended. Needs root, FUSE and
    loop devices; with --host nvme-tcp the module nvme-tcp.
    """
    from flashgc.command.show.findings import warn_each
    from flashgc.device import execution, replaying
    from flashgc.device.files.grouping import Groups
    from flashgc.device.past import past
    from flashgc.device.serving import Fronts

    check_out(out)
    by_file = by_file or bool(groups)
    for option in ("--by-file",) * by_file + ("--streams-by-file",) * (streams is not None):
        if fs not in ("ext4", "xfs"):
            raise ConfigError(
                f"{option}: flashgc does not see which pages of the device {fs} gives to a file; "
                "hint: --fs ext4 or --fs xfs"
            )
    addresses = addresses_of(typed)
    own = {name: typed.pop(name) for name in OWN}
    given = asked(experiment, typed, may_load=permission(experiment, given=allow_python))
    patterns = None if streams is None else with_handles(streams, given, source)
    clock = clocked(given, is_on=realtime, slower=slower, aged=None, hints=hints)
    origin = source_of(source, given, own, past(fill, aged))
    wanted = replaying.wanted(policies)
    with replaying.recording(record, bool(wanted)) as trace:
        done = execution.execute(
            execution.Command(
                command, user=user, copy_in=copy_in, waits=wait, server_log=postgres_log
            ),
            origin,
            filesystem=fs,
            options=tuple(mount_words(mount_options)),
            host=host,
            record=trace,
            keep=keep,
            fronts=Fronts(**addresses),
            server_user=server_user,
            files=by_file,
            groups=Groups.parse(groups),
            streams=patterns,
            clocked=clock,
            tell=functools.partial(click.echo, err=True),
        )
        compared = replaying.replayed(trace, done, wanted, quiet=quiet) if wanted else None
    give(done, compared, record, as_json=as_json, out=out)
    warn_each(done.findings, quiet=quiet)
    if compared is not None and compared.differs is not None:
        click.echo(f"warning: --compare: {compared.differs}", err=True)
    if done.exit_code == 0 and done.left_ended:
        return LEFT_BEHIND
    return done.exit_code if done.exit_code >= 0 else 128 - done.exit_code


def with_handles(streams: str, given: Given, source: Path | None) -> Patterns:
    """Parse the patterns; a drive without a placement gets one with handles for their streams."""
    from flashgc.device.files.streams import OPTION, Patterns

    patterns = Patterns.parse(streams)
    policies = given.values.get("gc", {})
    if "streams" in given.values.get("workload", {}):
        raise ConfigError(f"{OPTION} does not go with --streams; hint: leave one of both out")
    if source is None and not {"placement", "preset"} & policies.keys():
        given.values.setdefault("gc", {})["placement"] = patterns.placement
        given.places["gc.placement"] = OPTION
    return patterns


def source_of(
    source: Path | None, given: Given, own: dict[str, Any], behind: Past | None
) -> Source:
    """The origin of the drive: a plan for a new drive, or the file of a drive to copy."""
    from flashgc.device.execution import Source

    if source is None:
        return Source(plan=plan_of(given, own), past=behind)
    paths = [f"{section}.{key}" for section, keys in given.values.items() for key in keys]
    typed = [given.places.get(path, path) for path in paths if path in OPTIONS]
    if behind is not None:
        typed.append("--fill and --aged")
    if typed:
        raise ConfigError(
            f"{', '.join(typed)}: the drive of --from is made already; hint: leave out one of both"
        )
    if not source.is_file():
        hint = f"flashgc device create {source} --fill 72% --aged uniform"
        raise ConfigError(f"--from: {source}: no such file; hint: {hint}")
    return Source(file=source)


def check_out(out: Path | None) -> None:
    """Check the name of the file for the figures, before anything runs."""
    if out is None:
        return
    if out.suffix not in (".json", ".html"):
        raise ConfigError(f"--out: found {out.name}, expected a name that ends in .json or .html")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out: {out.absolute().parent} is no folder")


def give(
    done: Executed,
    compared: Replayed | None,
    record: Path | None,
    *,
    as_json: bool,
    out: Path | None,
) -> None:
    """Prints or writes the figures, in the form that was asked for."""
    document = done.to_dict()
    if compared is not None:
        document = {**document, "replayed": compared.to_dict()}
    try:
        if out is not None and out.suffix == ".html":
            from flashgc.device.execution.page import page

            _files.write(str(out), page(done))
        elif out is not None:
            _files.write(str(out), dumps(document) + "\n")
    finally:  # Show the results even if they cannot be written.
        if as_json:
            click.echo(dumps(document))
    if out is None and not as_json:
        from flashgc.command.device.executed import show

        show(done, compared, record)


def permission(experiment: Path | None, *, given: bool) -> Callable[[PolicyRows], None]:
    """Return a check that refuses code named by ``experiment`` without ``--allow-python``.

    The policy serves the drive with root's rights. A policy that the user types needs no
    permission.
    """

    def check(rows: PolicyRows) -> None:
        of_file = [(text, place) for _, text, place in rows if not place.startswith("--")]
        if given and not of_file:
            raise ConfigError(
                "--allow-python: no experiment names code; hint: leave it out, a policy that is "
                "typed needs no permission"
            )
        for text, place in of_file if not given else ():
            code = parted(text, place)
            raise ConfigError(
                f"{place}: {experiment} names code: {shown(code.file)} ({shown(code.name)}), which "
                "would run with your rights; hint: --allow-python if you trust it"
            )

    return check
