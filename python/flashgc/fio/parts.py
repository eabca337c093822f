"""The generators of one job of fio: operations, sizes, boundaries and distribution.

Where fio does something that no generator does, the nearest generator stands in its place, and a
note says so. If there is none, an error does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from flashgc.fio.jobs import Section, Setting, switched
from flashgc.fio.values import (
    OPS,
    by_operation,
    percent,
    rounded,
    size,
    size_shares,
    split,
    whole,
    zone_shares,
)

#: The operations of each word of ``rw``, and whether it is random.
PATTERNS = {
    "read": (("read",), False),
    "write": (("write",), False),
    "trim": (("trim",), False),
    "rw": (("read", "write"), False),
    "readwrite": (("read", "write"), False),
    "randread": (("read",), True),
    "randwrite": (("write",), True),
    "randtrim": (("trim",), True),
    "randrw": (("read", "write"), True),
}

#: The default size of a request.
USUAL = 4096
#: The most sizes that are listed one by one.
MOST_SIZES = 256


@dataclass(frozen=True)
class Note:
    """A difference between the job and the workload."""

    place: str
    key: str
    text: str
    #: ``True`` if fio's requests have another distribution.
    changes: bool

    def line(self) -> str:
        """The note as one line."""
        return f"{self.place}: {self.key}: {self.text}"


@dataclass
class Notes:
    """The notes on a file, each of them once."""

    all: list[Note] = field(default_factory=list)

    def add(self, setting: Setting, text: str, *, changes: bool = False) -> None:
        """Note something about a setting."""
        note = Note(setting.place(), setting.key, text, changes)
        if note not in self.all:
            self.all.append(note)


@dataclass(frozen=True)
class Part:
    """A generator with its share of the requests of a job, and its parameters but its place."""

    share: Fraction
    name: str
    params: tuple[tuple[str, str], ...]
    align: int
    is_sequential: bool

    def text(self, more: tuple[tuple[str, str], ...] = ()) -> str:
        """The generator as flashgc's ``--workload`` takes it, with ``more`` parameters."""
        params = ",".join(f"{key}={value}" for key, value in (*self.params, *more))
        return f"{self.name}:{params}" if params else self.name


@dataclass(frozen=True)
class _Sizes:
    text: str
    least: int
    is_single: bool


@dataclass(frozen=True)
class _Requests:
    """The requests with one operation: their generator, sizes and boundaries."""

    generator: str
    params: tuple[tuple[str, str], ...]
    sizes: _Sizes
    align: int


def decimal(value: Fraction) -> str:
    """A share as text, exact to the last digit of a float."""
    return f"{float(value):.15g}"


def byte_text(number: int) -> str:
    """A number of bytes as flashgc takes it.

    >>> byte_text(4096), byte_text(1536), byte_text(3 << 20)
    ('4KiB', '1536B', '3MiB')
    """
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number % factor == 0 and number:
            return f"{number // factor}{unit}"
    return f"{number}B"


def parts(section: Section, total: int | None, notes: Notes) -> list[Part]:
    """The generators of a job on a space of ``total`` bytes, or of unknown size."""
    ops, is_random = _pattern(section)
    shares = _shares(section, ops)
    for op in OPS:
        # Also sizes of operations that the job does not have must be right.
        _sizes(section, op)
    requests = {op: _requests(section, op, is_random, total, notes) for op in shares}
    if is_random:
        _note_map(section, requests, notes)
    if len(requests) == 2 and is_random and requests["read"] == requests["write"]:
        return [_part(Fraction(1), requests["read"], (("read", decimal(shares["read"])),))]
    own = {"read": (("read", "1"),), "write": (), "trim": (("trim", "1"),)}
    return [_part(shares[op], requests[op], own[op]) for op in shares]


def _part(share: Fraction, requests: _Requests, ops: tuple[tuple[str, str], ...]) -> Part:
    is_sequential = requests.generator == "sequential"
    params = [*requests.params, *ops, ("size", requests.sizes.text)]
    if requests.align != requests.sizes.least and not is_sequential:
        params.append(("align", byte_text(requests.align)))
    return Part(share, requests.generator, tuple(params), requests.align, is_sequential)


