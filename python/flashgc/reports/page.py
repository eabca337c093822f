"""The page itself: one file that loads nothing, and runs only its own programs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from flashgc import _core
from flashgc._documents import Json, dumps
from flashgc.reports.question import Question, cells, short_name
from flashgc.units import format_count

HERE = Path(__file__).parent

#: The programs of the page; each uses only those before it.
SCRIPTS = ("words", "data", "search", "view", "scales", "marks", "plans", "hear", "pictures",
           "table", "paper", "page")  # fmt: skip


def page(
    title: str, question: Question, document: Mapping[str, Json], wanted: Sequence[str]
) -> bytes:
    """The page; ``document`` is the data for its programs. The same results give the same bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(cells=cells, number=format_count, short_name=short_name)
    style, script = _text("page.css"), _script()
    text = environment.get_template("page.html.j2").render(
        title=title,
        asked=question,
        wanted=wanted,
        version=_core.version(),
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        document=Markup(inside(dumps(dict(document), None))),
    )
    return text.encode("utf-8", "replace")


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _script() -> str:
    body = "\n".join(_text(f"script/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def _hash(text: str) -> str:
    """Return the hash by which a security policy allows this program and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def inside(json: str) -> str:
    r"""JSON with ``<`` escaped, so that no browser takes its texts for markup.

    >>> inside('"</script><!--"')
    '"\\u003c/script>\\u003c!--"'
    """
    return json.replace("<", "\\u003c")
