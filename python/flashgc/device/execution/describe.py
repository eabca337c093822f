"""The findings of a command on a drive, besides those of the engine on its steady state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flashgc.results.findings import Rules
from flashgc.units import format_count, format_size

if TYPE_CHECKING:
    from pathlib import Path

    from flashgc.device.execution.outcome import Executed
    from flashgc.results import Finding

RULES = Rules("exec")


def findings(
    done: Executed, refused: str | None, log: Path | None, met: int, left_out: str | None
) -> list[Finding]:
    """The findings of a run.

    ``refused`` is what a drive said that refused a mark, ``log`` a log that was not found,
    ``met`` the number of commands that met faults, and ``left_out`` the sentence on a file of
    another folder.
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
