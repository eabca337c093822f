"""A drive on a terminal: its state once, or once a second until Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from flashgc._documents import read
from flashgc.device.faults import summary
from flashgc.device.history import OPERATIONS, Interval
from flashgc.device.realtime import in_words
from flashgc.results import Worst
from flashgc.results.stalls import chart
from flashgc.terminal.render import Plain, console, sparkline, unicode
from flashgc.units import format_count, format_duration, format_share, format_size

Stat = dict[str, Any]

#: Width of a line in characters.
WIDTH = 80
#: Width of a name before its values, in characters.
NAME = 13
#: Rows between two headings if the output is no terminal.
PAGE = 20

_COLUMNS = (
    ("host MB/s", 9), ("flash MB/s", 10), ("read MB/s", 9), ("WA now", 6), ("WA all", 6),
    ("write us", 9), ("read us", 8), ("free", 6), ("erases/s", 8),
)  # fmt: skip


def overview(stat: Stat) -> list[str]:
    """A drive's state as lines of 80 characters."""
    return [
        *_drive(stat),
        "",
        *_fold(
            "amplification", [f"{_ratio(stat['write_amplification'])} since the drive was made"]
        ),
        *_fold("host", _host(stat)),
        *_fold("flash", _flash(stat)),
        *_blocks(stat),
        *_wear(stat),
        "",
        *_latencies(stat),
        *_realtime(stat),
    ]


def _drive(stat: Stat) -> list[str]:
    policies = [f"victims by {stat['victim']}"]
    if stat["placement"] != "none":
        policies.append(f"placement by {stat['placement']}")
    block = stat["pages_per_block"] * stat["page_bytes"]
    lines = [
        *_fold("drive", [stat["file"]]),
        *_fold(
            "size",
            [
                f"{format_size(stat['capacity_bytes'])} on {format_count(stat['blocks'])} blocks "
                f"of {format_size(block)}",
                f"durability {stat['durability']}",
            ],
        ),
        # Servers of earlier versions do not send the effective spare factor.
        *(_fold("spare", spare_of(stat)) if "effective_spare" in stat else ()),
        *_fold("policies", policies),
        *_parity(stat),
        *_fold(
            "serving",
            [*stat["serving"], f"for {format_duration(stat['uptime_seconds'])}"]
            if stat["serving"]
            else [f"no host; open for {format_duration(stat['uptime_seconds'])}"],
        ),
        *_connections(stat),
    ]
    if stat["read_only"] is not None:
        lines += _fold("READ-ONLY", [stat["read_only"]])
    if faults := summary(stat):
        lines += _fold("FAULTS", faults)
    if not stat["gives_room_back"]:
        lines += _fold(
            "room", ["the file keeps that of erased blocks: its file system has no holes"]
        )
    return lines


def _connections(stat: Stat) -> list[str]:
    """Return who is connected over a network, and how many requests are in progress."""
    # Servers of earlier versions do not send the connections.
    fronts = stat.get("connections", ())
    clients = [client for front in fronts for client in front.get("clients", ())]
    hosts = [host for front in fronts for host in front.get("hosts", ()) if not host["discovers"]]
    lines = []
    if clients:
        under_way = sum(client["under_way"] for client in clients)
        lines += [f"{_count(len(clients), 'client')} of NBD", f"{under_way} under way"]
    for host in hosts:
        io = [queue for queue in host["queues"] if queue["queue"]]
        under_way = sum(queue["under_way"] for queue in host["queues"])
        lines += [f"{host['host']}: {_count(len(io), 'queue')} of I/O", f"{under_way} under way"]
    return _fold("connected", lines) if lines else []


def spare_of(stat: Stat) -> list[str]:
    """Return the spare factor, and what is left of it for collections without erased blocks."""
    whole, effective = (format_share(stat[key], 2) for key in ("spare_factor", "effective_spare"))
    beside = " beside parity" if stat.get("parity") is not None else ""
    return [f"{whole} of the flash{beside}", f"{effective} for collections"]


def _parity(stat: Stat) -> list[str]:
    # Servers of earlier versions do not send the parity.
    if stat.get("parity") is None:
        return []
    facts = [
        f"{stat['parity']} of the flash",
        f"amplification {_ratio(stat['write_amplification_with_parity'])} with it",
        f"{_count(stat['counters']['rebuilt_pages_since_open'], 'page')} rebuilt",
    ]
    return _fold("parity", facts)


