"""Runs a command on a fresh drive, and measures its effects on the flash."""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc._documents import read
from flashgc.device import failures, making, mounts, realtime, trust
from flashgc.device import up as upping
from flashgc.device.control import Client
from flashgc.device.execution.marks import FIRST, Marks, ServerLog
from flashgc.device.execution.outcome import Executed, growth, phases_of
from flashgc.device.execution.running import Command, Signals, run, sync
from flashgc.device.execution.samples import Sample, Watch, parts_of, tail_of
from flashgc.device.execution.source import PAST, RUN, Source
from flashgc.device.execution.tree import PAUSE, Left, Tree
from flashgc.device.execution.written import Counts, Writes, Written
from flashgc.device.files.grouping import EACH, Groups
from flashgc.device.files.outcome import Period, by_file
from flashgc.device.files.owners import Owners
from flashgc.device.files.streams import Naming, Patterns, streams_between
from flashgc.device.scratch import MARKS, PIPE, note, scratch
from flashgc.device.serving import Fronts
from flashgc.device.source import Blocks
from flashgc.results import Steadiness, findings
from flashgc.results.findings import Rules
from flashgc.units import format_count, format_size

if TYPE_CHECKING:
    from pathlib import Path

    from flashgc.device.execution.outcome import Executed
    from flashgc.results import Finding

RULES = Rules("exec")


def _findings(
    done: Executed, refused: str | None, log: Path | None, met: int, left_out: str | None
) -> list[Finding]:
    """The findings of a run.

    ``refused`` is the message of a drive that refused a mark, ``log`` a log that was not found,
    ``met`` the number of commands that met faults, and ``left_out`` the sentence about a file in
    another folder that the command names.
    """
    findings = list(_all(done, refused, log, met))
    if left_out is not None:
        claim, _, hint = left_out.partition("; hint: ")
        findings.insert(0, RULES["other-folder"].found(claim, hint))
    return findings


def _all(done: Executed, refused: str | None, log: Path | None, met: int) -> Iterator[Finding]:
    if met:
        count = f"{format_count(met)} command{'' if met == 1 else 's'}"
        yield RULES["faults-met"].found(
            f"{count} of hosts met faults that somebody had set: "
            "the figures are those of a drive that failed on demand",
            "leave device inject out where figures count",
            commands=met,
        )
    if done.written.unknown is not None:
        least, most = done.written.least, done.written.most
        known = (
            "are unknown"
            if least is None or most is None
            else f"are between {format_size(least)} and {format_size(most)}"
        )
        yield RULES["written-unknown"].found(
            f"the bytes handed to {done.filesystem} {known}: {done.written.unknown}",
            reason=done.written.unknown,
            least=least,
            most=most,
        )
    if done.left:
        names = ", ".join(dict.fromkeys(process.name for process in done.left))
        count = format_count(len(done.left))
        what = "were ended" if done.left_ended else "were waited for"
        yield RULES["left-behind"].found(
            f"{count} processes of the command outlived it and {what}: {names}",
            "end them in the command itself, or --wait" if done.left_ended else None,
            processes=[process.name for process in done.left],
        )
    if refused is not None:
        yield RULES["marks-refused"].found(f"not every phase was noted: {refused}")
    if (streams := done.streams) is not None and (streams.late_files or streams.lost_events):
        yield RULES["streams-incomplete"].found(
            f"not every write had the stream of its file: names too late or never told "
            f"{format_count(streams.late_files)}, events lost {format_count(streams.lost_events)}",
            "a quieter machine",
            late_files=streams.late_files,
            lost_events=streams.lost_events,
        )
    if log is not None:
        yield RULES["no-server-log"].found(
            f"no phase was named: {log} was never there in the working directory",
            "--postgres-log with the path of the server's log, such as data/log/postgresql.log",
            log=str(log),
        )


#: A drive that only the command can reach.
NOWHERE = Fronts()

#: The folder of a file system in which the command works.
FOLDER = "work"

#: Errors that may have another cause, which :func:`upping.explained` finds.
FAILS = (DriveError, OSError)

#: Prints a line for people during a wait for processes.
Tell = Callable[[str], None]


