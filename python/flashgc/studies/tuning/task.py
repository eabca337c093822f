"""The task of a search: checks options, measures the drive, and makes the space and the course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core, _origins
from flashgc._core import ConfigError
from flashgc.configuration import LENGTHS, configurations
from flashgc.experiment import Experiment, experiment
from flashgc.options import find, several
from flashgc.policy_files import is_written, load_scheme
from flashgc.registry import frontiers, has_own_times, mappings
from flashgc.results import Result
from flashgc.studies.rounds import Outcome, Rounds, Wanted
from flashgc.studies.study import check_again, refuse
from flashgc.studies.tuning.course import Course, of_seeds, of_trace
from flashgc.studies.tuning.objective import Objective
from flashgc.studies.tuning.outcome import MOST_VALUES
from flashgc.studies.tuning.space import Candidate, Size, Space, in_file, space

#: Options that narrow the search.
SEARCHED = ("victim", "placement", "frontier", "scheme")
#: Options that do not apply to a search.
UNUSED = (
    "source", "passes", "timeline", "trace_events", "window", "worst", "resolution",
    "vm_page_cache", "page_policy", "vm_scheme",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The plan of a search, from which it can begin."""

    space: Space
    course: Course
    reference: Candidate


@dataclass(frozen=True)
class Task:
    """The checked options of a search."""

    objective: Objective
    #: The given options, except for those that are searched.
    experiment: Experiment
    #: The configuration that all candidates share.
    config: dict[str, Any]
    #: The values that narrow the search.
    given: Mapping[str, list[str]]
    places: Mapping[str, str]

    @property
    def is_trace(self) -> bool:
        """True if the workload is a trace."""
        return _core.is_trace(self.config["workload"])

    @property
    def is_timed(self) -> bool:
        """True if the drive has a clock."""
        return bool(self.experiment["drive.kind"] == "timed")

    def planned(self, study: Rounds, hold_back: float) -> Plan | None:
        """The plan, based on a short run of the drive; ``None`` if it was stopped.

        Raises :class:`flashgc.ConfigError` if greedy cannot run with any frontier.
        """
        for home in self._homes():
            raw = self._probe(study, home)
            if raw is None:
                return None
            if isinstance(raw, dict):
                break
        else:
            raise ConfigError(str(raw))
        result = Result.from_dict(raw)
        size = Size(result.config.superblocks, result.config.physical_pages)
        chosen = space(self.given, size, home)
        greedy = _core.written_out("victim", "greedy")
        reference = Candidate(
            greedy, _core.written_out("placement", "none"), chosen.home, "default"
        )
        return Plan(chosen, self._course(result, hold_back), reference)

    def _homes(self) -> list[str | None]:
        """The frontiers for candidates at the start: the pool first, then others."""
        if self.is_timed:
            return [None]
        texts = self.given["frontier"] or [frontier.name for frontier in frontiers()]
        return [*sorted(texts, key=lambda text: not text.startswith("pool"))]

    def _probe(self, study: Rounds, home: str | None) -> Outcome:
        """Run greedy for a short time; a trace is replayed once, to count its requests."""
        probe = {**self.config, "runs": 1, "victim": "greedy", "precision": None, "warmup": "0"}
        if home is not None:
            probe["frontier"] = home
        probe["length"] = {"requests": 1} if self.is_timed else {"writes": "1"}
        study.sure = {**probe}
        if self.is_trace:
            probe["length"] = {"passes": 1}
        (raw,) = study.run([Wanted(probe, 0.0)], "looking at the drive", possible=True)
        return raw

    def _course(self, probe: Result, hold_back: float) -> Course:
        if not self.is_trace:
            whole = "until" in self.config["length"]
            runs = int(self.config["runs"])
            return of_seeds(self.config, runs, whole=whole)
        # If a host has a cache, these are the writes to the drive, not those of the trace.
        unit, total = "writes", probe.host_pages
        if probe.timing is not None:
            every = probe.timing.latency_us.all
            unit, total = "requests", 0 if every is None else every.requests
        least = 1000
        if total < least:
            raise ConfigError(
                f"{self.places.get('workload.source', 'workload')}: the trace has {total} {unit}, "
                f"expected at least {least}, to hold some back; hint: a longer trace"
            )
        return of_trace(self.config, unit, total, self._warmup(), hold_back)

    def _warmup(self) -> float:
        """The share of a trace's prefix that is not measured."""
        text = str(self.experiment.given.get("run.warmup", find("warmup").default))
        share = _share(text)
        if share is None or not 0 <= share <= 0.9:
            raise ConfigError(
                f"{_origins.subject(self.places, 'run.warmup')}: found '{text}', expected a share "
                "of the tuned part of the trace, at most 90%; hint: write 1/3"
            )
        return share


def _share(text: str) -> float | None:
    above, _, below = text.partition("/")
    try:
        if below:
            return float(above) / float(below)
        return float(text[:-1]) / 100 if text.endswith("%") else None
    except (ValueError, ZeroDivisionError):
        return None


