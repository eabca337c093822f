"""Commands that are declared by their help pages.

The docstring of a command is its help page: the text, a section ``Options:``, and examples. An
option has a line with its flag and the word for its value, and below it its text. The type of its
value is the annotation of its parameter in the function's signature, and its default is in the
text. ``as`` gives the parameter another name than the flag. A flag without a text is an option that
is declared elsewhere: by another decorator of the function, or in ``SHARED``. Options of decorators
that the section does not list come first. A name in braces stands for one of the ``constants``.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from flashgc.command import output
from flashgc.command.common import JOBS, JSON, QUIET, RETRY, F, complete, with_options
from flashgc.command.entrance import CONTEXT

C = TypeVar("C", bound=click.Command)

#: Additions to the declaration of an option: settings of click, or the words of its completion.
Settings = Mapping[str, Any] | tuple[str, ...] | Callable[[], tuple[str, ...]]

_SECTION = re.compile(r"^(?:Options:|Examples?:|\x08)$", re.MULTILINE)
_ENTRY = re.compile(r"^(\S.*)((?:\n +.*)*)", re.MULTILINE)


def command(
    name: str | None = None,
    *,
    group: click.Group | None = None,
    context: Mapping[str, Any] | None = None,
    cls: type[C] = click.Command,  # type: ignore[assignment]
    settings: Mapping[str, Any] | None = None,
    constants: Mapping[str, object] | None = None,
    **options: Settings,
) -> Callable[[Callable[..., Any]], C]:
    """Make a command from a function, by its help page.

    ``settings`` are those of ``cls``, ``context`` those of click's context.
    """

    def decorate(function: Callable[..., Any]) -> C:
        text, entries, epilog = _page(function, constants or {})
        option = cls(
            name or function.__name__.replace("_", "-"),
            callback=_with_output(function),
            params=_parameters(function, entries, options),
            help=text,
            epilog=epilog or None,
            context_settings={**CONTEXT, **(context or {})},
            **(settings or {}),
        )
        if group is not None:
            group.add_command(option)
        return option

    return decorate


def _with_output(function: Callable[..., Any]) -> Callable[..., Any]:
    """If a function has a parameter ``output``, pass its options of output as one object."""
    if "output" not in inspect.signature(function).parameters:
        return function
    return lambda **typed: function(output=output.Output.taken(typed), **typed)


def options_of(
    function: Callable[..., Any],
    constants: Mapping[str, object] | None = None,
    **options: Settings,
) -> list[click.Parameter]:
    """Return the options of a function's help page."""
    return _parameters(function, _page(function, constants or {})[1], options)


def adds(
    constants: Mapping[str, object] | None = None, **options: Settings
) -> Callable[[Callable[..., None]], Callable[[F], F]]:
    """Make a decorator from a function: it adds the options of the function's page to a command."""

    def decorate(function: Callable[..., None]) -> Callable[[F], F]:
        return lambda command: with_options(command, options_of(function, constants, **options))

    return decorate


def _page(
    function: Callable[..., Any], constants: Mapping[str, object]
) -> tuple[str, list[tuple[str, str]], str]:
    """Return the text of a help page, its options with their texts, and the rest below them."""
    page = inspect.cleandoc(function.__doc__ or "").replace("\n\\b\n", "\n\b\n")
    page = re.sub(r"\{([A-Z_]+)\}", lambda match: str(constants[match[1]]), page)
    section = _SECTION.search(page)
    text, rest = (
        (page, "") if section is None else (page[: section.start()], page[section.start() :])
    )
    entries = []
    if rest.startswith("Options:"):
        block = re.match(r"Options:\n((?:(?: .*)?(?:\n|\Z))*)", rest)
        assert block is not None
        rest = rest[block.end() :]
        entries = [
            (head, " ".join(line.strip() for line in lines.strip().split("\n")))
            for head, lines in _ENTRY.findall(inspect.cleandoc(f"\n{block[1]}"))
        ]
    parts = (f"\b\n{part}" if part.startswith("Example") else part for part in rest.split("\n\n"))
    return text.strip(), entries, "\n\n".join(parts)


def _parameters(
    function: Callable[..., Any],
    entries: list[tuple[str, str]],
    options: Mapping[str, Settings],
) -> list[click.Parameter]:
    """Return the parameters that decorators have added to a function, and those of its page."""
    added = list(reversed(function.__dict__.pop("__click_params__", [])))
    known = {**SHARED, **{flag: parameter for parameter in added for flag in parameter.opts}}
    kinds = inspect.get_annotations(function)
    listed = [
        _option(head, text, kinds, options) if text else known[head.partition(" ")[0]]
        for head, text in entries
    ]
    return [*(name for name in added if name not in listed), *listed]


def _option(
    head: str, text: str, kinds: Mapping[str, str], options: Mapping[str, Settings]
) -> click.Option:
    """Return an option from its line on a page and the type of its parameter."""
    flags, _, name = head.partition(" as ")
    words = flags.replace(", -", " -").split()
    names = [word for word in words if word.startswith("-")]
    metavar = next((word for word in words if not word.startswith("-")), None)
    name = name or names[0].partition("/")[0].removeprefix("--").replace("-", "_")
    kind = kinds.get(name, "str | None")
    default = re.search(r"\[default: ([^\]]*)\]\Z", text)
    settings: dict[str, Any] = {"help": text, "metavar": metavar}
    if "/" in names[0]:
        settings["default"] = default is not None and names[0].startswith(default[1])
    elif kind == "bool":
        settings["is_flag"] = True
    elif kind.startswith("tuple["):
        settings["multiple"] = True
    elif not kind.endswith("| None"):
        settings |= {"required": True} if default is None else {"default": default[1]}
    if "Path" in kind:
        from pathlib import Path

        settings["type"] = click.Path(path_type=Path)
    elif metavar in ("FILE", "DIR"):
        settings["type"] = click.Path()
    elif kind.removesuffix(" | None") in ("int", "float"):
        settings["type"] = {"int": int, "float": float}[kind.removesuffix(" | None")]
    more = options.get(name, {})
    if callable(more):
        more = {"shell_complete": complete(more)}
    elif isinstance(more, tuple):
        more = {"shell_complete": complete(functools.partial(tuple, more))}
    return click.Option([*names, name], **{**settings, **more})


def _options(
    results: str | None, plot_kind: str | None, picture: str | None, out: str | None
) -> None:
    """Options of several commands.

    Options:
      --json
      --quiet
      --retry
      --results FILE
          Keep the results in FILE, and do not repeat runs whose results FILE has.
      --plot FILE as picture
          Draw the result to FILE, as .svg, .pdf or .png.
      --plot-kind WORD
          Content of --plot: amplification, histogram (of erases), evolution (of wear) or survival
          (of blocks). [default: amplification; with --until and a failure, evolution for one run
          and survival for several]
      --out FILE
          Write the JSON document to FILE as well.
    """


for _decorate in (JSON, QUIET, RETRY, JOBS):
    _decorate(_options)
#: Options that a page may list without a text.
SHARED: dict[str, click.Parameter] = {}
SHARED |= {
    option.opts[0]: option
    for option in options_of(
        _options,
        plot_kind=output.KINDS,
        picture={"callback": output.picture},
        out={"callback": output.option("result.json")},
    )
}
