"""Counts of the sources: their size, their dependencies, and the files that a change affects.

    .venv/bin/python scripts/house.py [ROOT ...]

prints a table with a column for each ROOT: this clone by default, or another (`git worktree add`).

- **lines**: of code, without blanks, comments, docstrings and tests.
- **arrows back**: dependencies of a file on its parent folder's own file. `structure.py` leaves
  them out of its circles.
- **files crossed by**: the number of files that have the functions of a path in `PATHS`. Each
  function must exist, and an earlier one must name it. Functions that break this rule follow the
  number.
- **files that name**: sources, without tests, that contain an identifier.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from structure import ROOT, Crate, Package, circles

Value = int | str
_STORED = (
    "front/src/queue:submit front/src/queue:pass front/src/queue:execute device/src/bytes:write "
    "device/src/bytes:write_parts? device/src/bytes:write_part engine/serve:write_named "
    "program:write_page page_map/collect:make_room stepwise/plane_map:write "
    "stepwise/plane_map:program_host_page program:program engine/stripes:add engine/stripes:write "
    "program:note device/src/journal:append device/src/journal:write_out"
)
#: For each operation the functions that execute it, callers before callees: `FILE:FUNCTION`, where
#: `FILE` is a part of the name of the file. A version may lack a function with `?`.
PATHS = {
    "a counting write": "drive/src/counting:step drive/src/counting:step_to_word "
    "workload/src/generate:fill page_map/mod:write_until page_map/write:write_beside "
    "page_map/write:append store/plane:program store/tables:program store/mod:kill_all",
    "a timed read": "timed/src/drive:run_events timed/src/drive:handle timed/src/drive:happens "
    "timed/src/drive:handle_other front/mod:arrivals front/mod:arrive front/mod:let_in "
    "dispatch:dispatch dispatch:begin dispatch:send dispatch:follow dispatch:send_to_die "
    "schedule/mod:accept timed/src/drive:schedule schedule/mod:begin_next schedule/serve:serve "
    "schedule/serve:start flash/mod:begin_in_cells schedule/mod:cells_done timed/src/drive:finish "
    "timed/src/drive:hand_back dispatch:done dispatch:finish dispatch:part_done dispatch:complete",
    "a stored write": _STORED,
    "an NVMe write": "nvme/connection:read nvme/connection:command nvme/connection:check "
    "nvme/commands:need nvme/connection:go_on nvme/connection:execute nvme/commands:execute "
    f"nvme/link:submit? queue:submit_reserved? {_STORED} nvme/link:done nvme/link:send",
}
NAMES = {
    "--slc": r"\bslc\b",
    "an option (write_cache)": r"\bwrite_cache\b",
    "a count (revived)": r"\brevived\b",
    "a placement (sepbit)": r"\bsepbit\b",
    "a format (tencent)": r"\btencent\b",
    "a log page (ENDURANCE)": r"\bENDURANCE\b",
    "a field of a recording (address_space)": r"\baddress_space\b",
}
VAGUE_TYPES = r"\b(?:struct|enum|type|trait|class)\s+(?:Asked|Told|Named|Found|Served|Made|Said)\b"
VAGUE = {"one", "made", "told", "found", "said", "asked"}
PACKAGES = ("python", "python-papers", "python-studies", "python-trials")


def rust_code(text: str) -> str:
    """Returns Rust without comments, strings and modules of tests."""
    tokens = r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/'
    text = re.sub(tokens, lambda part: '""' * (part[0][0] == '"'), text, flags=re.S)
    return re.sub(r"#\[cfg\((?:all\()?test.*?\n(?:mod \w+;|.*?^\}$)", "", text, flags=re.S | re.M)


def lines_of(path: Path, text: str) -> int:
    """Returns the number of lines of code of a file, without docstrings."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)) if path.suffix == ".py" else ():
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = (line.strip() for n, line in enumerate(text.splitlines(), 1) if n not in strings)
    return sum(bool(line) and not line.startswith(("# ", "#:", "#!/")) for line in lines)


