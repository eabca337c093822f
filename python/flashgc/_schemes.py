"""Schemes: a victim policy, a placement and a frontier under one name.

``mine = cost-benefit + sepbit + pool`` is the text of a scheme. An experiment file has a table for
each::

    [scheme.mine]
    victim = "cost-benefit"
    placement = "python:mine.py:Classes,alpha=0.25"
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flashgc._core import ConfigError, scheme_parts, suggest

#: The section of an experiment file that has a table for each scheme.
SECTION = "scheme"
#: The path of the option.
PATH = "gc.scheme"
#: The keys of a table, each with what it is and an example.
KEYS = {
    "victim": ("Victim policy", "cost-benefit"),
    "placement": ("Placement; without one, none", "python:mine.py:Classes,alpha=0.25"),
    "frontier": ("Write frontier; without one, that of the drive, or the pool", "pool:low=2"),
    "label": ("Name that results have; without one, that of the table", "EDT (ours)"),
}


@dataclass(frozen=True)
class Scheme:
    """A victim policy, a placement and a frontier under one name.

    Tables, plots and exports use the name. ``victim`` and ``placement`` are texts, or in
    :func:`flashgc.run` and :func:`flashgc.compare` objects and classes in Python, too. Without a
    ``frontier``, that of the drive is used; if none was given, the pool.

    >>> Scheme("mine", "fifo", "sepbit").text
    'mine = fifo + sepbit'
    """

    name: str
    victim: object
    placement: object = "none"
    frontier: str | None = None
    #: A summary in one line, of a scheme that flashgc includes.
    summary: str = ""

    @classmethod
    def parse(cls, text: str) -> Scheme:
        """The scheme with this text; raises :class:`flashgc.ConfigError` if it is none.

        >>> Scheme.parse("gc-gd").placement, Scheme.parse("greedy + dac + pool").frontier
        ('dac:regions=3', 'pool')
        """
        return cls(*scheme_parts(text))

    @property
    def usage(self) -> str:
        """The name, by which a scheme that flashgc includes can be typed."""
        return self.name

    @property
    def specs(self) -> tuple[str, str]:
        """The texts of victim policy and placement."""
        return str(self.victim), str(self.placement)

    @property
    def couple(self) -> str:
        """The text without the name; a part in Python must be a text.

        >>> Scheme.parse("gc-gd").couple
        'greedy + dac:regions=3'
        """
        parts = (self.victim, None if self.placement == "none" else self.placement, self.frontier)
        return " + ".join(str(part) for part in parts if part is not None)

    @property
    def text(self) -> str:
        """The text that the option takes; a scheme without a name of its own has none in it."""
        return self.couple if self.name == self.couple else f"{self.name} = {self.couple}"


def with_policies(text: Any, change: Callable[[str], str]) -> Any:
    """The text of a scheme with ``change`` of its victim policy and of its placement.

    A value that is no scheme stays as it is; a later check refuses it.

    >>> with_policies("mine = fifo + sepbit", str.upper), with_policies("fifo", str.upper)
    ('mine = FIFO + SEPBIT', 'FIFO')
    """
    try:
        scheme = Scheme.parse(text) if isinstance(text, str) else None
    except ConfigError:
        scheme = None
    if scheme is None:
        return text
    victim, placement = scheme.specs
    if placement != "none":
        placement = change(placement)
    moved = replace(scheme, victim=change(victim), placement=placement)
    if moved == scheme:
        return text
    return moved.couple if scheme.name == scheme.couple else moved.text


def python_parts(texts: Any) -> Iterator[tuple[str, str]]:
    """Key and text of the victim policies and placements that schemes name.

    Texts that are no schemes have none; a later check refuses them.
    """
    for text in texts if isinstance(texts, list | tuple) else [texts]:
        if isinstance(text, str):
            with contextlib.suppress(ConfigError):
                victim, placement = Scheme.parse(text).specs
                yield "victim", victim
                yield "placement", placement


def with_schemes(
    values: Mapping[str, Any], places: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """``values`` and ``places`` with the tables of schemes as texts of the option.

    The option names those that are run; without it, all are. Raises
    :class:`flashgc.ConfigError`, which names the place of a wrong table.
    """
    if SECTION not in values:
        return dict(values), dict(places)
    texts = _texts(values[SECTION], places)
    others = {name: keys for name, keys in values.items() if name != SECTION}
    gc = others.get("gc", {})
    if not isinstance(gc, Mapping):
        return others, dict(places)  # A later check refuses it.
    given = gc.get("scheme")
    if given is None:
        more = {f"{PATH}.{index}": _place(places, name) for index, name in enumerate(texts)}
        more[PATH] = _place(places)
        chosen: Any = [*texts.values()]
    else:
        more = {}
        chosen = (
            [texts.get(name, name) if isinstance(name, str) else name for name in given]
            if isinstance(given, list)
            else texts.get(given, given)
        )
    others["gc"] = {**gc, "scheme": chosen}
    return others, {**places, **more}


def _place(places: Mapping[str, str], *keys: str) -> str:
    """The place of a key of a table, of a table, or of them all."""
    path = ".".join((SECTION, *keys))
    return places.get(path) or (_place(places, *keys[:-1]) if keys else SECTION)


def _texts(tables: Any, places: Mapping[str, str]) -> dict[str, str]:
    """The text of each scheme, by the name of its table."""
    texts: dict[str, str] = {}
    if not isinstance(tables, Mapping) or not tables:
        raise ConfigError(
            f"{_place(places)}: found {tables!r}, expected tables; hint: write [scheme.mine]"
        )
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise ConfigError(
                f"{_place(places, name)}: found {table!r}, expected a table; "
                f"hint: write [{SECTION}.{name}], then victim = ..."
            )
        for key, value in table.items():
            if key not in KEYS:
                raise ConfigError(
                    f"{_place(places, name, key)}: unknown key '{key}' in [{SECTION}.{name}]; "
                    f"hint: {suggest(key, list(KEYS))}"
                )
            if not isinstance(value, str):
                raise ConfigError(
                    f"{_place(places, name, key)}: found {value!r}, expected a text; "
                    "hint: each scheme has one of each"
                )
        if "victim" not in table:
            raise ConfigError(
                f"{_place(places, name)}: the scheme has no victim policy; "
                'hint: write victim = "greedy"'
            )
        scheme = Scheme(
            table.get("label", name), table["victim"], table.get("placement", "none"),
            table.get("frontier"),
        )  # fmt: skip
        try:
            parsed = Scheme.parse(scheme.text)
        except ConfigError as fault:
            raise ConfigError(f"{_place(places, name)}: {fault}") from None
        if parsed != scheme:
            raise ConfigError(
                f"{_place(places, name)}: found '{scheme.text}', expected one victim policy, "
                "placement and frontier; hint: give each in its key"
            )
        texts[name] = scheme.text
    return texts


def in_tables(tables: Any, name: Callable[[Any], Any]) -> None:
    """Apply ``name`` to the victim policy and the placement of each table."""
    for table in tables.values() if isinstance(tables, dict) else ():
        for key in ("victim", "placement") if isinstance(table, dict) else ():
            if key in table:
                table[key] = name(table[key])
