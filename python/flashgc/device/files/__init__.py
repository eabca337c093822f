"""The files behind the pages of a drive: which file wrote each page, and which causes copies."""
