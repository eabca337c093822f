"""A micro-benchmark of a minute on a drive, which gets hints in the second half."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashgc._core import ConfigError, DriveError
from flashgc.device import mounts, programs
from flashgc.device.hints.page_cache import PageCache, check_tracepoints
from flashgc.device.live import image, stand
from flashgc.device.live.plan import MIB, Plan
from flashgc.device.pace import Pace
from flashgc.device.scratch import note, scratch
from flashgc.units import format_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The sizes. One job of fio writes ``written`` times the size of its file.
PLAN = Plan(
    capacity=256 * MIB, micro_pages_per_block=128, dirty=24 * MIB, overwritten=1.0, h=(6,),
    collectors=("ZGC-GD",),
)  # fmt: skip

#: Seconds between two samples, and seconds over which write amplification is computed.
EVERY, WINDOW = 0.25, 2.0

#: The least seconds of a demonstration: a window and an equal time before it, twice.
SHORTEST = 4 * WINDOW


@dataclass(frozen=True)
class Sample:
    """The drive's counts, ``seconds`` after the begin."""

    seconds: float
    host_pages: int
    copied_pages: int
    zombies: int


@dataclass(frozen=True)
class Demonstration:
    """The samples, and the time at which the drive began to get hints."""

    samples: tuple[Sample, ...]
    switched_on: float

    def amplification(self, begin: float, end: float) -> float | None:
        """Write amplification from ``begin`` to ``end``; ``None`` if nothing was written."""
        inside = [sample for sample in self.samples if begin <= sample.seconds <= end]
        host = inside[-1].host_pages - inside[0].host_pages if inside else 0
        copied = inside[-1].copied_pages - inside[0].copied_pages if inside else 0
        return (host + copied) / host if host else None

    @property
    def before(self) -> float | None:
        """Write amplification in the second half of the time without hints."""
        return self.amplification(self.switched_on / 2, self.switched_on)

    @property
    def after(self) -> float | None:
        """Write amplification in the second half of the time with hints."""
        end = self.samples[-1].seconds
        return self.amplification((self.switched_on + end) / 2, end)

    @property
    def zombies(self) -> float:
        """The mean number of zombies on the drive in the second half of the time with hints."""
        end = self.samples[-1].seconds
        return self.known(end, (end - self.switched_on) / 2)

    def known(self, end: float, seconds: float = WINDOW) -> float:
        """The mean number of zombies on the drive in the ``seconds`` before ``end``."""
        inside = [
            sample.zombies for sample in self.samples if end - seconds <= sample.seconds <= end
        ]
        return sum(inside) / len(inside)

    def to_dict(self) -> dict[str, Any]:
        """The demonstration as plain values."""
        return {
            "plan": PLAN.to_dict(),
            "write_amplification_before": self.before,
            "write_amplification_after": self.after,
            "zombies": self.zombies,
            "switched_on_seconds": self.switched_on,
            "samples": [asdict(sample) for sample in self.samples],
        }


def check() -> None:
    """Check that this machine can run the load; raise :class:`flashgc.DriveError` if it cannot."""
    mounts.check("flashgc hints demo", "ext4")
    stand.find_fio()
    check_tracepoints()


def run(seconds: float, pace: Pace) -> Demonstration:
    """Run the load for ``seconds``; in the second half, the drive gets hints.

    Raises :class:`flashgc.ConfigError` for too few seconds and :class:`flashgc.DriveError` if this
    machine lacks something.
    """
    if not seconds >= SHORTEST:
        raise ConfigError(
            f"found {seconds:g} s, expected {SHORTEST:g} s or more; hint: 40 s show it well"
        )
    check()
    [collector], [h] = PLAN.collectors, PLAN.h
    with scratch("demo") as work:
        state = image.made(PLAN, f"micro-{h}", work / "image", pace)
        with stand.mounted(
            state.drive(collector), work / "mount", work / "trace.flashgc.zst"
        ) as mount:
            return _watched(mount, work, h, seconds, pace)


