"""Parameters of policies in Python: ``python:FILE.py:NAME,alpha=0.25``.

They are keywords of the class or of the function, and have the types of its signature.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from flashgc._core import ConfigError, suggest
from flashgc.foreign import one_line

#: The words of a truth value.
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
#: Articles and names of the types that a parameter may have.
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def bound(policy: object, texts: Mapping[str, str], subject: str) -> object:
    """Return ``policy`` with the parameters ``texts``: a class stays a class.

    A class gets them in its constructor, a function of the blocks as keywords.

    Raises :class:`flashgc.ConfigError`, which begins with ``subject``, for a parameter that
    ``policy`` does not have, for a value of another type, and for a parameter without a value or a
    default.

    >>> def emptiest(blocks, *, ties: int = 0): ...
    >>> bound(emptiest, {"ties": "3"}, "victim").keywords
    {'ties': 3}
    >>> bound(emptiest, {"tie": "3"}, "victim")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: victim: emptiest has no parameter 'tie'; hint: did you mean 'ties'?
    """
    known = parameters(policy)
    name = getattr(policy, "__name__", type(policy).__name__)
    for word in texts:
        if word not in known:
            hint = suggest(word, list(known)) if known else "leave it out, it has no parameters"
            shown = one_line(word)
            raise ConfigError(f"{subject}: {name} has no parameter '{shown}'; hint: {hint}")
    for word, parameter in known.items():
        if parameter.default is parameter.empty and word not in texts:
            raise ConfigError(
                f"{subject}: {name} needs its parameter {word}; hint: write {name},{word}=VALUE"
            )
    if not texts:
        return policy
    values = {
        word: _value(text, _type(policy, known[word]), f"{subject}: {name},{word}")
        for word, text in texts.items()
    }
    if inspect.isclass(policy):
        return _subclass(policy, values)
    return functools.partial(typing.cast("Callable[..., Any]", policy), **values)


def parameters(policy: object) -> dict[str, inspect.Parameter]:
    """The parameters of a class, or those of a function after its first, which is the blocks.

    An object has none: it was made by its file.
    """
    if not (inspect.isclass(policy) or inspect.isfunction(policy)):
        return {}
    try:
        signature = list(inspect.signature(policy).parameters.values())
    except (TypeError, ValueError):
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not inspect.isclass(policy):
        signature = signature[1:]
    return {parameter.name: parameter for parameter in signature if parameter.kind in kinds}


def _subclass(policy: type, values: Mapping[str, Any]) -> type:
    """A class like ``policy`` whose constructor has the parameters already."""

    def construct(self: Any) -> None:
        policy.__init__(self, **values)  # type: ignore[misc]

    return types.new_class(
        policy.__name__,
        (policy,),
        exec_body=lambda names: names.update(
            __init__=construct,
            __module__=policy.__module__,
            __qualname__=policy.__qualname__,
            __doc__=policy.__doc__,
        ),
    )


def _type(policy: object, parameter: inspect.Parameter) -> Any:
    """The type of a parameter: by its annotation, else by its default; ``None`` if unknown."""
    annotation = parameter.annotation
    if isinstance(annotation, str):  # `from __future__ import annotations`
        maker = getattr(policy, "__init__", None) if inspect.isclass(policy) else policy
        names = {**vars(builtins), **vars(typing), **getattr(maker, "__globals__", {})}
        try:
            annotation = eval(annotation, names)  # The file that wrote it has run already.
        except Exception:
            annotation = parameter.empty
    if annotation in _TYPES or typing.get_origin(annotation) is typing.Literal:
        return annotation
    return type(parameter.default) if type(parameter.default) in _TYPES else None


def _value(text: str, kind: Any, subject: str) -> Any:
    """The value that ``text`` names, of the type ``kind``.

    Without a type it is a whole number, a number, a truth value or a text, whichever fits first.

    >>> [_value(text, None, "") for text in ("3", "0.25", "true", "fast")]
    [3, 0.25, True, 'fast']
    """
    if kind is None:
        for guess in (int, float, bool):
            try:
                return _value(text, guess, subject)
            except ConfigError:
                continue
        return text
    if typing.get_origin(kind) is typing.Literal:
        choices = {str(choice): choice for choice in typing.get_args(kind)}
        if text not in choices:
            raise ConfigError(
                f"{subject}: found '{one_line(text)}', expected {', '.join(choices)}; "
                f"hint: {suggest(text, list(choices))}"
            )
        return choices[text]
    try:
        return _TRUTHS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise ConfigError(
            f"{subject}: found '{one_line(text)}', expected {_TYPES[kind]}; "
            f"hint: {subject.rpartition(',')[2]}={_EXAMPLES[kind]}"
        ) from None


_EXAMPLES = {bool: "true", int: "3", float: "0.25", str: "a"}
