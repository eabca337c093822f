"""Trials of programs on stored drives: many settings, or many power cuts, for one answer."""
