"""``flashgc model``: write amplification by analytic models instead of simulation."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from flashgc._core import ConfigError
from flashgc._documents import Json, dumps
from flashgc.command.common import JSON
from flashgc.command.declaring import SHARED, options_of
from flashgc.command.entrance import CONTEXT, INTERRUPTED, OK, Suggesting
from flashgc.command.output import Output
from flashgc.command.policies import plain
from flashgc.command.show import model as views
from flashgc.model import (
    Model,
    ModelResult,
    choices_within,
    evaluate,
    models,
    spare_for,
    transient,
    validate,
    write_amplification,
)
from flashgc.model.parameters import OF_SUPERBLOCKS
from flashgc.registry import generators
from flashgc.units import parse_count, parse_share

#: Workloads whose page frequencies the models know.
WORKLOADS = ("uniform", "hotcold", "zipf", "classes")


#: The default numbers of stored blocks for ``--within``.
STORED = "0,1,2,5"


def _options(validate: bool, distribution: bool) -> None:
    """Parameters of models, and what is asked besides the write amplification.

    Options:
      --pages-per-block N
          Pages per block. [default: 64]
      --spare SHARE
          Spare factor 1 - U/N: share of the physical space (10%, 0.1). [default: 10%]
      --overprovision SHARE
          Over-provisioning (N - U)/U (28%, 0.28), instead of --spare.
      --d N
          Blocks drawn per collection. [default: 10]
      --c N
          Blocks stored for later collections. [default: 0]
      --window SHARE
          Window: share of the blocks, oldest first, that the policy chooses from. [default: 10%]
      --workload SPEC
          Workload: uniform, hotcold:f=0.2,r=0.8, zipf:theta=0.99,
          classes:pages=1/9/90,shares=60/30/10. [default: uniform]
      --frontier WORD
          Write frontier: single, double. [default: single]
      --superblock SPEC
          Blocks that are opened, filled, collected and erased together, as one large block: plane
          (each on its own), or dies=N,planes=N. [default: plane]
      --parity 1/N
          Share of each superblock that is parity: 1/N, or none. --spare is the share beside the
          parity. [default: none]
      --ties WORD
          Choice among the blocks with the fewest valid pages: a random one (random), or the one
          that lost a page last (latest). Hot and cold data only. [default: latest]
      --cleaner WORD
          Policy that cleans each pool: greedy, fifo, desnoyers. [default: greedy]
      --blocks N
          Physical blocks, for --validate and for the pages of zipf. [default: 10000]
      --wanted WA
          Solve for the spare factor that gives a write amplification of WA.
      --within SHARE
          Solve for the smallest d within SHARE of greedy, for each of several --c ({STORED}).
      --transient WORD
          Follow the drive to its steady state after it was filled at random or sequentially:
          random, sequential.
      --drive-writes X
          Length of --transient in drive writes. [default: 10]
      --validate
          Simulate the same drive and compare.
      --runs N
          Runs of the simulation. [default: 4]
      --seed N
          Seed of the simulation's first run. [default: 1]
      --distribution
          Print the shares of blocks by their valid pages.
    """


def _options_of_superblocks() -> None:
    """Parameters that have another meaning for superblocks.

    Options:
      --frontier SPEC
          Write frontier: single, double, compact, pool:low=N, mixed:low=N. pool and mixed keep N
          superblocks erased. [default: single]
      --blocks N
          Physical blocks, rounded up to whole superblocks. [default: 10000]
    """


OPTIONS = {
    option.opts[0].removeprefix("--").replace("-", "_"): option
    for option in options_of(
        _options,
        {"STORED": STORED},
        workload=tuple(entry.usage for entry in generators() if entry.name in WORKLOADS),
        frontier=("single", "double"),
        ties=("random", "latest"),
        cleaner=("greedy", "fifo", "desnoyers"),
        transient=("random", "sequential"),
    )
}
OPTIONS_OF_SUPERBLOCKS = OPTIONS | {
    str(option.name): option
    for option in options_of(
        _options_of_superblocks,
        frontier=("single", "double", "compact", "pool:low=2", "mixed:low=2"),
    )
}
#: The parsers of parameters that are not words.
READERS: Mapping[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(("pages_per_block", "d", "c", "blocks"), parse_count),
    **dict.fromkeys(("spare", "overprovision", "window"), parse_share),
}

#: Examples in the help of each model; help puts ``flashgc model NAME`` before each.
EXAMPLES = {
    "meanfield": (
        "--pages-per-block 64 --spare 0.1 --d 10 --c 1",
        "--d 10 --c 1 --validate",
        "--within 1%",
        "--transient sequential --plot course.svg",
        "--d 10 --wanted 3 --pages-per-block 128",
    ),
    "greedy": ("--pages-per-block 64 --overprovision 7%", "--wanted 3", "--distribution"),
    "fifo": ("--spare 7%", "--workload hotcold:f=0.1,r=0.9 --validate"),
    "random": ("--spare 7%", "--json"),
    "windowed": ("--window 5%", "--window 5% --validate"),
    "desnoyers": ("--pages-per-block 32 --workload hotcold:f=0.2,r=0.8",),
    "superblock": (
        "--superblock dies=16,planes=4 --parity 1/16 --blocks 16384 --frontier pool:low=2",
        "--blocks 256 --pages-per-block 4608 --frontier pool:low=2 --validate",
    ),
    "separation": (
        "--workload hotcold:f=0.2,r=0.8",
        "--workload zipf:theta=0.99 --cleaner fifo",
    ),
}


@click.group(
    cls=Suggesting,
    invoke_without_command=True,
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc model
  flashgc model meanfield --pages-per-block 64 --spare 0.1 --d 10 --c 1 --json
  flashgc model greedy --wanted 3""",
)
@JSON
@click.pass_context
def model(context: click.Context, as_json: bool) -> None:
    """Write amplification by analytic models, in milliseconds.

    They hold for a drive with infinitely many blocks, superblock for one with few large blocks.
    Alone, the command lists them.
    """
    if context.invoked_subcommand is not None:
        return
    if as_json:
        click.echo(dumps([dataclasses.asdict(entry) for entry in models()]))
    else:
        views.listing()


