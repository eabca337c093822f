"""Commands of the papers, which are a package of their own.

The package names each as an entry point of the group ``flashgc.commands``. Where it is not
installed, the command says how to get it.
"""

from __future__ import annotations

from typing import Any

import click

from flashgc.command.entrance import CONTEXT

GROUP = "flashgc.commands"

#: Each command: the name of its entry point, and the summary that it has without the package.
SUMMARIES = {
    "reproduce": "Repeat published experiments, and compare the papers' results with the measured "
    "ones.",
    "device.crash-test": "Crash drives in many ways, and check that they keep what they promised.",
    "hints.demo": "Show what a drive saves when it begins to receive hints.",
}


def _absent(name: str) -> click.Command:
    from flashgc._core import ConfigError

    last = name.rpartition(".")[2]

    @click.command(
        last,
        help=f"{SUMMARIES[name]}\n\nThe package flashgc-papers has it, which is not installed.",
        add_help_option=False,
        context_settings={**CONTEXT, "ignore_unknown_options": True},
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def absent(words: tuple[str, ...]) -> int:
        raise ConfigError(
            f"{last}: the package flashgc-papers is not installed; "
            "hint: pip install 'flashgc[papers]', or make dev in a clone"
        )

    return absent


def __getattr__(name: str) -> Any:
    """The command whose entry point is called ``name``."""
    if name not in SUMMARIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        return point.load()
    return _absent(name)
