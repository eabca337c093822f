"""Logs of a drive in this machine, by the programs ``nvme`` and ``smartctl``. They only read."""

from __future__ import annotations

import datetime
import json
import os
import re
import stat
import subprocess
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from flashgc import _files
from flashgc._core import ConfigError
from flashgc.device import programs
from flashgc.foreign import one_line
from flashgc.logs.formats import KEPT

#: Seconds that a program may take.
_PATIENCE = 60
#: Logs of every NVMe drive, and those that a drive need not have.
_EVERY = (("id-ctrl",), ("smart-log",))
_SOME = (("ocp", "smart-add-log"), ("endurance-log", "-g", "1"), ("fdp", "stats", "-e", "1"))
#: Pages of vendors, by the PCI vendor that has them. On other drives this page is something else.
_VENDORS = {0x8086: ("intel", "smart-log-add"), 0x025E: ("solidigm", "smart-log-add")}


def is_drive(argument: str) -> bool:
    """True for the name of a block or character device."""
    try:
        mode = os.stat(argument).st_mode
    except (OSError, ValueError):
        return bool(re.fullmatch(r"/dev/(nvme\d+(n\d+)?|sd[a-z]+)", argument))
    return stat.S_ISBLK(mode) or stat.S_ISCHR(mode)


def logged(drive: str) -> dict[str, Any]:
    """The logs of a drive now, as the document that is kept.

    Raises :class:`flashgc.ConfigError` if a program is missing, or the drive cannot be read.
    """
    begin = time.time()
    if "nvme" in os.path.basename(drive):
        logs = _nvme(drive)
    else:
        logs = [_run(["smartctl", "--json", "-x", drive], "smartmontools", drive)]
    return {KEPT: 1, "time": f"{begin:.3f}", "drive": drive, "logs": logs}


def _nvme(drive: str) -> list[Any]:
    if programs.find("nvme") is None and programs.find("smartctl") is not None:
        return [_run(["smartctl", "--json", "-a", drive], "smartmontools", drive)]
    logs = [_run(["nvme", *words, drive, "-o", "json"], "nvme-cli", drive) for words in _EVERY]
    vendor = _VENDORS.get(logs[0].get("vid", 0))
    for words in (*_SOME, *([vendor] if vendor else [])):
        try:
            logs.append(_run(["nvme", *words, drive, "-o", "json"], "nvme-cli", drive))
        except ConfigError:
            continue  # The drive does not have this log, or the program is too old for it.
    return logs


def _run(arguments: list[str], package: str, drive: str) -> Any:
    """The JSON document that a program prints."""
    program = arguments[0]
    path = programs.find(program)
    if path is None:
        raise ConfigError(
            f"{drive}: the program {program} is missing; hint: install {package}, or give logs "
            "from another machine"
        )
    try:
        ended = subprocess.run(
            [path, *arguments[1:]],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
            env={**programs.environment(), "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"{drive}: {' '.join(arguments)} took above {_PATIENCE} s; hint: does the drive answer?"
        ) from None
    try:
        document = json.loads(ended.stdout, parse_float=Decimal)
    except ValueError:
        document = None
    # smartctl's code has bits for warnings of the drive: its document counts.
    if not isinstance(document, dict) or (program == "nvme" and ended.returncode):
        words = (ended.stderr or ended.stdout).decode(errors="replace").strip().split("\n")[0]
        reason = one_line(words) or f"code {ended.returncode}"
        hint = "reading logs of drives needs the rights of root"
        if not os.path.exists(drive):
            hint = "nvme list and smartctl --scan show the drives"
        raise ConfigError(f"{drive}: {' '.join(arguments)} failed: {reason}; hint: {hint}")
    return document


def file_of(document: dict[str, Any]) -> str:
    """The name of the file of a document. Names of devices change, so the serial number is in it.

    >>> file_of({"time": "0", "drive": "/dev/nvme0", "logs": [{"sn": "SN 12/3  "}]})
    'SN-12-3-19700101T000000Z.json'
    """
    at = datetime.datetime.fromtimestamp(float(document["time"]), datetime.UTC)
    return f"{_name(document)}-{at:%Y%m%dT%H%M%SZ}.json"


def _name(document: dict[str, Any]) -> str:
    first = document["logs"][0]
    serial = str(first.get("sn") or first.get("serial_number") or "").strip()
    return re.sub(r"[^\w.-]", "-", serial or os.path.basename(document["drive"]))


def kept_before(document: dict[str, Any], folder: str) -> list[str]:
    """The files of a folder with earlier logs of the drive of a document."""
    mark = re.compile(re.escape(_name(document)) + r"-\d{8}T\d{6}Z\.json")
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _refused(folder, error) from None
    return [os.path.join(folder, name) for name in names if mark.fullmatch(name)]


def keep(document: dict[str, Any], folder: str) -> None:
    """Write the logs to a new file of a folder, which is made if there is none."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        _files.write(os.path.join(folder, file_of(document)), text(document))
    except OSError as error:
        raise _refused(folder, error) from None


def _refused(folder: str, error: OSError) -> ConfigError:
    return ConfigError(f"--keep: {one_line(folder)}: {error.strerror}; hint: give another folder")


def text(document: dict[str, Any]) -> str:
    """The document as JSON. Numbers are as the program printed them."""
    return json.dumps(document, indent=1, default=str) + "\n"
