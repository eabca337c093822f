"""``flashgc schema``: prints the JSON schema of experiment files."""

from __future__ import annotations

import json
from typing import Any

import click

from flashgc._schemes import KEYS
from flashgc._schemes import SECTION as SCHEMES
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
    """The schema as JSON text."""
    return json.dumps(json_schema(), indent=2)


#: The JSON types of values, by kind; other kinds are strings.
_TYPES: dict[str, list[str]] = {
    "count": ["integer", "string"],
    "amount": ["number", "string"],
    "size": ["integer", "string"],
    "pages": ["integer", "string"],
    "share": ["number", "string"],
    "number": ["number", "string"],
}


def json_schema() -> dict[str, Any]:
    """The schema as plain values."""
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
        | {"tenant": _tenants(), SCHEMES: _schemes()},
    }


def _schemes() -> dict[str, Any]:
    return {
        "description": "Schemes, each a victim policy, a placement and a frontier under one name",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "required": ["victim"],
            "properties": {
                key: {"description": text, "type": "string", "examples": [example]}
                for key, (text, example) in KEYS.items()
            },
        },
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
    schema: dict[str, Any] = {"type": _TYPES.get(option.kind, "string")}
    if option.needs_unit:
        schema = {"type": "string"}
    if option.kind in ("word", "yes-no"):
        schema = {"enum": [*names(option), *((True, False) if option.kind == "yes-no" else ())]}
    many = {"type": "array", "items": schema, "minItems": 1, "uniqueItems": True}
    entry: dict[str, Any] = {"description": help_of(option, flags=False)}
    entry |= {"anyOf": [schema, many]} if option.several else many if option.listing else schema
    if default := default_of(option):
        entry["default" if default == option.usual else "$comment"] = (
            default if default == option.usual else f"default: {default}"
        )
    if option.example:
        entry["examples"] = [option.example]
    return entry
