"""What is published: one version everywhere, the right files, papers as they are cited."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import flashgc
from conftest import ROOT

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
#: Folders of a crate that belong to the source package.
CRATE = {"src", "tests", "benches", "examples", "build.rs", "Cargo.toml", "proptest-regressions"}
#: The folder of the package flashgc-papers.
PAPERS = ROOT / "python-papers"


def test_there_is_one_version() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert CITATION["version"] == cargo["workspace"]["package"]["version"] == flashgc.version()
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = ours["project"]["optional-dependencies"]
    papers = tomllib.loads((PAPERS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert papers["version"] == flashgc.version()
    assert papers["dependencies"] == [f"flashgc=={flashgc.version()}"]
    assert extras["papers"] == [f"flashgc-papers=={flashgc.version()}"]
    assert CITATION["license"] == cargo["workspace"]["package"]["license"].split(" OR ")


def test_every_paper_is_cited() -> None:
    text = (PAPERS / "flashgc_papers" / "claims.toml").read_text(encoding="utf-8")
    papers = re.findall(r'^title = "(.+)"$', text, flags=re.MULTILINE)
    assert len(papers) == 8
    assert [one["title"] for one in CITATION["references"]] == papers


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the source package."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (package,) = folder.iterdir()
    assert package.name == f"flashgc-{flashgc.version()}.tar.gz"
    assert package.stat().st_size < 5_000_000
    with tarfile.open(package) as archive:
        return {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}


def test_the_source_package_has_what_building_takes(names: set[str]) -> None:
    assert {
        "CHANGELOG.md",
        "CITATION.cff",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
    } == {name for name in names if "/" not in name}
    package = ROOT / "python" / "flashgc"
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert ours == {name for name in names if name.startswith("python/")}
    sources = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("crates/*/src/**/*.rs")}
    assert sources <= names


def test_the_source_package_has_nothing_else(names: set[str]) -> None:
    for name in names:
        parts = Path(name).parts
        assert not name.endswith((".so", ".pyc", ".zst", ".gz")), name
        if parts[0] == "crates":
            assert parts[2] in CRATE, name
        else:
            assert len(parts) == 1 or parts[:2] == ("python", "flashgc"), name


def test_actions_are_pinned_and_may_only_read() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        text = path.read_text(encoding="utf-8")
        used = re.findall(r"uses: (\S+)(.*)", text)
        assert used
        for action, comment in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_the_package_of_the_papers_has_all_its_files_and_the_licences(tmp_path: Path) -> None:
    build = "import sys; from flit_core.buildapi import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=PAPERS, check=True)
    (package,) = tmp_path.iterdir()
    assert package.name == f"flashgc_papers-{flashgc.version()}-py3-none-any.whl"
    ours = {
        path.relative_to(PAPERS).as_posix()
        for path in (PAPERS / "flashgc_papers").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    about = f"flashgc_papers-{flashgc.version()}.dist-info"
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
            text = archive.read(f"{about}/licenses/{licence}")
            assert text == (ROOT / licence).read_bytes()
    assert {name for name in names if not name.startswith(about)} == ours
