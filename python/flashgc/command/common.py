"""Options that several commands share, and their completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
QUIET = click.option(
    "--quiet", "-q", is_flag=True, help="No progress and no notes; doubts about figures stay."
)
RETRY = click.option("--retry", is_flag=True, help="Run the cells again that failed before.")


def where(what: str) -> Callable[[F], F]:
    """Adds ``--where``, which chooses ``what``."""
    return click.option(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help=f"Only {what} for which this holds; also <, <=, >, >= and !=. Repeat for several.",
    )


def _jobs(_context: Any, _parameter: Any, value: str) -> int:
    from flashgc.execution import parse_jobs

    return parse_jobs(value, "--jobs")


JOBS = click.option(
    "--jobs",
    metavar="N",
    callback=_jobs,
    default="0",
    help="Runs side by side; 0 runs one per core.  [default: 0]",
)


def with_options(command: F, options: Sequence[click.Parameter]) -> F:
    """Add existing options to a command, in their order."""
    parameters: list[click.Parameter] = getattr(command, "__click_params__", [])
    parameters.extend(reversed(options))
    command.__click_params__ = parameters  # type: ignore[attr-defined]
    return command


def complete(words: Callable[[], tuple[str, ...]]) -> Callable[..., list[CompletionItem]]:
    """Return the completer of an option: it offers ``words`` that begin with the typed text."""

    def completed(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in words() if word.startswith(incomplete)]

    return completed
