"""Copies the files of the site into one folder, with their paths in the repository.

Therefore every link between documents works in the repository and on the site.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Pages, and the files that they link to.
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
    """Copies the files of the site to ``target``, and returns their paths in the repository."""
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
