"""The figures of wear as text for Prometheus: its exposition format 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashgc.foreign import for_openmetrics
from flashgc.logs.counts import Range
from flashgc.logs.outcome import YEAR, Wear

PREFIX = "flashgc_wear_"


def text(wear: Wear) -> str:
    """The text, which ends with a line break. Figures that are not known are left out."""
    return "".join(f"{line}\n" for line in _lines(wear))


def _lines(wear: Wear) -> Iterator[str]:
    drive = {"serial": wear.serial or "", "model": wear.model or ""}
    for name, kind, help_, samples in _metrics(wear):
        if samples:
            yield f"# HELP {PREFIX}{name} {_help(help_)}"
            yield f"# TYPE {PREFIX}{name} {kind}"
        for labels, value in samples:
            inner = ",".join(
                f'{key}="{for_openmetrics(word)}"' for key, word in {**drive, **labels}.items()
            )
            yield f"{PREFIX}{name}{{{inner}}} {_number(value)}"


def _help(words: str) -> str:
    return words.replace("\\", r"\\").replace("\n", r"\n")


_Samples = list[tuple[Mapping[str, str], float]]


def _metrics(wear: Wear) -> Iterator[tuple[str, str, str, _Samples]]:
    yield "log_time_seconds", "gauge", "Time of the last log.", [({}, wear.times[-1])]
    yield "interval_seconds", "gauge", "Time from the first log to the last.", [({}, wear.seconds)]
    yield "capacity_bytes", "gauge", "Bytes that the host sees.", _one(wear.capacity_bytes)
    for written, name, help_ in (
        (wear.host, "host_written_bytes_total", "Bytes that the host wrote."),
        (wear.media, "media_written_bytes_total", "Bytes that the flash was programmed with."),
    ):
        yield name, "counter", help_, _one(None if written is None else written.life.value)
    ratios: _Samples = []
    if wear.amplifications:
        for over, value in (
            ("interval", wear.amplifications[0].interval),
            ("life", next((a.life for a in wear.amplifications if a.life is not None), None)),
        ):
            ratios += _ranged(value, {"over": over})
    help_ = "Write amplification, and the bounds that rounding of the counts leaves."
    yield "write_amplification_ratio", "gauge", help_, ratios
    help_ = "Capacities that the host writes a day, and their bounds."
    yield "drive_writes_per_day", "gauge", help_, _ranged(wear.drive_writes_a_day, {})
    used, left = (
        None if percent is None else percent / 100
        for percent in (wear.percentage_used, wear.spare_left_percent)
    )
    yield "used_ratio", "gauge", "Part of its life that the drive says is used.", _one(used)
    yield "spare_left_ratio", "gauge", "Spare blocks that are left.", _one(left)
    lives: _Samples = []
    for life in wear.lives:
        lives += [(labels, years * YEAR) for labels, years in _ranged(life.years, {"by": life.by})]
    yield "life_left_seconds", "gauge", "Time to a limit at the rate of the interval.", lives
    erases: _Samples = []
    if wear.erases is not None:
        for name in ("least", "mean", "most"):
            erases += [({"of": name}, v) for _, v in _one(getattr(wear.erases, name))]
    yield "block_erases", "gauge", "Erases of a block.", erases
    verdicts: _Samples = [
        ({"limit": name}, float(all(v.met is not False for v in wear.budget if v.name == name)))
        for name in dict.fromkeys(verdict.name for verdict in wear.budget)
    ]
    yield "budget_met", "gauge", "1 unless a limit of the budget is surely broken.", verdicts


def _one(value: float | None) -> _Samples:
    return [] if value is None else [({}, value)]


def _ranged(value: Range | None, labels: Mapping[str, str]) -> _Samples:
    if value is None:
        return []
    high = float("inf") if value.high is None else value.high
    bounds = {"estimate": value.value, "lower": value.low, "upper": high}
    return [({**labels, "bound": bound}, number) for bound, number in bounds.items()]


def _number(value: float) -> str:
    """A number: whole ones in full, others with 12 significant digits.

    >>> _number(1024000.0), _number(1.5), _number(float("inf"))
    ('1024000', '1.5', '+Inf')
    """
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else f"{value:.12g}"
