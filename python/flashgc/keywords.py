"""The keywords of :func:`flashgc.run` and :func:`flashgc.compare`, with their types.

Written by ``make docs`` from the declarations of the options; edit those instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from flashgc._schemes import Scheme
    from flashgc.simulation import Placement

YesNo: TypeAlias = Literal["yes", "no"] | bool
OnBadLine: TypeAlias = Literal["stop", "skip"]
BlkparseAction: TypeAlias = Literal["D", "Q", "C", "I", "G"]
Disorder: TypeAlias = Literal["refuse", "sort"]
Paging: TypeAlias = Literal["covered", "rounded", "floor", "rounded+floor"]
Numbering: TypeAlias = Literal["address", "first-touch", "given"]
Kind: TypeAlias = Literal["counting", "timed"]
Scheduling: TypeAlias = Literal["fifo", "reads-first"]
GcDomain: TypeAlias = Literal["plane", "die", "channel", "drive"]


class Keywords(TypedDict, total=False):
    """The options that both functions have."""

    request_size: int | str | None
    """Size of each request of a generator: a divisor or a multiple of mapping_unit. A request
    starts at a multiple of its size. A generator with size= has its own. A write smaller than a
    mapping unit reads the unit, merges the data and programs the whole unit. For example 4KiB.
    [default: the mapping unit]
    """
    flush_every: int | str | None
    """The host sends a flush command after this many writes of a mapping unit. Needs
    power_protection no: a protected buffer is never flushed.
    """
    streams: str | None
    """File that gives writes their streams by address, in the form of fio's dp_scheme file: lines
    of START, END, STREAM in bytes. The first line that holds the first byte of a write decides; on
    a counting drive, the first byte of each page. Other writes keep the stream that the workload
    gives them, if any. For example streams.csv.
    """
    format: str | None
    """Format of the trace; see flashgc trace formats. For example msr. [default: found from the
    file]
    """
    alignment_offset: int | str | None
    """Bytes that are added to every offset of the trace before it is cut into pages. For example
    512B. [default: 0B]
    """
    on_bad_line: OnBadLine | None
    """Action for a bad line of the trace: stop, skip (skipped lines are counted). [default: stop]
    """
    devices: str | None
    """Devices of the trace to read, by the device numbers of the trace, or as MAJOR:MINOR for
    traces of Linux. For example 0,3. [default: all of them]
    """
    blkparse_action: BlkparseAction | None
    """Action to read from a Linux block trace (blkparse, blktrace, ftrace): D (issued), Q (queued),
    C (completed), I (inserted) or G (request made). [default: D, else Q, else C]
    """
    columns: str | None
    """Columns of the trace's lines, by number from 1 or by name, in place of a format: time with
    its unit (s, ms, us, ns, 100ns), op, perhaps with its values, offset and size, perhaps with
    their unit (byte, sector, KiB, or a number of bytes), and perhaps device, only, separator,
    header, comment and base. For example time=1:ms,op=2,offset=3,size=4.
    """
    layout: str | None
    """Layout of the trace's lines in place of a format: one that ships (see flashgc trace formats),
    or a TOML file with the keys of columns. For example biosnoop.
    """
    disorder: Disorder | None
    """Action for a trace whose times go back: refuse, sort. [default: the order of the file; with a
    clock refuse]
    """
    relations: str | None
    """File that maps the relations of a database to offsets on its disk, for a log of pg_waldump.
    For example relations.txt.
    """
    paging: Paging | None
    """Pages of a request that does not begin and end at page boundaries: all that it touches
    (covered), or as many as its size needs (rounded). The drive has room for all x pages of the
    trace. With floor, it has U = b floor(x/b) logical pages, and requests to the other pages are
    left out. [default: covered]
    """
    numbering: Numbering | None
    """Logical page of each page of the trace. address: in order of device and address, so a request
    stays one run of pages. first-touch: in order of the first read or write; the pages of a request
    then need not follow each other. given: page i of the only device is logical page i, and blocks
    sets the size of the drive. [default: given of a recorded drive, else address]
    """
    arrivals: str | None
    """Times at which requests arrive: poisson, periodic, gaps, bursts, closed, dependent. For
    example poisson:rate=20000. [default: the times of a trace, or closed:threads=1]
    """
    tenant: Sequence[str | Mapping[str, str | float]] | None
    """A host that shares the drive with others, instead of source. Write keys and values with ;
    between them, or [[tenant]] in a file. Repeat for each tenant; see docs/tenants.md. For example
    name=db; workload=zipf:read=0.7; arrivals=poisson:rate=2000; priority=urgent; space=25%.
    """
    rate_scale: float | str | None
    """Factor on the arrival rate: 2 makes requests arrive twice as fast. [default: 1]"""
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
    every plane. The result says by how much. For example 960GB.
    """
    scale: str | None
    """Share of the drive to simulate: 1/K, or 1 for all of it. The blocks have fewer pages, or
    there are fewer of them, as changes write amplification least; the result says which. With a
    clock, the drive keeps its dies, and erases take as much less time as blocks have fewer pages. A
    scale that would change write amplification by more than about 1% is refused. For example 1/64.
    [default: 1]
    """
    pages_per_block: int | str | None
    """Pages per block b, at least 2. [default: 256; for a trace 256, or fewer, so that a drive of
    its pages has 512 blocks]
    """
    page_size: int | str | None
    """Size of a flash page. For example 16KiB. [default: 4KiB]"""
    mapping_unit: int | str | None
    """Size of the unit in which logical addresses are mapped, which data sheets call the
    indirection unit. If a flash page holds several units, the drive gathers writes in a page buffer
    and programs a page when it is full. Page counts are then in mapping units. For example 4KiB.
    [default: the page size]
    """
    power_protection: YesNo | None
    """The data in the page buffer and in the write cache survive a loss of power. With no, a flush
    command programs the cache and the partly filled pages, and a collection programs all its copies
    before its erase. [default: yes]
    """
    endurance: float | str | None
    """Erases that a block withstands before it goes bad: a number, or one of fixed, normal,
    weibull. It needs the pool or mixed frontier. For example normal:mean=1000,cv=0.1. [default: any
    number]
    """
    times: str | None
    """Times of flash operations: read, program and erase; transfer (a page over the bus); command
    (command and address, before each operation). read and program may have one time for each kind
    of page: read=48us/76us. A timed drive needs these times. A counting drive reports with them how
    long the flash was busy. For example read=60us,program=800us,erase=1.5ms,transfer=20us.
    """
    fill: str | None
    """State of the drive before the run: sequential, random, steady, empty. [default: sequential]
    """
    device: str | None
    """Preset of a drive: pgc-slc, jasmine-4, jasmine-16, slc, mlc, tlc, qlc, consumer,
    micron-7450-max, micron-7450-pro, samsung-pm9a3, samsung-pm9d3a, solidigm-p5336, kingston-nv2.
    It gives values to options that you do not set; see flashgc policies.
    """
    channels: int | str | None
    """Channels of the drive. Each has its own bus. [default: 1]"""
    ways: int | str | None
    """Packages per channel. [default: 1]"""
    dies: int | str | None
    """Dies per package. [default: 1]"""
    planes: int | str | None
    """Planes per die. [default: 1]"""
    striping: str | None
    """Plane that a page goes to: an order of Channel, Way, Die and Plane, of which the first varies
    fastest; or dynamic, which takes the die with the least work. [default: CWDP]
    """
    scheduling: Scheduling | None
    """Order in which a die takes its requests: fifo, reads-first. reads-first is the order of
    MQSim: a read goes before writes, but not before an earlier write of its page. [default: fifo]
    """
    multi_plane: YesNo | None
    """The planes of a die execute operations of one kind together, and their collections, too.
    [default: no]
    """
    cache_commands: YesNo | None
    """A transfer overlaps with an operation of the same kind in the cells. [default: no]"""
    power_limit: str | None
    """Power limit: the number of dies that may program or erase at a time. Further programs and
    erases wait in order of arrival, each in its die, with its data there. Reads need no power.
    Requests that may suspend a program or erase (preemption) go before one that waits. For example
    dies=8.
    """
    slc_times: str | None
    """Times of flash operations in the blocks of slc. For example
    read=25us,program=200us,erase=2ms.
    """
    bits_per_cell: int | str | None
    """Bits per cell outside the SLC region. An SLC block has the pages of a normal block divided by
    this number. For example 4. [default: 3]
    """
    flush_after: str | None
    """Time after which the drive programs a page of the page buffer although the page is not full.
    For example 5ms.
    """
    read_retry: str | None
    """Extra reads of a page, each in the time of a read. from=N,every=M: one extra read from N
    erases of the block on, and one more for every M erases after that. after=T,each=S: one extra
    read from age T of the data on, and one more for every S after that. most=20: at most 20 extra
    reads. For example from=1000,every=500.
    """
    read_failures: str | None
    """Probability with which the read of a flash page fails, for each read of the host or of a map
    on flash. The other dies of the stripe (parity) then read their pages, and the read is over when
    these are there. If one of them fails too, the data are lost, and the result counts it. Reads of
    collections and of partial writes do not fail. For example 1e-4.
    """
    host_bandwidth: str | None
    """Bandwidth of the link to the host, in each direction. The data of a write cross it before the
    drive works on them; the data of a read cross it after. For example 3.5GB/s.
    """
    host_overhead: str | None
    """Time that each command takes before the drive works on it. For example 5us."""
    write_cache: int | str | None
    """Size of the write cache inside the drive, or its number of pages. With power_protection no, a
    flush command waits until the cache is programmed. For example 64MiB. [default: 0]
    """
    serial_overwrites: YesNo | None
    """A write waits in the drive until the earlier writes of its page are done. They are done when
    they are in write_cache; without a cache, when they are programmed. [default: no]
    """
    queue_depth: int | str | None
    """Requests that the drive works on at a time. Further requests wait in the host. [default: 256]
    """
    arbitration: str | None
    """Requests per round of each priority class of tenants, 1 to 256 each. This is weighted round
    robin with urgent priority class, as in NVMe. [default: high=4,medium=2,low=1]
    """
    gc_domain: GcDomain | None
    """GC domain, the unit that counts its erased blocks and runs one collection at a time: plane,
    die, channel, drive. [default: plane]
    """
    gc_low: float | str | None
    """Erased blocks at which collections start: a number per plane, or a share of all blocks (5%).
    [default: 2]
    """
    gc_high: float | str | None
    """Erased blocks above which collections stop. Without it, they stop above gc_low. For example
    6%.
    """
    gc_hard: float | str | None
    """Erased blocks below which writes wait. For example 1%. [default: 0]"""
    suspend: str | None
    """Time until a suspended operation frees its die; or all parameters of suspension: suspend,
    resume, most (suspensions of one operation, 8 unless it is given), longest (the time for which
    one operation is suspended in all, 5ms unless it is given), counted (suspensions; with requests,
    each request that comes while an operation is suspended counts as one more of most, and longest
    has no default), least-erase and least-program (an operation with less time left is not
    suspended). For example suspend=20us,resume=5us,most=8. [default: 20us]
    """
    victim_search_time: str | None
    """Time for which the search for a victim occupies its die. For example 3.19ms. [default: 0us]
    """
    preemption_poll_time: str | None
    """Time to check the request queue at each preemption point. For example 600ns. [default: 0us]
    """
    copy_back: YesNo | None
    """Collections move pages inside their die, without the bus. [default: no]"""
    gc_holds_domain: YesNo | None
    """A collection without preemption occupies every die of its GC domain. [default: no]"""
    idle: str | None
    """Collections on idle dies. They start below this number of erased blocks (below) after this
    idle time (after). For example below=10%,after=1ms. [default: none]
    """
    write_pacing: YesNo | None
    """Writes go before the steps of a collection in proportion to its progress, so that all wait
    about equally long; needs preemption pgc and gc_domain plane or die. [default: no]
    """
    vm_page_cache: int | str | None
    """Page cache of a virtual memory system that swaps to the drive. The workload is then the
    memory references of a program. For example 4MiB. [default: none]
    """
    page_policy: str | None
    """Replacement policy of vm_page_cache: 3-region, lru. [default: 3-region]"""
    writes: float | str | None
    """Length of a run in page writes (1000000) or drive writes (20x). [default: for a generator as
    many as it takes until write amplification has settled, at most 640x; 20x where the part that is
    not measured is given]
    """
    collections: int | str | None
    """Length of a run in collections, instead of writes."""
    requests: int | str | None
    """Length of a run in requests of the host, reads included, instead of writes. A trace is
    replayed until it has given as many. [default: with a clock 1000000; with a VM page cache
    5000000]
    """
    passes: int | str | None
    """Length of a run in replays of a trace, instead of writes. [default: for a trace as many as it
    takes until write amplification has settled, at most 100; for a trace with a clock 1; for a
    trace with a VM page cache 1]
    """
    until: str | None
    """Run until the 95% interval is within a share of the mean (precision=0.1%), or until a drive
    with endurance fails: first-failure, system-failure.
    """
    warmup: float | str | None
    """Part of the run that is not measured: a share (1/3, 30%), writes before the run in drive
    writes (10x) or page writes (1000000), or auto, which is its first half. With a clock, writes
    before the run take no time, and auto writes until the drive has settled: 5, 10 or 20 drive
    writes. [default: 1/3; for a generator auto; until a failure 0; with a clock auto; for a trace
    with a VM page cache 0]
    """
    seed: int | str | None
    """Seed of the first run. [default: 1]"""
    jobs: int | str | None
    """Cores to use for runs and for channels of timed drives; 0 uses all. [default: 0]"""
    resolution: str | None
    """Length of one time slice of the series over time. For example 10ms. [default: for 256 to 512
    slices]
    """
    worst: YesNo | None
    """Keep and show what the die did while each of the slowest requests waited. [default: no]"""
    timeline: str | None
    """File for a timeline of the first run's flash operations in window: .json for ui.perfetto.dev,
    or a picture as .svg, .pdf or .png. For example timeline.json.
    """
    trace_events: str | None
    """File for every request and flash operation of the first run, for ui.perfetto.dev. It has what
    timeline has as .json, of the whole run, and counters of erased blocks. It is written during the
    run. For example events.json.
    """
    window: str | None
    """Window of time that timeline shows: from FROM to TO, or around the end of the slowest request
    (50ms long unless LENGTH says otherwise). If you give no window, trace_events has the whole run.
    For example 20ms:60ms. [default: 0ms:50ms]
    """


