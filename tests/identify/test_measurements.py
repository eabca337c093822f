"""CSV files of measurements: accepted columns, and errors with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashgc import ConfigError
from flashgc.studies.identifying.measurements import read, table
from flashgc.studies.identifying.workloads import condition

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
    # Hot pages are scattered, as in measurements of real drives.
    assert hot.spec == "classes:pages=10/90,shares=90/10" == condition("90/10", 10**12).spec
    assert (hot.writes, hot.warmup) == ("5x", "60%")
    assert first.points[1].condition.pages == 10**12 // 4096


def test_counters_give_write_amplification(tmp_path: Path) -> None:
    text = "workload,host_bytes_written,media_bytes_written\nuniform,4TB,10TB\n80/20,1000,2750\n"
    (drive,) = read(written(tmp_path, text))
    assert [point.write_amplification for point in drive.points] == [2.5, 2.75]
    assert drive.name == "the drive"


def test_columns_of_a_published_table_are_left_out(tmp_path: Path) -> None:
    text = "drive,seconds,workload,write_amplification,write_p50_us,write_amplification_sd\n"
    made = table(written(tmp_path, text + "A,550,uniform,2.5,3215,0.1\nA,10,80/20,2.75,3261,0.1\n"))
    # A column with a similar name is not taken for the known one.
    assert made.left_out == ("seconds", "write_p50_us", "write_amplification_sd")
    (drive,) = made.drives
    assert [point.write_amplification for point in drive.points] == [2.5, 2.75]


def test_series_of_one_drive_are_curves_of_their_own(tmp_path: Path) -> None:
    text = (
        "drive,series,workload,write_amplification\nA,x,uniform,2\nB,x,uniform,3\nA,y,uniform,4\n"
    )
    made = read(written(tmp_path, text))
    assert [(drive.name, drive.points[0].write_amplification) for drive in made] == [
        ("A (x)", 2), ("B", 3), ("A (y)", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv:1:1: the file is empty"),
        ("workload,wa\n", "hint: add one or the other, or call one of 'wa' so"),
        ("kind,write_amplification\n", "zipf:theta=0.8, or call one of 'kind' so"),
        (
            HEAD[:-1] + ",wirtes\n",
            "a.csv:1:30: unknown column 'wirtes'; hint: did you mean 'writes'?",
        ),
        (
            "Workload,drive\n",
            "a.csv:1:1: unknown column 'Workload'; hint: did you mean 'workload'?",
        ),
        ("workload,Write Amplification\n", "did you mean 'write_amplification'?"),
        ("workload,implied_write_amplification\n", "did you mean 'write_amplification'?"),
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
        (
            HEAD[:-1] + ",run\n80/20,2,1\n80/20,3,2\n",
            "in a column 'drive' or 'series'; of the columns left out, one may be it: run",
        ),
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


def test_a_table_with_patterns_is_read_as_published(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text(
        "drive,series,pattern,details,seconds,implied_write_amplification\n"
        "a,x,sequential,,550,1.000\n"
        "a,x,uniform,,5900,2.224\n"
        "a,x,zones-shuffle,s0.5 f1 s0.5 f0,5890,2.222\n"
        "a,x,zones-shuffle,s0.95 f0.05 s0.05 f0.95,5980,3.278\n"
        "a,y,zipf-shuffle,0.800000,5980,2.485\n"
    )
    made = table(path)
    assert made.left_out == ("seconds",)
    assert made.skipped == ("2", "4")
    points = [(one.name, [(p.workload, p.write_amplification) for p in one.points])
              for one in made.drives]  # fmt: skip
    assert points == [
        ("a (x)", [("uniform", 2.224), ("95/5", 3.278)]), ("a (y)", [("zipf:theta=0.8", 2.485)])
    ]  # fmt: skip
