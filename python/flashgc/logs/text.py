"""The text of a file with JSON objects: each object with its place, each value with its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from flashgc._core import ConfigError
from flashgc.foreign import one_line

#: The largest number of a log, which has 128 bits.
LARGEST = 2**128 - 1


def refuse(place: str, what: str, hint: str) -> NoReturn:
    """Raise the error of a place."""
    raise ConfigError(f"{place}: {what}; hint: {hint}")


@dataclass(frozen=True)
class Source:
    """A JSON object in a text."""

    path: str
    text: str
    #: The begin and the end of the object in the text.
    start: int
    end: int
    value: Mapping[str, Any]
    #: The begin of each value, by the path of its keys, if the text is no JSON.
    places: Mapping[tuple[str, ...], int] | None = None

    @property
    def place(self) -> str:
        """The place of the object."""
        return self._place(self.start)

    def place_of(self, *keys: str) -> str:
        """The place of the value of a key, inside of the values of the keys before it."""
        return self._place(self.at(*keys))

    def at(self, *keys: str) -> int:
        """The index in the text where that value begins, or the one that is found last."""
        if self.places is not None:
            return self.places.get(keys, self.start)
        at = self.start
        for key in keys:
            match = re.compile(re.escape(json.dumps(key)) + r"\s*:\s*").search(
                self.text, at, self.end
            )
            if match is None:
                break
            at = match.end()
        return at

    def _place(self, at: int) -> str:
        line, column = position(self.text, at)
        return f"{one_line(self.path)}:{line}:{column}"

    def number(self, *keys: str, most: int = LARGEST) -> tuple[int, int] | None:
        """A whole number and the error of its last digit; ``None`` if there is no such key."""
        value: Any = self.value
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        number = whole(value)
        place, name = self.place_of(*keys), keys[-1]
        if number is None:
            shown = one_line(json.dumps(value, default=str))
            shown = shown if len(shown) < 40 else shown[:36] + " ..."
            refuse(place, f"{name}: found {shown}, expected a whole number",
                   "print the log again")  # fmt: skip
        if number[0] < 0:
            refuse(
                place,
                f"{name}: found {number[0]}, expected a number from 0 on: the program that printed "
                "it has no room for so large a number",
                "read the raw page: nvme get-log DEVICE --log-id=N --log-len=512 -b > page.bin",
            )
        if number[0] > most:
            refuse(place, f"{name}: found {number[0]}, expected {most} at most",
                   "is the log damaged?")  # fmt: skip
        return number

    def first(self, *names: str) -> str | None:
        """The first of these keys that the object has."""
        return next((name for name in names if name in self.value), None)


def whole(value: Any) -> tuple[int, int] | None:
    """A whole number of JSON in any spelling, and the error of its last digit.

    >>> whole(7), whole("64,663,716"), whole({"hi": 1, "lo": 2}) == (2**64 + 2, 0)
    ((7, 0), (64663716, 0), True)
    >>> whole(Decimal("1.2346e+10")), whole("0x10"), whole(True), whole(1.5)
    ((12346000000, 500000), (16, 0), None, None)
    """
    if isinstance(value, Mapping) and value.keys() == {"hi", "lo"}:
        parts = whole(value["hi"]), whole(value["lo"])
        if parts[0] is None or parts[1] is None:
            return None
        # An old nvme-cli prints the lower half as a signed number.
        return (parts[0][0] << 64) + parts[1][0] % 2**64, parts[1][1]
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"0x[0-9a-fA-F]{1,32}", text):
            return int(text, 16), 0
        number = grouped(text.removeprefix("-"))
        try:
            value = Decimal(text if number is None else number)
        except InvalidOperation:
            return None
        value = -value if number is not None and text.startswith("-") else value
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, int):
        return value, 0
    if not value.is_finite() or value != value.to_integral_value() or value.adjusted() > 60:
        return None
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return int(value), 10**exponent // 2 if exponent > 0 else 0


#: The most characters of a number.
_LONGEST = 80
#: Separators of thousands: a comma, apostrophes, blanks of several widths, and a dot.
_SEPARATORS = ",'\u2019 \u00a0\u202f."


def grouped(text: str, *, dots: bool = False) -> int | None:
    """A number whose digits are in groups; ``None`` if they are not.

    A single dot may be a decimal point, unless ``dots`` is true.

    >>> grouped("64,663,716"), grouped("837 355"), grouped("12,34,567"), grouped("1.600.321")
    (64663716, 837355, 1234567, 1600321)
    >>> grouped("1.600"), grouped("1.600", dots=True), grouped("1,600.321"), grouped("1,60")
    (None, 1600, None, None)
    """
    marks = set(re.sub(r"\d", "", text, flags=re.ASCII))
    if len(text) > _LONGEST or len(marks) != 1 or not marks <= {*_SEPARATORS}:
        return None
    first, *middle, last = text.split(marks.pop())
    widths = {len(group) for group in middle}
    if not 1 <= len(first) <= 3 or len(last) != 3 or widths not in (set(), {2}, {3}):
        return None
    if "." in text and not middle and not dots:
        return None
    return int("".join((first, *middle, last)))


def position(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a place in a text, from 1 on."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def objects(path: str, text: str) -> Iterator[Source]:
    """The JSON objects of a text, which may stand one after the other, or in a list."""

    def constant(name: str) -> NoReturn:
        raise ValueError(name)

    decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=constant)
    at, shown, last = _next(text, 0), one_line(path), len(text)
    while at < last:
        line, column = position(text, at)
        if text[at] == "[" or text[at] == "]":  # A list of objects: its brackets are left out.
            at = _next(text, at + 1)
            continue
        if text[at] != "{":
            words = one_line(text[at : at + 24].partition("\n")[0])
            refuse(f"{shown}:{line}:{column}", f"found '{words}', expected a JSON object",
                   "nvme and smartctl print JSON with -o json and --json")  # fmt: skip
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as fault:
            line, column = position(text, fault.pos)
            refuse(f"{shown}:{line}:{column}", f"damaged JSON: {fault.msg.lower()}",
                   "is the file cut off? print the log again")  # fmt: skip
        except (ValueError, RecursionError) as fault:
            refuse(f"{shown}:{line}:{column}", f"damaged JSON: {one_line(str(fault))[:60]}",
                   "print the log again")  # fmt: skip
        yield Source(path, text, at, end, value)
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    match = re.compile(r"[\s,\ufeff]*").match(text, at)
    return at if match is None else match.end()
