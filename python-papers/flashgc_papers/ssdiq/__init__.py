"""The garbage-collection simulator of SSD-iq: greedy, and the optimum of separation, under skew."""
