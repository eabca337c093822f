"""Findings: sentences about results, shown with their figures.

Each finding has a rule, which says what the finding claims and when. The engine declares the rules
for a single result; those of rankings and studies are in ``rules.toml``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc._documents import Json

#: The gravity of a finding. Note: the figures hold. Doubt: a longer or another run may give other
#: figures. Invalid: the figures do not answer the question.
NOTE, DOUBT, INVALID = "note", "doubt", "invalid"


def without_numbers(text: str) -> str:
    """Return ``text`` with N in place of each number, so that similar texts become equal.

    >>> without_numbers("touches 3 pages, expected at least two blocks of 256 pages (10%)")
    'touches N pages, expected at least two blocks of N pages (N%)'
    """
    return re.sub(r"\d+(\.\d+)?", "N", text)


@dataclass(frozen=True)
class Finding:
    """A finding: a claim about a result, with its evidence."""

    #: The id of its rule.
    id: str
    #: ``note``, ``doubt`` or ``invalid``.
    gravity: str
    #: The part that it is about: ``measured``, ``warm-up``, ``run``, ``workload``,
    #: ``configuration``.
    window: str
    #: The claim.
    claim: str
    #: The hint; ``None`` without one.
    hint: str | None
    #: The numbers and names that the claim rests on, by name.
    evidence: Mapping[str, Json]

    @property
    def text(self) -> str:
        """The claim and the hint in one line.

        >>> Finding("no-erase", "doubt", "measured", "no erase", "more --requests", {}).text
        'no erase; hint: more --requests'
        """
        return self.claim if self.hint is None else f"{self.claim}; hint: {self.hint}"

    @property
    def kind(self) -> tuple[str, str, str]:
        """Return a key that is equal for findings that differ only in numbers, or after a colon.

        The hint is part of the key, so that a finding with a hint is not merged with one without.
        """
        return self.id, without_numbers(self.claim.split(":")[0]), without_numbers(self.hint or "")

    @property
    def sentence(self) -> str:
        """The line of :attr:`text` as a sentence."""
        return f"{self.text}."

    def to_dict(self) -> dict[str, Json]:
        """The finding as plain values, with the keys of a JSON document."""
        return {**vars(self), "evidence": dict(self.evidence)}


@dataclass(frozen=True)
class Rule:
    """A rule, which makes findings of one kind."""

    #: The id of its findings.
    id: str
    #: The gravity of its findings.
    gravity: str
    #: The part that its findings are about.
    window: str
    #: The claim in general terms.
    claim: str
    #: The condition under which a finding is made.
    rule: str

    def found(self, claim: str, hint: str | None = None, /, **evidence: Json) -> Finding:
        """A finding by this rule."""
        return Finding(self.id, self.gravity, self.window, claim, hint, evidence)

    def found_in(self, before: str, text: str, /, **evidence: Json) -> Finding:
        """A finding whose claim is ``before`` plus a text of the engine, which may end with a hint.

        >>> Rule("left-out", "note", "gap", "", "").found_in("fifo: ", "no room; hint: more").hint
        'more'
        """
        claim, _, hint = text.partition("; hint: ")
        return self.found(before + claim, hint or None, **evidence)


@functools.cache
def _declared() -> dict[str, dict[str, Rule]]:
    import tomllib
    from importlib import resources

    text = resources.files(__package__).joinpath("rules.toml").read_text("utf-8")
    return {
        window: {id_: Rule(id_, window=window, **fields) for id_, fields in rules.items()}
        for window, rules in tomllib.loads(text).items()
    }


class Rules(Mapping[str, Rule]):
    """The rules of one ``window`` by id; ``rules.toml`` is read at the first use."""

    def __init__(self, window: str) -> None:
        self._window = window

    def __getitem__(self, id_: str) -> Rule:
        return _declared()[self._window][id_]

    def __iter__(self) -> Iterator[str]:
        return iter(_declared()[self._window])

    def __len__(self) -> int:
        return len(_declared()[self._window])


@functools.cache
def rules() -> tuple[Rule, ...]:
    """The rules of all findings, in the order of their declaration.

    >>> [one.id for one in rules()][:2]
    ['nothing-measured', 'runs-in-warm-up']
    """
    from flashgc import _core

    of_one = tuple(Rule(**rule) for rule in json.loads(_core.finding_rules()))
    return of_one + tuple(rule for declared in _declared().values() for rule in declared.values())


def together(each: Sequence[tuple[str, Sequence[Finding]]]) -> list[Finding]:
    """The findings of several results, given by name; those that differ only in numbers are merged.

    A finding that all results have is stated without names. A merged finding has the evidence of
    the first, and the hint that helps all: the largest number, or the slowest rate.

    >>> one = Finding("no-erase", "doubt", "measured", "no erase: 3 writes", None, {})
    >>> [said.claim for said in together([("a", [one]), ("b", [one]), ("c", [])])]
    ['a, b: no erase']
    >>> [said.claim for said in together([("a", [one]), ("b", [one])])]
    ['no erase: 3 writes']
    >>> two = dataclasses.replace(one, claim="2 were left out")
    >>> three = dataclasses.replace(one, claim="3 were left out")
    >>> [said.claim for said in together([("a", [two]), ("b", [three])])]
    ['a: 2 were left out (1 more likewise, with other figures)']
    >>> short, long = (dataclasses.replace(one, hint=f"--writes {n}x") for n in (80, 320))
    >>> [said.hint for said in together([("a", [short]), ("b", [long]), ("c", [one])])]
    ['--writes 320x', None]
    """
    kinds: dict[tuple[str, str, str], list[tuple[str, Finding]]] = {}
    for name, findings in each:
        for finding in findings:
            kinds.setdefault(finding.kind, []).append((name, finding))
    return [_as_one(pairs, len(each)) for pairs in kinds.values()]


def doubts_of(each: Iterable[tuple[str, Sequence[Finding]]]) -> list[Finding]:
    """The findings of several results, merged, without notes, for a study of these results."""
    return together(
        [
            (name, [finding for finding in findings if finding.gravity != NOTE])
            for name, findings in each
        ]
    )


def _as_one(pairs: Sequence[tuple[str, Finding]], results: int) -> Finding:
    (name, first), *others = pairs
    if len(pairs) == results and all(finding.text == first.text for _, finding in others):
        return first
    if not others:
        return dataclasses.replace(first, claim=f"{name}: {first.claim}")
    first = dataclasses.replace(first, hint=hint_for_all([finding.hint for _, finding in pairs]))
    heads = [finding.claim.split(":")[0] for _, finding in pairs]
    if len(set(heads)) > 1:
        more = f"{len(others)} more likewise, with other figures"
        return dataclasses.replace(first, claim=f"{name}: {heads[0]} ({more})")
    names = _first_names([name for name, _ in pairs], results)
    return dataclasses.replace(first, claim=f"{names}: {heads[0]}")


def hint_for_all(hints: Sequence[str | None]) -> str | None:
    """Return the hint that helps in all cases, out of hints that differ only in numbers.

    >>> hint_for_all(["--rate-scale 0.8", "--rate-scale 0.45"])
    '--rate-scale 0.45'
    """

    def amount(hint: str) -> list[float]:
        return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", hint)]

    given = [hint for hint in hints if hint is not None]
    if not given:
        return None
    is_rate = "rate" in given[0] and "scale" in given[0]
    return (min if is_rate else max)(given, key=amount)


def _first_names(names: Sequence[str], all_: int) -> str:
    """The first names of results in one line, and the number of further ones."""
    if len(names) == all_ > 2:
        return f"all {all_}"
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def read(raw: Mapping[str, Any]) -> list[Finding]:
    """The findings in the document of a result."""
    return [Finding(**fields) for fields in raw.get("findings", ())]
