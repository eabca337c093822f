"""Policies in files, named by a text ``python:FILE.py:NAME``, perhaps with parameters.

``python:edt.py:Edt,alpha=0.25`` names the class ``Edt``, whose objects are made with
``alpha=0.25``.

``lib:./edt.so:edt,alpha=0.25`` names a scheme of a compiled library, by the interface of
``flashgc.h``.

Such a policy is a program, and runs with the rights of the user who loads it. If an experiment file
names one, that is reported the first time. A drive's file is data; :mod:`flashgc.device.code`
decides when the code that it names may be loaded.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from flashgc import _faults, _neighbours
from flashgc._core import CompiledScheme, ConfigError, check, suggest
from flashgc._schemes import PATH as SCHEMES
from flashgc._schemes import Scheme, python_parts
from flashgc.foreign import one_line
from flashgc.policy_parameters import bound

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

#: The options whose value may be a policy in Python.
KEYS = ("victim", "placement")
#: Policies in Python: by the key of their option, then by the text that names them.
Policies: TypeAlias = Mapping[str, Mapping[str, object]]

#: The text of a policy in a file. The file may contain colons and commas, and so may a value.
_WRITTEN = re.compile(
    r"(?P<kind>python|lib):(?P<file>.+?\.(?:py|so|dylib|dll)|.+):(?P<name>[^:,=]+)"
    r"(?P<values>(?:,.*)?)",
    re.DOTALL,
)
#: The begins of such a text, each with the form that a hint shows.
FORMS = {"python:": "python:FILE.py:NAME", "lib:": "lib:FILE.so:NAME"}
#: The numbers of the libraries that this process loads.
_LOADS = itertools.count()
#: A place within a file: ``grid.toml:3:10``.
_IN_FILE = re.compile(r"(?P<file>.+):\d+:\d+\Z", re.DOTALL)


def is_written(text: object) -> bool:
    """True if ``text`` names a policy in a file: in Python, or in a compiled library.

    >>> is_written("python:mine.py:Oldest"), is_written("lib:mine.so:oldest"), is_written("greedy")
    (True, True, False)
    """
    return isinstance(text, str) and text.startswith((*FORMS,))


def in_file(text: str) -> bool:
    """True if ``text`` names a policy in a file; an object of a program has a name only."""
    match = _WRITTEN.fullmatch(text)
    return match is not None and os.path.isfile(match["file"])


def in_folder(text: Any, folder: Path) -> Any:
    """``text``, with a relative file counted from ``folder`` if it names a policy in Python."""
    match = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if match is None or str(folder) == ".":
        return text
    file = os.path.join(folder, match["file"])
    return f"{match['kind']}:{file}:{match['name']}{match['values']}"


def python_policies(gc: Any, places: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Key, text and place of every policy in Python that section ``gc`` names."""
    section: Mapping[str, Any] = gc if isinstance(gc, Mapping) else {}
    rows = [
        (key, text, places.get(f"gc.{key}", key))
        for key in KEYS
        for text in (section[key] if isinstance(section.get(key), list) else [section.get(key)])
    ]
    place = places.get(SCHEMES, "scheme")
    rows += [(key, text, place) for key, text in python_parts(section.get("scheme"))]
    texts = [(key, text, place) for key, text, place in rows if isinstance(text, str)]
    return [row for row in texts if is_written(row[1])]


def load_policies(gc: Any, places: Mapping[str, str]) -> Policies:
    """Load the policies in Python that section ``gc`` names."""
    rows = python_policies(gc, places)
    announce((text, place) for _, text, place in rows)
    loaded: dict[str, dict[str, object]] = {key: {} for key in KEYS}
    files = Files()
    for key, text, place in rows:
        loaded[key][text] = files.load(text, place)
    return loaded


@dataclass(frozen=True)
class Written:
    """The parts of a text ``python:FILE.py:NAME,PARAMETER=VALUE``."""

    #: ``python`` or ``lib``.
    kind: str
    file: str
    name: str
    #: The parameters and their values, as they were given.
    parameters: Mapping[str, str]

    def text(self, file: str) -> str:
        """The text with ``file`` in place of its file."""
        values = "".join(f",{name}={value}" for name, value in self.parameters.items())
        return f"{self.kind}:{file}:{self.name}{values}"


