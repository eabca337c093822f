//! Mean fields: the limit of a drive for infinitely many blocks, as a distribution of valid pages.
