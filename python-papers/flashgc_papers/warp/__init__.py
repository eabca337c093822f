"""WARP's emulated FDP drives: amplification of three streams by handles."""
