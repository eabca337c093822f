"""Joins the jobs of a file of fio into one workload, and says what it cannot say.

A job is a number of processes, each with ``iodepth`` requests under way. Together they are a closed
loop, and a job's share of the requests is its share of those under way.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flashgc._core import ConfigError
from flashgc._documents import Json
from flashgc.fio.jobs import Section, Setting, sections, switched
from flashgc.fio.keys import LENGTH, NEAR, READ, SILENT
from flashgc.fio.parts import Note, Notes, Part, base, decimal, depth, parts
from flashgc.fio.values import size, split, whole


@dataclass(frozen=True)
class Plan:
    """The workload of a job file, and what is different from fio."""

    workload: str
    arrivals: str
    #: The bytes of the space, if the file or the user says how many.
    capacity: int | None
    #: The file that gives writes their streams by address.
    streams: str | None
    notes: tuple[Note, ...]

    @property
    def changes(self) -> tuple[Note, ...]:
        """The notes that say that fio's requests have another distribution."""
        return tuple(note for note in self.notes if note.changes)

    def command(self) -> str:
        """The equivalent command, on a drive of the device ``tlc``."""
        words = ["flashgc", "run", "--drive", "timed", "--device", "tlc"]
        words += ["--workload", self.workload]
        words += ["--arrivals", self.arrivals]
        words += [] if self.streams is None else ["--streams", self.streams]
        return shlex.join(words)

    def to_dict(self) -> Json:
        """The plan as values of JSON."""
        return {
            "workload": self.workload,
            "arrivals": self.arrivals,
            "capacity_bytes": self.capacity,
            "streams": self.streams,
            "command": self.command(),
            "notes": [
                {"place": note.place, "key": note.key, "text": note.text, "changes": note.changes}
                for note in self.notes
            ],
        }


@dataclass(frozen=True)
class _Space:
    """The place of a process in its file: numbers of bytes, or shares of the file."""

    first: int | Fraction
    #: ``None``: up to the end of the file.
    length: int | Fraction | None


@dataclass(frozen=True)
class _Process:
    """A process of a job, the file that it uses, and its place there."""

    section: Section
    file: str
    space: _Space
    depth: int


def plan(text: str, path: str, *, section: str | None = None, capacity: int | None = None) -> Plan:
    """The workload of the job file with this text, or of one ``section`` of it.

    ``capacity`` is the number of bytes of a device whose size the file does not say.
    """
    jobs = sections(text, path)
    if section is not None:
        names = [job.name for job in jobs]
        jobs = [job for job in jobs if job.name == section]
        if not jobs:
            raise ConfigError(f"--section: found '{section}', expected one of {', '.join(names)}")
    notes = Notes()
    _check_phases(jobs)
    for job in jobs:
        _note_keys(job, notes)
    processes = [process for job in jobs for process in _processes(job, notes)]
    if len(jobs) > 1:
        place = Setting(f"[{jobs[1].name}]", "", path, jobs[1].line, 1, 1)
        notes.add(
            place,
            "a job's share of the requests depends on how fast the others are; here it is its "
            "share of the requests under way",
            changes=True,
        )
    lengths = _lengths(processes, capacity, path)
    generators = _generators(processes, lengths, notes)
    silent = sorted({key for job in jobs for key in job.settings} & SILENT)
    all_notes = list(notes.all)
    if silent:
        text = "nothing about operations, places and sizes"
        all_notes.append(Note(path, ", ".join(silent), text, changes=False))
    known = None if None in lengths.values() else sum(it or 0 for it in lengths.values())
    return Plan(
        generators,
        _arrivals(processes, notes),
        known,
        _scheme(jobs),
        tuple(all_notes),
    )


def _check_phases(jobs: Sequence[Section]) -> None:
    for job in jobs[1:]:
        if "stonewall" in job.settings and switched(job.settings, "stonewall"):
            raise job.settings["stonewall"].fault(
                "the job waits for those before it, and a workload has no phases",
                "one command for each --section",
            )


def _note_keys(job: Section, notes: Notes) -> None:
    for key, setting in job.settings.items():
        if key in LENGTH:
            notes.add(setting, "how long fio runs; here --requests, --writes or --until say it")
        elif key in NEAR:
            notes.add(setting, NEAR[key])
        elif key == "zonemode" and setting.value != "none":
            raise setting.fault("no generator has zones of zoned devices", "zonemode=none")
        elif key == "nrfiles" and setting.value != "1":
            raise setting.fault("a job has one file here", "one section for each file")
        elif key == "verify" and setting.value not in ("0", "none"):
            notes.add(setting, "fio reads what it has written; no such reads here", changes=True)
        elif key not in READ and key not in SILENT:
            notes.add(setting, "not known here, and left out", changes=True)


