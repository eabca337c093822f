"""CSV files of measurements: what is read, and what is refused where."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashgc import ConfigError
from flashgc.studies.identify.measurements import read
from flashgc.studies.identify.workloads import condition

HEAD = "workload,write_amplification\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text)
    return path


def test_drives_come_in_their_order_with_their_points(tmp_path: Path) -> None:
    text = (
        "# two drives\ndrive,workload,write_amplification,error,writes,warmup\n"
        'B,uniform,2.5,,,\nA,"hotcold:f=0.1,r=0.9",3,1%,5x,60%\nB,zipf:theta=0.8,2.75,,,\n'
    )
    first, second = read(written(tmp_path, text), error=0.03)
    assert (first.name, second.name) == ("B", "A")
    assert [point.write_amplification for point in first.points] == [2.5, 2.75]
    assert [point.error for point in (*first.points, *second.points)] == [0.03, 0.03, 0.01]
    hot = second.points[0].condition
    # Hot pages are scattered, as on a drive that is measured.
    assert hot.spec == "classes:pages=10/90,shares=90/10" == condition("90/10", 10**12).spec
    assert (hot.writes, hot.warmup) == ("5x", "60%")
    assert first.points[1].condition.pages == 10**12 // 4096


def test_counters_give_write_amplification(tmp_path: Path) -> None:
    text = "workload,host_bytes_written,media_bytes_written\nuniform,4TB,10TB\n80/20,1000,2750\n"
    (drive,) = read(written(tmp_path, text))
    assert [point.write_amplification for point in drive.points] == [2.5, 2.75]
    assert drive.name == "the drive"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv:1:1: the file is empty"),
        ("workload,wa\n", "a.csv:1:10: unknown column 'wa'; hint: "),
        ("workload,workload\n", "a.csv:1:10: a second column 'workload'"),
        ("write_amplification\n2\n", "a.csv:1:1: no column 'workload'"),
        ("workload,drive\n", "a.csv:1:1: found neither a column 'write_amplification'"),
        (HEAD, "a.csv:2:1: found no row"),
        (HEAD + "uniform\n", "a.csv:2:1: found 1 cells, expected 2"),
        (HEAD + "hotcold:f=0.2,r=0.8,2\n", 'a workload with commas needs quotes, "hotcold'),
        (HEAD + ",2\n", "a.csv:2:1: the workload is empty"),
        (HEAD + "uniform,two\n", "a.csv:2:9: found 'two', expected a number from 1 on"),
        (HEAD + "uniform,-2\n", "a.csv:2:9: found -2, expected a number above 0"),
        (HEAD + "uniform,nan\n", "a.csv:2:9: found nan, expected a number above 0"),
        (HEAD + "uniform,2\n\nunifrom,2\n", "a.csv:4:1: workload: unknown workload 'unifrom'"),
        (HEAD + "120/20,2\n", "a.csv:2:1: found 120/20, expected two shares"),
        (HEAD + "zipf:theta=x,2\n", "a.csv:2:1: "),
        (HEAD + "80/20,2\n80/20,3\n", "a.csv:3:1: a second row of 80/20"),
        (HEAD + '"80/20,2\n', "a.csv:2:1: a quote is not closed"),
        (HEAD[:-1] + ",writes\nuniform,2,5\n", "a.csv:2:11: writes"),
        (HEAD[:-1] + ",warmup\nuniform,2,120%\n", "a.csv:2:11: warmup"),
        (HEAD[:-1] + ",error\nuniform,2,0\n", "a.csv:2:11: found 0, expected above 0%"),
        (HEAD[:-1] + ",capacity\nuniform,2,1GBB\n", "a.csv:2:11: "),
        (
            "workload,host_bytes_written,media_bytes_written\nuniform,5,4\n",
            "a.csv:2:11: found 4 bytes programmed for 5 written",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(written(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
