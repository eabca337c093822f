"""``qualify``: runs the industry's tests on one drive."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Unpack

from flashgc import _core, _notebook_progress
from flashgc._core import ConfigError, Control
from flashgc._interruptions import interrupts_program
from flashgc._origins import Given, Places, option
from flashgc._typed_keywords import typed_keywords
from flashgc.described import flags
from flashgc.keywords import RunKeywords
from flashgc.simulation import given_values
from flashgc.studies.qualifying import lives, single
from flashgc.studies.qualifying.describe import findings
from flashgc.studies.qualifying.drive import (
    DEPTH,
    LEAST_DEPTH,
    Drive,
    checked,
    drive_of,
    parts_of,
    probe,
)
from flashgc.studies.qualifying.outcome import Qualification, Saturation
from flashgc.studies.qualifying.phases import Phases
from flashgc.studies.rounds import Outcome, Rounds, Wanted, folder_of
from flashgc.studies.study import Progress, jobs_of, without_unit

#: The tests, in the order in which a data sheet has them.
TESTS = ("iops", "throughput", "latency", "wsat", "jesd219", "depth")

#: The options that give the size of a drive.
_SIZES = {"scale", "blocks", "capacity", "pages_per_block"}

#: The most requests under way that can be given.
_MOST_DEPTH = 4096


@interrupts_program
@typed_keywords(RunKeywords)
def qualify(
    drive: str | Given | None = None,
    *,
    tests: str | Sequence[str] | None = None,
    quick: bool = False,
    depth: int | None = None,
    cycles: int | None = None,
    victim: str | None = None,
    keep: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[RunKeywords],
) -> Qualification:
    """Run the tests of data sheets on one simulated drive.

    ``drive`` is a preset (``"tlc"``); the other options are those of a drive of
    :func:`flashgc.run` with a clock (``blocks``, ``scale``, ``times``, ``write_cache`` and so on).
    ``tests`` are some of ``"iops"``, ``"throughput"``, ``"latency"``, ``"wsat"``, ``"jesd219"`` and
    ``"depth"``; all by default. ``quick`` shortens them, so that they do not have SNIA's lengths,
    and takes the smallest part of a preset, unless its size is given. ``depth`` is the number of
    requests under way in the IOPS test (128).
    ``cycles`` are the program and erase cycles of a block, for the bytes that can be written.
    ``victim`` is the spec of a victim policy.

    ``keep`` is a folder in which each finished run is stored, so that the next call continues.
    ``progress`` is called with the share that is done, what is being done, and pages programmed.
    Ctrl-C stops the work and raises :class:`flashgc.Interruption`, which has the tests so far.

    Raises :class:`flashgc.ConfigError`.

    >>> sheet = qualify(times="read=50us,program=500us,erase=3ms,transfer=10us", blocks=128,
    ...                 pages_per_block=64, spare="25%", tests="latency", quick=True)
    >>> test = sheet.of("latency")
    >>> test.window.met, round(test.cell(4096, 1.0).mean_us, 3)  # 50 us and 10 us
    (True, 60.0)
    """
    values, places = given_values(
        drive if isinstance(drive, Given) else "uniform", {**options, "victim": victim}
    )
    if isinstance(drive, str):
        values.setdefault("drive", {})["device"] = drive
    if isinstance(drive, Given) and any(drive.python.values()):
        raise ConfigError("policies in Python cannot be qualified; hint: one of flashgc policies")
    with _notebook_progress.shown(progress) as show:
        study = Rounds(
            folder_of(keep, option(places, "keep"), "qualify"),
            show=without_unit(show),
            control=control,
            jobs=jobs_of(values, places),
            places=places,
        )
        chosen = _tests(tests, places)
        for number, name in ((depth, "depth"), (cycles, "cycles")):
            most = _MOST_DEPTH if name == "depth" else 10**6
            if number is not None and not 1 <= number <= most:
                raise ConfigError(
                    f"{option(places, name)}: found {number}, expected 1 to {most}; hint: leave it "
                    "out"
                )
        return _Qualifying(study, checked(values, places), places, chosen, quick).run(depth, cycles)


def _tests(given: str | Sequence[str] | None, places: Places) -> tuple[str, ...]:
    words = TESTS if given is None else given.split(",") if isinstance(given, str) else given
    names = [word.strip() for word in words]
    for name in names:
        if name not in TESTS:
            hint = _core.suggest(name, [*TESTS])
            raise ConfigError(f"{option(places, 'tests')}: unknown test '{name}'; hint: {hint}")
    return tuple(name for name in TESTS if name in names)


@dataclass
class _Task:
    """A run that is wanted, and the function that takes its outcome."""

    test: str
    wanted: Wanted
    take: Callable[[dict[str, Any]], None]


@dataclass
class _Qualifying:
    """The work of one call."""

    study: Rounds
    sections: dict[str, dict[str, Any]]
    places: Places
    tests: tuple[str, ...]
    quick: bool
    results: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def run(self, depth: int | None, cycles: int | None) -> Qualification:
        """Run all tests, and return what is known of them."""
        study = self.study
        with study.ending():
            raw = self._probed()
        subject = drive_of(self.sections, self.places, raw)
        rounds = [
            Phases(life, subject.capacity, subject.seed)
            for life in self._lives(subject, depth or DEPTH)
        ]
        with study.stoppable(), study.ending():
            tasks = [*(self._of(phases, subject) for phases in rounds), *self._single(subject)]
            study.total = sum(task.wanted.cost for task in tasks)
            while tasks and not study.stopped:
                tasks.sort(key=lambda task: -task.wanted.cost)
                self._stage(tasks)
                tasks = [
                    self._of(phases, subject)
                    for phases in rounds
                    if phases.unfinished and phases.life.name not in self.refused
                ]
                study.total += sum(task.wanted.cost for task in tasks)
        return self._outcome(subject, rounds, cycles)

    def _probed(self) -> dict[str, Any]:
        """The result of one write on the drive.

        If the options do not give a size, a quick test takes the smallest part of the drive whose
        write amplification is that of the whole.
        """
        drive = self.sections["drive"]
        if self.quick and "device" in drive and not _SIZES & drive.keys():
            for parts in parts_of(probe(self.sections, self.places)):
                drive["scale"] = f"1/{parts}"
                outcome = self._probe()
                if isinstance(outcome, dict):
                    return outcome
            drive.pop("scale", None)
        outcome = self._probe()
        if isinstance(outcome, str):
            raise ConfigError(outcome)
        return outcome

    def _probe(self) -> dict[str, Any] | str:
        config = probe(self.sections, self.places)
        self.study.sure = config
        (outcome,) = self.study.run([Wanted(config, 0.0)], "looking at the drive", possible=False)
        if outcome is None:
            raise KeyboardInterrupt
        return outcome

    def _lives(self, subject: Drive, depth: int) -> list[lives.Life]:
        several = []
        if "iops" in self.tests:
            several.append(lives.iops(depth, quick=self.quick))
        if "throughput" in self.tests:
            several += [
                lives.throughput(size, subject.depth(size, 32), subject.spare, quick=self.quick)
                for size in lives.THROUGHPUT_SIZES
            ]
        if "latency" in self.tests:
            several.append(lives.latency(quick=self.quick))
        return several

    def _of(self, phases: Phases, subject: Drive) -> _Task:
        """The next run of a life."""
        life = phases.life
        config = subject.config(phases.trace().write(), life.depth, fill=life.start.fill)
        return _Task(phases.life.name, Wanted(config, phases.cost), phases.add)

    def _single(self, subject: Drive) -> list[_Task]:
        """The tests that are single runs."""
        tasks, quick = [], self.quick
        pages = subject.logical_bytes / single.SIZE
        deep = subject.depth(single.SIZE, LEAST_DEPTH)

        def keep(name: str, value: Callable[[dict[str, Any]], Any]) -> Callable[[Any], None]:
            def take(raw: dict[str, Any]) -> None:
                self.results[name] = value(raw)

            return take

        if "wsat" in self.tests and quick:
            for units in single.SLICES:
                config = single.slice_of_saturation(subject, units)
                take = keep(f"wsat {units}", lambda raw: raw)
                cost = 0.1 * units * subject.logical_bytes / subject.unit + 5e5
                tasks.append(_Task("wsat", Wanted(config, cost), take))
        elif "wsat" in self.tests:
            config = single.saturation(subject)
            take = keep("wsat", lambda raw: single.saturated(raw, subject, deep))
            tasks.append(_Task("wsat", Wanted(config, 5 * single.WRITES * pages), take))
        if "jesd219" in self.tests:
            config = single.jesd219(subject, quick=quick)
            take = keep("jesd219", lambda raw: single.enterprise(raw, subject, deep))
            cost = 5e5 + 0.2 * pages if quick else 3 * single.WRITES * pages
            tasks.append(_Task("jesd219", Wanted(config, cost), take))
        if "depth" in self.tests:
            for reads in (True, False):
                for at in single.QUICK_DEPTHS if quick else single.DEPTHS:
                    config = single.at_depth(subject, at, reads=reads, quick=quick)
                    value = functools.partial(single.cell_of_depth, depth=at, reads=reads)
                    take = keep(f"depth {reads} {at}", value)
                    tasks.append(_Task("depth", Wanted(config, 0.5 * pages + 50_000), take))
        return tasks

    def _saturation(self, subject: Drive) -> Saturation | None:
        """The result of write saturation, which a quick test gathers from its slices."""
        slices = {
            units: self.results[f"wsat {units}"]
            for units in single.SLICES
            if f"wsat {units}" in self.results
        }
        if len(slices) < len(single.SLICES):
            known: Saturation | None = self.results.get("wsat")
            return known
        deep = subject.depth(single.SIZE, LEAST_DEPTH)
        return single.saturated_in_slices(slices, subject, deep)

    def _stage(self, tasks: Sequence[_Task]) -> None:
        names = ", ".join(dict.fromkeys(task.test for task in tasks))
        wanted = [task.wanted for task in tasks]
        outcomes: list[Outcome] = self.study.run(wanted, f"testing {names}"[:40], possible=False)
        for task, raw in zip(tasks, outcomes, strict=True):
            if isinstance(raw, str):
                self.refused.setdefault(task.test, raw)
            elif raw is not None:
                task.take(raw)

    def _outcome(
        self, subject: Drive, rounds: Sequence[Phases], cycles: int | None
    ) -> Qualification:
        interrupted = self.study.interrupted
        sheets = [phases.outcome(interrupted and phases.unfinished) for phases in rounds]
        saturation, enterprise = self._saturation(subject), self.results.get("jesd219")
        sequential = next(
            (
                cell.bytes_per_second
                for sheet in sheets
                if sheet is not None and sheet.name == "throughput-128k"
                for cell in sheet.cells
                if cell.reads == 0
            ),
            None,
        )
        known = [
            (name, test.write_amplification)
            for name, test in (("jesd219", enterprise), ("wsat", saturation))
            if test is not None
        ]
        depths = [value for key, value in self.results.items() if key.startswith("depth ")]
        qualification = Qualification(
            name=str(self.sections["drive"].get("device", "drive")),
            command=_command(self.sections, self.quick),
            version=_core.version(),
            seed=subject.seed,
            quick=self.quick,
            interrupted=interrupted,
            tests=self.tests,
            drive_bytes=float(subject.parts * subject.logical_bytes),
            logical_bytes=subject.logical_bytes,
            used_bytes=subject.capacity,
            spare=subject.spare,
            mapping_unit=subject.unit,
            rounds=tuple(sheet for sheet in sheets if sheet is not None),
            wsat=saturation,
            jesd219=enterprise,
            depth=tuple(sorted(depths, key=lambda cell: (not cell.read, cell.depth))),
            endurance=single.endurance(subject, cycles, *known[0]) if known else None,
            worked=single.worked(sequential, saturation)
            if sequential is not None and saturation is not None
            else None,
            refused=self.refused,
        )
        return replace(qualification, findings=tuple(findings(qualification)))


def _command(sections: Mapping[str, Mapping[str, Any]], quick: bool) -> str:
    """The command with these options, without tests."""
    given = {key: value for keys in sections.values() for key, value in keys.items()}
    given.pop("jobs", None)
    device = given.pop("device", None)
    words = ["flashgc qualify", *([] if device is None else [shlex.quote(str(device))])]
    return " ".join([*words, *flags(given), *(["--quick"] if quick else [])])
