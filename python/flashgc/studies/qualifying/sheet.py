"""A qualification as one page for a browser, like a data sheet, perhaps with a second drive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from flashgc.foreign import for_html
from flashgc.studies.qualifying.lives import KIB
from flashgc.studies.qualifying.outcome import QUICK, Qualification, Rounds, decimal
from flashgc.units import format_share, format_size, format_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent

#: The page runs no program and loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_PAGES.filters.update(
    decimal=decimal,
    share=format_share,
    size=format_size,
    time=format_time,
    html=lambda text: Markup(for_html(text)),
)


@dataclass(frozen=True)
class Picture:
    """A picture of the page, and the command that makes its figures alone."""

    title: str
    about: str
    svg: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Matrix:
    """The IOPS of one drive by size and share of reads; each cell with its share of the largest."""

    name: str
    sizes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    command: str


def sheet(qualification: Qualification, other: Qualification | None = None) -> str:
    """The page as HTML that loads no other file."""
    drives = [qualification, *([] if other is None else [other])]
    tables = [{line.name: line for line in drive.lines()} for drive in drives]
    names = list(dict.fromkeys(name for table in tables for name in table))
    return _PAGES.get_template("sheet.html.j2").render(
        drives=drives,
        style=Markup((HERE / "sheet.css").read_text(encoding="utf-8")),
        policy=POLICY,
        lines=[
            (name, [table[name].value if name in table else "" for table in tables])
            for name in names
        ],
        pictures=list(_pictures(drives)),
        matrices=[_matrix(drive) for drive in drives if drive.of("iops")],
        tests=[(drive, drive.rounds) for drive in drives],
        latencies=[(drive, test) for drive in drives if (test := drive.of("latency")) is not None],
        mix=_mix,
        quick=QUICK,
    )


def _mix(reads: float) -> str:
    share = round(100 * reads)
    return f"{share}/{100 - share}"


def _matrix(drive: Qualification) -> Matrix:
    test = drive.of("iops")
    assert test is not None  # The caller looked.
    sizes = tuple(dict.fromkeys(cell.size for cell in test.cells))
    most = max(cell.requests_per_second for cell in test.cells)
    rows = []
    for reads in dict.fromkeys(cell.reads for cell in test.cells):
        row = []
        for size in sizes:
            cell = test.cell(size, reads)
            rate = 0.0 if cell is None else cell.requests_per_second
            row.append(("" if cell is None else decimal(rate, ""), (rate / most) ** 0.5))
        rows.append((_mix(reads), tuple(row)))
    return Matrix(
        drive.name, tuple(f"{size / KIB:g} KiB" for size in sizes), tuple(rows),
        f"{drive.command} --tests iops",
    )  # fmt: skip


def _pictures(drives: Sequence[Qualification]) -> Iterator[Picture]:
    from flashgc.plot.files import to_svg

    wanted: tuple[tuple[str, str, str, Callable[[Sequence[Qualification]], Figure | None]], ...] = (
        ("wsat", "Write saturation",
         "Random writes of 4 KiB on a fresh drive: thousands a second in each slice of time, and "
         "write amplification.", _saturation),
        ("depth", "Queue depths",
         "Random requests of 4 KiB on a drive in its steady state.", _depth),
        ("iops", "Rounds of the IOPS test",
         "Thousands of random writes of 4 KiB a second in each round; the figures are means over "
         "the last five.", _rounds),
    )  # fmt: skip
    for at, (test, title, about, draw) in enumerate(wanted):
        figure = draw(drives)
        if figure is not None:
            svg = to_svg(figure, prefix=f"figure{at}", label=title)
            yield Picture(
                title, about, svg, tuple(f"{drive.command} --tests {test}" for drive in drives)
            )


def _names(drives: Sequence[Qualification]) -> list[str]:
    """The names of the drives; of two with one name, the second gets a number."""
    names = [drive.name for drive in drives]
    return [name if name not in names[:at] else f"{name} (2)" for at, name in enumerate(names)]


def _saturation(drives: Sequence[Qualification]) -> Figure | None:
    from flashgc.plot.curves import Panel, panels
    from flashgc.plot.series import Series

    each = [
        (name, drive.wsat) for name, drive in zip(_names(drives), drives, strict=True) if drive.wsat
    ]
    if not each:
        return None
    rates = [
        Series(name, [at for at, _ in test.points], [rate / 1e3 for _, rate in test.points])
        for name, test in each
    ]
    amplification = [
        Series(
            name, [at for at, _ in test.amplification], [value for _, value in test.amplification]
        )
        for name, test in each
    ]
    return panels(
        [
            Panel(series=rates, y_label="thousands of writes a second"),
            Panel(series=amplification, y_label="write amplification"),
        ],
        x_label="drive writes",
    )


def _depth(drives: Sequence[Qualification]) -> Figure | None:
    from flashgc.plot.curves import Panel, panels
    from flashgc.plot.series import Series

    rates, times = [], []
    for name, drive in zip(_names(drives), drives, strict=True):
        for reads, kind in ((True, "reads"), (False, "writes")):
            cells = [cell for cell in drive.depth if cell.read == reads]
            if not cells:
                continue
            label = kind if len(drives) == 1 else f"{name}, {kind}"
            depths = [cell.depth for cell in cells]
            rates.append(
                Series(
                    label, depths, [cell.requests_per_second / 1e3 for cell in cells], kind="both"
                )
            )
            times.append(Series(label, depths, [cell.p99_us / 1e3 for cell in cells], kind="both"))
    if not rates:
        return None
    return panels(
        [
            Panel(series=rates, y_label="thousands of requests a second"),
            Panel(series=times, y_label="99th percentile (ms)"),
        ],
        x_label="requests under way",
        x_log=True,
    )


def _rounds(drives: Sequence[Qualification]) -> Figure | None:
    from flashgc.plot.curves import against
    from flashgc.plot.series import Series

    tests: list[tuple[str, Rounds]] = [
        (name, test)
        for name, drive in zip(_names(drives), drives, strict=True)
        if (test := drive.of("iops")) is not None
    ]
    if not tests:
        return None
    series = [
        Series(
            name,
            [*range(1, len(test.tracked) + 1)],
            [value / 1e3 for value in test.tracked],
            kind="both",
        )
        for name, test in tests
    ]
    return against(series, x_label="round", y_label="thousands of writes a second")