def _watched(
    mount: stand.Mounted, work: Path, h: float, seconds: float, pace: Pace
) -> Demonstration:
    samples: list[Sample] = []
    begin = time.monotonic()

    def watch(until: float) -> None:
        while (now := time.monotonic() - begin) < until:
            stat = mount.stat()
            counts = stat["counters"]
            written, copied = counts["host_pages_written"], counts["copied_pages"]
            samples.append(Sample(now, written, copied, stat["zombie_pages"]))
            pace.at(int(now))
            time.sleep(EVERY)

    pace.begin("overwriting, with hints from the middle on", "seconds", round(seconds))
    with (
        stand.limited(mount.device, PLAN.dirty),
        stand.following(lambda stopped: _load(mount, work, h, stopped)),
    ):
        watch(seconds / 2)
        switched_on = time.monotonic() - begin
        with (
            PageCache(mount.folder, mount.file) as hints,
            stand.following(lambda stopped: hints.follow(stopped, WINDOW)),
        ):
            watch(seconds)
    return Demonstration(tuple(samples), switched_on)


def _load(
    mount: stand.Mounted, work: Path, h: float, stopped: Callable[[], bool]
) -> Iterator[None]:
    """Overwrite by fio, again and again, until ``stopped()``."""
    path, errors = mount.micro, work / "errors"
    size = mount.micro_size
    for seed in itertools.count(1):
        written = int(size * PLAN.written)
        job = image.write_job(work, path, size, h, written, PLAN.reads_per_write, seed=seed)
        with open(errors, "wb") as file:
            fio = subprocess.Popen(
                programs.words(("fio", str(job))), cwd=work, stdout=subprocess.DEVNULL, stderr=file
            )
        note(work, fio.pid)
        while fio.poll() is None and not stopped():
            time.sleep(0.05)
        if stopped():
            fio.kill()
            fio.wait()
            return
        if fio.returncode:
            text = errors.read_text(errors="replace")
            raise DriveError(f"fio ended early: {' '.join(text.split())}")
        yield


def draw(shown: Demonstration) -> Figure:
    """A figure of write amplification and of the zombies on the drive, over time."""
    from flashgc.plot import panels
    from flashgc.plot.look import COLOURS, SOFT_INK

    samples, on = shown.samples, shown.switched_on
    times = [sample.seconds for sample in samples if sample.seconds >= WINDOW]
    values = [shown.amplification(at - WINDOW, at) for at in times]
    pages = PLAN.capacity // 4096

    def mark(axes: Any) -> None:
        axes.axvline(on, color=SOFT_INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_xlim(0, samples[-1].seconds)

    def amplification(axes: Any) -> None:
        axes.plot(times, [float("nan") if value is None else value for value in values])
        axes.set_ylabel("write amplification")
        axes.set_ylim(bottom=1)
        mark(axes)
        axes.annotate(
            "hints on", (on, 1), (7, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="top", color=SOFT_INK,
        )  # fmt: skip

    def known(axes: Any) -> None:
        axes.plot(times, [100 * shown.known(at) / pages for at in times], color=COLOURS[1])
        axes.set_ylabel("zombies known\n(% of the drive)")
        axes.set_ylim(bottom=0)
        mark(axes)

    parts: Sequence[Any] = (amplification, known)
    return panels(parts, x_label="seconds", heights=(2, 1))


def describe(shown: Demonstration) -> list[tuple[str, str]]:
    """Return the facts of the demonstration as rows of a name and a text."""
    pages = PLAN.capacity // 4096
    before, after = shown.before, shown.after
    if before is None or after is None:
        text = "nothing was written"
    else:
        change = 100 * (1 - after / before)
        word = "less" if change >= 0 else "more"
        text = f"{before:.3f} without hints, {after:.3f} with them: {abs(change):.1f}% {word}"
    share = 100 * shown.zombies / pages
    return [
        ("drive", f"{PLAN.capacity // MIB} MiB of flash, ext4; z-greedy with DAC"),
        (
            "load",
            f"{image.THREADS} threads of fio; {100 - PLAN.h[0]}% of the writes go to "
            f"{PLAN.h[0]}% of a file",
        ),
        ("write amplification", text),
        ("zombies", f"{format_count(round(shown.zombies))} pages known, {share:.1f}% of the drive"),
    ]
