"""Conformance of victim policies: what the registered ones are held to, for policies in Python."""

from __future__ import annotations


def check_policy(policy: object) -> None:
    """Placeholder until the pieces in the engine are there."""
