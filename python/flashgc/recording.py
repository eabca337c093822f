"""Recording of a program's memory references, with Valgrind's lackey."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from flashgc import _core
from flashgc._core import ConfigError, Control, TraceError
from flashgc._documents import Document
from flashgc._engine import Progress, interruptible
from flashgc._interruptions import interrupts_program
from flashgc.traces import Path
from flashgc.units import parse_page_size

#: Seconds after which a program that does not end is killed.
PATIENCE = 5.0


@dataclass(frozen=True, repr=False)
class Recording(Document):
    """The counts of a file that :func:`trace_record` wrote."""

    #: Memory accesses of the program: instruction fetches, loads, stores and modifications.
    accesses: int
    #: References to pages in the file, after the filter.
    references: int
    #: Lines of Valgrind's output that were not accesses. If the program is killed, a line that was
    #: cut off may be among them.
    skipped: int
    #: The program's exit code, or minus the number of the signal that ended it. ``None`` if the
    #: recording was stopped before the program ended.
    exit_code: int | None


@interrupts_program
def trace_record(
    program: Sequence[str],
    target: Path,
    *,
    page_size: int | str | None = None,
    filter: int | None = None,  # noqa: A002 - the option's name
    accesses: int | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Recording:
    """Run ``program`` (its name or path, then its arguments) and write its references to pages.

    ``target`` is in the format ``pages``, compressed if its name ends in ``.zst`` or ``.gz``.
    ``page_size`` is in bytes, or a text with a unit; 2 KiB by default. With ``filter`` = n (64 by
    default), references that make no difference to an LRU memory of n pages or more are omitted; 0
    omits only repeated references in a row to one page. After ``accesses`` accesses, or when
    stopped by Ctrl-C or ``control``, the program is ended and the file holds the references so far;
    Ctrl-C then raises :class:`flashgc.Interruption`.

    Only the program itself is recorded, not the programs that it starts. Its standard input and
    output are those of this process. The program runs some hundred times slower. Raises
    :class:`flashgc.ConfigError` if Valgrind or the program is not installed.
    """
    if not program:
        raise ConfigError("program: found nothing, expected the name of a program to record")
    if filter is not None and not 0 <= filter < 2**31:
        raise ConfigError(f"filter: found {filter}, expected 0 to {2**31 - 1} pages")
    if accesses is not None and accesses < 1:
        raise ConfigError(f"accesses: found {accesses}, expected at least 1")
    size = None if page_size is None else parse_page_size(page_size, "page_size")
    if os.name != "posix":
        raise ConfigError("this system has no Valgrind; hint: record the program on Linux")
    valgrind = _program("valgrind", "apt-get install valgrind")
    _program(program[0], "check its name and PATH")
    control = control or Control()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [
                *(valgrind, "--tool=lackey", "--trace-mem=yes", "--basic-counts=no", "--quiet"),
                *(f"--log-fd={writing}", "--", *program),
            ],
            pass_fds=(writing,),
        )
    except OSError as error:
        os.close(reading)
        raise ConfigError(f"valgrind: {error.strerror}") from None
    finally:
        os.close(writing)
    stopped = False
    try:
        with interruptible(control):
            text = _core.trace_record(
                reading,
                os.fspath(target),
                control,
                page_size=size,
                filter=filter,
                poll=None if progress is None else (lambda: progress(control)),
                **({} if accesses is None else {"accesses": accesses}),
            )
        recorded = json.loads(text)
        stopped = control.cancelled or recorded["accesses"] == accesses
    except TraceError:
        code = _exit_code(process, wait=True)
        # If the output cannot be written, the pipe closes, and Valgrind ends without an error of
        # its own.
        if code not in (0, -signal.SIGPIPE) and not os.path.exists(target):
            raise ConfigError(
                f"{program[0]}: Valgrind could not run it ({describe_exit(code)}); "
                "hint: it must be a program for this machine"
            ) from None
        raise
    finally:
        code = _exit_code(process, wait=not stopped)
    return Recording(**recorded, exit_code=None if stopped else code)


def _program(name: str, hint: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise ConfigError(f"found no program '{name}'; hint: {hint}")
    return path


def _exit_code(process: subprocess.Popen[bytes], *, wait: bool) -> int:
    """The exit code of the program; unless ``wait``, the program is ended first."""
    if not wait:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(PATIENCE)
        process.kill()
    return process.wait()


def describe_exit(code: int) -> str:
    """A description of an exit code.

    >>> describe_exit(3), describe_exit(-11)
    ('exit code 3', 'signal SIGSEGV')
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