def execute(
    command: Command,
    source: Source,
    *,
    filesystem: str = "ext4",
    host: str = "fuse",
    options: tuple[str, ...] = ("discard",),
    record: Path | None = None,
    keep: Path | None = None,
    fronts: Fronts = NOWHERE,
    server_user: str | None = None,
    files: bool = False,
    groups: Groups = EACH,
    streams: Patterns | None = None,
    clocked: Callable[[Mapping[str, Any]], realtime.Clock] | None = None,
    tell: Tell = lambda _: None,
) -> Executed:
    """Run ``command`` in a folder of a file system on a fresh drive, and measure its effects.

    The folder is its working directory and its ``TMPDIR``. The drive is removed at the end unless
    ``keep`` names its file. ``record`` is the file for a trace of all requests, including those of
    mkfs. ``host`` is the way to a block device (:func:`flashgc.device.up.up`), ``fronts`` are
    further front ends of the drive, and ``server_user`` is the user whose process serves it.
    ``files`` asks for counts by file, with one row for each of ``groups`` and for each pattern of
    other names. ``streams`` assigns streams to files by their names. ``clocked`` makes a clock from
    the configuration in the drive's file, for a drive that answers as a timed one.
    """
    mounts.check("flashgc device exec", filesystem, host)
    command.check()
    if keep is not None:
        keep = trust.check_folder(keep.absolute().parent, is_parent=True) / keep.name
    with Signals() as signals, scratch("exec", has_sockets=False) as folder:
        file = keep if keep is not None else folder / "drive.flash"
        try:
            records = clocked is not None or record is not None or files
            facts, strangers = source.make(file, folder if records else None)
            into = _recorded(folder, record, files=files)
            past = None if source.past is None else folder / PAST
            clock = _behind(clocked(making.configuration(file)), past) if clocked else None
            if streams is not None:
                streams.check(facts["policies"]["placement"])
            serving = replace(
                fronts,
                record=into,
                clock=clock,
                allow_python=source.has_python,
                follow_files=None if streams is None else filesystem,
            )
            done = upping.up(
                file,
                folder / "mount",
                filesystem=filesystem,
                options=options,
                serve=serving.words(),
                user=server_user,
                host=host,
                source=strangers,
            )
            if done.warning is not None:
                tell(f"warning: {done.warning}")
            try:
                if streams is not None:
                    _check_held(done.filesystem, filesystem)
                with Tree() as tree:
                    run = _Run(command, folder, file, done, facts, tell, files, groups, streams)
                    measured = run.measured(signals, tree)
            except BaseException as error:
                signals.are_held = True
                _abandon(error, done, file)
                raise
            signals.are_held = True
            last = _taken_down(file)
            recordings = [path for path in (past, into) if into is not None and path is not None]
            if record is not None and record != into:
                _core.trace_join(record, recordings)
            return run.completed(measured, last, recordings)
        except FAILS as error:
            raise failures.explained(error, file.parent) from None
        finally:
            signals.are_held = True


def _behind(clock: realtime.Clock, past: Path | None) -> realtime.Clock:
    """The clock of a drive, with the recording of the drive's past if there is one."""
    return clock if past is None else (*clock[:2], past, clock[3])


def _check_held(held: str, filesystem: str) -> None:
    """Refuse a drive with another file system than ``--streams-by-file`` needs."""
    if held != filesystem:
        raise ConfigError(
            f"--streams-by-file: the drive holds {held}, expected {filesystem}; hint: --fs {held}"
        )


def _recorded(folder: Path, record: Path | None, *, files: bool) -> Path | None:
    """The file for the recording of the run; in the scratch folder if the drive has a past."""
    if record is None and not files:
        return None
    return record if record is not None and not (folder / PAST).exists() else folder / RUN


def _abandon(error: BaseException, done: upping.Up, file: Path) -> None:
    """Take a drive down after an error, and raise the cause of the error if it is known."""
    why = upping.explained(error, done) if isinstance(error, FAILS) else error
    with contextlib.suppress(*FAILS):
        _taken_down(file)
    if why is not error:
        raise why from None


def _taken_down(file: Path) -> tuple[dict[str, Any], Blocks]:
    """Take the drive down; return its state and its blocks at the unmount."""
    last: list[tuple[dict[str, Any], Blocks]] = []

    def look() -> None:
        with Client(file) as client:  # The file system is unmounted, so the counts are final.
            last.append((client.stat(), client.blocks()))

    try:
        upping.down(file, last=look)
    except DriveError:  # Another process uses the mount.
        upping.down(file, force=True, last=look)
    if not last:
        raise failures.CAUSES["server-ended"].error(why="")
    return last[-1]


