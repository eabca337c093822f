"""File systems on drives: loop devices, mkfs, mount, and their removal, also after a crash."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from flashgc._core import ConfigError, DriveError
from flashgc.device import failures, programs
from flashgc.device.initiator import FABRICS
from flashgc.device.writers import OWN, MountOptions

#: The file systems that can be made, each with its mkfs command. All use pages of 4 KiB. ext4
#: writes its tables at once; if it wrote them later, they would be counted for a command.
MAKERS: dict[str, tuple[str, ...]] = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
    "f2fs": ("mkfs.f2fs", "-q", "-f"),
}

#: The ways from a drive to a block device. For each, the kernel's files that it needs, with a name
#: for people and the module.
NEEDS = {
    "fuse": (("/dev/fuse", "FUSE", "fuse"), ("/dev/loop-control", "loop devices", "loop")),
    "nvme-tcp": ((FABRICS, "the initiator of Linux (5.7 or later)", "nvme-tcp"),),
}

#: The smallest capacity of a drive for each file system, in bytes.
LEAST = {"xfs": 300 << 20, "btrfs": 114 << 20, "f2fs": 39 << 20}

#: Options of each mkfs to discard nothing, so that the drive keeps its data, like a used drive.
KEEPING: dict[str, tuple[str, ...]] = {
    "ext4": ("-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("-K",),
    "btrfs": ("-K",),
    "f2fs": ("-t", "0"),
}

#: Flags of umount2(2): abort requests at once; unmount once nobody uses it; do not follow a link.
_FORCE, _DETACH, _NOFOLLOW = 1, 2, 8

#: The number of the capability to mount.
_SYS_ADMIN = 21

#: For a device whose server has little memory: the most requests in progress, and the most KiB of a
#: request.
NARROW = {"nr_requests": 32, "max_sectors_kb": 128}

#: Seconds between two attempts to unmount a busy mount, and the most seconds that they go on.
PAUSE, PATIENCE = 0.1, 10.0


def check(what: str, filesystem: str | None = None, host: str = "fuse") -> None:
    """Check that this machine can mount a drive; ``what`` is the command for messages.

    Raises :class:`flashgc.DriveError`, which says in one line what is missing.
    """
    for option, word, words in (("--fs", filesystem, [*MAKERS]), ("--host", host, [*NEEDS])):
        if word is not None and word not in words:
            from flashgc._core import suggest

            raise ConfigError(
                f"{option}: found '{word}', expected {', '.join(words)}; "
                f"hint: {suggest(word, words)}"
            )
    if os.geteuid() != 0:
        raise failures.CAUSES["no-root"].error(what=what)
    if not _may_mount():
        raise failures.CAUSES["no-right"].error(what=what)
    for device, need, module in NEEDS[host]:
        if not _is_there(module, partial(os.path.exists, device)):
            others = "" if host == "fuse" else ", or --host fuse"
            raise failures.CAUSES["no-kernel-part"].error(
                what=what, need=need, device=device, module=module, others=others
            )
    if filesystem is not None and not _is_there(filesystem, lambda: _is_listed(filesystem)):
        raise DriveError(f"{what}: this kernel has no {filesystem}; hint: --fs ext4")
    needed = ["losetup", "mount"] if host == "fuse" else ["mount"]
    if filesystem is not None:
        needed.append(MAKERS[filesystem][0])
    for program in needed:
        if programs.find(program) is None:
            raise DriveError(
                f"{what} needs {program}, which is not installed; "
                f"hint: apt-get install {programs.PACKAGES.get(program, program)}"
            )


def _may_mount() -> bool:
    """True if this process has the capability ``CAP_SYS_ADMIN``."""
    with open("/proc/self/status", encoding="utf-8") as lines:
        rights = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(rights, 16) >> _SYS_ADMIN & 1)


def _is_there(module: str, seen: Callable[[], bool]) -> bool:
    """True if ``seen()`` is true, or becomes true once ``module`` is loaded."""
    if not seen():
        with contextlib.suppress(DriveError, OSError):
            run("modprobe", module)
    return seen()


def _is_listed(filesystem: str) -> bool:
    with open("/proc/filesystems", encoding="utf-8") as lines:
        return any(line.split()[-1:] == [filesystem] for line in lines)


def run(*arguments: str) -> str:
    """Run a program and return its output; on failure raise :class:`flashgc.DriveError`."""
    done = _ended(arguments)
    if done.returncode:
        text = " ".join((done.stderr or done.stdout).split())
        raise DriveError(f"{' '.join(arguments)} failed: {text or f'code {done.returncode}'}")
    return done.stdout.strip()


def _ended(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of the system to its end; return the result."""
    return subprocess.run(
        programs.words(arguments),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=programs.environment(),
        cwd="/",
    )


def attach(disk: Path, *, is_narrow: bool = False) -> str:
    """A loop device over ``disk``, with sectors of 4096 bytes and without its own cache.

    ``is_narrow`` limits the requests in progress to :data:`NARROW`, because the server of ``disk``
    must hold them in memory.
    """
    shown = ("--find", "--show", "--direct-io=on", "--sector-size", "4096")
    device = run("losetup", *shown, str(disk))
    for name, value in NARROW.items() if is_narrow else ():
        with contextlib.suppress(OSError):  # A container may have no access to /sys.
            (Path("/sys/block") / Path(device).name / "queue" / name).write_text(str(value))
    return device


