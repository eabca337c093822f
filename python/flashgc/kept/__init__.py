"""Kept results as people see them: tidy rows, tables, and what a picture of them shows."""
