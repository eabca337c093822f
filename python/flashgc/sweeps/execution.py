"""Runs cells on an executor: a bounded number at a time, each kept as soon as it is complete."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

from flashgc._core import ConfigError, Control
from flashgc.kept import Kept
from flashgc.sweeps.work import simulate_cell

#: What is done with a cell; ``None`` where it was stopped.
Work = Callable[[dict[str, Any], Control | None], Kept | None]

#: Seconds between two looks at whether somebody wants the end.
_LOOK = 0.05
#: Cells that another executor has at a time: it may have many workers.
_AHEAD = 512
#: Seconds to wait for the scheduler of a cluster.
_CONNECT = 10
#: How often a cell is given to a worker before it has failed.
_TRIES = 3


def cores(jobs: int) -> int:
    """How many cores ``jobs`` asks for; 0 is all that this process may use."""
    if jobs:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor(on: str | None, jobs: int) -> Iterator[Executor]:
    """Where cells run: threads here, or the workers of the Dask scheduler ``dask://HOST:PORT``.

    Raises :class:`flashgc.ConfigError` where it cannot be reached.
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
    """Threads of this process. The engine works outside Python's lock.

    Left by an exception, it does not wait for what still runs: that may be Ctrl-C's second press.
    """

    def __exit__(self, kind: object, *_: object) -> None:
        self.shutdown(wait=kind is None, cancel_futures=True)

    def __init__(self, jobs: int) -> None:
        self.jobs = cores(jobs)
        super().__init__(self.jobs, thread_name_prefix="flashgc-sweep")


class Execution:
    """Cells on an executor."""

    def __init__(self, executor: Executor, control: Control, work: Work = simulate_cell) -> None:
        self._executor, self._control, self._work = executor, control, work
        #: Controls of the cells that run in threads of ours, by what they run as.
        self._own: dict[Future[Kept | None], Control] = {}

    def run(
        self,
        configs: Sequence[dict[str, Any]],
        done: Callable[[int, Kept], None],
        look: Callable[[float], None],
    ) -> bool:
        """Runs all of ``configs``; tells ``done`` of each by its index. Whether all were run.

        ``look`` is called about 20 times a second, with how many cells' worth of those that run is
        done.
        """
        waiting: Iterator[tuple[int, int]] = ((index, 1) for index in range(len(configs)))
        again: list[tuple[int, int]] = []
        running: dict[Future[Kept | None], tuple[int, int]] = {}
        ahead = 2 * self._executor.jobs if isinstance(self._executor, Threads) else _AHEAD
        try:
            while True:
                while not self._control.cancelled and len(running) < ahead:
                    task = again.pop() if again else next(waiting, None)
                    if task is None:
                        break
                    running[self._submit(configs[task[0]])] = task
                if not running:
                    return not self._control.cancelled
                complete, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in complete:
                    index, tries = running.pop(future)
                    kept = self._what_came(future, configs[index], tries)
                    if kept is not None:
                        done(index, kept)
                    elif not self._control.cancelled:
                        again.append((index, tries + 1))
                look(
                    sum(
                        _share(one, configs[running[future][0]])
                        for future, one in self._own.items()
                    )
                )
                if self._control.cancelled:
                    self._stop(running)
        finally:
            self._stop(running)

    def _submit(self, config: dict[str, Any]) -> Future[Kept | None]:
        if not isinstance(self._executor, Threads):
            return self._executor.submit(self._work, config, None)
        control = Control()
        future = self._executor.submit(self._work, config, control)
        self._own[future] = control
        return future

    def _what_came(
        self, future: Future[Kept | None], config: dict[str, Any], tries: int
    ) -> Kept | None:
        """What a cell came to; ``None`` if it is to be run again, or was stopped."""
        self._own.pop(future, None)
        try:
            return future.result()
        except CancelledError:
            lost = "its worker was lost"
        except Exception as error:  # A worker that died, or a result that could not be sent.
            lost = f"its worker was lost: {type(error).__name__}: {error}"
        return Kept("failed", config, None, lost) if tries >= _TRIES else None

    def _stop(self, running: dict[Future[Kept | None], tuple[int, int]]) -> None:
        for control in self._own.values():
            control.cancel()
        for future in running:
            future.cancel()


def _share(control: Control, config: dict[str, Any]) -> float:
    """The share of a cell that is done."""
    return min(control.done / max(int(config.get("runs") or 1), 1), 1.0)
