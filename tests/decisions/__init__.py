"""The recorded decisions of the engine for some 600 small configurations.

``configurations`` lists them, ``recorded.json`` has their results, and
``tests/test_decisions.py`` runs them all again. ``python tests/decisions/record.py`` records.
"""
