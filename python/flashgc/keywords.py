"""The keywords of :func:`flashgc.run` and :func:`flashgc.compare`, with their types.

Written by ``make docs`` from the declarations of the options; edit those instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from flashgc.simulation import Placement

YesNo: TypeAlias = Literal["yes", "no"]
OnBadLine: TypeAlias = Literal["stop", "skip"]
BlkparseAction: TypeAlias = Literal["D", "Q", "C", "I", "G"]
Paging: TypeAlias = Literal["covered", "rounded", "floor", "rounded+floor"]
Numbering: TypeAlias = Literal["address", "first-touch", "given"]
Disorder: TypeAlias = Literal["refuse", "sort"]
Kind: TypeAlias = Literal["counting", "timed"]
Scheduling: TypeAlias = Literal["fifo", "reads-first"]
GcPreset: TypeAlias = Literal[
    "gc-gd",
    "gc-cb",
    "zgc-gd",
    "zgc-cb",
    "zgc-gd-nz",
    "zgc-cb-nz",
    "sepbit",
    "sepbit-cb",
    "multilog-cb",
    "fadac-cb",
    "warcip-cb",
    "intervals-cb",
    "gdt-cb",
    "sfs-cb",
]
GcDomain: TypeAlias = Literal["plane", "die", "channel", "drive"]


class Keywords(TypedDict, total=False):
    """The options that both functions have."""

    request_size: int | str | None
    """Bytes a request of a generator reads or writes, at a multiple of this size: a divisor or a
    multiple of mapping_unit. A smaller write reads its unit, merges and programs the whole unit.
    For example 4KiB. [default: the mapping unit]
    """
    flush_every: int | str | None
    """Flush command of the host behind every so many writes of a mapping unit. Needs
    power_protection no: a protected buffer is never flushed.
    """
    streams: str | None
    """File with the streams of writes by address, in the form of a dp_scheme file of fio: lines of
    START, END, STREAM in bytes. The first line that holds the first byte of a write decides, on a
    counting drive the first byte of each page. Other writes keep the stream that the workload gives
    them, if any. For example streams.csv.
    """
    format: str | None
    """Format of the trace; see flashgc trace formats. For example msr. [default: found from the
    file]
    """
    alignment_offset: int | str | None
    """Added to every offset of the trace before it is cut into pages. For example 512B. [default:
    0B]
    """
    on_bad_line: OnBadLine | None
    """Bad lines of the trace: stop, skip (and count them). [default: stop]"""
    devices: str | None
    """Devices of the trace to read, by the numbers of the trace, or as MAJOR:MINOR for traces of
    Linux. For example 0,3. [default: all of them]
    """
    blkparse_action: BlkparseAction | None
    """Action to read from a Linux block trace (blkparse, blktrace, ftrace): D (issued), Q (queued),
    C (completed), I (inserted) or G (request made). [default: D, else Q, else C]
    """
    relations: str | None
    """File that maps the relations of a database to its disk, for a log of pg_waldump. For example
    relations.txt.
    """
    paging: Paging | None
    """Pages of a trace's request off the page boundaries: all that it touches (covered), or as many
    as its size needs (rounded). The drive has room for every page of the trace; with floor it has U
    = b floor(x/b) of the x pages, and what lies on the others is left out. [default: covered]
    """
    numbering: Numbering | None
    """Logical pages of a trace's pages: by device and address, so that neighbours stay neighbours
    and a request stays one; in the order in which they are first read or written, where a timed
    drive splits requests whose pages do not follow each other; or given, where page i of the only
    device is logical page i, and blocks says how many the drive has. [default: given of a recorded
    drive, else address]
    """
    arrivals: str | None
    """When requests arrive: poisson, periodic, gaps, bursts, closed. For example
    poisson:rate=20000. [default: the times of a trace, or closed:threads=1]
    """
    tenant: Sequence[str | Mapping[str, str | float]] | None
    """A host that shares the drive with others, instead of source: keys and values with ; between
    them, or [[tenant]] in a file. Repeat for each tenant; see docs/tenants.md. For example name=db;
    workload=zipf:read=0.7; arrivals=poisson:rate=2000; priority=urgent; space=25%.
    """
    rate_scale: float | str | None
    """Factor on the arrival rate: 2 makes requests arrive twice as fast. [default: 1]"""
    disorder: Disorder | None
    """How to replay a trace whose times go back: refuse, sort. [default: refuse]"""
    kind: Kind | None
    """Drive to simulate: counting (page programs only) or timed (with a clock, channels and
    queues). [default: counting]
    """
    blocks: int | str | None
    """Physical blocks N, rounded up to the same number on every plane. [default: 4096; for a trace
    as many as its pages need]
    """
    capacity: str | None
    """Physical size, instead of blocks. It is rounded down to whole blocks, the same number on
    every plane, and the result says by how much. For example 960GB.
    """
    pages_per_block: int | str | None
    """Pages a block b, from 2 on. [default: 256]"""
    page_size: int | str | None
    """Size of a flash page. For example 16KiB. [default: 4KiB]"""
    mapping_unit: int | str | None
    """Size of the pieces that are mapped one by one. Where a flash page holds several, writes are
    gathered in a page buffer, and a page is programmed when it is full. Counts of pages are then in
    mapping units. For example 4KiB. [default: the page size]
    """
    power_protection: YesNo | None
    """What waits in the page buffer and in a write cache survives a loss of power. With no, a flush
    command programs the cache, and pages partly filled; a collection does so before its erase.
    [default: yes]
    """
    endurance: float | str | None
    """Erases that a block withstands before it is bad: a number, or one of fixed, normal, weibull;
    with the pool or mixed frontier. For example normal:mean=1000,cv=0.1. [default: any number]
    """
    times: str | None
    """Times of flash operations: read, program, erase; transfer (a page over the bus) and command
    (command and address, before each operation). Of read and program also one time for each kind of
    page: read=48us/76us. A counting drive reports how long the flash was busy; a timed drive needs
    them. For example read=60us,program=800us,erase=1.5ms,transfer=20us.
    """
    fill: str | None
    """State of the drive at first: sequential, random, empty. [default: sequential]"""
    device: str | None
    """Preset of a drive, for every option that is not given: pgc-slc, jasmine-4, jasmine-16, slc,
    mlc, tlc, qlc, consumer, micron-7450-max, micron-7450-pro; see flashgc policies.
    """
    channels: int | str | None
    """Channels, each with a bus. [default: 1]"""
    ways: int | str | None
    """Packages a channel. [default: 1]"""
    dies: int | str | None
    """Dies a package. [default: 1]"""
    planes: int | str | None
    """Planes a die. [default: 1]"""
    striping: str | None
    """Plane of a page: an order of Channel, Way, Die and Plane, the first varying fastest, or
    dynamic, which takes the die with the least to do. [default: CWDP]
    """
    scheduling: Scheduling | None
    """Next request of a die: fifo, reads-first. reads-first is MQSim's order of requests: reads
    before writes, but not before an earlier write of their page. [default: fifo]
    """
    multi_plane: YesNo | None
    """Several planes of a die carry out operations of one kind together. [default: no]"""
    cache_commands: YesNo | None
    """Transfers overlap with the cells' work on operations of the same kind. [default: no]"""
    slc_times: str | None
    """Times of the cells of slc. For example read=25us,program=200us,erase=2ms."""
    bits_per_cell: int | str | None
    """Bits of a cell outside the SLC region: an SLC block has the pages of a block divided by this.
    For example 4. [default: 3]
    """
    flush_after: str | None
    """Time after which a flash page in the page buffer is programmed though it is not full. For
    example 5ms.
    """
    read_retry: str | None
    """Reads that the cells repeat, each in the time of a read. from=N,every=M: one from N erases of
    the block on, and one more every M. after=T,each=S: one for data of this age, and one more each
    S. most=20: at most so many. For example from=1000,every=500.
    """
    host_bandwidth: str | None
    """Bandwidth of the link to the host, in each direction. Data of a write cross it before the
    drive works on them, data of a read after. For example 3.5GB/s.
    """
    host_overhead: str | None
    """Time of each command before the drive works on it. For example 5us."""
    write_cache: int | str | None
    """Write cache inside the drive: a size, or a number of pages. Flush commands wait for it with
    power_protection no. For example 64MiB. [default: 0]
    """
    serial_overwrites: YesNo | None
    """A write waits in the drive until the earlier writes of its page are done: with write_cache
    until they are in it, else until they are programmed. [default: no]
    """
    queue_depth: int | str | None
    """Requests that the drive works on at a time; further requests wait in the host. [default: 256]
    """
    arbitration: str | None
    """Requests a round of the priority classes of tenants, 1 to 256 each: weighted round robin with
    urgent priority class, as in NVMe. [default: high=4,medium=2,low=1]
    """
    gc_domain: GcDomain | None
    """GC domain, which counts its erased blocks together and has one collection at a time: plane,
    die, channel, drive. [default: plane]
    """
    gc_low: float | str | None
    """Erased blocks at which collections start: a number a plane, or a share of all (5%). [default:
    2]
    """
    gc_high: float | str | None
    """Erased blocks above which collections stop, if not above gc_low. For example 6%."""
    gc_hard: float | str | None
    """Erased blocks below which writes wait. For example 1%. [default: 0]"""
    suspend: str | None
    """Time until a suspended operation frees its die; or all parameters of suspension: suspend,
    resume, most (suspensions of one operation), least-erase and least-program (the least remaining
    time). For example suspend=20us,resume=5us,most=8. [default: 20us]
    """
    victim_search_time: str | None
    """Time for which the search for a victim occupies its die. For example 3.19ms. [default: 0us]
    """
    preemption_poll_time: str | None
    """Time to check the request queue at each preemption point. For example 600ns. [default: 0us]
    """
    copy_back: YesNo | None
    """Pages move inside their die, without the bus. [default: no]"""
    gc_holds_domain: YesNo | None
    """A collection without preemption occupies every die of its GC domain. [default: no]"""
    idle: str | None
    """Collections on idle dies: below is the number of erased blocks, after is the idle time. For
    example below=10%,after=1ms. [default: none]
    """
    write_pacing: YesNo | None
    """Writes go before the steps of a collection in proportion to its progress, so that all wait
    about equally long; needs preemption pgc and gc_domain plane or die. [default: no]
    """
    vm_page_cache: int | str | None
    """Page cache of a virtual memory system that swaps to the drive. The workload is then a
    program's memory references. For example 4MiB. [default: none]
    """
    page_policy: str | None
    """Replacement policy of vm_page_cache: 3-region, lru. [default: 3-region]"""
    writes: float | str | None
    """Length of a run in page writes (1000000) or drive writes (20x). [default: 20x]"""
    collections: int | str | None
    """Length of a run in collections, instead of writes."""
    requests: int | str | None
    """Length of a run in page requests, reads included, instead of writes; a trace is replayed
    whole. [default: with a clock 1000000; with a VM page cache 5000000]
    """
    passes: int | str | None
    """Length of a run in replays of a trace, instead of writes. [default: for a trace as many as it
    takes until write amplification has settled, at most 100; for a trace with a clock 1; for a
    trace with a VM page cache 1]
    """
    until: str | None
    """Go on until the 95% interval is within a share of the mean (precision=0.1%), or until a drive
    with endurance fails: first-failure, system-failure.
    """
    warmup: float | str | None
    """Share of the run that is not measured (1/3, 30%); or writes before the run, as drive writes
    (10x) or page writes (1000000); or auto. With a clock, writes before the run take no time.
    [default: 1/3; until a failure 0; with a clock 2x; for a trace with a VM page cache 0]
    """
    seed: int | str | None
    """Seed of the first run. [default: 1]"""
    jobs: int | str | None
    """Cores to use, for runs and for channels of timed drives; 0 for all. [default: 0]"""
    resolution: str | None
    """Length of a time slice in the series over time. For example 10ms. [default: for 256 to 512
    slices]
    """
    worst: YesNo | None
    """What the die of each slowest request did while that waited is kept and shown. [default: no]
    """
    timeline: str | None
    """File for the timeline of the first run's flash operations in a window of time: .json for
    ui.perfetto.dev, or a picture as .svg, .pdf or .png. For example timeline.json.
    """
    trace_events: str | None
    """File for every request and flash operation of the first run, written while it goes, for
    ui.perfetto.dev: what timeline has as .json, of the whole run, and counters of erased blocks.
    For example events.json.
    """
    window: str | None
    """Window of time that timeline shows: from FROM to TO; or around the end of the slowest
    request, 50ms long unless LENGTH says otherwise. trace_events has all where no window is given.
    For example 20ms:60ms. [default: 0ms:50ms]
    """


