"""The engine as a typed stub. Structured values are passed as JSON; use the ``flashgc`` package."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import numpy.typing

_Path = os.PathLike[str]

class FlashgcError(Exception):
    """The base class of flashgc's errors."""

class ConfigError(FlashgcError):
    """An invalid configuration."""

class TraceError(FlashgcError):
    """A trace that cannot be read or written."""

class DriveError(FlashgcError):
    """A drive that cannot continue."""

class PolicyError(DriveError):
    """A policy broke its contract."""

class Blocks:
    """The blocks of a drive, as a victim policy sees them: read-only and always current."""

    @property
    def valid(self) -> numpy.typing.NDArray[numpy.uint32]:
        """Number of live pages of every block, and of those that a smaller superblock has lost.

        2^30 is added if the block may not be picked.
        """

    @property
    def counts(self) -> memoryview:
        """The memory of ``valid`` as a memoryview, which is faster for access to single blocks."""

    @property
    def erases(self) -> numpy.typing.NDArray[numpy.uint32]:
        """Number of erases of every block."""

    @property
    def classes(self) -> numpy.typing.NDArray[numpy.uint8]:
        """The class for which every block was last opened; 255 on a drive without a placement."""

    @property
    def closed_at(self) -> numpy.typing.NDArray[numpy.uint64]:
        """``clock`` when every block was last closed, and so became a candidate.

        Blocks of the initial contents were closed at 0. A block that is open or erased keeps its
        last time.
        """

    @property
    def closed_at_host(self) -> numpy.typing.NDArray[numpy.uint64]:
        """``host_clock`` when every block was last closed."""

    @property
    def zombies(self) -> numpy.typing.NDArray[numpy.uint32] | None:
        """Number of zombies of every block: live pages whose new version waits in the host's cache.

        ``None`` if the drive does not track zombies, which it does only if the placement asks for
        them.
        """

    @property
    def pages_per_block(self) -> int:
        """Pages per block."""

    @property
    def first(self) -> int:
        """The number in the drive of the first block; above 0 for planes after the first."""

    @property
    def candidates(self) -> int:
        """Number of blocks that may be picked, as of the last pick."""

    @property
    def clock(self) -> int:
        """Number of pages programmed so far, by host writes and copies, as of the last pick.

        The initial contents do not count. On a drive with planes, each plane has its own clocks.
        """

    @property
    def host_clock(self) -> int:
        """Number of pages that the host has written so far, as of the last pick."""

    def __len__(self) -> int: ...
    def count(self, block: int, /) -> int:
        """``valid[block]`` as a plain integer: a fast key for ``min(..., key=blocks.count)``."""

    def draw(self, count: int) -> list[int]:
        """Candidates drawn at random, with replacement, from the drive's random stream."""

class Now:
    """The time of a decision, on two clocks. The object changes with time: store its numbers."""

    def __init__(self, programs: int = 0, host: int = 0) -> None: ...
    @property
    def programs(self) -> int:
        """Number of pages programmed so far, by host writes and copies."""

    @property
    def host(self) -> int:
        """Number of pages that the host has written so far."""

class PickedBlock:
    """A block that is about to be collected."""

    @property
    def class_(self) -> int:
        """The class for which the block was opened."""

    @property
    def number(self) -> int:
        """The block's number in the drive."""

    @property
    def opened(self) -> Now:
        """The time at which the block was opened."""

    @property
    def valid(self) -> int:
        """Number of the block's live pages."""

    @property
    def pages(self) -> int:
        """Number of all pages of the block."""

class CompiledScheme:
    """A scheme of a compiled library, behind the C interface of ``flashgc.h``."""

    def __init__(
        self, file: str, shown: str, name: str, parameters: Sequence[tuple[str, str]]
    ) -> None: ...
    @property
    def is_victim(self) -> bool:
        """True if the scheme picks victims."""

    @property
    def is_placement(self) -> bool:
        """True if the scheme gives pages their classes."""

