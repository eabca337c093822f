"""Files in a policy's folder that the policy imports, and their import.

An import in such a file prefers the files of its folder, as in a program that runs there. But no
file can replace a module of the standard library or of flashgc. The import statements alone
determine the files, so the files are known before any code runs. No other file of the folder
matters. Each folder has its own modules, so that two folders may have files with the same name.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flashgc._faults import PACKAGES

#: Reads a file and returns its bytes.
Read = Callable[[str], bytes]
#: An import statement: the number of dots before the name, the name, and the names imported from
#: it.
Statement = tuple[int, str, tuple[str, ...]]


@dataclass(frozen=True)
class Source:
    """A Python file as it was read."""

    #: Its path. The folder is that of the policy's file, as the user gave it.
    path: str
    source: bytes
    #: The package to which ``from .`` refers in the file; empty for the folder itself.
    package: str


def sources(file: str, read: Read) -> tuple[Source, dict[str, Source]]:
    """Return the file of a policy and, by module name, the files of its folder that it imports.

    The files that an imported file imports are included. ``read`` reads each file once. Its
    :class:`OSError` is passed on.
    """
    folder = os.path.dirname(os.path.realpath(file) if os.path.islink(file) else file)
    own = Source(file, read(file), "")
    if not file.endswith(".py"):
        return own, {}  # A compiled library.
    sources: dict[str, Source] = {}
    waiting = [own]
    while waiting:
        source = waiting.pop()
        for name in _names(source):
            if name in sources or (place := _place(folder, name)) is None:
                continue
            package = name if _is_package(place) else name.rpartition(".")[0]
            sources[name] = Source(place, read(place), package)
            waiting.append(sources[name])
    return own, sources


def _names(source: Source) -> list[str]:
    """The modules that a file may import, each after the packages that contain it."""
    names = []
    for dots, name, taken in _statements(source.source):
        base = _absolute(source.package, dots, name)
        if base is None:
            continue
        parts = base.split(".") if base else []
        names += [".".join(parts[: end + 1]) for end in range(len(parts))]
        names += [".".join([*parts, word]) for word in taken]
    return names


def _absolute(package: str, dots: int, name: str) -> str | None:
    """The absolute name of a module in the folder; ``None`` if the dots lead out of the folder.

    >>> _absolute("shapes", 1, "round"), _absolute("shapes", 2, ""), _absolute("shapes", 3, "")
    ('shapes.round', '', None)
    """
    if not dots:
        return name
    parts = package.split(".") if package else []
    if dots - 1 > len(parts):
        return None
    kept = parts[: len(parts) - dots + 1]
    return ".".join([*kept, *([name] if name else [])])


@functools.lru_cache(maxsize=256)
def _statements(source: bytes) -> Sequence[Statement]:
    """The import statements of a file; none if it cannot be compiled."""
    import ast

    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    statements: list[Statement] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            statements += [(0, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            taken = tuple(alias.name for alias in node.names if alias.name != "*")
            statements.append((node.level, node.module or "", taken))
    return tuple(statements)


def _place(folder: str, name: str) -> str | None:
    """The file of a module; ``None`` if the folder has none, or the name is reserved."""
    first = name.partition(".")[0]
    if first in sys.stdlib_module_names or first in PACKAGES:
        return None
    stem = os.path.join(folder, *name.split("."))
    for place in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
        if os.path.isfile(place):
            return place
    return None


def _is_package(place: str) -> bool:
    return os.path.basename(place) == "__init__.py"


class Folder:
    """The modules of one folder, separate from those of other folders."""

    def __init__(self, name: str) -> None:
        """``name`` is the name of the modules' package."""
        self._name = name
        self._known: dict[str, Source] = {}
        #: Modules by the paths of their files, so that no file is executed twice.
        self._loaded: dict[str, ModuleType] = {}
        # A policy may import during a call, in any thread.
        self._lock = threading.RLock()

    def policy(self, name: str, own: Source, beside: Mapping[str, Source]) -> ModuleType:
        """Load the module of a policy's file under the name ``name``."""
        with self._lock:
            self._known.update(beside)
            module = sys.modules[name] = self._run(name, own)
            return module

    def _module(self, name: str) -> ModuleType:
        """A module by its name within the folder; the packages that contain it are loaded first."""
        package, _, last = name.rpartition(".")
        inside = self._module(package) if package else None
        if name not in self._known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = self._run(f"{self._name}.{name}", self._known[name])
        if inside is not None:
            setattr(inside, last, module)
        return module

    def _run(self, name: str, source: Source) -> ModuleType:
        """The module of a file, which is executed once."""
        place = os.path.realpath(source.path)
        if place in self._loaded:
            return self._loaded[place]
        module = self._loaded[place] = ModuleType(name)
        module.__file__ = source.path
        if _is_package(source.path):
            module.__path__ = [os.path.dirname(source.path)]
        own_import = functools.partial(self._import, source.package)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": own_import}
        # Data classes, for example, look their module up here.
        sys.modules[name] = module
        try:
            exec(compile(source.source, source.path, "exec", dont_inherit=True), vars(module))
        except BaseException:
            del self._loaded[place]
            raise
        return module

    def _import(
        self,
        package: str,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """``__import__`` for the modules of a package of this folder."""
        if not level and name.partition(".")[0] not in self._known:
            return __import__(name, globals, locals, fromlist or (), level)
        absolute = _absolute(package, level, name)
        if absolute is None:
            raise ImportError("attempted relative import beyond the folder of the policy")
        with self._lock:
            module = self._module(absolute) if absolute else ModuleType(self._name)
            if not fromlist:
                return self._module(absolute.partition(".")[0])
            taken = [name for name in fromlist if name != "*"]
            if "*" in fromlist:
                taken += getattr(module, "__all__", ())
            for word in taken:
                inner = f"{absolute}.{word}" if absolute else word
                if not hasattr(module, word) and inner in self._known:
                    setattr(module, word, self._module(inner))
            return module
