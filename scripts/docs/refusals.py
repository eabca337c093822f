"""The combinations of options that a drive refuses, tried one by one.

It writes ``docs/reference/refusals.md``. On a small drive of each kind it tries each option alone,
and then each pair of accepted options. Each drive is written until it collects, and its state is
checked at the end: simulated drives by the engine, if that is compiled with assertions, and stored
drives by ``flashgc device check``.
"""

from __future__ import annotations

import itertools
import json
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flashgc import ConfigError, DriveError, _core
from flashgc.device.making import plan
from flashgc.device.past import Past
from flashgc.execution import simulate
from flashgc.experiment import experiment
from flashgc.options import find, several

GENERATED = "<!-- Written by `make docs`: see scripts/docs/refusals.py. -->"

Options = dict[str, Any]

#: Times of a word line that is programmed in two passes.
PASSES = "read=60us,program=300us+500us,erase=1.5ms,transfer=20us"

#: The options to try, each followed by those that it needs on a simulated drive. FILE stands for a
#: file of streams, and TRACE for a recording with the times of answers.
FEATURES: tuple[Options, ...] = (
    {"victim": "fifo"},
    {"victim": "bsgc"},
    {"victim": "z-greedy"},
    {"frontier": "single"},
    {"frontier": "double"},
    {"frontier": "mixed:low=2"},
    {"mapping": "dftl:entries=64,per_page=16"},
    {"mapping": "dftl:entries=64,per_page=16,blocks=own"},
    {"mapping": "fast:log_blocks=4"},
    {"mapping_unit": "1KiB"},
    {"power_protection": "no", "mapping_unit": "1KiB"},
    {"placement": "dac:regions=2"},
    {"placement": "fdp:handles=2", "streams": "FILE"},
    {"placement": "fdp:handles=2,groups=2", "streams": "FILE"},
    {"placement": "oracle:classes=2"},
    {"placement": "sepbit"},
    {"streams": "FILE"},
    {"superblock": "dies=4,planes=1"},
    {"parity": "1/4", "superblock": "dies=4,planes=1"},
    {"copy_order": "die", "superblock": "dies=4,planes=1"},
    {"program": "one-shot:pages=2"},
    {"program": "two-pass:pages=2", "times": PASSES},
    {"fill": "steady"},
    {"scale": "1/2", "blocks": "128", "pages_per_block": "512"},
    {"wear_levelling": "static:threshold=50,interval=10"},
    {"endurance": "1000"},
    {"bad_blocks": "shrink", "endurance": "1000", "superblock": "dies=4,planes=1"},
    {"host_cache": "page-cache:size=64KiB"},
    {"hints": "perfect", "host_cache": "page-cache:size=64KiB"},
    {"hints": "oracle", "host_cache": "page-cache:size=64KiB"},
    {"vm_page_cache": "64KiB"},
    {"slc": "static:blocks=2", "slc_times": "read=25us,program=200us,erase=2ms"},
    {
        "slc": "static:blocks=2+dynamic:full=both",
        "slc_times": "read=25us,program=200us,erase=2ms",
        "endurance": "1000:slc=9000",
    },
    {"write_cache": "64KiB"},
    {"copy_back": "yes"},
    {"preemption": "pgc+merge"},
    {"preemption": "suspend"},
    {"write_pacing": "yes", "preemption": "pgc", "gc_low": "3"},
    {"cache_commands": "yes"},
    {"power_limit": "dies=2"},
    {"read_failures": "1e-4", "parity": "1/4", "superblock": "dies=4,planes=1"},
    {"idle": "below=4,after=1ms"},
    {"gc_hard": "1"},
    {"flush_after": "1ms", "mapping_unit": "1KiB"},
    {"arrivals": "dependent", "source": "TRACE"},
    {"tenant": ["name=a; workload=uniform; space=50%", "name=b; workload=uniform; space=50%"]},
)

SHAPE: Options = {"blocks": 256, "pages_per_block": 32, "spare": "30%"}
#: The writes of a run. Collections begin before 2,458 pages are written; with small units, or on
#: the drive that is scaled, before 9,830; with both, before 39,322.
WRITES, MANY_WRITES, MOST_WRITES = 4_000, 12_000, 42_000
#: A recording with the times of answers: writes to 2048 pages, with a flush after every four.
RECORDING = "time_us,op,offset_bytes,size_bytes,dev,answer_us\n" + "".join(
    f"{1000 * at},F,0,0,0,300\n"
    if at % 5 == 4
    else f"{1000 * at},W,{4096 * (at * 7919 % 2048)},4096,0,700\n"
    for at in range(6_000)
)
TIMES = "read=60us,program=800us,erase=1.5ms,transfer=20us"