def command_of(info: Model) -> click.Command:
    """Make the command of one model."""
    names = ["pages_per_block", "spare", "overprovision", *info.takes]
    if info.policy is not None and "blocks" not in names:
        names.append("blocks")
    names += ["wanted"]
    names += ["within", "transient", "drive_writes"] if info.name == "meanfield" else []
    names += ["validate", "runs", "seed"] if info.policy is not None else []
    shared = [SHARED[flag] for flag in ("--plot", "--json", "--out", "--quiet")]
    joins = "superblock" in info.takes
    options = OPTIONS_OF_SUPERBLOCKS if joins else OPTIONS
    # Other models refuse these by name, with the model that takes them.
    refused = [] if joins else [click.Option([f"--{name}"], hidden=True) for name in OF_SUPERBLOCKS]
    return click.Command(
        info.name,
        params=[*(options[name] for name in (*names, "distribution")), *refused, *shared],
        callback=lambda **typed: answer(info, **typed),
        help=_help(info),
        short_help=info.summary,
        epilog="\b\nExamples:\n"
        + "\n".join(f"  flashgc model {info.name} {text}" for text in EXAMPLES[info.name]),
        context_settings=CONTEXT,
    )


def _help(info: Model) -> str:
    """The model's documentation as help text; click must not wrap its paragraphs."""
    text = "\n".join(line for line in plain(info.doc, 76).split("\n") if line[:3] != "```")
    return "\n\n".join(f"\b\n{part}" for part in text.replace("`", "").split("\n\n"))


@contextlib.contextmanager
def _named_as_typed() -> Iterator[None]:
    """In messages, name options instead of parameters."""
    places = {name: f"--{name.replace('_', '-')}" for name in OPTIONS}
    places |= {
        "pages per block": "--pages-per-block",
        "hot and cold": "--workload",
        "theta": "--workload",
    }
    try:
        yield
    except ConfigError as error:
        place, colon, rest = str(error).partition(": ")
        if place not in places:
            raise
        rest = re.sub(r'\b(\w+)="([^"]*)"', r"--\1 \2", rest)
        raise ConfigError(f"{places[place]}{colon}{rest}") from None


#: Options that exclude others.
ALONE = {
    "within": ("wanted", "transient", "validate", "distribution", "picture"),
    "transient": ("wanted", "validate", "distribution"),
}


@dataclasses.dataclass(frozen=True)
class Request:
    """The options besides the parameters: the form and the place of the answer."""

    output: Output
    distribution: bool
    wanted: str | None = None
    within: str | None = None
    transient: str | None = None
    drive_writes: str | None = None
    validate: bool = False
    runs: str | None = None
    seed: str | None = None


def answer(info: Model, **typed: Any) -> int:
    """Answer the request to one model, and return the exit code."""
    output = Output.taken(typed)
    fields = [field.name for field in dataclasses.fields(Request)]
    request = Request(output, **{name: typed.pop(name) for name in fields if name in typed})
    given = {name: text for name, text in typed.items() if text is not None}
    _check(info, request, given)
    with _named_as_typed():
        if request.within is not None:
            return _within(request, given)
        values = _read(given)
        if request.transient is not None:
            return _transient(request, values)
        if request.wanted is not None:
            spare = spare_for(
                info.name, _real(request.wanted, "--wanted", "a write amplification"), **values
            )
            values["spare"] = spare.spare_factor
        if request.validate:
            return _validate(info, request, values)
        result = evaluate(info.name, **values)
        _check_shown(request, result)
    output.give(
        result,
        lambda result: views.show_answer(info, result, distribution=request.distribution),
    )
    output.draw(lambda: views.picture(result))
    return OK


