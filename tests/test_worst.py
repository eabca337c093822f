"""The slowest requests of a drive with a clock: from Python, on the terminal and as a picture."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc import ConfigError, plot
from flashgc.results import Result, Worst, WorstOperation
from flashgc.results.stalls import LEGEND, chart, rows
from flashgc.results.worst import PARTS, rounded

#: One die. Times in us: read 25, program 200, erase 1500, transfer 10.
TIMED: dict[str, Any] = {
    "kind": "timed",
    "times": "read=25us,program=200us,erase=1.5ms,transfer=10us",
    "blocks": 128,
    "pages_per_block": 16,
    "spare": "15%",
    "victim": "greedy",
    "requests": 2000,
}


def ran(**more: Any) -> Result:
    return flashgc.run("uniform:read=0.4", arrivals="poisson:rate=300", **TIMED, **more)


@pytest.mark.parametrize("preemption", ["none", "pgc+merge+pipeline", "suspend"])
def test_the_slowest_of_each_kind_has_its_maximum_and_parts_that_sum_to_it(
    preemption: str,
) -> None:
    result = ran(preemption=preemption, worst="yes", runs=2)
    timing = result.timing
    assert timing is not None
    assert [one.kind for one in timing.worst] == ["read", "write"]
    for one in timing.worst:
        of_kind = timing.latency_us.of(one.kind)
        assert of_kind is not None
        assert one.response_us == of_kind.max
        parts = [getattr(one, field) for field, _ in PARTS]
        assert math.isclose(sum(parts), one.response_us, abs_tol=1e-3)
        assert one.die == 0
        assert (one.held is not None) == (one.collection_us > 0)
        # Operations of the die overlap with the time between arrival and response.
        end = one.arrived_us + one.response_us
        assert all(one.arrived_us < did.ended_us <= end + 1e-6 for did in one.operations)
        # The last operation of the die belongs to the request.
        assert one.operations[-1].request == one.number
    slowest = max(timing.worst, key=lambda one: one.response_us)
    assert result.worst == slowest
    assert Result.from_dict(json.loads(result.to_json())).worst == slowest


def test_what_is_kept_changes_no_digit_and_operations_are_kept_only_on_demand() -> None:
    plain, kept = ran(), ran(worst="yes")
    assert plain.digest == kept.digest
    assert plain.worst is not None
    assert kept.worst is not None
    assert (plain.worst.response_us, plain.worst.operations) == (kept.worst.response_us, ())
    with pytest.raises(ConfigError, match=r"were not kept; hint: run with worst=yes"):
        plot.worst(plain.worst)
    counting = flashgc.run(blocks=200, pages_per_block=16, writes="2x")
    assert counting.worst is None


def one(**changed: Any) -> Worst:
    """The read of `crates/timed/tests/timed_worst.rs`, computed by hand, which meets an erase."""
    did = (
        WorstOperation(2380.0, 3880.0, "cells", "erase", None, 0),
        WorstOperation(3880.0, 3905.0, "cells", "read", 9, None),
        WorstOperation(3905.0, 3915.0, "bus", "read", 9, None),
    )
    values: dict[str, Any] = {
        "kind": "read", "number": 9, "run": 0, "offset": 40960, "bytes": 4096,
        "arrived_us": 2381.0, "response_us": 1534.0, "queue_us": 0.0, "collection_us": 1499.0,
        "bus_us": 10.0, "cell_us": 25.0, "die": 0, "held_by": None, "collections": (),
        "operations": did,
    }  # fmt: skip
    return Worst(**{**values, **changed})


def test_a_story_has_two_lines_that_fit_a_terminal_and_parts_that_sum_as_written() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        parts = [round(draw.choice([0, 1, 1e2, 1e4, 1e6]) * draw.random(), 3) for _ in PARTS]
        fields = dict(zip((field for field, _ in PARTS), parts, strict=True))
        worst = one(response_us=sum(parts), **fields)
        whole, texts, _ = rounded(worst)
        assert math.isclose(sum(map(float, texts)), float(whole), abs_tol=1e-9)
        assert all(len(f"worst: {line}") <= 80 for line in worst.story)


def test_a_chart_shows_the_erase_that_the_request_waited_for() -> None:
    title, erase, read, legend = chart(one())
    assert title == "die 0" + " " * 15 + "0" + "1.53 ms".rjust(57)
    # 1499 of 1534 us are 56.7 of 58 columns, so the 57th column is shared.
    assert erase == "collection 0" + " " * 8 + "e" * 57
    assert read == "read 9" + " " * 14 + "." * 56 + "rr"
    assert legend.strip() == LEGEND
    assert chart(one(operations=())) == []


def test_rows_with_the_least_work_are_put_together() -> None:
    many = tuple(
        WorstOperation(2400.0 + 10 * at, 2401.0 + 10 * at + at / 100, "cells", "read", at, None)
        for at in range(20)
    )
    names = [row.name for row in rows(one(number=99, operations=many))]
    assert names == [*(f"request {at}" for at in range(12, 20)), "12 others", "read 99"]


def test_a_picture_has_a_row_for_each_cause_and_ends_with_the_request() -> None:
    result = ran(worst="yes")
    assert result.worst is not None
    figure = plot.worst(result.worst)
    (axes,) = figure.axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == [row.name for row in rows(result.worst)]
    assert labels[-1] == f"{result.worst.kind} {result.worst.number}"
    assert "<svg" in plot.to_svg(figure, prefix="worst")
    assert "response time" in result.worst._repr_html_()


def test_the_command_prints_the_story_where_it_is_asked_for(command: Command) -> None:
    flags = ["--drive", "timed", "--times", TIMED["times"], "--blocks", "128"]
    flags += ["--pages-per-block", "16", "--spare", "15%", "--requests", "2000"]
    plain = command("run", *flags)
    asked = command("run", *flags, "--worst", "yes")
    assert (plain.returncode, asked.returncode) == (0, 0), asked.stderr
    assert "slowest" not in plain.stdout
    assert "\nslowest write of 4 KiB at " in asked.stdout
    assert LEGEND in asked.stdout
    assert max(map(len, asked.stdout[asked.stdout.index("\nslowest") :].splitlines())) <= 80
