"""Rounds of one life, until SNIA's rule is met: which run is next, and what a run says.

A life is one run of a trace. So its rounds continue on the same drive, exactly. A run has 255
streams at most, which is enough for five rounds of the IOPS test. If the first five rounds are not
steady, the life is run again: with up to 25 rounds and the tracked cells alone, to find the window,
and then up to the end of the window, whose cells then have the streams. All of them are the same
life: the requests and the random numbers of a round do not depend on the number of rounds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashgc._documents import Json, read
from flashgc.results.parts.clock import Figures
from flashgc.studies.qualifying import requests
from flashgc.studies.qualifying.lives import Cell, Life
from flashgc.studies.qualifying.outcome import CellResult, Response, Rounds
from flashgc.studies.qualifying.steady import MOST_ROUNDS, WINDOW, Window, window

_Labels = dict[tuple[int, Cell], int]
_Measured = dict[tuple[int, Cell], tuple[Figures | None, Figures | None]]


@dataclass
class Phases:
    """The progress of one life."""

    life: Life
    capacity: int
    seed: int
    #: Tracked values of rounds 1, 2, ... so far.
    tracked: list[float] = field(default_factory=list)
    #: The response times of reads and of writes, by round and cell.
    measured: _Measured = field(default_factory=dict)
    #: The labels of the run that is next, and its number of rounds.
    labels: _Labels = field(default_factory=dict)
    rounds: int = WINDOW
    #: True until no further run is needed.
    unfinished: bool = True

    def __post_init__(self) -> None:
        self.labels = self._labelled(range(1, WINDOW + 1))

    def _labelled(self, rounds: Sequence[int]) -> _Labels:
        whole = requests.labels(self.life, rounds)
        return requests.tracked_labels(self.life, rounds) if whole is None else whole

    def trace(self) -> requests.Trace:
        """The requests of the run that is next."""
        return requests.of_life(self.life, self.capacity, self.rounds, self.labels, self.seed)

    @property
    def cost(self) -> float:
        """The pages of 4 KiB that a run reads and writes, where a random write costs four."""
        cells = sum(
            self.life.lengths.of(cell.size, self.capacity, self.life.depth_of(cell, self.capacity))
            * max(cell.size / 4096, 1)
            * (1 + (0 if self.life.sequential else 3) * (1 - cell.reads))
            for cell in self.life.cells
        )
        return self.life.start.times * self.capacity / 4096 + self.rounds * cells

    def add(self, result: Mapping[str, Any]) -> None:
        """Take the result of a run, and decide which run is next."""
        streams = {entry["stream"]: entry for entry in result["streams"] or []}
        for (number, cell), stream in self.labels.items():
            entry = streams[stream]
            reads = _figures(entry.get("read_us")) if cell.reads > 0 else None
            writes = _figures(entry.get("write_us")) if cell.reads < 1 else None
            self.measured[number, cell] = (reads, writes)
        self.tracked = [
            getattr(self._cell(number, self.life.tracked), self.life.figure)
            for number in range(1, self.rounds + 1)
            if (number, self.life.tracked) in self.measured
        ]
        last_five = self.window
        assert last_five is not None  # The first run has five rounds.
        if not last_five.met and len(self.tracked) < MOST_ROUNDS:
            self.rounds = MOST_ROUNDS
            self.labels = self._labelled(range(1, MOST_ROUNDS + 1))
            return
        wanted = range(last_five.first, last_five.last + 1)
        if any(
            (number, cell) not in self.measured for number in wanted for cell in self.life.cells
        ):
            self.rounds = last_five.last
            self.labels = self._labelled(wanted)
            return
        self.unfinished = False

    @property
    def window(self) -> Window | None:
        """The rounds that the figures are means of."""
        return window(self.tracked)

    def _cell(self, number: int, cell: Cell) -> CellResult:
        """The figures of a cell in one round.

        Each request has one of ``depth`` places for its response time, and the next request takes
        the place at once, so that the drive completes ``depth`` in the mean response time.
        """
        each = [figures for figures in self.measured[number, cell] if figures is not None]
        count = sum(figures.requests for figures in each)
        mean = sum(figures.requests * figures.mean for figures in each) / count
        depth = self.life.depth_of(cell, self.capacity)
        rate = depth * 1e6 / mean
        reads, writes = self.measured[number, cell]
        return CellResult(
            cell.size, cell.reads, depth, count, rate, rate * cell.size, mean, _response(reads),
            _response(writes), (),
        )  # fmt: skip

    def outcome(self, interrupted: bool) -> Rounds | None:
        """The result of the life so far; ``None`` before the first run."""
        last_five = self.window
        if last_five is None:
            return None
        numbers = range(last_five.first, last_five.last + 1)
        whole = all(
            (number, cell) in self.measured for number in numbers for cell in self.life.cells
        )
        cells = [
            _mean([self._cell(number, cell) for number in numbers], self.life.figure)
            for cell in (self.life.cells if whole else (self.life.tracked,))
        ]
        return Rounds(
            name=self.life.name,
            title=self.life.title,
            depth=self.life.depth,
            tracked_cell=self.life.tracked.name,
            tracked_figure=self.life.figure,
            tracked=tuple(self.tracked[: last_five.last]),
            window=last_five,
            cells=tuple(cells),
            interrupted=interrupted or not whole,
        )


def _figures(raw: Mapping[str, Json] | None) -> Figures | None:
    return None if raw is None else read(Figures, raw)


def _response(figures: Figures | None) -> Response | None:
    return None if figures is None else Response.of(figures)


def _mean(rounds: Sequence[CellResult], figure: str) -> CellResult:
    """The means of a cell's figures over rounds, as SNIA reports them; maxima stay maxima."""

    def mean(name: str) -> float:
        return float(sum(getattr(cell, name) for cell in rounds) / len(rounds))

    def response(name: str) -> Response | None:
        each = [each for cell in rounds if (each := getattr(cell, name)) is not None]
        return Response.of_rounds(each) if each else None

    return dataclasses.replace(
        rounds[0],
        requests=sum(cell.requests for cell in rounds),
        requests_per_second=mean("requests_per_second"),
        bytes_per_second=mean("bytes_per_second"),
        mean_us=mean("mean_us"),
        read_us=response("read_us"),
        write_us=response("write_us"),
        by_round=tuple(getattr(cell, figure) for cell in rounds),
    )
