"""Runs simulations with policies written in Python in place of built-in ones.

A wrong engine may be a formula that no option of the engine gives. Its policy is then written in
Python. Its results are stored under a digest of the text of its file.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from flashgc.store.cache import Cache
from flashgc.studies.rounds import Wanted
from flashgc.studies.study import Progress
from flashgc_papers.engine import Control, engine
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.tasks import Task

#: Gives the policies for a configuration: for the key of an option, a class, of which every drive
#: gets an object.
Policies = Callable[[Mapping[str, Any]], Mapping[str, type]]


class Written(Work):
    """Work whose simulations run with the policies that ``policies`` gives for a configuration."""

    def __init__(
        self,
        tasks: Mapping[str, Task],
        policies: Policies,
        *,
        cache: Cache | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(tasks, cache=cache, progress=progress)
        self._policies = policies

    def _engine(self, missing: dict[str, Wanted], what: str, *, leave_out: bool) -> None:
        del leave_out
        for key, simulation in missing.items():
            control = Control()

            def show(engine: Control) -> None:
                self._watch(engine)
                self.show(self._share(self.done), what, self._programs, "programs")

            policies: dict[str, tuple[str, object]] = {
                option: (f"python:{policy.__name__}", policy)
                for option, policy in self._policies(simulation.config).items()
            }
            config = {
                **simulation.config,
                **{option: name for option, (name, _) in policies.items()},
            }
            simulated = engine.simulate(
                [config], jobs=1, progress=show, control=control, policies={0: policies}
            )
            self._programs += control.programs
            if control.cancelled:
                self.interrupted = True
                return
            self._keep(key, simulation, simulated.results[0])


def label(name: str, policies: Policies) -> str:
    """The name of a wrong engine in a store of results, with a digest of its policies' text."""
    text = inspect.getsource(inspect.getmodule(policies) or Written)
    return f"{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
