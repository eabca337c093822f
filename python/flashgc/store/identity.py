"""The identity of a simulation: the key of its configuration.

Two simulations have the same key if they have the same configuration, the same version and build of
the engine, and files with the same contents. Names and times of files do not count. So a result
from another machine, or from a copy of the trace, is found.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from flashgc import _core, _neighbours
from flashgc.policy_files import KEYS, is_written, parted
from flashgc.registry import trace_layouts

#: The path of a file in the spec of a generator.
IN_SPEC = re.compile(r"\bpath=([^,\s]+)")

#: Hexadecimal digits of a digest.
DIGITS = 32


@dataclass(frozen=True)
class Read:
    """A file that a configuration reads."""

    digest: str
    #: The policy in Python that imports this file from its own folder; empty if none does.
    by: str = ""


#: Files by name.
Files: TypeAlias = tuple[tuple[str, Read], ...]


class Contents:
    """Digests of files; a file is read only once as long as it does not change."""

    def __init__(self, known: Mapping[tuple[str, int, int], str] | None = None) -> None:
        """``known`` has digests by name, bytes, and time of last change in nanoseconds."""
        self.known = dict(known or {})
        #: Digests that were not known before, with the same keys.
        self.new: dict[tuple[str, int, int], str] = {}
        #: The files of each configuration at the time when its key was computed, by that key.
        self.files: dict[str, Files] = {}
        self._shared: dict[Files, Files] = {}

    def digest(self, name: str) -> str:
        """The digest of the contents of the file ``name``; if unreadable, a text with its name."""
        path = os.path.realpath(name)
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                return f"unread:{name}"
            # A copy may keep the original's time of modification, but nobody can set its ctime.
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            stamp = (path, status.st_size, changed)
            if stamp not in self.known:
                with open(path, "rb") as file:
                    hex_digest = hashlib.file_digest(file, _hash).hexdigest()
                self.known[stamp] = self.new[stamp] = hex_digest
        except OSError:
            return f"unread:{name}"
        return self.known[stamp]

    def read(self, key: str, files: Mapping[str, Read]) -> None:
        """Store the files of the configuration with this key; equal lists are shared."""
        identity = tuple(files.items())
        self.files.setdefault(key, self._shared.setdefault(identity, identity))


def _hash() -> Any:
    return hashlib.blake2b(digest_size=DIGITS // 2)


def key_of(config: Mapping[str, Any], contents: Contents, mutant: str = "") -> str:
    """The key of a configuration in the engine's form.

    ``mutant`` is the name of the fault injected into the engine; empty for correct results.
    """
    key, files = _key_and_files(config, contents, mutant)
    contents.read(key, files)
    return key


def _key_and_files(
    config: Mapping[str, Any], contents: Contents, mutant: str
) -> tuple[str, dict[str, Read]]:
    files: dict[str, Read] = {}
    identity = {
        "version": _core.version(),
        "engine": engine_digest(),
        "mutant": mutant,
        "config": _without_names(config, contents, files),
    }
    return digest_of(identity), files


def check_unchanged(
    key: str, config: Mapping[str, Any], contents: Contents, mutant: str = ""
) -> None:
    """Raise :class:`OSError` if a file has changed since the configuration's ``key`` was computed.

    A simulation in between may have read the old contents or the new ones.
    """
    now, files = _key_and_files(config, contents, mutant)
    if now == key:
        return
    before = dict(contents.files.get(key, ()))
    names = [name for name in {**before, **files} if before.get(name) != files.get(name)]
    name = names[0] if names else str(config["workload"])
    record = before.get(name) or files.get(name)
    what = f"is imported by {record.by}, and " if record and record.by else ""
    change = "has changed" if os.path.exists(name) else "has vanished"
    raise OSError(
        errno.ESTALE,
        f"{what}{change} while it ran, so its result is not kept; hint: give the same command "
        "again",
        name,
    )


def digest_of(value: Any) -> str:
    """The digest of a JSON value.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=DIGITS // 2).hexdigest()


@functools.cache
def engine_digest() -> str:
    """The digest of the engine's binary, because another build may compute different digits."""
    return hashlib.blake2b(Path(_core.__file__).read_bytes(), digest_size=DIGITS // 2).hexdigest()


def _without_names(
    config: Mapping[str, Any], contents: Contents, files: dict[str, Read]
) -> dict[str, Any]:
    """The configuration with digests in place of file names; adds the files to ``files``."""

    def digest(name: str) -> str:
        files[name] = Read(contents.digest(name))
        return files[name].digest

    fields = dict(config)
    workload = str(config["workload"])
    if _core.is_trace(workload):
        fields["workload"] = f"trace {digest(workload)}"
    else:
        fields["workload"] = IN_SPEC.sub(lambda match: f"path={digest(match[1])}", workload)
    tenants = (config.get("timed") or {}).get("tenants")
    if tenants:
        names = [
            file
            for name in map(_core.tenant_workload, tenants)
            for file in ([name] if _core.is_trace(name) else IN_SPEC.findall(name))
        ]
        fields["timed"] = {
            **config["timed"],
            "tenants": [tenants, [digest(name) for name in names]],
        }
    if config.get("streams"):
        fields["streams"] = digest(str(config["streams"]))
    trace = config.get("trace") or {}
    tables = {key: str(trace[key]) for key in ("relations", "layout") if trace.get(key)}
    if tables:
        # A layout that flashgc includes has a name and no file.
        shipped = {layout.name for layout in trace_layouts()}
        digests = {key: name if name in shipped else digest(name) for key, name in tables.items()}
        fields["trace"] = {**trace, **digests}
    for key in KEYS:
        if is_written(config.get(key)):
            fields[key] = _code(config[key], files)
    return fields


def _code(text: str, files: dict[str, Read]) -> str:
    """The identity of a Python policy: its own file, and the files beside it that it imports."""
    code = parted(text, "the policy")
    file = code.file
    name = ",".join([code.name, *(f"{key}={at}" for key, at in sorted(code.parameters.items()))])
    try:
        own, beside = _neighbours.sources(file, lambda path: Path(path).read_bytes())
    except OSError:
        files[file] = Read(f"unread:{file}")
        return f"python unread:{file} {name}"
    files[file] = Read(_digest_of_bytes(own.source))
    digests = {module: _digest_of_bytes(source.source) for module, source in sorted(beside.items())}
    files.update((source.path, Read(digests[module], by=text)) for module, source in beside.items())
    return f"python {files[file].digest} {name} with {digest_of(digests)}"


def _digest_of_bytes(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=DIGITS // 2).hexdigest()
