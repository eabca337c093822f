"""Text that somebody else chose: names of files, traces, results and hosts, on each medium.

A name may hold what steers a terminal, a second line, or markup. One function for each medium makes
it harmless, and nothing else does. On a terminal and in a pipe the standard streams of the command
escape what steers (:mod:`flashgc.terminal.guard`), so only newlines are left to :func:`one_line`.
"""

from __future__ import annotations

import unicodedata

#: Kinds of characters that steer: controls, formats (directions of writing among them), halves of
#: pairs, and separators of lines.
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")

_MARKDOWN = {char: f"\\{char}" for char in "\\`*_[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def for_terminal(text: str) -> str:
    r"""``text`` with escapes for the characters that steer a terminal; lines stay lines.

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
    r"""A name in one line of a terminal or a message.

    >>> one_line("a\nb\x9b")
    'a\\nb\\x9b'
    """
    return for_terminal(text).replace("\n", "\\n").replace("\t", "\\t")


def for_markdown(text: str) -> str:
    r"""``text`` as it stands in a cell or a sentence of Markdown, which may hold HTML.

    >>> for_markdown("<img onerror=x> a|b")
    '&lt;img onerror=x&gt; a\\|b'
    """
    return "".join(_MARKDOWN.get(char, char) for char in one_line(text))


def for_html(text: str) -> str:
    r"""``text`` as it stands in HTML and SVG, in an attribute too.

    >>> for_html("<b> & \"")
    '&lt;b&gt; &amp; &quot;'
    """
    import html  # 2,000 names of characters: only pages need them.

    # XML has no place for controls, also not escaped ones.
    return html.escape(for_terminal(text))


def for_openmetrics(text: str) -> str:
    r"""``text`` as the value of a label, or a help text, of OpenMetrics.

    >>> for_openmetrics('a"b\nc')
    'a\\"b\\nc'
    """
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode()
