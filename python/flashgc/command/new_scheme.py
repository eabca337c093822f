"""``flashgc new-scheme``: the files with which a scheme of one's own begins."""

from __future__ import annotations

import keyword
import os
import re

import click

from flashgc.command.declaring import command

#: For each language: the ending of the scheme's file, that of the file which is loaded, and the
#: command that makes it.
_LANGUAGES = {
    "python": ("py", "py", ""),
    "c": ("c", "so", "cc -O2 -ffp-contract=off -shared -fPIC -I. -o {name}.so {name}.c"),
    "rust": ("rs", "so", "rustc --edition 2021 -O --crate-type cdylib -o {name}.so {name}.rs"),
}
#: Words of C and Rust that cannot be the name of a constant, and those that the files use.
_TAKEN = """
auto break case char const continue crate create copy default describe destroy do double else enum
extern flashgc float fn for goto host if impl inline int let long loop match mod move mut pick pub
ref reference register return self short signed sizeof state static struct super switch test trait
type typedef union unsafe unsigned use void volatile where while wrote class_of young_of
"""


@command(language={"type": str})
@click.argument("name")
def new_scheme(name: str, language: str) -> None:
    """Write the files with which a scheme called NAME begins.

    They are a scheme with a parameter, a naive reference of it, a test that compares both, and an
    experiment beside built-in schemes. Each is meant to be changed. No file is replaced.

    Options:
      --language WORD
          Language of the scheme: python, c or rust. C++ and others take the header of c.
          [default: python]

    Examples:
      flashgc new-scheme byage
      flashgc new-scheme byage --language c
    """
    from flashgc._core import ConfigError, suggest

    if language not in _LANGUAGES:
        hint = suggest(language, list(_LANGUAGES))
        raise ConfigError(f"--language: unknown language '{language}'; hint: {hint}")
    if re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) is None:
        raise ConfigError(
            f"NAME: found '{name}', expected lower-case letters, digits and _; hint: byage"
        )
    if keyword.iskeyword(name) or name in _TAKEN.split():
        raise ConfigError(f"NAME: '{name}' is a word of the files; hint: my_{name}")
    files = _files(name, language)
    for file in files:
        if os.path.lexists(file):
            raise ConfigError(f"{file} exists already; hint: another NAME, or another folder")
    for file, text in files.items():
        with open(file, "x", encoding="utf-8") as opened:
            opened.write(text)
        click.echo(file)
    steps = [_LANGUAGES[language][2].format(name=name)]
    steps += [f"python -m pytest test_{name}.py", f"flashgc compare {name}.toml --spare 10%"]
    click.echo("\nNext:")
    for step in filter(None, steps):
        click.echo(f"  {step}")


def _files(name: str, language: str) -> dict[str, str]:
    """The texts of the files by their names."""
    source, loaded, _ = _LANGUAGES[language]
    kind = "python" if language == "python" else "lib"
    class_ = "".join(part.capitalize() for part in name.split("_"))
    symbol = class_ if language == "python" else name
    words = {
        "NAME": name, "CLASS": class_, "KIND": kind, "FILE": f"{name}.{loaded}", "SYMBOL": symbol,
        "TEXT": f"{kind}:{name}.{loaded}:{symbol}",
    }  # fmt: skip
    templates = {
        f"{name}.{source}": f"scheme.{source}.txt",
        f"{name}_reference.py": "reference.py.txt",
        f"test_{name}.py": "test_scheme.py.txt",
        f"{name}.toml": "grid.toml.txt",
    }
    folder = os.path.dirname(os.path.dirname(__file__))
    texts = {}
    for file, template in templates.items():
        with open(os.path.join(folder, "templates", template), encoding="utf-8") as opened:
            text = opened.read()
        texts[file] = re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)
    if language == "c":
        with open(os.path.join(folder, "include", "flashgc.h"), encoding="utf-8") as opened:
            texts["flashgc.h"] = opened.read()
    return texts
