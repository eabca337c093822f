"""Parameters of policies in Python: types by the signature, errors, and the key of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flashgc import ConfigError, compare, find, run
from flashgc.policy_files import Files, load_policies, parted
from flashgc.store.identity import Contents, key_of

DRIVE: dict[str, Any] = {
    "workload": "hotcold:f=0.1,r=0.9",
    "blocks": 200,
    "pages_per_block": 16,
    "frontier": "pool",
    "writes": "2x",
}

CODE = '''
from __future__ import annotations
from typing import Literal


class Split:
    """Pages below a limit have a class of their own; victims have the fewest valid pages."""

    classes = 2

    def __init__(self, share: float = 0.1, *, copies: Literal["own", "back"] = "own", most=1):
        self.share, self.copies, self.most = share, copies, most

    def begin(self, pages, pages_per_block):
        self.limit = self.share * pages

    def host(self, page, stream, old, now):
        return int(page < self.limit)

    def copy(self, page, from_, zombie, now):
        return from_ if self.copies == "own" else 0

    def pick(self, blocks):
        assert self.most == 1 or isinstance(self.most, int)
        return blocks.valid.argmin()


def emptiest(blocks, *, skip: int = 0):
    best = blocks.valid.argmin()
    return best if not skip else min(blocks.draw(skip), key=blocks.count)


def choosy(blocks, ties):
    return blocks.valid.argmin()


made = Split(0.5)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "split.py"
    path.write_text(CODE)
    return path


def test_parameters_change_the_policy_and_defaults_do_not(file: Path) -> None:
    def amplification(values: str) -> float:
        text = f"python:{file}:Split{values}"
        python = load_policies({"victim": text, "placement": text}, {})
        result = run(victim=python["victim"][text], placement=python["placement"][text], **DRIVE)
        assert python["victim"][text] is python["placement"][text]
        return result.write_amplification or 0

    bare = amplification("")
    assert amplification(",share=0.1") == bare
    assert amplification(",most=1,share=0.1,copies=own") == bare
    assert amplification(",share=0.4") != bare
    assert amplification(",copies=back") != bare


def test_a_function_gets_keywords(file: Path) -> None:
    files = Files()
    drawn = files.load(f"python:{file}:emptiest,skip=10", "victim")
    built_in = run(victim="d-choices:d=10", **DRIVE)
    assert run(victim=drawn, **DRIVE).write_amplification == built_in.write_amplification


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("Split,shar=1", "no parameter 'shar'; hint: did you mean 'share'"),
        ("Split,share=half", "share: found 'half', expected a number; hint: share=0.25"),
        ("Split,copies=owm", "copies: found 'owm', expected own, back; hint: did you mean 'own'"),
        ("Split,most=1.5", "most: found '1.5', expected a whole number"),
        ("Split,share", "found 'share' in .*, expected PARAMETER=VALUE"),
        ("Split,=1", "found '=1' in .*, expected PARAMETER=VALUE"),
        ("Split,share=1,share=2", "gives share twice"),
        ("choosy", "choosy needs its parameter ties; hint: write choosy,ties=VALUE"),
        ("emptiest,blocks=1", "emptiest has no parameter 'blocks'"),
        (
            "made,share=1",
            "Split has no parameter 'share'; hint: leave it out, it has no parameters",
        ),
    ],
)
def test_wrong_parameters_are_refused(file: Path, values: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Files().load(f"python:{file}:{values}", "--victim")


def test_the_hint_of_a_missing_parameter_works(file: Path) -> None:
    Files().load(f"python:{file}:choosy,ties=3", "--victim")


def test_parameters_are_part_of_the_key(file: Path) -> None:
    def key(values: str) -> str:
        config = {"workload": "uniform", "victim": f"python:{file}:Split{values}"}
        return key_of(config, Contents())

    assert key("") != key(",share=0.2") != key(",share=0.3")
    assert key(",share=0.2,most=1") == key(",most=1,share=0.2")


def test_a_file_may_have_commas_and_colons() -> None:
    code = parted("python:a:b,c=1/d.py:Edt,alpha=0.25,path=x:y", "")
    assert (code.file, code.name) == ("a:b,c=1/d.py", "Edt")
    assert code.parameters == {"alpha": "0.25", "path": "x:y"}
    assert code.text("/e.py") == "python:/e.py:Edt,alpha=0.25,path=x:y"


def test_find_searches_a_parameter(file: Path) -> None:
    one = {**DRIVE, "runs": 1}
    text = f"python:{file}:emptiest,skip=1"
    found = find("victim.skip", "WA<8", victim=text, low=1, high=8, step=1, **one)
    theirs = find("victim.d", "WA<8", victim="d-choices:d=1", low=1, high=8, step=1, **one)
    assert found.value == theirs.value is not None
    assert [tried.figures for tried in found.tried] == [tried.figures for tried in theirs.tried]


def test_both_parameters_are_compared(file: Path) -> None:
    names = [f"python:{file}:emptiest,skip={skip}" for skip in (1, 4)]
    python = load_policies({"victim": names}, {})["victim"]
    ranking = compare([*python.values()], runs=1, **DRIVE)  # type: ignore[arg-type]
    assert len({rank.result.write_amplification for rank in ranking}) == 2
