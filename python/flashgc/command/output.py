"""Output of commands. Before the work starts, its options refuse files that cannot be written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flashgc import _files
from flashgc._core import ConfigError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from matplotlib.figure import Figure

    from flashgc._documents import Document
    from flashgc.results import Comparison, Finding
    from flashgc.store.keeping import Keeping
    from flashgc.studies.fleets.outcome import Fleet
    from flashgc.studies.sweep.outcome import Sweep

D = TypeVar("D", bound="Document")
T = TypeVar("T", "Comparison", "Fleet", "Sweep")


def option(example: str) -> Callable[[Any, Any, str | None], str | None]:
    """Make the callback of an option for a file; it refuses a name that cannot be written.

    ``example`` is a valid name, for hints.
    """

    def check(_context: Any, parameter: Any, value: str | None) -> str | None:
        if value is not None:
            _files.check(value, parameter.opts[0], example)
            ending = os.path.splitext(value)[1].lower()
            if example.endswith(".json") and ending in _OF_TABLES:
                raise ConfigError(
                    f"{parameter.opts[0]}: {value} is the name of a table, and this is one JSON "
                    f"document; hint: {value.removesuffix(ending)}.json"
                )
        return value

    return check


#: Endings of the names of tables.
_OF_TABLES = (".csv", ".md", ".parquet", ".tex")


def document_or_table(context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option for a JSON document, or for a table by its ending."""
    is_table = value is not None and os.path.splitext(value)[1].lower() in _OF_TABLES
    check = table if is_table else option("result.json")
    return check(context, parameter, value)


