"""Text output for people: a module for each command, or for a part of a result."""
