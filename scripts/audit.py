"""Checks licences, sources and advisories of what flashgc depends on, in Rust and in Python.

python scripts/audit.py [--strict]

Licences and sources need no network: they are in `cargo metadata`, in `uv.lock`, and in the
packages installed in `.venv*`. Advisories are in online databases, which `cargo deny` and
`pip-audit` query if they are installed. A line is printed for each check that was not possible;
with ``--strict`` such a check fails, too.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "uv.lock"
#: The program that reads the lock; `make` installs it.
UV = ROOT / ".venv/bin/uv"
#: The only source of packages that are not ours.
PYPI = "https://pypi.org/simple"

#: Licences of Python packages beyond those of `deny.toml`. None is part of our packages.
PYTHON = frozenset(
    ("0BSD", "BSD-2-Clause", "CC0-1.0", "ISC", "LGPL-3.0-only", "MIT-CMU", "MPL-2.0", "PSF-2.0")
)
#: SPDX names for other words that packages use for a licence.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


class Audit:
    """The result of the audit: faults, and checks that were not possible."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.unchecked: list[str] = []

    def passed(self, what: str, before: int) -> None:
        """Prints that a check passed, if there are no more faults than ``before``."""
        if len(self.faults) == before:
            print(f"ok: {what}")


def is_allowed(expression: str, allowed: Iterable[str]) -> bool:
    """Returns whether a licence expression of SPDX can be met with these licences.

    >>> is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"})
    True
    >>> is_allowed("MIT AND GPL-3.0-only", {"MIT"}), is_allowed("MIT/GPL-2.0", {"MIT"})
    (False, True)
    """
    # Old crates separate alternatives by a slash.
    words = re.findall(r"\(|\)|[^\s()/]+|/", expression)
    known = frozenset(allowed)

    def any_of() -> bool:
        is_met = all_of()
        while words and words[0] in ("OR", "/"):
            words.pop(0)
            is_met = all_of() or is_met
        return is_met

    def all_of() -> bool:
        is_met = one()
        while words and words[0] == "AND":
            words.pop(0)
            is_met = one() and is_met
        return is_met

    def one() -> bool:
        if not words:
            return False
        word = words.pop(0)
        if word == "(":
            is_met = any_of()
            return bool(words) and words.pop(0) == ")" and is_met
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0) if words else ''}"
        return word in known

    return any_of() and not words


def crates(metadata: Mapping[str, Any], deny: Mapping[str, Any]) -> list[str]:
    """The faults of the crates in the output of `cargo metadata`."""
    allowed = deny["licenses"]["allow"]
    sources = {f"registry+{source}" for source in deny["sources"]["allow-registry"]}
    members = set(metadata["workspace_members"])
    faults = []
    for crate in metadata["packages"]:
        name = f"{crate['name']} {crate['version']}"
        licence = crate.get("license")
        if not is_allowed(licence or "", allowed):
            given = licence or "none"
            faults.append(f"{name}: its licence is {given}, expected one of deny.toml")
        if crate["id"] not in members and crate["source"] not in sources:
            given = crate["source"] or crate.get("manifest_path", "a folder")
            faults.append(f"{name}: it comes from {given}, expected crates.io")
        if crate["id"] in members:
            faults += [
                f"{name}: depends on any version of {dependency['name']}, expected a version"
                for dependency in crate["dependencies"]
                if dependency["req"] == "*" and not dependency.get("path")
            ]
    return faults


def locked(text: str) -> tuple[set[tuple[str, str]], list[str]]:
    """Name and version of each foreign package in a lock, and the faults of the lock."""
    packages, faults = set(), []
    for package in tomllib.loads(text)["package"]:
        name, source = package["name"], package["source"]
        if "editable" in source:
            continue
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        if source.get("registry") != PYPI:
            faults.append(f"{name} comes from {source}, expected PyPI")
        elif not files or not all(file.get("hash", "").startswith("sha256:") for file in files):
            faults.append(f"{name} has a file without a hash")
        else:
            packages.add((plain(name), package["version"]))
    return packages, faults


@functools.cache
def needed() -> tuple[str, set[tuple[str, str]]]:
    """The packages of the lock as requirements, and name and version of those for this system."""
    export = [UV, "export", "--frozen", "--quiet"]
    export += ["--all-groups", "--all-extras", "--no-emit-local"]
    text = subprocess.run(export, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    packages = set()
    for name, version, marker in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)(?: ; ([^\\\n]*))?", text):
        if not marker or Marker(marker.strip()).evaluate():
            packages.add((plain(name), version))
    return text, packages