def picture(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option for a picture; it also refuses unknown formats."""
    if value is not None:
        from flashgc.plot.files import check_ending

        place = parameter.opts[0]
        _files.check(value, place, "figure.svg")
        check_ending(value, f"{place}: ")
    return value


def table(_context: Any, parameter: Any, value: str | None) -> str | None:
    """The callback of an option for a table; it also refuses unknown formats."""
    if value is not None:
        from flashgc import tables

        tables.check(value, parameter.opts[0])
    return value


#: Kinds of pictures of wear, and the function of :mod:`flashgc.plot` for each.
WEAR = {"histogram": "wear_histogram", "evolution": "wear_evolution", "survival": "survival"}
#: All kinds of pictures of simulated drives.
KINDS = ("amplification", *WEAR)
#: Kinds of pictures that need blocks with an endurance.
_MORTAL = ("evolution", "survival")


@dataclass(frozen=True)
class Output:
    """The options of a command that say where its outcome goes."""

    as_json: bool = False
    out: str | None = None
    quiet: bool = False
    picture: str | None = None

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Output:
        """Remove the options of output from ``typed``, and return them as an object."""
        return cls(**{name: typed.pop(name) for name in cls.__annotations__ if name in typed})

    def give(self, outcome: D, show: Callable[[D], None]) -> None:
        """Write the JSON document of ``outcome`` to ``out`` if given; print it, or show it."""
        self.deliver(outcome.to_json(), lambda: show(outcome))

    @property
    def is_table(self) -> bool:
        """True if ``out`` is a table."""
        return self.out is not None and os.path.splitext(self.out)[1].lower() in _OF_TABLES

    def give_table(self, outcome: T, show: Callable[[T], None]) -> None:
        """Write the rows of ``outcome`` to ``out`` if given; print its JSON, or show it."""
        try:
            if self.out is not None:
                from flashgc import tables

                tables.save(outcome.rows(), self.out)
        finally:
            self._tell(outcome.to_json, lambda: show(outcome))

    def deliver(self, document: str, show: Callable[[], None] = lambda: None) -> None:
        """Write one JSON document to ``out`` if given; print it with ``--json``, else ``show``."""
        try:
            if self.out is not None:
                _files.write(self.out, document + "\n")
        finally:
            self._tell(lambda: document, show)

    def _tell(self, document: Callable[[], str], show: Callable[[], None]) -> None:
        """Print or show an outcome.

        This comes after the file, because the reader of the output may be gone, and even if the
        file cannot be written, because hours of work may stand behind the outcome.
        """
        if self.as_json:
            click.echo(document())
        else:
            show()

    def warn(self, findings: Iterable[Finding], but: Container[str] = ()) -> None:
        """Prints the findings of a study, without those whose ids are in ``but``."""
        from flashgc.command.show.findings import warn_each

        warn_each((finding for finding in findings if finding.id not in but), quiet=self.quiet)

    def say_kept(self, keeping: Keeping | None, results: int) -> None:
        """Print how many results were found; raise :class:`OSError` if one could not be stored."""
        if keeping is None:
            return
        if keeping.found and not self.quiet:
            which = "found" if keeping.found == results else f"{keeping.found} of {results} found"
            click.echo(f"{which} in {keeping.path}", err=True)
        if keeping.error is not None:
            raise keeping.error

    def kind(self, command: str | None, configs: Sequence[Mapping[str, Any]], usual: str) -> str:
        """The kind of picture: the word ``command``, if it is valid, or else a default.

        The default is ``usual`` if the runs last until blocks fail, and else ``amplification``.
        """
        mortal = all(config.get("endurance") for config in configs)
        if command is None:
            dying = all("until" in config["length"] for config in configs)
            return usual if mortal and dying else "amplification"
        if command not in KINDS:
            raise ConfigError(
                f"--plot-kind: unknown kind '{command}'; hint: {suggest(command, [*KINDS])}"
            )
        if self.picture is None:
            raise ConfigError("--plot-kind: there is no picture; hint: give --plot FILE as well")
        if command in _MORTAL and not mortal:
            raise ConfigError(
                f"--plot-kind: {command} needs an endurance, found none; "
                "hint: give --endurance 1000"
            )
        return command

    def draw(self, make: Callable[[], Figure], *, measured: bool = True) -> None:
        """Make the requested picture and write it; warn instead if nothing was measured."""
        name = self.picture
        if name is None:
            return
        import logging

        from flashgc.plot.files import save
        from flashgc.terminal.render import warn

        if not measured:
            warn(f"{name} was not drawn: nothing was measured", quiet=self.quiet)
            return
        # For the first picture on a machine, matplotlib makes a list of fonts, and would log that.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        try:
            figure = make()
        except ConfigError as error:  # The results can be used without the picture.
            warn(f"{name} was not drawn: {error}", quiet=self.quiet)
            return
        save(figure, name)


#: The bytes of memory that a drive takes for each mapping unit, about.
BYTES_A_UNIT = 8

#: The least memory that is said before a run.
MUCH_MEMORY = 4 << 30


def memory_note(config: Mapping[str, Any]) -> str | None:
    """Return the memory and time that a large drive takes, and how to simulate a part of it."""
    from flashgc.studies.sweep.cost import pages_of, seconds_of
    from flashgc.units import format_size

    units = pages_of(config)
    memory = units * BYTES_A_UNIT
    if config["scale"] != "1" or memory < MUCH_MEMORY:
        return None
    capacity = units * (config.get("mapping_unit") or config["page_size"])
    return (
        f"note: a drive of {format_size(capacity)} takes about {format_size(memory)} of memory, "
        f"and roughly {_roughly(seconds_of(config, {}))} of one core; --scale 1/64 simulates a "
        "part of it"
    )


def _roughly(seconds: float) -> str:
    """A duration with one digit, in the largest unit of which it has one.

    >>> _roughly(2150), _roughly(4280), _roughly(90_000), _roughly(40)
    ('40 minutes', '1 hour', '1 day', '40 seconds')
    """
    units = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
    name, length = next((unit for unit in units if seconds >= unit[1]), units[-1])
    number = float(f"{seconds / length:.1g}")
    return f"{number:g} {name}" + ("" if number == 1 else "s")


def say_memory(configs: Sequence[Mapping[str, Any]], *, quiet: bool) -> None:
    """Say before the runs how much memory large drives take, once for drives of one size."""
    notes = [] if quiet else dict.fromkeys(memory_note(config) for config in configs)
    for note in notes:
        if note is not None:
            click.echo(note, err=True)