def _pattern(section: Section) -> tuple[tuple[str, ...], bool]:
    setting = section.settings.get("rw")
    if setting is None:
        return PATTERNS["read"]
    word, colon, rest = setting.value.partition(":")
    if colon:
        raise setting.fault(
            f"no generator has the runs or gaps of ':{rest}'", f"rw={word}", len(word)
        )
    if word in ("trimwrite", "randtrimwrite"):
        raise setting.fault(
            "no generator trims a place and then writes it", "rw=randwrite or rw=randtrim"
        )
    if word not in PATTERNS:
        raise setting.fault(f"found '{word}', expected one of {', '.join(PATTERNS)}")
    return PATTERNS[word]


def _shares(section: Section, ops: tuple[str, ...]) -> dict[str, Fraction]:
    """The share of each operation; one that has none is left out."""
    if len(ops) == 1:
        return {ops[0]: Fraction(1)}
    reads = 50
    for key, setting in section.settings.items():
        # The setting that comes last decides, as in fio.
        if key == "rwmixread":
            reads = percent(setting, setting.value)
        elif key == "rwmixwrite":
            reads = 100 - percent(setting, setting.value)
    shares = {"read": Fraction(reads, 100), "write": Fraction(100 - reads, 100)}
    return {op: share for op, share in shares.items() if share}


def _requests(
    section: Section, op: str, is_random: bool, total: int | None, notes: Notes
) -> _Requests:
    sizes = _sizes(section, op)
    sequential = _Requests("sequential", (), sizes, 1)
    if not is_random:
        return sequential
    setting = section.settings.get("percentage_random")
    given = None if setting is None else by_operation(setting)[OPS.index(op)]
    if setting is not None and given is not None:
        random = percent(setting, *given)
        if random == 0:
            return sequential
        if random < 100:
            text = "no generator goes on behind a random request; all requests are random here"
            notes.add(setting, text, changes=True)
    setting = section.settings.get("blockalign")
    given = None if setting is None else by_operation(setting)[OPS.index(op)]
    align = sizes.least
    if setting is not None and given is not None:
        align = size(setting, given[0], base(section), given[1])
        if align == 0:
            raise setting.fault("found 0, expected at least one byte")
    generator, params = _distribution(section, op, total, notes)
    return _Requests(generator, params, sizes, align)


def base(section: Section) -> int:
    """The number that ``k`` stands for in sizes."""
    setting = section.settings.get("kb_base")
    if setting is None:
        return 1024
    if setting.value not in ("1000", "1024"):
        raise setting.fault(f"found '{setting.value}', expected 1000 or 1024")
    return int(setting.value)


def _sizes(section: Section, op: str) -> _Sizes:
    number, settings = OPS.index(op), section.settings
    for key, read in (("bssplit", _mixed), ("bsrange", _ranged), ("bs", _single)):
        given = by_operation(settings[key])[number] if key in settings else None
        if given is not None:
            sizes = read(section, settings[key], *given)
            if sizes.least == 0:
                raise settings[key].fault("found a size of 0", "4k, for example", given[1])
            return sizes
    return _Sizes(byte_text(USUAL), USUAL, is_single=True)


def _single(section: Section, setting: Setting, text: str, at: int) -> _Sizes:
    number = size(setting, text, base(section), at)
    return _Sizes(byte_text(number), number, is_single=True)


def _listed(shares: list[tuple[int, str]]) -> str:
    return "/".join(f"{byte_text(number)}:{share}" for number, share in shares)


def _mixed(section: Section, setting: Setting, text: str, at: int) -> _Sizes:
    shares = size_shares(setting, text, base(section), at)
    # The smallest size counts for the rounding and the boundaries even if its share is 0.
    least = min(
        size(setting, entry.partition("/")[0], base(section), at + begin)
        for entry, begin in split(text, ":")
        if entry
    )
    if least == 0:
        return _Sizes("", 0, is_single=False)
    if not switched(section.settings, "bs_unaligned"):
        shares = rounded(shares, least)
    if len(shares) == 1:
        return _Sizes(byte_text(shares[0][0]), least, is_single=True)
    return _Sizes(_listed([(number, str(share)) for number, share in shares]), least, False)


