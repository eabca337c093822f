"""``flashgc reproduce``: the door to the papers, which are a package of their own."""

from __future__ import annotations

import importlib
import importlib.util

import click

from flashgc.command.entrance import CONTEXT

#: The package, and the module of it that has the command.
PAPERS, COMMAND = "flashgc_papers", "flashgc_papers.command.reproduce"


@click.command(
    "reproduce", add_help_option=False, context_settings={**CONTEXT, "ignore_unknown_options": True}
)
@click.argument("what", nargs=-1, type=click.UNPROCESSED)
def _absent(what: tuple[str, ...]) -> int:
    """Run what papers published again, and say how it stands to what is measured.

    The papers are a package of their own, which is not installed here.
    """
    from flashgc._core import ConfigError

    raise ConfigError(
        "reproduce: the papers are not installed; hint: pip install 'flashgc[papers]', or make dev "
        "in a clone"
    )


def _found() -> click.Command:
    if importlib.util.find_spec(PAPERS) is None:
        return _absent
    command: click.Command = importlib.import_module(COMMAND).reproduce
    return command


reproduce = _found()
