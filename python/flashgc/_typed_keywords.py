"""Keywords of a ``TypedDict`` as a signature that notebooks and shells can complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Type(str):
    """A type as it is written; its ``repr`` has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Signature(inspect.Signature):
    """A signature with all keywords; its text has only its own, as a hundred follow."""

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
    """Show a function's ``**options`` as the single keywords of a ``TypedDict``.

    Type checkers and editors read the annotation (``Unpack``). This signature is for tools that
    inspect the running function.
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
    """A type that is a text, or a forward reference, as that text."""
    text = getattr(type_, "__forward_arg__", type_)
    return _Type(text) if isinstance(text, str) else type_
