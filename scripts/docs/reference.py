"""The reference pages, written from the registry and the command itself: ``make docs``."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import click

import flashgc
import refusals
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
from flashgc.registry import (
    Entry,
    allocations,
    arrivals,
    caches,
    endurances,
    frontiers,
    gc_presets,
    generators,
    hints,
    listing,
    mappings,
    page_caches,
    placements,
    policies,
    request_generators,
    schemes,
    wear_levellings,
)
from flashgc.results import counts, findings
from flashgc.studies import plot

GENERATED = "<!-- Written by `make docs`; edit the source files' headers instead. -->"

#: Which test notices a wrong version of a finding, by its id.
NOTICED = Path(__file__).parent.parent / "statements/noticed.json"


def pages() -> dict[str, str]:
    """The generated pages of docs/reference, by file name."""
    return {
        "policies.md": choices(),
        "models.md": models_page(),
        "command.md": command_page(),
        "api.md": api_page(),
        "experiment-file.md": experiment_page(),
        "refusals.md": refusals.page(),
        "findings.md": findings_page(),
    }


def findings_page() -> str:
    """The rules of all findings."""
    weights = {
        "note": "the figures hold",
        "doubt": "a longer or another run may give other figures",
        "invalid": "the figures are not those that were asked for",
    }
    tables = dict.fromkeys(_FOUND_BY, "")
    noticed = json.loads(NOTICED.read_text(encoding="utf-8"))
    for one in findings.rules():
        name = one.window if one.window in _FOUND_BY else "run"
        test = noticed.get(one.id, "-").partition("[")[0].removeprefix("tests/").replace("::", " ")
        cells = (f"`{one.id}`", one.gravity, one.window, one.claim, one.rule, f"`{test}`")
        tables[name] += f"| {' | '.join(cells)} |\n"
    heading = "| id | weight | rests on | claim | made when | noticed by |\n"
    heading += "|---|---|---|---|---|---|\n"
    parts = [
        "# Findings",
        GENERATED,
        "A finding is a claim that stands beside figures: a sentence or a warning on the terminal, "
        "an object of `findings` in JSON, a note in a notebook. Each has an id, a weight, the part "
        "that it rests on, its claim, a hint, and as `evidence` the numbers behind it. `--quiet` "
        "leaves out warnings that are notes, and no other finding.",
        "The last column names a test below `tests/` that fails with a wrong version of the rule: "
        "one with another id and another claim. `make wrong-findings` looks for these tests.",
        "\n".join(f"- **{name}**: {text}." for name, text in weights.items()),
        *(f"## {_FOUND_BY[name]}\n\n{heading}{rows}".rstrip() for name, rows in tables.items()),
    ]
    return "\n\n".join(parts) + "\n"


#: The headings of findings, by the part that they rest on: those of one run have several.
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
}


def choices() -> str:
    """Policies, frontiers, block allocations, wear levelling and generators."""
    parts = [
        "# Policies, frontiers, workloads",
        GENERATED,
        "Values of `--victim`, `--frontier`, `--allocation`, `--wear-levelling`, "
        "`--placement`, `--endurance`, `--workload`, `--host-cache` and `--hints`, with "
        "the parameters and their defaults. `flashgc policies NAME` shows the same in a terminal.",
        "## Victim policies",
        *_entries(policies()),
        "## Write frontiers",
        *_entries(frontiers()),
        "## Block allocations",
        "The order in which the pool opens its erased blocks, with the pool or mixed frontier.",
        *_entries(allocations()),
        "## Wear levelling",
        "Wear levelling (`--wear-levelling`) moves cold data, with the pool or mixed frontier. "
        "Block allocation levels wear too, but only among blocks that are collected.",
        *_entries(wear_levellings()),
        "## Placements",
        "A placement (`--placement`) chooses the open block of each page, with the pool "
        "frontier. Every class of data has its own open block. The collector keeps as many "
        "erased blocks as the low-water mark, and one more for every class of copies except the "
        "first.",
        *_entries(placements()),
        "## Caches of a host",
        "A write-back cache between an application and the drive (`--host-cache`). The workload "
        "is then the application's requests to this cache.",
        *_entries(caches()),
        "## Ways of hinting",
        "Hints with which the host tells the drive which pages it will overwrite soon "
        "(`--hints`), with the faults that hints may have.",
        *_entries(hints()),
        "## GC presets",
        "A victim policy and a placement under one name (`--gc-preset`), instead of both "
        "options, with the pool frontier.",
        "\n".join(
            [
                "| GC preset | victim policy | placement | what it is |",
                "|---|---|---|---|",
                *(
                    f"| `{c.name}` | `{c.victim}` | `{c.placement}` | {c.summary} |"
                    for c in gc_presets()
                ),
            ]
        ),
        "## Mappings",
        "The mapping from logical pages to flash (`--mapping`). Log-block mappings choose their "
        "victims themselves. They take no victim policy and no write frontier. They need spare "
        "blocks for their log, and one for merges.",
        *_entries(mappings()),
        "## Page caches",
        "Replacement policies for the pages in memory (`--vm-page-cache 4MiB --page-policy`). Run "
        "lengths are then in references, and results are ranked by the time that flash spends on "
        "collections and on pages swapped out.",
        *_entries(page_caches()),
        "## Collections beside a page cache",
        "A scheme (`--scheme`) decides what a collection does with valid pages that are also in "
        "memory. The times are those of Ji and Shin (read 25 us, program 200 us, erase 2 ms, and "
        "50 us for a page from memory) unless `--times "
        "read=...,program=...,erase=...,memory=...` says otherwise.",
        *_entries(schemes()),
        "## Endurance",
        "The number of erases that a block withstands (`--endurance`), with the pool or mixed "
        "frontier. After its last erase a block is bad, and the reserve is one block smaller. "
        "The reserve is N minus the blocks that the logical capacity fills and those that the "
        "frontier keeps. The first bad block is the first failure. The system fails when no "
        "erased block is left. Either more blocks are bad than the reserve has, or several "
        "victims in a row wear out and the pool is empty (a low-water mark of a few percent of "
        "the blocks prevents that). From then on the drive is read-only. All its data remain "
        "readable.",
        *_entries(endurances()),
        "## Workload generators",
        "Mixtures are written `0.7*zipf:theta=0.9 + 0.3*sequential`; the weights sum to 1.",
        "Several generators side by side: `0.5*zipf:to=0.5,stream=0 + "
        "0.5*sequential:from=0.5,stream=1`. A generator with `from` or `to` works on a part of "
        "the drive as on its own drive: U is then the number of pages of the part. The part "
        "begins at page round(from U) and ends before page round(to U), so parts that share a "
        "border share no page. A part without a page is refused. Requests larger than a page "
        "stay inside the part. `stream` gives the generator's writes a stream, as a host does "
        "with NVMe streams or the placement identifiers of FDP. Results record the three only if "
        "you give them. `--streams FILE` gives streams by address instead.",
        *_entries(generators()),
        "## Generators of requests",
        "With `--drive timed`: requests of any size, with the times at which they arrive.",
        *_entries(request_generators()),
        "## Arrivals",
        "With `--drive timed`: the times at which requests arrive (`--arrivals`).",
        *_entries(arrivals()),
        "## Devices",
        "With `--drive timed`: presets (`--device`), which give values to options that you do "
        "not set.",
        *_entries(device_entries()),
    ]
    return "\n\n".join(parts) + "\n"


def _entries(entries: Iterable[Entry]) -> list[str]:
    parts = []
    for entry in entries:
        parts.append(f"### `{entry.usage}`")
        # The headings of a source file's header are one level of three here.
        parts.append(entry.doc.strip().replace("\n# ", "\n#### "))
        if entry.params:
            rows = [
                f"| `{p.name}` | {p.values} | {p.default or 'required'} | {p.help} |"
                for p in entry.params
            ]
            heading = "| parameter | values | default | what it means |\n|---|---|---|---|"
            parts.append("\n".join([heading, *rows]))
    return parts


def models_page() -> str:
    """The analytic models."""
    parts = [
        "# Analytic models",
        GENERATED,
        "The models of `flashgc model` and `flashgc.model`, for a drive of infinitely many "
        "blocks. b is the number of pages per block, S_f the spare factor, rho = 1 - S_f, alpha "
        "= 1 / rho, and WA the write amplification. `flashgc model NAME --help` shows the same "
        "in a terminal.",
    ]
    for model in models():
        parts.append(f"## `{model.name}`")
        parts.append(model.doc.strip().replace("\n# ", "\n### "))
        takes = ", ".join(f"`{name}`" for name in ("pages_per_block", "spare", *model.takes))
        policy = f" The victim policy: `{model.policy}`." if model.policy else ""
        parts.append(f"Takes {takes}.{policy}")
    return "\n\n".join(parts) + "\n"


def command_page() -> str:
    """Every command's help text."""
    from flashgc.command.entrance import cli

    parts = ["# The command", GENERATED]
    parts.append(
        "Results go to standard output, progress and warnings to standard error. Exit codes: 0 "
        "done, 1 the work failed, 2 the input was wrong, 3 a promise of the program under test was "
        "broken (`device cut-test`), 130 interrupted by Ctrl-C (the results "
        "so far are printed)."
    )
    parts.append(
        "Options of an experiment are those of the sections of "
        "[experiment files](experiment-file.md), which says what each means; so does `--help`."
    )
    for path, text in helps(cli, "flashgc", brief=True):
        parts.append(f"## `{path}`\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def helps(command: click.Command, path: str, *, brief: bool = False) -> Iterable[tuple[str, str]]:
    """The help texts of a command and of those below it; ``brief`` names those of experiments."""
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
    """Return the page of all that `import flashgc` gives, and of the pictures of studies."""
    parts = [
        "# The Python API",
        GENERATED,
        "The package is typed. Results go to JSON with `to_json()`, with the keys of the command.",
        *_content(flashgc),
        *_package(plot),
    ]
    return "\n\n".join(parts) + "\n"


def _content(module: ModuleType) -> Iterable[str]:
    """The names that a package gives, then those of the packages among them."""
    own = [getattr(module, name) for name in module.__all__]
    for name, thing in zip(module.__all__, own, strict=True):
        yield from _described(f"{module.__name__}.{name}", thing)
    for package in filter(inspect.ismodule, own):
        yield from _package(package, own)


def _package(package: ModuleType, without: Iterable[object] = ()) -> Iterable[str]:
    """A package and the names that it gives, but those that stand elsewhere."""
    yield f"## `{package.__name__}`\n\n{_markdown(inspect.getdoc(package) or '')}"
    for name in package.__all__:
        thing = getattr(package, name)
        if not any(thing is known for known in without):
            yield from _described(f"{package.__name__}.{name}", thing)


def _described(path: str, thing: object) -> list[str]:
    """A class or a function; nothing for anything else."""
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return []
    parts = [f"## `{path}{_signature(thing)}`\n\n{_markdown(inspect.getdoc(thing) or '')}"]
    if dataclasses.is_dataclass(thing):
        fields = [f.name for f in dataclasses.fields(thing) if not f.name.startswith("_")]
        parts.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".")
        parts += _counts(thing)
    return parts + (_members(thing) if inspect.isclass(thing) else [])


