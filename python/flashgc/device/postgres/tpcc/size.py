"""The size of the tables, and the constants of NURand."""

from __future__ import annotations

import random
from dataclasses import dataclass

from flashgc._core import ConfigError

#: Districts per warehouse (clause 1.2.1); the same for every size.
DISTRICTS = 10

#: Items, and customers per district, in the standard (clause 4.3.3.1).
ITEMS, CUSTOMERS = 100_000, 3_000

#: Allowed differences between the constants for last names of the load and of a run (clause
#: 2.1.6.1).
DELTAS = [delta for delta in range(65, 120) if delta not in (96, 112)]


@dataclass(frozen=True)
class Size:
    """The size of the tables (clause 4.3.3.1); a full warehouse takes some 100 MB.

    With fewer ``items`` or ``customers`` than in the standard, the load is for tests and quick
    runs.
    """

    warehouses: int = 1
    #: Items; each warehouse has as many rows of stock. The standard has 100,000.
    items: int = ITEMS
    #: Customers per district; each district has as many initial orders. The standard has 3,000.
    customers: int = CUSTOMERS

    def __post_init__(self) -> None:
        for name, least in (("warehouses", 1), ("items", 10), ("customers", 10)):
            value = getattr(self, name)
            if value < least:
                raise ConfigError(
                    f"{name} of TPC-C: found {value}, expected {least} or more; "
                    f"hint: the standard has {getattr(Size(), name)}"
                )

    def rows(self) -> dict[str, int]:
        """The rows of each table after a load, without ``order_line`` (5 to 15 per order)."""
        orders = self.warehouses * DISTRICTS * self.customers
        return {
            "warehouse": self.warehouses,
            "district": self.warehouses * DISTRICTS,
            "customer": orders,
            "history": orders,
            "orders": orders,
            "new_order": self.warehouses * DISTRICTS * (self.customers * 3 // 10),
            "item": self.items,
            "stock": self.warehouses * self.items,
        }

    def reduced(self) -> list[str]:
        """Return texts on the standard's figures that this size reduces; empty if none."""
        lines = []
        if self.items < ITEMS:
            lines.append(f"items, and stock of a warehouse: {self.items} instead of {ITEMS}")
        if self.customers < CUSTOMERS:
            lines.append(
                f"customers and first orders of a district: {self.customers} instead of {CUSTOMERS}"
            )
        if self.customers < 1_000:
            lines.append(f"last names: {self.customers} instead of 1000")
        return lines


@dataclass(frozen=True)
class Constants:
    """The constants C of NURand (clause 2.1.6): for last names, customers and items."""

    c_last: int
    c_customer: int
    c_item: int


def constants_of_load(seed: int) -> Constants:
    """The constants for the load of the tables."""
    draw = random.Random(f"{seed} constants")
    return Constants(draw.randint(0, 255), draw.randint(0, 1023), draw.randint(0, 8191))


def constants_of_run(load_seed: int, seed: int) -> Constants:
    """The constants of a run on these tables; that for last names obeys clause 2.1.6.1."""
    loaded = constants_of_load(load_seed).c_last
    draw = random.Random(f"{load_seed} {seed} constants")
    allowed = [c for c in range(256) if abs(c - loaded) in DELTAS]
    return Constants(draw.choice(allowed), draw.randint(0, 1023), draw.randint(0, 8191))
