"""The findings of a fleet, as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from flashgc.results.findings import Finding, Rules, without_numbers
from flashgc.studies.fleets.outcome import ROUNDED, Fleet, FleetPolicy
from flashgc.units import many

RULES = Rules("fleet")
#: The maximum number of reasons of each kind that are listed.
REASONS = 10
#: Texts for volumes without a result, by status.
_STATUSES = {
    "cannot": "cannot run",
    "idle": "never collect",
    "failed": "failed",
    "missing": "not run",
}


#: Findings that are printed below the tables; others are warnings.
SENTENCES = frozenset(
    ("fleet-interrupted", "beyond-chance", "within-chance", "volumes-without-result")
)


def findings(fleet: Fleet) -> list[Finding]:
    """Return how the policies compare, which volumes have no result, and doubts on the tables."""
    findings = []
    if fleet.interrupted:
        missing = len(fleet.of("missing"))
        claim = f"Interrupted: {missing} of {len(fleet)} cells were not run"
        findings.append(RULES["fleet-interrupted"].found(claim, missing=missing, cells=len(fleet)))
    first = fleet.policies[0].name
    findings += [
        _against(first, policy, len(fleet.policies) - 1)
        for policy in fleet.policies[1:]
        if policy.against_first is not None
    ]
    return [*findings, *reasons(fleet), *_doubts(fleet)]


def _against(first: str, policy: FleetPolicy, comparisons: int) -> Finding:
    signs = policy.against_first
    assert signs is not None
    rule = RULES["beyond-chance" if policy.differs else "within-chance"]
    words = rule.id.replace("-", " ")
    if comparisons > 1:
        words += f" in {comparisons} comparisons"
    chance = "below 1e-9" if signs.p < 1e-9 else f"{signs.p:.2g}"
    return rule.found(
        f"{policy.name} writes less than {first} on {many(signs.less, 'volume')}, "
        f"more on {signs.more}, as much on {signs.same}: {words} (sign test, p {chance})",
        less=signs.less,
        more=signs.more,
        same=signs.same,
        p=signs.p,
        comparisons=comparisons,
    )


def reasons(fleet: Fleet) -> Iterator[Finding]:
    """A finding for each kind of reason without a result: the number of volumes, and an example."""
    for status, words in _STATUSES.items():
        examples: dict[str, tuple[int | str, str]] = {}
        counts: Counter[str] = Counter()
        for kind, volumes in _kinds(fleet, status).items():
            counts[kind] = len(volumes)
            examples[kind] = next(iter(volumes.items()))
        for kind, count in counts.most_common(REASONS):
            volume, reason = examples[kind]
            such = f"volume {volume}" if count == 1 else f"{count} volumes, such as {volume},"
            such = f"{such} {words}" + (": " if reason else "")
            rule = RULES["volumes-without-result"]
            yield rule.found_in(such, reason, volumes=count, status=status)


def _kinds(fleet: Fleet, status: str) -> Mapping[str, dict[int | str, str]]:
    """The volumes that have each kind of reason under any policy, each with its own reason."""
    groups: dict[str, dict[int | str, str]] = {}
    for cell in fleet.of(status):
        groups.setdefault(without_numbers(cell.reason), {}).setdefault(cell.volume, cell.reason)
    return groups


def _doubts(fleet: Fleet) -> Iterator[Finding]:
    for note in fleet.notes:
        yield RULES["traces-as-read"].found(note)
    if len({policy.volumes for policy in fleet.policies}) > 1:
        yield RULES["other-volumes"].found(
            "the policies have results of different volumes: only 'to the first' and the counts "
            "of volumes compare the same ones",
            volumes=[policy.volumes for policy in fleet.policies],
        )
    if fleet.rounded:
        yield RULES["whole-blocks"].found(
            f"{many(fleet.rounded, 'volume')} with a result: blocks are whole, so "
            f"their drives have {ROUNDED:g} times the spare factor asked for, or more",
            "a smaller --pages-per-block",
            volumes=fleet.rounded,
        )