def _processes(job: Section, notes: Notes) -> list[_Process]:
    settings = job.settings
    number = whole(settings["numjobs"], 1024) if "numjobs" in settings else 1
    filename = settings.get("filename")
    if filename is not None and ":" in filename.value:
        raise filename.fault("a job has one file here", "one section for each file")
    step = 0
    if "offset_increment" in settings:
        step = size(settings["offset_increment"], settings["offset_increment"].value, base(job))
    first = _amount(job, "offset") or 0
    length = _amount(job, "size")
    deep = depth(job, notes)
    if step and isinstance(first, Fraction):
        raise settings["offset"].fault("a share does not go with offset_increment")
    return [
        _Process(
            job,
            f"{job.name}.{index}" if filename is None else filename.value,
            _Space(first + step * index, length),
            deep,
        )
        for index in range(max(number, 1))
    ]


def _amount(job: Section, key: str) -> int | Fraction | None:
    """A number of bytes, or a share of a file."""
    setting = job.settings.get(key)
    if setting is None:
        return None
    if setting.value.endswith("%"):
        digits = setting.value.rstrip("%")
        if not digits.isdigit() or not 0 <= int(digits) <= 100:
            raise setting.fault(f"found '{setting.value}', expected 0% to 100%")
        share = Fraction(int(digits), 100)
        if share == 0 and key == "size":
            raise setting.fault("found 0%, expected a part of the file")
        return share
    number = size(setting, setting.value, base(job))
    # For fio, a size of 0 is the whole file.
    return None if key == "size" and number == 0 else number


def _lengths(
    processes: Sequence[_Process], capacity: int | None, path: str
) -> dict[str, int | None]:
    """The bytes of each file, in the order of the files; ``None`` if only shares are known."""
    lengths: dict[str, int | None] = {}
    files = list(dict.fromkeys(process.file for process in processes))
    for file in files:
        users = [process for process in processes if process.file == file]
        sizes = [
            it.section.settings["filesize"] for it in users if "filesize" in it.section.settings
        ]
        if sizes:
            lengths[file] = size(sizes[0], sizes[0].value, base(users[0].section))
        elif capacity is not None and len(files) == 1:
            lengths[file] = capacity
        elif all(
            isinstance(it.space.length, int) and isinstance(it.space.first, int) for it in users
        ):
            lengths[file] = max(int(it.space.first) + int(it.space.length or 0) for it in users)
        else:
            lengths[file] = None
        absolute = any(
            isinstance(it.space.length, int) or (isinstance(it.space.first, int) and it.space.first)
            for it in users
        )
        if lengths[file] is None and (absolute or len(files) > 1):
            raise ConfigError(
                f"{path}: the size of '{file}' is not known; hint: size= in bytes, filesize=, or "
                "--capacity SIZE"
            )
    return lengths


def _bounds(process: _Process, length: int | None) -> tuple[Fraction, Fraction]:
    """The beginning and the end of a process's place, as shares of its file."""

    def share(amount: int | Fraction) -> Fraction:
        if isinstance(amount, Fraction) or length is None:
            return Fraction(amount)
        return Fraction(amount, length)

    first = share(process.space.first)
    rest = process.space.length
    end = Fraction(1) if rest is None else first + share(rest)
    # A share of the file is no longer than what is left behind the offset.
    end = min(end, Fraction(1)) if isinstance(rest, Fraction) else end
    if first >= 1 or end > 1 or first >= end:
        settings = process.section.settings
        setting = settings.get("offset", settings.get("size"))
        text = "the job goes beyond the end of its file"
        if setting is None:
            raise ConfigError(f"[{process.section.name}]: {text}; hint: --capacity SIZE")
        raise setting.fault(text, "a smaller offset or size, or --capacity SIZE")
    return first, end


