"""A run as one page for a browser: figures, the curve of write amplification, and phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from flashgc.device.execution.outcome import Executed
from flashgc.device.execution.samples import parts_of
from flashgc.units import format_count, format_duration, format_share, format_size, format_time

#: The picture's width and height, and the room for its axes, in its own units.
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 260, 52, 40, 26

#: Parts of the curve.
PARTS = 60

#: The look of a page.
STYLE = """
:root { --ink: #1b1f24; --soft: #5b6570; --line: #d4dae0; --back: #fff;
  --mark: #b3541e; --curve: #1f6feb }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #9aa4ae; --line: #3a424b; --back: #14181d;
    --mark: #f0a36b; --curve: #79b0ff }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 760px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem; overflow-wrap: anywhere } h2 { font-size: 1.05rem; margin-top: 2rem }
p.big { font-size: 2rem; line-height: 1.2; margin: .2rem 0 }
p.big small { font-size: 1rem; color: var(--soft) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left } th { color: var(--soft); font-weight: normal }
svg { width: 100%; height: auto } svg text { fill: var(--soft); font: 12px system-ui, sans-serif }
li { margin: .3rem 0 }
@media print { body { margin: 0 } }
"""


def page(done: Executed) -> str:
    """The page, which needs nothing but itself."""
    title = escape(" ".join(done.command))
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style>\n"
        f"<h1>{title}</h1>\n{_head(done)}\n{_curve(done)}\n{_phases(done)}\n{_files(done)}\n"
        f"<h2>Figures</h2>\n<dl>{''.join(_facts(done))}</dl>\n{_said(done)}</html>\n"
    )


def _head(done: Executed) -> str:
    if done.write_amplification is None:
        return '<p class="big">no writes</p>'
    whole = f"{done.write_amplification:.3f}"
    if not done.collections:
        said = "the drive never collected, so this says nothing"
        return f'<p class="big">{whole} <small>{said}</small></p>'
    if done.tail_amplification is None:
        return f'<p class="big">{whole} <small>write amplification</small></p>'
    return (
        f'<p class="big">{done.tail_amplification:.3f} <small>write amplification at the end, '
        f"{whole} on average</small></p>"
    )


def _facts(done: Executed) -> Iterator[str]:
    written = done.written
    for name, text in (
        ("exit code", str(done.exit_code)),
        ("time", format_duration(done.seconds)),
        (
            "drive",
            f"{format_size(done.drive['capacity_bytes'])}, {done.drive['policies']['victim']}",
        ),
        ("file system", done.filesystem),
        (
            "written",
            f"unknown: {written.unknown}" if written.bytes is None else format_size(written.bytes),
        ),
        ("host bytes", format_size(done.host_bytes)),
        ("flash bytes", format_size(done.flash_bytes)),
        ("pages copied", format_count(done.copied_pages)),
        ("erases", format_count(done.erases)),
        (
            "TRIM",
            f"{format_size(done.trimmed_data_bytes)} with data, of "
            f"{format_size(done.trimmed_bytes)} named",
        ),
        *(
            (f"{kind} latency", f"p50 {format_time(one['p50'])}, p99 {format_time(one['p99'])}")
            for kind, one in done.latency_us.items()
            if one["count"]
        ),
    ):
        yield f"<dt>{escape(name)}<dd>{escape(text)}"


def _phases(done: Executed) -> str:
    if not done.phases:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one.name)}<td>{format_duration(one.seconds)}"
        f"<td>{format_size(one.host_bytes)}<td>{format_size(one.flash_bytes)}"
        f"<td>{'-' if one.write_amplification is None else f'{one.write_amplification:.3f}'}"
        f"<td>{format_count(one.erases)}"
        for one in done.phases
    )
    head = "".join(
        f"<th>{name}"
        for name in ("phase", "time", "host bytes", "flash bytes", "amplification", "erases")
    )
    return f'<h2>Phases</h2>\n<div class="wide"><table><tr>{head}{rows}</table></div>'


#: Rows of the table of files.
_FILES = 30


def _files(done: Executed) -> str:
    if done.by_file is None:
        return ""
    copies = sum(one.copied_pages for one in done.by_file.owners) or 1
    rows = "".join(
        f"<tr><td>{escape(one.name)}<td>{format_count(one.written_pages)}"
        f"<td>{format_count(one.copied_pages)}<td>{format_share(one.copied_pages / copies)}"
        f"<td>{'-' if one.amplification is None else f'{one.amplification:.2f}'}"
        f"<td>{format_count(one.trimmed_pages)}"
        for one in done.by_file.owners[:_FILES]
    )
    head = "".join(
        f"<th>{name}"
        for name in ("files", "pages written", "copied", "share", "amplification", "trimmed")
    )
    handles = done.by_file.handles
    worth = (
        ""
        if handles is None
        else f"<p>With a placement handle for each of the {len(handles.owners)} largest, "
        f"{format_count(handles.copied_pages)} pages would be copied instead of "
        f"{format_count(handles.without)}.</p>"
    )
    return (
        f'<h2>Who causes the copies</h2>\n<div class="wide"><table><tr>{head}{rows}</table></div>'
        f"{worth}"
    )


def _said(done: Executed) -> str:
    if not done.findings:
        return ""
    lines = "".join(f"<li>{escape(one.sentence)}" for one in done.findings)
    return f"<h2>To know before these figures are used</h2>\n<ul>{lines}</ul>\n"


def _curve(done: Executed) -> str:
    """Write amplification over the bytes that the host wrote, with the phases' beginnings."""
    parts = parts_of(done.samples, PARTS) if len(done.samples) > 2 else []
    if len(parts) < 2:
        return ""
    page_bytes = done.stat["page_bytes"]
    whole = sum(host for host, _ in parts)
    values = [programmed / host for host, programmed in parts]
    top = max(1.2, max(values) * 1.05)

    def x(pages: float) -> float:
        return LEFT + (WIDTH - LEFT - 12) * pages / whole

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / (top - 1) if top > 1 else TOP

    points, at = [], 0
    for (host, _), value in zip(parts, values, strict=True):
        points += [f"{x(at):.1f},{y(value):.1f}", f"{x(at + host):.1f},{y(value):.1f}"]
        at += host
    marks = "".join(_mark(x(pages), name) for pages, name in _begins(done, page_bytes))
    ticks = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
        f'stroke="var(--line)"/><text x="{LEFT - 8}" y="{y(value) + 4:.1f}" '
        f'text-anchor="end">{value:.2f}</text>'
        for value in _ticks(top)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="write amplification over the bytes written">{ticks}'
        f'<polyline fill="none" stroke="var(--curve)" stroke-width="2" '
        f'points="{" ".join(points)}"/>'
        f'{marks}<text x="{LEFT}" y="{HEIGHT - 22}">0</text>'
        f'<text x="{WIDTH - 12}" y="{HEIGHT - 22}" text-anchor="end">'
        f"{format_size(whole * page_bytes)}</text>"
        f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"bytes that reached the drive</text></svg>"
    )


def _ticks(top: float) -> Sequence[float]:
    step = next(step for step in (0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 1e9) if (top - 1) / step <= 5)
    return [1 + step * at for at in range(int((top - 1) / step) + 1)]


def _begins(done: Executed, page_bytes: int) -> Iterator[tuple[float, str]]:
    """The host's pages before each phase but the first, and its name."""
    before = 0.0
    for one in done.phases:
        if before:
            yield before, one.name
        before += one.host_bytes / page_bytes


def _mark(at: float, name: str) -> str:
    anchor = "end" if at > WIDTH * 0.7 else "start"
    shift = -4 if anchor == "end" else 4
    return (
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}" '
        f'stroke="var(--mark)" stroke-dasharray="3 3"/><text x="{at + shift:.1f}" y="{TOP - 10}" '
        f'text-anchor="{anchor}">{escape(name)}</text>'
    )
