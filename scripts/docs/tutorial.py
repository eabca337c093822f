"""The order of the tutorial's pages, which the list on its first page declares.

    .venv/bin/python scripts/docs/tutorial.py

writes the last line of each page, and the pages in the navigation of the site, as `make docs` does.
A test fails if one of them differs from the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The page with the list.
FIRST = Path("docs/tutorial/README.md")
SITE = Path("mkdocs.yml")
ENTRY = re.compile(r"^\d+\. \[(?P<title>[^\]]+)\]\((?P<file>[\w-]+\.md)\): ", re.M)
#: The last line of a page.
LAST = re.compile(r"\n(?:Next: |Back to )\[[^\]]+\]\([^)]+\)\.\n\Z")
#: The pages in the navigation, after the first one.
NAVIGATED = re.compile(rf"(?<=      - {re.escape(str(FIRST))}\n)(?:      - docs/tutorial/\S+\n)+")


@dataclass(frozen=True)
class Page:
    """An entry of the list."""

    title: str
    file: str


def pages(text: str) -> list[Page]:
    """The entries of the list in the text of the first page, in order.

    Raises:
        ValueError: The numbers of the list are not 1, 2, 3 and so on.

    """
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.M)]
    if numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"{FIRST}: the list is numbered {numbers}")
    return [Page(entry["title"], entry["file"]) for entry in ENTRY.finditer(text)]


def last_line(order: list[Page], at: int) -> str:
    """The last line of the page at this place of the order."""
    if at + 1 < len(order):
        return f"Next: [{order[at + 1].title}]({order[at + 1].file})."
    return f"Back to [the tutorial]({FIRST.name})."


def ordered(root: Path) -> dict[Path, str]:
    """The right texts of all files that depend on the order, by path in the repository.

    Raises:
        ValueError: The list leaves out a page of the folder, or the site has no navigation.

    """
    order = pages((root / FIRST).read_text(encoding="utf-8"))
    folder = (root / FIRST).parent
    there = {path.name for path in folder.glob("*.md")} - {FIRST.name}
    if sorted(page.file for page in order) != sorted(there):
        wrong = sorted({page.file for page in order} ^ there)
        raise ValueError(f"{FIRST}: {', '.join(wrong)} must be in the list and in the folder, once")
    files = {}
    for at, page in enumerate(order):
        text = (folder / page.file).read_text(encoding="utf-8")
        body = LAST.sub("", text).rstrip("\n")
        files[FIRST.parent / page.file] = f"{body}\n\n{last_line(order, at)}\n"
    site = (root / SITE).read_text(encoding="utf-8")
    lines = "".join(f"      - {FIRST.parent}/{page.file}\n" for page in order)
    files[SITE], count = NAVIGATED.subn(lines, site)
    if count != 1:
        raise ValueError(f"{SITE}: no pages follow {FIRST}")
    return files


def stale(root: Path) -> list[Path]:
    """The files that do not agree with the order of the list."""
    files = ordered(root)
    return [name for name, text in files.items() if (root / name).read_text("utf-8") != text]


if __name__ == "__main__":
    for name, text in ordered(ROOT).items():
        (ROOT / name).write_text(text, encoding="utf-8")
