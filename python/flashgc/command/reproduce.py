"""``flashgc reproduce``: the command of the papers, or a message on how to install it.

The package of the papers registers the command as an entry point; flashgc does not import that
package.
"""

from __future__ import annotations

import click

from flashgc.command.declaring import command

#: The distribution that has the command, and the group of its entry point.
PAPERS, COMMANDS = "flashgc-papers", "flashgc.commands"


def _installed() -> click.Command | None:
    """The command of the papers; ``None`` if they are not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        points = distribution(PAPERS).entry_points
    except PackageNotFoundError:
        return None
    (point,) = points.select(group=COMMANDS, name="reproduce")
    command: click.Command = point.load()
    return command


@command("reproduce", context={"ignore_unknown_options": True}, settings={"add_help_option": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _absent(words: tuple[str, ...]) -> int:
    """Repeat published experiments, and compare the papers' results with the measured ones."""
    from flashgc._core import ConfigError

    raise ConfigError(
        f"reproduce: the package {PAPERS} is not installed; "
        "hint: pip install 'flashgc[papers]', or make dev in a clone"
    )


reproduce = _installed() or _absent
