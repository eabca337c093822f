"""The reference pages, written from the registry and the command itself: ``make docs``."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import click

import flashgc
import parts as parts_of_results
import refusals
from flashgc import registry
from flashgc._schemes import KEYS
from flashgc.command.options import BRIEF
from flashgc.model import models
from flashgc.options import (
    OPTIONS,
    SECTIONS,
    TENANT_KEYS,
    Option,
    default_of,
    help_of,
    known,
    of_section,
)
from flashgc.presets import device_entries
from flashgc.registry import Entry
from flashgc.results import findings
from flashgc.studies import plot

#: The folder of the pages' texts, in which marks stand for generated parts.
PAGES = Path(__file__).parent / "pages"
MARK = re.compile(r"<!-- (\w+) -->")
GENERATED = "<!-- Written by `make docs`; edit the source files' headers instead. -->"

#: The file that names, for each finding, the test that detects a wrong version of its rule.
NOTICED = Path(__file__).parent.parent / "statements/noticed.json"


def pages() -> dict[str, str]:
    """The generated pages of docs/reference, by file name."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md"))}
    pages = {name: MARK.sub(lambda mark: PARTS[mark[1]](), text) for name, text in texts.items()}
    return {**pages, "refusals.md": refusals.page()}


def findings_page() -> str:
    """The rules of all findings."""
    tables = dict.fromkeys(_FOUND_BY, "")
    noticed = json.loads(NOTICED.read_text(encoding="utf-8"))
    for rule in findings.rules():
        name = rule.window if rule.window in _FOUND_BY else "run"
        test = noticed.get(rule.id, "-").partition("[")[0].removeprefix("tests/")
        test = test.replace("::", " ")
        cells = (f"`{rule.id}`", rule.gravity, rule.window, rule.claim, rule.rule, f"`{test}`")
        tables[name] += f"| {' | '.join(cells)} |\n"
    heading = "| id | weight | rests on | claim | made when | noticed by |\n"
    heading += "|---|---|---|---|---|---|\n"
    parts = (f"## {_FOUND_BY[name]}\n\n{heading}{rows}".rstrip() for name, rows in tables.items())
    return "\n\n".join(parts)


#: The headings of findings, by the kind of result that they are about.
_FOUND_BY = {
    "run": "Of a run",
    "ranking": "Of a ranking: `flashgc compare`",
    "sweep": "Of a grid: `flashgc sweep`",
    "find": "Of a value: `flashgc find`",
    "tune": "Of a search: `flashgc tune`",
    "gap": "Of foresight: `flashgc gap`",
    "fleet": "Of a fleet: `flashgc fleet`",
    "bench": "Of a bench: `flashgc device bench`",
    "identify": "Of a measured drive: `flashgc identify`",
    "qualify": "Of the tests of a data sheet: `flashgc qualify`",
    "wear": "Of the logs of a drive: `flashgc wear`",
}


def _presets() -> str:
    """The table of the schemes."""
    rows = [
        f"| `{preset.name}` | `{preset.victim}` | `{preset.placement}` | {preset.summary} |"
        for preset in registry.schemes()
    ]
    return "\n".join(
        ["| scheme | victim policy | placement | what it is |", "|---|---|---|---|", *rows]
    )


def _entries(entries: Iterable[Entry]) -> str:
    """The entries of a list, each with its documentation and its parameters."""
    parts = []
    for entry in entries:
        parts.append(f"### `{entry.usage}`")
        # Headings in a source file's header become headings of level 4 here.
        parts.append(entry.doc.strip().replace("\n# ", "\n#### "))
        if entry.params:
            rows = [
                f"| `{p.name}` | {p.values} | {p.default or 'required'} | {p.help} |"
                for p in entry.params
            ]
            heading = "| parameter | values | default | what it means |\n|---|---|---|---|"
            parts.append("\n".join([heading, *rows]))
    return "\n\n".join(parts)


def models_page() -> str:
    """The analytic models."""
    parts = []
    for model in models():
        parts.append(f"## `{model.name}`")
        parts.append(model.doc.strip().replace("\n# ", "\n### "))
        takes = ", ".join(f"`{name}`" for name in ("pages_per_block", "spare", *model.takes))
        policy = f" The victim policy: `{model.policy}`." if model.policy else ""
        parts.append(f"Takes {takes}.{policy}")
    return "\n\n".join(parts)


def command_page() -> str:
    """Every command's help text."""
    from flashgc.command.entrance import cli

    texts = helps(cli, "flashgc", brief=True)
    return "\n\n".join(f"## `{path}`\n\n```text\n{text.rstrip()}\n```" for path, text in texts)


def helps(command: click.Command, path: str, *, brief: bool = False) -> Iterable[tuple[str, str]]:
    """Help texts of a command and its subcommands; ``brief`` only names experiment options."""
    context = click.Context(command, info_name=path, **command.context_settings)
    context.terminal_width = 80
    if brief:
        context.meta[BRIEF] = True
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from helps(below, f"{path} {name}", brief=brief)


def api_page() -> str:
    """Return the descriptions of all names in `flashgc` and in `flashgc.plot`."""
    return "\n\n".join([*_content(flashgc), *_package(plot)])


