"""Commands of our other packages. One that is not installed has commands that say how to get it."""

from __future__ import annotations

from typing import Any

import click

from flashgc import _siblings
from flashgc.command.entrance import CONTEXT


def _absent(name: str) -> click.Command:
    from flashgc._core import ConfigError

    last = name.rpartition(".")[2]
    package = _siblings.PACKAGES[name]
    summary = _siblings.SUMMARIES[package][name]

    @click.command(
        last,
        help=f"{summary}\n\nThe package flashgc-{package} has it, which is not installed.",
        add_help_option=False,
        context_settings={**CONTEXT, "ignore_unknown_options": True},
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def absent(words: tuple[str, ...]) -> int:
        raise ConfigError(f"{last}: {_siblings.absent(name)}")

    return absent


def __getattr__(name: str) -> Any:
    """The command whose entry point is called ``name``."""
    if name not in _siblings.PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _siblings.found(_siblings.COMMANDS, name) or _absent(name)
