"""The commands of the trials: a module for each."""