def _realtime(stat: Stat) -> list[str]:
    realtime = stat.get("realtime")
    if realtime is None:
        return []
    flash = f"write amplification {_ratio(realtime['write_amplification'])}"
    collections = _count(realtime["collections"], "collection")
    return [
        "",
        *_fold("realtime", in_words(realtime)),
        *_fold("timed drive", [flash, collections, _count(realtime["erases"], "erase")]),
        *_slowest(realtime),
    ]


def _slowest(realtime: Mapping[str, Any]) -> list[str]:
    """Return the causes of the slowest requests, and a chart of the die for the slowest one."""
    # Servers of earlier versions do not send the slowest requests.
    worst = [read(Worst, entry) for entry in realtime.get("worst", ())]
    first = max(worst, key=lambda entry: entry.response_us, default=None)
    lines = []
    if worst and realtime["slower"] != 1:
        lines += ["", f"in the time of the drive, of which 1 ms takes {realtime['slower']:g} ms:"]
    for entry in worst:
        what, parts = entry.story
        lines += ["", f"slowest {what}", f"  {parts}", *(chart(entry) if entry is first else ())]
    return lines


def _host(stat: Stat) -> list[str]:
    counters, smart = stat["counters"], stat["smart"]
    page = stat["page_bytes"]
    return [
        f"{format_size(counters['host_bytes_written'])} written in "
        f"{_count(smart['host_write_commands'], 'command')}",
        f"{format_size(counters['host_bytes_read'])} read in "
        f"{_count(smart['host_read_commands'], 'command')}",
        f"{format_size(counters['trimmed_pages'] * page)} discarded",
        _count(counters["flushes"], "flush", "flushes"),
    ]


def _flash(stat: Stat) -> list[str]:
    counters = stat["counters"]
    return [
        f"{format_size(stat['ocp']['physical_media_units_written'])} written",
        f"{_count(counters['copied_pages'], 'page')} copied by "
        f"{_count(counters['collections'], 'collection')}",
        _count(counters["erases"], "erase"),
    ]


def _blocks(stat: Stat) -> list[str]:
    pages = stat["capacity_bytes"] // stat["page_bytes"]
    facts = [
        f"{format_count(stat['free_blocks'])} of {format_count(stat['blocks'])} erased",
        f"{format_share(stat['mapped_pages'] / max(pages, 1))} of the drive has data",
    ]
    if stat["zombie_pages"] is not None:
        facts.append(_count(stat["zombie_pages"], "zombie"))
    return _fold("blocks", facts)


def _wear(stat: Stat) -> list[str]:
    smart, ocp = stat["smart"], stat["ocp"]
    return _fold(
        "wear",
        [
            f"{ocp['user_data_erase_count_min']} to {ocp['user_data_erase_count_max']} erases a "
            f"block, mean {ocp['nand_avg_erase_count']:.4g}",
            f"{smart['percentage_used']}% used",
            f"{smart['available_spare']}% of the spare left",
            _count(ocp["bad_user_nand_blocks"], "bad block"),
            _count(smart["media_errors"], "media error"),
            _count(smart["unsafe_shutdowns"], "unsafe shutdown"),
        ],
    )


def _latencies(stat: Stat) -> list[str]:
    heads = ("commands", "mean", "p50", "p90", "p99", "p99.9", "max")
    lines = [f"{'latency, us':<{NAME}}{heads[0]:>12}" + "".join(f"{head:>9}" for head in heads[1:])]
    for operation in OPERATIONS:
        of = stat["latency_us"][operation]
        keys = ("mean", "p50", "p90", "p99", "p999", "max")
        shown = (f"{_micro(of[key]) if of['count'] else '-':>9}" for key in keys)
        lines.append(f"  {operation:<{NAME - 2}}{format_count(of['count']):>12}" + "".join(shown))
    return lines


