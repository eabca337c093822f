"""Every scheme on every public trace: the tables and pictures made from the cells."""

from __future__ import annotations

import csv
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import flashgc
import gap_tables
import sprandom_tables
import tables
import trace_tables
from conftest import ROOT
from flashgc.plot import save
from flashgc.studies.gaps.describe import RULES
from flashgc.studies.gaps.outcome import Gap

RESULTS = ROOT / "docs" / "results"
SHIPPED = ROOT / "data" / "pgbench-ext4.csv.zst"


def kept(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines(name: str, gap: Gap) -> Iterable[dict[str, Any]]:
    """The rows of a report counted in pages, as in docs/results; the command counts bytes."""
    rounding = gap.bound or 1.0
    for row in gap:
        yield {
            "workload": name, "blocks": gap.blocks, "pages_per_block": gap.pages_per_block,
            "spare_factor": f"{gap.spare_factor:.4f}", "rounding": f"{rounding:.4f}",
            "kind": row.kind, "name": row.name, "sigma": digits(row.sigma),
            "errors": row.errors or "",
            "write_amplification": digits(row.write_amplification, rounding),
            "half": digits(row.write_amplification_ci95, rounding), "reason": row.reason,
        }  # fmt: skip


def digits(value: float | None, scale: float = 1.0) -> str:
    return "" if value is None else f"{value / scale:.9g}"


def test_reports_made_again_from_their_rows_say_what_the_command_says(
    tmp_path: Path,
) -> None:
    found = flashgc.gap(str(SHIPPED), spare=0.07, pages_per_block=64, passes=2, jobs=1,
                        schemes=["cost-benefit"], sigma=[1, 4])  # fmt: skip
    out = tmp_path / "gap.csv"
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, kept(RESULTS / gap_tables.FILE)[0])
        writer.writeheader()
        writer.writerows(lines("shipped", found))
    (again,) = gap_tables.gaps(out)
    told = [one.sentence for one in gap_tables.findings(again)]
    # Findings of single runs are in no row of a report.
    assert told == [one.sentence for one in found.findings if one.id in RULES]
    assert gap_tables.endings(out)[1][:2] == ("shipped", f"{found.blocks} of 64")


#: Two schemes and greedy on three workloads. The third workload does not count, because greedy
#: writes only 1.04. On the second one, scheme a does not fit at 7%.
HAND = """workload,scheme,spare,blocks,pages_per_block,overwrite,write_amplification,half,why
one,greedy,0.07,10,4,1.5,3.0,0.1,
one,greedy,0.125,10,4,1.5,2.0,0.1,
one,a,0.07,10,4,1.5,2.0,0.1,
one,a,0.125,10,4,1.5,1.5,0.1,
one,b,0.07,10,4,1.5,4.0,0.1,
one,b,0.125,10,4,1.5,1.2,0.1,
one,oracle,0.07,10,4,1.5,1.0,0.1,
one,oracle,0.125,10,4,1.5,1.0,0.1,
two,greedy,0.07,20,4,1.5,3.0,0.1,
two,greedy,0.125,20,4,1.5,2.0,0.1,
two,a,0.07,,,1.5,,,too small
two,a,0.125,20,4,1.5,1.8,0.1,
two,b,0.07,20,4,1.5,2.0,0.1,
two,b,0.125,20,4,1.5,2.2,0.1,
two,oracle,0.07,20,4,1.5,1.0,0.1,
two,oracle,0.125,20,4,1.5,1.0,0.1,
three,greedy,0.07,30,4,1.5,1.2,0.1,
three,greedy,0.125,30,4,1.5,1.04,0.1,
three,a,0.07,30,4,1.5,9.0,0.1,
three,a,0.125,30,4,1.5,9.0,0.1,
three,b,0.07,30,4,1.5,9.0,0.1,
three,b,0.125,30,4,1.5,9.5,0.1,
three,oracle,0.07,30,4,1.5,1.0,0.1,
three,oracle,0.125,30,4,1.5,1.0,0.1,
"""


def test_tables_of_a_hand_worked_example(tmp_path: Path) -> None:
    path = tmp_path / "hand.csv"
    path.write_text(HAND)
    found = trace_tables.cells(path)
    assert (found.counted, found.roomy) == (("one", "two"), ("one",))
    # Ratios of a: 1.5 / 2 and 1.8 / 2; of b: 1.2 / 2 and 2.2 / 2. Ranks are of workload one alone.
    assert trace_tables.schemes(found)[1:] == [
        ("a", "0.825", "0.750", "0.900", "2", "1.0", "2.0"),
        ("b", "0.850", "0.600", "1.100", "2", "3.0", "1.0"),
        ("greedy", "1.000", "1.000", "1.000", "2", "2.0", "3.0"),
        ("oracle", "0.500", "0.500", "0.500", "2", "", ""),
    ]
    assert [line[-1] for line in trace_tables.workloads(found)[1:]] == [
        "", "no room for 1", "too gentle",
    ]  # fmt: skip
    # Ranks of greedy, a, b are 2, 1, 3 and then 3, 2, 1: one pair of three keeps its order.
    assert trace_tables.stability(found)[1][1] == "-0.33"