def _content(module: ModuleType) -> Iterable[str]:
    """The exported names of a package, then those of the packages among them."""
    own = [getattr(module, name) for name in module.__all__]
    for name, thing in zip(module.__all__, own, strict=True):
        yield from _described(f"{module.__name__}.{name}", thing)
    for package in filter(inspect.ismodule, own):
        yield from _package(package, own)


def _package(package: ModuleType, without: Iterable[object] = ()) -> Iterable[str]:
    """A package and its exported names, except those in ``without``."""
    yield f"## `{package.__name__}`\n\n{_markdown(inspect.getdoc(package) or '')}"
    for name in package.__all__:
        thing = getattr(package, name)
        if not any(thing is known for known in without):
            yield from _described(f"{package.__name__}.{name}", thing)


def _described(path: str, thing: object) -> list[str]:
    """The description of a class or a function; nothing for other objects."""
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return []
    parts = [f"## `{path}{_signature(thing)}`\n\n{_markdown(inspect.getdoc(thing) or '')}"]
    if dataclasses.is_dataclass(thing):
        texts = parts_of_results.texts()
        fields = [f.name for f in dataclasses.fields(thing) if not f.name.startswith("_")]
        above = [base.__name__ for base in thing.__mro__ if "results.parts" in base.__module__]
        declared = {field: text for name in above for field, text in texts[name].items()}
        own = [f"`{field}`" for field in fields if field not in declared]
        rows = [f"| `{field}` | {declared[field]} |" for field in fields if field in declared]
        parts += [f"Fields: {', '.join(own)}."] * bool(own)
        parts += ["\n".join(["| field | |", "|---|---|", *rows])] * bool(rows)
    return parts + (_members(thing) if inspect.isclass(thing) else [])


def _members(thing: type) -> list[str]:
    """The attributes and methods of a class that have documentation of their own."""
    rows = []
    for name, member in sorted(vars(thing).items()):
        text = inspect.getdoc(member)
        if name.startswith("_") or not text or not (callable(member) or hasattr(member, "__get__")):
            continue
        rows.append(f"| `{name}` | {_markdown(' '.join(text.split()))} |")
    return ["\n".join(["| member | |", "|---|---|", *rows])] if rows else []


def _signature(thing: object) -> str:
    if not inspect.isfunction(thing):
        return ""
    names = [
        ("**" if p.kind is p.VAR_KEYWORD else "") + p.name
        for p in inspect.signature(thing).parameters.values()
        if p.name not in ("progress", "control")
    ]
    if hasattr(thing, "__signature__"):  # Another page describes the options.
        own = [name for name in names if name == "victim" or not known(name)]
        names = [*own, "**options"]
    return f"({', '.join(names)})"


def _markdown(text: str) -> str:
    """A docstring as Markdown: doctests in fences, names in single backquotes."""
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"(?m)(^>>> (?:.*\n?)*?)(?=^$|\Z)", r"```pycon\n\1```\n", f"{text}\n").rstrip()


def _sections() -> str:
    """The keys of the sections of an experiment file."""
    parts = []
    for section in SECTIONS:
        rows = ["| key | default | drives | what it means |", "|---|---|---|---|"]
        rows += [
            f"| {_names(option)} | {_default(option)} | {option.drives} | "
            f"{help_of(option, flags=False)} |"
            for option in of_section(section.name)
        ]
        parts += [f"## [{section.name}]", f"{section.summary}.", "\n".join(rows)]
    return "\n\n".join(parts)


def _scheme_keys() -> str:
    """The keys of a scheme in an experiment file."""
    rows = [
        f"| `{key}` | {text}. For example `{example}`. |" for key, (text, example) in KEYS.items()
    ]
    return "\n".join(["| key | what it means |", "|---|---|", *rows])


def _tenants() -> str:
    """The keys of a tenant in an experiment file."""
    rows = [
        f"| `{key.name}` | {key.default or 'must be given'} | {key.help} For example "
        f"`{key.example}`. |"
        for key in TENANT_KEYS.values()
    ]
    return "\n".join(["| key | default | what it means |", "|---|---|---|", *rows])


def _names(option: Option) -> str:
    named = option.flag == option.key.replace("_", "-")
    return f"`{option.key}`" + ("" if named else f", `--{option.flag}`")


def _default(option: Option) -> str:
    default = default_of(option)
    return f"`{default}`" if default and default == option.usual else default


#: The registry's lists that pages show.
_LISTS = (
    "policies", "frontiers", "allocations", "wear_levellings", "placements", "caches", "hints",
    "mappings", "page_caches", "vm_schemes", "endurances", "generators", "request_generators",
    "arrivals",
)  # fmt: skip
#: The functions that generate parts of pages, by their marks.
PARTS: dict[str, Callable[[], str]] = {
    **{
        name: functools.partial(lambda name: _entries(getattr(registry, name)()), name)
        for name in _LISTS
    },
    "devices": lambda: _entries(device_entries()),
    "presets": _presets,
    "generated": lambda: GENERATED,
    "rules": findings_page,
    "models": models_page,
    "helps": command_page,
    "content": api_page,
    "lists": lambda: ", ".join(f"`{option.key}`" for option in OPTIONS if option.several),
    "sections": _sections,
    "scheme_keys": _scheme_keys,
    "tenants": _tenants,
}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, page in pages().items():
        (folder / file_name).write_text(page, encoding="utf-8")
