"""``make statements``: random inputs that try to make what is printed false.

The first argument is their number, the second the seed of the first one.
"""

from __future__ import annotations

import sys

from scripts.statements.campaign import campaign

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sys.exit(campaign(count, first))