def format_and_mount(
    device: str,
    folder: Path,
    filesystem: str,
    *,
    fresh: bool,
    options: MountOptions,
    keeps: bool = False,
) -> None:
    """Mount ``device`` in ``folder``; with ``fresh``, make a file system first.

    With ``keeps``, mkfs discards nothing.
    """
    if fresh:
        _make(filesystem, device, keeps=keeps)
    run("mount", "-t", filesystem, "-o", ",".join(options), device, str(folder))


@contextlib.contextmanager
def mounted_on(
    disk: Path, folder: Path, filesystem: str, *, fresh: bool, is_narrow: bool = False
) -> Iterator[None]:
    """The file system on ``disk``, mounted in ``folder``; with ``fresh``, it is made first.

    The drive must be one that flashgc made for itself.
    """
    options = OWN.mount_options(("discard",))
    device = attach(disk, is_narrow=is_narrow)
    try:
        format_and_mount(device, folder, filesystem, fresh=fresh, options=options)
        try:
            yield
        finally:
            unmount(folder)
    finally:
        detach(device, disk)


def _make(filesystem: str, device: str, *, keeps: bool) -> None:
    """Makes a file system on ``device``.

    mkfs.btrfs looks at the file behind every mounted loop device, and fails at a file whose server
    was killed. So mkfs runs in its own mount namespace, in which such mounts are not visible.
    """
    least = LEAST.get(filesystem, 0)
    if (size := _size(device)) < least:
        raise DriveError(
            f"{filesystem} needs a drive of at least {least >> 20} MiB, and this one has "
            f"{size >> 20}; hint: --capacity {(least >> 20) * 4 // 3}MiB"
        )
    keeping = KEEPING[filesystem] if keeps else ()
    maker = (*programs.words(MAKERS[filesystem]), *keeping, device)
    dead = [folder for source, folder in mounted() if _is_dead(source)]
    if not dead:
        run(*maker)
        return
    script = f'umount --lazy "$@" && exec {shlex.join(maker)}'
    run("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *dead)


def _size(device: str) -> int:
    """The capacity of a block device in bytes."""
    return int((Path("/sys/class/block") / Path(device).name / "size").read_text()) * 512


def _is_dead(source: str) -> bool:
    """True for a loop device over a file whose server has ended."""
    file = backing(source)
    if file is None:
        return False
    try:
        os.stat(file)
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def is_dead(disk: Path) -> bool:
    """True if the server of a FUSE mount has ended. A running server gets a request."""
    try:
        os.statvfs(disk)
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def file_system_on(device: str) -> str | None:
    """The name of the file system on ``device``; ``None`` without one."""
    return _ended(("blkid", "-p", "-o", "value", "-s", "TYPE", device)).stdout.strip() or None


def unmount(folder: Path, *, force: bool = False) -> None:
    """Unmount ``folder`` if something is mounted there; with ``force`` even while it is in use."""
    until = time.monotonic() + (0 if force else PATIENCE)
    while is_mounted(folder):
        error = _unmount(folder, _DETACH if force else 0)
        if error and time.monotonic() > until:
            raise DriveError(
                f"{folder} is in use: {os.strerror(error)}; "
                f"hint: end what runs there (fuser -vm {folder} lists it), then again"
            )
        if error:
            time.sleep(PAUSE)


def unmount_lazily(folder: Path, *, force: bool = False) -> None:
    """Unmount ``folder`` once nobody uses it; ``force`` aborts requests to its server."""
    if force:
        _unmount(folder, _FORCE)
    _unmount(folder, _DETACH)


def try_unmount(folder: Path) -> int:
    """Unmount ``folder`` unless it is in use; return the error number, or 0."""
    return _unmount(folder, 0)


def _unmount(folder: Path, flags: int) -> int:
    """Unmount ``folder``, which must be no link; return the error number, or 0."""
    system = ctypes.CDLL(None, use_errno=True)
    done = system.umount2(os.fsencode(os.path.abspath(folder)), flags | _NOFOLLOW)
    return ctypes.get_errno() if done else 0


def is_mounted(folder: Path) -> bool:
    """True if something is mounted in ``folder``, even if its server has ended."""
    wanted = os.path.abspath(folder)
    return any(place == wanted for _, place in mounted())


def mounted(kind: str | None = None) -> list[tuple[str, str]]:
    """Return all mounts, or those of one kind of file system: the source and the folder of each."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as lines:
        fields = [line.split() for line in lines]
    rows = [field for field in fields if kind in (None, field[2])]
    return [(_unescaped(field[0]), _unescaped(field[1])) for field in rows]


def _unescaped(path: str) -> str:
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        path = path.replace(code, character)
    return path


def detach(device: str, disk: Path, *, force: bool = False) -> None:
    """Detach the loop device ``device`` if it is still over ``disk``.

    While another process has the device open, the kernel keeps the device, and writes its dirty
    data when that process closes it. With ``force``, nobody needs these data, and the call does not
    wait.

    Raises:
        DriveError: Another process still has the device open.

    """
    # A file whose mount is gone has lost its folder's path.
    names = (str(disk), f"/{disk.name}")
    if backing(device) in names:
        run("losetup", "--detach", device)
        until = time.monotonic() + PATIENCE
        while backing(device) in names and not force:
            if time.monotonic() > until:
                raise DriveError(
                    f"{device} is open in another process, and is written when that ends; "
                    f"hint: fuser {device} names the process"
                )
            time.sleep(0.01)


def backing(device: str) -> str | None:
    """The file behind a loop device; ``None`` if ``device`` is no loop device, or has no file."""
    try:
        text = (Path("/sys/block") / Path(device).name / "loop/backing_file").read_text()
    except OSError:
        return None
    return text.strip().removesuffix(" (deleted)")
