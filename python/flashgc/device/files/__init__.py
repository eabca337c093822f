"""Files behind the pages of a drive: who wrote each, and who causes the copies."""
