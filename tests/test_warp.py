"""The naive drive of ``experiments/warp`` decides as flashgc does, with both orders of copies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import flashgc

SOURCE = Path(__file__).parent.parent / "experiments" / "warp" / "lines.c"
#: 60% of writes in sequence over nine tenths of the drive, 20% at random there, 20% in the rest.
WRITES = (
    "0.6*sequential:to=0.9,stream=0 + 0.2*uniform:to=0.9,stream={} + 0.2*uniform:from=0.9,stream=1"
)
UNITS, PAGES, LOGICAL, RESERVE = 1600, 128, 1400, 16


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("warp") / "lines"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", program, SOURCE, "-lm"], check=True)
    return program


def naive(drive: Path, *arguments: str) -> float:
    """Amplification of the last of four drive writes of ``WRITES``, without rules of FEMU alone."""
    shape = (f"units={UNITS}", f"pages={PAGES}", f"logical={LOGICAL}", f"reserve={RESERVE}")
    fifth = LOGICAL * PAGES // 5
    mix = f"{3 * fifth} {fifth} {fifth}\n" * 4
    command = [str(drive), *shape, "scale=1", "lazy=0", "idle=0", *arguments]
    ran = subprocess.run(command, input=mix, capture_output=True, text=True, check=True)
    return float(ran.stdout.split("last ")[1].split()[0])


@pytest.mark.parametrize("order", ["written", "die"])
@pytest.mark.parametrize(
    ("handles", "jumper", "randoms"),
    [("fdp:handles=3", 2, 1), ("fdp:handles=2", 0, 1), ("none", 0, 0)],
)
def test_the_naive_drive_writes_what_flashgc_does(
    drive: Path, order: str, handles: str, jumper: int, randoms: int
) -> None:
    result = flashgc.run(
        WRITES.format(jumper),
        blocks=UNITS * 64,
        pages_per_block=PAGES // 64,
        superblock="dies=64,planes=1",
        copy_order=order,
        overprovision=UNITS / LOGICAL - 1,
        victim="greedy",
        frontier=f"pool:low={RESERVE}",
        placement=handles,
        warmup="3x",
        writes="1x",
        runs=1,
    )
    given = [f"jumper={jumper}", f"randoms={randoms}", f"by_die={int(order == 'die')}"]
    assert result.write_amplification == pytest.approx(naive(drive, *given), rel=0.03)


def test_copies_die_by_die_cost_more(drive: Path) -> None:
    written, by_die = (naive(drive, "jumper=0", "randoms=0", f"by_die={flag}") for flag in (0, 1))
    assert by_die > 1.05 * written


def test_early_collections_copy_a_twentieth_of_what_is_in_sequence(drive: Path) -> None:
    """Alone in its unit, a sequence dies as a whole, but FEMU takes it when 5% of it are left."""
    late, early = (naive(drive, "jumper=1", "randoms=1", f"lazy={share}") for share in (0, 5))
    assert early > late
