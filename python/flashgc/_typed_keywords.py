"""Keywords that a ``TypedDict`` lists, as the signature that notebooks and shells complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Type(str):
    """A type as it is written, which shows itself without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Signature(inspect.Signature):
    """All keywords one by one, and in a text for people the own ones: a hundred more follow."""

    __slots__ = ()

    def __str__(self) -> str:
        own = [
            parameter
            for parameter in self.parameters.values()
            if not isinstance(parameter, _Keyword)
        ]
        options = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)
        return str(inspect.Signature([*own, options], return_annotation=self.return_annotation))


class _Keyword(inspect.Parameter):
    """A keyword of the ``TypedDict``."""

    __slots__ = ()


def typed_keywords(keywords: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Shows a function's ``**options`` as the keywords of a ``TypedDict``, one by one.

    Type checkers and editors read the annotation (``Unpack``); what is made here is for those that
    look at the running function.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        before = [
            parameter.replace(annotation=_written(parameter.annotation))
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        after = [
            _Keyword(name, _Keyword.KEYWORD_ONLY, default=None, annotation=_written(type_))
            for name, type_ in keywords.__annotations__.items()
        ]
        function.__signature__ = _Signature(  # type: ignore[attr-defined]
            [*before, *after], return_annotation=_written(signature.return_annotation)
        )
        return function

    return decorate


def _written(type_: Any) -> Any:
    """A type that is a text, or a reference to one, as that text."""
    text = getattr(type_, "__forward_arg__", type_)
    return _Type(text) if isinstance(text, str) else type_
