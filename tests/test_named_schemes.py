"""Schemes: victim policy, placement and frontier under one name, wherever one can be given."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conftest import Command
from tests.schemes_in_python import Due

import flashgc
from flashgc import ConfigError, Device, Scheme
from flashgc._naming import name

SOURCE = "hotcold:f=0.1,r=0.9"
DRIVE: dict[str, Any] = {
    "blocks": 200, "pages_per_block": 16, "spare": "20%", "writes": "2x", "runs": 2
}  # fmt: skip
TYPED = (
    "--workload", SOURCE, "--blocks", 200, "--pages-per-block", 16, "--spare", "20%", "--writes",
    "2x", "--runs", 2, "--json",
)  # fmt: skip
FILE = Path(__file__).with_name("schemes_in_python.py")

TABLES = f"""
[workload]
source = "{SOURCE}"
[drive]
blocks = 200
pages_per_block = 16
spare = "20%"
[run]
writes = "2x"
runs = 2
[scheme.due]
label = "Due (ours)"
victim = "python:due.py:Due"
placement = "python:due.py:Due"
[scheme.sepbit]
label = "SepBIT"
victim = "cost-benefit"
placement = "sepbit"
[scheme.base]
victim = "greedy"
frontier = "single"
"""


def parts(result: flashgc.Result) -> tuple[str | None, str, str, str]:
    config = result.config
    return config.scheme, config.victim.split(":")[0], config.placement, config.frontier


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("greedy", ("greedy", "greedy", "none", None)),
        ("gc-cb", ("gc-cb", "cost-benefit", "dac:regions=3", None)),
        ("greedy + sepbit", ("greedy + sepbit", "greedy", "sepbit", None)),
        ("greedy pool sepbit", ("greedy + sepbit + pool", "greedy", "sepbit", "pool")),
        ("fifo+dac:regions=2+pool:low=3", ("fifo + dac:regions=2 + pool:low=3", "fifo",
                                           "dac:regions=2", "pool:low=3")),
        ("gc-gd + pool", ("greedy + dac:regions=3 + pool", "greedy", "dac:regions=3", "pool")),
        ("mine = gc-gd", ("mine", "greedy", "dac:regions=3", None)),
        ("EDT (ours) = fifo + none", ("EDT (ours)", "fifo", "none", None)),
        ("a = python:a b+c.py:X,y=1 + python:a b+c.py:X",
         ("a", "python:a b+c.py:X,y=1", "python:a b+c.py:X", None)),
    ],
)  # fmt: skip
def test_a_text_has_its_parts(text: str, expected: tuple[Any, ...]) -> None:
    scheme = Scheme.parse(text)
    assert (scheme.name, scheme.victim, scheme.placement, scheme.frontier) == expected
    again = Scheme.parse(scheme.couple)
    assert (again.specs, again.frontier) == (scheme.specs, scheme.frontier)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found '', expected a victim policy"),
        ("+ dac", "found '+ dac', expected a victim policy"),
        ("gredy", "unknown scheme or victim policy 'gredy'; hint: did you mean 'greedy'"),
        ("greedy + sepbit + dac", "has a second placement, dac; hint: leave one out"),
        ("greedy + pool + single", "has a second frontier, single"),
        ("gc-gd + pool + single", "has a second frontier, single"),
        ("gc-gd + sepbit", "gc-gd has a placement already; hint: gc-gd, or greedy + sepbit"),
        ("greedy + sepbti", "'sepbti' in 'greedy + sepbti' is no placement and no frontier; hint: "
                            "did you mean 'sepbit'"),
        ("greedy + fifo", "is no placement and no frontier"),
        (" = greedy", "'' is no name for a scheme: it is empty"),
        ("gc-gd = greedy", "a scheme has this name already"),
        ("a, b = greedy", "a comma or a plus is in it"),
        ("a\tb = greedy", "it has a control character"),
        (f"{'x' * 61} = greedy", "it has 61 characters"),
        ("mine = d-choices:d=0", "d=0"),
        ("mine = greedy + dac:regions=0", "regions=0"),
        ("mine = greedy + pool:low=0x", "low=0x"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_scheme_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        flashgc.compare([], SOURCE, scheme=["greedy", text], **DRIVE)
    assert message in str(caught.value)
    assert str(caught.value).startswith("scheme: ")


@pytest.mark.parametrize(
    ("schemes", "options", "message"),
    [
        (["a = greedy", "a = fifo"], {}, "two schemes have the name 'a'"),
        (["a = greedy", "a = greedy"], {}, "'a = greedy' is given twice"),
        (["a = greedy", "a =  greedy"], {}, "'a' is given twice"),
        (["greedy + pool"], {"frontier": "pool"}, "'greedy + pool' names a frontier, and so does"),
        (["greedy + pool"], {"kind": "timed", "device": "tlc", "writes": None, "requests": 1000},
         "the planes of a timed drive always have a pool"),
        (["greedy"], {"victim": "greedy"}, "victim does not go with scheme"),
        (["greedy"], {"placement": "sepbit"}, "placement does not go with scheme"),
        (["greedy"], {"mapping": "fast"}, "which chooses its own blocks"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    schemes: list[str], options: dict[str, Any], message: str
) -> None:
    given = {**DRIVE, **options}
    victims: Any = [given.pop("victim")] if "victim" in given else []
    with pytest.raises(ConfigError) as caught:
        flashgc.compare(victims, SOURCE, scheme=schemes, **given)
    assert message in str(caught.value)


def test_a_scheme_runs_as_its_parts_do() -> None:
    plain = flashgc.run(SOURCE, victim="fifo", placement="sepbit", frontier="pool", **DRIVE)
    named = flashgc.run(SOURCE, scheme="mine = fifo + sepbit", **DRIVE)
    by_object = flashgc.run(SOURCE, scheme=Scheme("mine", "fifo", "sepbit"), **DRIVE)
    assert plain.digest == named.digest == by_object.digest
    assert parts(named) == parts(by_object) == ("mine", *parts(plain)[1:])
    assert plain.config.scheme is None
    assert "scheme" not in plain.to_dict()["config"]
    assert (plain.label, named.label) == (plain.policy, "mine")


@pytest.mark.parametrize(
    ("scheme", "options", "frontier"),
    [
        ("greedy", {}, "pool:low=2"),
        ("greedy", {"frontier": "single"}, "single"),
        ("greedy + double", {}, "double"),
        ("gc-gd", {"frontier": "pool:low=3"}, "pool:low=3"),
    ],
)
def test_the_frontier_is_that_of_the_scheme_or_of_the_drive_or_the_pool(
    scheme: str, options: dict[str, Any], frontier: str
) -> None:
    assert flashgc.run(SOURCE, scheme=scheme, **DRIVE, **options).config.frontier == frontier


def test_a_scheme_of_the_list_can_be_given_as_it_is() -> None:
    for scheme in flashgc.schemes()[:2]:
        by_object = flashgc.run(SOURCE, scheme=scheme, **DRIVE)
        assert by_object.digest == flashgc.run(SOURCE, scheme=scheme.name, **DRIVE).digest
        assert by_object.config.scheme == scheme.name
    with pytest.raises(ConfigError, match="a scheme has this name already"):
        flashgc.run(SOURCE, scheme=Scheme("gc-gd", "greedy", "dac:regions=4"), **DRIVE)


def test_schemes_have_objects_of_programs() -> None:
    plain = flashgc.run(SOURCE, victim=Due, placement=Due, frontier="pool", **DRIVE)
    ranking = flashgc.compare([], SOURCE, scheme=[Scheme("due", Due, Due), "greedy"], **DRIVE)
    results = {rank.result.label: rank.result for rank in ranking}
    assert results["due"].digest == plain.digest
    assert {*results} == {"due", "greedy"}


def test_a_table_of_an_experiment_is_a_scheme(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "due.py").write_text(FILE.read_text())
    (folder / "e.toml").write_text(TABLES)
    done = command("compare", "deep/e.toml", "--json")
    assert done.returncode == 0, done.stderr
    results = [rank["result"] for rank in json.loads(done.stdout)["ranking"]]
    schemes = {result["config"]["scheme"]: result for result in results}
    assert {*schemes} == {"Due (ours)", "SepBIT", "base"}
    plain = flashgc.run(SOURCE, victim=Due, placement=Due, frontier="pool", **DRIVE)
    assert schemes["Due (ours)"]["digest"] == plain.digest
    assert schemes["base"]["config"]["frontier"] == "single"
    # The command line, and the key of the file, name those that are run.
    done = command("run", "deep/e.toml", "--scheme", "due", "--json")
    assert json.loads(done.stdout)["digest"] == plain.digest, done.stderr
    (folder / "e.toml").write_text(TABLES + "[gc]\nscheme = ['base', 'gc-gd']\n")
    done = command("compare", "deep/e.toml", "--json")
    results = [rank["result"] for rank in json.loads(done.stdout)["ranking"]]
    assert {result["config"]["scheme"] for result in results} == {"base", "gc-gd"}, done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scheme = 3\n", "e.toml:1:1: found 3, expected tables; hint: write [scheme.mine]"),
        ("[scheme]\nmine = 3\n", "e.toml:2:1: found 3, expected a table"),
        ("[scheme.mine]\nvictm = 'greedy'\n", "e.toml:2:1: unknown key 'victm' in [scheme.mine]"),
        ("[scheme.mine]\nplacement = 'dac'\n", "e.toml:1:9: the scheme has no victim policy"),
        ("[scheme.mine]\nvictim = ['a', 'b']\n", "e.toml:2:1: found ['a', 'b'], expected a text"),
        ("[scheme.mine]\nvictim = 'greedy + dac'\n", "hint: give each in its key"),
        ("[scheme.mine]\nvictim = 'gc-gd'\n", "hint: give each in its key"),
        ("[scheme.mine]\nvictim = 'gredy'\n", "did you mean 'greedy'"),
        ("[scheme.gc-gd]\nvictim = 'greedy'\n", "a scheme has this name already"),
        ("[scheme.mine]\nvictim = 'greedy'\n[gc]\nvictim = 'fifo'\n", "does not go with"),
        ("[scheme.mine]\nvictim = 'greedy'\n[gc]\nscheme = 'mnie'\n", "mnie"),
    ],
)
def test_a_table_that_is_no_scheme_is_refused_with_its_place(
    text: str, message: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "e.toml").write_text(text)
    done = command("compare", "e.toml", *TYPED)
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()
    assert message in line


def test_the_schema_of_experiments_has_the_tables(command: Command) -> None:
    tables = json.loads(command("schema").stdout)["properties"]["scheme"]["additionalProperties"]
    assert {*tables["properties"]} == {"victim", "placement", "frontier", "label"}
    assert tables["required"] == ["victim"]


def test_the_first_column_has_the_schemes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "due.py").write_text(FILE.read_text())
    (tmp_path / "e.toml").write_text(TABLES)
    done = command("compare", "e.toml", "--out", "t.csv", "--frontier", "pool", "--scheme", "due",
                   "--scheme", "sepbit")  # fmt: skip
    assert done.returncode == 0, done.stderr
    heading = next(line for line in done.stdout.splitlines() if line.startswith("#"))
    # Placements differ, and the name says so.
    assert heading.split()[:3] == ["#", "scheme", "write"]
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert {row["name"] for row in rows} == {row["scheme"] for row in rows}
    assert {row["scheme"] for row in rows} == {"Due (ours)", "SepBIT"}
    assert {row["placement"] for row in rows} == {"python:due.py:Due", "sepbit:classes=6"}


def test_schemes_are_an_axis_of_a_sweep_and_rows_of_a_table(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "due.py").write_text(FILE.read_text())
    (tmp_path / "g.toml").write_text(TABLES.replace('"20%"', '["20%", "30%"]'))
    done = command("sweep", "g.toml", "--out", "t.csv", "--quiet")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert {row["scheme"] for row in rows} == {"Due (ours)", "SepBIT", "base"}
    plain = flashgc.run(SOURCE, victim=Due, placement=Due, frontier="pool", **DRIVE)
    (row,) = [row for row in rows if row["scheme"] == "Due (ours)" and row["spare"] == "0.2"]
    assert float(row["write_amplification"]) == pytest.approx(plain.write_amplification, rel=1e-5)
    table = command("table", "g.results").stdout
    assert [line.split("  ")[0] for line in table.splitlines()[1:4]] == [
        "Due (ours)", "SepBIT", "base",
    ]  # fmt: skip


def test_a_scheme_in_python_is_a_row_of_foresight(tmp_path: Path) -> None:
    (tmp_path / "due.py").write_text(FILE.read_text())
    text = f"due = python:{tmp_path / 'due.py'}:Due + python:{tmp_path / 'due.py'}:Due"
    gap = flashgc.gap(
        SOURCE, blocks=400, pages_per_block=16, spare="20%", writes="2x", runs=2, schemes=[text],
        sigma=[1], classes=4,
    )  # fmt: skip
    (row,) = [row for row in gap if row.name == "due"]
    plain = flashgc.run(
        SOURCE, victim=Due, placement=Due, frontier="pool", **{**DRIVE, "blocks": 400}
    )
    assert row.digest == plain.digest
    for given, message in (
        (Scheme("due", Due, Due), "is in no file"),
        ("greedy + pool + sepbit", "all rows have the pool frontier"),
        ("due = python:nosuch.py:Due", "nosuch.py: no such file"),
    ):
        with pytest.raises(ConfigError, match=message):
            flashgc.gap(SOURCE, blocks=400, pages_per_block=16, schemes=[given])


#: A placement whose parameter is the number of classes that it uses.
COUNTED = """
class Counted:
    classes = 4
    def __init__(self, used: int = 1) -> None:
        self.used = used
    def host(self, page, stream, old, now):
        return page % self.used
    def copy(self, page, from_, zombie, now):
        return page % self.used
