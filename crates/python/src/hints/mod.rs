//! What living software will soon overwrite, from Python.
