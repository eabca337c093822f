"""Simulated drives, and how often `flashgc identify` is right on them."""
