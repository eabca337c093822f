"""``flashgc schema``: the JSON schema of experiment files."""

from __future__ import annotations

import json
from typing import Any

import click

from flashgc.command.declaring import command
from flashgc.options import (
    SECTIONS,
    TENANT_KEYS,
    Option,
    default_of,
    help_of,
    names,
    of_section,
)


@command()
def schema() -> None:
    """Print the JSON schema of experiment files, for editors that complete and check.

    Example:
      flashgc schema > experiment.schema.json
    Editors then complete and check a file that begins with
      #:schema experiment.schema.json
    """
    click.echo(schema_text())


def schema_text() -> str:
    """The schema as a document."""
    return json.dumps(json_schema(), indent=2)


#: The JSON types of values, by kind; all others are texts.
_TYPES: dict[str, list[str]] = {
    "count": ["integer", "string"],
    "amount": ["number", "string"],
    "size": ["integer", "string"],
    "pages": ["integer", "string"],
    "share": ["number", "string"],
    "number": ["number", "string"],
}


def json_schema() -> dict[str, Any]:
    """The schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "flashgc experiment",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            section.name: {
                "description": section.summary,
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    option.key: _property(option) for option in of_section(section.name)
                },
            }
            for section in SECTIONS
        }
        | {"tenant": _tenants()},
    }


def _tenants() -> dict[str, Any]:
    return {
        "description": "The hosts that share a drive with a clock",
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": [key.name for key in TENANT_KEYS.values() if not key.default],
            "properties": {
                key.name: {
                    "description": key.help,
                    "type": ["string", "number"],
                    "examples": [key.example],
                }
                for key in TENANT_KEYS.values()
            },
        },
    }


def _property(option: Option) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _TYPES.get(option.kind, "string")}
    if option.needs_unit:
        one = {"type": "string"}
    if option.kind in ("word", "yes-no"):
        one = {"enum": [*names(option), *((True, False) if option.kind == "yes-no" else ())]}
    many = {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}
    made: dict[str, Any] = {"description": help_of(option, flags=False)}
    made |= {"anyOf": [one, many]} if option.several else many if option.listing else one
    if default := default_of(option):
        made["default" if default == option.usual else "$comment"] = (
            default if default == option.usual else f"default: {default}"
        )
    if option.example:
        made["examples"] = [option.example]
    return made
