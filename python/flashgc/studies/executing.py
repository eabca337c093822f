"""Runs cells on an executor, a limited number at a time; each is stored once it is complete."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core, _files
from flashgc._core import ConfigError, Control, version
from flashgc.store import Contents, Kept
from flashgc.studies.cell import simulate_cell

#: The maximum number of bytes of a trace that is sent to a worker.
LARGEST = 1 << 30


@dataclass(frozen=True)
class Lacking:
    """The answer of a worker that does not have the trace with this digest."""

    digest: str


def simulate_there(
    config: dict[str, Any], digest: str | None, sent: bytes | None, version: str
) -> Kept | Lacking | None:
    """Run :func:`simulate_cell` on a worker, with the trace that has this ``digest``.

    The worker looks for the trace under the name in the configuration, then in its folder of
    traces. ``sent`` has the contents of the trace, and the worker stores them in that folder;
    ``None`` if the trace was not sent along. ``digest`` is ``None`` if the workload is no trace. A
    worker with another ``version`` of flashgc returns an error, because its results could differ.
    """
    if version != _core.version():
        reason = f"its worker has flashgc {_core.version()}, expected {version}; hint: install that"
        return Kept("failed", config, None, reason)
    name = config["workload"]
    if digest is None or _contents().digest(name) == digest:
        return simulate_cell(config)
    place = folder() / digest / Path(name).name
    if sent is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.write(str(place), sent)
    if _contents().digest(str(place)) != digest:
        return Lacking(digest)
    return simulate_cell(config, instead=(place, False))


def folder() -> Path:
    """The folder of traces that were sent to a worker: ``flashgc/traces`` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "flashgc" / "traces"


def digest_of(config: dict[str, Any], contents: Contents) -> str | None:
    """The digest of a configuration's trace; ``None`` if the workload is no trace."""
    name = str(config["workload"])
    return contents.digest(name) if _core.is_trace(name) else None


def content_of(config: dict[str, Any]) -> bytes:
    """The contents of a configuration's trace, to be sent; raises :class:`OSError`."""
    path = Path(config["workload"])
    size = path.stat().st_size
    if size > LARGEST:
        raise OSError(
            f"{path}: the worker does not have this trace, and {size} bytes are too many to send; "
            "hint: copy it there, under the same name"
        )
    return path.read_bytes()


@functools.cache
def _contents() -> Contents:
    """The digests of files that this process has computed."""
    return Contents()


#: A function that does the work on a cell; it returns ``None`` if it was stopped.
Work = Callable[[dict[str, Any], Control | None], Kept | None]

#: Seconds between two checks whether somebody wants the study to end.
_LOOK = 0.05
#: The maximum number of cells that an executor other than threads has at a time; it may have many
#: workers.
_AHEAD = 512
#: Seconds to wait for the scheduler of a cluster.
_CONNECT = 10
#: The number of workers that a cell is given to before it counts as failed.
_TRIES = 3


