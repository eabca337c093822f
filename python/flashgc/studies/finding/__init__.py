"""Inverse questions on any workload: the first value of an option that is good enough."""
