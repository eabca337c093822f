"""``flashgc policies``: lists policies, workloads and others, and describes them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import click

from flashgc import presets, registry
from flashgc._core import ConfigError, suggest
from flashgc._documents import dumps
from flashgc.command.declaring import command
from flashgc.registry import Entry
from flashgc.terminal.render import LEFT, console, is_plain, show, table

#: For each kind of thing that can be chosen, by its key in the JSON document: the word for one of
#: them, and the title of their table. Schemes have neither: their table is another.
KINDS = {
    "policies": ("victim policy", "Victim policies (--victim)"),
    "frontiers": ("write frontier", "Write frontiers (--frontier)"),
    "allocations": ("block allocation", "Block allocations (--allocation)"),
    "wear_levellings": ("wear levelling", "Wear levelling (--wear-levelling)"),
    "placements": ("placement", "Placements (--placement)"),
    "schemes": ("", ""),
    "caches": ("host cache", "Caches of a host (--host-cache)"),
    "hints": ("way of hinting", "Ways of hinting (--hints)"),
    "mappings": ("mapping", "Mappings (--mapping)"),
    "page_caches": ("page policy", "Page caches (--page-policy)"),
    "vm_schemes": ("scheme", "Collections beside a page cache (--vm-scheme)"),
    "endurances": ("endurance", "Endurance (--endurance)"),
    "generators": ("workload", "Workload generators (--workload)"),
    "request_generators": ("workload", "Generators of requests (--workload, with --drive timed)"),
    "arrivals": ("arrivals", "Arrivals of requests (--arrivals, with --drive timed)"),
    "devices": ("device", "Devices (--device, with --drive timed)"),
}


def entries_of(key: str) -> tuple[Any, ...]:
    """All entries of the kind ``key``."""
    return tuple(presets.device_entries() if key == "devices" else getattr(registry, key)())


@command()
@click.argument(
    "name", required=False, shell_complete=lambda *_: [entry.name for _, entry in everything()]
)
def policies(name: str | None, as_json: bool) -> None:
    """List policies, mappings, workloads and more, or describe those called NAME.

    If two have the same name, as the victim policy and the block allocation fifo, both are
    described. The JSON document describes the first.

    Options:
      --json

    Examples:
      flashgc policies
      flashgc policies d-choices
    """
    if name is not None:
        entries = find(name)
        if as_json:
            click.echo(dumps(dataclasses.asdict(entries[0][1])))
        else:
            describe(entries)
    elif as_json:
        click.echo(dumps({key: [dataclasses.asdict(e) for e in entries_of(key)] for key in KINDS}))
    else:
        listing()


def everything() -> list[tuple[str, Entry]]:
    """Every entry that can be described by its name, each with the name of its kind."""
    return [(kind, entry) for key, (kind, _) in KINDS.items() if kind for entry in entries_of(key)]


def find(name: str) -> list[tuple[str, Entry]]:
    """The entries called ``name``; an unknown one is an error with a suggestion."""
    bare = name.split(":", maxsplit=1)[0]
    if entries := [(kind, entry) for kind, entry in everything() if entry.name == bare]:
        return entries
    hint = suggest(bare, [entry.name for _, entry in everything()])
    raise ConfigError(f"unknown policy '{name}'; hint: {hint}")


def listing() -> None:
    """Prints the tables."""
    out = console()
    for index, (key, title) in enumerate(
        (key, title) for key, (_, title) in KINDS.items() if title
    ):
        if index:
            out.print()
        out.print(title, style="bold cyan")
        listing = table(out, [("name and defaults", LEFT), ("what it does", LEFT)])
        listing.columns[0].min_width = 24
        for entry in entries_of(key):
            listing.add_row(own_usage(entry), entry.summary.replace("`", ""))
        show(out, listing)
    out.print()
    out.print("Schemes (--scheme)", style="bold cyan")
    listing = table(out, [("name", LEFT), ("victim policy", LEFT), ("placement", LEFT)])
    for scheme in registry.schemes():
        listing.add_row(scheme.name, *scheme.specs)
    show(out, listing)
    out.print()
    own = ", ".join(
        g.name for g in registry.generators() if all(p.name != "read" for p in g.params)
    )
    out.print(
        f"Every workload generator but {own} also takes read=SHARE and trim=SHARE, of all commands."
    )
    out.print("flashgc policies NAME describes one.", style="dim")


def own_usage(entry: Entry) -> str:
    """The usage without the parameters that every generator has."""
    return dataclasses.replace(
        entry, params=tuple(p for p in entry.params if p.name not in ("read", "trim"))
    ).usage


def plain(doc: str, width: int) -> str:
    r"""Convert Markdown to text: headings without marks, paragraphs in lines of ``width``.

    >>> plain("One\nline.\n\n# Cost\nLittle.", 20)
    'One line.\n\nCost\nLittle.'
    """
    import textwrap

    parts = []
    for part in doc.strip().split("\n\n"):
        heading, _, text = part.partition("\n") if part.startswith("# ") else ("", "", part)
        if not text.startswith(("-", "|", "`" * 3, " ")):
            text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
        parts.append(f"{heading.removeprefix('# ')}\n{text}".strip("\n"))
    return "\n\n".join(parts)


def describe(entries: list[tuple[str, Entry]]) -> None:
    """Print the documentation and the parameters of entries; of several, also their kinds."""
    for index, (kind, entry) in enumerate(entries):
        if index:
            click.echo("\n")
        _describe(entry, f" ({kind})" if len(entries) > 1 else "")


def _describe(entry: Entry, kind: str) -> None:
    import shutil

    out = console()
    out.print(entry.usage + kind, style="bold cyan")
    out.print()
    if is_plain(out):
        out.print(plain(entry.doc, shutil.get_terminal_size().columns), markup=False)
    else:
        from rich.markdown import Markdown

        # Print section headings in bold, since a centred heading is too much for a few lines.
        out.print(Markdown(re.sub(r"(?m)^# (.*)$", r"**\1**\n", entry.doc)))
    if entry.params:
        out.print()
        listing = table(
            out,
            [("parameter", LEFT), ("values", LEFT), ("default", LEFT), ("what it means", LEFT)],
        )
        for param in entry.params:
            listing.add_row(param.name, param.values, param.default or "required", param.help)
        show(out, listing)
