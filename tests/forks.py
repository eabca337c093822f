"""Runs the command in a process of its own, without the time of Python's start and imports.

A process that has imported the commands forks for each call. The child has the folder,
environment, streams, signals and exit of a fresh process. The tests of the documents, which run
every command, start fresh processes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: Forks for each message. The child leaves the loop and runs the command.
PROGRAM = """
import atexit, gc, importlib, json, os, socket, sys, threading
from flashgc.command import entrance, main
for home in {*entrance.COMMANDS.values()}:
    importlib.import_module(home.partition(":")[0])
import flashgc.simulation, flashgc.studies.sweep, flashgc.terminal.screen, matplotlib.figure
gc.freeze()
calls = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, streams, *_ = socket.recv_fds(calls, 1 << 18, 3)
    if not message:
        os._exit(0)
    child = os.fork()
    if child == 0:
        break
    for stream in streams:
        os.close(stream)
    calls.send(b"%d" % child)
    calls.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
calls.close()
asked = json.loads(message)
for place, stream in enumerate(streams):
    os.dup2(stream, place)
    os.close(stream)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
sys.argv[1:] = asked["arguments"]
try:
    main()
except SystemExit as end:
    # As Python ends, but for taking apart what was imported: that takes longer than most calls.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(end.code or 0)
"""


class Forks:
    """A process that forks for each call of the command; one call at a time."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.calls, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()

    def run(
        self, arguments: Sequence[str], folder: Path, environment: dict[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command with these arguments and returns its output and exit code."""
        asked = {"arguments": arguments, "folder": str(folder), "environment": environment}
        (out, theirs), (errors, their_errors) = os.pipe(), os.pipe()
        ends = (os.open(os.devnull, os.O_RDONLY), theirs, their_errors)
        socket.send_fds(self.calls, [json.dumps(asked).encode()], ends)
        for end in ends:
            os.close(end)
        with ThreadPoolExecutor(2) as readers:
            texts = readers.map(_text, (out, errors))
            child = int(self.calls.recv(100))
            self.calls.settimeout(seconds)
            try:
                code = int(self.calls.recv(100))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self.calls.settimeout(None)
                self.calls.recv(100)  # The next call is a new child.
                raise
            finally:
                self.calls.settimeout(None)
            return subprocess.CompletedProcess([*arguments], code, *texts)

    def close(self) -> None:
        """Ends the forking process."""
        self.calls.close()
        self.process.communicate()


def _text(end: int) -> str:
    with open(end, encoding="utf-8") as stream:
        return stream.read()
