"""The parts of results as types: ``make docs``.

    .venv/bin/python scripts/docs/parts.py

writes the modules of ``python/flashgc/results/parts``. With ``--check`` it only tests whether they
are up to date.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc.registry import listing
from keywords import write

TARGET = Path(__file__).resolve().parent.parent.parent / "python/flashgc/results/parts"
_HEADER = '''\
"""{text}

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

{imports}'''
#: The docstrings of the modules.
_TEXTS = {
    "counts": "The counts of results, in the measured parts of all runs.",
    "run": "The parts that every result has.",
    "life": "The wear of the flash: its busy time, and the life of drives with an endurance.",
    "host": "The parts of a host: its traffic, its hints, its streams and its page cache.",
    "clock": "The parts of drives with a clock: response times, and the activity of the drive.",
    "trace": "The statistics of a trace, and its replays.",
}
#: Types of plain values, in Rust and in Python.
_VALUES = {
    **dict.fromkeys(("u16", "u32", "u64", "usize", "StreamId"), "int"),
    **dict.fromkeys(("String", "&'staticstr"), "str"),
    "bool": "bool",
    "f64": "float",
    "Notes": "tuple[str, ...]",
    "Finding": "results.Finding",
    "Merges": "results.Merges",
    "FullConfig": "results.Config",
}
#: Fields of a result's JSON for which properties or classes are written by hand.
_OWN = {"page_amplification", "write_amplification_with_parity", "timed", "groups"}
_Entry = Mapping[str, Any]


class Parts:
    """The classes of all parts."""

    def __init__(self, counts: Sequence[_Entry], parts: Mapping[str, Sequence[_Entry]]) -> None:
        self.counts = counts
        self.parts = parts
        every = (*counts, *(entry for group in parts.values() for entry in group))
        self.entries = {entry["type"]: entry for entry in every}

    def modules(self) -> Iterator[tuple[str, str]]:
        """Yields the names and the texts of the modules."""
        for name, text in _TEXTS.items():
            classes = self._counts() if name == "counts" else self._classes(self.parts[name])
            body = "".join(classes)
            yield name, _HEADER.format(text=text, imports=_imports(body)) + body

    def texts(self) -> dict[str, dict[str, str]]:
        """The texts of the fields of each class."""
        texts = {
            entry["name"]: {count["name"]: count["text"] for count in entry["counts"]}
            for entry in self.counts
        }
        for entry in (entry for group in self.parts.values() for entry in group):
            fields = {field["name"]: _plain(field["text"]) for field in self._fields(entry)}
            texts[entry["name"]] = fields
        return texts

    def _counts(self) -> Iterator[str]:
        for entry in self.counts:
            yield _class(
                entry, [], ((count, f"    {count['name']}: int") for count in entry["counts"])
            )

    def _classes(self, entries: Sequence[_Entry]) -> Iterator[str]:
        own = {entry["name"] for entry in entries}
        for entry in entries:
            if entry["name"]:
                above = [self._named(field) for field in entry["fields"] if self._is_above(field)]
                above = [name if name in own else f"counts.{name}" for name in above]
                fields = sorted(self._fields(entry), key=lambda field: field["optional"])
                yield _class(entry, above, ((field, self._line(field)) for field in fields))

    def _named(self, field: _Entry) -> str:
        return str(self.entries[_counted(field["type"])]["name"])

    def _is_above(self, field: _Entry) -> bool:
        return field["flat"] and field["name"] not in _OWN and bool(self._named(field))

    def _fields(self, entry: _Entry) -> Iterator[_Entry]:
        """Yields the fields of a part; flattened parts are replaced by their fields."""
        for field in entry["fields"]:
            if field["name"] in _OWN or self._is_above(field):
                continue
            if field["flat"]:
                yield from self._fields(self.entries[field["type"]])
            else:
                yield field

    def _line(self, field: _Entry) -> str:
        kind = self._python(field["type"])
        is_hidden = kind.startswith("tuple") and field["name"] in _HIDDEN
        default = "()" if kind.startswith("tuple") else "False" if kind == "bool" else "None"
        words = [f"default={default}"] * field["optional"] + ["repr=False"] * is_hidden
        value = (
            f" = field({', '.join(words)})" if is_hidden else f" = {default}" * field["optional"]
        )
        return f"    {field['name']}: {kind}{value}"

    def _python(self, kind: str) -> str:
        """The Python type for a Rust type."""
        kind = _counted(kind)
        if kind in _VALUES:
            return _VALUES[kind]
        if kind in self.entries:
            return f"results.{self.entries[kind]['name']}"
        if inner := re.fullmatch(r"Option<(.*)>", kind):
            python = self._python(inner[1])
            return python if python.startswith("tuple[") and "..." in python else f"{python} | None"
        if inner := re.fullmatch(r"(?:Vec<(.*)>|\[(.*);\d+\])", kind):
            return f"tuple[{self._python(inner[1] or inner[2])}, ...]"
        if inner := re.fullmatch(r"\((\w+),(\w+)\)", kind):
            return f"tuple[{self._python(inner[1])}, {self._python(inner[2])}]"
        if inner := re.fullmatch(r"BTreeMap<String,(.*)>", kind):
            return f"Mapping[str, {self._python(inner[1])}]"
        raise ValueError(f"no type in Python for {kind}")


#: Fields with many numbers, which the text form of a result leaves out.
_HIDDEN = {
    "bus", "bytes_per_second", "collecting", "die", "distribution", "failures", "histogram",
    "max_us", "mean_us", "requests_per_second", "series",
}  # fmt: skip


def _imports(body: str) -> str:
    """The imports of a module with this body, each line with its end."""
    standard = ["from collections.abc import Mapping"] * ("Mapping[" in body)
    standard.append("from dataclasses import dataclass" + ", field" * (" = field(" in body))
    ours = ["from flashgc import results"] * bool(re.search(r"\bresults\.[A-Z]", body))
    ours += ["from flashgc.results.parts import counts"] * bool(re.search(r"\bcounts\.[A-Z]", body))
    return "".join(f"{line}\n" for line in (*standard, *[""] * bool(ours), *ours))


def _counted(kind: str) -> str:
    return re.sub(r"^NamedCounts<(\w+)>$", r"\1", kind)


def _class(entry: _Entry, above: Sequence[str], fields: Iterator[tuple[_Entry, str]]) -> str:
    paragraphs = re.split(r"\n\n|(?<=\.) ", entry["text"], maxsplit=1)
    summary, *more = (_wrapped(text, "    ") for text in (f'"""{paragraphs[0]}', *paragraphs[1:]))
    text = "\n\n".join([summary, *more])
    end = "\n    " if more or "\n" in text else ""
    heading = f"class {entry['name']}({', '.join(above)}):" if above else f"class {entry['name']}:"
    lines = "".join(f"{_wrapped(field['text'], '    #: ')}\n{line}\n" for field, line in fields)
    return f'\n\n@dataclass(frozen=True)\n{heading}\n{text}{end}"""\n\n{lines}'


def _plain(text: str) -> str:
    """A text of the engine without links, and with Python's `True` and `False`."""
    text = re.sub(r"\[(`[^`]*`)\](?:\([^)]*\))?", r"\1", text)
    return re.sub("`(true|false)`", lambda word: f"`{word[1].title()}`", text)


def _wrapped(text: str, before: str) -> str:
    lines = textwrap.wrap(
        _plain(text).replace("`", "``"), 100 - len(before), break_on_hyphens=False
    )
    return "\n".join(f"{before}{line}" for line in lines)


def declared() -> Parts:
    """The parts as the engine declares them."""
    return Parts(listing()["counts"], json.loads(_core.result_parts()))


@functools.cache
def texts() -> dict[str, dict[str, str]]:
    """The texts of the fields of each class."""
    return declared().texts()


def main(arguments: list[str]) -> int:
    """Writes or checks the module, and returns the exit status."""
    modules = declared().modules()
    return max([write(TARGET / f"{name}.py", text, arguments) for name, text in modules])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