def _check(info: Model, request: Request, given: dict[str, Any]) -> None:
    """Refuse options that exclude each other."""
    if "spare" in given and "overprovision" in given:
        raise ConfigError("--overprovision: found together with --spare; hint: give one of them")
    for name in ("spare", "overprovision"):
        if request.wanted is not None and name in given:
            raise ConfigError(
                f"--{name}: found together with --wanted, which solves for it; hint: leave one out"
            )
    for name, value in (("runs", request.runs), ("seed", request.seed)):
        if value is not None and not request.validate:
            raise ConfigError(f"--{name} only applies with --validate; hint: add --validate")
    if request.drive_writes is not None and request.transient is None:
        raise ConfigError(
            "--drive-writes only applies to transient solutions; hint: add --transient random"
        )
    if request.within is not None and "d" in given:
        raise ConfigError(
            "--d: found together with --within, which solves for it; hint: leave it out"
        )
    wishes = {**vars(request), "picture": request.output.picture}
    for name, others in ALONE.items():
        for other in others:
            if wishes[name] is not None and wishes[other]:
                flag = "plot" if other == "picture" else other
                raise ConfigError(f"--{flag}: found together with --{name}; hint: leave one out")


def _check_shown(request: Request, result: ModelResult) -> None:
    """Refuse to show a distribution if the model gives none."""
    if result.valid or result.victim:
        return
    for flag, shown in (("distribution", request.distribution), ("plot", request.output.picture)):
        if shown:
            raise ConfigError(
                f"--{flag}: {result.model} gives no distribution of valid pages here; "
                "hint: use meanfield, greedy or fifo"
            )


def _read(given: dict[str, str]) -> dict[str, Any]:
    return {
        name: READERS[name](text, f"--{name.replace('_', '-')}") if name in READERS else text
        for name, text in given.items()
    }


def _real(text: str, place: str, what: str) -> float:
    try:
        return float(text.removesuffix("x"))
    except ValueError:
        raise ConfigError(f"{place}: found '{text}', expected {what}; hint: {place} 3") from None


def _within(request: Request, given: dict[str, str]) -> int:
    stored = [parse_count(text, "--c") for text in given.pop("c", STORED).split(",")]
    values = _read(given)
    share = parse_share(request.within or "", "--within")
    fewest = choices_within(share, **values, c=stored)
    assert isinstance(fewest, dict)  # One answer for each of several c.
    greedy = evaluate("greedy", **values)
    rows = [
        views.Choice(
            c=c,
            d=d,
            write_amplification=math.nan
            if d is None
            else write_amplification("meanfield", **{**values, "d": d, "c": c}),
        )
        for c, d in fewest.items()
    ]
    if not request.output.as_json:
        views.show_choices(share, greedy, rows)
    document: dict[str, Json] = {
        "model": "meanfield",
        "within": share,
        "greedy": greedy.write_amplification,
        "choices": [dataclasses.asdict(row) for row in rows],
        "config": greedy.to_dict()["config"],
        "version": greedy.version,
    }
    request.output.deliver(dumps(document))
    return OK


def _transient(request: Request, values: dict[str, Any]) -> int:
    length = _real(request.drive_writes or "10", "--drive-writes", "drive writes")
    course = transient(str(request.transient), drive_writes=length, **values)
    request.output.give(course, views.show_course)
    request.output.draw(lambda: views.picture_of_course(course))
    return OK


def _validate(info: Model, request: Request, values: dict[str, Any]) -> int:
    from flashgc.terminal.progress import Bar

    output = request.output
    if request.distribution or output.picture:
        _check_shown(request, evaluate(info.name, **values))
    runs = parse_count(request.runs or "4", "--runs")
    with Bar(runs, quiet=output.quiet) as bar:
        both = validate(
            info.name,
            **values,
            runs=runs,
            seed=parse_count(request.seed or "1", "--seed"),
            progress=bar,
        )
    output.give(
        both,
        lambda both: views.show_validation(info, both, distribution=request.distribution),
    )
    output.draw(lambda: views.picture(both.model))
    views.warn_of_simulation(both, quiet=output.quiet)
    return INTERRUPTED if both.interrupted else OK


for _info in models():
    model.add_command(command_of(_info))
