"""Measures how long drives need to reach their steady state after different first contents."""