class RunKeywords(Keywords, total=False):
    """The options of :func:`flashgc.run`."""

    superblock: str | None
    """Blocks that are opened, filled, collected and erased together, as one large block: plane,
    die, or dies=N,planes=N. A page of it has the pages of all its planes of a die, which are
    programmed, read and erased together. With several dies, programs go to the dies in turn. A
    drive without a clock has no dies, so its superblocks are given by dies=N,planes=N. For example
    dies=16,planes=4. [default: plane]
    """
    copy_order: str | None
    """Order in which a collection copies the valid pages of a superblock: written, die. With
    written, pages go in the order in which they were written. With die, all those of one die go
    first, then those of the next. That tears data apart that were written in sequence, so
    amplification is higher. [default: written]
    """
    program: str | None
    """Pages that are programmed together: page, one-shot, two-pass. With one-shot, the pages of a
    word line (3 unless pages=N says otherwise) go to the die one after another, and the program
    time is that of all of them. Units wait until they fill them. Each page is still read alone.
    With two-pass (4 pages), the word line is programmed twice, the second time after the next word
    line of its die; until then its data stay in the page buffer, and program=600us+1.6ms in times
    gives the time of each pass. For example one-shot:pages=4. [default: page]
    """
    parity: str | None
    """Share of each superblock that is parity: 1/N, or none. N divides the number of its blocks,
    which lie on several dies, so that a block that fails is rebuilt from the others; on a stored
    drive, N divides the number of its dies. spare is the share beside the parity. For example 1/16.
    [default: none]
    """
    spare: float | str | None
    """Spare factor 1 - U/N: the share of the physical space beyond the logical capacity. For
    example 7%. [default: 10%]
    """
    bad_blocks: str | None
    """Fate of a superblock with a bad block: retire, shrink. With retire, it retires with the first
    of its blocks. With shrink, it goes on with its other blocks, as long as it has the share
    least=50% of its pages. A bad plane leaves its die, or with parity the die leaves. For example
    shrink:least=75%. [default: retire]
    """
    overprovision: float | str | None
    """Over-provisioning (N - U)/U, instead of spare. For example 28%."""
    slc: str | None
    """SLC region, which takes the host's writes first. It is static (a number of blocks per plane,
    or a share of all), dynamic (it borrows up to most erased blocks, while more than keep are
    erased), or both, joined by +: writes fill the static blocks first, and borrowed blocks are
    emptied first. full says what writes do while the region is full: direct (they go to normal
    blocks), fold (they wait until a block of the region is emptied) or both (they go to normal
    blocks, and a fold copies pace pages for each of them; its default is 1). after is the idle time
    before blocks are emptied; its default is 100ms. For example
    static:blocks=5%,full=direct,after=100ms.
    """
    mapping: str | None
    """Mapping from logical pages to flash: page, fast, bast, dftl. The log-block mappings (fast,
    bast) choose their victims themselves, so they take no victim policy and no write frontier. For
    example fast:log_blocks=32. [default: page]
    """
    frontier: str | None
    """Write frontier, the open blocks that pages are written to: single, double, compact, pool,
    mixed. For example pool:low=2. [default: single]
    """
    allocation: str | None
    """Order in which the pool opens its erased blocks: fifo, lowest-erase, sfl, random. [default:
    fifo]
    """
    wear_levelling: str | None
    """Wear levelling, which moves cold data so that blocks wear evenly: none, static. All but none
    need the pool or mixed frontier. For example static:threshold=50,interval=10. [default: none]
    """
    placement: Placement | None
    """Placement, which chooses the open block of each page: none, dac, sepbit, multilog, fadac,
    sfr, warcip, intervals, gdt, sfs, midas, eti, fdp, oracle, python:FILE.py:NAME or
    lib:FILE.so:NAME. All but none need the pool frontier. For example
    dac:regions=3,zombie-block=yes. [default: none]
    """
    scheme: str | Scheme | None
    """Victim policy and placement, instead of victim and placement: gc-gd, gc-cb, zgc-gd, zgc-cb,
    zgc-gd-nz, zgc-cb-nz, sepbit, midas, sepbit-cb, multilog-cb, fadac-cb, warcip-cb, intervals-cb,
    gdt-cb, sfs-cb; or both in words, cost-benefit + sepbit, perhaps with a name and a frontier,
    mine = greedy + dac + single. The usual frontier is then pool.
    """
    preemption: str | None
    """Preemption of collections by requests: none; pgc (between flash operations) with +merge,
    +pipeline, +erase-suspend; suspend (inside erases and programs too). For example
    pgc+merge+pipeline. [default: none]
    """
    host_cache: str | None
    """Write-back cache of the host: page-cache, buffer-cache. The workload is then the requests of
    an application to this cache. For example page-cache:size=4GiB. [default: none]
    """
    hints: str | None
    """Hints with which the host tells the drive which pages of host_cache are dirty: none,
    piggyback, command, dsm, frequency, perfect, oracle. [default: none]
    """
    vm_scheme: str | None
    """Scheme that decides what collections do with valid pages that are also in memory: du-gc,
    da-gc, ba-gc, lda-gc1, lda-gc2, lda-gc3, lda-gc4, lda-gc5, lda-p. [default: du-gc]
    """
    runs: int | str | None
    """Number of runs. Each has its own seed. [default: 1; for a trace 1; for a trace with a VM page
    cache 1]
    """


