"""Drives that are wrong on purpose, and the hunt for them.

python scripts/wrong_drives.py hunt [--seconds 10] [--seed 1] [NAME ...]
python scripts/wrong_drives.py edit     makes a copy of the sources with all wrong drives
python scripts/wrong_drives.py write    writes the patches again from that copy, and removes it

A campaign that a wrong drive passes proves nothing. The drive that people use has no switch for a
fault: `crates/device/mutants` has a patch for each file that gets some, and in `new` the files that
only wrong drives need. `hunt` applies all of them to a copy of the sources and compiles it once. It
runs the tests that wrong drives must fail, and then the crash campaign on every wrong drive. With
names, it runs the campaign on these alone.

To mend a patch, or to add a wrong drive, edit the copy that `edit` makes. A wrong drive is a
variant of `Mutant` in `src/mutants.rs` there, a switch `mutants::on(Mutant::NAME)` where it goes
wrong, and a reason in `mutants.toml` if no campaign can find it. The parts of a patch that did not
apply lie in files `*.rej` beside their sources: put them in by hand, and remove the files. Then
`write`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = Path("crates/device")
MUTANTS = CRATE / "mutants"
BUILT = ("--profile", "checks", "--locked", "--quiet", "--package", "flashgc-device")
PROGRAM = "python scripts/wrong_drives.py"
RENEW = f"hint: {PROGRAM} edit, mend the copy, then {PROGRAM} write"


class WrongDrivesError(Exception):
    """Raised if patches do not apply, or cannot be written from the copy."""


def sources(root: Path) -> Iterator[Path]:
    """The files that git knows or would add, without the wrong drives."""
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    for name in sorted({Path(name) for name in listed.split("\0") if name}):
        if (root / name).is_file() and MUTANTS not in name.parents:
            yield name


def files(tree: Path) -> dict[Path, Path]:
    """The files below a folder, by their paths in it."""
    return {path.relative_to(tree): path for path in sorted(tree.rglob("*")) if path.is_file()}


def copy(path: Path, to: Path) -> None:
    """Copies a file; the copy has the present time."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)


def copy_crate(root: Path, tree: Path) -> None:
    """Copies the crate as it is, without wrong drives."""
    for name in sources(root):
        if CRATE in name.parents:
            copy(root / name, tree / name)


def add_mutants(root: Path, tree: Path, *options: str) -> list[str]:
    """Adds all wrong drives to a copy of the crate; returns a text for each failed patch."""
    # In a folder of another repository, `git apply` would skip files that this one does not track.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.resolve().parent)}
    faults = []
    for patch in sorted((root / MUTANTS).glob("*.patch")):
        words = ("git", "apply", *options, str(patch.resolve()))
        done = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True)
        if done.returncode:
            faults.append(f"{MUTANTS / patch.name} does not apply:\n{done.stderr.strip()}")
    for name, path in files(root / MUTANTS / "new").items():
        copy(path, tree / CRATE / name)
    return faults


def check(root: Path = ROOT) -> None:
    """Raises `WrongDrivesError` if a patch does not apply to the sources."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        copy_crate(root, tree)
        if faults := add_mutants(root, tree):
            raise WrongDrivesError("\n".join((*faults, RENEW)))


def lay_out(root: Path, tree: Path, *options: str) -> list[str]:
    """Makes or renews a tree of all sources with wrong drives; unchanged files keep their times.

    Returns a sentence for each patch that does not apply; the tree lacks its changes.
    """
    with tempfile.TemporaryDirectory() as folder:
        crate = Path(folder) / "tree"
        copy_crate(root, crate)
        faults = add_mutants(root, crate, *options)
        wanted = {name: root / name for name in sources(root)} | files(crate)
        for name, path in files(tree).items():
            if name not in wanted:
                path.unlink()
        for name, path in wanted.items():
            to = tree / name
            if not to.exists() or to.read_bytes() != path.read_bytes():
                copy(path, to)
    return faults


def work(root: Path) -> Path:
    """The folder of all copies."""
    return Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "wrong-drives"


def cargo(root: Path, tree: Path, *arguments: str) -> int:
    """Runs cargo in a copy, with the shared target folder; returns the exit code."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(work(root) / "build")}
    environment.pop("FLASHGC_MUTANT", None)
    return subprocess.run(("cargo", *arguments), cwd=tree, env=environment).returncode


def hunt(root: Path, arguments: list[str]) -> int:
    """Hunts for wrong drives; returns 1 if one is not detected."""
    tree = work(root) / "tree"
    if faults := lay_out(root, tree):
        raise WrongDrivesError("\n".join((*faults, RENEW)))
    has_names = any(word[0].isalpha() for word in arguments)
    if not has_names and (code := cargo(root, tree, "test", *BUILT, "--", "mutants::")):
        return code
    return cargo(root, tree, "run", *BUILT, "--example", "hunt", "--", *arguments)


def edit(root: Path) -> None:
    """Makes the copy in which wrong drives are edited, and a clean copy to compare with."""
    tree, clean = work(root) / "edit", work(root) / "clean"
    if tree.exists():
        raise WrongDrivesError(f"{tree} is there; hint: {PROGRAM} write, or remove it")
    shutil.rmtree(clean, ignore_errors=True)
    copy_crate(root, clean)
    for fault in lay_out(root, tree, "--reject"):
        print(f"{fault.splitlines()[0]} files *.rej have what is left out: put it in by hand")
    print(f"edit {tree / CRATE}, then: {PROGRAM} write")


def write(root: Path) -> None:
    """Writes patches and new files again, from the copy in which they were edited."""
    tree, clean = work(root) / "edit", work(root) / "clean"
    if not tree.exists():
        raise WrongDrivesError(f"{tree} is not there; hint: {PROGRAM} edit")
    before, after = files(clean / CRATE), files(tree / CRATE)
    if left := [name for name in after if name.suffix == ".rej"]:
        raise WrongDrivesError(f"{left[0]} is there; hint: put it in by hand, then remove it")
    if gone := before.keys() - after.keys():
        raise WrongDrivesError(f"{min(gone)} is gone; hint: put it back")
    if cargo(root, tree, "fmt", "--package", "flashgc-device"):
        raise WrongDrivesError("cargo fmt failed; hint: mend the copy")
    shutil.rmtree(root / MUTANTS, ignore_errors=True)
    (root / MUTANTS).mkdir(parents=True)
    for name, path in after.items():
        if name not in before:
            copy(path, root / MUTANTS / "new" / name)
        elif path.read_bytes() != before[name].read_bytes():
            labels = ("--label", f"a/{CRATE / name}", "--label", f"b/{CRATE / name}")
            words = ("diff", "--unified", *labels, str(before[name]), str(path))
            patch = subprocess.run(words, capture_output=True).stdout
            parts = name.with_suffix("").parts
            stem = "-".join(parts[1:] if parts[0] == "src" else parts)
            (root / MUTANTS / f"{stem}.patch").write_bytes(patch)
    shutil.rmtree(tree)
    shutil.rmtree(clean)
    check(root)


def main(words: list[str]) -> int:
    """Runs a subcommand; the exit code is 1 if a wrong drive is open, and 2 after a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("hunt", "edit", "write"))
    known, rest = parser.parse_known_args(words)
    try:
        if known.command == "hunt":
            return hunt(ROOT, rest)
        if rest:
            parser.error(f"{known.command}: found '{rest[0]}', expected nothing more")
        edit(ROOT) if known.command == "edit" else write(ROOT)
    except WrongDrivesError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
