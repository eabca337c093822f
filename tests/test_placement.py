"""Placements compared with an independent simulator, and the command's output about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Command

import flashgc
from flashgc.registry import placements, schemes

WORKLOADS = ("hotcold:f=0.2,r=0.8", "hotcold:f=0.1,r=0.9", "zipf:theta=0.99")

#: Write amplification in a simulator of a hundred lines, written independently from the
#: descriptions: 2000 blocks of 128 pages, 12.5% spare, 12 drive writes, the second half counted.
#: Its cost-benefit score is (1-u)/u times the age since the block was full.
INDEPENDENT = {
    ("greedy", "single", "none"): (4.46, 5.09, 6.05),
    ("cost-benefit", "pool:low=1", "none"): (3.75, 2.79, 3.01),
    ("cost-benefit", "pool:low=1", "dac:regions=3"): (3.63, 2.52, 2.60),
    ("cost-benefit", "pool:low=1", "dac:regions=6"): (3.52, 2.11, 2.34),
    ("cost-benefit", "pool:low=1", "dac:regions=10"): (3.56, 2.05, 2.31),
    ("greedy", "pool:low=1", "multilog"): (4.57, 4.93, 3.74),
    ("greedy", "pool:low=1", "sepbit"): (4.30, 4.29, 3.58),
    ("cost-benefit", "pool:low=1", "sepbit"): (3.50, 2.33, 2.53),
    ("cost-benefit:form=sqrt", "pool:low=1", "sepbit"): (3.60, 2.55, 2.74),
    ("cost-benefit", "pool:low=1", "intervals:classes=6"): (3.18, 2.24, 2.99),
    ("cost-benefit", "pool:low=1", "intervals:classes=12"): (3.16, 2.21, 2.72),
    # The simulator has 6 classes in units of one block; ours has 5 in units of two blocks. Both
    # last classes begin at the same lifetime.
    ("cost-benefit", "pool:low=1", "oracle:classes=5,horizon=32"): (3.92, 3.42, 2.55),
    ("cost-benefit", "pool:low=1", "oracle:classes=16,horizon=32"): (1.11, 1.03, 1.05),
}


@pytest.mark.parametrize("scheme", INDEPENDENT, ids=" ".join)
def test_write_amplification_is_that_of_an_independent_simulator(
    scheme: tuple[str, str, str],
) -> None:
    victim, frontier, placement = scheme
    for workload, expected in zip(WORKLOADS, INDEPENDENT[scheme], strict=True):
        result = flashgc.run(
            workload, victim=victim, frontier=frontier, placement=placement, blocks=2000,
            pages_per_block=128, spare=0.125, writes="12x", warmup="50%", runs=1,
        )  # fmt: skip
        assert result.write_amplification == pytest.approx(expected, rel=0.03), workload


def test_errors_of_requests_are_those_of_writes_where_a_request_is_a_page() -> None:
    def measured(errors: str) -> float:
        return flashgc.run(
            "uniform", victim="cost-benefit", frontier="pool", blocks=400, spare=0.2,
            placement=f"oracle:sigma=1,errors={errors}", pages_per_block=32, writes="4x", runs=1,
        ).write_amplification  # fmt: skip

    assert measured("request") == pytest.approx(measured("write"), rel=0.01)


def test_what_a_drive_cannot_know_is_refused_in_a_line(command: Command, tmp_path: Path) -> None:
    oracle = ("--placement", "oracle", "--spare", "30%", "--blocks", "400")
    cached = ("--vm-page-cache", "4MiB", "--workload", "zipf:read=0.5", "--warmup", "1/3")
    for more in (
        ("--drive", "timed", "--device", "mlc"),
        ("--frontier", "pool", "--mapping", "dftl"),
        ("--frontier", "pool", *cached),
    ):
        ended = command("run", *oracle, "--requests", "20000", *more)
        assert ended.returncode == 2, (more, ended.stderr)
        [line] = ended.stderr.splitlines()
        assert "--placement oracle does not go with --" in line, line
        assert "hint: another placement, or " in line, line
    created = command(
        "device", "create", str(tmp_path / "x.flash"), "--capacity", "256MiB", *oracle[:4]
    )
    assert created.returncode == 2
    assert "must know what the host will write" in created.stderr
    assert not (tmp_path / "x.flash").exists()
    small = command("run", "--placement", "oracle", "--frontier", "pool", "--blocks", "200")
    assert small.returncode == 2
    assert "hint: --spare 16.5%, or more --blocks" in small.stderr


def test_every_preset_is_of_registered_placements_that_a_drive_can_have() -> None:
    known = {one.name for one in placements() if not (one.needs_future or one.needs_streams)}
    assert {one.placement.partition(":")[0] for one in schemes()} <= known


def test_each_placement_says_its_memory_a_page() -> None:
    shown = {one.name: round(one.bytes_a_page, 3) for one in placements()}
    # Bytes for 2^20 pages, by hand: 12 per chunk of 512 pages; 8 per extent of 1024 pages. Oracle:
    # 16 per page, and 4 per write of the 8 * 2^20 in sight. 4 stamps of 8, and 5 + 1000 numbers
    # for quantiles. SFS: 16 per page, and 36 for each of 6 + 4096 + 4661 segments. MiDAS:
    # 2 MiB, 8 for each of 10,486 pages, 32 for each of 16 bins a block, and 23 a block.
    assert shown == {
        "none": 0, "dac": 0, "sepbit": 8, "multilog": 8, "fadac": 4, "sfr": 0.023, "warcip": 16,
        "eti": 0.008, "fdp": pytest.approx(2, abs=0.02), "oracle": 48,
        "intervals": 32.008, "gdt": 32, "sfs": 16.301, "midas": pytest.approx(4.46, abs=0.005),
    }  # fmt: skip
    for one in placements():
        assert f"{one.bytes_a_page:.3f} bytes a logical page of 2^20" in one.doc, one.name
