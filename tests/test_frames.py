"""Tables in memory as workloads: every kind of table gives the digits of an equal file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import kept_results

import flashgc
from flashgc import ConfigError, Trace, TraceError

Columns = dict[str, list[Any]]

DRIVE: dict[str, Any] = {"pages_per_block": 16, "spare": "20%", "victim": "greedy", "jobs": 1}
CLOCK = {
    "kind": "timed", "times": "read=25us,program=200us,erase=1.5ms,transfer=10us",
    "pages_per_block": 16, "spare": "20%", "victim": "greedy", "jobs": 1, "passes": 3,
}  # fmt: skip


def drawn(count: int = 3000) -> Columns:
    random.seed(3)
    ops = random.choices(["W", "R", "D"], [8, 2, 1], k=count)
    return {
        "time_us": sorted(random.randrange(10**7) for _ in range(count)),
        "op": ops,
        "offset_bytes": [512 * random.randrange(8 * 700) for _ in range(count)],
        "size_bytes": [512 * random.randrange(1, 30) for _ in range(count)],
        "device": [random.randrange(2) for _ in range(count)],
    }


def in_file(columns: Columns, folder: Path) -> Path:
    file = folder / "requests.csv"
    rows = zip(*columns.values(), strict=True)
    lines = ["time_us,op,offset_bytes,size_bytes,dev", *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    return file


def fields(columns: Columns) -> Any:
    kinds = {"op": "U1"}
    made = np.zeros(len(columns["op"]), [(name, kinds.get(name, "i8")) for name in columns])
    for name, values in columns.items():
        made[name] = values
    return made


def pandas(columns: Columns) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars(columns: Columns) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def arrow(columns: Columns) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def arrays(columns: Columns) -> Any:
    return {name: np.array(values) for name, values in columns.items()}


TABLES: dict[str, Callable[[Columns], Any]] = {
    "lists": lambda columns: columns, "arrays": arrays, "fields": fields, "pandas": pandas,
    "polars": polars, "arrow": arrow,
}  # fmt: skip


def figures(result: flashgc.Result) -> tuple[Any, ...]:
    return (result.digest, result.host_pages, result.copied_pages, result.erases, result.bytes)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_digits_of_its_file(name: str, tmp_path: Path) -> None:
    columns = drawn()
    file, table = in_file(columns, tmp_path), TABLES[name](columns)
    assert figures(flashgc.run(table, **DRIVE)) == figures(flashgc.run(str(file), **DRIVE))
    assert figures(flashgc.run(table, **CLOCK)) == figures(flashgc.run(str(file), **CLOCK))
    expected, found = flashgc.trace_stat(file), Trace(table).stat()
    assert (found.reads, found.writes, found.discards) == (
        expected.reads,
        expected.writes,
        expected.discards,
    )
    # Tables of different kinds with equal requests have the same trace name.
    assert Path(str(Trace(table))).name == Path(str(Trace(columns))).name


def test_other_units_and_names_are_the_same_requests() -> None:
    columns = drawn()
    times = np.array(columns["time_us"])
    other = {
        "comment": ["-"] * len(times),
        "Size (sectors)": np.array(columns["size_bytes"]) / 512,
        "LBA [sectors]": np.array(columns["offset_bytes"], np.uint32) // 512,
        "IOType": np.array([{"W": "write", "R": "Read", "D": "trim"}[op] for op in columns["op"]]),
        "Timestamp": times.astype("datetime64[us]"),
        "DiskNumber": columns["device"],
    }
    assert Path(str(Trace(other))).name == Path(str(Trace(columns))).name
    seconds = {**columns, "time_s": times / 1e6}
    del seconds["time_us"]
    assert Path(str(Trace(seconds))).name == Path(str(Trace(columns))).name
    reads = {name: values for name, values in columns.items() if name != "op"}
    kinds = np.array(columns["op"])
    only = kinds != "D"
    of_flags = {name: np.array(values)[only] for name, values in reads.items()}
    words = {**of_flags, "op": kinds[only]}
    for flags in (
        {"is_read": kinds[only] == "R"}, {"is_write": (kinds[only] == "W").astype(int)},
    ):  # fmt: skip
        assert Path(str(Trace({**of_flags, **flags}))).name == Path(str(Trace(words))).name


def test_streams_of_a_table_reach_the_drive() -> None:
    columns = drawn()
    columns["stream"] = [at % 2 if at % 3 else -1 for at in range(len(columns["op"]))]
    result = flashgc.run(columns, **DRIVE, frontier="pool", placement="fdp:handles=2")
    assert {one.stream for one in result.streams} >= {0, 1}


def test_a_table_is_swept_and_kept_by_its_requests(tmp_path: Path) -> None:
    columns, results = drawn(), tmp_path / "kept.db"
    options = {name: value for name, value in DRIVE.items() if name != "victim"}
    first = flashgc.compare(["greedy", "fifo"], columns, **options, runs=1, results=results)
    again = flashgc.compare(["greedy", "fifo"], pandas(columns), **options, runs=1, results=results)
    assert [rank.result.digest for rank in first.ranking] == [
        rank.result.digest for rank in again.ranking
    ]
    assert len(kept_results(results)) == 2
    columns["size_bytes"][5] += 512
    flashgc.compare(["greedy", "fifo"], columns, **options, runs=1, results=results)
    assert len(kept_results(results)) == 4


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"op": None}, ConfigError, "no column for the op"),
        ({"size_bytes": None, "size": [1]}, ConfigError, "'size' says no unit that is known"),
        ({"time_us": None}, ConfigError, "no column for the time"),
        ({"time_us": [float("nan")]}, TraceError, "row 1, column 'time_us': found nan"),
        ({"time_us": [-1]}, TraceError, "row 1, column 'time_us': found -1"),
        ({"time_us": ["now"]}, ConfigError, "values of type <U"),
        ({"op": ["X"]}, TraceError, "found 'X', expected R, W or D"),
        ({"op": [None]}, TraceError, "found None, expected R, W or D"),
        ({"op": [1]}, ConfigError, "is_read or is_write"),
        ({"op": None, "is_read": [2]}, TraceError, "found 2, expected True or False"),
        ({"size_bytes": [-4096]}, TraceError, "'size_bytes': found -4096"),
        ({"size_bytes": [1.5]}, TraceError, "found 1.5, expected a whole number"),
        ({"offset_bytes": None, "offset_sectors": [2**60]}, TraceError, "found 115292150460684"),
        ({"device": [2**40]}, TraceError, "at most 4294967295"),
        ({"stream": [255]}, TraceError, "at most 254"),
        ({"offset_sectors": [1]}, ConfigError, "both say offset"),
    ],
)  # fmt: skip
def test_a_value_of_no_request_is_named_with_its_row(
    change: dict[str, list[Any] | None], kind: type[Exception], said: str
) -> None:
    first = {"offset_sectors": 0, "is_read": 1, "stream": 0, "size": 1, "device": 0}
    columns = drawn(2)
    columns["op"] = ["W", "W"]
    for name, values in change.items():
        if values is None:
            del columns[name]
            continue
        # The first row is valid, and the second is not.
        good = first.get(name, columns.get(name, [0])[0])
        columns[name] = [good if name != "op" or values != [1] else 0, values[0]]
        if name == "time_us" and values == ["now"]:
            columns[name] = ["now", "now"]
    with pytest.raises(kind) as caught:
        flashgc.run(columns, **DRIVE)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "; hint: " in str(caught.value)


def test_tables_without_rows_or_of_several_lengths_are_refused() -> None:
    columns = drawn(3)
    with pytest.raises(ConfigError, match="columns of 2 and 3 rows"):
        Trace({**columns, "op": ["W", "W"]})
    with pytest.raises(TraceError, match="no rows"):
        Trace({name: [] for name in columns})
    frame = pandas({**columns, "op": ["W"] * 3}).rename(columns={"device": "op"})
    with pytest.raises(ConfigError, match="both say op"):
        Trace(frame)
    # An optional column has another length than the required ones.
    with pytest.raises(ConfigError, match="columns of 2 and 3 rows"):
        Trace({**columns, "device": [0, 0]})


def test_times_that_go_back_are_refused_as_in_a_file() -> None:
    columns = drawn(10)
    columns["time_us"][4] = 0
    with pytest.raises(ConfigError, match="the time goes back"):
        flashgc.run(columns, **CLOCK)


def test_columns_of_integers_are_read_where_they_lie() -> None:
    from flashgc import frames

    table = {"time_ns": np.arange(5), "offset_bytes": np.arange(5) * 4096}
    columns = frames._Columns(table)
    assert np.shares_memory(columns.times(), table["time_ns"])
    assert np.shares_memory(columns.scaled("offset"), table["offset_bytes"])


def test_a_file_of_a_table_is_private_and_goes_with_the_process(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "from flashgc import Trace; from pathlib import Path; "
        "table = dict(time_us=[0], op=['W'], offset_bytes=[0], size_bytes=[4096]); "
        "file = Path(str(Trace(table))); "
        "print(file, oct(file.stat().st_mode & 0o777), oct(file.parent.stat().st_mode & 0o777))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    file, *modes = done.stdout.split()
    assert modes == ["0o600", "0o700"]
    assert not Path(file).parent.exists()


def test_a_comparison_is_a_frame_with_its_doubts() -> None:
    pandas = pytest.importorskip("pandas")
    drive = {"blocks": 200, "pages_per_block": 16, "runs": 2}
    ranking = flashgc.compare(["fifo", "greedy"], writes="1x", **drive)
    frame = ranking.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["victim"]) == [rank.result.config.victim for rank in ranking]
    assert list(frame["ratio"]) == [rank.ratio for rank in ranking]
    assert list(frame["doubts"]) == ["; ".join(rank.result.warnings) for rank in ranking]
    assert all(frame["doubts"])
    assert f"note: {ranking.best.warnings[0]}" in str(ranking)