def cores(jobs: int) -> int:
    """Return the number of cores for ``jobs``; 0 means all that this process may use."""
    if jobs:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor(on: str | None, jobs: int) -> Iterator[Executor]:
    """Open an executor: threads here, or the workers of the Dask scheduler ``dask://HOST:PORT``.

    Raises :class:`flashgc.ConfigError` if the scheduler cannot be reached.
    """
    if on is None:
        with Threads(jobs) as threads:
            yield threads
        return
    kind, separator, address = on.partition("://")
    if kind != "dask" or not separator or not address:
        raise ConfigError(f"--on: found '{on}', expected a scheduler; hint: write dask://HOST:8786")
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        hint = "hint: pip install distributed"
        raise ConfigError(f"--on: {on} needs the package distributed; {hint}") from None
    try:
        client = distributed.Client(f"tcp://{address}", timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no answer"
        hint = "hint: dask scheduler starts one"
        raise ConfigError(f"--on: {on}: {reason}; {hint}") from None
    with client:
        yield client.get_executor(pure=False)


class Threads(ThreadPoolExecutor):
    """Threads of this process. The engine works without Python's global lock.

    If an exception ends the ``with``, it does not wait for running cells, since the exception may
    be a second Ctrl-C.
    """

    def __exit__(self, kind: object, *_: object) -> None:
        self.shutdown(wait=kind is None, cancel_futures=True)

    def __init__(self, jobs: int) -> None:
        self.jobs = cores(jobs)
        super().__init__(self.jobs, thread_name_prefix="flashgc-sweep")


#: The outcome of a cell; ``None`` if it was stopped.
Came = Kept | Lacking | None


@dataclass(frozen=True)
class Task:
    """A cell that is to run on a worker."""

    index: int
    #: The number of times that it was given to a worker, including this time.
    tries: int = 1
    #: The digest of its trace, if the trace is sent along.
    sends: str | None = None


class Execution:
    """The execution of cells on an executor."""

    def __init__(
        self,
        executor: Executor,
        control: Control,
        work: Work = simulate_cell,
        contents: Contents | None = None,
    ) -> None:
        """Threads of this process call ``work`` for a cell; other executors simulate the cell.

        ``contents`` has digests of traces, by which other machines find the traces.
        """
        self._executor, self._control, self._work = executor, control, work
        self._contents = contents or Contents()
        #: Controls of the cells that run in threads of this process, by their futures.
        self._own: dict[Future[Came], Control] = {}
        #: Cells that wait for a trace that is being sent to a worker, by the trace's digest.
        self._held: dict[str, list[Task]] = {}

    def run(
        self,
        count: int,
        config: Callable[[int], dict[str, Any]],
        done: Callable[[int, Kept], None],
        look: Callable[[float], None],
        refused: Callable[[int], Kept | None] = lambda _: None,
    ) -> bool:
        """Run ``count`` cells; call ``done`` with the index of each. Returns true if all were run.

        ``config`` makes the configuration of a cell when it is needed. ``look`` is called about 20
        times a second with the work done on the running cells, in units of one cell.
        """
        waiting = (Task(index) for index in range(count))
        again: list[Task] = []
        running: dict[Future[Came], Task] = {}
        ahead = 2 * self._executor.jobs if isinstance(self._executor, Threads) else _AHEAD
        try:
            while True:
                while not self._control.cancelled and len(running) < ahead:
                    task = again.pop() if again else next(waiting, None)
                    if task is None:
                        break
                    kept = refused(task.index)
                    if kept is not None:
                        done(task.index, kept)
                    else:
                        running[self._submit(config(task.index), task)] = task
                if not running:
                    return not self._control.cancelled
                complete, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in complete:
                    task = running.pop(future)
                    came = self._what_came(future, config(task.index), task)
                    if task.sends is not None:
                        again += self._held.pop(task.sends)
                    if isinstance(came, Kept):
                        done(task.index, came)
                    elif isinstance(came, Lacking) and task.sends is not None:
                        reason = "its trace changed while it was sent to a worker"
                        done(task.index, Kept("failed", config(task.index), None, reason))
                    elif isinstance(came, Lacking):
                        again += self._sending(came.digest, task)
                    elif not self._control.cancelled:
                        again.append(Task(task.index, task.tries + 1))
                look(
                    sum(
                        _share(control, config(running[future].index))
                        for future, control in self._own.items()
                    )
                )
                if self._control.cancelled:
                    self._stop(running)
        finally:
            self._stop(running)

    def _sending(self, digest: str, task: Task) -> list[Task]:
        """Return the task with the trace to send; empty while another task sends this trace."""
        if digest in self._held:
            self._held[digest].append(task)
            return []
        self._held[digest] = []
        return [Task(task.index, task.tries, sends=digest)]

    def _submit(self, config: dict[str, Any], task: Task) -> Future[Came]:
        if not isinstance(self._executor, Threads):
            digest = digest_of(config, self._contents)
            try:
                sent = None if task.sends is None else content_of(config)
            except OSError as error:
                failed: Future[Came] = Future()
                failed.set_result(Kept("failed", config, None, str(error)))
                return failed
            return self._executor.submit(simulate_there, config, digest, sent, version())
        control = Control()
        future: Future[Came] = self._executor.submit(self._work, config, control)
        self._own[future] = control
        return future

    def _what_came(self, future: Future[Came], config: dict[str, Any], task: Task) -> Came:
        """Return the result of a cell; ``None`` if it must run again, or was stopped."""
        self._own.pop(future, None)
        try:
            return future.result()
        except CancelledError:
            lost = "its worker was lost"
        except Exception as error:  # A worker that died, or a result that could not be sent.
            lost = f"its worker was lost: {type(error).__name__}: {error}"
        return Kept("failed", config, None, lost) if task.tries >= _TRIES else None

    def _stop(self, running: dict[Future[Came], Task]) -> None:
        for control in self._own.values():
            control.cancel()
        for future in running:
            future.cancel()


def _share(control: Control, config: dict[str, Any]) -> float:
    """The share of a cell that is done."""
    return min(control.done / max(int(config.get("runs") or 1), 1), 1.0)
