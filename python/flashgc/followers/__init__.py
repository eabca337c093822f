"""Hints from living software: telling the stored drive which pages its host will soon overwrite.

A package called ``hints``, as the command is, would stand in the place of :func:`flashgc.hints`
once it is imported.
"""
