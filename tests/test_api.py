"""The API: typed results, errors as a tree, traces."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pkgutil
import pydoc
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashgc
import flashgc.plot
import flashgc.results
import keywords
import parts
from flashgc.keywords import CompareKeywords, RunKeywords
from flashgc.options import OPTIONS
from flashgc.results import Result
from flashgc.units import format_size, parse_count, parse_share, parse_size

SMALL = {"blocks": 200, "pages_per_block": 16, "writes": "6x"}


def test_a_result_goes_to_json_and_back() -> None:
    result = flashgc.run(victim="greedy", **SMALL)
    document = json.loads(result.to_json())
    assert document == result.to_dict()
    assert Result.from_dict(document) == result
    for field in dataclasses.fields(Result)[:-1]:
        assert field.name in document


@pytest.mark.parametrize("package", [flashgc, flashgc.plot, flashgc.results])
def test_no_module_stands_in_the_place_of_a_public_name(package: Any) -> None:
    # An imported module becomes an attribute of its package and would replace a function.
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules & {*package.__all__} <= {"model", "plot", "results"}, "but these are modules"


def test_wa_counts_every_page_programmed() -> None:
    # With half of the pages spare and sequential writes, no valid page is ever copied.
    result = flashgc.run("sequential", victim="fifo", **{**SMALL, "spare": 0.5})
    assert result.write_amplification == 1.0
    assert result.copied_pages == 0
    assert result.copies_per_host_write == 0


def test_random_selection_is_one_over_the_spare_factor() -> None:
    # Van Houdt, SIGMETRICS 2013: for uniform writes, WA = 1/S_f with the random policy.
    result = flashgc.run(
        victim="random", blocks=2000, pages_per_block=16, spare=0.2, writes="60x", runs=4
    )
    assert result.write_amplification == pytest.approx(5.0, rel=0.01)


def test_help_opens_with_the_own_keywords_of_a_function() -> None:
    assert str(inspect.signature(flashgc.compare)) == (
        "(victims: Victim | Sequence[Victim], workload: str | Trace | Table = 'uniform', "
        "*, results: File | None = None, progress: Progress | None = None, "
        "control: Control | None = None, "
        "**options) -> Comparison"
    )
    for function in (flashgc.run, flashgc.compare, flashgc.gap, flashgc.tune, flashgc.fleet):
        line = pydoc.plain(pydoc.render_doc(function)).splitlines()[2]
        assert not re.search(r"ForwardRef|: '|\btyping\b", line)
        assert "**options)" in line
    blocks = inspect.signature(flashgc.run).parameters["blocks"]
    assert str(blocks) == "blocks: int | str | None = None"


def test_the_typed_keywords_are_written_anew_with_the_options() -> None:
    assert keywords.main(["--check"]) == 0
    keys = {option.key for option in OPTIONS} - {"source", "victim"}
    assert set(RunKeywords.__annotations__) == set(CompareKeywords.__annotations__) == keys


def test_the_types_of_results_are_written_anew_with_their_declarations() -> None:
    assert parts.main(["--check"]) == 0


def test_shells_complete_the_options_of_the_functions() -> None:
    for function in (flashgc.run, flashgc.compare, flashgc.tune, flashgc.gap):
        parameters = inspect.signature(function).parameters
        assert {option.key for option in OPTIONS} - {"source", "victim"} <= set(parameters)
        assert "options" not in parameters


def test_a_capacity_is_rounded_down_to_whole_blocks_on_every_plane() -> None:
    # 1.5 GB are 1430 blocks of 1 MiB and 536 870 912 bytes are 512 of them.
    result = flashgc.run(capacity="1.5GB", victim="greedy", writes="0.1x")
    assert (result.config.blocks, result.config.capacity) == (1430, 1_500_000_000)
    result = flashgc.run(capacity="512MiB", victim="greedy", writes="0.1x")
    assert result.config.blocks == 512
    assert result.config.capacity is None
    clock = {"kind": "timed", "times": "read=60us,program=800us,erase=1.5ms", "requests": 10}
    result = flashgc.run(capacity="1.5GB", victim="greedy", planes=4, **clock)
    assert result.config.blocks == 1430 // 4 * 4
    with pytest.raises(flashgc.ConfigError, match="at least one block of 1048576 bytes"):
        flashgc.run(capacity="1MB")


CLOCK = {"kind": "timed", "times": "read=60us,program=800us,erase=1.5ms", "requests": 10}


def test_blocks_are_rounded_up_to_as_many_on_every_plane() -> None:
    result = flashgc.run(blocks=1001, victim="greedy", planes=4, **CLOCK)  # type: ignore[arg-type]
    assert (result.config.blocks, result.blocks_asked) == (1004, 1001)
    assert result.to_dict()["blocks_asked"] == 1001
    whole = flashgc.run(blocks=1004, victim="greedy", planes=4, **CLOCK)  # type: ignore[arg-type]
    assert (whole.config.blocks, whole.blocks_asked) == (1004, None)
    assert whole.to_dict()["blocks_asked"] is None
    assert whole.digest == result.digest


def test_a_drive_for_a_trace_has_as_many_blocks_on_every_plane(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    lines = [f"{time},W,{4096 * (time % 1000)},4096,0" for time in range(2000)]
    path.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + "\n".join(lines) + "\n")
    clock = {**CLOCK, "requests": None, "passes": 1, "planes": 4, "pages_per_block": 16}
    # 1000 pages fill 63 blocks. With a spare factor of 20%, that needs 78.75 blocks.
    result = flashgc.run(path, spare=0.2, **clock)  # type: ignore[arg-type]
    assert (result.config.blocks, result.blocks_asked) == (80, 79)
    with pytest.raises(flashgc.ConfigError, match=r"hint: blocks=80, or leave blocks out$"):
        flashgc.run(path, spare=0.2, blocks=60, **clock)  # type: ignore[arg-type]
    assert flashgc.run(path, spare=0.2, blocks=80, **clock).host_pages == 2000  # type: ignore[arg-type]


def test_a_warm_up_of_none_may_be_a_number() -> None:
    results = [flashgc.run(victim="greedy", warmup=zero, **SMALL) for zero in (0, "0")]
    assert results[0].digest == results[1].digest


def test_a_whole_number_may_be_a_float_and_nothing_else_becomes_one() -> None:
    assert flashgc.run(blocks=100.0, pages_per_block=16, writes="2x").config.blocks == 100
    with pytest.raises(flashgc.ConfigError, match=r"blocks: found 1\.5, expected a whole number"):
        flashgc.run(blocks=1.5)
    with pytest.raises(flashgc.ConfigError, match=r"frontier: found 3, expected a text"):
        flashgc.run(frontier=3)  # type: ignore[arg-type]


def test_errors_are_one_tree() -> None:
    for error in (flashgc.ConfigError, flashgc.TraceError, flashgc.DriveError):
        assert issubclass(error, flashgc.FlashgcError)
    assert issubclass(flashgc.PolicyError, flashgc.DriveError)
    with pytest.raises(flashgc.ConfigError, match=r"unknown option 'bloks'.*'blocks'"):
        flashgc.run(bloks=3)
    with pytest.raises(flashgc.ConfigError, match=r"capacity: '64' has no unit"):
        flashgc.run(capacity="64")
    with pytest.raises(flashgc.TraceError, match=r"No such file"):
        flashgc.trace_stat("missing.csv")


def test_runs_from_another_thread_can_be_stopped() -> None:
    control = flashgc.Control()
    results = []
    thread = threading.Thread(
        target=lambda: results.append(
            flashgc.run(blocks=2000, writes="1000000x", warmup="0", control=control)
        )
    )
    thread.start()
    while control.programs == 0:
        assert thread.is_alive()
    control.cancel()
    thread.join(timeout=60)
    assert results[0].interrupted
    assert results[0].host_pages > 0


def test_progress_is_reported_up_to_the_end() -> None:
    seen = []
    flashgc.run(
        blocks=2048, writes="20x", runs=3, progress=lambda control: seen.append(control.done)
    )
    assert seen
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= 3


def test_a_failing_progress_function_stops_the_runs() -> None:
    def fail(control: flashgc.Control) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        flashgc.run(blocks=4096, writes="100000x", progress=fail)


def test_precision_makes_the_interval_as_narrow_as_asked() -> None:
    result = flashgc.run(**{**SMALL, "writes": "10x"}, until="precision=1%")
    assert result.write_amplification_ci95 is not None
    assert result.write_amplification_ci95 <= 0.01 * result.write_amplification


def test_traces_are_made_counted_converted_and_replayed(tmp_path: Path) -> None:
    made = tmp_path / "made.csv.zst"
    flashgc.trace_synth(
        "uniform:read=0.25,trim=0.05", made, pages=4000, requests=50_000, interval_ns=2000, seed=3
    )
    stat = flashgc.trace_stat(made)
    assert stat.requests == 50_000 == stat.reads + stat.writes + stat.discards
    assert stat.write_share == pytest.approx(0.7, abs=0.01)
    assert stat.duration_seconds == pytest.approx(49_999 * 2e-6)
    assert stat.pages <= 4000
    converted = flashgc.trace_convert(made, tmp_path / "made.flashgc")
    assert converted.requests == 50_000
    again = flashgc.Trace(tmp_path / "made.flashgc").stat()
    assert again.pages == stat.pages
    assert again.page_writes == stat.page_writes
    runs = [
        flashgc.run(flashgc.Trace(path), pages_per_block=16, passes=3, victim="greedy")
        for path in (made, tmp_path / "made.flashgc")
    ]
    assert runs[0].run_values == runs[1].run_values
    # Accessed pages, rounded up to whole blocks. The paper rounds down: U = b floor(x / b).
    assert runs[0].config.logical_pages == -(-stat.pages // 16) * 16 == 4000
    floor = flashgc.run(
        flashgc.Trace(made), pages_per_block=16, passes=1, victim="greedy", paging="floor"
    )
    assert floor.config.logical_pages == stat.pages // 16 * 16 == 3984
    (note,) = [text for text in floor.warnings if 'paging="floor"' in text]
    assert note.startswith('paging="floor" leaves out 15 of 3999 pages of the trace and ')
    # One of three passes is warm-up, and two are measured. Pages beyond U are left out.
    assert runs[0].host_pages <= 2 * stat.page_writes
    assert runs[0].host_pages >= 2 * stat.page_writes * 0.98


def test_nothing_is_written_where_a_conversion_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("128166372003061629,usr,0,Write,0,4096,1331\nx\n" * 9)
    with pytest.raises(flashgc.TraceError, match=r"bad\.csv:2"):
        flashgc.trace_convert(tmp_path / "bad.csv", tmp_path / "out.csv", format="msr")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@given(st.integers(0, 2**60))
def test_sizes_read_back(size: int) -> None:
    assert parse_size(f"{size}B") == size
    assert parse_size(f"{size} KiB") == size * 1024


@given(st.text(max_size=12))
def test_units_refuse_or_read_any_text(text: str) -> None:
    for parse in (parse_size, parse_share, parse_count):
        try:
            value = parse(text)
        except flashgc.ConfigError as error:
            message = str(error)
        else:
            assert value >= 0
            continue
        assert "hint: " in message


@given(st.floats(1, 2**60))
def test_formatted_sizes_are_right_to_three_digits(size: float) -> None:
    with warnings.catch_warnings():
        number, unit = format_size(size).split()
        factor = parse_size(f"1{unit}")
    assert float(number) * factor == pytest.approx(size, rel=0.006, abs=0.5)


def test_values_that_fit_nowhere_are_configuration_errors() -> None:
    for wrong in (
        lambda: flashgc.compare([]),
        lambda: flashgc.Trace(None),  # type: ignore[arg-type]
        lambda: flashgc.run(page_size=-1),
        lambda: flashgc.run(blocks=-1),
        lambda: flashgc.run(spare=10**400),
        lambda: flashgc.trace_stat("x.csv", page_size=-4096),
        lambda: flashgc.trace_stat("x.csv", alignment_offset=-1),
        lambda: flashgc.trace_synth("uniform", "x.csv", pages=-1, requests=1),
    ):
        with pytest.raises(flashgc.ConfigError):
            wrong()


def test_one_policy_may_be_compared() -> None:
    ranking = flashgc.compare("greedy", blocks=100, pages_per_block=16, writes="2x")
    assert len(ranking) == 1


def test_a_comparison_goes_on_without_the_combinations_that_cannot_be() -> None:
    options: Any = {"blocks": 100, "pages_per_block": 64, "frontier": "pool:low=4", "writes": "1x"}
    made = flashgc.compare(["greedy", "fifo"], spare=["10%", "0.5%"], runs=1, **options)
    assert [rank.result.config.spare for rank in made] == [0.1, 0.1]
    assert [one.name for one in made.left_out] == ["greedy, spare 0.5%", "fifo, spare 0.5%"]
    assert all("are too few for the pool:low=4 frontier" in one.reason for one in made.left_out)
    document = json.loads(made.to_json())
    assert [one["name"] for one in document["left_out"]] == [one.name for one in made.left_out]
    with pytest.raises(flashgc.ConfigError, match="too few for the pool:low=4 frontier"):
        flashgc.compare(["greedy", "fifo"], spare="0.5%", runs=1, **options)


def test_a_replay_by_times_that_are_line_numbers_is_told(tmp_path: Path) -> None:
    rows = "".join(f"{line},W,{line % 64 * 4096},4096,0\n" for line in range(400))
    trace = tmp_path / "trace.csv"
    trace.write_text(f"time_us,op,offset_bytes,size_bytes,dev\n{rows}")
    options: Any = {"kind": "timed", "device": "mlc", "pages_per_block": 16, "passes": 1}
    told = flashgc.run(str(trace), **options).warnings
    assert any("all 1us apart, as line numbers are" in text for text in told)
    told = flashgc.run(str(trace), arrivals="closed:threads=1", **options).warnings
    assert not any("apart" in text for text in told)