def test_equal_figures_share_a_mean_place_and_a_name(tmp_path: Path) -> None:
    path = tmp_path / "twins.csv"
    lines = [line for line in HAND.splitlines() if not line.startswith(("two", "three"))]
    twin = [line.replace(",b,", ",c,") for line in lines if ",b," in line]
    near = [line.replace(",b,", ",d,").replace(",1.2,", ",1.3,") for line in lines if ",b," in line]
    path.write_text("\n".join([*lines, *twin, *near]) + "\n")
    found = trace_tables.cells(path)
    assert found.online == ("greedy", "a", "b", "d")
    assert found.name("b") == "b, c"
    assert found.ranks("one", 0.07) == {"greedy": 2, "a": 1, "b": 3.5, "d": 3.5}


@pytest.mark.parametrize(
    ("one", "other", "tau"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        # Five of six pairs agree: (5 - 1) / 6.
        ([1, 2, 3, 4], [1, 2, 4, 3], 2 / 3),
        # A tie leaves five pairs, which agree: tau-b is 5 / sqrt(5 * 6).
        ([1, 2.5, 2.5, 4], [1, 2, 3, 4], 5 / 30**0.5),
    ],
)
def test_kendall_tau_of_small_rankings(one: list[float], other: list[float], tau: float) -> None:
    assert trace_tables.kendall(one, other) == pytest.approx(tau)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("placement", lambda: trace_tables.cells(RESULTS / trace_tables.FILE)),
        ("gaps", lambda: gap_tables.gaps(RESULTS / gap_tables.FILE)),
        ("sprandom", lambda: sprandom_tables.rows(RESULTS / sprandom_tables.FILE)),
        ("realtime", lambda: kept(RESULTS / "realtime.postgres.csv")),
    ],
)
def test_shipped_pictures_are_those_of_the_kept_cells(name: str, made, tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / f"{name}.py"))
    save(script["draw"](made()), tmp_path / "now.svg")
    assert (tmp_path / "now.svg").read_bytes() == script["FIGURE"].read_bytes(), "make docs"


def test_what_the_document_says_in_words_is_what_the_cells_say() -> None:
    found = trace_tables.cells(RESULTS / trace_tables.FILE)
    firsts = []
    for spare in found.spares:
        places = sorted(found.mean_ranks(spare).items(), key=lambda one: one[1])
        firsts.append(places[0][0])
        assert {"cost-benefit + gdt", "cost-benefit + sepbit"} <= {name for name, _ in places[:4]}
    assert firsts == ["cost-benefit + sepbit", "cost-benefit + sepbit", "cost-benefit + gdt"]
    gdt = found.ratios("cost-benefit + gdt")
    assert len(gdt) == len(found.ratios("greedy")) - 1
    assert sum(ratio > 1 for ratio in gdt.values()) == 1
    *between_spares, between_workloads = trace_tables.stability(found)[1:]
    assert all(float(line[1]) > float(between_workloads[1]) + 0.1 for line in between_spares)
    for scheme in ("sepbit", "cost-benefit + sepbit", "cost-benefit + warcip"):
        assert max(found.ratios(scheme).values()) < 1
    for scheme in ("cost-benefit + fadac", "cost-benefit + multilog"):
        ratios = found.ratios(scheme).values()
        assert sum(ratio < 1 for ratio in ratios) > len(ratios) / 2
        assert max(ratios) > 1


def test_both_scripts_measure_the_same_greedy() -> None:
    """Greedy in a gap report equals the cell of the same trace and spare factor."""
    found = trace_tables.cells(RESULTS / trace_tables.FILE)
    for gap in gap_tables.gaps(RESULTS / gap_tables.FILE):
        greedy = next(row for row in gap.online if row.name == "greedy")
        cell = found.figures[gap.workload, "greedy", 0.07]
        assert greedy.write_amplification == pytest.approx(cell, abs=2e-4)


def test_the_documents_show_these_tables() -> None:
    shown = {
        place["name"]
        for text in tables.documents().values()
        for place in tables.PLACE.finditer(text)
    }
    assert {"placement-schemes", "placement-ranking", "placement-workloads", "gap-traces"} <= shown
