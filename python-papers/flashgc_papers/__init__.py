"""The papers' claims, and a folder for each paper with the checks of its claims.

``claims.toml`` holds what was published. A module of a paper registers a runner for each of its
claims; ``flashgc reproduce`` runs what the runners ask for (all of it in one call of the engine,
on all cores, cached) and shows what they find. A runner describes and judges; it runs nothing,
opens no figure and prints nothing:

.. code-block:: python

    from flashgc_papers.claims import Claim
    from flashgc_papers.reproduce import verdicts
    from flashgc.described import simulation
    from flashgc_papers.reproduce.rows import row
    from flashgc_papers.reproduce.runner import Outcome, conclude, runner
    from flashgc_papers.reproduce.tasks import Measured, Size, Task

    @runner("dchoices.greedy")
    class Greedy:
        def task(self, claim: Claim, size: Size) -> Task:
            runs = {Size.QUICK: 2, Size.DEFAULT: 8, Size.FULL: 25}[size]
            return Task(
                simulations={"greedy": simulation(victim="greedy", blocks=50000, ..., runs=runs)},
                settings=f"N = 50 000, 250 000 collections, {runs} runs",
            )

        def judge(self, claim: Claim, measured: Measured) -> Outcome:
            def simulated():
                value = measured.value("greedy")
                return value, verdicts.equal(value, claim.value, claim.tol)

            return conclude(claim, measured, [row("simulated", claim.value, simulated)])

- A :class:`~flashgc_papers.reproduce.tasks.Task` names simulations (keywords of
  :func:`flashgc.run`) and computations (``model``, ``models``, or any call such as the
  statistics of a trace). It says its size in words, and in ``left_out`` what it leaves out of the
  published experiment. Where nothing can be run, ``Task(not_run="why, and which file to put
  where")`` is enough.
- Interrupted simulations are missing from ``Measured``: ``value``, ``result``, ``compute`` raise
  ``NotMeasuredError``, which ``row`` turns into a row that was not run; ``get`` gives NaN instead,
  for figures.
- A row on a stand-in says so in ``stand_in``; ``conclude`` then grades it met-in-kind at best.
- ``conclude`` also checks the runs that a row's function takes from ``Measured``: if one of them is
  not steady, neither is the row. If the runs have the full length of the paper's experiment, the
  task's ``whole`` says so. If the paper states "over N", N is the row's ``least``.
- ``readings.toml`` has readings for whatever a paper leaves open. A runner of
  :func:`~flashgc_papers.reproduce.readings.runner_under` runs under each of them.
- Notes that are the same for every run stand in ``notes.toml``.
- Rows by which a reading, a preset or a parameter was chosen stand in ``fits.toml``.
- Published numbers come from the claim (``rows``, ``value``, ``facts``), never from a runner. In
  figures they are :class:`~flashgc_papers.published.Point`.

``statements.toml`` lists every statement of a paper with the claim and the rows that check it, and
``summaries.toml`` the sentences of its paragraph.

A new paper is a folder here with the name that its claims begin with. Every module in it is
imported before a claim of the paper is looked up, and registers its runners. The module
``experiment`` holds what the runners of a paper share: its drive and workloads as simulations, and
what is read from their results.
"""

from __future__ import annotations

import importlib
import pkgutil


def load(paper: str) -> None:
    """Imports every module of ``paper``, so that its runners are registered."""
    if paper not in {folder.name for folder in pkgutil.iter_modules(__path__) if folder.ispkg}:
        return
    folder = importlib.import_module(f"{__name__}.{paper}")
    for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
        importlib.import_module(module.name)
