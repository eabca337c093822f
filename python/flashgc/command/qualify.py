"""``flashgc qualify``: the tests of data sheets on a simulated drive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from flashgc import _ctrl_c
from flashgc._core import ConfigError
from flashgc.command import output as outputs
from flashgc.command.declaring import command
from flashgc.command.options import GroupedCommand, asked, experiment_options
from flashgc.command.output import Output
from flashgc.studies.qualifying.drive import UNUSED

if TYPE_CHECKING:
    from flashgc.studies.qualifying.outcome import Qualification


def _tests() -> tuple[str, ...]:
    from flashgc.studies.qualifying.qualify import TESTS

    return TESTS


def _folder(_context: Any, parameter: Any, value: str | None) -> str | None:
    if value is not None and not value:
        raise ConfigError(f"{parameter.opts[0]}: the name is empty; hint: give a folder")
    return value


@command(
    cls=GroupedCommand,
    tests=_tests,
    keep={"callback": _folder, "type": str},
    html={"callback": outputs.option("sheet.html")},
)
@click.argument("preset", required=False)
@experiment_options(several=False, without=UNUSED)
def qualify(
    preset: str | None,
    tests: str | None,
    quick: bool,
    depth: int | None,
    cycles: int | None,
    keep: str | None,
    against: str | None,
    html: str | None,
    output: Output,
    **typed: Any,
) -> int:
    """Run the tests of data sheets on a simulated drive, and make a data sheet.

    PRESET is a drive of flashgc policies; options change it, or describe a drive with --times. The
    tests are those of SNIA's Performance Test Specification (IOPS, throughput, latency, write
    saturation), JESD219's enterprise workload, and a sweep of queue depths. The tests in rounds go
    on until SNIA's rule for a steady state is met.

    Options:
      --tests LIST
          Tests to run, with commas between them: iops, throughput, latency, wsat, jesd219, depth.
          [default: all]
      --quick
          Fewer and shorter cells, and the smallest part of the drive that --scale takes, in about
          two minutes.
      --depth N
          Requests under way in the IOPS test. [default: 128]
      --cycles N
          Program and erase cycles of a block, for the bytes that a host may write. [default: the
          result is for each 1000]
      --keep DIR
          Keep finished runs in DIR, so that the same command goes on after a stop.
      --against OTHER
          Second drive for the page and the table: a preset, which is tested with the same options,
          or the JSON FILE of another qualification.
      --html FILE
          Write the data sheet as a page to FILE.
      --json
      --out
      --quiet

    Examples:
      flashgc qualify samsung-pm9a3 --quick
      flashgc qualify samsung-pm9a3 --scale 1/64 --keep pm9a3 --html pm9a3.html
      flashgc qualify tlc --blocks 2048 --tests wsat,latency --json
      flashgc qualify qlc --blocks 4096 --quick --against tlc --html both.html
    """
    from flashgc.command.ended import code_of
    from flashgc.command.show.qualify import show_qualification

    _ctrl_c.release()
    if preset is not None:
        _refuse_stored(preset)
        if typed.get("drive__device") is not None:
            raise ConfigError("--device: found PRESET, too; hint: leave one out")
        typed["drive__device"] = preset
    elif typed.get("drive__device") is None and typed.get("drive__times") is None:
        raise ConfigError("PRESET is missing, and --times, too; hint: flashgc qualify tlc")
    options = {"tests": tests, "quick": quick, "depth": depth, "cycles": cycles, "keep": keep}
    other = None if against is None or _is_preset(against) else _read(against)
    qualification = _qualified(typed, options, output)
    if against is not None and other is None and not qualification.interrupted:
        other = _qualified({**typed, "drive__device": against}, options, output)
    output.give(qualification, lambda qualification: show_qualification(qualification, other))
    output.warn(qualification.findings)
    if html is not None:
        from flashgc import _files
        from flashgc.studies.qualifying.sheet import sheet

        _files.write(html, sheet(qualification, other))
    keeps = None if keep else "--keep DIR"
    return code_of(qualification.interrupted, quiet=output.quiet, keeps=keeps)


def _qualified(typed: dict[str, Any], options: dict[str, Any], output: Output) -> Qualification:
    from flashgc.studies.qualifying.qualify import qualify as perform
    from flashgc.terminal.progress import Bar

    given = asked(None, {**typed})
    if "drive.device" in given.places:
        given.places["drive.device"] = "PRESET"
    with Bar(quiet=output.quiet) as bar:
        return perform(given, progress=bar.show, **options)


def _refuse_stored(preset: str) -> None:
    """Refuse the file of a stored drive."""
    from pathlib import Path

    if not _is_preset(preset) and Path(preset).is_file():
        raise ConfigError(
            f"PRESET: {preset} is a file, and a stored drive answers at the times of its front "
            "end, so the tests run in front of it; hint: flashgc device exec --realtime"
        )


def _is_preset(against: str) -> bool:
    from flashgc.presets import devices

    return any(device.name == against for device in devices())


def _read(against: str) -> Qualification:
    """The document of another qualification."""
    import json
    from pathlib import Path

    from flashgc.studies.qualifying.outcome import Qualification

    try:
        raw = json.loads(Path(against).read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or "it is no JSON"
        raise ConfigError(
            f"--against: {against} is no preset, and as a file: {reason}; hint: a preset, or a "
            "FILE of flashgc qualify --out FILE"
        ) from None
    if not isinstance(raw, dict) or "used_bytes" not in raw:
        raise ConfigError(
            f"--against: {against} is no qualification; hint: a FILE of flashgc qualify --out FILE"
        )
    return Qualification.from_dict(raw)
