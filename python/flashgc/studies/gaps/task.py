"""The checked options of a comparison with foresight, and the rows to run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc import _core, _origins
from flashgc._core import ConfigError
from flashgc._origins import option
from flashgc._schemes import Scheme
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.options import OPTIONS, find, several
from flashgc.registry import has_own_times, placements
from flashgc.studies.gaps.online import USUAL, online
from flashgc.studies.gaps.outcome import CLAIRVOYANCE, ONLINE, PREDICTOR, Row
from flashgc.studies.study import check_again, refuse

#: ``OWN`` has options that the rows set themselves; ``UNUSED`` has all options that are refused.
OWN = ("victim", "placement", "frontier", "scheme")
UNUSED = (
    *OWN, "source", "until", "wear_levelling", "vm_page_cache", "page_policy", "vm_scheme",
    *(option.key for option in OPTIONS if option.drives == "timed"),
)  # fmt: skip
#: The default errors of predictors.
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: The kinds of errors: independent per write, per request, or both kinds.
ERRORS = ("write", "request", "both")
#: The victim policy of schemes with foresight.
VICTIM = "cost-benefit"


@dataclass(frozen=True)
class Foresight:
    """The drive's knowledge of the future."""

    classes: int
    horizon: float
    sigmas: tuple[float, ...]
    #: ``write``, ``request`` or both.
    errors: tuple[str, ...]

    def placement(self, sigma: float = 0, errors: str = "write", classes: int | None = None) -> str:
        """The spec of the placement of a predictor with these errors."""
        return (
            f"oracle:classes={classes or self.classes},horizon={self.horizon:g},"
            f"sigma={sigma:g},errors={errors}"
        )


@dataclass(frozen=True)
class Task:
    """The checked options of a comparison."""

    #: The configuration that all rows share.
    config: dict[str, Any]
    schemes: tuple[Scheme, ...]
    foresight: Foresight

    @property
    def is_trace(self) -> bool:
        """True if the workload is a trace."""
        return _core.is_trace(self.config["workload"])

    def rows(self) -> list[Row]:
        """Return the rows to run, without figures."""
        ahead = self.foresight
        return [
            *(Row(ONLINE, each.name, *each.specs) for each in self.schemes),
            *(
                Row(
                    PREDICTOR,
                    f"predictor, sigma {sigma:g}{' a request' if errors == 'request' else ''}",
                    VICTIM,
                    ahead.placement(sigma, errors),
                    sigma,
                    errors,
                )
                for errors in ahead.errors
                for sigma in ahead.sigmas
            ),
            Row(CLAIRVOYANCE, "clairvoyance", VICTIM, ahead.placement(), 0.0),
        ]

    def of(self, row: Row) -> dict[str, Any]:
        """The configuration of a row."""
        return {**self.config, "victim": row.victim, "placement": row.placement}

    def short(self, victim: str, placement: str) -> dict[str, Any]:
        """The configuration of a run of one page, which shows if the drive has room for it."""
        changes = {"victim": victim, "placement": placement, "runs": 1, "precision": None}
        return {**self.config, **changes, "warmup": "0", "length": {"writes": "1"}}


def checked(
    values: Mapping[str, Mapping[str, Any]],
    places: Mapping[str, str],
    *,
    names: Sequence[str | Scheme] | None,
    classes: int | str | None,
    horizon: float | str | None,
    sigma: Sequence[float | str] | float | str | None,
    errors: str | None,
) -> Task:
    """Check the given values; :class:`flashgc.ConfigError` names the place of a wrong value."""
    sections: dict[str, Any] = {name: dict(keys) for name, keys in values.items()}
    text = f"{option(places, 'schemes')} names schemes, all with the pool frontier"
    refuse(
        UNUSED,
        sections,
        places,
        "cannot be given to a comparison with foresight",
        lambda option: text if option.key in OWN else "leave it out",
    )
    _check_drive(sections, places)
    chosen = online(USUAL if names is None else list(names), option(places, "schemes"))
    sections["gc"] = {**sections.get("gc", {}), "frontier": "pool", "victim": "greedy"}
    setup = experiment(sections, places)
    trace = _core.is_trace(setup["workload.source"])
    ahead = Foresight(
        _classes(classes, places),
        _horizon(horizon, places),
        _sigmas(sigma, places),
        _errors(errors, trace, places),
    )
    if trace:
        check_again(setup["workload.source"], "foresight")
    configs = configurations(setup, places, default_runs=int(find("runs").case("compare")))
    if len(configs) != 1:
        raise ConfigError(
            f"{len(configs)} configurations, expected one: only "
            f"{option(places, 'schemes')} may be several; hint: flashgc compare"
        )
    return Task(configs[0], chosen, ahead)