@dataclass
class _Seen:
    """Counts and findings collected while a command runs."""

    code: int = 0
    seconds: float = 0.0
    left: list[Left] = field(default_factory=list)
    #: The kernel's counts of written bytes when each phase ended.
    until: list[Counts | None] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    refused: str | None = None
    #: The sentence about a file in another folder that a failed command named.
    left_out: str | None = None
    #: False if the log to be followed was never found.
    has_log: bool = True
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Run:
    """A command on a drive that is up."""

    command: Command
    scratch: Path
    file: Path
    up: upping.Up
    made: dict[str, Any]
    tell: Tell
    #: True if pages are to be counted by owner. ``owners`` then knows the owners.
    files: bool = False
    groups: Groups = EACH
    #: The streams of files.
    streams: Patterns | None = None
    owners: Owners | None = None
    period: Period | None = None

    def measured(self, signals: Signals, tree: Tree) -> Executed:
        """Run the command, and measure its effects."""
        mount = Path(self.up.mount)
        with contextlib.ExitStack() as stack:
            if self.files:
                owners = Owners(mount, self.up.device, self.up.filesystem, self.groups)
                self.owners = stack.enter_context(owners)
            if self.streams is not None:
                naming = Naming(mount, self.up.device, self.file, FOLDER, self.streams)
                stack.enter_context(naming)
            self.command.prepare(mount / FOLDER)
            sync(mount)
            client = stack.enter_context(Client(self.file))
            writes = Writes(self.up.device, self.up.filesystem)
            try:
                seen = self._seen(client, mount, writes, signals, tree)
                written = writes.written(tree.calls_bytes, tree.dirtied_bytes)
            finally:
                writes.close()
        return self._judged(seen, written)

    def completed(
        self, measured: Executed, last: tuple[dict[str, Any], Blocks], recordings: list[Path]
    ) -> Executed:
        """The measurement with the state of the drive after the unmount, which writes too."""
        measured = replace(measured, stat=last[0])
        if self.owners is None:
            return measured
        assert self.period is not None
        parted = by_file(
            recordings, self.made, self.owners, last, self.period, self.file, self.scratch
        )
        return replace(measured, by_file=parted)

    def _seen(
        self, client: Client, mount: Path, writes: Writes, signals: Signals, tree: Tree
    ) -> _Seen:
        seen = _Seen()

        def marked(name: str) -> None:
            so_far = writes.so_far()
            client.mark(name)
            seen.until.append(so_far)

        pipe = self.scratch / MARKS
        marks = Marks(pipe, self.command.owner(), marked)
        with writes:
            if self.owners is not None:
                self.owners.begin()
            client.mark(FIRST)
            seen.before = client.stat()
            watch = Watch(client, seen.before, tree.look, lambda: self._stop_if_dead(signals))
            began = time.monotonic()
            with watch:
                with marks, self._server_log(mount, marks) as log:
                    seen.code = self._run(pipe, mount, signals, tree)
                    if seen.code:
                        seen.left_out = self.command.left_out(mount / FOLDER)
                    seen.left = self._rest(tree)
                # The data that are still in the page cache belong to the command.
                sync(mount)
                if self.owners is not None:
                    self.owners.end()
            seen.seconds = time.monotonic() - began
            seen.after = client.stat()
            self.period = Period.between(seen.before, seen.after)
        seen.until.append(writes.so_far())
        seen.samples, seen.refused = watch.samples, marks.refused
        seen.has_log = log is None or log.was_found
        return seen

    def _server_log(
        self, mount: Path, marks: Marks
    ) -> contextlib.AbstractContextManager[ServerLog | None]:
        """The log of the command's server, if it has one."""
        path = self.command.server_log
        if path is None:
            return contextlib.nullcontext()
        return ServerLog(mount / FOLDER / path, marks.take)

    def _run(self, pipe: Path, mount: Path, signals: Signals, tree: Tree) -> int:
        began = functools.partial(note, self.scratch)
        return run(self.command, mount / FOLDER, {PIPE: str(pipe)}, signals, tree, began)

    def _stop_if_dead(self, signals: Signals) -> None:
        """End the command if the drive's server has ended, because its results no longer count."""
        if not upping.is_alive(self.up):
            signals.stop()

    def _rest(self, tree: Tree) -> list[Left]:
        """End the processes that the command left behind, or wait for them; return them."""
        left = tree.left()
        if not left:
            return left
        if self.command.waits:
            names = ", ".join(f"{process.name} ({process.pid})" for process in left)
            self.tell(f"waiting for the end of {names}")
            while tree.left():
                time.sleep(PAUSE)
        else:
            tree.end()
        return left

    def _judged(self, seen: _Seen, written: Written) -> Executed:
        after, before = seen.after, seen.before
        page = after["page_bytes"]
        begin, end = before["counters"], after["counters"]
        figures = growth(begin, end, page)
        judged = json.loads(
            _core.judged(
                (after["blocks"], after["pages_per_block"], after["capacity_bytes"] // page),
                after["blocks_kept_erased"],
                parts_of(seen.samples),
                end["host_pages_written"]
                + end["copied_pages"]
                - begin["host_pages_written"]
                - begin["copied_pages"],
                figures["erases"],
                {"drive.capacity": "--capacity"},
            )
        )
        phases = phases_of(after, seen.until, page)
        done = Executed(
            command=list(self.command.words),
            exit_code=seen.code,
            seconds=seen.seconds,
            filesystem=self.up.filesystem,
            drive=self.made,
            written=written,
            tail_amplification=tail_of(seen.samples),
            filesystem_overhead=figures["host_bytes"] / written.bytes if written.bytes else None,
            trimmed_bytes=end["trimmed_bytes"] - begin["trimmed_bytes"],
            trimmed_data_bytes=(end["trimmed_pages"] - begin["trimmed_pages"]) * page,
            latency_us=after["latency_us"],
            samples=seen.samples,
            phases=phases if len(phases) > 1 else [],
            left=seen.left,
            left_ended=bool(seen.left) and not self.command.waits,
            stat=after,
            steady=judged["steady"],
            steadiness=read(Steadiness, judged["steadiness"]),
            findings=[],
            realtime=after.get("realtime"),
            streams=None if self.streams is None else streams_between(self.streams, before, after),
            **figures,
        )
        log = None if seen.has_log else self.command.server_log
        met = after["faults"]["met"] - before["faults"]["met"]
        more = _findings(done, seen.refused, log, met, seen.left_out)
        judgements = [*findings.read(judged), *more]
        return replace(done, findings=judgements)
