"""Runs a function of this package in an interpreter that imports code from nowhere else.

This file is started as a script by ``python -I``. So neither the working folder, nor environment
variables, nor the user's own packages are on the import path. The package is the one that contains
this file, in a wheel or in the sources. A function of another package is imported from the folder
from which this process imported it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys


def command(function: str, *arguments: object) -> list[str]:
    """Return the words that run ``module:function`` with ``arguments``."""
    package = importlib.import_module(function.partition(".")[0])
    (home,) = package.__path__
    words = [sys.executable, "-I", os.path.abspath(__file__), os.path.abspath(home), function]
    return [*words, *map(str, arguments)]


def _take(name: str, home: str) -> None:
    """Imports the package of this name from its folder."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(home, "__init__.py"), submodule_search_locations=[home]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)


def _run() -> object:
    home, function = sys.argv.pop(1), sys.argv.pop(1)
    module, _, name = function.partition(":")
    _take("flashgc", os.path.dirname(os.path.abspath(__file__)))
    if (package := module.partition(".")[0]) != "flashgc":
        _take(package, home)
    return getattr(importlib.import_module(module), name)()


if __name__ == "__main__":
    sys.exit(_run())  # type: ignore[arg-type]
