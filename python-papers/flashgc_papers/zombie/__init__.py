"""Zombie Chasing: collections that know which pages the host will overwrite."""
