"""Van Houdt's d-choices with memory: the mean field, the simulations and the traces."""
