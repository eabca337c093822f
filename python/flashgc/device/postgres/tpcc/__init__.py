"""A TPC-C-like load on PostgreSQL. It is not audited, and its figures are not TPC-C results.

The tables, their rows, the five transactions and their mix are those of the TPC-C standard,
revision 5.11. These things differ:

- Nobody thinks or types: each client begins its next transaction at once, and pgbench draws its
  type (45 43 4 4 4) instead of dealing it from a deck.
- A client stands for all terminals: each transaction draws its warehouse and its district.
- A delivery is done at once, not put into a queue.
- A transaction is one call of a function, which draws what would have been typed, and keeps what a
  terminal would show. A new order that is rolled back is rolled back by its client.
- Transactions are isolated as PostgreSQL does by default (READ COMMITTED); rows that they change
  are locked. Foreign keys are not declared.

>>> from flashgc.device.postgres.tpcc import Size
>>> Size(warehouses=2).rows()["customer"]
60000
"""

from flashgc.device.postgres.tpcc.running import Kind, Result, run
from flashgc.device.postgres.tpcc.size import Size
from flashgc.device.postgres.tpcc.target import Condition, check, load

__all__ = ["Condition", "Kind", "Result", "Size", "check", "load", "run"]
