"""Ctrl-C in a program that imports flashgc: the work stops, and the program gets an exception."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flashgc import _ctrl_c

P = ParamSpec("P")
R = TypeVar("R")


class Interruption(KeyboardInterrupt):
    """Ctrl-C stopped a function of flashgc; :attr:`result` has what was done until then.

    It is a :class:`KeyboardInterrupt`, so a loop of a program ends as it does without flashgc.
    """

    #: The result so far, with ``interrupted`` set if it is not complete.
    result: object

    def __init__(self, result: object) -> None:
        super().__init__("Ctrl-C; the exception's result has what was done until then")
        self.result = result


def interrupts_program(function: Callable[P, R]) -> Callable[P, R]:
    """Raise :class:`Interruption` if Ctrl-C came while ``function`` worked.

    In the command the result is returned, because the command reports it. It is returned, too, if
    a thread stopped the work by a :class:`flashgc.Control`.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        before = _ctrl_c.presses()
        result = function(*arguments, **options)
        if _ctrl_c.presses() != before and not _ctrl_c.of_command():
            raise Interruption(result)
        return result

    return call