def _counts(thing: type) -> list[str]:
    """The counts of a result, with the texts of their declarations."""
    above = {cls.__name__ for cls in thing.__mro__ if cls.__module__ == counts.__name__}
    lists = [one["counts"] for one in listing()["counts"] if one["name"] in above]
    rows = [f"| `{one['name']}` | {one['text']} |" for many in lists for one in many]
    return ["\n".join(["| count | |", "|---|---|", *rows])] if rows else []


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
    if hasattr(thing, "__signature__"):  # The options have a page of their own.
        own = [name for name in names if name == "victim" or not known(name)]
        names = [*own, "**options"]
    return f"({', '.join(names)})"


def _markdown(text: str) -> str:
    """A docstring as Markdown: its doctests fenced, its names in single backquotes."""
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"(?m)(^>>> (?:.*\n?)*?)(?=^$|\Z)", r"```pycon\n\1```\n", f"{text}\n").rstrip()


def experiment_page() -> str:
    """The keys of an experiment file."""
    lists = ", ".join(f"`{option.key}`" for option in OPTIONS if option.several)
    parts = [
        "# Experiment files",
        GENERATED,
        "An experiment file is TOML. `flashgc run FILE` or `flashgc compare FILE` runs it; "
        f"options override its keys. Every key is optional. {lists} may be lists, which "
        "`compare` runs in every combination. An unknown key is an error. `flashgc schema` prints "
        "a JSON schema, with which editors complete and check the file. On the command line a key "
        "is an option, `--gc-low` for `gc_low`; where the option has another name, the table "
        "gives it.",
        '```toml\n[drive]\ncapacity = "4GiB"\noverprovision = "28%"\n\n[gc]\n'
        'victim = ["greedy", "d-choices:d=10,c=1"]\n\n[workload]\n'
        'source = "hotcold:f=0.2,r=0.8"\n\n[run]\nuntil = "precision=0.5%"\n```',
    ]
    for section in SECTIONS:
        rows = ["| key | default | drives | what it means |", "|---|---|---|---|"]
        rows += [
            f"| {_names(option)} | {_default(option)} | {option.drives} | "
            f"{help_of(option, flags=False)} |"
            for option in of_section(section.name)
        ]
        parts += [f"## [{section.name}]", f"{section.summary}.", "\n".join(rows)]
    rows = ["| key | default | what it means |", "|---|---|---|"]
    rows += [
        f"| `{key.name}` | {key.default or 'must be given'} | {key.help} For example "
        f"`{key.example}`. |"
        for key in TENANT_KEYS.values()
    ]
    about = (
        "A host that shares a drive with a clock; one table per host ([tenants](../tenants.md))."
    )
    parts += ["## [[tenant]]", about, "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _names(option: Option) -> str:
    named = option.flag == option.key.replace("_", "-")
    return f"`{option.key}`" + ("" if named else f", `--{option.flag}`")


def _default(option: Option) -> str:
    default = default_of(option)
    return f"`{default}`" if default and default == option.usual else default


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, page in pages().items():
        (folder / file_name).write_text(page, encoding="utf-8")
