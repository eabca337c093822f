"""A server gives up root's rights before it reads data from hosts, networks and drives.

A server that root starts first opens what only root may open: the drive's file, the FUSE mount, its
sockets. Then it becomes the owner of the drive's file. If the owner is root, it becomes the user
``flashgc`` if that exists, else ``nobody``. It keeps no group and no capability, and cannot become
root again.
"""

from __future__ import annotations

import ctypes
import os
import signal
from dataclasses import dataclass

from flashgc._core import ConfigError, DriveError

#: Users for the server of a drive that root owns; the first one that exists is taken.
USERS = ("flashgc", "nobody")

#: ``PR_SET_PDEATHSIG`` and ``PR_SET_NO_NEW_PRIVS``.
_DEATH, _NO_NEW_PRIVS = 1, 38


@dataclass(frozen=True)
class Runner:
    """The user as whom a server runs."""

    user: int
    group: int

    @property
    def drops(self) -> bool:
        """True if the server gives up root's rights."""
        return os.geteuid() == 0 and self.user != 0

    @property
    def words(self) -> tuple[str, ...]:
        """The server's options for this user."""
        return ("--user", f"{self.user}:{self.group}") if self.drops else ()


def runner(owner: int, group: int, name: str | None = None) -> Runner:
    """Return the user for the server of a drive whose file belongs to ``owner``.

    ``name`` replaces the default, and must not be root. Raises :class:`flashgc.ConfigError` if
    there is no such user.
    """
    if os.geteuid() != 0:
        if name is not None:
            raise ConfigError("--user applies to root alone; hint: leave it out")
        return Runner(os.geteuid(), os.getegid())
    import pwd  # not on every system

    for wanted in USERS if name is None else (name,):
        if name is None and owner != 0:
            break
        try:
            user = pwd.getpwnam(wanted)
        except KeyError:
            continue
        if user.pw_uid == 0:
            raise ConfigError(f"--user: found {wanted}, expected another user than root")
        return Runner(user.pw_uid, user.pw_gid)
    if owner != 0 and name is None:
        return Runner(owner, group)
    wanted = name or USERS[-1]
    raise ConfigError(f"there is no user {wanted}; hint: useradd --system {USERS[0]}")


def drop(user: int, group: int) -> None:
    """Become ``user`` permanently, without other groups and without capabilities.

    Call this before any other thread begins. Raises :class:`flashgc.DriveError` if some right of
    root is left.
    """
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise DriveError(f"rights cannot be given away: {os.strerror(ctypes.get_errno())}")
    if user == 0 or os.getresuid() != (user,) * 3 or os.getresgid() != (group,) * 3:
        raise DriveError(f"the server still runs as {os.getresuid()}, expected {user}")
    if os.getgroups() not in ([], [group]):
        raise DriveError(f"the server still has the groups {os.getgroups()}, expected none")
    try:
        os.setuid(0)
    except PermissionError:
        return
    raise DriveError("the server can become root again")


def end_with_parent() -> None:
    """Let the kernel send SIGTERM to this process when its parent process ends."""
    ctypes.CDLL(None).prctl(_DEATH, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == 1:  # The parent has ended already.
        os.kill(os.getpid(), signal.SIGTERM)
