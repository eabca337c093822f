"""The initiator of Linux, in a virtual machine, reads what it wrote on a drive of NVMe/TCP.

The test downloads nothing: run ``python experiments/nvme/guest.py --smoke`` once before.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

SCRIPTS = ROOT / "experiments" / "nvme"


def module(name: str) -> Any:
    """Return a module of the guest's scripts."""
    spec = importlib.util.spec_from_file_location(f"nvme_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


packages = module("packages")
CACHE = packages.default_cache()
ROOT_OF_GUEST = packages.there(CACHE)
MISSING = (
    f"no packages of the guest in {CACHE}: python experiments/nvme/guest.py --smoke"
    if ROOT_OF_GUEST is None
    else f"no {packages.QEMU} in {ROOT_OF_GUEST}"
    if not (ROOT_OF_GUEST / packages.QEMU).exists()
    else f"no kernel in {ROOT_OF_GUEST}/boot"
    if not any((ROOT_OF_GUEST / "boot").glob("vmlinuz-*"))
    else None
)


@pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
@pytest.mark.xdist_group("nvme_guest")
def test_linux_reads_what_it_wrote_through_nvme_tcp(tmp_path: Path) -> None:
    words = [sys.executable, str(SCRIPTS / "guest.py"), "--smoke", "--timeout", "200"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line for line in done.stdout.splitlines() if line.startswith("# ")]
    assert steps[-1] == "# nvme disconnect -n $NQN"
    assert "/mnt/two: OK" in done.stdout


def test_a_folder_without_packages_is_not_taken(tmp_path: Path) -> None:
    assert packages.there(tmp_path) is None


def test_the_folder_of_the_packages_follows_from_their_list(tmp_path: Path) -> None:
    folder = packages.place(tmp_path)
    (folder / "root").mkdir(parents=True)
    assert packages.there(tmp_path) is None, "a download that was cut short"
    (folder / "done").touch()
    assert packages.there(tmp_path) == folder / "root"
    packages.PACKAGES += ("another",)
    try:
        assert packages.there(tmp_path) is None
    finally:
        packages.PACKAGES = packages.PACKAGES[:-1]
