"""Drives of our own making, and how often `flashgc identify` is right on them."""
