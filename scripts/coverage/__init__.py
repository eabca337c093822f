"""How often the intervals of results hold the truth, and what is said of them is true."""
