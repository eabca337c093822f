"""Outcomes as people read them: a module for each command, or for a part of a result."""
