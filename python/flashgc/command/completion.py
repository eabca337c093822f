"""``flashgc completion``: completion of commands, options and policy names in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from flashgc.command.declaring import command

SHELLS = ("bash", "zsh", "fish")


@command()
@click.argument("shell", metavar="bash|zsh|fish", shell_complete=lambda *_: list(SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and policy names in your shell.

    Examples:
      eval "$(flashgc completion bash)"      in ~/.bashrc
      eval "$(flashgc completion zsh)"       in ~/.zshrc
      flashgc completion fish > ~/.config/fish/completions/flashgc.fish
    """
    from flashgc._core import ConfigError, suggest
    from flashgc.command.entrance import cli

    completion = get_completion_class(shell) if shell in SHELLS else None
    if completion is None:
        raise ConfigError(f"unknown shell '{shell}'; hint: {suggest(shell, list(SHELLS))}")
    maker = completion(cli, {}, "flashgc", "_FLASHGC_COMPLETE")
    # The property `source` would run bash to get its version, but bash may not be installed.
    click.echo(maker.source_template % maker.source_vars())