class CompareKeywords(Keywords, total=False):
    """The options of :func:`flashgc.compare`."""

    superblock: str | Sequence[str] | None
    """Blocks that are opened, filled, collected and erased together, as one large block: plane,
    die, or dies=N,planes=N. A page of it has the pages of all its planes of a die, which are
    programmed, read and erased together. With several dies, programs go to the dies in turn. A
    drive without a clock has no dies, so its superblocks are given by dies=N,planes=N. For example
    dies=16,planes=4. [default: plane]
    """
    copy_order: str | Sequence[str] | None
    """Order in which a collection copies the valid pages of a superblock: written, die. With
    written, pages go in the order in which they were written. With die, all those of one die go
    first, then those of the next. That tears data apart that were written in sequence, so
    amplification is higher. [default: written]
    """
    program: str | Sequence[str] | None
    """Pages that are programmed together: page, one-shot, two-pass. With one-shot, the pages of a
    word line (3 unless pages=N says otherwise) go to the die one after another, and the program
    time is that of all of them. Units wait until they fill them. Each page is still read alone.
    With two-pass (4 pages), the word line is programmed twice, the second time after the next word
    line of its die; until then its data stay in the page buffer, and program=600us+1.6ms in times
    gives the time of each pass. For example one-shot:pages=4. [default: page]
    """
    parity: str | Sequence[str] | None
    """Share of each superblock that is parity: 1/N, or none. N divides the number of its blocks,
    which lie on several dies, so that a block that fails is rebuilt from the others; on a stored
    drive, N divides the number of its dies. spare is the share beside the parity. For example 1/16.
    [default: none]
    """
    spare: float | str | Sequence[float | str] | None
    """Spare factor 1 - U/N: the share of the physical space beyond the logical capacity. For
    example 7%. [default: 10%]
    """
    bad_blocks: str | Sequence[str] | None
    """Fate of a superblock with a bad block: retire, shrink. With retire, it retires with the first
    of its blocks. With shrink, it goes on with its other blocks, as long as it has the share
    least=50% of its pages. A bad plane leaves its die, or with parity the die leaves. For example
    shrink:least=75%. [default: retire]
    """
    overprovision: float | str | Sequence[float | str] | None
    """Over-provisioning (N - U)/U, instead of spare. For example 28%."""
    slc: str | Sequence[str] | None
    """SLC region, which takes the host's writes first. It is static (a number of blocks per plane,
    or a share of all), dynamic (it borrows up to most erased blocks, while more than keep are
    erased), or both, joined by +: writes fill the static blocks first, and borrowed blocks are
    emptied first. full says what writes do while the region is full: direct (they go to normal
    blocks), fold (they wait until a block of the region is emptied) or both (they go to normal
    blocks, and a fold copies pace pages for each of them; its default is 1). after is the idle time
    before blocks are emptied; its default is 100ms. For example
    static:blocks=5%,full=direct,after=100ms.
    """
    mapping: str | Sequence[str] | None
    """Mapping from logical pages to flash: page, fast, bast, dftl. The log-block mappings (fast,
    bast) choose their victims themselves, so they take no victim policy and no write frontier. For
    example fast:log_blocks=32. [default: page]
    """
    frontier: str | Sequence[str] | None
    """Write frontier, the open blocks that pages are written to: single, double, compact, pool,
    mixed. For example pool:low=2. [default: single]
    """
    allocation: str | Sequence[str] | None
    """Order in which the pool opens its erased blocks: fifo, lowest-erase, sfl, random. [default:
    fifo]
    """
    wear_levelling: str | Sequence[str] | None
    """Wear levelling, which moves cold data so that blocks wear evenly: none, static. All but none
    need the pool or mixed frontier. For example static:threshold=50,interval=10. [default: none]
    """
    placement: Placement | Sequence[Placement] | None
    """Placement, which chooses the open block of each page: none, dac, sepbit, multilog, fadac,
    sfr, warcip, intervals, gdt, sfs, midas, eti, fdp, oracle, python:FILE.py:NAME or
    lib:FILE.so:NAME. All but none need the pool frontier. For example
    dac:regions=3,zombie-block=yes. [default: none]
    """
    scheme: str | Scheme | Sequence[str | Scheme] | None
    """Victim policy and placement, instead of victim and placement: gc-gd, gc-cb, zgc-gd, zgc-cb,
    zgc-gd-nz, zgc-cb-nz, sepbit, midas, sepbit-cb, multilog-cb, fadac-cb, warcip-cb, intervals-cb,
    gdt-cb, sfs-cb; or both in words, cost-benefit + sepbit, perhaps with a name and a frontier,
    mine = greedy + dac + single. The usual frontier is then pool.
    """
    preemption: str | Sequence[str] | None
    """Preemption of collections by requests: none; pgc (between flash operations) with +merge,
    +pipeline, +erase-suspend; suspend (inside erases and programs too). For example
    pgc+merge+pipeline. [default: none]
    """
    host_cache: str | Sequence[str] | None
    """Write-back cache of the host: page-cache, buffer-cache. The workload is then the requests of
    an application to this cache. For example page-cache:size=4GiB. [default: none]
    """
    hints: str | Sequence[str] | None
    """Hints with which the host tells the drive which pages of host_cache are dirty: none,
    piggyback, command, dsm, frequency, perfect, oracle. [default: none]
    """
    vm_scheme: str | Sequence[str] | None
    """Scheme that decides what collections do with valid pages that are also in memory: du-gc,
    da-gc, ba-gc, lda-gc1, lda-gc2, lda-gc3, lda-gc4, lda-gc5, lda-p. [default: du-gc]
    """
    runs: int | str | None
    """Number of runs. Each has its own seed. [default: 5; for a trace 1; for a trace with a VM page
    cache 1]
    """
