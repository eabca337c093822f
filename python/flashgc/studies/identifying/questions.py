"""Questions about an identified drive: what to measure next, what if, how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flashgc._core import ConfigError
from flashgc.studies.identifying import deciding
from flashgc.studies.identifying.curves import Ask
from flashgc.studies.identifying.measurements import Drive
from flashgc.studies.identifying.outcome import HeldOut, Identified, Ranked, WhatIf
from flashgc.studies.identifying.schemes import Scheme, parse
from flashgc.studies.identifying.search import Search
from flashgc.units import parse_share


@dataclass(frozen=True)
class Change:
    """A change of a drive: another scheme, another spare factor, or both."""

    text: str
    #: ``None`` to keep the one there is; without a frontier, that is kept.
    scheme: str | None
    spare: float | None
    #: True if the spare factor is added to the one there is.
    is_added: bool

    def of(self, scheme: Scheme, spare: float) -> tuple[Scheme, float]:
        """The changed scheme and spare factor."""
        new = scheme
        if self.scheme is not None:
            new = replace(parse(self.scheme, scheme.frontier, "what-if"), blocks=scheme.blocks)
        if self.spare is None:
            return new, spare
        return new, spare + self.spare if self.is_added else self.spare


def change(text: str) -> Change:
    """The change that ``text`` asks for; raises :class:`flashgc.ConfigError`.

    >>> change("cost-benefit pool spare=+5%")
    Change(text='cost-benefit pool spare=+5%', scheme='cost-benefit pool', spare=0.05, \
is_added=True)
    """
    words = text.split()
    given = [word for word in words if word.startswith("spare=")]
    others = " ".join(word for word in words if not word.startswith("spare="))
    if not words or len(given) > 1:
        raise ConfigError(
            f"what-if: found '{text}', expected a scheme, a spare factor or both; hint: "
            "'spare=+5%' or 'cost-benefit pool'"
        )
    if others:
        parse(others, place="what-if")
    if not given:
        return Change(text, others, None, False)
    value = given[0].removeprefix("spare=")
    try:
        share = parse_share(value.removeprefix("+"))
    except ConfigError as fault:
        raise ConfigError(f"what-if: {fault}") from None
    if not 0 < share < 1:
        raise ConfigError(f"what-if: spare factor {value}, expected above 0% and below 100%")
    return Change(text, others or None, share, value.startswith("+"))


def asked(
    one: Identified, search: Search, changes: Sequence[Change], *, hold_out: bool
) -> Identified:
    """Return the drive with answers to the questions."""
    return replace(
        one,
        further=deciding.further(one, search),
        held_out=_held_out(one, search) if hold_out else (),
        what_ifs=tuple(
            _what_if(one, search, change, index)
            for change in changes
            for index in range(len(one.drives))
        ),
    )


def _held_out(one: Identified, search: Search) -> tuple[HeldOut, ...]:
    found = []
    for drive in one.drives:
        for index, point in enumerate(drive.points):
            made = search.held_out(drive, index)
            if made is not None:
                scheme, predicted = made
                found.append(
                    HeldOut(
                        drive.name,
                        point.workload,
                        point.write_amplification,
                        predicted,
                        scheme.name,
                    )
                )
    return tuple(found)


def _what_if(one: Identified, search: Search, change: Change, index: int) -> WhatIf:
    drive = one.drives[index]
    some = one.alike[: deciding.ASKED]
    now, then = [], []
    for ranked in some:
        fit = ranked.explanation.fits[index]
        scheme, spare = change.of(ranked.explanation.scheme, fit.spare)
        if not 0.01 <= spare <= 0.9:
            raise ConfigError(
                f"what-if: '{change.text}' makes a spare factor of {100 * spare:.1f}%, expected "
                "1% to 90%"
            )
        now.append(_values(search, drive, ranked.explanation.scheme, fit.spare, fit.scale))
        then.append(_values(search, drive, scheme, spare, fit.scale))
    ratios = [
        [after / before for before, after in zip(old, new, strict=True)]
        for old, new in zip(now, then, strict=True)
    ]
    best = _changed(some[0], index, change)
    return WhatIf(
        change.text,
        drive.name,
        best[0].name,
        best[1],
        tuple(point.workload for point in drive.points),
        tuple(now[0]),
        tuple(then[0]),
        tuple(min(column) for column in zip(*ratios, strict=True)),
        tuple(max(column) for column in zip(*ratios, strict=True)),
    )


def _changed(ranked: Ranked, index: int, change: Change) -> tuple[Scheme, float]:
    return change.of(ranked.explanation.scheme, ranked.explanation.fits[index].spare)


def _values(
    search: Search, drive: Drive, scheme: Scheme, spare: float, scale: float
) -> list[float]:
    asks = [Ask(scheme, point.condition, round(spare, 4)) for point in drive.points]
    search.curves.simulate(asks, "what if")
    return [search.curves.value(ask) * scale for ask in asks]
