"""Faults that are injected into a served drive, to test how its hosts handle them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

from flashgc._core import ConfigError, DeviceClient, StoredDrive
from flashgc.checkpoints import parse_time
from flashgc.device._closing import Closing
from flashgc.units import format_count, format_duration, parse_count, parse_size

#: The faults, and the kinds of commands to which they can apply.
EFFECTS = ("unreadable", "fail", "delay", "drop", "disconnect", "end-of-life", "lost-die")
KINDS = ("read", "write", "discard", "flush")
DISCONNECT = "disconnect"

#: Units for the bytes of a range; the largest unit that divides them is used.
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_PLURALS = {"read": "reads", "write": "writes", "discard": "discards", "flush": "flushes"}

Size: TypeAlias = str | int


class Faulty(Closing):
    """A drive, in this or in another process, into which faults can be injected."""

    @abstractmethod
    def _faulty(self) -> StoredDrive | DeviceClient:
        """The drive, or the connection to it."""

    @abstractmethod
    def stat(self) -> dict[str, Any]:
        """The state and the counts."""

    def inject(
        self,
        effect: str,
        *,
        kind: str | None = None,
        offset: Size | None = None,
        size: Size | None = None,
        count: str | int | None = None,
        by: str | float | None = None,
        die: str | int | None = None,
    ) -> int:
        """Inject a fault for the drive's hosts, and return its number.

        ``effect`` is ``"unreadable"``, ``"fail"``, ``"delay"``, ``"drop"``, ``"disconnect"``,
        ``"end-of-life"`` or ``"lost-die"``; docs/faults.md says what each does. ``kind``
        (``"read"``, ``"write"``, ``"discard"`` or ``"flush"``) and the range (``offset`` and
        ``size``, in bytes or ``"64KiB"``) select the commands that the fault affects; ``count`` is
        their number. ``by`` is the time of a delay, in seconds or ``"50ms"``. ``die`` is the number
        of a lost die. A fault lasts until it is cleared or the server of the drive ends. The
        drive's file does not hold it.

        Without ``count``, ``"disconnect"`` ends the connections at once, and their number is
        returned. Raises :class:`flashgc.ConfigError` for an invalid fault, and
        :class:`flashgc.DriveError` for one that this drive cannot have.

        >>> import flashgc, tempfile
        >>> file = f"{tempfile.mkdtemp()}/drive.flash"
        >>> drive = flashgc.Device.create(file, blocks=64, pages_per_block=32)
        >>> drive.inject("fail", kind="write", count=1)
        1
        >>> drive.write(0, b"lost")
        Traceback (most recent call last):
        flashgc.DriveError: injected: a write that fails (fault 1)
        >>> drive.write(0, b"kept"), drive.faults()[0]["hits"], drive.clear_faults()
        (None, 1, 1)
        >>> drive.close()
        """
        if (offset is None) != (size is None):
            raise ConfigError(
                f"{effect}: found one of first byte and size, expected both or none; "
                "hint: a range of 4KiB at 0"
            )
        place = None
        if offset is not None and size is not None:
            place = _bytes(offset, f"{effect}: first byte"), _bytes(size, f"{effect}: size")
        number = _number(count, f"{effect}: next")
        return self._faulty().inject(
            (effect, kind, place, number, _seconds(effect, by), _die(effect, die))
        )

    def faults(self) -> list[dict[str, Any]]:
        """The faults that were set, each as a dictionary, including those that no longer act."""
        faults: list[dict[str, Any]] = self.stat()["faults"]["set"]
        return faults

    def clear_faults(self, number: str | int | None = None) -> int:
        """Remove the fault with this number, or all faults; return the number of faults removed.

        Answers that a fault delays are sent at once.
        """
        return self._faulty().clear(_number(number, "number"))


def _number(text: str | int | None, what: str) -> int | None:
    if text is None:
        return None
    number = parse_count(text, what)
    if not 0 < number < 2**63:
        raise ConfigError(f"{what}: found {number}, expected 1 or more; hint: 1")
    return number


def _die(effect: str, text: str | int | None) -> int | None:
    if text is None:
        return None
    number = parse_count(text, f"{effect}: die")
    if not 0 <= number < 2**32:
        raise ConfigError(f"{effect}: found die {number}, expected 0 to {2**32 - 1}; hint: die 0")
    return number


def _bytes(text: Size, what: str) -> int:
    plain = isinstance(text, int) or text.strip().isdecimal()
    number = int(text) if plain else parse_size(text, what, "KiB")
    if not 0 <= number < 2**63:
        raise ConfigError(f"{what}: found {number}, expected bytes of the drive; hint: 64KiB")
    return number


def _seconds(effect: str, by: str | float | None) -> float | None:
    if not isinstance(by, str):
        return by
    seconds = parse_time(by)
    if seconds is None:
        raise ConfigError(f"{effect}: found '{by}', expected a time; hint: 50ms, 2s or 1min")
    return seconds


def in_words(fault: Mapping[str, Any]) -> str:
    """A fault in one line."""
    facts = []
    if fault["effect"] in ("fail", "delay", "drop"):
        facts.append(_PLURALS.get(fault["kind"], "commands of every kind"))
    if fault["offset"] is not None:
        facts.append(f"{_exact(fault['bytes'])} at {_exact(fault['offset'])}")
    if fault.get("die") is not None:
        facts.append(f"die {fault['die']}")
    if fault["by_seconds"] is not None:
        facts.append(f"late by {format_duration(fault['by_seconds'])}")
    if fault["over"]:
        facts.append("over")
    elif fault["left"] is not None:
        after = fault["effect"] == DISCONNECT
        facts.append(f"after {fault['left']} more" if after else f"{fault['left']} left")
    else:
        facts.append("until cleared")
    if fault["effect"] != "lost-die":
        facts.append(f"met {format_count(fault['hits'])}")
    return f"fault {fault['number']}: {fault['effect']}, {', '.join(facts)}"


def summary(stat: Mapping[str, Any]) -> list[str]:
    """Return the facts about faults in a drive's state; empty if none was set."""
    # Servers of earlier versions do not send the faults.
    faults = stat.get("faults")
    if not faults or not (faults["set"] or faults["met"]):
        return []
    there = sum(not fault["over"] for fault in faults["set"])
    met = f"{format_count(faults['met'])} command{'' if faults['met'] == 1 else 's'} met one"
    return [f"{there} set", met, "no figures of a drive alone"]


def _exact(size: int) -> str:
    for unit, of_unit in _UNITS:
        if size and size % of_unit == 0:
            return f"{size // of_unit}{unit}"
    return f"{size} B" if size else "0"
