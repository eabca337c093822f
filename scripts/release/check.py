"""Installs each package of a folder in a clean environment, and uses it in an empty folder.

python scripts/release/check.py dist
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ("run", "--blocks", "64", "--pages-per-block", "16", "--writes", "4x", "--quiet", "--json")
#: The name of a function that only modules with wrong engines have.
MUTANTS = b"choose_mutant"
#: Commands that are run in addition to the help of every command.
WORK = [("find", "spare", "--wanted", "WA<9", "--from", "20%", "--to", "21%", *RUN[1:])]
if sys.platform == "linux":
    WORK += [("device", "crash-test", "--level", "images", "--images", "100", "--quiet")]
#: The command of the papers, and its message if the papers are not installed.
REPRODUCE, ABSENT = ("reproduce", "--list"), "pip install 'flashgc[papers]'"
#: A program that prints the words of each command.
COMMANDS = """
import click, sys
from flashgc.command.entrance import cli
def walk(command, path):
    if not isinstance(command, click.Group):
        print(*path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if sys.platform == "linux" or name not in ("device", "hints"):
            walk(command.get_command(context, name), (*path, name))
walk(cli, ())
"""
LICENCES = {"LICENSE-APACHE", "LICENSE-MIT"}
IMPORT = (
    "import flashgc; result = flashgc.run(blocks=64, pages_per_block=16, writes='4x'); "
    "print(flashgc.__version__, result.digest)"
)


def output(*command: str | Path, folder: str) -> str:
    """Runs a command, and returns its output; raises an error if it fails.

    The environment hides this checkout. Otherwise cargo would reuse an earlier build, because the
    files of a source package have old times.
    """
    left_out = ("PYTHON", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    process = subprocess.run(
        [str(part) for part in command], cwd=folder, env=kept, capture_output=True, text=True
    )
    if process.returncode:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{process.stdout}{process.stderr}")
    return process.stdout


def check(package: Path, papers: Path | None) -> str:
    """Installs a package; returns its version and the digest of a run.

    The command and the Python module must agree on both.

    The module must have no wrong engines. Every command but ``reproduce`` must run before the
    package ``papers`` is installed.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        output(programs / "python", *install, package.resolve(), folder=empty)
        wrong = [
            path.name
            for path in Path(folder).rglob("flashgc/_core*")
            if path.suffix != ".pyi" and MUTANTS in path.read_bytes()
        ]
        if wrong:
            raise SystemExit(f"error: {package.name}: wrong engines are in {wrong}")
        version = output(programs / "flashgc", "--version", folder=empty).split()[-1]
        digest = json.loads(output(programs / "flashgc", *RUN, folder=empty))["digest"]
        imported = output(programs / "python", "-c", IMPORT, folder=empty).split()
        if imported != [version, digest]:
            raise SystemExit(f"error: {package.name}: the command says {version} {digest}, Python "
                             f"{' '.join(imported)}")  # fmt: skip
        commands = output(programs / "python", "-c", COMMANDS, folder=empty).splitlines()
        commands.remove(REPRODUCE[0])
        for words in [*((*name.split(), "--help") for name in commands), *WORK]:
            output(programs / "flashgc", *words, folder=empty)
        absent = subprocess.run(
            [programs / "flashgc", *REPRODUCE], cwd=empty, capture_output=True, text=True
        )
        if absent.returncode != 2 or ABSENT not in absent.stderr:
            raise SystemExit(f"error: {package.name}: without the papers: {absent.stderr}")
        if papers is not None:
            output(programs / "python", *install, "--no-deps", papers.resolve(), folder=empty)
            output(programs / "flashgc", *REPRODUCE, folder=empty)
        if left := os.listdir(empty):
            raise SystemExit(f"error: {package.name}: left {', '.join(left)} in the folder")
        return f"{version} {digest}"


def check_licences(package: Path) -> None:
    """Checks that a package has the licence files of this repository."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            files = {name: wheel.read(name) for name in wheel.namelist()}
    else:
        with tarfile.open(package) as archive:
            opened = {member.name: archive.extractfile(member) for member in archive.getmembers()}
            files = {name: file.read() for name, file in opened.items() if file is not None}
    texts = {Path(name).name: text for name, text in files.items() if Path(name).name in LICENCES}
    if texts != {name: (ROOT / name).read_bytes() for name in LICENCES}:
        raise SystemExit(f"error: {package.name}: the licences are not in it")


def main(folder: Path) -> None:
    """Checks every package; all must give equal results."""
    every = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    for package in every:
        check_licences(package)
    papers = [package for package in every if package.name.startswith("flashgc_papers-")]
    packages = [package for package in every if package not in papers]
    if not packages:
        raise SystemExit(f"error: {folder} has no packages; hint: make wheel sdist")
    answers = {}
    for at, package in enumerate(packages):
        answers[package.name] = check(package, papers[at % len(papers)] if papers else None)
        print(f"{package.name}: {answers[package.name]}", flush=True)
    if len(set(answers.values())) > 1:
        raise SystemExit("error: the packages do not say the same")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
