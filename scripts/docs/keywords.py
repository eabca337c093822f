"""The keywords of :func:`flashgc.run` and :func:`flashgc.compare` as types: ``make docs``.

    .venv/bin/python scripts/docs/keywords.py

writes ``python/flashgc/keywords.py``. With ``--check`` it only tests whether that is up to date.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from flashgc.options import OPTIONS, Option, default_of, help_of

TARGET = Path(__file__).resolve().parent.parent.parent / "python" / "flashgc" / "keywords.py"
#: Options that the functions take as positional parameters.
_POSITIONAL = ("source", "victim")
#: The Python types of values, by kind.
_TYPES = {
    "count": "int | str",
    "amount": "float | str",
    "size": "int | str",
    "pages": "int | str",
    "share": "float | str",
    "number": "float | str",
    "yes-no": "YesNo",
}
#: Options whose values may be objects.
_OBJECTS = {
    "placement": "Placement",
    "scheme": "str | Scheme",
    "tenant": "Sequence[str | Mapping[str, str | float]]",
}
_HEADER = '''\
"""The keywords of :func:`flashgc.run` and :func:`flashgc.compare`, with their types.

Written by ``make docs`` from the declarations of the options; edit those instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from flashgc._schemes import Scheme
    from flashgc.simulation import Placement

YesNo: TypeAlias = Literal["yes", "no"] | bool'''


def keywords() -> str:
    """The module as a text."""
    parts = [_HEADER]
    for option in OPTIONS:
        if _enumerated(option):
            parts.append(_words(option))
    ways = {
        option.key: [_field(option, several) for several in (False, True)] for option in OPTIONS
    }
    alike = {key for key, (way, other) in ways.items() if way == other}
    for name, above, what, several in (
        ("Keywords", "TypedDict", "options that both functions have", False),
        ("RunKeywords", "Keywords", "options of :func:`flashgc.run`", False),
        ("CompareKeywords", "Keywords", "options of :func:`flashgc.compare`", True),
    ):
        parts.append(f"\n\nclass {name}({above}, total=False):")
        parts.append(f'    """The {what}."""\n')
        for option in OPTIONS:
            if option.key not in _POSITIONAL and (option.key in alike) == (name == "Keywords"):
                parts.append(ways[option.key][several])
    return "\n".join(parts) + "\n"


def _field(option: Option, several: bool) -> str:
    return f"    {option.key}: {_type(option, several)}\n{_doc(option, several)}"


def _words(option: Option) -> str:
    """The type of an option's words, broken into lines as the formatter does."""
    words = [f'"{word}"' for word in option.words]
    before, together = f"{_alias(option)}: TypeAlias = Literal[", ", ".join(words)
    if len(line := f"{before}{together}]") <= 100:
        return line
    if len(indented := f"    {together}") <= 100:
        return f"{before}\n{indented}\n]"
    apart = "".join(f"    {word},\n" for word in words)
    return f"{before}\n{apart}]"


def _type(option: Option, several: bool) -> str:
    name = _OBJECTS.get(option.key) or _TYPES.get(option.kind, "str")
    if option.needs_unit:
        name = "str"
    if _enumerated(option):
        name = _alias(option)
    many = f" | Sequence[{name}]" if several and option.several else ""
    return f"{name}{many} | None"


def _doc(option: Option, several: bool) -> str:
    text = help_of(option, flags=False)
    default = default_of(option, compare=several)
    if default:
        text += f" [default: {default}]"
    docstring = f'"""{text}"""'
    if len(docstring) <= 96:
        return f"    {docstring}"
    lines = textwrap.wrap(f'"""{text}', 96, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"    {line}" for line in [*lines, '"""'])


def _enumerated(option: Option) -> bool:
    """True if the type lists the option's words."""
    return option.kind == "word" and bool(option.words) and option.key not in _POSITIONAL


def _alias(option: Option) -> str:
    return "".join(part.capitalize() for part in option.key.split("_"))


def main(arguments: list[str]) -> int:
    """Writes or checks the module, and returns the exit status."""
    return write(TARGET, keywords(), arguments)


def write(target: Path, text: str, arguments: list[str]) -> int:
    """Writes a generated module, or checks it, and returns the exit status."""
    if "--check" in arguments:
        current = target.exists() and target.read_text(encoding="utf-8") == text
        if not current:
            print(f"error: {target} is out of date; hint: make docs", file=sys.stderr)
        return 0 if current else 1
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
