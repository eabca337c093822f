"""Inverse questions on any workload: which value of an option is the first that is good enough."""
