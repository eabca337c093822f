"""Tables 2 and 3 of the d-choices paper: the statistics of a trace, and what is built from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from flashgc import ConfigError, trace_stat

# Worked by hand. Offsets in bytes, 4096 a page:
#   write 0, 4096 bytes, three times: page 0                           3 accesses, written
#   write 4096 + 512, 4096 bytes: touches pages 1 and 2; its size needs one, page 1
#   read 4096, 8192 bytes: pages 1 and 2
#   read 40960, 4096 bytes: page 10                                    1 access, only read
# covered: page 0 3, page 1 2, page 2 2, page 10 1: 8 requests, 5 of them writes, 1 page of 4 only
#   read; 20% (1.6) on one page, 40% (3.2) and 60% (4.8) on two, 80% (6.4) on
#   three pages.
# rounded: page 0 3, page 1 2, page 2 1, page 10 1: 7 requests, 4 of them writes, pages 2 and 10
#   only read; 20% (1.4) and 40% (2.8) on one page, 60% (4.2) on two, 80% (5.6) on three.
TRACE = """time_us,op,offset_bytes,size_bytes,dev
0,W,0,4096,0
1,W,0,4096,0
2,W,0,4096,0
3,W,4608,4096,0
4,R,4096,8192,0
5,R,40960,4096,0
6,D,0,4096,0
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The trace worked by hand."""
    path = tmp_path / "by-hand.csv"
    path.write_text(TRACE, encoding="utf-8")
    return path


def test_the_statistics_of_the_paper_are_those_worked_out_by_hand(trace: Path) -> None:
    covered = trace_stat(trace)
    assert (covered.page_requests, covered.page_write_percent) == (8, 62.5)
    assert (covered.pages, covered.read_only_percent) == (4, 25.0)
    assert covered.locality_percent == (25.0, 50.0, 50.0, 75.0)
    rounded = trace_stat(trace, paging="rounded")
    assert rounded.page_requests == 7
    assert rounded.page_write_percent == pytest.approx(400 / 7)
    assert (rounded.pages, rounded.read_only_percent) == (4, 50.0)
    assert rounded.locality_percent == (25.0, 25.0, 50.0, 75.0)


def test_the_command_prints_the_same(trace: Path, command: Command) -> None:
    document = json.loads(command("trace", "stat", trace, "--paging", "rounded", "--json").stdout)
    assert document["page_requests"] == 7
    assert document["read_only_percent"] == 50
    assert document["locality_percent"] == [25, 25, 50, 75]
    shown = command("trace", "stat", trace).stdout
    assert "25% only read" in shown
    assert "5 of 8 page requests (62.5%)" in shown
    assert "20% of requests on 25%, 40% on 50%, 60% on 50%, 80% on 75% of the pages" in " ".join(
        shown.split()
    )


def test_a_wrong_paging_is_one_line_that_names_the_nearest(trace: Path, command: Command) -> None:
    done = command("trace", "stat", trace, "--paging", "round")
    assert done.returncode == 2
    assert done.stderr == (
        "error: --paging: found 'round', expected covered or rounded; "
        "hint: did you mean 'rounded'?\n"
    )
    with pytest.raises(ConfigError, match="found 'round', expected covered or rounded"):
        trace_stat(trace, paging="round")  # type: ignore[arg-type]
