"""Zombie Chasing on real software: a drive under PostgreSQL, and under the micro-benchmark.

A *session* runs a workload on a copy of an image (:mod:`flashgc.device.live`) while the host's
hints are followed. A *study* runs the sessions of all policies in turns, several times, and goes on
where it was stopped.
"""
