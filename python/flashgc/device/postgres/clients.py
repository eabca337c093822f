"""PostgreSQL's programs, and a database that they connect to."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flashgc.device import programs as system
from flashgc.device.postgres import PostgresError

#: The folder of the programs on Debian and related systems, with one folder per version.
VERSIONS = Path("/usr/lib/postgresql")

#: Client programs.
CLIENTS = ("psql", "pgbench")

#: The exit code of psql if it cannot reach the server.
UNREACHABLE = 2

#: The most characters of a program's output that a message quotes; they are the last ones.
QUOTED = 400


def programs(names: Iterable[str] = CLIENTS) -> Path:
    """The folder of the newest PostgreSQL that has the programs.

    Raises :class:`PostgresError`, which says what is missing.
    """
    wanted = tuple(names)
    folders = sorted(VERSIONS.glob("*/bin"), key=lambda path: _number(path.parent.name))
    first = system.find(wanted[0])
    if first is not None:
        folders.insert(0, Path(first).resolve().parent)
    for folder in reversed(folders):
        if all((folder / name).exists() for name in wanted):
            return folder
    raise PostgresError(
        f"PostgreSQL is not installed: found no {', '.join(wanted)}; "
        "hint: apt-get install postgresql"
    )


def _number(version: str) -> float:
    try:
        return float(version)
    except ValueError:
        return 0.0


def execute(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    text: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return the output of a program for the input ``text``; :class:`PostgresError` if it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise failed(command, done.returncode, done.stdout + done.stderr)
    return done.stdout.strip()


def failed(command: Sequence[str], code: int, words: str) -> PostgresError:
    """Return the error of a program that has failed, with the end of its output in one line."""
    program = Path(next(word for word in command if word.startswith("/"))).name
    hint = ""
    if (program, code) == ("psql", UNREACHABLE):
        hint = "; hint: start the server, or correct the name of the database"
    text = " ".join(words.split())[-QUOTED:]
    return PostgresError(f"{program} ended with code {code}: {text}{hint}")


class Database:
    """A database on a server, either one of :class:`Cluster` or of somebody else."""

    def __init__(self, dsn: str) -> None:
        """``dsn`` is libpq's connection string or URI of the database."""
        self.dsn = dsn
        self._bin = programs()

    def command(self, program: str, *arguments: object) -> list[str]:
        """The words of a client program (psql or pgbench), the last of which is the database."""
        return [str(self._bin / program), *map(str, arguments), self.dsn]

    def ask(self, text: str, **variables: object) -> str:
        """The result of SQL statements: one line per row, with ``|`` between columns.

        As in psql, ``:name`` in a statement stands for a variable.
        """
        words = [word for pair in variables.items() for word in ("-v", "{}={}".format(*pair))]
        quiet = ("-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1")
        return execute(self.command("psql", *quiet, *words, "-d"), text=text)
