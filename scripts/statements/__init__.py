"""A campaign on printed findings: random inputs that try to make each finding false."""