class RunKeywords(Keywords, total=False):
    """The options of :func:`flashgc.run`."""

    spare: float | str | None
    """Spare factor 1 - U/N: the share of the physical space beyond the logical capacity. For
    example 7%. [default: 10%]
    """
    overprovision: float | str | None
    """Over-provisioning (N - U)/U, instead of spare. For example 28%."""
    slc: str | None
    """SLC region, into which the host writes first: static (so many blocks a plane, or a share of
    all) or dynamic (erased blocks are lent, most at most, while more than keep are erased). full
    says what writes do while it is full: direct (they go to normal blocks) or fold (they wait for a
    block of the region to be emptied). after is the idle time before blocks are emptied, 100ms if
    not given. For example static:blocks=5%,full=direct,after=100ms.
    """
    mapping: str | None
    """How logical pages are found on flash: page, fast, bast, dftl. Log-block mappings (fast, bast)
    choose their own blocks, without a victim policy and a write frontier. For example
    fast:log_blocks=32. [default: page]
    """
    frontier: str | None
    """Write frontier, the open blocks that pages are written to: single, double, compact, pool,
    mixed. For example pool:low=2. [default: single]
    """
    allocation: str | None
    """Erased block of the pool that is used next: fifo, lowest-erase, sfl, random. [default: fifo]
    """
    wear_levelling: str | None
    """How cold data are moved to level wear, with the pool or mixed frontier: none, static. For
    example static:threshold=50,interval=10. [default: none]
    """
    placement: Placement | None
    """Open block that a page goes to, with the pool frontier: none, dac, sepbit, multilog, fadac,
    sfr, warcip, intervals, gdt, sfs, eti, fdp, oracle, or python:FILE.py:NAME. For example
    dac:regions=3,zombie-block=yes. [default: none]
    """
    gc_preset: GcPreset | None
    """Victim policy and placement under one name, instead of victim and placement: gc-gd, gc-cb,
    zgc-gd, zgc-cb, zgc-gd-nz, zgc-cb-nz, sepbit, sepbit-cb, multilog-cb, fadac-cb, warcip-cb,
    intervals-cb, gdt-cb, sfs-cb.
    """
    preemption: str | None
    """How collections give way to requests: none; pgc (between flash operations) with +merge,
    +pipeline, +erase-suspend; suspend. For example pgc+merge+pipeline. [default: none]
    """
    host_cache: str | None
    """Write-back cache of the host: page-cache, buffer-cache. The workload is then an application's
    requests to the cache. For example page-cache:size=4GiB. [default: none]
    """
    hints: str | None
    """How the host tells the drive which pages are dirty in host_cache: none, piggyback, command,
    dsm, frequency, perfect, oracle. [default: none]
    """
    scheme: str | None
    """How collections treat valid pages that are also in memory: du-gc, da-gc, ba-gc, lda-gc1,
    lda-gc2, lda-gc3, lda-gc4, lda-gc5, lda-p. [default: du-gc]
    """
    runs: int | str | None
    """Runs, each with a seed of its own. [default: 1; for a trace 1; for a trace with a VM page
    cache 1]
    """


