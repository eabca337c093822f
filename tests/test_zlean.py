"""A naive drive programs what ZLeanStore's simulator does; with flashgc's rules, what that does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments.zlean.compare import HERE, SKEWS, SWITCHES, naive, ours, written

from flashgc_papers.claims import claims
from flashgc_papers.reproduce.tasks import Size

Count = Callable[..., int]


@pytest.fixture(scope="module")
def count(tmp_path_factory: pytest.TempPathFactory) -> Count:
    """Programs of the naive drive under a rule and a skew, with some rules of flashgc's."""
    folder = tmp_path_factory.mktemp("zlean")
    program = folder / "drive"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", program, HERE / "drive.c"], check=True)
    traces: dict[float, Path] = {}

    def counted(rule: str, theta: float, *switches: str) -> int:
        if theta not in traces:
            place = folder / f"{theta:g}"
            place.mkdir()
            traces[theta] = written(theta, Size.QUICK, place)
        return naive(program, rule, Size.QUICK, traces[theta], switches)

    return counted


@pytest.mark.parametrize("theta", SKEWS)
@pytest.mark.parametrize("rule", SWITCHES)
def test_the_naive_drive_is_the_simulator_and_with_other_rules_flashgc(
    count: Count, rule: str, theta: float
) -> None:
    (claim,) = claims().select((f"zlean.sim.{rule}",))
    published = dict(zip(claim.column("zipf"), claim.column("quick"), strict=True))
    assert count(rule, theta) == published[theta]
    assert count(rule, theta, *SWITCHES[rule]) == ours(rule, theta, Size.QUICK)


@pytest.mark.parametrize(
    ("rule", "switch"), [(rule, switch) for rule, every in SWITCHES.items() for switch in every]
)
def test_every_rule_that_differs_is_needed(count: Count, rule: str, switch: str) -> None:
    """Without one of the exchanged rules the naive drive is not flashgc under the most skew."""
    others = [name for name in SWITCHES[rule] if name != switch]
    assert count(rule, 0.99, *others) != ours(rule, 0.99, Size.QUICK)
