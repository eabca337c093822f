"""The tutorial's list, the links between its pages and the site have the same order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import tutorial

FOLDER = tutorial.FIRST.parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the tutorial and of the navigation of the site."""
    shutil.copytree(tutorial.ROOT / FOLDER, tmp_path / FOLDER)
    shutil.copy(tutorial.ROOT / tutorial.SITE, tmp_path)
    return tmp_path


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_list_links_and_navigation_have_one_order() -> None:
    assert tutorial.stale(tutorial.ROOT) == [], "run scripts/docs/tutorial.py"


def test_the_list_has_the_titles_of_the_pages() -> None:
    order = tutorial.pages((tutorial.ROOT / tutorial.FIRST).read_text(encoding="utf-8"))
    assert len(order) > 10
    for page in order:
        text = (tutorial.ROOT / FOLDER / page.file).read_text(encoding="utf-8")
        assert text.startswith(f"# {page.title}\n"), page.file


def test_no_page_has_another_way_on() -> None:
    """Only the end of a page has a link to the next one."""
    for path in (tutorial.ROOT / FOLDER).glob("*.md"):
        text = path.read_text(encoding="utf-8")
        links = re.findall(r"^(?:Next|Back to)\b.*$", text, re.M)
        assert len(links) == (path.name != tutorial.FIRST.name), path.name


def test_a_link_to_another_page_is_noticed(copied: Path) -> None:
    page = copied / FOLDER / "traces.md"
    change(page, "(python-policy.md).\n", "(experiments.md).\n")
    assert tutorial.stale(copied) == [FOLDER / "traces.md"]
    page.write_text(tutorial.ordered(copied)[FOLDER / "traces.md"], encoding="utf-8")
    assert tutorial.stale(copied) == []


def test_another_order_of_the_site_is_noticed(copied: Path) -> None:
    one, other = "      - docs/tutorial/comparing.md\n", "      - docs/tutorial/traces.md\n"
    change(copied / tutorial.SITE, one + other, other + one)
    assert tutorial.stale(copied) == [tutorial.SITE]


def test_another_order_of_the_list_is_noticed(copied: Path) -> None:
    lines = (copied / tutorial.FIRST).read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith("2. "))
    swapped = [lines[at + 1].replace("3.", "2.", 1), lines[at].replace("2.", "3.", 1)]
    lines[at : at + 2] = swapped
    (copied / tutorial.FIRST).write_text("".join(lines), encoding="utf-8")
    assert set(tutorial.stale(copied)) == {
        tutorial.SITE, *(FOLDER / f"{name}.md" for name in ("first-run", "comparing", "traces")),
    }  # fmt: skip


def test_a_page_that_the_list_leaves_out_is_noticed(copied: Path) -> None:
    (copied / FOLDER / "extra.md").write_text("# Extra\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"extra\.md must be in the list"):
        tutorial.stale(copied)
    (copied / FOLDER / "extra.md").unlink()
    change(copied / tutorial.FIRST, "3. [", "4. [")
    with pytest.raises(ValueError, match="the list is numbered"):
        tutorial.stale(copied)
