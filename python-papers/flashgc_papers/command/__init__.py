"""``flashgc reproduce``, the command: its options, and what is shown."""
