"""The picture of a bench: each cell's repeats, mean and interval, in one panel per figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashgc.device.benching.outcome import FIGURES, CellOutcome, Outcome, label, value_in_words
from flashgc.foreign import for_html

#: The figures that get a panel.
PANELS = ("flash_bytes_per_unit", "units_per_second", "write_p99")

#: Lengths in the picture's own units: width, gap between panels, height of a row, margin above and
#: below.
WIDTH, GAP, ROW, TOP, BOTTOM = 860, 26, 22, 30, 24

#: The width of a character of a label, and the greatest width of all labels.
CHARACTER, LABELS = 7.2, 340

_STYLE = """
svg.cells { --ink: #1b1f24; --soft: #5b6570; --line: #d4dae0; --band: #f3f5f7; --mark: #1f6feb;
  --back: #fff; font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { svg.cells { --ink: #e6e9ec; --soft: #9aa4ae; --line: #3a424b;
  --band: #1d2329; --mark: #79b0ff; --back: #14181d } }
"""


def picture(done: Outcome) -> str:
    """The picture as an SVG; empty without a finished run."""
    cells = [cell for cell in done.cells if cell.runs]
    figures = [name for name in PANELS if any(cell.values(name) for cell in cells)]
    if not figures:
        return ""
    names = [cell.cell.name for cell in cells]
    left = min(LABELS, CHARACTER * max(map(len, names)) + 12)
    height = TOP + ROW * len(cells) + BOTTOM
    panel = (WIDTH - left) / len(figures)
    parts = [*_bands(cells), *_labels(names, left)]
    for at, name in enumerate(figures):
        start = left + panel * at
        parts += _panel(done, cells, name, start, panel - GAP)
    return (
        f'<svg class="cells" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="the cells of the bench"><style>{_STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height}" fill="var(--back)"/>{"".join(parts)}</svg>'
    )


def _middle(row: int) -> float:
    return TOP + ROW * (row + 0.5)


def _bands(cells: Sequence[CellOutcome]) -> Iterator[str]:
    """Shaded bands behind the rows of every second value of the first axis."""
    values = [next(iter(cell.cell.varied.values()), "") for cell in cells]
    is_banded = False
    for row, value in enumerate(values):
        is_banded ^= row > 0 and value != values[row - 1]
        if is_banded:
            yield (
                f'<rect x="0" y="{TOP + ROW * row}" width="{WIDTH}" height="{ROW}" '
                'fill="var(--band)"/>'
            )


def _labels(names: Sequence[str], left: float) -> Iterator[str]:
    most = int((left - 12) / CHARACTER)
    for row, name in enumerate(names):
        text = name if len(name) <= most else f"{name[: most - 1]}…"
        yield f'<text x="4" y="{_middle(row) + 4:.1f}" fill="var(--ink)">{for_html(text)}</text>'


def _panel(
    done: Outcome, cells: Sequence[CellOutcome], figure: str, start: float, width: float
) -> Iterator[str]:
    """A panel whose scale begins at 0: dots for repeats, a line for the interval, a mean mark."""
    ends = [max(cell.values(figure).values(), default=0.0) for cell in cells]
    ends += [mean.mean + (mean.half or 0) for cell in cells if (mean := cell.mean(figure))]
    # An interval of few repeats may be many times the values; the panel then cuts it off.
    top = min(max(ends), 2 * max(ends[: len(cells)])) * 1.04 or 1.0

    def x(value: float) -> float:
        return start + width * min(max(value, 0.0), top) / top

    bottom = TOP + ROW * len(cells)
    head = for_html(label(figure, done.bench.unit))
    yield f'<text x="{start:.1f}" y="16" fill="var(--ink)">{head}</text>'
    for value in (0.0, top / 1.04):
        anchor = "start" if value == 0 else "end"
        text = "0" if value == 0 else value_in_words(FIGURES[figure].kind, value)
        yield (
            f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP}" y2="{bottom}" '
            f'stroke="var(--line)"/><text x="{x(value):.1f}" y="{bottom + 15}" '
            f'text-anchor="{anchor}" fill="var(--soft)">{text}</text>'
        )
    for row, cell in enumerate(cells):
        yield from _marks(cell, figure, _middle(row), x)


def _marks(cell: CellOutcome, figure: str, y: float, x: object) -> Iterator[str]:
    assert callable(x)
    for value in cell.values(figure).values():
        yield f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="2.5" fill="var(--soft)" opacity=".55"/>'
    mean = cell.mean(figure)
    if mean is None:
        return
    low, high = mean.mean - (mean.half or 0), mean.mean + (mean.half or 0)
    yield (
        f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="var(--mark)" stroke-width="1.5"/><line x1="{x(mean.mean):.1f}" '
        f'x2="{x(mean.mean):.1f}" y1="{y - 6:.1f}" y2="{y + 6:.1f}" stroke="var(--mark)" '
        'stroke-width="3"/>'
    )
