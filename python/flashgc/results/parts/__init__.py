"""The parts of results, written by ``make docs`` from the declarations in the engine."""
