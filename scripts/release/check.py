"""Installs each package of a folder in a clean environment, and uses it in an empty folder.

python scripts/release/check.py dist
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

RUN = ("run", "--blocks", "64", "--pages-per-block", "16", "--writes", "4x", "--quiet", "--json")
#: A module with wrong engines or drives asks this variable which of them is wanted.
MUTANTS = b"FLASHGC_MUTANT"
#: Commands of the papers' package.
OF_PAPERS = [("reproduce", "--list")]
if sys.platform == "linux":
    OF_PAPERS += [
        ("device", "crash-test", "--level", "images", "--images", "100", "--quiet"),
        ("hints", "demo", "--help"),
    ]
IMPORT = (
    "import flashgc; result = flashgc.run(blocks=64, pages_per_block=16, writes='4x'); "
    "print(flashgc.__version__, result.digest)"
)


def output(*command: str | Path, folder: str) -> str:
    """What a command prints; its fault is ours.

    Nothing of this checkout is found: cargo takes what an earlier build left for fresh, because the
    files of a source package are old.
    """
    left_out = ("PYTHON", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    made = subprocess.run(
        [str(part) for part in command], cwd=folder, env=kept, capture_output=True, text=True
    )
    if made.returncode:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{made.stdout}{made.stderr}")
    return made.stdout


def check(package: Path, papers: Path | None) -> str:
    """The version and the digest of a run, by the command and from Python.

    No module has wrong engines or drives in it.
    ``papers`` is the package of the papers: before it is installed, its commands say how it is.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        output(programs / "python", *install, package.resolve(), folder=empty)
        wrong = [path.name for path in Path(folder).rglob("_core*") if MUTANTS in path.read_bytes()]
        if wrong:
            raise SystemExit(f"error: {package.name}: wrong engines or drives are in {wrong}")
        version = output(programs / "flashgc", "--version", folder=empty).split()[-1]
        digest = json.loads(output(programs / "flashgc", *RUN, folder=empty))["digest"]
        imported = output(programs / "python", "-c", IMPORT, folder=empty).split()
        if imported != [version, digest]:
            raise SystemExit(f"error: {package.name}: the command says {version} {digest}, Python "
                             f"{' '.join(imported)}")  # fmt: skip
        of_papers = [[programs / "flashgc", *words] for words in OF_PAPERS]
        for command in of_papers:
            absent = subprocess.run(command, cwd=empty, capture_output=True, text=True)
            if absent.returncode != 2 or "pip install 'flashgc[papers]'" not in absent.stderr:
                raise SystemExit(f"error: {package.name}: without the papers: {absent.stderr}")
        if papers is not None:
            pip = (*install, "--no-deps", papers.resolve())
            output(programs / "python", *pip, folder=empty)
            for command in of_papers:
                output(*command, folder=empty)
        if left := os.listdir(empty):
            raise SystemExit(f"error: {package.name}: left {', '.join(left)} in the folder")
        return f"{version} {digest}"


def main(folder: Path) -> None:
    """Checks every package; all must say the same."""
    every = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    papers = [package for package in every if package.name.startswith("flashgc_papers-")]
    packages = [package for package in every if package not in papers]
    if not packages:
        raise SystemExit(f"error: {folder} has no packages; hint: make wheel sdist")
    said = {}
    for at, package in enumerate(packages):
        # Each package of the papers beside one of ours.
        said[package.name] = check(package, papers[at % len(papers)] if papers else None)
        print(f"{package.name}: {said[package.name]}", flush=True)
    if len(set(said.values())) > 1:
        raise SystemExit("error: the packages do not say the same")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
