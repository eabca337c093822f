"""The patches that make drives wrong apply to the sources, and their names agree.

`make wrong-drives` compiles the wrong drives and hunts them, which takes minutes.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

SPEC = importlib.util.spec_from_file_location("wrong_drives", ROOT / "scripts" / "wrong_drives.py")
assert SPEC is not None
assert SPEC.loader is not None
wrong_drives: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wrong_drives)

MUTANTS = ROOT / wrong_drives.MUTANTS
DECLARED = MUTANTS / "new/src/mutants.rs"
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="these sources have no git")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the crate, its wrong drives, and nothing else."""
    shutil.copytree(ROOT / wrong_drives.CRATE, tmp_path / "root" / wrong_drives.CRATE)
    shutil.copy(ROOT / ".gitignore", tmp_path / "root")
    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path / "root", check=True)
    return tmp_path / "root"


def test_every_patch_applies() -> None:
    wrong_drives.check()


def test_a_patch_that_does_not_apply_is_named(root: Path) -> None:
    wrong_drives.check(root)
    path = root / "crates/device/src/oob.rs"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("signed(", "signature("), encoding="utf-8")
    with pytest.raises(wrong_drives.WrongDrivesError) as caught:
        wrong_drives.check(root)
    first, *_, last = str(caught.value).splitlines()
    assert first == "crates/device/mutants/oob.patch does not apply:"
    assert last == wrong_drives.RENEW
    assert str(caught.value).count("does not apply:") == 1


def test_what_is_edited_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an edit the patches stay the same; a new switch goes into the patch of its file."""
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    monkeypatch.setattr(wrong_drives, "cargo", lambda *_: 0)
    with pytest.raises(wrong_drives.WrongDrivesError, match=r"hint: python .* edit"):
        wrong_drives.write(root)
    wrong_drives.edit(root)
    with pytest.raises(wrong_drives.WrongDrivesError, match=r"is there; hint: python .* write"):
        wrong_drives.edit(root)
    wrong_drives.write(root)
    before, after = (wrong_drives.files(at / wrong_drives.MUTANTS) for at in (ROOT, root))
    assert {name: changes(path) for name, path in before.items()} == {
        name: changes(path) for name, path in after.items()
    }
    wrong_drives.edit(root)
    switched = root / "target/wrong-drives/edit/crates/device/src/codec.rs"
    switched.write_text(f"// wrong\n{switched.read_text(encoding='utf-8')}", encoding="utf-8")
    wrong_drives.write(root)
    assert "\n+// wrong\n" in (root / wrong_drives.MUTANTS / "codec.patch").read_text("utf-8")
    assert not (root / "target/wrong-drives/edit").exists()


def changes(path: Path) -> list[str]:
    """The lines of a patch without line numbers, which change with the sources."""
    return [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if path.suffix != ".patch" or not line.startswith("@@")
    ]


def test_a_patch_that_is_left_over_is_mended_by_hand(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    monkeypatch.setattr(wrong_drives, "cargo", lambda *_: 0)
    path = root / "crates/device/src/layout.rs"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("self.journal + sequence", "sequence"), encoding="utf-8")
    wrong_drives.edit(root)
    assert (
        "crates/device/mutants/layout.patch does not apply: files *.rej" in capsys.readouterr().out
    )
    with pytest.raises(wrong_drives.WrongDrivesError, match=r"layout.rs.rej is there; hint"):
        wrong_drives.write(root)
    (root / "target/wrong-drives/edit/crates/device/src/layout.rs.rej").unlink()
    wrong_drives.write(root)
    assert "RingOneShort" not in (root / wrong_drives.MUTANTS / "layout.patch").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "codes", "expected", "code"),
    [
        (["--seconds", "3"], {}, ["test", "run"], 0),
        ([], {"test": 101}, ["test"], 101),
        (["--seed", "2", "not-renewed"], {"run": 1}, ["run"], 1),
    ],
)
def test_a_hunt_for_all_begins_with_the_tests_that_find_them(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    codes: dict[str, int],
    expected: list[str],
    code: int,
) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    tree = root / "target/wrong-drives/tree"
    commands = []

    def cargo(_: Path, place: Path, *words: str) -> int:
        assert place == tree
        assert "mod mutants;" in (tree / "crates/device/src/lib.rs").read_text(encoding="utf-8")
        commands.append(words)
        return codes.get(words[0], 0)

    monkeypatch.setattr(wrong_drives, "cargo", cargo)
    assert wrong_drives.hunt(root, arguments) == code
    assert [command[0] for command in commands] == expected
    if "run" in expected:
        assert commands[-1][-len(arguments) - 1 :] == ("--", *arguments)
    times = {path: path.stat().st_mtime_ns for path in wrong_drives.files(tree).values()}
    wrong_drives.hunt(root, arguments)
    assert times == {path: path.stat().st_mtime_ns for path in times}


def names(text: str) -> set[str]:
    """The names of wrong drives, as the hunt has them."""
    words = re.findall(r"Mutant::([A-Z]\w+)", text)
    return {re.sub(r"(?<!^)(?=[A-Z])", "-", word).lower() for word in words}


def test_patches_reasons_and_the_list_have_the_same_names() -> None:
    declared = DECLARED.read_text(encoding="utf-8")
    inside = declared[declared.index("\nmutants! {") :].partition("\n}\n")[0]
    listed = names(re.sub(r"^    (\w+),$", r"Mutant::\1", inside, flags=re.MULTILINE))
    added = [
        "".join(line for line in path.read_text("utf-8").splitlines() if line.startswith("+"))
        for path in MUTANTS.glob("*.patch")
    ]
    switched = set().union(*map(names, added))
    reasons = tomllib.loads((DECLARED.with_suffix(".toml")).read_text(encoding="utf-8"))
    assert len(listed) > 100
    assert switched == listed
    assert set(reasons) <= listed


def test_the_drive_that_people_use_has_no_switch() -> None:
    for path in (ROOT / wrong_drives.CRATE).rglob("*.rs"):
        if MUTANTS not in path.parents:
            code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            assert "mutant" not in code.lower(), path
