"""A bench as Markdown, for the summary of a job of continuous integration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashgc.device.benching.budget import Compared, Missed, Wanted
from flashgc.device.benching.outcome import (
    Outcome,
    change_in_words,
    in_words,
    label,
    noise_in_words,
)
from flashgc.device.benching.texts import shown

#: The figures of the table.
COLUMNS = (
    "flash_bytes_per_unit",
    "host_bytes_per_unit",
    "write_amplification",
    "units_per_second",
    "write_p99",
)


def summary(
    done: Outcome, wanted: Sequence[Wanted], missed: Sequence[Missed], compared: Compared | None
) -> str:
    """The summary: first the missed limits, then the cells, then the findings."""
    return "\n".join(_lines(done, wanted, missed, compared)) + "\n"


def _lines(
    done: Outcome, wanted: Sequence[Wanted], missed: Sequence[Missed], compared: Compared | None
) -> Iterator[str]:
    yield f"### Flash bench: {_cell(done.bench.path.name)}"
    yield ""
    if missed:
        yield f"**{len(missed)} missed.**"
        yield ""
        yield from (f"- ❌ {_cell(claim.cell)}: {_cell(claim.claim)}" for claim in missed)
        yield ""
    elif wanted or compared is not None:
        checks = len(wanted) + (0 if compared is None else compared.made)
        yield f"✅ All {checks} budgets and comparisons hold." if checks > 1 else "✅ It holds."
        yield ""
    heads = [*done.cells[0].cell.varied, *(label(name, done.bench.unit) for name in COLUMNS)]
    heads.append(f"flash bytes against {done.against}{' cell' if done.reference == 0 else ''}")
    yield f"| {' | '.join(map(_cell, heads))} |"
    yield f"|{'---|' * len(heads)}"
    for cell in done.cells:
        change = done.change(cell)
        word = noise_in_words(change)
        texts = [
            *(shown(value) for value in cell.cell.varied.values()),
            *(in_words(name, cell.mean(name)) for name in COLUMNS),
            change_in_words(change) + (f", {word}" if word else ""),
        ]
        yield f"| {' | '.join(map(_cell, texts))} |"
    yield ""
    yield f"Means of {done.bench.repeats} repeats ± half the 95% interval."
    if done.findings or (compared is not None and compared.unknown):
        yield ""
        yield from (f"- {_cell(finding.sentence)}" for finding in done.findings)
        yield from (
            f"- not compared: {_cell(name)}" for name in (compared.unknown if compared else ())
        )


def _cell(text: str) -> str:
    """Escape characters that Markdown would interpret."""
    plain = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|`*_<>[]" else c for c in plain)
