"""The command ``flashgc``: reads what was typed, calls the API, shows what comes back.

Results go to standard output; progress, warnings and errors to standard error. Exit codes: 0 done,
1 the work failed, 2 the input was wrong, 130 interrupted. The commands are one file each.
"""

from __future__ import annotations

from flashgc.command.main import main

__all__ = ["main"]
