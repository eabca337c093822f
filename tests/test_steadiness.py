"""The script that measures how often the rules of a steady state err."""

from __future__ import annotations

import pytest
from scripts.coverage import steadiness


def test_the_errors_of_the_rules_are_measured_by_the_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    steadiness.main(100)
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    shares = {
        row[0]: float(row[2].strip(" %"))
        for row in rows
        if row[1:2] in (["steady"], ["rises"]) and "%" in row[-1]
    }
    # docs/validation.md has these shares, from more series.
    assert shares["noise 0.2%"] == 100.0
    assert shares["noise 1%, rising 5%"] == 0.0
    assert 85 < shares["noise 5%"] < 100