def _generators(processes: Sequence[_Process], lengths: dict[str, int | None], notes: Notes) -> str:
    """The mixture of the generators of all processes."""
    whole_space = sum(length or 0 for length in lengths.values())
    starts, begin = {}, 0
    for file, length in lengths.items():
        starts[file], begin = begin, begin + (length or 0)
    if len(lengths) > 1:
        process = next(iter(processes))
        place = next(iter(process.section.settings.values()))
        place = Setting("filename", "", place.path, process.section.line, 1, 1)
        notes.add(place, f"{len(lengths)} files lie one behind the other on the drive")
    under_way = sum(process.depth for process in processes)
    mixture: dict[str, Fraction] = {}
    for process in processes:
        length = lengths[process.file]
        first, end = _bounds(process, length)
        total = None if length is None else round((end - first) * length)
        generators = parts(process.section, total, notes)
        if len(lengths) > 1 and length is not None:
            first = (starts[process.file] + first * length) / whole_space
            end = (starts[process.file] + end * length) / whole_space
        _note_alignment(process, first, whole_space, generators, notes)
        place_text = [("from", decimal(first))] if first else []
        place_text += [("to", decimal(end))] if end != 1 else []
        share = Fraction(process.depth, under_way)
        for number, part in enumerate(generators):
            for stream in _streams(process.section, notes):
                more = (*place_text, *([] if stream is None else [("stream", str(stream))]))
                text = part.text(tuple(more))
                each = share * part.share / len(_streams(process.section, notes))
                # Sequential processes go on independently of each other, random ones do not.
                key = text if not part.is_sequential else f"{text}#{number}.{id(process)}"
                mixture[key] = mixture.get(key, Fraction(0)) + each
    texts = [(text.partition("#")[0], share) for text, share in mixture.items()]
    if len(texts) == 1:
        return texts[0][0]
    return " + ".join(f"{decimal(share)}*{text}" for text, share in texts)


def _note_alignment(
    process: _Process, first: Fraction, whole_space: int, generators: Sequence[Part], notes: Notes
) -> None:
    setting = process.section.settings.get("offset")
    offset = first * whole_space
    if setting is None or any(part.is_sequential for part in generators):
        return
    if offset.denominator != 1 or any(int(offset) % part.align for part in generators):
        text = "places count from the beginning of the drive, and not from the offset"
        notes.add(setting, text)


def _streams(job: Section, notes: Notes) -> list[int | None]:
    """The streams among which the writes of a job are spread; ``None`` if they have none."""
    settings = job.settings
    placement = settings.get("dataplacement")
    if placement is not None and placement.value not in ("none", "fdp", "streams"):
        raise placement.fault(f"found '{placement.value}', expected none, fdp or streams")
    is_on = switched(settings, "fdp") or (placement is not None and placement.value != "none")
    if not is_on or "dp_scheme" in settings:
        return [None]
    ids = settings.get("plids")
    if ids is None:
        raise (placement or settings["fdp"]).fault(
            "the streams of the device are not known", "plids=0,1"
        )
    select = settings.get("plid_select")
    if select is not None and select.value not in ("random", "roundrobin", "scheme"):
        raise select.fault(f"found '{select.value}', expected random, roundrobin or scheme")
    numbers: list[int | None] = []
    for entry, at in split(ids.value, ","):
        low, _, high = entry.strip().partition("-")
        high = high or low
        if not (low.isdigit() and high.isdigit() and int(low) <= int(high) <= 254):
            raise ids.fault(f"found '{entry}', expected streams from 0 to 254", "plids=0,2-3", at)
        numbers += range(int(low), int(high) + 1)
    if len(numbers) > 1 and (select is None or select.value == "roundrobin"):
        notes.add(ids, "fio gives writes these streams in turn; here each has as many by chance")
    return numbers


def _scheme(jobs: Sequence[Section]) -> str | None:
    schemes = {job.settings["dp_scheme"].value for job in jobs if "dp_scheme" in job.settings}
    if len(schemes) > 1:
        setting = next(job.settings["dp_scheme"] for job in jobs if "dp_scheme" in job.settings)
        raise setting.fault("a drive has one file of streams", "the same file in all jobs")
    return next(iter(schemes), None)


def _arrivals(processes: Sequence[_Process], notes: Notes) -> str:
    threads = sum(process.depth for process in processes)
    thinks = {process.section.text("thinktime") or "0" for process in processes}
    text = f"closed:threads={threads}"
    if thinks == {"0"}:
        return text
    setting = next(
        process.section.settings["thinktime"]
        for process in processes
        if "thinktime" in process.section.settings
    )
    if len(thinks) > 1 or any(process.depth > 1 for process in processes):
        notes.add(setting, "the pauses of jobs with several requests under way are left out")
        return text
    value = setting.value.removesuffix("usec").removesuffix("us")
    if not value.isdigit():
        raise setting.fault(f"found '{setting.value}', expected microseconds", "thinktime=100us")
    return f"{text},think={value}us"
