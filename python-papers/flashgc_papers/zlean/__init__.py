"""The simulator of "How to Write to SSDs", program by program, and a page written in place."""