class Control:
    """Stops the engine's work and shows its progress."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def done(self) -> float: ...
    @property
    def programs(self) -> int: ...
    @property
    def read_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...
    @property
    def accesses(self) -> int: ...
    @property
    def worst(self) -> str | None: ...

def version() -> str: ...
def registry() -> str: ...
def result_parts() -> str: ...
def options() -> str: ...
def finding_rules() -> str: ...

MOST_PASSES: int

def replay_until_settled(
    values: list[float], warmup: float
) -> tuple[int, float, float | None, bool]: ...
def measured_passes(values: list[float]) -> tuple[float, float | None, bool]: ...
def judged(
    geometry: tuple[int, int, int],
    kept_erased: int,
    parts: list[tuple[int, int]],
    programs: int,
    erases: int,
    places: Mapping[str, str],
) -> str: ...
def steady_intervals(values: list[float]) -> bool: ...
def exceeds_chance(drift: float, half: float) -> bool: ...
def suggest(word: str, known: list[str]) -> str: ...
def is_trace(workload: str) -> bool: ...
def is_compressed(head: bytes) -> bool: ...
def check(key: str, text: str) -> None: ...
def written_out(option: str, text: str) -> str: ...
def scheme_parts(text: str) -> tuple[str, str, str, str | None]: ...
def check_clock(given: Mapping[str, Any], places: Mapping[str, str]) -> None: ...
def check_names(values: Mapping[str, Any], places: Mapping[str, str]) -> None: ...
def check_stored(given: Mapping[str, Any], places: Mapping[str, str]) -> None: ...
def name_option(places: Mapping[str, str], key: str) -> str: ...
def name_subject(places: Mapping[str, str], key: str) -> str: ...
def name_choice(places: Mapping[str, str], key: str, value: str) -> str: ...
def check_apart(given: Mapping[str, Any], places: Mapping[str, str]) -> None: ...
def experiment(
    values: Mapping[str, Any], places: Mapping[str, str], devices: Mapping[str, Any]
) -> dict[str, Any]: ...
def tenant_texts(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str] | None: ...
def tenant_workload(tenant: str) -> str: ...
def configurations(
    given: Mapping[str, Any], places: Mapping[str, str], usual_runs: int,
    written: Mapping[str, list[str]],
) -> str: ...  # fmt: skip
def option_number(key: str, value: Any, place: str) -> int: ...
def parse_count(text: int | str, what: str = "count") -> int: ...
def parse_page_size(text: int | str, what: str = "size") -> int: ...
def parse_share(text: float | str, what: str = "share") -> float: ...
def parse_size(text: int | str, what: str = "size", usual: str = "GiB") -> int: ...
def toml_places(text: str) -> list[tuple[str, int, int]]: ...
def simulate(
    configs: str,
    threads: int,
    control: Control,
    poll: Callable[[], Any] | None = None,
    policies: dict[int, dict[str, tuple[str, object]]] | None = None,
    on_result: Callable[[int, str], Any] | None = None,
    keep: tuple[str | None, float | None, str | None] | None = None,
    leave_out: bool = False,
    or_none: bool = False,
    instead: tuple[os.PathLike[str], bool] | None = None,
    places: Mapping[str, str] | None = None,
) -> str: ...
def ranking(results: str) -> str: ...
def checkpoint_config(path: str) -> str: ...
def trace_formats() -> str: ...
def trace_layouts() -> str: ...
def trace_evidence(
    path: str, control: Control, reading: str, places: Mapping[str, str] | None = None
) -> str: ...
def trace_stat(
    path: str,
    control: Control,
    reading: str,
    page_size: int | None = None,
    paging: str | None = None,
    poll: Callable[[], Any] | None = None,
    places: Mapping[str, str] | None = None,
) -> str: ...
def trace_convert(
    input: str,
    output: str,
    control: Control,
    reading: str,
    native_devices: bool = False,
    page_size: int | None = None,
    filter: int | None = None,
    as_dirty: bool = False,
    leave_out: str | None = None,
    poll: Callable[[], Any] | None = None,
    places: Mapping[str, str] | None = None,
) -> str: ...
def trace_join(output: os.PathLike[str], inputs: Sequence[os.PathLike[str]]) -> int: ...

class Volumes:
    """The volumes of a trace, and the spool of their requests."""

    def volumes(self) -> list[tuple[int, int, int, int, str]]: ...
    def write(self, index: int, path: os.PathLike[str]) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...

def trace_split(
    paths: list[os.PathLike[str]],
    folder: os.PathLike[str],
    control: Control,
    reading: str,
    by_file: bool = False,
    poll: Callable[[], Any] | None = None,
    places: Mapping[str, str] | None = None,
) -> Volumes: ...
def trace_record(
    pipe: int,
    output: str,
    control: Control,
    page_size: int | None = None,
    filter: int | None = None,
    accesses: int = ...,
    poll: Callable[[], Any] | None = None,
) -> str: ...
def column_meanings(names: list[str]) -> list[tuple[str, str | None] | None]: ...
def operation_of(word: str) -> int | None: ...
def trace_of_columns(
    output: str,
    times: Any,
    ops: Any,
    offsets: Any,
    sizes: Any,
    devices: Any = None,
    streams: Any = None,
) -> None: ...
def trace_synth(
    workload: str,
    output: str,
    control: Control,
    pages: int,
    requests: int,
    page_size: int = 4096,
    interval_ns: int = 1000,
    seed: int = 1,
    poll: Callable[[], Any] | None = None,
    places: Mapping[str, str] | None = None,
) -> None: ...
def model_registry() -> str: ...
def model_evaluate(name: str, query: str) -> str: ...
def model_grid(
    name: str,
    query: str,
    columns: list[tuple[str, numpy.typing.NDArray[numpy.float64]]],
    out: numpy.typing.NDArray[numpy.float64],
    threads: int,
) -> tuple[int, str] | None: ...
def model_spare_for(name: str, query: str, wanted: float) -> float: ...
def model_choices_within(query: str, share: float, most: int) -> int | None: ...
def model_transient(
    query: str, initial: str, drive_writes: float, points: int
) -> list[tuple[float, float, float]]: ...
def policy_pick(
    policy: object, pages_per_block: int, counts: list[int | None], seed: int
) -> int | None: ...
def policy_run(
    policy: object,
    blocks: int,
    pages_per_block: int,
    spare: float,
    frontier: str,
    workload: str,
    writes: int,
    batch: int,
    seed: int,
) -> tuple[int, int, int]: ...
def placement_run(
    rule: object,
    victim: str | None,
    workload: str,
    writes: int,
    batch: int,
    seed: int,
) -> tuple[int, int, int]: ...

# These exist only in an engine built with injected faults.
def mutants() -> list[str]: ...
def choose_mutant(name: str | None = None) -> None: ...

_Fault = tuple[str, str | None, tuple[int, int] | None, int | None, float | None, int | None]

class FileRings:
    """The kernel's ring buffers for a file system's events, opened by a process that may."""

    def __init__(self, filesystem: str) -> None: ...

def take_stack() -> None: ...

class DriveFile:
    """The file of a drive, opened by a process with the right to, and used by its server."""

    def __init__(self, path: _Path, name: _Path | None = None, uncached: bool = False) -> None: ...
    def owner(self) -> int: ...

class DeviceListener:
    """An address at which a server will listen, bound by a process with the right to."""

    def __init__(self, address: str, nvme_tcp: bool = False) -> None: ...

class DeviceMount:
    """A FUSE mount that root has made, and that its server will use."""

    def __init__(self, folder: os.PathLike[str]) -> None: ...

class StoredDrive:
    """A stored drive that is open in this process."""

    def __init__(
        self, path: os.PathLike[str], written: dict[str, tuple[str, object]] | None,
        durability: str | None, clock: tuple[str, float, Any, str | None] | None = None,
        held: DriveFile | None = None, files: FileRings | None = None,
    ) -> None: ...  # fmt: skip
    @property
    def size(self) -> int: ...
    def read(self, at: int, bytes: int) -> bytes: ...
    def write(self, at: int, data: bytes, fua: bool, stream: int | None = None) -> None: ...
    def trim(self, at: int, bytes: int) -> None: ...
    def flush(self) -> None: ...
    def moment(self) -> int: ...
    def hint(self, at: int, bytes: int, moment: int | None) -> int: ...
    def cancel(self, at: int, bytes: int) -> None: ...
    def stat(self) -> str: ...
    def blocks(self) -> tuple[bytes, bytes, bytes, bytes, bytes]: ...
    def record(self, path: os.PathLike[str] | None) -> int | None: ...
    def mark(self, name: str) -> int: ...
    def inject(self, fault: _Fault) -> int: ...
    def clear(self, number: int | None = None) -> int: ...
    @property
    def serving(self) -> list[str]: ...
    def serves(self, words: str) -> None: ...
    @property
    def stopping(self) -> bool: ...
    def serve_fuse(self, folder: os.PathLike[str], prepared: DeviceMount | None = None) -> str: ...
    def serve_nbd(
        self, address: str, bound: DeviceListener | None = None, anywhere: bool = False
    ) -> str: ...
    def serve_nvme_tcp(
        self, address: str, bound: DeviceListener | None = None, anywhere: bool = False
    ) -> tuple[str, str]: ...
    def serve_control(
        self, path: os.PathLike[str], bound: DeviceListener | None = None
    ) -> None: ...
    def stop_serving(self) -> None: ...
    def close(self) -> None: ...

def device_create(
    path: os.PathLike[str], config: str, uuid: bytes, durability: str, journal_bytes: int | None,
    written: dict[str, tuple[str, object]] | None, places: Mapping[str, str] | None,
) -> str: ...  # fmt: skip
def device_counts() -> str: ...
def device_configuration(path: os.PathLike[str], held: DriveFile | None = None) -> str: ...
def device_check(
    path: os.PathLike[str], from_oob: bool, show: Callable[[int, int], object] | None = None,
    written: dict[str, tuple[str, object]] | None = None,
) -> str: ...  # fmt: skip
def device_owners(
    path: os.PathLike[str], trace: os.PathLike[str], groups: list[int], count: int,
    counted: tuple[int, int],
    written: dict[str, tuple[str, object]] | None, recordings: Sequence[os.PathLike[str]],
    placement: tuple[str, list[int]] | None = None,
) -> str: ...  # fmt: skip
def device_sweep(
    seed: int, images: int, control: Control, poll: Callable[[], Any] | None = None
) -> str: ...
def device_fuzz(
    seed: int, operations: int, control: Control, poll: Callable[[], Any] | None = None
) -> str: ...
def device_log(path: os.PathLike[str]) -> list[tuple[int, int, int, int, int]]: ...

class RecordedDrive:
    """A drive whose commands are logged."""

    def __init__(self, path: _Path, log: _Path, folder: _Path, uncached: bool = False) -> None: ...
    def close(self) -> None: ...

class DeviceReplay:
    """A drive that executes the commands of a log again."""

    def __init__(self, log: os.PathLike[str], path: os.PathLike[str]) -> None: ...
    def advance(self, end: int) -> None: ...
    def cut(self, copy: os.PathLike[str], seed: int) -> tuple[int, int, int]: ...

def device_repeat(
    path: os.PathLike[str], trace: os.PathLike[str], data: os.PathLike[str] | None = None
) -> None: ...

class PostgresFollower:
    """The pages that a PostgreSQL server will soon write, from its log."""

    def __init__(self, folder: os.PathLike[str], version: str, device: int, start: int) -> None: ...
    def restart(self, start: int) -> None: ...
    def next(self) -> int: ...
    def feed(self, at: int, bytes: bytes) -> None: ...
    def dirty(self, blocks: list[tuple[int, int, int, int, int]]) -> None: ...
    def changes(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]: ...
    def knows(
        self, blocks: list[tuple[int, int, int, int, int]]
    ) -> list[tuple[list[tuple[int, int]], bool]]: ...
    def counts(self) -> str: ...

class WalDecoder:
    """Turns the bytes of PostgreSQL's write-ahead log into records."""

    def __init__(self, start: int) -> None: ...
    @property
    def next(self) -> int: ...
    def feed(
        self, at: int, bytes: bytes
    ) -> list[
        tuple[int, int, str | None, int, int, list[tuple[int, int, int, str, int, bool, bool]], Any]
    ]: ...
    @staticmethod
    def path(relation: tuple[int, int, int], fork: str, block: int, version: str) -> str: ...

