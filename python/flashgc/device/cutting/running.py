"""A run of power cuts: the command is recorded once, and each cut is made and checked."""

from __future__ import annotations

import contextlib
import itertools
import platform
import random
import shutil
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError, Control, DriveError
from flashgc.device import failures, mounts
from flashgc.device.cutting import checking, recording
from flashgc.device.cutting.checking import Checker, Verdict
from flashgc.device.cutting.keeping import Kept, Request, Result
from flashgc.device.cutting.log import FLUSH, Log, Piece
from flashgc.device.cutting.recording import Recording, create
from flashgc.device.scratch import scratch
from flashgc.progress import Show


@dataclass(frozen=True, slots=True)
class Cut:
    """A power cut: the drive had got ``given`` commands, ``flushed`` of which were durable."""

    number: int
    given: int
    flushed: int
    #: True if the next command would have been a flush.
    is_at_flush: bool


def cuts(
    log: Log, begin: int, end: int, seed: int, acknowledged: Sequence[int] = ()
) -> Iterator[Cut]:
    """Yield cuts between two bytes of the log without end; the first N are the same for every N.

    A cut is at a flush that has something to make durable, or behind any command. A cut at a flush
    comes just before the flush, so that it may lose every command since the flush before. If a line
    was ``acknowledged`` between the two flushes, the cut may break a promise: cuts at such flushes
    come first, each once. Then three kinds of cuts take turns: at another flush, each once; again
    at one of the first flushes, where other pieces may be lost; and behind a random command.
    """
    draw = random.Random(f"{seed} places")
    first, last = log.until(begin), log.until(end)
    flushes, silent = _flushes(log, first, last, acknowledged)
    draw.shuffle(flushes)
    draw.shuffle(silent)

    def moments() -> Iterator[tuple[int, bool]]:
        yield from ((given, True) for given in flushes)
        while True:
            if silent:
                yield silent.pop(), True
            if flushes:
                yield draw.choice(flushes), True
            yield draw.randint(first, last), False

    for number, (given, is_at_flush) in enumerate(moments()):
        yield Cut(number, given, log.flushed(given), is_at_flush)


