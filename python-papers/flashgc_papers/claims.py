"""The claims file: published facts as data. This module does not know how claims are checked."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from flashgc import ConfigError
from flashgc_papers import entries
from flashgc_papers.engine import suggest

W = TypeVar("W", bound=StrEnum)

#: A published cell: a number, or the name of a policy, a trace, a state.
Cell = float | str


class Kind(StrEnum):
    """The way in which a claim's published values are compared with measured ones."""

    EQUAL = "equal"
    RANGE = "range"
    ORDER = "order"
    ARGMIN = "argmin"
    TREND = "trend"


class Input(StrEnum):
    """The input of the published experiment."""

    #: An input that the paper defines completely.
    EXACT = "exact"
    #: A public trace.
    TRACE = "trace"
    #: Hardware or a program that only the authors have.
    RIG = "rig"
    #: A statement that is checked here on real programs; the check runs only if it is named.
    LIVE = "live"


@dataclass(frozen=True)
class Tolerance:
    """The largest distance of a measured value from the published one."""

    #: Absolute, or a share of the published value.
    amount: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Reads ``"0.001"`` (absolute) or ``"0.05%"`` (of the published value).

        >>> Tolerance.parse("0.05%")
        Tolerance(amount=0.0005, relative=True)
        """
        number = text.removesuffix("%")
        try:
            amount = float(number)
        except ValueError:
            amount = math.nan
        if not 0 <= amount < math.inf:
            raise ConfigError(f"tol: found '{text}', expected a number from 0, or one with %")
        relative = number != text
        return cls(amount / 100 if relative else amount, relative)

    def of(self, value: float) -> float:
        """Return the largest accepted distance from ``value``, in the unit of ``value``."""
        return self.amount * abs(value) if self.relative else self.amount

    def __str__(self) -> str:
        return f"{self.amount * 100:g}%" if self.relative else f"{self.amount:g}"


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are in the file."""

    #: First part of the ids of its claims.
    name: str
    title: str
    #: Authors, place and year.
    source: str


@dataclass(frozen=True)
class Claim:
    """One published statement that can be checked."""

    #: The paper and the place in it, joined by dots: ``dchoices.table1.model``.
    id: str
    #: The statement, in words.
    what: str
    kind: Kind
    input: Input
    #: The tolerance, for ``equal``.
    tol: Tolerance | None = None
    #: The published value, if there is only one.
    value: float | None = None
    #: Bounds, for ``range`` and ``argmin``.
    lo: float | None = None
    hi: float | None = None
    #: The inequality or trend, in words, for ``order`` and ``trend``.
    holds: str = ""
    #: Headings of ``rows``.
    columns: tuple[str, ...] = ()
    #: Published numbers, each row with the names or parameters that its numbers belong to.
    rows: tuple[tuple[Cell, ...], ...] = ()
    #: Further published numbers by name.
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: A note for readers about the published figures.
    note: str = ""
    #: The arithmetic by which the paper's own figures exclude each other; empty if they do not.
    contradiction: str = ""

    @property
    def paper(self) -> str:
        """The name of its paper."""
        return self.id.partition(".")[0]

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance of a claim of kind ``equal``."""
        assert self.tol is not None
        return self.tol

    @property
    def only_value(self) -> float:
        """The published value of a claim that has exactly one."""
        assert self.value is not None
        return self.value

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a claim that has them."""
        assert self.lo is not None
        assert self.hi is not None
        return self.lo, self.hi

    def column(self, name: str) -> tuple[Cell, ...]:
        """The published cells under the heading ``name``."""
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)


