"""The counts of results as types: ``make docs``.

    .venv/bin/python scripts/docs/counts.py

writes ``python/flashgc/results/counts.py``; with ``--check`` it only says whether that is up to
date.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from flashgc.registry import listing
from keywords import write

TARGET = Path(__file__).resolve().parent.parent.parent / "python/flashgc/results/counts.py"
_HEADER = '''\
"""The counts of results, with their types, in the measured parts of all runs.

Written by ``make docs`` from the declarations of the counts; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass
'''


def counts() -> str:
    """The module as a text."""
    parts = [_HEADER]
    for entry in listing()["counts"]:
        summary, *more = (_wrapped(text, "    ") for text in entry["text"].split("\n\n"))
        text = "\n\n".join([f'    """{summary.strip()}', *more])
        end = "\n    " if more else ""
        parts.append(f'\n\n@dataclass(frozen=True)\nclass {entry["name"]}:\n{text}{end}"""\n\n')
        for count in entry["counts"]:
            parts.append(f"{_wrapped(count['text'], '    #: ')}\n    {count['name']}: int\n")
    return "".join(parts)


def _wrapped(text: str, before: str) -> str:
    lines = textwrap.wrap(text.replace("`", "``"), 100 - len(before), break_on_hyphens=False)
    return "\n".join(f"{before}{line}" for line in lines)


def main(arguments: list[str]) -> int:
    """Writes or checks the module, and returns the exit status."""
    return write(TARGET, counts(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
