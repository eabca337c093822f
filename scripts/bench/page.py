"""Runs the benchmarks and puts what they print into docs/performance.md.

    .venv/bin/python scripts/bench/page.py [NAME...]

The page has a place for each benchmark, from ``<!-- bench: NAME -->`` to the end of the code block
behind it. All of them are measured in one run on one machine. With NAME a part is measured alone,
and its place says when and where. The program ends at the first benchmark that fails, and leaves
the page as it was.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
CARGO = ("cargo", "bench", "--locked", "--quiet")
SPEED = (*CARGO, "-p", "flashgc-drive", "--bench", "speed")
#: The benchmarks by their places on the page.
BENCHMARKS = {
    "speed": SPEED,
    "couples": (*SPEED, "--", "--couples", "--rounds", "1"),
    "models": (sys.executable, "scripts/bench/models.py"),
    "startup": (sys.executable, "scripts/bench/startup.py"),
}
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


def measured(name: str) -> str:
    """Runs the benchmark, and returns its output."""
    command = BENCHMARKS[name]
    print(f"{name}: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(command, cwd=PAGE.parents[1], text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{name} ended with status {done.returncode}; the page is as it was")
    return done.stdout.strip("\n")


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
    page, where = PAGE.read_text(encoding="utf-8"), machine()
    print(where, file=sys.stderr)
    for name in given.names or BENCHMARKS:
        own = f"{where}\n\n" if given.names else ""
        page = placed(page, name, own + measured(name))
    if not given.names:
        page = placed(page, "machine", where)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