class CompareKeywords(Keywords, total=False):
    """The options of :func:`flashgc.compare`."""

    spare: float | str | Sequence[float | str] | None
    """Spare factor 1 - U/N: the share of the physical space beyond the logical capacity. For
    example 7%. [default: 10%]
    """
    overprovision: float | str | Sequence[float | str] | None
    """Over-provisioning (N - U)/U, instead of spare. For example 28%."""
    slc: str | Sequence[str] | None
    """SLC region, into which the host writes first: static (so many blocks a plane, or a share of
    all) or dynamic (erased blocks are lent, most at most, while more than keep are erased). full
    says what writes do while it is full: direct (they go to normal blocks) or fold (they wait for a
    block of the region to be emptied). after is the idle time before blocks are emptied, 100ms if
    not given. For example static:blocks=5%,full=direct,after=100ms.
    """
    mapping: str | Sequence[str] | None
    """How logical pages are found on flash: page, fast, bast, dftl. Log-block mappings (fast, bast)
    choose their own blocks, without a victim policy and a write frontier. For example
    fast:log_blocks=32. [default: page]
    """
    frontier: str | Sequence[str] | None
    """Write frontier, the open blocks that pages are written to: single, double, compact, pool,
    mixed. For example pool:low=2. [default: single]
    """
    allocation: str | Sequence[str] | None
    """Erased block of the pool that is used next: fifo, lowest-erase, sfl, random. [default: fifo]
    """
    wear_levelling: str | Sequence[str] | None
    """How cold data are moved to level wear, with the pool or mixed frontier: none, static. For
    example static:threshold=50,interval=10. [default: none]
    """
    placement: Placement | Sequence[Placement] | None
    """Open block that a page goes to, with the pool frontier: none, dac, sepbit, multilog, fadac,
    sfr, warcip, intervals, gdt, sfs, eti, fdp, oracle, or python:FILE.py:NAME. For example
    dac:regions=3,zombie-block=yes. [default: none]
    """
    gc_preset: GcPreset | Sequence[GcPreset] | None
    """Victim policy and placement under one name, instead of victim and placement: gc-gd, gc-cb,
    zgc-gd, zgc-cb, zgc-gd-nz, zgc-cb-nz, sepbit, sepbit-cb, multilog-cb, fadac-cb, warcip-cb,
    intervals-cb, gdt-cb, sfs-cb.
    """
    preemption: str | Sequence[str] | None
    """How collections give way to requests: none; pgc (between flash operations) with +merge,
    +pipeline, +erase-suspend; suspend. For example pgc+merge+pipeline. [default: none]
    """
    host_cache: str | Sequence[str] | None
    """Write-back cache of the host: page-cache, buffer-cache. The workload is then an application's
    requests to the cache. For example page-cache:size=4GiB. [default: none]
    """
    hints: str | Sequence[str] | None
    """How the host tells the drive which pages are dirty in host_cache: none, piggyback, command,
    dsm, frequency, perfect, oracle. [default: none]
    """
    scheme: str | Sequence[str] | None
    """How collections treat valid pages that are also in memory: du-gc, da-gc, ba-gc, lda-gc1,
    lda-gc2, lda-gc3, lda-gc4, lda-gc5, lda-p. [default: du-gc]
    """
    runs: int | str | None
    """Runs, each with a seed of its own. [default: 5; for a trace 1; for a trace with a VM page
    cache 1]
    """
