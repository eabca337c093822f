"""BSGC and SFL: block selection and allocation that level wear, and what they gain."""