def parted(text: str, place: str) -> Written:
    """The parts of ``python:FILE.py:NAME,PARAMETER=VALUE`` or ``lib:FILE.so:NAME``.

    Raises :class:`flashgc.ConfigError`, which names ``place``.

    >>> parted("python:a,b/edt.py:Edt,alpha=0.25", "victim")
    Written(kind='python', file='a,b/edt.py', name='Edt', parameters={'alpha': '0.25'})
    >>> parted("lib:./edt.so:edt", "victim").file
    './edt.so'
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        form = FORMS["lib:" if text.startswith("lib:") else "python:"]
        raise ConfigError(
            f"{place}: '{shown(text)}' is not understood; "
            f"hint: write {form} or {form},PARAMETER=VALUE"
        )
    parameters: dict[str, str] = {}
    for part in filter(None, match["values"].split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise ConfigError(
                f"{place}: found '{shown(part)}' in '{shown(text)}', expected PARAMETER=VALUE; "
                f"hint: write {match['kind']}:{shown(match['file'])}:{match['name']},"
                "PARAMETER=VALUE"
            )
        if name in parameters:
            raise ConfigError(f"{place}: {shown(text)} gives {name} twice; hint: leave one out")
        parameters[name] = value
    return Written(match["kind"], match["file"], match["name"], parameters)


def load_policy(text: str, place: str, *, guarded: bool = False) -> object:
    """Load the policy that ``text`` names.

    With ``guarded``, a file that others than this user and root could have written is refused.
    """
    return Files(guarded=guarded).load(text, place)


def load_scheme(scheme: str | Scheme, place: str) -> Scheme:
    """Check a scheme, given as an object or by its text, and load its policies in files.

    Raises :class:`flashgc.ConfigError`, which names ``place``.
    """
    try:
        scheme = scheme if isinstance(scheme, Scheme) else Scheme.parse(scheme)
        check("scheme", scheme.text)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    for text in scheme.specs:
        if is_written(text):
            load_policy(text, place)
    return scheme


class Files:
    """Files of policies, each loaded once, so that policies of one file share its globals.

    A file that policies import from their folder is loaded once for that folder. With ``guarded``,
    files that others than this user and root could have written are refused.
    """

    def __init__(self, *, guarded: bool = False) -> None:
        self._guarded = guarded
        self._modules: dict[str, ModuleType] = {}
        self._folders: dict[str, _neighbours.Folder] = {}
        #: Policies by the path of their file, their name and their parameters.
        self._policies: dict[tuple[str, str, tuple[tuple[str, str], ...]], object] = {}

    def load(self, text: str, place: str) -> object:
        """Load the policy ``python:FILE.py:NAME`` or ``lib:FILE.so:NAME``, with its parameters.

        A class with the same parameters is one object, so that a victim policy and a placement of
        this class share their state.
        """
        written = parted(text, place)
        file, name = written.file, written.name
        path = os.path.realpath(file)
        key = (path, name, tuple(sorted(written.parameters.items())))
        if written.kind == "lib":
            if key not in self._policies:
                self._policies[key] = self._library(written, place)
            return self._policies[key]
        module = self._modules.get(path)
        if module is None:
            module = self._modules[path] = self._module(file, place)
        if not hasattr(module, name):
            known = [word for word in vars(module) if callable(getattr(module, word))]
            hint = suggest(name, known) if known else f"define {name} in it"
            raise ConfigError(f"{place}: {file} defines no '{name}'; hint: {hint}")
        if key not in self._policies:
            policy = getattr(module, name)
            self._policies[key] = bound(policy, written.parameters, place)
        return self._policies[key]

    def of(self, config: Mapping[str, Any]) -> dict[str, tuple[str, object]]:
        """The policies in files that a configuration names: text and object, by their options."""
        return {
            key: (config[key], self.load(config[key], key))
            for key in KEYS
            if is_written(config.get(key))
        }

    def _library(self, written: Written, place: str) -> CompiledScheme:
        file = written.file
        if not os.path.isfile(file):
            raise ConfigError(f"{place}: {shown(file)}: no such file; hint: write lib:FILE.so:NAME")
        # A copy of the bytes that were checked is loaded. The system would give a file that was
        # compiled again since its first use in its old state.
        content = self._read(file, place)
        with _copied(content, os.path.splitext(file)[1]) as copy:
            try:
                return CompiledScheme(
                    copy, shown(file), written.name, [*written.parameters.items()]
                )
            except ConfigError as error:
                raise ConfigError(f"{place}: {error}") from None

    def _read(self, path: str, place: str) -> bytes:
        with open(path, "rb") as opened:
            if self._guarded:
                _guard(os.fstat(opened.fileno()), path, place)
            return opened.read()

    def _module(self, file: str, place: str) -> ModuleType:
        if not os.path.isfile(file):
            raise ConfigError(
                f"{place}: {shown(file)}: no such file; hint: write python:FILE.py:NAME"
            )
        if not file.endswith(".py"):
            raise ConfigError(
                f"{place}: {shown(file)} is not a Python file; hint: its name must end in .py"
            )

        # The bytes that were checked are compiled, never a cached `.pyc`.
        own, beside = _neighbours.sources(file, lambda path: self._read(path, place))
        folder = os.path.dirname(os.path.realpath(file))
        if folder not in self._folders:
            import hashlib

            digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
            self._folders[folder] = _neighbours.Folder(f"flashgc_policy_beside_{digest}")
        stem = os.path.basename(file).removesuffix(".py")
        with _faults.contained():
            return self._folders[folder].policy(f"flashgc_policy_{stem}", own, beside)


@contextlib.contextmanager
def _copied(content: bytes, ending: str) -> Iterator[str]:
    """The path of a file with ``content``, which nobody else can write, as long as it is needed."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("flashgc-scheme")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            # The system knows a library by the text of its path, so each load has its own text.
            ways = "".join(".//" if bit == "1" else "./" for bit in f"{next(_LOADS):b}")
            yield f"/proc/self/fd/{ways}{descriptor}"
        finally:
            os.close(descriptor)
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="flashgc-scheme-") as folder:
        path = os.path.join(folder, f"scheme{ending}")
        with open(path, "wb") as file:
            file.write(content)
        yield path


