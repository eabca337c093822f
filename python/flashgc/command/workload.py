"""The one workload of a study: first behind the command, or by ``--workload`` as ``run`` has it."""

from __future__ import annotations

import click

from flashgc._core import ConfigError
from flashgc.command.common import F
from flashgc.command.declaring import adds


def workload(command: F) -> F:
    """Gives a command the argument WORKLOAD and the option of its name."""
    return click.argument("workload", required=False)(_by_option(command))


@adds()
def _by_option(by_option: str | None) -> None:
    """The workload by an option.

    Options:
      --workload SPEC as by_option
          WORKLOAD, as `flashgc run` takes it.
    """


def one_workload(given: str | None, by_option: str | None) -> tuple[str, str]:
    """The workload, and the place of its value.

    Raises :class:`flashgc.ConfigError` unless there is one.
    """
    where = click.get_current_context().command_path
    if given is not None and by_option is not None:
        raise ConfigError(f"{where}: found WORKLOAD and --workload; hint: leave one out")
    if by_option is not None:
        return by_option, "--workload"
    if given is None:
        raise ConfigError(f"{where}: WORKLOAD is missing; hint: {where} --help")
    return given, "WORKLOAD"
