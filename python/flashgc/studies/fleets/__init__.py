"""Fleets: a trace of many volumes, each on a drive of its own size, and how they differ."""