class PageCacheFollower:
    """Follows the dirty pages of a block device. Ranges of 4 KiB pages: the first, and how many."""

    def __init__(self, device: os.PathLike[str], kind: str, ring_bytes: int | None = None): ...
    def poll(self, seconds: float) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]: ...
    def dirty(self) -> list[tuple[int, int]]: ...
    def counts(self) -> dict[str, int]: ...
    def close(self) -> None: ...

def device_age(
    path: os.PathLike[str], share: float, writes: tuple[str, int], times: float | None = None,
    record: os.PathLike[str] | None = None, show: Callable[[int, int], None] | None = None,
) -> str: ...  # fmt: skip
def has_tracepoint(name: str) -> bool: ...

class AllocationFollower:
    """Follows allocations: time in ns, kind of event, inode, first block, number of blocks."""

    def __init__(self, device: os.PathLike[str], kind: str) -> None: ...
    def journal(self) -> tuple[int, int] | None: ...
    def poll(self, seconds: float) -> list[tuple[int, str, int, int, int]]: ...
    def close(self) -> None: ...

def trace_tag(
    parts: Sequence[tuple[os.PathLike[str], os.PathLike[str]]],
    changes: list[tuple[int, int, int, int]], pages: int, page_bytes: int,
) -> list[tuple[int, int, int, int]]: ...  # fmt: skip

