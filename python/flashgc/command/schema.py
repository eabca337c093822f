"""``flashgc schema``: the JSON schema of experiment files."""

from __future__ import annotations

import json
from typing import Any

import click

from flashgc.command.entrance import CONTEXT


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Example:
  flashgc schema > experiment.schema.json
Editors then complete and check a file that begins with
  #:schema experiment.schema.json""",
)
def schema() -> None:
    """Print the JSON schema of experiment files, for editors that complete and check."""
    click.echo(schema_text())


def schema_text() -> str:
    """The schema as a document."""
    return json.dumps(json_schema(), indent=2)


def json_schema() -> dict[str, Any]:
    """The schema."""
    from flashgc.experiment import Experiment

    made = Experiment.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "title": "flashgc experiment",
    }
