"""Makes data/memory/mixtures: recorded programs that share a memory and take turns.

    python experiments/memory/mixtures.py FOLDER    # ten seconds of one core; needs zstd

Each mixture has the whole recordings of five programs, each cut into 20 parts of equally many
references. A part is one turn: 10 million accesses, 0.1 s at a hundred million a second, which is
the time slice of Linux 2.6. The mixtures differ in the order of the programs. sqlite is left out,
as it fits into most of the caches.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from flashgc import trace_convert

RECORDED = Path(__file__).resolve().parents[2] / "data" / "memory"
PROGRAMS = ("gnumeric", "graphicsmagick", "pandoc", "pdftoppm", "w3m")
TURNS, MIXTURES = 20, 5
#: Size of the filter in pages of 2 KiB: 1 MiB, the smallest page cache of the paper. The filtered
#: references do not affect LRU memories of that size or more.
FILTER = 512
#: Bytes of address space of a program: larger than any recorded address.
SPACE = 1 << 48


def references(program: str, number: int, work: Path) -> list[str]:
    """The references of a program as lines of Valgrind's lackey.

    Each program has its own part of the address space.
    """
    text = work / f"{program}.csv"
    trace_convert(RECORDED / f"{program}.pages.zst", text, leave_out="references")
    parts = []
    with text.open() as lines:
        next(lines)
        for line in lines:
            _, what, offset, _ = line.split(",", 3)
            parts.append(f" {'L' if what == 'R' else 'S'} {int(offset) + number * SPACE:x},1\n")
    return parts


def main(folder: Path) -> None:
    """Makes all mixtures in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="flashgc-mixtures-") as name:
        work = Path(name)
        recorded = {
            program: references(program, number, work) for number, program in enumerate(PROGRAMS)
        }
        for mixture in range(1, MIXTURES + 1):
            order = random.Random(mixture).sample(PROGRAMS, len(PROGRAMS))
            text, pages = work / "mixture.lackey", work / "mixture.pages"
            with text.open("w") as out:
                for turn in range(TURNS):
                    for program in order:
                        lines = recorded[program]
                        begin, end = (len(lines) * at // TURNS for at in (turn, turn + 1))
                        out.writelines(lines[begin:end])
            trace_convert(text, pages, page_size="2KiB", filter=FILTER)
            target = folder / f"{mixture}.pages.zst"
            subprocess.run(
                ["zstd", "-q", "-19", "--long=27", "--force", pages, "-o", target], check=True
            )
            print(f"{target}: {', '.join(order)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"expected the folder to write to, found {len(sys.argv) - 1} arguments")
    main(Path(sys.argv[1]))
