"""What the engine decides for some 300 small configurations, recorded.

``configurations`` lists them, ``recorded.json`` has what came of them, and
``tests/test_decisions.py`` runs them all again. ``python tests/decisions/record.py`` records.
"""
