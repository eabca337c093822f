"""Finds circular dependencies of files in the crates, and of modules in the Python packages.

Usage: python scripts/structure.py [--rooms] [--arrows] [NAME ...]; without names, all crates and
packages.

A file needs another one if it names something that is declared there: in a `use`, or by a path that
begins with `crate`, `self` or `super`. A name that a file only re-exports (`pub use`) counts for
the file that declares it. Tests are left out. So are names from the file's own parent or child
folder, because the methods of a type may be spread over the files of its folder.

A module of Python needs the modules that it imports at run time, at its top or later. Imports for
type checkers do not count. A name that a package re-exports counts for the module that declares it.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Names = tuple[str, ...]
Graph = dict[Names, set[Names]]


def without_tests(text: str) -> str:
    """The code of a file without comments, contents of strings, and items only for tests."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'r#".*?"#|"(?:\\.|[^"\\])*"', '""', text, flags=re.S)
    text = re.sub(r"'(?:\\.|[^'\\])'", "' '", text)
    marker = re.compile(r"#\[cfg\((?:test|all\(test[^]]*|any\(test[^]]*)\)\]")
    while start := marker.search(text):
        end = start.end()
        depth = 0
        while end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0 and text[end - 1] in ";}":
                break
        text = text[: start.start()] + text[end:]
    return text


def leaves(tree: str) -> Iterator[tuple[Names, str]]:
    """Yields each path of a `use`, with the local name that it gets."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, new = tree.partition(" as ")
        names = tuple(name.strip() for name in path.split("::") if name.strip())
        if names and names[-1] == "self":
            names = names[:-1]
        if names:
            yield names, new.strip() or names[-1]
        return
    before = tuple(name.strip() for name in head.split("::") if name.strip())
    depth, start, inner = 0, 0, rest[: rest.rindex("}")]
    for place, sign in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            for names, name in leaves(inner[start:place]):
                yield before + names, name
            start = place + 1


class Crate:
    """The modules of a crate, and the names that each uses."""

    def __init__(self, folder: Path) -> None:
        self.paths: dict[Names, Path] = {}
        self.uses: dict[Names, list[tuple[Names, str, bool]]] = {}
        source = folder / "src"
        for path in sorted(source.rglob("*.rs")):
            names = path.relative_to(source).with_suffix("").parts
            module = names[:-1] if names[-1] in ("mod", "lib") else names
            self.paths[module] = path
        tests = {module for module in self.paths if self._for_tests(module)}
        for module in [*self.paths]:
            if any(module[:length] in tests for length in range(1, len(module) + 1)):
                del self.paths[module]
        for module, path in self.paths.items():
            code = without_tests(path.read_text())
            uses = [
                (self._absolute(module, names), name, bool(public))
                for public, tree in re.findall(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);", code)
                for names, name in leaves(tree)
            ]
            rest = re.sub(r"\buse\s+[^;]+;", "", code)
            for inline in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", rest):
                names = tuple(inline.split("::"))
                uses.append((self._absolute(module, names), names[-1], False))
            local = {
                name: names for names, name, _ in uses if names[0] == "crate"
            }  # `use crate::timed::words;` and then `words::f`
            for first, second in re.findall(r"(?<!::)\b(\w+)::(\w+)", rest):
                if first in local:
                    uses.append(((*local[first], second), second, False))
                elif (*module, first) in self.paths:
                    uses.append((("crate", *module, first, second), second, False))
            self.uses[module] = uses

    def _for_tests(self, module: Names) -> bool:
        parent = self.paths.get(module[:-1])
        if not module or parent is None:
            return False
        pattern = rf"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod {module[-1]};"
        return re.search(pattern, parent.read_text()) is not None

    def _absolute(self, module: Names, names: Names) -> Names:
        if names[0] == "crate":
            return names
        base = module
        if names[0] in ("super", "self"):
            while names and names[0] in ("super", "self"):
                base = base[:-1] if names[0] == "super" else base
                names = names[1:]
            return ("crate", *base, *names)
        if (*base, names[0]) in self.paths:
            return ("crate", *base, *names)
        return names

    def declares(self, names: Names, seen: frozenset[Names] = frozenset()) -> Names | None:
        """The module that declares the item at the path `names`."""
        if names[0] != "crate" or names in seen:
            return None
        names = names[1:]
        length = len(names)
        while names[:length] not in self.paths:
            length -= 1
        module = names[:length]
        if length < len(names):
            for path, name, public in self.uses[module]:
                if public and name == names[length]:
                    further = (*path, *names[length + 1 :])
                    return self.declares(further, seen | {("crate", *names)}) or module
        return module

    def graph(self) -> Graph:
        """The files that each file needs."""
        graph: Graph = {}
        for module, uses in self.uses.items():
            needed = graph.setdefault(module, set())
            for names, _, public in uses:
                target = None if public and names[0] == "crate" else self.declares(names)
                if target is None or target == module:
                    continue
                related = target == module[: len(target)] or module == target[: len(module)]
                if not related:
                    needed.add(target)
        return graph

    def rooms(self) -> Graph:
        """The dependencies of rooms: the top folders of the crate, and the files beside them."""
        return by_room(self.graph(), 1)


#: The Python packages, by name, and the folders that they are in.
PACKAGES = {
    "flashgc": ROOT / "python",
    "flashgc_papers": ROOT / "python-papers",
}


class Package:
    """The modules of Python packages and what each imports."""

    def __init__(self, places: dict[str, Path]) -> None:
        self.paths: dict[Names, Path] = {}
        for name, place in places.items():
            for path in sorted((place / name).rglob("*.py")):
                names = path.relative_to(place).with_suffix("").parts
                self.paths[names[:-1] if names[-1] == "__init__" else names] = path
        trees = {module: ast.parse(path.read_text()) for module, path in self.paths.items()}
        #: For each module, the origin of each imported name, including those for type checkers.
        self.homes = {
            module: {name: names for names, name in self._imports(tree, for_checkers=True)}
            for module, tree in trees.items()
        }
        self.uses = {
            module: [names for names, _ in self._imports(tree, for_checkers=False)]
            for module, tree in trees.items()
        }

    def _imports(self, tree: ast.AST, *, for_checkers: bool) -> Iterator[tuple[Names, str]]:
        """Yields each imported name, with its local name."""
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield tuple(alias.name.split(".")), alias.asname or alias.name
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield (*node.module.split("."), alias.name), alias.asname or alias.name
            checked = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            if for_checkers or not checked:
                yield from self._imports(node, for_checkers=for_checkers)

    def declares(self, names: Names) -> Names | None:
        """The module that declares the imported name."""
        if names in self.paths:
            return names
        module, name = names[:-1], names[-1] if names else ""
        if module not in self.paths:
            return None
        home = self.homes[module].get(name)
        return (self.declares(home) if home else None) or module

    def graph(self) -> Graph:
        """The modules that each module needs."""
        return {
            module: {
                target
                for names in uses
                if (target := self.declares(names)) is not None
                and target != module
                and target != module[: len(target)]
                and module != target[: len(module)]
            }
            for module, uses in self.uses.items()
        }

    def rooms(self) -> Graph:
        """The dependencies of rooms: the top folders of each package, and modules beside them."""
        return by_room(self.graph(), 2)


def by_room(graph: Graph, depth: int) -> Graph:
    """The rooms that each room needs. Modules whose first ``depth`` names are equal share one."""
    rooms: Graph = {}
    for module, needed in graph.items():
        room = rooms.setdefault(module[:depth], set())
        room |= {target[:depth] for target in needed} - {module[:depth]}
    return rooms


def circles(graph: Graph) -> list[list[Names]]:
    """The strongly connected parts of a graph with more than one member, the largest first."""

    def reach(start: Names) -> set[Names]:
        seen, waiting = set(), [start]
        while waiting:
            for target in graph.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    reached = {start: reach(start) for start in graph}
    parts: list[list[Names]] = []
    for module in graph:
        if not any(module in circle for circle in parts):
            circle = [other for other in reached[module] if module in reached.get(other, ())]
            if len(circle) > 1:
                parts.append(sorted(circle))
    return sorted(parts, key=len, reverse=True)


def measured(folder: Path) -> tuple[Crate, list[list[Names]]]:
    """The crate in `folder` and its circles."""
    crate = Crate(folder)
    return crate, circles(crate.graph())


def main() -> None:
    """Prints the number of files of each crate and package, and the sizes of its circles."""
    parser = argparse.ArgumentParser(description="Circles of files in crates and packages.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--arrows", action="store_true", help="what the files of a circle need")
    parser.add_argument("--rooms", action="store_true", help="rooms: the first folders, not files")
    given = parser.parse_args()
    crates = sorted(folder.name for folder in (ROOT / "crates").iterdir())
    for name in [*crates, *PACKAGES]:
        if given.names and name not in given.names:
            continue
        part: Crate | Package
        if name in PACKAGES:
            part, joint = Package({name: PACKAGES[name]}), "."
        else:
            part, joint = Crate(ROOT / "crates" / name), "::"
        graph = part.rooms() if given.rooms else part.graph()
        rings = circles(graph)
        lengths = ", ".join(str(len(circle)) for circle in rings) or "none"
        print(f"{name}: {len(part.paths)} files, circles of {lengths}")
        for circle in rings if given.arrows else []:
            for module in circle:
                inside = ", ".join(joint.join(names) for names in sorted(graph[module] & {*circle}))
                print(f"    {joint.join(module) or 'lib'} -> {inside}")
            print()


if __name__ == "__main__":
    main()
