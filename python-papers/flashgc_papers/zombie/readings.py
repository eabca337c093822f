"""Zombie Chasing: under which reading of what the paper leaves open its gains come out.

What the paper does not say: the state of the drive before the 5.12 GB, in which order the flush
daemon writes, and how fast requests and drive are. How much the drive knows and the daemon's limits
are moved as well, to see what they decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Measured,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict
from flashgc_papers.zombie.experiment import (
    PAIRS,
    SCATTERED,
    gain,
    left_out,
    micro,
    settings,
)
from flashgc_papers.zombie.figures import FOUR

#: The change of each from the usual one.
READINGS: Mapping[str, Mapping[str, Any]] = {
    "usual": {},
    "flushed by the age of each page": {"host": ",expiry=page"},
    "perfect knowledge": {"hints": "perfect"},
    "filled in order, nothing written before": {"warmup": "0"},
    "hot pages scattered, nothing written before": {"reading": SCATTERED},
    "hot pages scattered, 127 of 128 pages for data": {"reading": SCATTERED, "lists": True},
    "hot pages scattered, 127 of 128 pages for data, half a drive write before": {
        "reading": SCATTERED,
        "lists": True,
        "warmup": "0.5x",
    },
    "127 of 128 pages for data": {"lists": True},
    "half a drive write before": {"warmup": "0.5x"},
    "eight drive writes before": {"warmup": "8x"},
    "background 5%, limit 10%": {"host": ",background=5%,limit=10%"},
    "background 20%, limit 40%": {"host": ",background=20%,limit=40%"},
    "a drive four times as fast": {"speed": 4000},
    "a third of the requests a second": {"rate": 3333},
}
#: Those of a quick run.
FEW = (
    "usual",
    "flushed by the age of each page",
    "filled in order, nothing written before",
    "hot pages scattered, nothing written before",
    "hot pages scattered, 127 of 128 pages for data",
)

POINTS = (3, 6, 10, 20, 50)
_POINTS = ", ".join(map(str, POINTS))


def readings(size: Size) -> tuple[str, ...]:
    """The readings that are run at a size."""
    return FEW if size is Size.QUICK else tuple(READINGS)


def _key(reading: str, name: str, h: float) -> str:
    # The collector comes first: rows name it by that.
    return f"{name} {h:g} {reading}"


@runner("zombie.readings")
class Readings:
    """The number of statements about Figure 5 that each reading makes true."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive a reading, collector and h."""
        return Task(
            {
                _key(reading, name, h): micro(size, name, h, **READINGS[reading])
                for reading in readings(size)
                for name in FOUR
                for h in POINTS
            },
            settings=f"{len(readings(size))} readings; {settings(size)} unless it says otherwise",
            left_out=left_out(size, f"; readings but {len(FEW)}"),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Two rows a reading: the statements that hold, and how much is written."""
        rows = []
        for reading in readings(measured.size):
            rows.append(self._row(claim, measured, reading))
            rows.append(self._written(measured, reading))
        return conclude(claim, measured, rows, heading="reading")

    @staticmethod
    def _written(measured: Measured, reading: str) -> Row:
        """Write amplification where Figure 8 prints it, h = 6, for more and fewer reads."""
        (figure,) = claims().select(("zombie.fig8",))
        printed = sorted(float(value) for _, value in figure.rows)
        low, high = printed[0], printed[-1]

        def judge() -> tuple[Value, Judgement]:
            value = measured.value(_key(reading, "ZGC-CB", 6))
            others = ", ".join(
                f"{measured.value(_key(reading, 'ZGC-CB', h)).mean:.2f}" for h in POINTS
            )
            verdict, why = verdicts.within(value, low, high)
            return value, Judgement(verdict, f"{why}; at h = {_POINTS}: {others}")

        return row(f"{reading}: writes of ZGC-CB at h = 6", f"{low:g} to {high:g}", judge)

    def _row(self, claim: Claim, measured: Measured, reading: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            missed, said = [], []
            for less, more in PAIRS:
                gains = {
                    h: gain(measured, _key(reading, less, h), _key(reading, more, h))
                    for h in POINTS
                }
                missed += [f"{less}: {text}" for text, holds in STATEMENTS if not holds(gains)]
                each = ", ".join(f"{value.mean:.0f}" for value in gains.values())
                said.append(f"{less} {each}")
            total = len(STATEMENTS) * len(PAIRS)
            why = f"gains in % at h = {_POINTS}: {'; '.join(said)}"
            if missed:
                why += f". Not so: {'; '.join(missed)}"
            verdict = Verdict.MISSED if missed else Verdict.MET
            return f"{total - len(missed)} of {total}", Judgement(verdict, why)

        return row(reading, "all statements", judge)


Gains = Mapping[int, Value]


def _falls(gains: list[Value]) -> bool:
    names = [str(at) for at in range(len(gains))]
    return verdicts.falling(gains, names).verdict is Verdict.MET


#: The statements of section 5.2.2.
STATEMENTS: tuple[tuple[str, Callable[[Gains], bool]], ...] = (
    ("gains for h = 6 to 20", lambda g: all(g[h].low > 0 for h in (6, 10, 20))),
    ("falling with h from 6", lambda g: _falls([g[h] for h in (6, 10, 20, 50)])),
    ("below 5% at h = 50", lambda g: g[50].mean < 5),
    ("none at h = 3", lambda g: g[3].low <= 0 or g[3].mean < 5),
)


#: Horizons of the oracle, in percent of the drive's pages.
HORIZONS = (0.5, 1, 2, 5, 10, 20, 50)


def horizons(size: Size) -> tuple[float, ...]:
    """The horizons that are run at a size."""
    return HORIZONS[1:-1:2] if size is Size.QUICK else HORIZONS


def oracle_points(size: Size) -> tuple[int, ...]:
    """The h that are run at a size."""
    return (6,) if size is Size.QUICK else (6, 20)


@runner("zombie.oracle")
class Oracle:
    """The savings by hints, beside those of an oracle that knows every write to come."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """Drives without hints, with those of the paper, and with an oracle of each horizon."""
        ways = {f"oracle {far:g}": f"oracle:horizon={far:g}%" for far in horizons(size)}
        ways |= {"riding": "piggyback"}
        simulations = {
            f"{less} {h} {way}": micro(size, less, h, hints=hints)
            for less, _ in PAIRS
            for h in oracle_points(size)
            for way, hints in ways.items()
        } | {f"{more} {h}": micro(size, more, h) for _, more in PAIRS for h in oracle_points(size)}
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The share of the best horizon's gain that hints have."""
        rows = [
            self._row(measured, less, more, h)
            for less, more in PAIRS
            for h in oracle_points(measured.size)
        ]
        return conclude(claim, measured, rows, heading="collector")

    @staticmethod
    def _row(measured: Measured, less: str, more: str, h: int) -> Row:
        def judge() -> tuple[Value | str, Judgement]:
            told = gain(measured, f"{less} {h} riding", f"{more} {h}").mean
            foretold = {
                far: gain(measured, f"{less} {h} oracle {far:g}", f"{more} {h}").mean
                for far in horizons(measured.size)
            }
            best = max(foretold.values())
            each = ", ".join(f"{value:.1f} at {far:g}%" for far, value in foretold.items())
            why = f"hints save {told:.1f}% of {more}'s writes, the oracle {each} of the drive ahead"
            if not best > 0:
                return "nothing saved", Judgement(Verdict.MISSED, why)
            return Value(100 * told / best), Judgement(
                Verdict.MET if best >= told else Verdict.MISSED, why
            )

        return row(f"{less}, h = {h}, % of the oracle's gain", "at most all", judge)
