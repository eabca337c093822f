"""Keywords that a ``TypedDict`` lists, as the signature that notebooks and shells complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def typed_keywords(keywords: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Shows a function's ``**options`` as the keywords of a ``TypedDict``, one by one.

    Type checkers and editors read the annotation (``Unpack``); what is made here is for those that
    look at the running function.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        before = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        after = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=type_)
            for name, type_ in keywords.__annotations__.items()
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*before, *after]
        )
        return function

    return decorate
