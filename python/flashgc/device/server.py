"""``python -m flashgc.device.server``: the process that serves a drive for ``device up``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from flashgc._core import FlashgcError
from flashgc.device.serving import Fronts, opened, told_of, until_told


def main() -> int:
    """Serves until it is told to stop; says on a pipe when it does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--ready-fd", type=int, required=True)
    parser.add_argument("--fuse", type=Path)
    parser.add_argument("--nbd")
    parser.add_argument("--http")
    parser.add_argument("--listen-anywhere", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--durability")
    parser.add_argument("--clock")
    parser.add_argument("--slower", type=float)
    parser.add_argument("--aged", type=float)
    given = vars(parser.parse_args())
    file, ready = given.pop("file"), given.pop("ready_fd")
    clock = given["clock"], given.pop("slower"), given.pop("aged")
    given["clock"] = None if clock[0] is None else clock
    try:
        with opened(file, Fronts(**given)) as drive:
            os.write(ready, f"{json.dumps(told_of(drive))}\n".encode())
            os.close(ready)
            until_told(drive)
    except (FlashgcError, OSError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
