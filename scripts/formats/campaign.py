"""A campaign that changes the layouts of traces: no file may be misread.

The writers of fuzz/make_corpus.py, which are independent of the readers, write traces of random
requests in every format of requests. Each trace is then changed: the form of lines, the order and
number of columns, or the bytes of records. If a change keeps the meaning, the file must be read
right or refused. If columns or records are changed, a reader may find the columns by their names.
Otherwise it must refuse the file.

``python -m scripts.formats.campaign --traces 4`` draws four traces of each format.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import io
import lzma
import os
import random
import re
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import flashgc

ROOT = Path(__file__).resolve().parents[2]

#: The number of requests of a random trace: enough for the detection of its format.
REQUESTS = 80

#: A request: time in nanoseconds, operation, offset, size, device.
Row = tuple[int, str, int, int, int]


def writers() -> ModuleType:
    """The writers of the corpus."""
    spec = importlib.util.spec_from_file_location("make_corpus", ROOT / "fuzz/make_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(seed: int) -> list[Row]:
    """Random requests, some sequential, with whole and partial pages, on two devices."""
    draw = random.Random(seed)
    time, rows = 5_000_000_000, []
    following = 0
    for _ in range(REQUESTS):
        time += draw.randrange(1000, 40_000_000)
        size = 512 * draw.choice([1, 3, 8, 8, 8, 16, 40, 128])
        offset = following if draw.random() < 0.3 else 4096 * draw.randrange(1, 4_000_000)
        op = draw.choices("WRD", [10, 6, 1])[0]
        following = offset + size
        # The first request is for device 3, which the writers treat as the first device.
        rows.append((time, op, offset, size, draw.choice([3, 3, 1]) if rows else 3))
    return rows


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Changes the working directory to ``folder`` for a block."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


#: Formats of binary records.
RECORDS = ("blktrace", "flashgc", "srt", "vscsi1", "vscsi2")


def traces(seed: int, folder: Path) -> dict[str, tuple[str | bytes, list[Row]]]:
    """The content of a trace in every format, and its requests."""
    corpus = writers()
    corpus.REQUESTS = drawn(seed)
    with within(folder):
        corpus.text_formats()
        corpus.vscsi()
        corpus.blktrace()
        corpus.srt()
        corpus.flashgc("example", 1, 0)
    contents: dict[str, tuple[str | bytes, list[Row]]] = {}
    for file in sorted((folder / "expected").glob("*.csv")):
        content = (folder / "corpus" / file.stem / "example").read_bytes()
        requests = rows_of(file.read_text())
        contents[file.stem] = (content if file.stem in RECORDS else content.decode(), requests)
    return contents


def rows_of(text: str) -> list[Row]:
    """The requests of a trace in our CSV."""
    rows = []
    for line in text.splitlines()[1:]:
        time, op, offset, size, device = line.split(",")[:5]
        whole, _, rest = time.partition(".")
        nanoseconds = int(whole) * 1000 + int(rest.ljust(3, "0") or 0)
        rows.append((nanoseconds, op, int(offset), int(size), int(device)))
    return rows


# Formats whose lines are columns, by the separator of columns.
COMMAS = ("alibaba", "cloudphysics", "csv", "fio1", "msr", "spc", "systor", "tencent")
BLANKS = ("biotracer", "disksim", "diskmon", "flashsim", "rmem", "ssdsim", "wiscsee")

#: A change of a text; it returns ``None`` if it does not apply.
Change = Callable[[str], "str | bytes | None"]


def has_names(text: str) -> bool:
    """True if the first line has words and no numbers."""
    words = re.split(r"[,;\t ]+", text.partition("\n")[0])
    return len(words) > 2 and not any(re.fullmatch(r"[\d.]+", word) for word in words)


def of_names(change: Callable[[str], str]) -> Change:
    """A change of the first line, if that has names."""

    def changed(text: str) -> str | None:
        first, _, rest = text.partition("\n")
        return f"{change(first)}\n{rest}" if has_names(text) else None

    return changed


def of_lines(change: Callable[[str], str]) -> Change:
    """A change of every line."""
    return lambda text: "".join(f"{change(line)}\n" for line in text.splitlines())


def behind(line: str, share: float) -> Change:
    """A change that inserts a line after this share of the lines."""

    def changed(text: str) -> str:
        lines = text.splitlines(keepends=True)
        at = int(len(lines) * share)
        return "".join([*lines[:at], f"{line}\n", *lines[at:]])

    return changed


def repeated_names(text: str) -> str | None:
    """Repeats the names in the middle, as in concatenated files."""
    return behind(text.partition("\n")[0], 0.5)(text) if has_names(text) else None  # type: ignore[return-value]


def archive(*files: tuple[str, bytes]) -> bytes:
    """A tar file of the named files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def in_two_files(text: str) -> bytes:
    """A tar archive of the trace in two files, each with the names if the trace has names."""
    lines = text.splitlines(keepends=True)
    names = lines[:1] if has_names(text) else []
    half = len(lines) // 2
    first, second = "".join(lines[:half]), "".join(names + lines[half:])
    return archive(("trace/1", first.encode()), ("trace/2", second.encode()))


