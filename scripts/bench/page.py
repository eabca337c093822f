"""Runs the benchmarks and puts what they print into docs/performance.md.

    .venv/bin/python scripts/bench/page.py [NAME...]

The page has a place for each benchmark, from ``<!-- bench: NAME -->`` to the end of the code block
behind it. All of them are measured in one run on one machine. With NAME a part is measured alone,
and its place says when and where. The program ends at the first benchmark that fails, and leaves
the page as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


#: The crates with benchmarks of Rust.
CRATES = ("drive", "timed", "experiment", "host", "workload")
#: What runs for each place on the page: a benchmark of a crate, or a script beside this one, each
#: with its options.
BENCHMARKS = {
    "speed": ["speed"],
    "couples": ["speed --couples --rounds 1"],
    "timed": [
        "timed",
        "timed --gigabytes 16 --metered",
        "timed --gigabytes 16 --preemption --requests 4000000",
        "timed --gigabytes 16 --only-reads",
        "timed --gigabytes 16 --only-reads --outstanding 32",
    ],
    "channels": ["channels", "channels --queue-depth 256 --rate 6000"],
    "swap": ["swap"],
    "page-caches": ["page_caches"],
    "generators": ["generators"],
    "traces": ["trace_readers"],
    "python": ["python_policies.py"],
    "sweeps": ["sweeps.py"],
    "models": ["models.py"],
    "startup": ["startup.py"],
}
#: Benchmarks of more than one thread.
_PARALLEL = ("channels", "sweeps")
#: A load average above this one is other people's work.
_IDLE = 0.5


def machine() -> str:
    """The processor, the system and what else runs there, in one sentence each."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    caches = subprocess.run(["lscpu", "--caches=NAME,ONE-SIZE"], text=True, capture_output=True)
    sizes = [line.split() for line in caches.stdout.splitlines()[1:]]
    huge = re.search(
        r"\[(\w+)\]", Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text("utf-8")
    )
    load = os.getloadavg()[0]
    return "\n".join([
        f"{time.strftime('%Y-%m-%d')}, {model[1] if model else platform.machine()}, "
        f"{os.cpu_count()} logical cores ({', '.join(' '.join(size) for size in sizes)})",
        f"{platform.system()} {platform.release()}, huge pages: {huge[1] if huge else 'unknown'}",
        f"load average before the run: {load:.2f}"
        + (" (other work ran in the minute before)" if load > _IDLE else ""),
    ])  # fmt: skip


@contextlib.contextmanager
def _pinned(*, is_pinned: bool) -> Iterator[None]:
    """Programs that start meanwhile stay on one core, where the system has such an order."""
    if not (is_pinned and hasattr(os, "sched_setaffinity")):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def programs() -> dict[str, str]:
    """Compiles the benchmarks, all together. Returns the path of each by its name."""
    crates = [word for crate in CRATES for word in ("-p", f"flashgc-{crate}")]
    command = ["cargo", "bench", "--locked", "--no-run", "--message-format=json", *crates]
    done = subprocess.run(command, cwd=PAGE.parents[1], text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"cargo ended with status {done.returncode}; the page is as it was")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    built = [message for message in messages if message.get("executable")]
    return {message["target"]["name"]: message["executable"] for message in built}


def measured(name: str, built: dict[str, str]) -> str:
    """Runs what belongs to a place. Returns the outputs, one below the other."""
    outputs = []
    for text in BENCHMARKS[name]:
        program, *options = text.split()
        is_script = program.endswith(".py")
        script = (sys.executable, f"scripts/bench/{program}")
        command = [*script, *options] if is_script else [built[program], "--bench", *options]
        print(f"{name}: {' '.join(command)}", file=sys.stderr, flush=True)
        with _pinned(is_pinned=name not in _PARALLEL):
            done = subprocess.run(command, cwd=PAGE.parents[1], text=True, stdout=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"{name} ended with status {done.returncode}; the page is as it was")
        title = f"{' '.join(options)}\n" if options and len(BENCHMARKS[name]) > 1 else ""
        outputs.append(title + done.stdout.strip("\n"))
    text = "\n".join(outputs)
    return crossed(text) if name == "couples" else text


def crossed(text: str) -> str:
    """The couples of victims and placements as two tables, one of ratios and one of speeds."""
    found = re.findall(
        r"^  ([a-z0-9-]+)(?:, ([a-z]+))? +([\d.]+) +([\d.]+) .*\n", text, re.MULTILINE
    )
    couples = {(victim, placement or "none"): values for victim, placement, *values in found}
    victims, placements = (list(dict.fromkeys(names)) for names in zip(*couples, strict=True))
    tables = []
    for column, title in enumerate(("share of limit", "M programs/s")):
        cells = {"": {name: name for name in placements}}
        cells |= {row: {name: couples[row, name][column] for name in placements} for row in victims}
        rows = [
            f"{row or title:<16}"
            + "".join(f" {cell:>{max(5, len(name))}}" for name, cell in line.items())
            for row, line in cells.items()
        ]
        tables.append("\n".join(rows))
    return "\n\n".join([text.partition("\n")[0], *tables])


def placed(page: str, name: str, text: str) -> str:
    """The page with ``text`` in the place of ``name``."""
    place = re.compile(rf"(<!-- bench: {name} -->\n```text\n).*?(\n```)", re.DOTALL)
    if not place.search(page):
        sys.exit(
            f"{PAGE.name} has no place for {name}: a line <!-- bench: {name} --> and a code block"
        )
    return place.sub(lambda found: found[1] + text + found[2], page, count=1)


def main() -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {min(unknown)}; there are {', '.join(BENCHMARKS)}")
    built = programs()
    page, where = PAGE.read_text(encoding="utf-8"), machine()
    print(where, file=sys.stderr)
    for name in given.names or BENCHMARKS:
        own = f"{where}\n\n" if given.names else ""
        page = placed(page, name, own + measured(name, built))
    if not given.names:
        page = placed(page, "machine", where)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
