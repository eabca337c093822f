"""The terminal: tables, text, and bars of progress."""
