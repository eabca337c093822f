"""The papers' tables and figures, run again: tasks, cache, verdicts, the page that shows them."""