"""


def test_the_parameters_of_a_class_are_searched(tmp_path: Path) -> None:
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    tuned = flashgc.tune(
        SOURCE, victim=["greedy"], placement=[f"python:{file}:Counted,used=1..4"],
        frontier=["pool:low=2"], budget=6, **{**DRIVE, "writes": "1x"},
    )  # fmt: skip
    placements = {entry.candidate.placement for entry in tuned}
    # The default of the class, and numbers of the range.
    bare = f"python:{file}:Counted"
    assert bare in placements
    assert len(placements) > 1
    assert placements <= {"none", bare, *(f"{bare},used={used}" for used in range(1, 5))}
    for text, message in (
        ("used=4..1", "used=4..1 is no range of numbers"),
        ("used=1..x", "used=1..x is no range of numbers"),
        ("usde=1..4", "has no parameter 'usde'"),
    ):
        with pytest.raises(ConfigError, match=message):
            flashgc.tune(SOURCE, placement=[f"{bare},{text}"], **DRIVE)


def test_a_search_tries_schemes_by_name(tmp_path: Path) -> None:
    tuned = flashgc.tune(
        SOURCE, scheme=["mine = fifo + sepbit", "gc-gd"], frontier=["pool:low=2"], budget=4, **DRIVE
    )
    assert {entry.candidate.victim.split(":")[0] for entry in tuned} >= {"fifo", "greedy"}
    with pytest.raises(ConfigError, match="names a frontier, which a search chooses itself"):
        flashgc.tune(SOURCE, scheme=["greedy + pool"], **DRIVE)


def test_a_name_says_only_what_the_scheme_does_not() -> None:
    configs = [
        {"scheme": "a", "victim": "greedy", "placement": "dac", "frontier": "pool", "spare": 0.1},
        {"scheme": "b", "victim": "fifo", "placement": "sepbit", "frontier": "pool", "spare": 0.1},
        {"scheme": "b", "victim": "fifo", "placement": "sepbit", "frontier": "pool", "spare": 0.2},
    ]
    assert [name(config, configs) for config in configs] == ["a, spare 10%", "b, spare 10%",
                                                             "b, spare 20%"]  # fmt: skip


def test_a_device_with_a_policy_takes_a_scheme_instead() -> None:
    timed = {"kind": "timed", "device": "tlc", "blocks": 4096, "spare": "20%"}
    result = flashgc.run(SOURCE, scheme="mine = fifo + sepbit", requests=2000, warmup="0", **timed)
    assert parts(result)[:3] == ("mine", "fifo", "sepbit:classes=6")


def test_a_stored_drive_is_made_with_a_scheme(tmp_path: Path) -> None:
    shape = {"capacity": "64MiB", "pages_per_block": 64}
    stats = []
    for number, policies in enumerate(
        ({"scheme": "mine = fifo + dac"}, {"victim": "fifo", "placement": "dac"})
    ):
        with Device.create(tmp_path / f"{number}.flash", **shape, **policies) as drive:
            pages = drive.size // 4096
            draw = Random(1)
            for _ in range(3 * pages):
                drive.write(draw.randrange(pages) * 4096, bytes(4096))
            counters = drive.stat()["counters"]
            stats.append({key: counters[key] for key in ("host_pages_written", "copied_pages")})
    assert stats[0] == stats[1]
    assert stats[0]["copied_pages"] > 0