#: Changes of texts that keep the meaning.
FORMS: dict[str, Change] = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "BOM": lambda text: "\ufeff" + text,
    "UTF-16": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "no end": lambda text: text.rstrip("\n"),
    "blank line at the end": lambda text: text + "\n",
    "blank line in front": lambda text: "\n" + text,
    "blank line in the middle": behind("", 0.5),
    "comment in front": lambda text: "# made by hand\n" + text,
    "comment in the middle": behind("# made by hand", 0.5),
    "blanks behind": of_lines(lambda line: line + "  "),
    "blanks in front": of_lines(lambda line: "  " + line),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip and zeros": lambda text: gzip.compress(text.encode()) + bytes(512),
    "gzip in two parts": lambda text: (
        gzip.compress(text.encode()[:100]) + gzip.compress(text.encode()[100:])
    ),
    "xz": lambda text: lzma.compress(text.encode()),
    "lzma": lambda text: lzma.compress(text.encode(), format=lzma.FORMAT_ALONE),
    "tar": lambda text: archive(("trace", text.encode())),
    "tar of two files": in_two_files,
    "tar with a README": lambda text: archive(
        ("README", b"Requests of a server.\n"), ("trace", text.encode())
    ),
    "tar in gzip": lambda text: gzip.compress(archive(("a/trace", text.encode()))),
    "capital names": of_names(str.upper),
    "small names": of_names(str.lower),
    "names in quotes": of_names(lambda line: re.sub(r"[^,;\t]+", r'"\g<0>"', line)),
    "blanks around names": of_names(lambda line: re.sub(r",", " , ", line)),
    "names as a comment": of_names(lambda line: "# " + line),
    "names in the middle": repeated_names,
}


def columns(change: Callable[[list[str], int], list[str] | None], *, named: bool = True) -> Change:
    """A change of the columns of every line; ``named`` if the names change as well."""

    def changed(text: str) -> str | None:
        lines, changed_lines = text.splitlines(), []
        separator = "," if lines[-1].count(",") > 2 else None
        for number, line in enumerate(lines):
            if number == 0 and has_names(text) and not named:
                changed_lines.append(line)
                continue
            cells = [cell.strip() for cell in line.split(separator)]
            other = change(cells, number)
            if other is None:
                return None
            changed_lines.append((separator or " ").join(other))
        return "\n".join(changed_lines) + "\n"

    return changed


def swapped(first: int, other: int) -> Callable[[list[str], int], list[str] | None]:
    """A change that swaps two columns."""

    def change(cells: list[str], _: int) -> list[str] | None:
        if max(first, other) >= len(cells):
            return None
        cells = list(cells)
        cells[first], cells[other] = cells[other], cells[first]
        return cells

    return change


def separated(by: str) -> Change:
    """A change of the separator of columns."""

    def changed(text: str) -> str | None:
        separator = "," if text.splitlines()[-1].count(",") > 2 else None
        if (separator or " ") == by.strip(" ") or (separator is None and by == " "):
            return None
        lines = [
            by.join(cell.strip() for cell in line.split(separator)) for line in text.splitlines()
        ]
        return "\n".join(lines) + "\n"

    return changed


#: Changes of columns. A file with names may be read by them; any other file must be refused.
LAYOUTS: dict[str, Change] = {
    **{
        f"columns {at + 1} and {other + 1} swapped": columns(swapped(at, other))
        for at in range(5)
        for other in range(at + 1, 5)
    },
    "reversed": columns(lambda cells, _: cells[::-1]),
    "rotated": columns(lambda cells, _: cells[1:] + cells[:1]),
    "rotated back": columns(lambda cells, _: cells[-1:] + cells[:-1]),
    "index in front": columns(lambda cells, number: [str(number), *cells]),
    "named index in front": columns(
        lambda cells, number: ["index" if number == 0 else str(number), *cells]
    ),
    "column behind": columns(lambda cells, number: [*cells, str(number * 7)]),
    "first left out": columns(lambda cells, _: cells[1:]),
    "last left out": columns(lambda cells, _: cells[:-1]),
    "third left out": columns(lambda cells, _: cells[:2] + cells[3:]),
    "cells in quotes": columns(lambda cells, _: [f'"{cell}"' for cell in cells]),
    "semicolons": separated(";"),
    "tabs": separated("\t"),
    "commas": separated(","),
    "commas and blanks": separated(", "),
    "blanks": separated(" "),
    "bars": separated("|"),
}