def plain(name: str) -> str:
    """The normalised name of a package, for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(facts: Any) -> str:
    """The licence in the metadata of a package, in SPDX if it is known."""
    if facts.get("License-Expression"):
        return str(facts["License-Expression"])
    named = [
        entry.rpartition("::")[2].strip()
        for entry in facts.get_all("Classifier") or []
        if entry.startswith("License :: ")
    ]
    named = [word for word in named if word != "OSI Approved"] or [facts.get("License") or "none"]
    return " AND ".join(WORDS.get(word, word.splitlines()[0]) for word in named)


def rust(audit: Audit) -> None:
    """Checks the crates of `Cargo.lock`."""
    deny = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    try:
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        audit.unchecked.append(
            "crates: cargo is missing; hint: install Rust from https://rustup.rs"
        )
        return
    if process.returncode:
        why = process.stderr.strip().splitlines()[-1]
        audit.unchecked.append(f"crates: {why}; hint: cargo fetch --locked")
        return
    metadata = json.loads(process.stdout)
    before = len(audit.faults)
    audit.faults += crates(metadata, deny)
    audit.passed(f"licences and sources of {len(metadata['packages'])} crates", before)


def python(audit: Audit, folders: Iterable[Path]) -> None:
    """Checks the locked packages: sources of all, licences of those installed in ``folders``."""
    deny = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    allowed = PYTHON.union(deny["licenses"]["allow"])
    installed = {
        (plain(distribution.metadata["Name"]), distribution.version): distribution.metadata
        for distribution in importlib.metadata.distributions(
            path=[str(folder) for folder in folders]
        )
    }
    before, missing = len(audit.faults), set()
    packages, faults = locked(LOCK.read_text(encoding="utf-8"))
    audit.faults += [f"{LOCK.name}: {fault}" for fault in faults]
    for_here = needed()[1]
    for name, version in sorted(packages):
        facts = installed.get((name, version))
        if facts is None:
            # Packages for other systems are not installed here.
            if (name, version) in for_here:
                missing.add((name, version))
        elif not is_allowed(licence := licence_of(facts), allowed):
            audit.faults.append(
                f"{name} {version}: its licence is {licence}, expected one of deny.toml or "
                "scripts/audit.py"
            )
    audit.passed(
        f"sources of {len(packages)} Python packages, licences of {len(for_here - missing)}",
        before,
    )
    if missing:
        audit.unchecked.append(
            f"licences of {len(missing)} Python packages that are not installed "
            f"({', '.join(name for name, _ in sorted(missing)[:3])}, ...); "
            "hint: make site installs them"
        )


def advisories_of_crates(audit: Audit) -> None:
    """Queries RustSec's database by `cargo deny`, which checks licences and sources, too."""
    if shutil.which("cargo-deny") is None:
        audit.unchecked.append(
            "advisories of crates: cargo-deny is missing; hint: cargo install --locked cargo-deny"
        )
        return
    before = len(audit.faults)
    deny = ["cargo", "deny", "--locked"]
    _tool(audit, [*deny, "check", "licenses", "bans", "sources"], "cargo deny")
    fetched = subprocess.run([*deny, "fetch", "db"], cwd=ROOT, capture_output=True, text=True)
    if fetched.returncode:
        audit.unchecked.append("advisories of crates: their database was not reached")
        return
    _tool(audit, [*deny, "check", "--disable-fetch", "advisories"], "cargo deny")
    audit.passed("advisories of crates", before)


def _tool(audit: Audit, command: list[str], name: str) -> None:
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if process.returncode:
        print(process.stdout + process.stderr, file=sys.stderr)
        audit.faults.append(f"{name} refuses something (above): {' '.join(command)}")


def advisories_of_packages(audit: Audit) -> None:
    """Queries PyPI's database by `pip-audit`."""
    tool = shutil.which("pip-audit")
    if tool is None:
        audit.unchecked.append(
            "advisories of Python packages: pip-audit is missing; hint: pipx install pip-audit"
        )
        return
    before, skipped = len(audit.faults), set()
    options = ["--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(needed()[0])
        file.flush()
        answer = subprocess.run(
            [tool, *options, "-r", file.name], cwd=ROOT, capture_output=True, text=True
        )
    try:
        dependencies = json.loads(answer.stdout)["dependencies"]
    except (ValueError, KeyError):
        why = (answer.stderr.strip().splitlines() or ["no answer"])[-1]
        audit.unchecked.append(f"advisories of Python packages: {why}")
        return
    for package in dependencies:
        name = f"{package['name']} {package.get('version', '')}".strip()
        if "skip_reason" in package:
            skipped.add(name)
        audit.faults += [f"{name} has {fault['id']}" for fault in package.get("vulns", [])]
    if skipped:
        audit.unchecked.append(
            f"advisories of {len(skipped)} Python packages ({', '.join(sorted(skipped)[:3])}, "
            "...): PyPI does not know them from here; hint: is PyPI reached?"
        )
    else:
        audit.passed("advisories of Python packages", before)


def main() -> int:
    """Audits, and returns 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strict", action="store_true", help="what was not checked fails, too")
    parser.add_argument("--offline", action="store_true", help="ask no database")
    given = parser.parse_args()
    if not UV.exists():
        parser.error(f"{UV} is missing; hint: make audit")
    audit = Audit()
    rust(audit)
    python(audit, sorted(ROOT.glob(".venv*/lib/python*/site-packages")))
    if given.offline:
        audit.unchecked.append("advisories: --offline")
    else:
        advisories_of_crates(audit)
        advisories_of_packages(audit)
    for line in audit.unchecked:
        print(f"not checked: {line}", file=sys.stderr)
    for line in audit.faults:
        print(f"error: {line}", file=sys.stderr)
    return 1 if audit.faults or (given.strict and audit.unchecked) else 0


if __name__ == "__main__":
    sys.exit(main())
