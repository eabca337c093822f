"""Names of a package that are imported at their first use."""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    ``homes`` has the names in each module of the package, separated by blanks. If a module's own
    name is among its names, that name means the module itself.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        import importlib

        module = importlib.import_module(f"{package}.{modules[name]}")
        value: object = module if name == modules[name] else getattr(module, name)
        vars(sys.modules[package])[name] = value
        return value

    return get
