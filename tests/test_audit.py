"""The audit refuses what it says it refuses, and says what it did not check."""

from __future__ import annotations

import copy
import importlib.util
import subprocess
import sys
import tomllib
from email.message import Message
from typing import Any

import pytest

from conftest import ROOT

SPEC = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
assert SPEC is not None
assert SPEC.loader is not None
audit: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)

DENY = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
CRATE = {
    "id": "invented",
    "name": "invented",
    "version": "1.0.0",
    "license": "MIT OR Apache-2.0",
    "source": "registry+https://github.com/rust-lang/crates.io-index",
    "dependencies": [],
}


def faults(members: tuple[str, ...] = (), **changed: object) -> list[str]:
    crate = {**copy.deepcopy(CRATE), **changed}
    found: list[str] = audit.crates({"packages": [crate], "workspace_members": members}, DENY)
    return found


def test_a_crate_is_refused_for_its_licence_and_its_source() -> None:
    assert faults() == []
    assert "its licence is GPL-3.0-only" in faults(license="GPL-3.0-only")[0]
    assert "its licence is none" in faults(license=None)[0]
    assert "expected crates.io" in faults(source="git+https://example.org/a")[0]
    assert "expected crates.io" in faults(source=None)[0]
    any_version = [{"name": "serde", "req": "*"}]
    assert "any version of serde" in faults(("invented",), dependencies=any_version)[0]


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR (GPL-2.0-only AND Zlib)", True),
        ("(MIT OR GPL-2.0-only) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("(MIT", False),
        ("MIT GPL-2.0-only", False),
        ("", False),
    ],
)
def test_a_licence_is_an_expression(licence: str, expected: bool) -> None:
    assert audit.is_allowed(licence, DENY["licenses"]["allow"]) is expected


def test_a_package_is_pinned_with_a_hash() -> None:
    assert audit.pinned("Click==8.1 \\\n    --hash=sha256:00\n    # via x\n") == (
        {"click": "8.1"},
        [],
    )
    for line in ("click==8.1", "click @ git+https://example.org/a", "--index-url https://a.b"):
        assert audit.pinned(line)[1]


def test_the_licence_of_a_package_is_read() -> None:
    facts = Message()
    facts["Classifier"] = "License :: OSI Approved :: MIT License"
    assert audit.licence_of(facts) == "MIT"
    facts["Classifier"] = "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"
    assert not audit.is_allowed(audit.licence_of(facts), {"MIT"})


def test_ours_pass_and_what_was_not_checked_is_said() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), "--offline"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    assert "ok: licences and sources of " in made.stdout
    assert "not checked: advisories: --offline" in made.stderr
    assert subprocess.run([*command, "--strict"], capture_output=True, timeout=60).returncode == 1
