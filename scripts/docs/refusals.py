"""The combinations of options that a drive refuses, tried one by one.

``docs/reference/refusals.md`` is what this finds: each option alone, and each pair of those that a
drive takes, on a small drive of each kind.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flashgc
from flashgc import ConfigError, Device

GENERATED = "<!-- Written by `make docs`: see scripts/docs/refusals.py. -->"

Options = dict[str, Any]

#: The options that are tried, under the name that the table gives them. FILE stands for a file of
#: streams.
FEATURES: dict[str, Options] = {
    "--victim fifo": {"victim": "fifo"},
    "--victim bsgc": {"victim": "bsgc"},
    "--victim z-greedy": {"victim": "z-greedy"},
    "--frontier single": {"frontier": "single"},
    "--frontier double": {"frontier": "double"},
    "--frontier mixed": {"frontier": "mixed:low=2"},
    "--mapping dftl": {"mapping": "dftl:entries=64,per_page=16"},
    "--mapping fast": {"mapping": "fast:log_blocks=4"},
    "--mapping-unit 1KiB": {"mapping_unit": "1KiB"},
    "--power-protection no": {"mapping_unit": "1KiB", "power_protection": "no"},
    "--placement dac": {"placement": "dac:regions=2"},
    "--placement fdp": {"placement": "fdp:handles=2", "streams": "FILE"},
    "--placement oracle": {"placement": "oracle:classes=2"},
    "--streams": {"streams": "FILE"},
    "--wear-levelling": {"wear_levelling": "static:threshold=50,interval=10"},
    "--endurance": {"endurance": "1000"},
    "--host-cache": {"host_cache": "page-cache:size=64KiB"},
    "--hints perfect": {"host_cache": "page-cache:size=64KiB", "hints": "perfect"},
    "--hints oracle": {"host_cache": "page-cache:size=64KiB", "hints": "oracle"},
    "--vm-page-cache": {"vm_page_cache": "64KiB"},
    "--slc": {"slc": "static:blocks=2", "slc_times": "read=25us,program=200us,erase=2ms",
              "bits_per_cell": 3},
    "--write-cache": {"write_cache": "64KiB"},
    "--copy-back yes": {"copy_back": "yes"},
    "--preemption pgc+merge": {"preemption": "pgc+merge"},
    "--flush-after": {"mapping_unit": "1KiB", "flush_after": "1ms"},
    "--tenant": {"tenant": ["name=a; workload=uniform; space=50%",
                            "name=b; workload=uniform; space=50%"]},
}  # fmt: skip

SHAPE: Options = {"blocks": 256, "pages_per_block": 32, "spare": "30%"}
TIMES = "read=60us,program=800us,erase=1.5ms,transfer=20us"


def _counting(options: Options) -> None:
    usual = {"frontier": "pool:low=2"}
    flashgc.run(**SHAPE, **{**usual, **options}, writes="10", warmup="0")


def _timed(options: Options) -> None:
    flashgc.run(**SHAPE, **options, kind="timed", requests=10, warmup="0", times=TIMES)


def _stored(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Device.create(Path(folder) / "drive.flash", **SHAPE, **options).close()


#: Makes a drive of each kind with these options, and uses it.
DRIVES: dict[str, Callable[[Options], None]] = {
    "counting": _counting,
    "timed": _timed,
    "stored": _stored,
}


def _reason(use: Callable[[Options], None], options: Options) -> str | None:
    try:
        use(options)
    except ConfigError as error:
        return str(error).partition("; hint: ")[0]
    return None


def refusals(
    use: Callable[[Options], None], features: dict[str, Options]
) -> Iterator[tuple[str, str | None, str]]:
    """The options that a drive refuses, alone and then in pairs: both names, and the reason."""
    taken = []
    for name, options in features.items():
        if (why := _reason(use, options)) is None:
            taken.append(name)
        else:
            yield name, None, why
    for one, other in itertools.combinations(taken, 2):
        first, second = features[one], features[other]
        if any(first[key] != second[key] for key in first.keys() & second.keys()):
            continue  # The same option with two values.
        if (why := _reason(use, first | second)) is not None:
            yield one, other, why


def page() -> str:
    """The page of the reference."""
    with tempfile.TemporaryDirectory() as folder:
        streams = Path(folder) / "streams.csv"
        streams.write_text("0, 65536, 1\n", encoding="utf-8")
        features = {
            name: {key: str(streams) if value == "FILE" else value for key, value in of.items()}
            for name, of in FEATURES.items()
        }
        found = {drive: list(refusals(use, features)) for drive, use in DRIVES.items()}
    lines = [
        "# Refused combinations",
        "",
        GENERATED,
        "",
        f"A test tries {len(FEATURES)} options on a small drive of each kind, alone and in pairs. "
        "It writes down what the drive refuses, and in which words. All other pairs of options "
        "that the drive takes work. Not tried are pairs that give one option two values.",
    ]
    for drive, refused in found.items():
        alone = [(one, why) for one, other, why in refused if other is None]
        pairs = [(one, other, why) for one, other, why in refused if other is not None]
        lines += ["", f"## The {drive} drive", ""]
        lines += [f"Of these pairs it refuses {len(pairs)}.", ""] if pairs else []
        lines += [] if not pairs else ["| option | with | reason |", "|---|---|---|"]
        lines += [f"| `{one}` | `{other}` | {_cell(why)} |" for one, other, why in pairs]
        lines += ["", "It does not take these options:", "", "| option | reason |", "|---|---|"]
        lines += [f"| `{one}` | {_cell(why)} |" for one, why in alone]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
