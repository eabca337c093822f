"""The consistency of a database, as the standard's clause 3.3.2 has it."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.device.postgres.tpcc.target import Target, database, made, sql

#: The first four conditions, which every system must show to hold.
CONDITIONS = {
    1: "w_ytd of a warehouse is the sum of its districts' d_ytd",
    2: "d_next_o_id - 1 of a district is its largest o_id, and its largest no_o_id",
    3: "the no_o_id of a district have no gap",
    4: "a district has as many order lines as the o_ol_cnt of its orders say",
}


@dataclass(frozen=True)
class Condition:
    """A consistency condition, and how many warehouses (1) or districts (2 to 4) violate it."""

    number: int
    what: str
    violations: int

    @property
    def holds(self) -> bool:
        """True if nothing violates it."""
        return self.violations == 0


def check(target: Target) -> list[Condition]:
    """The conditions 1 to 4 of clause 3.3.2, each counted by a query over whole tables."""
    where = database(target)
    made(where)
    found = [line.split("|") for line in where.ask(sql("conditions.sql")).splitlines()]
    return [Condition(int(one), CONDITIONS[int(one)], int(count)) for one, count in found]
