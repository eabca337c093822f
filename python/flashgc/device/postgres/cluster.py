"""A temporary PostgreSQL cluster in a scratch folder: made, started, killed, recovered.

Its server accepts no connections from the network. PostgreSQL does not run as root: if this process
is root, its programs run as the user ``postgres``, otherwise as the current user. If this process
is killed, the next command removes a cluster in a folder of :func:`flashgc.device.scratch.scratch`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from flashgc.device import programs as system
from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import CLIENTS, QUOTED, Database, execute
from flashgc.device.postgres.clients import programs as folder_of
from flashgc.device.processes import end, family
from flashgc.device.scratch import note

#: The superuser of a cluster, and the system user that runs it if this process is root.
USER = "postgres"

#: Programs that make and run a cluster.
PROGRAMS = (*CLIENTS, "initdb", "pg_ctl")

#: The port, which is only part of the socket's name.
PORT = 5432

#: The most seconds in which a server must recover or stop.
PATIENCE = 300


def programs(*more: str) -> Path:
    """The folder of a PostgreSQL that can run here and has the programs ``more``.

    Raises :class:`PostgresError`, which says what is missing.
    """
    folder = folder_of((*PROGRAMS, *more))
    if os.geteuid() == 0:
        if system.find("runuser") is None:
            raise PostgresError("runuser is not installed; hint: apt-get install util-linux")
        import pwd

        try:
            pwd.getpwnam(USER)
        except KeyError:
            raise PostgresError(
                f"there is no user {USER}, and PostgreSQL does not run as root; "
                f"hint: useradd --system {USER}"
            ) from None
    return folder


class Cluster:
    """A temporary cluster; the server is ended at once at the end of the ``with``."""

    def __init__(
        self, folder: Path, data: Path | None = None, options: Mapping[str, object] | None = None
    ) -> None:
        """Make the cluster in ``data``, or use the one that is there; the server is not started.

        ``folder`` is a scratch folder for the socket and the log. If ``data`` is ``None``, the data
        are in it too. ``options`` are those of ``postgresql.conf``; a change of the attribute takes
        effect at the next start.
        """
        self.folder, self._bin = folder, programs()
        self.data = folder / "data" if data is None else data
        self.options = dict(options or {})
        self._socket = folder / "socket"
        self._log = self._socket / "log"
        is_made = self.data.exists()
        for path in (self._socket,) if is_made else (self._socket, self.data):
            path.mkdir()
            path.chmod(0o700)
            if os.geteuid() == 0:
                shutil.chown(path, USER, USER)
        if not is_made:
            flags = ["--auth=trust", "--data-checksums", "--no-locale", "--encoding=UTF8"]
            if self.options.get("fsync") == "off":
                flags.append("--no-sync")
            self.run("initdb", "-D", self.data, "-U", USER, *flags)
        self.database = Database(f"host='{self._socket}' port={PORT} user={USER} dbname={USER}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def address(self) -> tuple[str, ...]:
        """The options with which PostgreSQL's programs connect to the server."""
        return ("-h", str(self._socket), "-p", str(PORT), "-U", USER)

    def command(self, program: str, *arguments: object) -> list[str]:
        """The words of a PostgreSQL program, run as the user who owns the cluster."""
        words = [str(self._bin / program), *map(str, arguments)]
        return system.words(("runuser", "-u", USER, "--", *words)) if os.geteuid() == 0 else words

    def run(self, program: str, *arguments: object) -> str:
        """Run a program to its end; on failure :class:`PostgresError` has its message."""
        return execute(self.command(program, *arguments), cwd=self.folder)

    def ask(self, text: str, **variables: object) -> str:
        """The result of SQL statements, as of :meth:`Database.ask`."""
        return self.database.ask(text, **variables)

    def start(self) -> None:
        """Starts the server, and waits until it has recovered."""
        options = [f"-k {shlex.quote(str(self._socket))} -p {PORT} -h ''"]
        options += [f"-c {shlex.quote(f'{name}={value}')}" for name, value in self.options.items()]
        begin = ("-D", self.data, "-w", "-t", PATIENCE, "-s", "-l", self._log)
        # The server, which pg_ctl leaves running, must not hold our pipes.
        done = subprocess.run(
            self.command("pg_ctl", *begin, "-o", " ".join(options), "start"),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            text = ""
            with contextlib.suppress(OSError):
                text = " ".join(self._log.read_text(errors="replace").split())
            raise PostgresError(f"PostgreSQL does not start: {text[-QUOTED:]}")
        note(self.folder, self._master())

    def stop(self) -> None:
        """Stop the server: it disconnects its clients and writes a checkpoint."""
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE, "-m", "fast", "stop")

    def kill(self) -> None:
        """Kill the server and its children at once; it recovers at its next start."""
        # A stopped server starts no new child, which would survive unseen.
        os.kill(self._master(), signal.SIGSTOP)
        self._end(self.processes(), signal.SIGKILL)

    def end(self) -> None:
        """End the server at once if it runs, without a checkpoint, since nobody needs the data."""
        with contextlib.suppress(OSError, ValueError):
            master = self._master()
            # The file with the server's process number survives a killed server, and another
            # process may have the number by now.
            if os.readlink(f"/proc/{master}/cwd") == str(self.data.resolve()):
                self._end([master], signal.SIGQUIT)

    def processes(self) -> list[int]:
        """The server and its children."""
        return family(self._master())

    def _master(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    @staticmethod
    def _end(pids: list[int], which: signal.Signals) -> None:
        try:
            end(pids, which)
        except TimeoutError as error:
            raise PostgresError(str(error)) from None