def _guard(facts: os.stat_result, file: str, place: str) -> None:
    if facts.st_uid not in (os.geteuid(), 0):
        raise ConfigError(
            f"{place}: {shown(file)} belongs to user {facts.st_uid}, expected you or root: its "
            "owner could change what runs; hint: copy it and make the drive with the copy"
        )
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            f"{place}: {shown(file)} may be written by others (mode "
            f"{stat.S_IMODE(facts.st_mode):04o}), who could change what runs; hint: chmod go-w"
        )


def shown(text: str) -> str:
    r"""``text`` on one line, with control characters escaped.

    >>> print(shown("a\n\x1b[2J.py"), shown("plain.py"))
    a\n\x1b[2J.py plain.py
    """
    return one_line(text)


def announce(texts: Iterable[tuple[str, str]]) -> None:
    """Report on stderr the policies in Python that files name, once for each content of their code.

    ``texts`` has the text and the place of each policy. A policy typed by the user, or passed to a
    function, is not reported, because the user knows of it.
    """
    files: dict[tuple[str, str], list[str]] = {}
    for text, place in texts:
        match = _IN_FILE.fullmatch(place)
        if match is None:
            continue
        written = parted(text, place)
        names = files.setdefault((match["file"], written.file), [])
        if written.name not in names:
            names.append(written.name)
    if not files:
        return
    from pathlib import Path

    known: set[str] = set()
    for (experiment, file), names in files.items():
        try:
            digest = _digest(file)
        except OSError:
            continue  # Loading it reports the error.
        if _remember(digest, known):
            continue
        where = shown(str(Path(file).absolute()))
        phrase = ", ".join(map(shown, names))
        print(
            f"note: {shown(experiment)} runs code: {where} ({phrase}); it runs with your rights",
            file=sys.stderr,
            flush=True,
        )


def _digest(file: str) -> str:
    """The digest of a policy's file and of its imports from the folder; raises :class:`OSError`.

    For a file without such imports it is the digest of its contents.
    """
    import hashlib
    from pathlib import Path

    own, beside = _neighbours.sources(file, lambda path: Path(path).read_bytes())
    digest = hashlib.sha256(own.source)
    for name, source in sorted(beside.items()):
        digest.update(f"\0{name}\0{len(source.source)}\0".encode() + source.source)
    return digest.hexdigest()


def _remember(digest: str, known: set[str]) -> bool:
    """Return true if code with this digest was reported to this user before; note it otherwise."""
    if digest in known:
        return True
    known.add(digest)
    try:
        folder = _told_folder()
        if folder is not None:
            (folder / digest).touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return True
    except (OSError, RuntimeError):
        pass  # If it cannot be noted, it is reported again.
    return False


def _told_folder() -> Path | None:
    """The user's folder of digests; ``None`` if others can write to it.

    It is also ``None`` if the home belongs to another user, as under sudo, so that nothing is left
    there.
    """
    from pathlib import Path

    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    home = base if base.exists() else Path.home()
    if hasattr(os, "geteuid") and home.stat().st_uid != os.geteuid():
        return None
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = base / "flashgc"
    for part in (folder, folder / "code"):
        with contextlib.suppress(FileExistsError):
            part.mkdir(mode=0o700)
        facts = part.lstat()
        is_open = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != home.stat().st_uid or is_open:
            return None
    return folder / "code"
