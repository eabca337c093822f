"""Copies what the site is gathered of into one folder, with the places of the repository.

So every link between documents is the same in the repository and on the site.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Pages and what they link to.
SOURCES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/**/*",
    "data/**/README.md",
)


def gather(target: Path) -> list[Path]:
    """The files of the site, relative to the repository, now fresh in ``target``."""
    if target.exists():
        shutil.rmtree(target)
    gathered = []
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                copied = target / path.relative_to(ROOT)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copied)
                gathered.append(path.relative_to(ROOT))
    return gathered


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
