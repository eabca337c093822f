"""A campaign against what is printed: random inputs, and each finding tried to be made false."""
