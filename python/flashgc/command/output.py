"""Options that name a file: what cannot be written is refused before the work starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashgc import _files


def option(example: str) -> Callable[[Any, Any, str | None], str | None]:
    """The callback of such an option: refuses a name that cannot be written.

    ``example`` is a name that would do.
    """

    def check(_context: Any, parameter: Any, value: str | None) -> str | None:
        if value is not None:
            _files.check(value, parameter.opts[0], example)
        return value

    return check
