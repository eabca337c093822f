"""The picture of wear over time."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from flashgc._core import ConfigError
from flashgc.logs.outcome import DAY, Wear
from flashgc.plot.curves import AnyPanel, panels
from flashgc.plot.series import Series, literal


def over_time(wear: Wear, *, title: str | None = None) -> Figure:
    """Draw amplification from log to log with its range, and what host and flash wrote.

    Raises :class:`flashgc.ConfigError` for fewer than three logs.
    """
    if len(wear.times) < 3:
        raise ConfigError(
            f"found {len(wear.times)} logs, expected three or more; hint: give more logs"
        )
    begin = wear.times[0]
    ends = [(step.end - begin) / DAY for step in wear.steps]
    # A range without an upper end says nothing, and is a gap.
    ratios = [
        None if step.amplification is None or step.amplification.high is None
        else step.amplification
        for step in wear.steps
    ]  # fmt: skip
    parts: list[AnyPanel] = []
    if any(ratios):
        values = [math.nan if ratio is None else ratio.value for ratio in ratios]
        error = [
            math.nan if ratio is None or ratio.high is None
            else max(ratio.high - ratio.value, ratio.value - ratio.low)
            for ratio in ratios
        ]  # fmt: skip
        parts.append(
            {
                "series": [Series("from log to log", ends, values, error, "both")],
                "y_label": "write amplification",
            }
        )
    written = []
    for label, amounts in (
        ("flash", [step.media_bytes for step in wear.steps]),
        ("host", [step.host_bytes for step in wear.steps]),
    ):
        if any(amount is not None for amount in amounts):
            sums, total = [0.0], 0.0
            for amount in amounts:
                # The sum is not known after a log without the count.
                total += math.nan if amount is None else amount / 1e12
                sums.append(total)
            written.append(Series(label, [0.0, *ends], sums, kind="both"))
    if written:
        parts.append({"series": written, "y_label": "written (TB)"})
    name = wear.serial or wear.model
    used = literal(name) if title is None and name else title or None
    return panels(parts, x_label="days since the first log", title=used)