def _check_drive(sections: Mapping[str, Any], places: Mapping[str, str]) -> None:
    kind = sections.get("drive", {}).get("kind", "counting")
    if kind == "timed":
        raise ConfigError(
            f"{_origins.subject(places, 'drive.kind')}: found timed, expected counting: foresight "
            "needs a drive without a clock; hint: leave it out"
        )
    source = str(sections.get("workload", {}).get("source", ""))
    if has_own_times(source):
        raise ConfigError(
            f"{places.get('workload.source', 'workload')}: found {source}, expected a workload "
            "without a clock; hint: a trace, or a generator such as zipf"
        )
    for mapping in several(sections.get("gc", {}).get("mapping", "page")):
        if str(mapping).split(":")[0].strip() != "page":
            raise ConfigError(
                f"{_origins.subject(places, 'gc.mapping')}: found {mapping}, expected page: "
                "foresight separates the pages of a page map; hint: leave it out"
            )


def _classes(given: int | str | None, places: Mapping[str, str]) -> int:
    usual = next(
        str(param.default)
        for entry in placements()
        if entry.name == "oracle"
        for param in entry.params
        if param.name == "classes"
    )
    return int(_oracle("classes", usual if given is None else given, usual, places))


def _horizon(given: float | str | None, places: Mapping[str, str]) -> float:
    return _oracle("horizon", 8 if given is None else given, "8", places)


def _oracle(key: str, given: float | str, hint: str, places: Mapping[str, str]) -> float:
    """A number for the placement ``oracle``, in the range that the engine declares."""
    try:
        if re.search(r"[,:=\s]", str(given)):
            raise ValueError
        value = float(given)
        if not math.isfinite(value):
            raise ValueError
        _core.check("placement", f"oracle:{key}={given}")
    except (ValueError, ConfigError):
        entry = next(placement for placement in placements() if placement.name == "oracle")
        values = next(param.values for param in entry.params if param.name == key)
        raise ConfigError(
            f"{option(places, key)}: found '{given}', expected {values}; hint: {hint}"
        ) from None
    return value


def _sigmas(
    given: Sequence[float | str] | float | str | None, places: Mapping[str, str]
) -> tuple[float, ...]:
    """Errors of predictors: numbers, or a text with commas between numbers."""
    if given is None:
        return SIGMAS
    texts = given.split(",") if isinstance(given, str) else given
    listed = [texts] if isinstance(texts, int | float) else [*texts]
    hint = ",".join(f"{sigma:g}" for sigma in SIGMAS)
    values = [
        _oracle("sigma", name.strip() if isinstance(name, str) else name, hint, places)
        for name in listed
    ]
    at = option(places, "sigma")
    if not values:
        raise ConfigError(f"{at}: found none, expected an error; hint: {hint}")
    if 0 in values:
        raise ConfigError(
            f"{at}: found 0, which is clairvoyance and has a row of its own; hint: leave it out"
        )
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ConfigError(f"{at}: '{value:g}' is given twice; hint: give each once")
    return tuple(sorted(values))


def _errors(given: str | None, trace: bool, places: Mapping[str, str]) -> tuple[str, ...]:
    """Return the kinds of errors. By default both for a trace, only ``write`` for a generator."""
    if given is None:
        return ("write", "request") if trace else ("write",)
    if given not in ERRORS:
        hint = _core.suggest(given, list(ERRORS))
        raise ConfigError(f"{option(places, 'errors')}: unknown kind '{given}'; hint: {hint}")
    return ("write", "request") if given == "both" else (given,)
