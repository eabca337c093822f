"""The commands of the studies: a module for each."""
