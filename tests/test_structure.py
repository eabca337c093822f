"""Files of a crate that need each other in a circle: few, and known."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

SPEC = importlib.util.spec_from_file_location("structure", ROOT / "scripts" / "structure.py")
assert SPEC is not None
assert SPEC.loader is not None
structure: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(structure)

#: Files of the largest circle of a crate; 0 where there is none. A lower number is always fine.
LARGEST = {
    "base": 0,
    "derive": 0,
    "device": 0,
    "drive": 0,
    "experiment": 0,
    "front": 0,
    "ftl": 2,
    "hints": 2,
    "host": 0,
    "model": 0,
    "python": 3,
    "timed": 3,
    "workload": 5,
}


def test_no_circle_grows() -> None:
    found = {}
    for folder in sorted((ROOT / "crates").iterdir()):
        _, circles = structure.measured(folder)
        found[folder.name] = max(map(len, circles), default=0)
    assert found.keys() == LARGEST.keys()
    grown = {name: size for name, size in found.items() if size > LARGEST[name]}
    assert not grown, "scripts/structure.py --arrows CRATE shows them"


FILES = {
    # A name that is passed on, a group, a path in the code, a test, a comment, and a room.
    "lib.rs": "pub mod a;\npub mod b;\npub mod c;\nmod room;\npub use a::First;\n",
    "a.rs": "use crate::{b::{Second, other}, c};\npub struct First;\n// use crate::room::Door;\n",
    "b.rs": "pub struct Second;\npub fn other() {{ {b} }}\n"
    "#[cfg(test)]\nmod tests {{ use crate::a; }}\n",
    "c.rs": "pub fn third() {}\n",
    "room/mod.rs": "mod door;\npub use door::Door;\npub struct Room(door::Lock);\n",
    "room/door.rs": "use super::Room;\npub struct Door;\npub struct Lock;\nimpl Room {}\n",
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", []),
        ('"crate::First"', []),
        ("crate::First", [[("a",), ("b",)]]),
        ("crate::a::First", [[("a",), ("b",)]]),
        ("super::room::Door", []),
    ],
)
def test_a_circle_is_found_by_what_its_files_name(
    tmp_path: Path, body: str, expected: list[list[tuple[str, ...]]]
) -> None:
    for name, text in FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(b=body) if name == "b.rs" else text, encoding="utf-8")
    crate, circles = structure.measured(tmp_path)
    assert circles == expected
    graph = crate.graph()
    assert graph["a",] == {("b",), ("c",)}
    assert graph["room",] == set()
