"""Campaigns over the formats of traces."""
