"""Text from others (names of files, traces, results and hosts) made safe for each medium.

A name may contain control characters of a terminal, line breaks, or markup. This module has one
function for each medium; no other code makes such names harmless. For terminals and pipes, the
command's standard streams escape control characters (:mod:`flashgc.terminal.guard`), so that
:func:`one_line` only has to escape line breaks.
"""

from __future__ import annotations

import unicodedata

#: Unicode categories of characters that may change what a terminal shows: controls, formats (which
#: include the writing direction), surrogates, and line separators.
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")

_MARKDOWN = {char: f"\\{char}" for char in "\\`*_[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def for_terminal(text: str) -> str:
    r"""``text`` with escapes for control characters of a terminal, except for line breaks.

    >>> for_terminal("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in _STEERING else _escape(char)
        for char in text
    )


def one_line(text: str) -> str:
    r"""A name as one line of a terminal or a message.

    >>> one_line("a\nb\x9b")
    'a\\nb\\x9b'
    """
    return for_terminal(text).replace("\n", "\\n").replace("\t", "\\t")


def for_markdown(text: str) -> str:
    r"""``text`` escaped for a cell or a sentence of Markdown, which may contain HTML.

    >>> for_markdown("<img onerror=x> a|b")
    '&lt;img onerror=x&gt; a\\|b'
    """
    return "".join(_MARKDOWN.get(char, char) for char in one_line(text))


def for_html(text: str) -> str:
    r"""``text`` escaped for HTML and SVG, also for attributes.

    >>> for_html("<b> & \"")
    '&lt;b&gt; &amp; &quot;'
    """
    import html  # It loads 2,000 names of characters, which only pages need.

    # XML permits no control characters, not even escaped ones.
    return html.escape(for_terminal(text))


def for_openmetrics(text: str) -> str:
    r"""``text`` escaped for a label's value or a help text of OpenMetrics.

    >>> for_openmetrics('a"b\nc')
    'a\\"b\\nc'
    """
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode()
