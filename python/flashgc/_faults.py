"""What is wrong with a policy written in Python, and on which line of whose file."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import traceback
from collections.abc import Callable, Iterator

from flashgc._core import PolicyError

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: Files of the machinery between us and a policy.
_MACHINERY = (_OURS, "<frozen ", copy.__file__)


def describe(error: BaseException) -> str:
    """Where ``error`` was raised, and what it says: that is what a policy's author needs."""
    name = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {name}: {error.msg}"
    text = f"{name}: {error}" if str(error) else name
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_MACHINERY)]
    if not frames:
        return text
    frame = (theirs or frames)[-1]
    return f"{frame.filename}:{frame.lineno}: {text}"


def place(policy: object) -> str:
    """The file and line where ``policy`` is defined, with a colon; empty where nobody knows."""
    inner = policy if inspect.isclass(policy) else getattr(policy, "pick", policy)
    for thing in (inner, type(policy)):
        with contextlib.suppress(TypeError, OSError):
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]
            line = inspect.getsourcelines(thing)[1]  # type: ignore[arg-type]
            return f"{file}:{line}: "
    return ""


def check(policy: object, name: str) -> None:
    """Raises :class:`flashgc.PolicyError` if ``policy`` cannot be called as policies are.

    Faults that only a call can show are left to the call.
    """
    call: object
    if inspect.isclass(policy):
        method = inspect.getattr_static(policy, "pick", None)
        if not inspect.isfunction(method):
            return
        call, arguments = method, 2
    else:
        call, arguments = getattr(policy, "pick", policy), 1
        try:
            copy.deepcopy(policy)
        except Exception as error:
            raise PolicyError(
                f"{place(policy)}{name} cannot be copied, which every run does: "
                f"{type(error).__name__}: {error}; hint: give a class with a method pick"
            ) from error
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


@contextlib.contextmanager
def contained(*, interrupts: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Turns what would end the program (``sys.exit`` in a policy) into an error of the policy.

    ``interrupts`` says whether a :class:`KeyboardInterrupt` is the policy's own.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not interrupts():
            raise
        raise PolicyError(
            f"{describe(error)}; hint: a policy returns the number of a block"
        ) from error
