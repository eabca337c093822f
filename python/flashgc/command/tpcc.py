"""``python -m flashgc.command.tpcc``: the TPC-C-like load on any database."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from flashgc._core import Control
from flashgc.command.declaring import adds, command
from flashgc.command.entrance import FAILED, OK, enter
from flashgc.device.pace import Pace
from flashgc.device.postgres import tpcc
from flashgc.terminal.progress import Bars
from flashgc.units import format_count, parse_count


@adds()
def _dsn(dsn: str) -> None:
    """The database.

    Options:
      --dsn
          Connection string of libpq for the database: 'host=/tmp dbname=tpcc'.
    """


@command(cls=click.Group)
def cli() -> None:
    """A TPC-C-like load on PostgreSQL. Not audited: its figures are not TPC-C results."""


@command(group=cli, items={"default": "1e5"}, customers={"default": "3000"})
@_dsn
def load(dsn: str, warehouses: str, items: str, customers: str, seed: str, replace: bool) -> int:
    """Make the schema tpcc and fill its tables.

    Options:
      --warehouses
          Number of warehouses, each of some 100 MB. [default: 1]
      --items
          Number of items. [default: the standard's 100,000]
      --customers
          Customers per district. [default: the standard's 3,000]
      --seed
          Seed of the rows. [default: 1]
      --replace
          Remove the schema tpcc if it exists.
    """
    size = tpcc.Size(
        parse_count(warehouses, "--warehouses"),
        parse_count(items, "--items"),
        parse_count(customers, "--customers"),
    )
    with Bars(quiet=False) as bars:
        pace = Pace(bars.show, Control())
        tpcc.load(dsn, size, parse_count(seed, "--seed"), pace, replace=replace)
    for table, rows in size.rows().items():
        click.echo(f"{table}: {format_count(rows)} rows")
    for figure in size.reduced():
        click.echo(f"less than the standard's {figure}")
    return OK


@command(group=cli)
@_dsn
def run(dsn: str, seconds: float, clients: str, seed: str, as_json: bool) -> int:
    """Run the transactions, then check the conditions.

    Options:
      --seconds
          [default: 60]
      --clients
          [default: 8]
      --seed
          Seed of the clients' transactions. [default: 1]
      --json
    """
    with Bars(quiet=False) as bars:
        result = tpcc.run(
            dsn,
            seconds,
            parse_count(clients, "--clients"),
            parse_count(seed, "--seed"),
            Pace(bars.show, Control()),
        )
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    else:
        click.echo("TPC-C-like, not audited")
        click.echo(f"{result.tps:.1f} transactions/s, {result.rolled_back} rolled back")
        for kind in result.kinds:
            click.echo(
                f"  {kind.name}: {format_count(kind.transactions)}, {kind.tps:.1f}/s, "
                f"{kind.mean_ms:.2f} ms on average, 90% in {kind.percentile_90_ms:.2f} ms"
            )
        _show(result.conditions)
    return OK if result.is_consistent else FAILED


@command(group=cli)
@_dsn
def check(dsn: str, as_json: bool) -> int:
    """Check the consistency conditions 1 to 4 of the standard's clause 3.3.2.

    Options:
      --json
    """
    conditions = tpcc.check(dsn)
    if as_json:
        click.echo(json.dumps([asdict(condition) for condition in conditions], indent=2))
    else:
        _show(conditions)
    return OK if all(condition.holds for condition in conditions) else FAILED


def _show(conditions: Any) -> None:
    for condition in conditions:
        text = "holds" if condition.holds else f"violated {condition.violations} times"
        click.echo(f"condition {condition.number} {text}: {condition.what}")


if __name__ == "__main__":
    sys.exit(enter(sys.argv[1:], cli, "python -m flashgc.command.tpcc"))
