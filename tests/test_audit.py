"""The audit finds each fault that it lists, and reports the checks that it left out."""

from __future__ import annotations

import copy
import importlib.util
import re
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


LOCKED = """
[[package]]
name = "Flash.GC"
source = { editable = "." }

[[package]]
name = "Click"
version = "8.1"
source = { registry = "https://pypi.org/simple" }
sdist = { hash = "sha256:00" }
wheels = [{ hash = "sha256:01" }]
"""


def test_a_package_comes_from_pypi_with_a_hash_of_each_file() -> None:
    assert audit.locked(LOCKED) == ({("click", "8.1")}, [])
    for before, after in (
        ("https://pypi.org/simple", "https://example.org/simple"),
        ('registry = "https://pypi.org/simple"', 'git = "https://example.org/a"'),
        ('hash = "sha256:01"', 'url = "a.whl"'),
        ('sdist = { hash = "sha256:00" }\nwheels = [{ hash = "sha256:01" }]', ""),
    ):
        assert before in LOCKED
        assert audit.locked(LOCKED.replace(before, after))[1]


def requirement(name: str) -> str:
    """The normalised name of the package in a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=,; ]", name)[0]).lower()


def test_the_lock_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    lock = next(package for package in packages if package["name"] == "flashgc")
    extras = project["project"]["optional-dependencies"]
    expected = {None: project["project"]["dependencies"], **extras}
    for extra, requirements in expected.items():
        assert {requirement(name) for name in requirements} == {
            need["name"]
            for need in lock["metadata"]["requires-dist"]
            if need.get("marker") == (extra and f"extra == '{extra}'")
        }
    groups = project["dependency-groups"]
    groups["test"][0:1] = groups["build"]
    for group, requirements in groups.items():
        needs = lock["metadata"]["requires-dev"][group]
        assert {requirement(name) for name in requirements} == {need["name"] for need in needs}


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