@dataclass(frozen=True)
class Claims:
    """All papers and their claims, in the order of the file."""

    papers: Mapping[str, Paper]
    claims: tuple[Claim, ...]

    def select(self, what: tuple[str, ...]) -> tuple[Claim, ...]:
        """The claims that ``what`` names, in the order of the file; all claims if it is empty.

        A name is a claim's id or the beginning of one up to a dot. Raises
        :class:`flashgc.ConfigError` for an unknown name.

        >>> [claim.id for claim in claims().select(("dchoices.table1",))]
        ['dchoices.table1.model', 'dchoices.table1.simulation']
        """
        for name in what:
            if not any(_names(name, claim) for claim in self.claims):
                hint = suggest(name, self.names())
                raise ConfigError(f"WHAT: nothing published is called '{name}'; hint: {hint}")
        return tuple(
            claim for claim in self.claims if not what or any(_names(name, claim) for name in what)
        )

    def names(self) -> list[str]:
        """Every name that :meth:`select` knows."""
        known: dict[str, None] = {}
        for claim in self.claims:
            parts = claim.id.split(".")
            known.update((".".join(parts[:end]), None) for end in range(1, len(parts) + 1))
        return list(known)


@functools.cache
def _notes() -> Mapping[str, list[str]]:
    return entries.document("notes.toml")


def notes_of(claim: Claim) -> list[str]:
    """The package's notes on a claim: those under its id, and those under a beginning of its id."""
    texts = (text for name, notes in _notes().items() if _names(name, claim) for text in notes)
    return [text.format(claim=claim) for text in texts]


def _names(name: str, claim: Claim) -> bool:
    return claim.id == name or claim.id.startswith(f"{name}.")


@functools.cache
def claims() -> Claims:
    """The claims that flashgc comes with."""
    return parse(entries.text_of("claims.toml"), "claims.toml")


def parse(text: str, place: str) -> Claims:
    """Reads a claims file; ``place`` is its name for messages.

    Raises :class:`flashgc.ConfigError`, naming the claim and the fault.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{place}: {error}") from None
    entries.check(place, document, ("paper", "claim"))
    papers = {}
    for name, raw in document.get("paper", {}).items():
        keys = ("title", "source")
        at = f"{place}: paper '{name}'"
        entries.check(at, raw, keys)
        papers[name] = Paper(name, *(_text(at, raw, key) for key in keys))
    by_id: dict[str, Claim] = {}
    for number, raw in enumerate(document.get("claim", []), start=1):
        claim = _claim(f"{place}: claim {number}", raw)
        at = f"{place}: claim '{claim.id}'"
        if claim.id in by_id:
            raise ConfigError(f"{at} is given twice")
        if claim.paper not in papers:
            raise ConfigError(f"{at}: there is no [paper.{claim.paper}]")
        by_id[claim.id] = claim
    return Claims(papers, tuple(by_id.values()))


def _claim(at: str, raw: dict[str, Any]) -> Claim:
    at = f"{at} '{raw.get('id', '?')}'"
    entries.check(at, raw, [key.name for key in fields(Claim)])
    kind = _word(at, raw, "kind", Kind)
    try:
        tol = None if "tol" not in raw else Tolerance.parse(str(raw["tol"]))
    except ConfigError as error:
        raise ConfigError(f"{at}: {error}") from None
    columns = tuple(raw.get("columns", ()))
    rows = tuple(tuple(row) for row in raw.get("rows", ()))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            raise ConfigError(
                f"{at}: row {number} has {len(row)} cells, expected {len(columns)} as in columns"
            )
    for needs, keys in ((Kind.EQUAL, ("tol",)), (Kind.RANGE, ("lo", "hi"))):
        missing = [key for key in keys if kind is needs and key not in raw]
        if missing:
            raise ConfigError(f"{at}: {missing[0]} is missing, which kind '{kind}' needs")
    checked: dict[str, Any] = {
        "id": _text(at, raw, "id"),
        "what": _text(at, raw, "what"),
        "kind": kind,
        "input": _word(at, raw, "input", Input),
        "tol": tol,
        "columns": columns,
        "rows": rows,
    }
    return Claim(**{**raw, **checked})


def _text(at: str, raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str):
        given = "nothing" if value is None else repr(value)
        raise ConfigError(f"{at}: {key}: found {given}, expected text")
    return value


def _word(at: str, raw: dict[str, Any], key: str, words: type[W]) -> W:
    value = _text(at, raw, key)
    try:
        return words(value)
    except ValueError:
        known = [str(word) for word in words]
        raise ConfigError(
            f"{at}: {key}: found '{value}', expected {', '.join(known)}; "
            f"hint: {suggest(value, known)}"
        ) from None