def _ranged(section: Section, setting: Setting, text: str, at: int) -> _Sizes:
    separator = "-" if "-" in text else ":"
    ends = [size(setting, end, base(section), at + begin) for end, begin in split(text, separator)]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise setting.fault(f"found '{text}', expected a range", "4k-64k, for example", at)
    least, most = ends
    if least in (0, most):
        return _Sizes(byte_text(least), least, is_single=True)
    if "bs_unaligned" in section.settings and switched(section.settings, "bs_unaligned"):
        raise section.settings["bs_unaligned"].fault(
            "no generator has every number of bytes of a range", "leave it out"
        )
    if most % least == 0:
        return _Sizes(f"{byte_text(least)}-{byte_text(most)}", least, is_single=False)
    # fio draws least + most * u with u from 0 to 1, rounds it down to a multiple of the smallest
    # size, and takes the largest size instead of a larger one.
    whole_ones = most // least
    if whole_ones >= MOST_SIZES:
        raise setting.fault("the range has too many sizes and no whole number of the smallest")
    shares = [(least * times, str(least)) for times in range(1, whole_ones + 1)]
    return _Sizes(_listed([*shares, (most, str(most - least * whole_ones))]), least, False)


def _distribution(
    section: Section, op: str, total: int | None, notes: Notes
) -> tuple[str, tuple[tuple[str, str], ...]]:
    setting = section.settings.get("random_distribution")
    if setting is None:
        return "uniform", ()
    word, _, rest = setting.value.partition(":")
    if word == "random":
        return "uniform", ()
    if word in ("zoned", "zoned_abs"):
        return _zoned(section, setting, op, total)
    if word == "zipf":
        theta = rest.partition(":")[0] or "1.1"
        notes.add(
            setting,
            "fio hashes ranks to blocks, so that some blocks have several ranks and a third of "
            "them none; here every block has one rank",
            changes=True,
        )
        try:
            value = float(theta)
        except ValueError:
            raise setting.fault(f"found '{theta}', expected a number", "zipf:1.2") from None
        return "zipf", (("theta", f"{value:g}"),)
    if word in ("pareto", "normal", "sequence"):
        raise setting.fault(
            f"no generator has fio's distribution '{word}'", "random, zoned, or zipf with --near"
        )
    raise setting.fault(f"found '{word}', expected random, zoned, zoned_abs or zipf")


def _zoned(
    section: Section, setting: Setting, op: str, total: int | None
) -> tuple[str, tuple[tuple[str, str], ...]]:
    word = setting.value.partition(":")[0]
    begin = len(word) + 1
    pieces = split(setting.value[begin:], ",")
    text, at = pieces[min(OPS.index(op), len(pieces) - 1)]
    if word == "zoned":
        zones = zone_shares(setting, text, begin + at, total=None, base=base(section))
    elif total is None:
        raise setting.fault("zones in bytes need the size of the space", "--capacity SIZE")
    else:
        zones = zone_shares(setting, text, begin + at, total=total, base=base(section))
    return "zoned", (("shares", ":".join(f"{share}/{part}" for share, part in zones)),)


def _note_map(section: Section, requests: dict[str, _Requests], notes: Notes) -> None:
    """Note what fio's map of visited blocks does, if the job has one."""
    settings = section.settings
    aligned = [it for it in requests.values() if it.align != it.sizes.least]
    is_mapped = all(it.generator in ("uniform", "zoned") for it in requests.values())
    visits = "norandommap" not in settings or not switched(settings, "norandommap")
    lfsr = settings.get("random_generator")
    has_lfsr = lfsr is not None and lfsr.value == "lfsr"
    if not is_mapped or not ((visits and not aligned) or has_lfsr):
        return
    place = settings.get("norandommap", settings.get("rw"))
    assert place is not None, "a random job names its pattern"
    note: Callable[[str, bool], None] = lambda text, changes: notes.add(  # noqa: E731
        place, text, changes=changes
    )
    if any(it.generator == "zoned" for it in requests.values()):
        note(
            "without norandommap fio leaves a zone that it has visited for the next free block; "
            "here zones keep their shares",
            True,
        )
    elif any(not it.sizes.is_single for it in requests.values()):
        note(
            "without norandommap fio cuts requests short at blocks that it has visited; here sizes "
            "keep their shares",
            True,
        )
    else:
        note(
            "without norandommap fio visits every block once before any of them again; here blocks "
            "are drawn independently",
            False,
        )


def depth(section: Section, notes: Notes) -> int:
    """The number of requests that one process of the job has under way."""
    setting = section.settings.get("iodepth")
    if setting is None:
        return 1
    deep = max(whole(setting, 2**20), 1)
    engine = section.text("ioengine") or "psync"
    if deep > 1 and engine in ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"):
        notes.add(setting, f"the engine {engine} has one request under way")
        return 1
    return deep
