"""The options that ``run`` and ``compare`` share, made from their declarations.

Each is a key of an experiment file. Its values in a file and on the command line are the same, and
one function checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from flashgc._core import ConfigError, tenant_texts
from flashgc._origins import Given
from flashgc._schemes import with_schemes
from flashgc.command import output
from flashgc.command.common import F, complete, with_options
from flashgc.command.declaring import adds
from flashgc.options import (
    ALTERNATIVES,
    OPTIONS,
    PATHS,
    SECTIONS,
    Option,
    choices,
    default_of,
    help_of,
)
from flashgc.policy_files import load_policies, python_policies

if TYPE_CHECKING:
    from pathlib import Path


def workload(command: F) -> F:
    """Add the argument WORKLOAD and the option ``--workload`` to a command."""
    return click.argument("workload", required=False)(_by_option(command))


@adds()
def _by_option(by_option: str | None) -> None:
    """The workload by an option.

    Options:
      --workload SPEC as by_option
          WORKLOAD, as `flashgc run` takes it.
    """


def of_one_workload(
    given: str | None, by_option: str | None, typed: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The experiment on one workload, and the options of the command itself.

    Raises :class:`flashgc.ConfigError` unless there is one workload.
    """
    workload, place = _workload(given, by_option)
    own = own_of(typed)
    experiment = asked(None, {**typed, "workload__source": workload}, loads=False)
    experiment.places["workload.source"] = place
    return experiment, own


def _workload(given: str | None, by_option: str | None) -> tuple[str, str]:
    """The workload, and the place of its value."""
    where = click.get_current_context().command_path
    if given is not None and by_option is not None:
        raise ConfigError(f"{where}: found WORKLOAD and --workload; hint: leave one out")
    if by_option is not None:
        return by_option, "--workload"
    if given is None:
        raise ConfigError(f"{where}: WORKLOAD is missing; hint: {where} --help")
    return given, "WORKLOAD"


#: Policies in Python that are given: key of the option, text and place of each.
PolicyRows = list[tuple[str, str, str]]

FLAGS = {option.path: f"--{option.flag}" for option in OPTIONS}

#: The heading of options that apply only to drives with a clock.
TIMED = "With --drive timed"
#: A key of ``ctx.meta``. If it is there, help lists the options of an experiment only by name.
BRIEF = "flashgc.brief"


class GroupedCommand(click.Command):
    """A command whose help lists the options of an experiment by section."""

    #: The heading of options that apply only to drives with a clock.
    timed = TIMED

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options in groups; with ``BRIEF`` in ``ctx.meta``, an experiment's only by name."""
        brief = BRIEF in ctx.meta
        headings = {section.name: f"[{section.name}] {section.summary}" for section in SECTIONS}
        of = {option.path: self._heading(option, headings) for option in OPTIONS}
        groups: dict[str, list[tuple[str, str]]] = {}
        for heading in (*headings.values(), self.timed, "Options"):
            groups[heading] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                path = str(parameter.name).replace("__", ".")
                groups[of.get(path, "Options")].append(record)
        for heading, records in groups.items():
            if not records:
                continue
            with formatter.section(heading):
                if brief and heading != "Options":
                    all_ = [FLAGS[path] for path, group in of.items() if group == heading]
                    given = [record.partition(" ")[0] for record, _ in records]
                    _write([("", _flags_in_few_words(given, all_))], formatter)
                else:
                    _write(records, formatter)

    def _heading(self, option: Option, headings: Mapping[str, str]) -> str:
        return self.timed if option.drives == "timed" else headings[option.section]


def _flags_in_few_words(given: list[str], all_: list[str]) -> str:
    """A short text on which options of a group a command has."""
    missing = [flag for flag in all_ if flag not in given]
    if not missing:
        return "all"
    few = len(missing) < len(given)
    return f"all but {' '.join(missing)}" if few else " ".join(given)