def _flushes(
    log: Log, first: int, last: int, acknowledged: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the flushes that make data durable: with an acknowledgement before, and without."""
    numbers: list[int] = []
    silent: list[int] = []
    for index in range(first, last):
        if log.entries[index].kind == FLUSH and (flushed := log.flushed(index)) < index:
            has_line = _counted(log, flushed, index, acknowledged)
            (numbers if has_line else silent).append(index)
    return numbers, silent


def _counted(log: Log, flushed: int, given: int, positions: Sequence[int]) -> int:
    """Return how many positions lie between the ends of ``flushed`` and of ``given`` commands."""
    first, last = (log.entries[count - 1].end if count else 0 for count in (flushed, given))
    return bisect_right(positions, last) - bisect_left(positions, first)


def lost(pieces: int, seed: int, number: int) -> list[int]:
    """Return the pieces that a cut loses, out of ``pieces`` that no flush has made durable.

    One of four ways is drawn. All pieces are lost (probability 3/8). All from a random piece on are
    lost (2/8). Each piece is lost with the same random probability, so that a later piece may stay
    where an earlier one is lost, and writes are torn between pages (2/8). A single piece is lost
    (1/8).
    """
    draw = random.Random(f"{seed} cut {number}")
    if not pieces:
        return []
    way = draw.randrange(8)
    if way < 3:
        return list(range(pieces))
    if way < 5:
        return list(range(draw.randrange(pieces), pieces))
    if way < 7:
        chance = draw.random()
        return [piece for piece in range(pieces) if draw.random() < chance]
    return [draw.randrange(pieces)]


class Images:
    """Makes the drive's file as a cut leaves it; fastest if ``flushed`` grows from cut to cut."""

    def __init__(self, folder: Path, log: Log, capacity: str) -> None:
        """``folder`` is a scratch folder."""
        self._folder, self.log, self._capacity = folder, log, capacity
        self._base = folder / "base.flash"
        self._replay: _core.DeviceReplay | None = None
        self._done = 0

    def pieces(self, cut: Cut) -> list[Piece]:
        """The pieces of commands that the cut may lose."""
        return self.log.pieces(cut.flushed, cut.given)

    def make(self, cut: Cut, lost: Collection[int]) -> Path:
        """The file of a drive with all commands before the cut, except for the ``lost`` pieces."""
        self._advance(cut.flushed)
        image = self._folder / "cut.flash"
        image.unlink(missing_ok=True)
        mounts.run("cp", "--sparse=always", str(self._base), str(image))
        gone = set(lost)
        kept = [piece for at, piece in enumerate(self.pieces(cut)) if at not in gone]
        if kept:
            left = self._folder / "left.log"
            end = self.log.write(kept, left)
            _core.DeviceReplay(left, image).advance(end)
        return image

    def _advance(self, count: int) -> None:
        """Execute the first ``count`` commands on the base drive, which is made anew to go back."""
        if self._replay is None or count < self._done:
            self._replay = None
            self._base.unlink(missing_ok=True)
            create(self._base, self._capacity)
            self._replay = _core.DeviceReplay(self.log.path, self._base)
        self._replay.advance(self.log.entries[count - 1].end if count else 0)
        self._done = count


def shrunk(lost: list[int], fails: Callable[[list[int]], bool], tries: int) -> list[int]:
    """Keep lost pieces again (all, then halves, quarters and so on) as long as the check ``fails``.

    At most ``tries`` checks run. If they suffice, the loss of every piece in the result is needed:
    without it the check passes.

    >>> shrunk([1, 2, 3, 4, 5, 6], lambda lost: {2, 5} <= set(lost), 40)
    [2, 5]
    """
    size = len(lost)
    while size and tries:
        first, is_shorter = 0, False
        while first < len(lost) and tries:
            less = lost[:first] + lost[first + size :]
            tries -= 1
            if fails(less):
                lost, is_shorter = less, True
            else:
                first += size
        if not is_shorter or size > 1:
            size //= 2
    return lost


#: The purpose in the names of scratch folders.
PURPOSE = "cut-test"

#: The default for the most seconds that a check may take.
TIMEOUT = 60.0

#: The most checks in the search for the smallest cut.
TRIES = 40

#: The most lost pieces of the smallest cut that the outcome names.
NAMED = 8


@dataclass(frozen=True)
class Smallest:
    """The smallest cut that breaks a promise: the earliest cut found, with as few losses as needed.

    Of several cuts at one place, the cut with the fewest lost pieces counts. Then lost pieces are
    kept again as long as the check still fails.
    """

    number: int
    #: The number of commands that the recorded command gave the drive before the cut, and in all.
    given: int
    commands: int
    is_at_flush: bool
    acknowledged: int
    #: The last line that was acknowledged before the cut; empty if none was.
    last: str
    #: The number of pieces that no flush had made durable, the number lost, and a description of
    #: the first lost ones.
    pieces: int
    lost: int
    named: list[str]
    why: str
    said: str
    #: The file of the drive after this cut, if it is kept.
    image: str | None


@dataclass(frozen=True)
class Outcome:
    """The result of a run of cuts."""

    asked: Request
    #: The seconds that the command took, and the number of lines that it acknowledged.
    seconds: float
    acknowledged: int
    #: The number of commands and flushes from the begin of the command to the unmount.
    commands: int
    flushes: int
    #: The number of cuts wanted, of cuts done, and of those done by an earlier run.
    wanted: int
    done: int
    resumed: int
    at_flushes: int
    #: The number of flushes with a cut, of flushes without a cut, and of flushes that had nothing
    #: to make durable. A cut at such a flush would lose nothing, so none is made there.
    flushes_cut: int
    flushes_uncut: int
    flushes_empty: int
    broken: int
    #: The number of broken cuts by the check's finding; a check may have an exit code per promise.
    found: dict[str, int]
    smallest: Smallest | None
    #: True if somebody wanted the end before all cuts were done.
    stopped: bool
    #: The version of the kernel that wrote and mounted the file system; no other was tested.
    kernel: str

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain Python values."""
        return asdict(self)


def run(
    request: Request,
    cuts: int,
    keep: Path | None,
    show: Show,
    control: Control,
    timeout: float = TIMEOUT,
) -> Outcome:
    """Records the command, or takes the recording of ``keep``, and makes ``cuts`` cuts.

    A check that takes more than ``timeout`` seconds counts as a broken promise.
    """
    mounts.check("flashgc device cut-test", request.filesystem)
    recording.program(request.command)
    with scratch(PURPOSE, has_sockets=False) as folder, _explained(folder, keep):
        for name in ("mount", "fuse"):
            (folder / name).mkdir()
        with (
            Kept(folder / "kept" if keep is None else keep, request) as kept,
            Checker(folder, request.filesystem, request.check, timeout, control) as checker,
        ):
            if kept.recording is None:
                kept.keep(_recorded(request, folder, kept.log, checker, control))
            assert kept.recording is not None
            with Log(kept.log) as log:
                images = Images(folder, log, request.capacity)
                run = _Run(kept, kept.recording, images, checker, control)
                return run.outcome(request, cuts, show, is_kept=keep is not None)


@contextlib.contextmanager
def _explained(*folders: Path | None) -> Iterator[None]:
    """Replace an error by its cause, unless it is an error of the command or of the check."""
    try:
        yield
    except (DriveError, OSError) as error:
        for folder in folders:
            why = error if folder is None else failures.explained(error, folder)
            if why is not error:
                raise why from None
        raise


def _recorded(
    request: Request, folder: Path, log: Path, checker: Checker, control: Control
) -> Recording:
    """Run the command, then the check without a cut and in the empty folder; both must pass."""
    file = folder / "recorded.flash"
    try:
        record = recording.record(
            request.command, file, log, request.filesystem, request.capacity, control
        )
        verdict = checker.look(file, recording.before(record.notes, record.end))
        _refuse(verdict, "without any power cut", control)
        file.unlink()
        with Log(log) as read:
            given = read.until(record.begin)
            cut = Cut(0, given, read.flushed(given), is_at_flush=False)
            empty = Images(folder, read, request.capacity).make(cut, ())
            _refuse(checker.look(empty, []), "in the empty folder, with no line", control)
    except DriveError:
        if control.cancelled:  # Ctrl-C has ended a child process.
            raise KeyboardInterrupt from None
        raise
    return record


def _refuse(verdict: Verdict, where: str, control: Control) -> None:
    """Raise an error if a check has failed that must pass."""
    if control.cancelled:
        raise KeyboardInterrupt
    if verdict.why is not None:
        text = f": {verdict.said.splitlines()[-1]}" if verdict.said else ""
        raise ConfigError(
            f"--check: {verdict.why} {where}{text}; hint: it runs by sh in the command's folder, "
            "and must exit with 0 if all that was acknowledged is there"
        )


class _Run:
    """The cuts of one recording."""

    def __init__(
        self,
        kept: Kept,
        recorded: Recording,
        images: Images,
        checker: Checker,
        control: Control,
    ) -> None:
        self._kept, self._recorded, self._images = kept, recorded, images
        self._checker, self._control = checker, control
        self._log = images.log
        self._first = self._log.until(recorded.begin)

    def outcome(self, request: Request, count: int, show: Show, *, is_kept: bool) -> Outcome:
        """Make the first ``count`` cuts, except for those that an earlier run made."""
        recorded = self._recorded
        positions = [note.position for note in recorded.notes]
        drawn = cuts(self._log, recorded.begin, recorded.end, request.seed, positions)
        wanted = {cut.number: cut for cut in itertools.islice(drawn, count)}
        before = {at: result for at, result in self._kept.results().items() if at in wanted}
        done = {**before, **self._made(request, wanted, before, show)}
        broken = [result for result in done.values() if result.why is not None]
        smallest = None
        if broken:
            first = min(broken, key=lambda result: (result.given, result.lost, result.number))
            show(1.0, "looking for the smallest cut", 0, "checks")
            smallest = self._smallest(request, wanted[first.number], first, is_kept=is_kept)
        last = self._log.until(recorded.end)
        flushes = [at for at in range(self._first, last) if self._log.entries[at].kind == FLUSH]
        flushes_cut = len({result.given for result in done.values() if result.is_at_flush})
        return Outcome(
            asked=request,
            seconds=recorded.seconds,
            acknowledged=len(recorded.notes),
            commands=last - self._first,
            flushes=len(flushes),
            wanted=count,
            done=len(done),
            resumed=len(before),
            at_flushes=sum(result.is_at_flush for result in done.values()),
            flushes_cut=flushes_cut,
            flushes_uncut=len(flushes) - flushes_cut,
            flushes_empty=sum(self._log.flushed(at) == at for at in flushes),
            broken=len(broken),
            found=dict(
                Counter(result.why for result in broken if result.why is not None).most_common()
            ),
            smallest=smallest,
            stopped=len(done) < count,
            kernel=f"{platform.system()} {platform.release()}",
        )

    def _made(
        self, request: Request, wanted: dict[int, Cut], before: dict[int, Result], show: Show
    ) -> dict[int, Result]:
        """Make the missing cuts in the order of the log; return those done before Ctrl-C."""
        left = [cut for cut in wanted.values() if cut.number not in before]
        results: dict[int, Result] = {}
        for cut in sorted(left, key=lambda cut: (cut.flushed, cut.number)):
            # The cuts of an earlier run do not count: rate and time left are those of this run.
            show(len(results) / len(left), "cutting the power", len(results), "cuts")
            if self._control.cancelled:
                break
            try:
                result = self._cut(cut, self._lost(request, cut))
            except DriveError:
                if self._control.cancelled:
                    break
                raise
            # Ctrl-C may have ended the mount, which does not mean a broken promise.
            if self._control.cancelled and result.why is not None:
                break
            results[cut.number] = result
            self._kept.add(result)
        return results

    def _lost(self, request: Request, cut: Cut) -> list[int]:
        return lost(len(self._images.pieces(cut)), request.seed, cut.number)

    def _acknowledged(self, cut: Cut) -> list[str]:
        end = self._log.entries[cut.given - 1].end if cut.given else 0
        return recording.before(self._recorded.notes, end)

    def _cut(self, cut: Cut, lost: Sequence[int]) -> Result:
        acknowledged = self._acknowledged(cut)
        verdict = self._checker.look(self._images.make(cut, lost), acknowledged)
        return Result(
            number=cut.number,
            given=cut.given,
            flushed=cut.flushed,
            is_at_flush=cut.is_at_flush,
            pieces=len(self._images.pieces(cut)),
            lost=len(lost),
            acknowledged=len(acknowledged),
            why=verdict.why,
            said=verdict.said,
        )

    def _smallest(self, request: Request, cut: Cut, result: Result, *, is_kept: bool) -> Smallest:
        """The smallest cut at the place of a cut that broke a promise."""
        known = self._kept.smallest()
        if known.get("number") == cut.number:
            smallest, labels = Result(**known["result"]), known["named"]
        else:
            lost, smallest = self._shrunk(self._lost(request, cut), cut, result)
            labels = self._named(cut, lost)
            if is_kept and not self._control.cancelled:
                shutil.move(self._images.make(cut, lost), self._kept.image)
                self._kept.image.chmod(0o600)
                document = {"number": cut.number, "result": asdict(smallest), "named": labels}
                self._kept.keep_smallest(document)
        assert smallest.why is not None
        acknowledged = self._acknowledged(cut)
        return Smallest(
            number=cut.number,
            given=cut.given - self._first,
            commands=self._log.until(self._recorded.end) - self._first,
            is_at_flush=cut.is_at_flush,
            acknowledged=len(acknowledged),
            last=acknowledged[-1] if acknowledged else "",
            pieces=smallest.pieces,
            lost=smallest.lost,
            named=labels,
            why=smallest.why,
            said=smallest.said,
            image=str(self._kept.image) if self._kept.image.exists() else None,
        )

    def _shrunk(self, lost: list[int], cut: Cut, result: Result) -> tuple[list[int], Result]:
        """Keep lost pieces again while the check fails; return those still lost, and the result."""
        last = [result]

        def fails(less: list[int]) -> bool:
            if self._control.cancelled:
                return False
            outcome = self._cut(cut, less)
            if outcome.why is not None:
                last.append(outcome)
            return outcome.why is not None

        return shrunk(lost, fails, TRIES), last[-1]

    def _named(self, cut: Cut, lost: list[int]) -> list[str]:
        """Descriptions of the first lost pieces, with file names from a drive without losses."""
        if not lost or self._control.cancelled:
            return []
        known = self._checker.extents(self._images.make(cut, ()))
        pieces = self._images.pieces(cut)
        return [checking.in_words(pieces[at], known) for at in lost[:NAMED]]
