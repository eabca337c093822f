"""Measures on simulated drives how often `flashgc identify` is right."""
