"""Hints from living software: telling the stored drive which pages its host will soon overwrite."""
