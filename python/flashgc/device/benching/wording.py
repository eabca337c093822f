"""Figures in words: a mean with its interval in one unit."""

from __future__ import annotations

from flashgc.device.benching.outcome import FIGURES, CellOutcome, Mean
from flashgc.units import format_count, format_size, format_time

#: The word where an interval holds 0.
NOISE = "inside the noise"

#: Units of each kind: factor and name, the largest first.
_UNITS = {
    "bytes": ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB"), (1, " B")),
    "time": ((1e6, " s"), (1e3, " ms"), (1, " us")),
    "number": ((1, ""),),
}


def label(figure: str, unit: str) -> str:
    """The name of a figure, with the unit of the work.

    >>> label("flash_bytes_per_unit", "transactions")
    'flash bytes per transaction'
    """
    text = FIGURES[figure].label
    return text.replace("per UNIT", f"per {one_of(unit)}").replace("UNIT", unit)


def one_of(unit: str) -> str:
    """The unit in the singular.

    >>> one_of("transactions"), one_of("writes of 4 KiB"), one_of("pass")
    ('transaction', 'writes of 4 KiB', 'pass')
    """
    return unit[:-1] if unit.endswith("s") and not unit.endswith("ss") else unit


def value_in_words(kind: str, value: float) -> str:
    """A value for people.

    >>> value_in_words("bytes", 2048), value_in_words("time", 1500), value_in_words("number", 1.5)
    ('2 KiB', '1.50 ms', '1.500')
    """
    if kind == "bytes":
        return format_size(value)
    if kind == "time":
        return format_time(value)
    return format_count(value) if value >= 100 else f"{value:.3f}"


def in_words(figure: str, found: Mean | None) -> str:
    """A mean with half its interval, both in one unit; the interval has two digits.

    >>> in_words("flash_bytes_per_unit", Mean(12_595.0, 409.6))
    '12.30 ± 0.40 KiB'
    >>> in_words("write_p99", Mean(2000.0, None)), in_words("units_per_second", Mean(1234.5, 21.0))
    ('2.00 ms', '1 234 ± 21')
    >>> in_words("write_p99", None)
    '-'
    """
    if found is None:
        return "-"
    units = _UNITS[FIGURES[figure].kind]
    factor, name = next((one for one in units if found.mean >= one[0]), units[-1])
    number, half = found.mean / factor, None if found.half is None else found.half / factor
    digits = _digits(number, half)
    if half is None:
        return f"{_number(number, digits)}{name}"
    return f"{_number(number, digits)} ± {_number(half, digits)}{name}"


def cell_in_words(figure: str, cell: CellOutcome) -> str:
    """The mean of a figure in a cell; those of its least and its most where it is unknown."""
    found, bounds = cell.mean(figure), cell.bounds(figure)
    if found is not None or bounds is None:
        return in_words(figure, found)
    return " to ".join(in_words(figure, one) for one in bounds)


def _digits(number: float, half: float | None) -> int:
    """Digits after the point: two of the interval, and no more than four of the number."""
    rough = half if half else number / 20
    wanted = next((at for at in range(4) if rough * 10**at >= 9.5), 3)
    most = next((at for at in range(3, 0, -1) if number * 10**at < 9999.5), 0)
    return min(wanted, most)


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace(",", " ")


def change_in_words(found: Mean | None) -> str:
    """A change in percent with half its interval.

    >>> change_in_words(Mean(-0.123, 0.0123)), change_in_words(Mean(0.5, None))
    ('-12.3% ± 1.2%', '+50.0%')
    >>> change_in_words(Mean(-0.0086, 0.0087))
    '-0.86% ± 0.87%'
    """
    if found is None:
        return "-"
    if found.half is None:
        return f"{found.mean:+.1%}"
    digits = 2 if found.half < 0.00995 else 1
    return f"{found.mean:+.{digits}%} ± {found.half:.{digits}%}"


def noise_in_words(found: Mean | None) -> str:
    """The word on a change: empty where its interval leaves no doubt that there is one."""
    if found is None:
        return ""
    if found.holds_zero is None:
        return "one repeat"
    return NOISE if found.holds_zero else ""
