"""Records what fio itself requests for each job file here, with its engine that does nothing.

Usage: python tests/fio/record.py

``recorded.json`` has, for each file, the number of requests by operation, size and place, and by
operation and boundary. A place is one of 20 equal parts of the space. A boundary is the largest
power of two up to 64 KiB that divides the first byte.
"""

import json
import math
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
#: The bytes of the space of each job file.
SPACES = {
    "absolute": 256 << 20,
    "directions": 512 << 20,
    "enterprise": 1 << 30,
    "range": 256 << 20,
    "sequential": 64 << 20,
}
#: The number of equal parts of the space.
PLACES = 20
#: The number of requests that count.
REQUESTS = 100_000

Request = tuple[str, int, int]
Counts = dict[str, dict[str, int]]


def requests_of_fio(job: Path, folder: Path) -> list[Request]:
    """The first requests of fio: operation, first byte, bytes."""
    log = folder / "log"
    text = job.read_text()
    # The requests need no device, no second process and no queue; io_size lets them go on. With the
    # default seeds of fio, sizes are related to operations in sequential jobs (3.6 deviations).
    changed = re.sub(r"(?m)^(filename|numjobs|iodepth|ioengine|filesize)=.*\n", "", text)
    (folder / "job.fio").write_text(
        f"{changed}\nfilename={folder}/none\nfilesize={SPACES[job.stem]}\nioengine=null\nrandseed=1\n"
        f"io_size=64g\nnumber_ios={2 * REQUESTS}\nwrite_iolog={log}\n"
    )
    subprocess.run(["fio", str(folder / "job.fio")], check=True, capture_output=True)
    found: list[Request] = []
    with log.open() as lines:
        # fio writes some lines twice.
        previous = None
        for line in lines:
            fields = tuple(line.split()[2:])
            if len(fields) == 3 and fields != previous:
                found.append((fields[0], int(fields[1]), int(fields[2])))
            previous = fields
    return found[:REQUESTS]


def counted(requests: list[Request], space: int) -> Counts:
    """The number of requests by operation, size and place, and by operation and boundary."""
    places = Counter(f"{op} {size} {offset * PLACES // space}" for op, offset, size in requests)
    boundaries = Counter(f"{op} {math.gcd(offset, 65536)}" for op, offset, _ in requests)
    return {"places": dict(sorted(places.items())), "boundaries": dict(sorted(boundaries.items()))}


def main() -> None:
    """Record all job files."""
    recorded = {}
    for job in sorted(FOLDER.glob("*.fio")):
        with tempfile.TemporaryDirectory() as folder:
            requests = requests_of_fio(job, Path(folder))
        assert len(requests) == REQUESTS, f"{job}: {len(requests)}"
        recorded[job.stem] = counted(requests, SPACES[job.stem])
    (FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=0) + "\n")


if __name__ == "__main__":
    main()
