"""``identify``: finds the garbage collection that explains a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flashgc import _notebook_progress
from flashgc._core import ConfigError, version
from flashgc._documents import Json
from flashgc._interruptions import interrupts_program
from flashgc.progress import Show
from flashgc.store.cache import Cache
from flashgc.studies.identifying import deciding, outcome
from flashgc.studies.identifying.curves import SIMULATION_ERROR, Curves, Size
from flashgc.studies.identifying.describe import findings
from flashgc.studies.identifying.fit import TOLD_APART, distance
from flashgc.studies.identifying.measurements import ERROR, Drive, Measurements, chosen, table
from flashgc.studies.identifying.outcome import Identification, Identified, Ranked
from flashgc.studies.identifying.schemes import parse, schemes
from flashgc.studies.identifying.search import Search

#: The simulated drive of ``quick``.
QUICK = Size(256, 64)


@interrupts_program
def identify(
    measurements: str | Path | Sequence[Drive],
    *,
    drive: Sequence[str] = (),
    relative: bool = False,
    same_hardware: bool = False,
    hold_out: bool = False,
    what_if: Sequence[str] = (),
    scheme: Sequence[str] = (),
    error: float = ERROR,
    quick: bool = False,
    blocks: int | None = None,
    cache: str | Path | None = None,
    jobs: int = 0,
    progress: Show | None = None,
) -> Identification:
    """Find the garbage collection that explains write amplification measured at several skews.

    ``measurements`` is a CSV file (docs/identify.md has its columns) or drives read from one;
    ``drive`` names those to identify, if not all. With ``relative`` only the shape of a curve
    counts; with ``same_hardware`` all drives have one scheme, each with a spare factor of its own;
    with ``hold_out`` each point is predicted from the others. ``what_if`` are changes of the drive:
    ``"spare=+5%"``, ``"spare=20%"``, a scheme (``"cost-benefit pool"``), or both. ``scheme`` names
    the schemes to try, by default all of :func:`flashgc.studies.identifying.schemes.schemes`.
    ``error`` is the relative error of points that have none of their own. ``quick`` simulates a
    smaller drive. The simulated drive has 512 blocks, and the best schemes are simulated with 256
    to 2048 too; ``blocks`` fixes their number. ``cache`` is a folder in which finished simulations
    are stored. ``progress`` is called with the share done, what is being done, how much of it, and
    the unit.

    Ctrl-C stops the simulations and raises :class:`flashgc.Interruption`, which has the results so
    far.

    Raises :class:`flashgc.ConfigError` if a measurement or an option is wrong.
    """
    if not 0 < error < 1:
        raise ConfigError(f"error: found {error:g}, expected above 0 and below 1; hint: 2%")
    if blocks is not None and not 64 <= blocks <= 2**20:
        raise ConfigError(f"blocks: found {blocks}, expected from 64 to {2**20}; hint: 512")
    given = (
        table(measurements, error=error)
        if isinstance(measurements, str | Path)
        else Measurements(tuple(measurements))
    )
    drives = chosen(given.drives, drive)
    groups = [drives] if same_hardware else [(drive,) for drive in drives]
    _check(drives, relative=relative, same_hardware=same_hardware, varied=blocks is None)
    tried = tuple(dict.fromkeys(parse(name) for name in scheme)) or schemes()
    changes = [deciding.change(text) for text in what_if]
    size = QUICK if quick else Size()
    if blocks is not None:
        size = Size(blocks, size.pages_per_block)
    kept = None if cache is None else Cache(Path(cache), "identify")
    rate = outcome.false_best() if set(tried) == set(schemes()) else None
    with _notebook_progress.shown(progress) as show:
        curves = Curves(size, cache=kept, jobs=jobs, show=show)
        search = Search(groups, tried, curves, relative=relative, varied=blocks is None)
        search.perform()
        identifications = []
        for group in groups:
            identification = ranked(search, group)
            if identification.ranking and not curves.interrupted:
                identification = deciding.asked(identification, search, changes, hold_out=hold_out)
            identification = replace(identification, false_best=rate)
            identifications.append(
                replace(
                    identification,
                    findings=findings(identification, interrupted=curves.interrupted),
                )
            )
    raw: dict[str, Json] = {
        "version": version(),
        "interrupted": curves.interrupted,
        "relative": relative,
        "same_hardware": same_hardware,
        "schemes": [scheme.name for scheme in tried],
        "simulated_drive": {"blocks": size.blocks, "pages_per_block": size.pages_per_block},
        "simulation_error": SIMULATION_ERROR,
        "told_apart_beyond": TOLD_APART,
        "columns_left_out": list(given.left_out),
        "lines_left_out": list(given.skipped),
        "identified": [identification.to_dict() for identification in identifications],
    }
    unkept = None if curves.unkept is None else str(curves.unkept)
    return Identification(
        tuple(identifications),
        relative,
        curves.ran,
        curves.found,
        given.left_out,
        given.skipped,
        curves.interrupted,
        unkept,
        raw,
    )


def ranked(search: Search, group: tuple[Drive, ...]) -> Identified:
    """The explanations of a group of drives, the best first."""
    explanations = search.explanations(group)
    degrees = search.degrees(group)
    ranking = tuple(
        Ranked(
            place,
            explanation,
            distance(explanation.chi_square, explanations[0].chi_square, degrees),
        )
        for place, explanation in enumerate(explanations, 1)
    )
    goodness = search.goodness(group) if ranking else None
    explained = goodness is not None and goodness.is_explained
    return Identified(group, ranking, explained, goodness)


def _check(drives: Sequence[Drive], *, relative: bool, same_hardware: bool, varied: bool) -> None:
    """Refuse curves with too few points, or without variation."""
    if same_hardware and len(drives) < 2:
        raise ConfigError(
            "same hardware: found one drive, expected several; hint: name them in a column 'drive'"
        )
    least = 3 + int(relative) + int(varied)
    for drive in drives:
        if len(drive.points) < least:
            raise ConfigError(
                f"{drive.name}: found {len(drive.points)} workloads, expected {least} at least; "
                "hint: measure uniform, 80/20, 90/10 and 95/5"
            )
        low = min(drive.points, key=lambda point: point.write_amplification)
        if not relative and low.write_amplification < 1:
            raise ConfigError(
                f"{drive.name}: {low.workload} has {low.write_amplification:g}, and no drive "
                "writes less than its host; hint: --relative (relative=True) compares the shape "
                "alone"
            )