def words_reversed(length: int) -> Callable[[bytes], bytes]:
    """A change that reverses the bytes of each word."""

    def changed(data: bytes) -> bytes:
        return b"".join(data[at : at + length][::-1] for at in range(0, len(data), length))

    return changed


#: Changes of binary records. The first ones keep the meaning, and the others break records.
BYTES: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda data: data,
    "gzip": gzip.compress,
    "gzip and zeros": lambda data: gzip.compress(data) + bytes(512),
    "gzip in two parts": lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "tar": lambda data: archive(("trace", data)),
    "tar in gzip": lambda data: gzip.compress(archive(("trace", data))),
    "tar with a README": lambda data: archive(("README", b"Requests.\n"), ("trace", data)),
    "zeros behind": lambda data: data + bytes(4096),
    "words of 2 reversed": words_reversed(2),
    "words of 4 reversed": words_reversed(4),
    "words of 8 reversed": words_reversed(8),
    "a byte in front": lambda data: b"\n" + data,
    "a byte lost in front": lambda data: data[1:],
    "a byte lost in the middle": lambda data: data[: len(data) // 2] + data[len(data) // 2 + 1 :],
    "a byte twice in the middle": lambda data: data[: len(data) // 2] + data[len(data) // 2 - 1 :],
    "cut in a record": lambda data: data[: len(data) * 3 // 4 + 5],
    "cut in front": lambda data: data[len(data) // 4 + 3 :],
    "line ends of DOS": lambda data: data.replace(b"\n", b"\r\n"),
    "line ends of Unix": lambda data: data.replace(b"\r\n", b"\n"),
    "without zeros": lambda data: data.replace(b"\0", b""),
    "7 bits": lambda data: bytes(byte & 0x7F for byte in data),
    "read as UTF-8": lambda data: data.decode(errors="replace").encode(),
    "as Latin-1 in UTF-8": lambda data: data.decode("latin-1").encode(),
    "as hexadecimal text": lambda data: data.hex().encode(),
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
}


def outcome(content: str | bytes, expected: list[Row], folder: Path) -> str:
    """``right``, ``refused``, or what is wrong."""
    file, rows_file = folder / "mutated.trace", folder / "found.csv"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        flashgc.trace_convert(file, rows_file, native_devices=True)
    except flashgc.FlashgcError:
        return "refused"
    rows = [row for row in rows_of(rows_file.read_text()) if row[1] != "F"]
    if rows == expected:
        return "right"
    pairs = enumerate(zip(rows, expected, strict=False))
    differs = [at for at, (row, other) in pairs if row != other]
    at = differs[0] if differs else min(len(rows), len(expected))
    form = flashgc.trace_stat(file).format
    return f"as {form}: request {at}: {rows[at : at + 1]} for {expected[at : at + 1]}"


def campaign(seeds: range) -> tuple[dict[str, Counter[str]], list[str]]:
    """Returns the outcomes of each format, and a text for each misread file."""
    counts: dict[str, Counter[str]] = {}
    wrong = []
    shows = sys.stderr.isatty()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name, (text, expected) in traces(seed, folder).items():
                changes: Any = BYTES
                if isinstance(text, str):
                    changes = {**FORMS, **(LAYOUTS if name in COMMAS + BLANKS else {})}
                for change, function in changes.items():
                    content = function(text)
                    if content is None or (content == text and change != "as it is"):
                        continue
                    verdict = outcome(content, expected, folder)
                    kind = verdict if verdict in ("right", "refused") else "wrong"
                    counts.setdefault(name, Counter())[kind] += 1
                    if kind == "wrong":
                        wrong.append(f"{name}, seed {seed}, {change}: {verdict}")
                if shows:
                    print(f"\rseed {seed}: {name:20}", end="", file=sys.stderr, flush=True)
    if shows:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return counts, wrong


def main() -> int:
    """Prints the outcomes of each format; exits with 1 if a file was read as something else."""
    parser = argparse.ArgumentParser(description="Mutates traces of every format.")
    parser.add_argument("--traces", type=int, default=6, help="traces of each format")
    given = parser.parse_args()
    counts, wrong = campaign(range(1, given.traces + 1))
    print(f"{'format':14} {'right':>6} {'refused':>8} {'wrong':>6}")
    for name, tally in counts.items():
        print(f"{name:14} {tally['right']:6} {tally['refused']:8} {tally['wrong']:6}")
    whole = sum(counts.values(), Counter())
    print(f"{'all':14} {whole['right']:6} {whole['refused']:8} {whole['wrong']:6}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