def _write(records: list[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    """Write two columns; values are not broken at hyphens."""
    import textwrap

    side = max(len(first) for first, _ in records) + 2
    indent = " " * formatter.current_indent
    width = formatter.width - len(indent) - side
    for first, text in records:
        lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
        for index, line in enumerate(lines):
            formatter.write(f"{indent}{first if index == 0 else '':{side}}{line}\n")


def help_text(option: Option, *, compare: bool, searched: bool = False, once: bool = False) -> str:
    """Return the help text of an option; with ``searched`` it narrows a search.

    ``once`` is for an option of which a command that compares accepts only one value.
    """
    text = help_of(option, flags=True)
    if searched:
        several = "Repeat for several; the search varies the parameters of a bare name."
        return f"{text} {several} [default: all]"
    if compare and option.several and not once:
        text += " Repeat to compare."
    default = default_of(option, compare=compare)
    return f"{text} [default: {default}]" if default else text


def _once(option: Option) -> Callable[[Any, Any, tuple[str, ...]], str | None]:
    """Accept only one value, since otherwise the last of two would silently win."""

    def once(_ctx: Any, _param: Any, given: tuple[str, ...]) -> str | None:
        if len(set(given)) > 1:
            hint = "flashgc compare runs several" if option.several else "give it once"
            text = ", ".join(given)
            raise ConfigError(f"--{option.flag}: found {text}, expected one value; hint: {hint}")
        return given[-1] if given else None

    return once


class _Option(click.Option):
    """An option of an experiment, whose help text is computed on demand."""

    def __init__(
        self, option: Option, *, several: bool, searched: Collection[str] | None = None
    ) -> None:
        self.option, self.compared = option, several
        self.searched = searched is not None and option.key in searched
        self.multiplied = several and option.several if searched is None else self.searched
        super().__init__(
            [f"--{option.flag}", option.path.replace(".", "__")],
            metavar=option.metavar,
            multiple=True,
            callback=None if self.multiplied or option.listing else _once(option),
            shell_complete=complete(lambda: choices(option)),
        )

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The two columns of the option's help."""
        text = help_text(
            self.option, compare=self.compared, searched=self.searched, once=not self.multiplied
        )
        return f"--{self.option.flag} {self.option.metavar}", text


def experiment_options(
    *, several: bool, searched: Collection[str] | None = None, without: Collection[str] = ()
) -> Callable[[F], F]:
    """Add the options of an experiment to a command; with ``several``, some may be repeated.

    With ``searched``, only the options in it may be repeated. Options in ``without`` are omitted.
    """

    def decorate(command: F) -> F:
        options = [
            _Option(option, several=several, searched=searched)
            for option in OPTIONS
            if option.key not in without
        ]
        return with_options(command, options)

    return decorate


def table_options(rows: str = "") -> Callable[[F], F]:
    """Add ``--out`` for a table (with ``rows`` in its help), ``--json`` and ``--quiet``."""

    @adds(constants={"ROWS": rows}, out={"callback": output.table})
    def options(out: str | None) -> None:
        """A table.

        Options:
          --out FILE
              Write a tidy table to FILE, as .csv, .json, .md, .parquet or .tex{ROWS}.
          --json
          --quiet
        """

    return options


def folder_option(usual: str) -> Callable[[F], F]:
    """Add ``--cache`` and ``--resume`` to a command that stores its simulations."""

    def folder(_context: Any, _parameter: Any, value: str) -> str:
        if not value:
            raise ConfigError(f"--cache: the name is empty; hint: give a folder, such as {usual}")
        return value

    @adds(constants={"USUAL": usual}, cache={"callback": folder, "type": str})
    def options(cache: str, resume: bool) -> None:
        """Kept simulations.

        Options:
          --cache DIR
              Folder that keeps finished simulations. [default: {USUAL}]
          --resume/--no-resume
              Use the results that earlier work kept, or run everything again. [default: --resume]
        """

    return options


def own_of(typed: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of the command itself from ``typed``, and return them."""
    return {name: typed.pop(name) for name in [*typed] if "__" not in name}


def asked(
    file: Path | str | None,
    typed: dict[str, Any],
    *,
    may_load: Callable[[PolicyRows], None] | None = None,
    loads: bool = True,
) -> Given:
    """Merge an experiment file and typed options; options take precedence.

    ``may_load`` may refuse policies in Python before any of them is loaded. A study that loads them
    itself, as parameters with ranges need it, gives ``loads`` as false.
    """
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    if file is not None:
        from pathlib import Path

        from flashgc.experiment_file import load

        values, places = load(Path(file))
        tenants = {at: where for at, where in places.items() if at.partition(".")[0] == "tenant"}
        places |= {f"workload.{at}": where for at, where in tenants.items()}
    for name, value in typed.items():
        if value is None or value == ():
            continue
        section, key = name.split("__")
        path = f"{section}.{key}"
        for alternatives in ALTERNATIVES:
            if path in alternatives:
                for other in alternatives:
                    if typed.get(other.replace(".", "__")) in (None, ()):
                        values.get(section, {}).pop(other.split(".")[1], None)
        keys = values.setdefault(section, {})
        if not isinstance(keys, dict):
            continue  # An error in the file, which a later check reports.
        keys[key] = list(value) if isinstance(value, tuple) else value
        if PATHS[path].listing:
            values.pop(key, None)  # The option replaces the file's tables.
        # If an option replaces a list in the file, the places of the list's elements no longer
        # apply.
        places = {at: where for at, where in places.items() if not at.startswith(f"{path}.")}
        places[path] = FLAGS[path]
    values, places = with_schemes(values, places)
    given = values
    if (texts := tenant_texts(values, places)) is not None:
        given = {name: keys for name, keys in values.items() if name != "tenant"}
        given["workload"] = {**values.get("workload", {}), "tenant": texts}
    if may_load is not None:
        may_load(python_policies(values.get("gc"), places))
    python = load_policies(values.get("gc"), places) if loads else {}
    return Given(given, {**FLAGS, **places}, python)
