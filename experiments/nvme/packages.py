"""Debian packages of the guest and of its machine: downloaded, unpacked, never installed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

#: The packages of the guest and of its machine. Their dependencies are added.
PACKAGES = (
    "linux-image-amd64", "busybox-static", "nvme-cli", "e2fsprogs", "xfsprogs", "btrfs-progs",
    "f2fs-tools", "fio", "qemu-system-x86",
)  # fmt: skip

#: Dependencies that the guest does not need.
LEFT_OUT = {
    "adduser", "dmsetup", "init-system-helpers", "iso-codes", "linux-base", "mailcap", "passwd",
    "perl", "python3", "uuid-runtime",
}  # fmt: skip

QEMU = "usr/bin/qemu-system-x86_64"
LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


def default_cache() -> Path:
    """Return the folder of the packages, unless the command names another one."""
    if folder := os.environ.get("FLASHGC_NVME_GUEST"):
        return Path(folder)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "flashgc-nvme-guest"


def place(cache: Path) -> Path:
    """Return the folder of these packages. Every list of packages has its own folder."""
    lists = repr((PACKAGES, sorted(LEFT_OUT)))
    return cache / hashlib.sha256(lists.encode()).hexdigest()[:8]


def there(cache: Path) -> Path | None:
    """Return the folder of the unpacked packages, or ``None``. Nothing is downloaded."""
    root = place(cache) / "root"
    return root if (place(cache) / "done").exists() else None


def unpacked(cache: Path) -> Path:
    """Download and unpack the packages, unless that was done. Return the folder."""
    if (root := there(cache)) is not None:
        return root
    folder = place(cache)
    debs, root = folder / "debs", folder / "root"
    debs.mkdir(parents=True, exist_ok=True)
    wanted = ("apt-get", "-q", "download", *closure(PACKAGES))
    subprocess.run(wanted, check=True, cwd=debs, stdout=subprocess.DEVNULL)
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(("dpkg", "-x", deb, root), check=True)
        deb.unlink()
    (folder / "done").touch()
    return root


def closure(names: tuple[str, ...]) -> list[str]:
    """Return the packages with all their dependencies."""
    whole: set[str] = set()
    ahead = set(names)
    while ahead:
        whole |= ahead
        words = ("apt-cache", "depends", "--important", *sorted(ahead))
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        needed = re.findall(r"^ +(?:Pre)?Depends: ([a-z0-9.+-]+)$", shown, re.MULTILINE)
        ahead = set(needed) - whole - LEFT_OUT
    return sorted(whole)


def library_path(root: Path) -> str:
    """Return the folders of libraries below ``root``."""
    folders = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
    inner = ("usr/lib/x86_64-linux-gnu/ceph",)
    return ":".join(str(root / folder) for folder in (*folders, *inner))


def program(root: Path, name: str) -> list[str]:
    """Return the words that run a program of the packages with their libraries."""
    return [str(root / LOADER), "--library-path", library_path(root), str(root / name)]


def libraries(root: Path, path: Path) -> list[tuple[Path, str]]:
    """Return the libraries of a program: each path here, and its path in the guest."""
    words = (root / LOADER, "--library-path", library_path(root), "--list", path)
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    paths = re.findall(r"(\S+) => (/\S+) \(", listed)
    pairs = [(Path(path), f"lib/{Path(name).name}") for name, path in paths if "/" not in name]
    return [*pairs, (root / LOADER, "lib64/ld-linux-x86-64.so.2")]
