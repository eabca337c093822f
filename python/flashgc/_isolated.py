"""Runs a function of this package in an interpreter that takes code from nowhere else.

Started as a script by ``python -I``, so that neither the working folder nor variables of the
environment nor the user's own packages are on the path of imports. The package is the one that this
file lies in, wherever that is: a wheel, or the sources.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys


def command(function: str, *arguments: object) -> list[str]:
    """Return the words that run ``module:function`` of this package with ``arguments``."""
    return [sys.executable, "-I", os.path.abspath(__file__), function, *map(str, arguments)]


def _run() -> object:
    home = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        "flashgc", os.path.join(home, "__init__.py"), submodule_search_locations=[home]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["flashgc"] = package
    spec.loader.exec_module(package)
    module, _, function = sys.argv.pop(1).partition(":")
    return getattr(importlib.import_module(module), function)()


if __name__ == "__main__":
    sys.exit(_run())  # type: ignore[arg-type]