class WriteFollower:
    """Counts the bytes that programs write to the file system on a block device."""

    def __init__(self, device: os.PathLike[str], kind: str, ring_bytes: int | None = None): ...
    def poll(self, seconds: float) -> None: ...
    def counts(self) -> dict[str, int | None]: ...
    def close(self) -> None: ...

class DeviceClient:
    """A connection to the process that serves a drive."""

    def __init__(self, path: os.PathLike[str]) -> None: ...
    def stat(self) -> str: ...
    def blocks(self) -> tuple[bytes, bytes, bytes, bytes, bytes]: ...
    def moment(self) -> int: ...
    def hint(self, ranges: list[tuple[int, int]], moment: int | None) -> int: ...
    def cancel(self, ranges: list[tuple[int, int]]) -> None: ...
    def hinted(self, ranges: list[tuple[int, int]]) -> tuple[int, int]: ...
    def trim(self, ranges: list[tuple[int, int]]) -> None: ...
    def files(self, device: os.PathLike[str], files: list[tuple[int, int, int]]) -> None: ...
    def flush(self) -> None: ...
    def record(self, path: os.PathLike[str] | None) -> str: ...
    def mark(self, name: str) -> str: ...
    def inject(self, fault: _Fault) -> int: ...
    def clear(self, number: int | None = None) -> int: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...
