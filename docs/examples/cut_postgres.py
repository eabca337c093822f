"""Rows in PostgreSQL, each acknowledged behind its commit. For flashgc device cut-test.

`cut_postgres.py on 200` makes a cluster with `fsync=on` and inserts 200 rows; `cut_postgres.py
check` lets the cluster recover after a cut and looks for them. Run by root, it uses the user
`postgres`, since PostgreSQL refuses to run as root.
"""

import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys

#: The programs of the newest PostgreSQL that is installed.
BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))

#: A small cluster; the check needs nothing to be durable.
SMALL = "-c shared_buffers=16MB -c max_connections=10 -c autovacuum=off"


def command(program, *words):
    """Return the words of a program of PostgreSQL, as a user that it accepts."""
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    return [*user, f"{BIN}/{program}", *words]


def run(program, *words, check=False, **options):
    """Run a program of PostgreSQL to its end."""
    return subprocess.run(command(program, *words), check=check, text=True, **options)


def work(fsync, rows):
    """Insert rows, one in a transaction."""
    here, quiet = os.getcwd(), {"check": True, "stdout": subprocess.DEVNULL}
    if os.geteuid() == 0:
        shutil.chown(here, "postgres")
    run("initdb", "-D", "data", "--auth=trust", "--wal-segsize=1", "-U", "postgres", **quiet)
    options = f"{SMALL} -c fsync={fsync} -k {here} -h ''"
    run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start", **quiet)
    client = ("psql", "-h", here, "-U", "postgres", "-XAtq")
    run(*client, "-c", "CREATE TABLE rows (n INT PRIMARY KEY, filler TEXT)", **quiet)
    insert = subprocess.Popen(
        command(*client),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with open(os.environ["FLASHGC_ACK"], "w", buffering=1) as acknowledge:
        for number in range(1, rows + 1):
            insert.stdin.write(f"INSERT INTO rows VALUES ({number}, 'x') RETURNING n;\n")
            if insert.stdout.readline() != f"{number}\n":
                sys.exit("the server does not answer")
            print("acknowledged", number, file=acknowledge)
    insert.stdin.close()
    insert.wait()
    run("pg_ctl", "-D", "data", "-w", "-m", "fast", "stop", **quiet)


def broken(code, what):
    """End with 1 where commits are lost, with 2 where the cluster is damaged."""
    print(what)
    sys.exit(code)


def check():
    """Look for the acknowledged rows in a cluster that recovers."""
    last = int((os.environ["FLASHGC_LAST"] or "acknowledged 0").split()[1])
    if not last:
        return
    # A power cut ends the server. Here its number may be taken, so that it seems to run.
    with contextlib.suppress(FileNotFoundError):
        os.unlink("data/postmaster.pid")
    alone = ("--single", "-j", "-D", "data", *SMALL.split(), "-c", "fsync=off", "postgres")
    query = "SELECT count(*), coalesce(max(n), 0) AS max FROM rows;\n\n"
    done = run("postgres", *alone, input=query, capture_output=True)
    found = dict(re.findall(r'\d+: (count|max) = "(\d+)"', done.stdout))
    if len(found) != 2:
        lines = [line for line in done.stderr.splitlines() if re.search("ERROR|FATAL|PANIC", line)]
        broken(2, "\n".join(["the cluster does not answer", *lines[:3]]))
    if found["count"] != found["max"]:
        broken(2, f"{found['count']} rows up to {found['max']}: one in the middle is gone")
    if int(found["count"]) < last:
        broken(1, f"acknowledged {last}, found {found['count']}")


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else work(sys.argv[1], int(sys.argv[2]))
