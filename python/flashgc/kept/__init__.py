"""Kept results as people see them: tidy rows, tables, and what a picture of them shows.

``flashgc results`` and ``flashgc plot`` show them; :mod:`flashgc.results` has the types of a
result.
"""
