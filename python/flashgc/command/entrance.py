"""The command's entrance: finds sub-commands by name, and prints every failure in one line."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
from typing import Any

import click

from flashgc import _ctrl_c
from flashgc._core import ConfigError, FlashgcError, TraceError, suggest, version
from flashgc.foreign import for_terminal
from flashgc.terminal.guard import guarded, unguarded

#: The module of each sub-command, which is imported only when it is used.
COMMANDS = {
    "run": "flashgc.command.run:run",
    "compare": "flashgc.command.compare:compare",
    "sweep": "flashgc.command.sweep:sweep",
    "find": "flashgc.command.find:find",
    "fleet": "flashgc.command.fleet:fleet",
    "results": "flashgc.command.results:results",
    "plot": "flashgc.command.plot:plot",
    "table": "flashgc.command.table:table",
    "report": "flashgc.command.report:report",
    "bundle": "flashgc.command.bundle:bundle",
    "verify": "flashgc.command.bundle:verify",
    "tune": "flashgc.command.tune:tune",
    "gap": "flashgc.command.gap:gap",
    "reproduce": "flashgc.command.reproduce:reproduce",
    "model": "flashgc.command.model:model",
    "identify": "flashgc.command.identify:identify",
    "qualify": "flashgc.command.qualify:qualify",
    "wear": "flashgc.command.wear:wear",
    "policies": "flashgc.command.policies:policies",
    "new-scheme": "flashgc.command.new_scheme:new_scheme",
    "trace": "flashgc.command.trace:trace",
    "device": "flashgc.command.device:device",
    "hints": "flashgc.command.hints:hints",
    "schema": "flashgc.command.schema:schema",
    "completion": "flashgc.command.completion:completion",
}

#: Commands with long imports before the engine starts. Ctrl-C ends the process at once until the
#: engine handles it.
HELD_LONGER = ("run", "compare", "sweep", "fleet", "find", "tune", "gap", "identify", "qualify")

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
#: The program under test broke a promise; the work itself succeeded.
BROKEN = 3

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


#: A width in characters that no summary reaches, so that summaries are never cut.
WHOLE = 1000


class Suggesting(click.Group):
    """A group that suggests the nearest sub-command, and imports only the one that is used."""

    def __init__(self, *args: Any, lazy: dict[str, str] | None = None, **kwargs: Any) -> None:
        self.lazy = lazy or {}
        super().__init__(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The sub-commands, in the order of their list."""
        return [*self.lazy, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The sub-command with this name."""
        if cmd_name in self.lazy:
            module, _, name = self.lazy[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            if cmd_name not in HELD_LONGER:
                _ctrl_c.release()
            return command
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sub-commands with their complete summaries."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(WHOLE))
                    for name, command in commands
                    if command is not None
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The sub-command in the arguments; a wrong name gets a suggestion."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            hint = suggest(name, self.list_commands(ctx))
            raise click.UsageError(f"{ctx.command_path}: unknown command '{name}'; hint: {hint}")
        return super().resolve_command(ctx, args)


class OnStoredDrives(Suggesting):
    """A group of commands on stored drives, which are refused on systems without stored drives."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The sub-command in the arguments."""
        from flashgc.device import need_linux

        need_linux()
        return super().resolve_command(ctx, args)


@click.group(
    cls=Suggesting,
    lazy=COMMANDS,
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc run --workload hotcold:f=0.2,r=0.8 --victim greedy
  flashgc compare --victim fifo --victim greedy --victim d-choices:d=10,c=1
  flashgc compare --workload TRACE.csv.zst --spare 7%
  flashgc model meanfield --d 10 --c 1 --validate
  flashgc trace stat TRACE.csv.zst

Sizes need a unit (64GiB). Shares may have one (7% = 0.07). Every command has --help.""",
)
@click.version_option(version(), "--version", message="flashgc %(version)s")
def cli() -> None:
    """Garbage collection in flash drives: which policy writes least, and how sure is that."""


def _prepare_streams() -> None:
    """Make the standard streams safe to write to, without any message.

    A closed stream becomes the null device; otherwise the next open file would get its number.
    Characters that a stream's encoding lacks are written as escapes.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - kept open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, guarded(stream))


def _abandon_output() -> None:
    """Give up standard output, since the interpreter would flush it again and report an error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def enter(arguments: list[str], command: click.Command = cli, name: str = "flashgc") -> int:
    """Run the command and return its exit code."""
    _prepare_streams()
    stdout = sys.stdout
    try:
        code = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has closed the pipe.
        _abandon_output()
        return OK
    except SystemExit:
        # Click raises this for a broken pipe, and wraps the stream.
        if sys.stdout is not stdout:
            _abandon_output()
            return OK
        raise
    except (KeyboardInterrupt, click.Abort):
        return fail("interrupted", INTERRUPTED)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(
            error.ctx.get_help() if error.ctx else command.get_help(click.Context(command)),
            err=True,
        )
        return BAD_INPUT
    except click.ClickException as error:
        return fail(_usage(error), BAD_INPUT)
    except (ConfigError, TraceError) as error:
        return fail(str(error), BAD_INPUT)
    except FlashgcError as error:
        return fail(str(error), FAILED)
    except MemoryError:
        return fail("not enough memory; hint: fewer blocks, or fewer --jobs at a time", FAILED)
    except UnicodeEncodeError as error:
        return fail(f"{error.object!r} is not UTF-8; hint: rename the file", BAD_INPUT)
    except OSError as error:
        _abandon_output()
        place = f"{error.filename}: " if error.filename else ""
        return fail(f"{place}{error.strerror or error}", FAILED)
    except Exception as error:
        from flashgc._faults import describe

        return fail(describe(error), FAILED)
    return code if isinstance(code, int) else OK


#: The maximum numbers of characters of a message and of a word in it. A message may quote a binary
#: file.
LONGEST_MESSAGE, LONGEST_WORD = 1000, 300


def printable(message: str) -> str:
    r"""The message in one line, with control characters of a terminal escaped.

    >>> printable("found \x1b[2J,\nexpected a number")
    'found \\x1b[2J, expected a number'
    """
    line = re.sub(rf"(\S{{{LONGEST_WORD}}})\S+", r"\1...", " ".join(message.split("\n")))
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[:LONGEST_MESSAGE]}..."
    return for_terminal(line)


def fail(message: str, code: int) -> int:
    """Print an error in one line, and return the exit code."""
    line = printable(message)
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    label = "\x1b[1;31merror:\x1b[0m" if colour else "error:"
    with contextlib.suppress(OSError):  # Nobody reads the message.
        print(f"{label} {line}", file=unguarded(sys.stderr), flush=True)
    return code


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "flashgc"
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        known = [
            flag
            for parameter in (context.command.get_params(context) if context else [])
            for flag in parameter.opts
            if flag.startswith("--")
        ]
        return f"{where}: unknown option '{name}'; hint: {_nearest(name, known, where)}"
    if isinstance(error, click.MissingParameter) and error.param:
        name = error.param.opts[-1]
        if context and not name.startswith("-"):
            name = error.param.make_metavar(context)
        return f"{where}: {name} is missing; hint: {where} --help"
    if isinstance(error, click.BadParameter):
        parameter = error.param.opts[-1] if error.param else where
        return f"{parameter}: {_decapitalise(error.message)}"
    message = _decapitalise(error.format_message())
    return message if "; hint: " in message else f"{where}: {message}; hint: {where} --help"


def _nearest(name: str, known: list[str], where: str) -> str:
    hint: str = suggest(name, known)
    return hint if hint.startswith("did you mean") else f"{where} --help lists the options"


def _decapitalise(text: str) -> str:
    text = text.strip().rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
