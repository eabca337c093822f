"""Errors of policies in Python, each with its file and line."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import sys
from typing import TYPE_CHECKING

from flashgc._core import CompiledScheme, PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Our packages: flashgc, and the reproductions of papers.
PACKAGES = ("flashgc", "flashgc_papers")
#: Beginnings of the names of Python's own files that may be in a traceback between our code and a
#: policy.
_MACHINERY = ("<frozen ", copy.__file__)


def folders() -> tuple[str, ...]:
    """The folders of our packages that are imported."""
    files = [sys.modules[name].__file__ for name in PACKAGES if name in sys.modules]
    return tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in files if file)


def describe(error: BaseException) -> str:
    """Return the place where ``error`` was raised and its text, for the author of a policy."""
    name = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {name}: {error.msg}"
    text = f"{name}: {error}" if str(error) else name
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    machinery = (*_MACHINERY, *folders())
    theirs = [frame for frame in frames if not frame.filename.startswith(machinery)]
    if not frames:
        return text
    frame = (theirs or frames)[-1]
    return f"{frame.filename}:{frame.lineno}: {text}"


def place(policy: object) -> str:
    """The file and line where ``policy`` is defined, with a colon; empty if unknown."""
    inner = policy if inspect.isclass(policy) else getattr(policy, "pick", policy)
    for thing in (inner, type(policy)):
        with contextlib.suppress(TypeError, OSError):
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]
            line = inspect.getsourcelines(thing)[1]  # type: ignore[arg-type]
            return f"{file}:{line}: "
    return ""


def check(policy: object, name: str) -> None:
    """Raise :class:`flashgc.PolicyError` if ``policy`` cannot be called as a victim policy.

    Other faults appear only when the policy is called.
    """
    if isinstance(policy, CompiledScheme):
        return  # The engine looks at its functions.
    call: object
    if inspect.isclass(policy):
        method = inspect.getattr_static(policy, "pick", None)
        if not inspect.isfunction(method):
            return
        call, arguments = method, 2
    else:
        call, arguments = getattr(policy, "pick", policy), 1
        _check_copied(policy, name, "a class with a method pick")
    if not callable(call):
        raise PolicyError(
            f"{place(policy)}{name} is not a victim policy; hint: give a function "
            "pick(blocks) -> int, or an object with such a method"
        )
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * arguments)
    except TypeError as error:
        raise PolicyError(
            f"{place(policy)}{name}{signature}: {error}; hint: a policy takes one argument, the "
            "blocks"
        ) from None


def _check_copied(policy: object, name: str, instead: str) -> None:
    try:
        copy.deepcopy(policy)
    except Exception as error:
        raise PolicyError(
            f"{place(policy)}{name} cannot be copied, which every run does: "
            f"{type(error).__name__}: {error}; hint: give {instead}"
        ) from error


#: The methods of a placement and their arguments. A placement must have the first two.
VERBS = {
    "host": ("page", "stream", "old", "now"),
    "copy": ("page", "from_", "zombie", "now"),
    "begin": ("pages", "pages_per_block"),
    "takes_copies": ("class_",),
    "holds": ("page", "class_", "now"),
    "wrote": ("page", "from_", "to", "now"),
    "trimmed": ("page", "from_", "now"),
    "copied": ("page", "from_", "to", "now"),
    "opened": ("class_", "now"),
    "collected": ("block", "now"),
    "see": ("blocks",),
}
#: Further arguments with block numbers, which a method gets if it has parameters with these names.
BLOCKS = {
    "host": ("old_block",),
    "copy": ("from_block",),
    "holds": ("block",),
    "wrote": ("from_block", "to_block"),
    "trimmed": ("from_block",),
    "copied": ("from_block", "to_block"),
    "opened": ("block",),
}
_NEEDED = ("host", "copy")
#: The methods that get many pages per call if the placement has ``every``.
_PLURAL = ("holds", "wrote", "trimmed", "copied")


def blocks_taken(method: Callable[..., object], verb: str, *, unbound: bool = False) -> list[str]:
    """The names of the block numbers that ``method`` takes after ``verb``'s arguments, in order."""
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        return []
    taken: list[str] = []
    for parameter in parameters[len(VERBS[verb]) + unbound :]:
        by_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if not by_place or parameter.name not in BLOCKS.get(verb, ()):
            break
        taken.append(parameter.name)
    return taken


def check_placement(rule: object, name: str) -> None:
    """Raise :class:`flashgc.PolicyError` if ``rule`` cannot be called as a placement.

    Other faults appear only when the placement is called.
    """
    if isinstance(rule, CompiledScheme):
        return
    # Arrays may be created in the method ``begin``.
    needed = ("classes",) if hasattr(rule, "begin") else ("classes", *_NEEDED)
    missing = [verb for verb in needed if not hasattr(rule, verb)]
    if missing:
        raise PolicyError(
            f"{place(rule)}{name} is not a placement: it has no {missing[0]}; hint: a placement is "
            "an object with classes, host(page, stream, old, now) and "
            "copy(page, from_, zombie, now), or a class of such objects"
        )
    if not inspect.isclass(rule):
        _check_copied(rule, name, "a class")
    for verb, arguments in VERBS.items():
        method = getattr(rule, verb, None)
        if method is None or (verb in _NEEDED and not callable(method)):
            continue  # The drive checks arrays.
        _check_verb(rule, name, verb, method, arguments)
    if hasattr(rule, "every") and not any(hasattr(rule, verb) for verb in _PLURAL):
        raise PolicyError(
            f"{place(rule)}{name} has every, but nothing is told to it; hint: write one of "
            f"{', '.join(_PLURAL)}, or leave every out"
        )


def _check_verb(
    rule: object, name: str, verb: str, method: object, arguments: tuple[str, ...]
) -> None:
    more = f", and behind these {' and '.join(BLOCKS[verb])} if you like" if verb in BLOCKS else ""
    hint = f"hint: write {verb}({', '.join(arguments)}){more}"
    if not callable(method):
        raise PolicyError(f"{place(rule)}{name}: {verb} is {method!r}, expected a method; {hint}")
    unbound = inspect.isclass(rule) and inspect.isfunction(inspect.getattr_static(rule, verb))
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return
    blocks = blocks_taken(method, verb, unbound=unbound)
    try:
        signature.bind(*[None] * (len(arguments) + unbound + len(blocks)))
    except TypeError as error:
        raise PolicyError(f"{place(method)}{name}: {verb}{signature}: {error}; {hint}") from None


#: The function that checks a policy, by the key of its option.
CHECKS: dict[str, Callable[[object, str], None]] = {
    "victim": check,
    "placement": check_placement,
}


@contextlib.contextmanager
def contained(*, interrupts: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Turn exceptions that would end the program (``sys.exit`` in a policy) into policy errors.

    ``interrupts`` returns true if a :class:`KeyboardInterrupt` was raised by the policy itself.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not interrupts():
            raise
        raise PolicyError(f"{describe(error)}; hint: a policy returns a number") from error
