"""Small traces, which are generated in the folder in which the runs take place.

File names are relative to that folder, because they are part of a result's digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = "time_us,op,offset_bytes,size_bytes,dev"
#: Pages of 4 KiB that the traces address.
PAGES = 1200


def write(folder: Path) -> None:
    """Writes the traces to ``folder``, with a link to ``data`` of the repository."""
    (folder / "data").symlink_to(ROOT / "data", target_is_directory=True)
    for name, rows in {
        "small.csv": requests(8000, step=700),
        "disordered.csv": requests(4000, step=900, back=300),
        "dirty.csv": dirty(6000),
    }.items():
        (folder / name).write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    table = [f"{page * 4096},{1 + 40_000 // (page + 20)}" for page in range(4000)]
    (folder / "frequency.csv").write_text("\n".join(["LBA,Frequency", *table]) + "\n", "utf-8")


def requests(count: int, *, step: int, back: int = 0) -> Iterator[str]:
    """Requests of 1 to 4 pages, some not aligned to pages.

    Times are in microseconds. One request in 97 has a time that is earlier by ``5 * back``.
    """
    draw = Random(1)
    for index in range(count):
        time = index * step + draw.randrange(step) - (back * 5 if index % 97 == 96 else 0)
        page = int(PAGES * draw.random() ** 2)
        kind = "R" if draw.random() < 0.3 else "D" if draw.random() < 0.03 else "W"
        shift = 512 if draw.random() < 0.1 else 0
        yield f"{time},{kind},{page * 4096 + shift},{4096 * draw.randint(1, 4)},{index % 3 // 2}"


def dirty(count: int) -> Iterator[str]:
    """Writes of single pages. An earlier dirty event announces each write."""
    draw = Random(2)
    waiting: list[int] = []
    for index in range(count):
        page = int(PAGES * draw.random() ** 3)
        yield f"{index * 500},M,{page * 4096},4096,0"
        waiting.append(page)
        if len(waiting) > 40:
            page = waiting.pop(draw.randrange(len(waiting)))
            yield f"{index * 500 + 200},W,{page * 4096},4096,0"
        if index % 5 == 0:
            yield f"{index * 500 + 300},R,{draw.randrange(PAGES) * 4096},4096,0"
