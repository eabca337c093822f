"""Grids of experiments: what the cells are, where they run, what came of them, their report."""
