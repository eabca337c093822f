"""Outcomes of studies as people read them: a module for each command."""
