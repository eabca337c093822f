"""Runs the transactions by pgbench, and reads the log of pgbench."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import statistics
import subprocess
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.device.pace import Pace
from flashgc.device.postgres.clients import Database, failed
from flashgc.device.postgres.tpcc.size import Size, constants_of_run
from flashgc.device.postgres.tpcc.target import Condition, Target, check, database, made, silent
from flashgc.device.scratch import note, scratch

#: The types of transactions, with the number of each in 100.
MIX = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}

#: The line of pgbench with the rate of all transactions.
_TPS = re.compile(r"^tps = ([\d.]+) ", re.MULTILINE)


@dataclass(frozen=True)
class Kind:
    """The results for one type of transaction. Latencies are in milliseconds."""

    name: str
    #: The number that ended, including new orders that were rolled back; then the number that
    #: failed.
    transactions: int
    failed: int
    tps: float
    mean_ms: float
    stddev_ms: float
    #: The 90th percentile of the latencies.
    percentile_90_ms: float


@dataclass(frozen=True)
class Result:
    """The outcome of a run. It is no official result of TPC-C, which would need an audit."""

    size: Size
    clients: int
    seed: int
    #: Seconds that the transactions took.
    seconds: float
    #: The number of all transactions that ended, and the number per second.
    transactions: int
    tps: float
    #: New orders that were rolled back on purpose: about one in 100.
    rolled_back: int
    kinds: tuple[Kind, ...]
    #: The findings of :func:`check` after the run; empty if it was not checked.
    conditions: tuple[Condition, ...]

    @property
    def new_orders_per_minute(self) -> float:
        """Committed new orders per minute, which the standard calls throughput."""
        committed = self.kinds[0].transactions - self.rolled_back
        return 60 * committed / self.seconds if self.seconds else 0.0

    @property
    def is_consistent(self) -> bool:
        """True if the conditions were checked, and all hold."""
        return bool(self.conditions) and all(condition.holds for condition in self.conditions)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {
            **asdict(self),
            "new_orders_per_minute": self.new_orders_per_minute,
            "is_consistent": self.is_consistent,
        }


def run(
    target: Target,
    seconds: float = 60.0,
    clients: int = 8,
    seed: int = 1,
    pace: Pace | None = None,
    *,
    transactions: int | None = None,
    is_checked: bool = True,
) -> Result:
    """Run the mix for ``seconds`` seconds, or ``transactions`` if given, then check the conditions.

    The check reads whole tables; ``is_checked=False`` omits it.

    With the same seed and number of clients, each client draws the same transactions. Which of them
    conflict depends on the machine. If ``pace`` is over, a run of seconds ends early with its
    results so far, and a run of transactions raises ``KeyboardInterrupt``. All clients run equally
    many transactions.
    """
    if clients < 1 or (seconds < 1 if transactions is None else transactions < clients):
        text = f"{seconds:g} s" if transactions is None else f"{transactions} transactions"
        raise ConfigError(
            f"a run of TPC-C: found {text} and {clients} clients, expected 1 s, 1 client and a "
            "transaction of each or more; hint: 60 s, 8 clients"
        )
    length = _Length(round(seconds), None if transactions is None else transactions // clients)
    pace, where = pace or silent(), database(target)
    size, load_seed = made(where)
    orders = "SELECT sum(d_next_o_id) FROM tpcc.district"
    with scratch("tpcc") as folder:
        before = int(where.ask(orders))
        report = _bench(where, folder, length, clients, seed, size, load_seed, pace)
        placed = int(where.ask(orders)) - before
        latencies, failed = _logged(folder)
    done = sum(map(len, latencies))
    [tps] = map(float, _TPS.findall(report))
    kinds = tuple(_kinds(latencies, failed, done / tps if tps else 0.0))
    return Result(
        size=size,
        clients=clients,
        seed=seed,
        seconds=done / tps if tps else 0.0,
        transactions=done,
        tps=tps,
        rolled_back=kinds[0].transactions - placed,
        kinds=kinds,
        conditions=tuple(check(where)) if is_checked else (),
    )


@dataclass(frozen=True)
class _Length:
    """The length of a run: ``each`` transactions per client, or ``seconds`` if that is ``None``."""

    seconds: int
    each: int | None

    @property
    def words(self) -> list[object]:
        """The length as options of pgbench."""
        return ["-T", self.seconds] if self.each is None else ["-t", self.each]


@contextlib.contextmanager
def mix(size: Size, load_seed: int, seed: int) -> Iterator[list[str]]:
    """The options of pgbench for the mix of transactions."""
    variables = {**asdict(size), **vars(constants_of_run(load_seed, seed))}
    words = ["-n", "-M", "prepared"]
    words += [word for name, value in variables.items() for word in ("-D", f"{name}={value}")]
    with as_file(files("flashgc.device.postgres.tpcc").joinpath("sql")) as scripts:
        for name, weight in MIX.items():
            words += ["-f", f"{scripts / name}.pgbench@{weight}"]
        yield words


def _bench(
    where: Database,
    folder: Path,
    length: _Length,
    clients: int,
    seed: int,
    size: Size,
    load_seed: int,
    pace: Pace,
) -> str:
    """Run pgbench to its end; return its output."""
    words = [*length.words, "-c", clients, "--random-seed", seed, "-l"]
    words += ["--log-prefix", folder / "log"]
    words += ["-j", min(clients, os.cpu_count() or 1)]
    with mix(size, load_seed, seed) as what:
        command = where.command("pgbench", *what, *words)
        out, errors = folder / "report", folder / "errors"
        with open(out, "w") as report, open(errors, "w") as messages:
            bench = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=report, stderr=messages, cwd=folder
            )
        note(folder, bench.pid)
        try:
            if length.each is None:
                _wait(bench, length.seconds, pace)
            else:
                _wait_for(bench, length.each * clients, where, pace)
        finally:
            bench.kill()
            bench.wait()
    if bench.returncode:
        raise failed(command, bench.returncode, errors.read_text(errors="replace"))
    return out.read_text()


def _wait(bench: subprocess.Popen[bytes], seconds: int, pace: Pace) -> None:
    pace.begin("running TPC-C", "seconds", seconds)
    tenths, is_told = 0, False
    while True:
        try:
            bench.wait(0.1)
            return
        except subprocess.TimeoutExpired:
            tenths += 1
        if tenths % 10 == 0:
            pace.at(min(tenths // 10, seconds))
        if pace.is_over and not is_told:
            # At this signal pgbench ends as if its time were over, with a report.
            bench.send_signal(signal.SIGALRM)
            is_told = True


def _wait_for(
    bench: subprocess.Popen[bytes], transactions: int, where: Database, pace: Pace
) -> None:
    ended = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    before = int(where.ask(ended))
    pace.begin("running TPC-C", "transactions", transactions)
    while True:
        try:
            bench.wait(1)
            return
        except subprocess.TimeoutExpired:
            pace.at(min(int(where.ask(ended)) - before, transactions))
        if pace.is_over:
            raise KeyboardInterrupt


def _kinds(latencies: list[array[int]], failed: list[int], seconds: float) -> Iterator[Kind]:
    for name, unsorted, failures in zip(MIX, latencies, failed, strict=True):
        times = sorted(unsorted)
        yield Kind(
            name=name,
            transactions=len(times),
            failed=failures,
            tps=len(times) / seconds if seconds else 0.0,
            mean_ms=statistics.fmean(times) / 1000 if times else 0.0,
            stddev_ms=statistics.pstdev(times) / 1000 if times else 0.0,
            percentile_90_ms=times[(len(times) * 9 - 1) // 10] / 1000 if times else 0.0,
        )


def _logged(folder: Path) -> tuple[list[array[int]], list[int]]:
    """Microseconds of each transaction that ended, by type, and the number of failures by type.

    The report of pgbench has these numbers too. But its threads update the counts per script
    without a lock, so some transactions are missing there.
    """
    latencies, failed = [array("Q") for _ in MIX], [0] * len(MIX)
    for log in folder.glob("log.*"):
        with open(log) as lines:
            for line in lines:
                _client, _number, time, script, *_ = line.split()
                if time.isdigit():
                    latencies[int(script)].append(int(time))
                else:
                    failed[int(script)] += 1
    return latencies, failed
