"""Prints the findings of results, below the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.results import policy_name
from flashgc.results import varied
from flashgc.results.findings import NOTE, together
from flashgc.terminal.render import console, warn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flashgc.results import Finding, Result


def warn_of(of: list[Result], *, quiet: bool) -> None:
    """Print what a reader should know before using the figures; equal findings are merged.

    ``quiet`` suppresses notes, but never a doubt about a figure.
    """
    for gravity, line in findings_of(of):
        _warn(gravity, line, quiet=quiet)


def warn_each(findings: Iterable[Finding], *, quiet: bool) -> None:
    """Print the findings of a study, as :func:`warn_of` does for results."""
    for finding in findings:
        _warn(finding.gravity, finding.text, quiet=quiet)


def _warn(gravity: str, line: str, *, quiet: bool) -> None:
    warn(line, quiet=quiet and gravity == NOTE)


def findings_of(of: list[Result]) -> list[tuple[str, str]]:
    """The findings of all results, each with its gravity; equal findings are merged."""
    names = varied.names(of, policy_name(console())) if len(of) > 1 else [""]
    each = [(name, result.findings) for name, result in zip(names, of, strict=True)]
    return [(finding.gravity, finding.text) for finding in together(each)]
