"""A closed drive whose policies are written in Python is checked as any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command

RULES = '''
class Odd:
    """Odd and even pages."""

    classes = 2

    def host(self, page, stream, old, now):
        return page % 2

    def copy(self, page, from_, zombie, now):
        return page % 2


def pick(blocks):
    return min(blocks.draw(5), key=blocks.count)
'''


@pytest.mark.parametrize(
    "policy", ["--placement=python:rules.py:Odd", "--victim=python:rules.py:pick"]
)
def test_a_drive_with_a_policy_in_python_is_checked(
    policy: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "rules.py").write_text(RULES)
    made = command(
        "device", "create", "d.flash", "--blocks", 300, "--pages-per-block", 64,
        "--journal", "1MiB", "--spare", "20%", "--frontier", "pool", policy,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    checked = command("device", "check", "d.flash", "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["damaged"] == []
    # The check reads the map without loading the policy.
    (tmp_path / "rules.py").unlink()
    for option in ((), ("--from-oob",)):
        checked = command("device", "check", "d.flash", *option)
        assert checked.returncode == 0, checked.stderr