def _typed(options: Options) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Returns the values by section of the experiment file, and the flags by path in that file."""
    values: dict[str, dict[str, Any]] = {}
    for key, value in options.items():
        values.setdefault(find(key).section, {})[key] = value
    return values, {find(key).path: f"--{find(key).flag}" for key in options}


def _simulated(options: Options) -> None:
    """Runs a simulated drive, which audits its state if the engine has assertions."""
    values, places = _typed({**SHAPE, **options, "warmup": "0", "jobs": "1"})
    done = simulate(experiment(values, places), places=places)
    for result in done.results:
        assert result["erases"] > 0, f"no collection: {options}"


def _writes(options: Options) -> int:
    return (WRITES, MANY_WRITES, MOST_WRITES)[len(options.keys() & {"scale", "mapping_unit"})]


def _counting(options: Options) -> None:
    # FAST has its own log blocks and takes no frontier. Runs of memory references end by requests.
    own = str(options.get("mapping")).startswith("fast")
    usual: Options = {} if own else {"frontier": "pool:low=2"}
    length: Options = (
        {"requests": 50_000} if "vm_page_cache" in options else {"writes": str(_writes(options))}
    )
    _simulated({**usual, **options, **length})


def _timed(options: Options) -> None:
    dies = 4 if options.keys() & {"superblock", "power_limit"} else 1
    length = _writes(options)
    _simulated({"times": TIMES, **options, "kind": "timed", "dies": dies, "requests": length})


def _stored(options: Options) -> None:
    """Makes a stored drive, overwrites it, and checks its data."""
    values, places = _typed({**SHAPE, **options, "blocks": 160, "pages_per_block": 8})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drive.flash"
        plan(values, places).create(file)
        done = Past(times=2).give(file)
        report = json.loads(_core.device_check(file, False, None, None))
    assert done["erases"] > 0, f"no collection: {options}"
    faults = ("damaged", "disagree", "rebuilt", "parity_wrong")
    assert not any(report[fault] for fault in faults), f"{options}: {report}"


#: For each kind of drive, a function that makes one with the options and uses it.
DRIVES: dict[str, Callable[[Options], None]] = {
    "counting": _counting,
    "timed": _timed,
    "stored": _stored,
}


def _name(options: Options) -> str:
    """The options as typed on the command line; only the first of several values."""
    first = {key: several(value)[0] for key, value in options.items()}
    return " ".join(f"--{find(key).flag} {shlex.quote(value)}" for key, value in first.items())


def _reason(use: Callable[[Options], None], options: Options) -> str | None:
    try:
        use(options)
    except (ConfigError, DriveError) as error:
        return str(error)
    return None


def refusals(
    use: Callable[[Options], None], features: Sequence[Options]
) -> Iterator[tuple[str, str | None, str]]:
    """Yields each option, and each pair, that a drive refuses: the names, and the reason."""
    taken = []
    for options in features:
        if (why := _reason(use, options)) is None:
            taken.append(options)
        else:
            yield _name(options), None, why
    for first, second in itertools.combinations(taken, 2):
        if any(first[key] != second[key] for key in first.keys() & second.keys()):
            continue  # The same option with two values.
        if (why := _reason(use, first | second)) is not None:
            yield _name(first), _name(second), why


def _of_drive(drive: str, options: Options) -> Options:
    """The first option, with those of the others that this kind of drive takes."""
    first = next(iter(options))
    return {
        key: value
        for key, value in options.items()
        if key == first or drive != "stored" or find(key).stored
    }


def page() -> str:
    """The page of the reference."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"FILE": Path(folder) / "streams.csv", "TRACE": Path(folder) / "recording.csv"}
        files["FILE"].write_text("0, 65536, 1\n", encoding="utf-8")
        files["TRACE"].write_text(RECORDING, encoding="utf-8")

        def with_files(options: Options) -> Options:
            return {
                key: str(files[value]) if value in ("FILE", "TRACE") else value
                for key, value in options.items()
            }

        def without(text: str | None) -> str | None:
            for name, file in files.items():
                text = text and text.replace(str(file), name)
            return text

        by_drive = {
            drive: [
                tuple(map(without, refusal))
                for refusal in refusals(use, [_of_drive(drive, with_files(of)) for of in FEATURES])
            ]
            for drive, use in DRIVES.items()
        }
    lines = [
        "# Refused combinations",
        "",
        GENERATED,
        "",
        f"A test tries {len(FEATURES)} options on a small drive of each kind, alone and in pairs. "
        "It writes down what the drive refuses or cannot do for long, and in which words. With all "
        "other pairs of options that the drive takes, it collects, and its state is right at the "
        "end. Not tried are pairs that give one option two values.",
    ]
    for drive, refused in by_drive.items():
        alone = [(first, why) for first, other, why in refused if other is None]
        pairs = [(first, other, why) for first, other, why in refused if other is not None]
        lines += ["", f"## The {drive} drive", ""]
        lines += [f"Of these pairs it refuses {len(pairs)}.", ""] if pairs else []
        lines += [] if not pairs else ["| option | with | reason |", "|---|---|---|"]
        lines += [f"| `{first}` | `{other}` | {_cell(why)} |" for first, other, why in pairs]
        lines += ["", "It does not take these options:", "", "| option | reason |", "|---|---|"]
        lines += [f"| `{first}` | {_cell(why)} |" for first, why in alone]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