def live(stat: Stat, lately: Sequence[Interval]) -> list[str]:
    """Return the lines for a drive at work; ``lately`` has its intervals, the newest last."""
    now = lately[-1] if lately else Interval()
    bars = 40
    shown = [interval.write_amplification for interval in lately[-bars:]]
    spark = sparkline([value for value in shown if value is not None], bars)
    return [
        *_drive(stat),
        "",
        f"{'amplification':<{NAME}} {_ratio(now.write_amplification):>7} now "
        f"{_ratio(stat['write_amplification']):>8} since made   {spark}"[:WIDTH].rstrip(),
        f"{'host':<{NAME}} {_mega(now.host_written_bytes_per_second):>7} MB/s written "
        f"{_mega(now.host_read_bytes_per_second):>8} MB/s read "
        f"{_whole(now.trimmed_pages_per_second):>8} pages/s discarded",
        f"{'flash':<{NAME}} {_mega(now.flash_written_bytes_per_second):>7} MB/s written "
        f"{_whole(now.erases_per_second):>8} erases/s",
        *_blocks(stat),
        *_wear(stat),
        "",
        *_latencies(stat),
        *_realtime(stat),
    ]


def row(stat: Stat, now: Interval) -> str:
    """An interval as one line, for output to a pipe; :func:`heading` names its columns."""
    cells = (
        _mega(now.host_written_bytes_per_second),
        _mega(now.flash_written_bytes_per_second),
        _mega(now.host_read_bytes_per_second),
        _ratio(now.write_amplification),
        _ratio(stat["write_amplification"]),
        _micro(now.write_us),
        _micro(now.read_us),
        str(stat["free_blocks"]),
        _whole(now.erases_per_second),
    )
    return _row(cells)


def heading() -> str:
    """The names of the columns of :func:`row`."""
    return _row([name for name, _ in _COLUMNS])


def _row(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{wide}}" for cell, (_, wide) in zip(cells, _COLUMNS, strict=True))


def watch(
    ask: Callable[[], Stat],
    *,
    period: float = 1.0,
    times: int | None = None,
    file: TextIO | None = None,
) -> None:
    """Show a drive once per ``period`` seconds until Ctrl-C.

    ``ask`` returns the drive's state; an exception from it ends the watch. On a terminal the newest
    state replaces the one before. Elsewhere there is one line per interval. ``times`` limits the
    number of intervals.
    """
    target = console(file or sys.stdout)
    try:
        if isinstance(target, Plain):
            for index, (stat, lately) in enumerate(_looks(ask, period, times)):
                if index % PAGE == 1:
                    target.print(heading(), markup=False, soft_wrap=True)
                if index:
                    target.print(row(stat, lately[-1]), markup=False, soft_wrap=True)
                target.file.flush()
            return
        from rich.live import Live
        from rich.text import Text

        with Live(console=target, auto_refresh=False) as shown:
            for stat, lately in _looks(ask, period, times):
                lines = "\n".join(live(stat, lately))
                lines = lines.replace("us ", unicode(target, "µs ", "us "))
                shown.update(Text(lines, no_wrap=True, overflow="ellipsis"), refresh=True)
    except KeyboardInterrupt:
        return


def _looks(
    ask: Callable[[], Stat], period: float, times: int | None
) -> Iterator[tuple[Stat, list[Interval]]]:
    before: Stat | None = None
    lately: list[Interval] = []
    due = time.monotonic()
    looks = 0
    while True:
        stat = ask()
        lately = [*lately[-WIDTH:], Interval.between(before, stat)]
        before = stat
        yield stat, lately
        if looks == times:
            return
        looks += 1
        due = max(due + period, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0))


def _fold(name: str, facts: Sequence[str]) -> list[str]:
    """A name and its facts, separated by commas, in lines of at most 80 characters if possible."""
    lines = [f"{name:<{NAME}}"]
    for index, fact in enumerate(facts):
        piece = f" {fact}" + ("," if index < len(facts) - 1 else "")
        if len(lines[-1]) + len(piece) > WIDTH and len(lines[-1]) > NAME:
            lines.append(" " * NAME)
        lines[-1] += piece
    return lines


def _count(number: float, singular: str, several: str = "") -> str:
    return f"{format_count(number)} {singular if number == 1 else several or f'{singular}s'}"


def _ratio(value: float | None) -> str:
    """A ratio in at most 6 characters, unless it is huge."""
    return "-" if value is None else f"{value:.3f}" if value < 99 else f"{value:.0f}"


def _mega(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e6:.1f}"


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _micro(value: float | None) -> str:
    """Microseconds in at most 7 characters."""
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 9999.95 else f"{value:.0f}"
