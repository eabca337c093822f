"""There are no circular dependencies between files, in the crates and in Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT


def script(name: str) -> Any:
    """Return the module of a script."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


structure, house = script("structure"), script("house")


def test_no_files_of_a_crate_need_each_other() -> None:
    """``scripts/structure.py --arrows CRATE`` shows the dependencies."""
    crates = sorted((ROOT / "crates").iterdir())
    assert {crate.name: structure.measured(crate)[1] for crate in crates} == {
        crate.name: [] for crate in crates
    }


#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)


@pytest.fixture(scope="module")
def python() -> Any:
    """The modules of Python and their imports."""
    return structure.Package(structure.PACKAGES)


def test_no_modules_of_python_need_each_other(python: Any) -> None:
    """``scripts/structure.py --arrows flashgc`` shows the dependencies."""
    assert structure.circles(python.graph()) == []


def test_no_rooms_need_each_other(python: Any) -> None:
    """A room is a folder at the top, or a file there. See ``scripts/structure.py --rooms``."""
    crates = {path.name: structure.Crate(path) for path in (ROOT / "crates").iterdir()}
    for name, part in {**crates, "python": python}.items():
        assert structure.circles(part.rooms()) == [], name


def test_a_circle_of_rooms_needs_no_circle_of_files(tmp_path: Path) -> None:
    for path, text in {
        "lib": "mod left;\nmod right;\n",
        "left": "mod a;\nmod b;\n",
        "left/a": "use crate::right::c::C;\npub struct A(C);\n",
        "left/b": "pub struct B;\n",
        "right": "pub mod c;\nmod d;\n",
        "right/c": "pub struct C;\n",
        "right/d": "use crate::left::b::B;\nstruct D(B);\n",
    }.items():
        file = tmp_path / "src" / f"{path}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    crate, circles = structure.measured(tmp_path)
    assert circles == []
    assert structure.circles(crate.rooms()) == [[("left",), ("right",)]]


def test_nothing_of_flashgc_needs_the_papers(python: Any) -> None:
    needing = {
        module
        for module, needed in python.graph().items()
        if module[0] == "flashgc" and any(target[0] != "flashgc" for target in needed)
    }
    assert needing == set()


def test_papers_have_what_is_private_in_flashgc_from_one_module(python: Any) -> None:
    private = {
        module
        for module, uses in python.uses.items()
        if module[0] == "flashgc_papers"
        for names in uses
        if names[0] == "flashgc" and any(name.startswith("_") for name in names)
    }
    assert private == {("flashgc_papers", "engine")}


def test_nothing_else_needs_the_command(python: Any) -> None:
    """Only modules in folders ``command`` need it. The papers have such a folder, too."""
    command = ("flashgc", "command")
    needing = {
        module
        for module, needed in python.graph().items()
        if any(target[:2] == command for target in needed) and module[:2] != command
    }
    assert {module for module in needing if "command" not in module} == {
        ("flashgc", "__main__")  # `python -m flashgc` is the command.
    }


MODULES = {
    # A re-exported name, a late import, an import for type checkers, and a package.
    "__init__.py": "from x.a import First as First\n",
    "a.py": "class First: ...\n{a}\n",
    "b.py": "def second():\n    from x import First\n    return First\n",
    "room/__init__.py": "from x.room.door import Door as Door\n",
    "room/door.py": "import x.room\nclass Door: ...\n",
    "room/key.py": "{key}\n",
}


def packaged(folder: Path, *, a: str = "", key: str = "") -> Any:
    """Writes the package, with an extra line in ``a.py`` and one in ``room/key.py``."""
    for name, text in MODULES.items():
        path = folder / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{a}", a).replace("{key}", key), encoding="utf-8")
    return structure.Package({"x": folder})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("from x.b import second", [[("x", "a"), ("x", "b")]]),
        ("import x.b", [[("x", "a"), ("x", "b")]]),
        ("def late():\n    from x import b", [[("x", "a"), ("x", "b")]]),
        ("if TYPE_CHECKING:\n    from x import b", []),
        ("from x.room import Door", []),
    ],
)
def test_a_circle_of_modules_is_found_by_what_they_import(
    tmp_path: Path, line: str, expected: list[list[tuple[str, ...]]]
) -> None:
    graph = packaged(tmp_path, a=line).graph()
    assert structure.circles(graph) == expected
    assert graph["x", "b"] == {("x", "a")}
    assert graph["x", "room", "door"] == set()
    assert (("x", "room", "door") in graph["x", "a"]) == ("Door" in line)


def test_a_circle_of_folders_is_found_where_no_modules_are_in_one(tmp_path: Path) -> None:
    package = packaged(tmp_path, a="from x.room.door import Door", key="from x.b import second")
    assert structure.circles(package.graph()) == []
    assert structure.circles(package.rooms()) == [[("x", "a"), ("x", "b"), ("x", "room")]]


FILES = {
    # A re-exported name, a group of imports, a path in code, a test, a comment, and a room.
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


HOUSE = {
    "crates/a/src/lib.rs": "//! A.\nmod b;\n#[cfg(test)]\nmod tests;\npub struct Found;\n"
    "pub fn begin() {\n    b::end(); // c\n}\n",
    "crates/a/src/b.rs": "use super::Found;\n\npub struct Other;\npub fn end() { let one = 1; }\n"
    "#[cfg(test)]\nmod tests {\n    fn end() {}\n}\n",
    "crates/a/src/tests.rs": "fn long() {\n}\n",
    "python/p/a.py": '"""Text."""\n\n#: A comment.\ndef f(told):\n    found = "slc"\n',
    "tests/test_a.py": "def test(): ...\n",
}


def test_counters_of_a_small_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, text in HOUSE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    paths = {"all": "lib:begin b:end", "less": "lib:begin b:gone? b:end", "none": "b:end lib:begin"}
    monkeypatch.setattr(house, "PATHS", paths)
    counters = house.House(tmp_path).counters()
    assert (counters["lines: Rust"], counters["lines: python/p"]) == (5 + 3, 2)
    assert counters["lines: tests"] == 1
    assert counters["circles of files"] == counters["circles of folders"] == 0
    assert counters["arrows back in crates"] == 1
    assert counters["longest in Rust, 1"] == "3 begin (lib.rs)"
    assert counters["vague types"] == counters["vague variables, Rust"] == 1
    assert counters["vague variables, Python"] == 2
    crossed = {name: counters[f"files crossed by {name}"] for name in paths}
    assert crossed == {"all": "2", "less": "2", "none": "1 lib:begin?"}
    assert counters["files that name --slc"] == 1