class House:
    """The sources of a clone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: The crates, and their Rust files without those that are compiled only for tests.
        self.crates = [Crate(folder) for folder in sorted((root / "crates").iterdir())]
        files = {
            path.relative_to(root)
            for crate in self.crates
            for module, path in crate.paths.items()
            if module in crate.uses and path.name != "tests.rs"
        }
        texts = self._texts("crates/*/src/**/*.rs").items()
        self.rust = {path: text for path, text in texts if path in files}
        self.python = self._texts(*(f"{name}/**/*.py" for name in PACKAGES))
        self.scripts = self._texts("scripts/**/*.py", "experiments/**/*.py")
        self.tests = self._texts("tests/**/*.py", "crates/*/tests/**/*.rs")
        self.functions = self._functions()

    def _texts(self, *patterns: str) -> dict[Path, str]:
        texts = {}
        for path in sorted(path for pattern in patterns for path in self.root.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            texts[path.relative_to(self.root)] = rust_code(text) if path.suffix == ".rs" else text
        return texts

    def _functions(self) -> dict[str, list[tuple[Path, str]]]:
        """Returns the functions in Rust by name, each with its file and text."""
        head = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |unsafe |async )*fn (\w+)", re.M)
        functions = defaultdict(list)
        for path, text in self.rust.items():
            for start in head.finditer(text):
                opening = re.search(r"[{;]\s*?(?=\n)|\{.*\}$", text[start.end() :], re.M)
                if opening is None or opening[0][0] == ";":
                    continue
                end = re.compile(rf"^{start[1]}\}}", re.M).search(text, start.end())
                is_line = opening[0][-1] == "}" or end is None
                stop = start.end() + opening.end() if is_line or end is None else end.end()
                functions[start[2]].append((path, text[start.start() : stop]))
        return functions

    def sizes(self) -> Iterator[tuple[str, Value]]:
        """Yields lines of code by crate, package and kind."""
        whole: Counter[str] = Counter()
        for texts, parts in ((self.rust, 2), (self.python, 2), (self.scripts, 1), (self.tests, 1)):
            for path, text in texts.items():
                is_test = texts is self.tests
                place = "tests" if is_test else "/".join(path.parts[:parts])
                whole[f"lines: {place}"] += lines_of(path, text)
        yield "lines: Rust", sum(n for place, n in whole.items() if ": crates/" in place)
        yield "lines: Python", sum(n for place, n in whole.items() if ": python" in place)
        yield from sorted(whole.items())

    def shape(self) -> Iterator[tuple[str, Value]]:
        """Yields the numbers of circular dependencies of files and folders, and arrows back."""
        places = {path.parts[1]: self.root / path.parts[0] for path in self.python}
        for name, parts in (("files", "graph"), ("folders", "rooms")):
            graphs = [getattr(part, parts)() for part in (*self.crates, Package(places))]
            yield f"circles of {name}", sum(len(circles(graph)) for graph in graphs)
        yield "arrows back in crates", sum(map(len, map(back, self.crates)))

    def longest(self) -> Iterator[tuple[str, Value]]:
        """Yields the longest functions."""
        rust = [
            (text.count("\n") + 1, name, path)
            for name, bodies in self.functions.items()
            for path, text in bodies
        ]
        python = [
            ((node.end_lineno or 0) - node.lineno + 1, node.name, path)
            for path, text in self.python.items()
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
        ]
        for language, functions in (("Rust", rust), ("Python", python)):
            for place, (count, name, path) in enumerate(sorted(functions, reverse=True)[:3], 1):
                yield f"longest in {language}, {place}", f"{count} {name} ({path.name})"
            yield f"above 60 lines in {language}", sum(count > 60 for count, *_ in functions)

    def words(self) -> Iterator[tuple[str, Value]]:
        """Yields type names that are used twice in a crate, and vague names."""
        types = Counter(
            (path.parts[1], name)
            for path, text in self.rust.items()
            for name in re.findall(r"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait) (\w+)", text, re.M)
        )
        yield "type names used twice in a crate", sum(count > 1 for count in types.values())
        modules = [*self.python.values(), *self.scripts.values()]
        texts = (*self.rust.values(), *modules)
        yield "vague types", sum(len(re.findall(VAGUE_TYPES, text)) for text in texts)
        vague = "|".join(sorted(VAGUE))
        binding = rf"\b(?:let|for|mut)\s+\(?(?:{vague})\b|\|(?:{vague})\b|\b(?:{vague}): "
        yield "vague variables, Rust", sum(len(re.findall(binding, t)) for t in self.rust.values())
        count = sum(len(vague_variables(ast.parse(text))) for text in modules)
        yield "vague variables, Python", count

    def crossed(self) -> Iterator[tuple[str, Value]]:
        """Yields, for each path, the number of files that have its functions."""
        for name, path in PATHS.items():
            files: set[Path] = set()
            bodies: list[str] = []
            broken = []
            for step in path.split():
                place, _, function = step.rstrip("?").rpartition(":")
                here = [
                    (file, text)
                    for file, text in self.functions[function]
                    if place in str(file.with_suffix(""))
                ]
                called = not bodies or any(re.search(rf"\b{function}\b", body) for body in bodies)
                if here and called:
                    bodies += [text for _, text in here]
                    files.add(here[0][0])
                elif step[-1] != "?":
                    broken.append(f" {step}?")
            yield f"files crossed by {name}", f"{len(files)}{''.join(broken)}"

    def named(self) -> Iterator[tuple[str, Value]]:
        """Yields, for each identifier, the number of files that contain it."""
        for name, pattern in NAMES.items():
            texts = (self.root / path for path in (*self.rust, *self.python))
            count = sum(re.search(pattern, path.read_text()) is not None for path in texts)
            yield f"files that name {name}", count

    def counters(self) -> dict[str, Value]:
        """Returns all counters by name."""
        groups = (self.sizes, self.shape, self.longest, self.words, self.crossed, self.named)
        return {name: value for group in groups for name, value in group()}


def back(crate: Crate) -> set[tuple[object, object]]:
    """Returns each file of a crate with the parent whose declarations it uses."""
    return {
        (module, target)
        for module, uses in crate.uses.items()
        for names, _, _ in uses
        if (target := crate.declares(names)) is not None
        and target != module
        and target == module[: len(target)]
    }


def vague_variables(tree: ast.AST) -> list[str]:
    """Returns the vague names that are bound in a module."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    bound = [node.id for node in names if isinstance(node.ctx, ast.Store)]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return [name for name in bound if name in VAGUE]


def table(heads: Iterable[str], columns: list[dict[str, Value]]) -> str:
    """Returns a table with a line for each counter."""
    rows = [("", *heads)]
    for name in dict.fromkeys(name for column in columns for name in column):
        rows.append((name, *(str(column.get(name, "")) for column in columns)))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main() -> None:
    """Prints the counters of each root."""
    roots = [Path(word).resolve() for word in sys.argv[1:]] or [ROOT]
    print(table((root.name for root in roots), [House(root).counters() for root in roots]))


if __name__ == "__main__":
    main()
