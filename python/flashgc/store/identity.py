"""The identity of a simulation: the key of its configuration.

Two simulations have the same key if they are of the same configuration, the same version and build
of the engine, and of files with the same content. The names of the files and when they were written
do not count, so a result that was made on another machine, or of a copy of the trace, is found.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc.policy_files import is_written

#: A file in the spec of a generator.
_IN_SPEC = re.compile(r"\bpath=([^,\s]+)")

#: Hexadecimal digits of a digest.
DIGITS = 32


class Contents:
    """Digests of files, each read once as long as it does not change."""

    def __init__(self, known: Mapping[tuple[str, int, int], str] | None = None) -> None:
        """``known`` has digests by name, bytes and time of the last change in nanoseconds."""
        self.known = dict(known or {})
        #: Digests that were not known before, by the same.
        self.new: dict[tuple[str, int, int], str] = {}

    def digest(self, name: str) -> str:
        """The digest of the content of the file ``name``; of one that cannot be read, its name."""
        path = os.path.realpath(name)
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                return f"unread:{name}"
            # A copy may bring its own time of change; when it came here, nobody sets.
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            stamp = (path, status.st_size, changed)
            if stamp not in self.known:
                with open(path, "rb") as file:
                    made = hashlib.file_digest(file, _hash).hexdigest()
                self.known[stamp] = self.new[stamp] = made
        except OSError:
            return f"unread:{name}"
        return self.known[stamp]


def _hash() -> Any:
    return hashlib.blake2b(digest_size=DIGITS // 2)


def key_of(config: Mapping[str, Any], contents: Contents, mutant: str = "") -> str:
    """The key of a configuration as the engine takes it.

    ``mutant`` is the fault in the engine whose result it is; empty for right results.
    """
    identity = {
        "version": _core.version(),
        "engine": engine_digest(),
        "mutant": mutant,
        "config": without_names(config, contents),
    }
    return digest_of(identity)


def check_unchanged(
    key: str, config: Mapping[str, Any], contents: Contents, mutant: str = ""
) -> None:
    """Raises :class:`OSError` if a file has changed since the configuration had this ``key``.

    What was simulated in between may be of the one content or the other.
    """
    if key_of(config, contents, mutant) != key:
        raise OSError(
            errno.ESTALE,
            "a file that it reads has changed while it ran, so its result is not kept; hint: give "
            "the same command again",
            str(config["workload"]),
        )


def digest_of(value: Any) -> str:
    """The digest of a value that JSON has.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=DIGITS // 2).hexdigest()


@functools.cache
def engine_digest() -> str:
    """The digest of the engine as it was built: another build need not give the same digits."""
    return hashlib.blake2b(Path(_core.__file__).read_bytes(), digest_size=DIGITS // 2).hexdigest()


def without_names(config: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """The configuration with a digest in the place of each file's name."""
    made = dict(config)
    workload = str(config["workload"])
    if _core.is_trace(workload):
        made["workload"] = f"trace {contents.digest(workload)}"
    else:
        made["workload"] = _IN_SPEC.sub(lambda match: f"path={contents.digest(match[1])}", workload)
    tenants = (config.get("timed") or {}).get("tenants")
    if tenants:
        files = [
            file
            for name in map(_core.tenant_workload, tenants)
            for file in ([name] if _core.is_trace(name) else _IN_SPEC.findall(name))
        ]
        digests = [contents.digest(file) for file in files]
        made["timed"] = {**config["timed"], "tenants": [tenants, digests]}
    if config.get("streams"):
        made["streams"] = contents.digest(str(config["streams"]))
    relations = (config.get("trace") or {}).get("relations")
    if relations:
        made["trace"] = {**config["trace"], "relations": contents.digest(str(relations))}
    for key in ("victim", "placement"):
        if is_written(config.get(key)):
            file, _, name = config[key].removeprefix("python:").rpartition(":")
            # What it imports from beside it counts, too.
            beside = sorted(Path(file).parent.glob("*.py"))
            digests = [contents.digest(str(path)) for path in beside]
            made[key] = f"python {contents.digest(file)} {name} beside {digest_of(digests)}"
    return made