def checked(
    values: Mapping[str, Mapping[str, Any]], places: Mapping[str, str], objective: Objective
) -> Task:
    """Check the given values; :class:`flashgc.ConfigError` names the place of a wrong value."""
    sections = {name: dict(keys) for name, keys in values.items()}
    given = _narrowing(sections.get("gc", {}), places)
    refuse(UNUSED, sections, places, "has no effect on a search")
    drive, run = sections.setdefault("drive", {}), sections.setdefault("run", {})
    if objective.name == "p99.9-read" and drive.setdefault("kind", "timed") != "timed":
        kind = _origins.written(places, "drive.kind", "timed")
        out = _origins.option(places, "drive.kind")
        raise ConfigError(f"objective p99.9-read needs {kind}; hint: leave {out} out")
    until = _until(run, objective, places)
    setup = experiment(sections, places)
    trace = _core.is_trace(setup["workload.source"])
    if trace:
        _check_trace(setup, objective, places)
    _check_drive(setup, objective, trace, places)
    configs = configurations(setup, places, default_runs=int(find("runs").case("compare")))
    if len(configs) != 1:
        raise ConfigError(
            f"{len(configs)} configurations, expected one: only "
            f"{', '.join(SEARCHED)} may be several; hint: flashgc compare"
        )
    config = configs[0]
    if not trace and not 2 <= int(config["runs"]) <= MOST_VALUES:
        raise ConfigError(
            f"{_origins.subject(places, 'run.runs')}: found {config['runs']}, expected 2 to "
            f"{MOST_VALUES} seeds; hint: 5"
        )
    assert until is None or config["length"] == {"until": until}
    return Task(objective, setup, config, given, places)


def _narrowing(gc: dict[str, Any], places: Mapping[str, str]) -> dict[str, list[str]]:
    """Remove the options that narrow the search from their section, and return them."""
    given = {}
    for key in SEARCHED:
        option = find(key)
        texts = [str(text) for text in several(gc.pop(key, []))]
        place = _origins.subject(places, option.path)
        for text in texts:
            if key == "scheme":
                _check_scheme(text, place)
            elif is_written(text):
                in_file(key, text, place)
        given[key] = texts
    built_in = {
        f"gc.{key}": [text for text in texts if not is_written(text)]
        for key, texts in given.items()
    }
    _core.check_apart({path: texts for path, texts in built_in.items() if texts}, places)
    return given


def _check_scheme(text: str, place: str) -> None:
    """Check a scheme that is searched; all candidates have frontiers of their own."""
    scheme = load_scheme(text, place)
    if scheme.frontier is not None:
        raise ConfigError(
            f"{place}: '{scheme.name}' names a frontier, which a search chooses itself; "
            "hint: --frontier, which narrows the search"
        )


def _until(run: dict[str, Any], objective: Objective, places: Mapping[str, str]) -> str | None:
    """The end of a drive's life, which only the objective ``life`` may have."""
    if objective.name == "life":
        until: str = run.setdefault("until", "system-failure")
        if until in ("first-failure", "system-failure"):
            return until
        hint = "write first-failure or system-failure"
    elif run.get("until") is None:
        return None
    else:
        hint = "leave it out; more runs make intervals narrower"
        if str(run["until"]).endswith("-failure"):
            hint = "give the objective life"
    raise ConfigError(
        f"{_origins.subject(places, 'run.until')}: found '{run['until']}', which the objective "
        f"{objective.name} has no use for; hint: {hint}"
    )


def _check_trace(experiment: Experiment, objective: Objective, places: Mapping[str, str]) -> None:
    check_again(experiment["workload.source"], "a search")
    if objective.name == "life":
        raise ConfigError(
            f"{places.get('workload.source', 'workload')}: the objective life needs a generator: "
            "a trace that is replayed until the failure has no part to hold back; "
            "hint: uniform, or the objective write-amplification"
        )
    for path in (*(f"run.{name}" for name in LENGTHS), "run.runs"):
        if path in experiment:
            raise ConfigError(
                f"{_origins.subject(places, path)} only applies to generators: a trace is replayed "
                "once, and its parts are compared; hint: leave it out"
            )


def _check_drive(
    experiment: Experiment, objective: Objective, trace: bool, places: Mapping[str, str]
) -> None:
    mapping = str(several(experiment["gc.mapping"])[0])
    name = mapping.partition(":")[0].strip()
    if any(mapping.name == name and not mapping.has_victims for mapping in mappings()):
        raise ConfigError(
            f"{_origins.subject(places, 'gc.mapping')}: {mapping} chooses its own blocks, so there "
            "is no victim policy to search; hint: flashgc compare"
        )
    if objective.name != "p99.9-read" or trace:
        return
    requests = experiment["workload.source"].split(":")[0].strip()
    if "workload.arrivals" not in experiment and not has_own_times(requests):
        given = _origins.written(places, "workload.arrivals", "poisson:rate=2000")
        raise ConfigError(
            f"objective p99.9-read needs times of arrival, and the generator {requests} has none; "
            f"hint: {given}"
        )
