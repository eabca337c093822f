"""How things look where a person reads them: tables, text, and bars of progress."""
