"""A run of TPC-C's transactions: their mix, the rows that they write, and found damage."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.conftest import environment
from tests.postgres.conftest import database, is_binomial, needs_postgres

from flashgc import ConfigError
from flashgc._core import Control
from flashgc.device.pace import Pace
from flashgc.device.postgres import tpcc
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.postgres.tpcc.running import MIX

pytestmark = needs_postgres()

W, ITEMS, CUSTOMERS = 3, 500, 100
ORDERS = W * 10 * CUSTOMERS


@pytest.fixture(scope="module")
def loaded(cluster: Cluster) -> Database:
    made = database(cluster, "runs")
    tpcc.load(made, tpcc.Size(W, ITEMS, CUSTOMERS))
    return made


@pytest.fixture(scope="module")
def ran(loaded: Database) -> tpcc.Result:
    loaded.ask("SELECT pg_stat_reset()")
    # A run limited by time ends with unfinished transactions, which pgbench does not count.
    return tpcc.run(loaded, transactions=4000, clients=4, seed=3)


def number(loaded: Database, query: str) -> Decimal:
    return Decimal(loaded.ask(f"SELECT {query}") or 0)


def test_a_run_keeps_the_mix_and_every_condition(ran: tpcc.Result) -> None:
    assert [condition.violations for condition in ran.conditions] == [0, 0, 0, 0]
    assert [condition.number for condition in ran.conditions] == [1, 2, 3, 4]
    assert ran.transactions > 100
    assert sum(kind.transactions for kind in ran.kinds) == ran.transactions
    assert [(kind.name, kind.failed) for kind in ran.kinds] == [(name, 0) for name in MIX]
    for kind in ran.kinds:
        assert is_binomial(kind.transactions, ran.transactions, MIX[kind.name] / 100), kind
        assert 0 < kind.mean_ms < 1000
        assert 0 < kind.percentile_90_ms < 10 * kind.mean_ms
    assert math.isclose(ran.seconds, 4000 / ran.tps, rel_tol=1e-3)
    assert math.isclose(ran.tps, sum(kind.tps for kind in ran.kinds), rel_tol=1e-3)
    per_minute = 60 * ran.kinds[0].tps * (1 - ran.rolled_back / ran.kinds[0].transactions)
    assert math.isclose(ran.new_orders_per_minute, per_minute, rel_tol=1e-3)
    document = json.loads(json.dumps(ran.to_dict()))
    assert document["is_consistent"]
    assert document["kinds"][1]["name"] == "payment"


def test_a_database_that_nobody_checked_is_not_called_consistent(ran: tpcc.Result) -> None:
    assert ran.is_consistent
    broken = replace(ran.conditions[0], violations=1)
    for conditions in ((), (broken, *ran.conditions[1:])):
        assert not replace(ran, conditions=conditions).is_consistent


def test_new_orders_do_what_the_standard_says(loaded: Database, ran: tpcc.Result) -> None:
    new_orders = ran.kinds[0].transactions
    assert is_binomial(ran.rolled_back, new_orders, 0.01)
    placed = number(loaded, "count(*) FROM tpcc.orders") - ORDERS
    assert placed == new_orders - ran.rolled_back
    lines = f"FROM tpcc.order_line WHERE ol_o_id > {CUSTOMERS}"
    count = int(number(loaded, f"count(*) {lines}"))
    # An order has 5 to 15 lines with equal chances: 10 on average, with a variance of 10.
    assert abs(count - 10 * placed) <= 5 * math.sqrt(10 * placed)
    remote = int(number(loaded, f"count(*) {lines} AND ol_supply_w_id <> ol_w_id"))
    assert is_binomial(remote, count, 0.01)
    # All other warehouses are equally likely.
    near = f"count(*) {lines} AND ol_supply_w_id = ol_w_id % {W} + 1"
    assert is_binomial(int(number(loaded, near)), remote, 0.5)
    local = "count(*) FROM tpcc.orders WHERE o_all_local = 0"
    several = f"count(DISTINCT (ol_w_id, ol_d_id, ol_o_id)) {lines} AND ol_supply_w_id <> ol_w_id"
    assert number(loaded, local) == number(loaded, several)
    # The counts of the stock are equal to those of the order lines.
    for of_stock, of_lines in (
        ("sum(s_order_cnt)", f"count(*) {lines}"),
        ("sum(s_ytd)", f"sum(ol_quantity) {lines}"),
        ("sum(s_remote_cnt)", f"count(*) {lines} AND ol_supply_w_id <> ol_w_id"),
    ):
        assert number(loaded, f"{of_stock} FROM tpcc.stock") == number(loaded, of_lines)
    low = "count(*) FROM tpcc.stock WHERE s_quantity NOT BETWEEN 0 AND 100"
    assert number(loaded, low) == 0
    wrong = f"count(*) {lines} AND ol_amount <> ol_quantity * (SELECT i_price FROM tpcc.item"
    assert number(loaded, f"{wrong} WHERE i_id = ol_i_id)") == 0
    other = f"count(*) {lines} AND ol_dist_info <> (SELECT CASE ol_d_id"
    cases = " ".join(f"WHEN {d} THEN s_dist_{d:02}" for d in range(1, 11))
    where = "END FROM tpcc.stock WHERE s_w_id = ol_supply_w_id AND s_i_id = ol_i_id)"
    assert number(loaded, f"{other} {cases} {where}") == 0


def test_payments_do_what_the_standard_says(loaded: Database, ran: tpcc.Result) -> None:
    payments = ran.kinds[1].transactions
    made = "FROM tpcc.history WHERE h_date <> timestamp '2026-01-01'"
    assert number(loaded, f"count(*) {made}") == payments
    remote = int(number(loaded, f"count(*) {made} AND h_c_w_id <> h_w_id"))
    assert is_binomial(remote, payments, 0.15)
    moved = "(h_c_d_id <> h_d_id) AND h_c_w_id = h_w_id"
    assert number(loaded, f"count(*) {made} AND {moved}") == 0
    low, high, mean = map(
        float,
        loaded.ask(f"SELECT min(h_amount), max(h_amount), avg(h_amount) {made}").split("|"),
    )
    assert 1 <= low < high <= 5000
    assert abs(mean - 2500.5) < 5 * 1443 / math.sqrt(payments)
    # Conditions 8 and 9 of the standard, and 12 in sum: money is neither made nor lost.
    paid = number(loaded, "sum(h_amount) FROM tpcc.history")
    assert number(loaded, "sum(w_ytd) FROM tpcc.warehouse") == paid
    assert number(loaded, "sum(d_ytd) FROM tpcc.district") == paid
    assert number(loaded, "sum(c_ytd_payment) FROM tpcc.customer") == paid
    delivered = number(
        loaded, "sum(ol_amount) FROM tpcc.order_line WHERE ol_delivery_d IS NOT NULL"
    )
    assert number(loaded, "sum(c_balance) FROM tpcc.customer") == delivered - paid
    bad = "count(*) FROM tpcc.customer WHERE c_credit = 'BC' AND c_payment_cnt > 1 AND NOT"
    assert number(loaded, f"{bad} c_data ~ '^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9.]+ '") == 0


def test_six_of_ten_customers_are_chosen_by_name(loaded: Database, ran: tpcc.Result) -> None:
    scans = "idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'customer_by_name'"
    chosen = ran.kinds[1].transactions + ran.kinds[2].transactions
    assert is_binomial(int(number(loaded, scans)), chosen, 0.6)


def test_deliveries_take_the_oldest_orders(loaded: Database, ran: tpcc.Result) -> None:
    deliveries = ran.kinds[3].transactions
    taken = number(loaded, "sum(c_delivery_cnt) FROM tpcc.customer")
    assert 9 * deliveries <= taken <= 10 * deliveries
    waiting = number(loaded, "count(*) FROM tpcc.new_order")
    placed = ran.kinds[0].transactions - ran.rolled_back
    assert waiting == W * 10 * 30 + placed - taken
    # An order waits or has a carrier, and the oldest of a district do not wait.
    wrong = (
        "count(*) FROM tpcc.orders LEFT JOIN tpcc.new_order ON (no_w_id, no_d_id, no_o_id) = "
        "(o_w_id, o_d_id, o_id) WHERE (no_o_id IS NULL) <> (o_carrier_id IS NOT NULL)"
    )
    assert number(loaded, wrong) == 0


_DISTRICT = "no_w_id = 1 AND no_d_id = 1"
OLDEST = f"{_DISTRICT} AND no_o_id = (SELECT min(no_o_id) FROM tpcc.new_order WHERE {_DISTRICT})"

#: The number of a condition, a statement that breaks it in one place, and one that repairs it.
BREAKS = [
    (
        1,
        "UPDATE tpcc.warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2",
        "UPDATE tpcc.warehouse SET w_ytd = w_ytd - 0.01 WHERE w_id = 2",
    ),
    (
        2,
        "UPDATE tpcc.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 10",
        "UPDATE tpcc.district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 10",
    ),
    (  # The last order no longer waits, though earlier ones do.
        2,
        "DELETE FROM tpcc.new_order USING tpcc.district WHERE no_w_id = 3 AND no_d_id = 7 "
        "AND d_w_id = 3 AND d_id = 7 AND no_o_id = d_next_o_id - 1",
        "INSERT INTO tpcc.new_order SELECT d_next_o_id - 1, 7, 3 FROM tpcc.district "
        "WHERE d_w_id = 3 AND d_id = 7",
    ),
    (
        3,
        f"UPDATE tpcc.new_order SET no_o_id = no_o_id - 5 WHERE {OLDEST}",
        f"UPDATE tpcc.new_order SET no_o_id = no_o_id + 5 WHERE {OLDEST}",
    ),
    (
        4,
        "UPDATE tpcc.orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 3 AND o_d_id = 1 "
        "AND o_id = 2",
        "UPDATE tpcc.orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 3 AND o_d_id = 1 "
        "AND o_id = 2",
    ),
]


@pytest.mark.parametrize(("broken", "change", "back"), BREAKS)
def test_what_breaks_a_condition_is_found_by_that_one(
    loaded: Database, broken: int, change: str, back: str
) -> None:
    loaded.ask(change)
    found = tpcc.check(loaded)
    loaded.ask(back)
    assert {one.number: one.violations for one in found if not one.holds} == {broken: 1}
    assert all(one.holds for one in tpcc.check(loaded))


def test_a_client_asks_for_the_same_with_the_same_seed(cluster: Cluster) -> None:
    tpcc.load(database(cluster, "fresh"), tpcc.Size(2, 100, 10))

    def payments(name: str, seed: int) -> list[str]:
        made = database(cluster, name, "fresh")
        tpcc.run(made, seconds=1, clients=1, seed=seed)
        # The constant of NURand follows the seed too, but does not touch amounts.
        paid = "SELECT h_amount, h_w_id FROM tpcc.history WHERE h_amount <> 10"
        return made.ask(f"{paid} ORDER BY h_date").splitlines()

    first, again, other = payments("first", 1), payments("again", 1), payments("other", 2)
    least = min(map(len, (first, again, other)))
    assert least > 10
    assert first[:least] == again[:least]
    assert first[:least] != other[:least]


def test_a_run_that_is_stopped_says_what_it_has_done(loaded: Database) -> None:
    control = Control()

    def show(_share: float, what: str, done: int, unit: str) -> None:
        assert (what, unit) == ("running TPC-C", "seconds")
        if done >= 1:
            control.cancel()

    began = time.monotonic()
    result = tpcc.run(loaded, seconds=60, clients=2, pace=Pace(show, control))
    assert time.monotonic() - began < 30
    assert 0 < result.seconds < 20
    assert result.transactions > 10
    assert result.is_consistent


def test_the_command_says_what_it_found(loaded: Database) -> None:
    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flashgc.command.tpcc", *words],
            env=environment(),
            capture_output=True,
            text=True,
        )

    dsn = ("--dsn", loaded.dsn)
    good = command("check", *dsn)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("condition 1 holds: w_ytd of a warehouse is the sum of its ")
    ran = command("run", *dsn, "--seconds", "1", "--json")
    assert json.loads(ran.stdout)["transactions"] > 10
    loaded.ask("UPDATE tpcc.warehouse SET w_ytd = w_ytd + 1")
    bad = command("check", *dsn)
    loaded.ask("UPDATE tpcc.warehouse SET w_ytd = w_ytd - 1")
    assert bad.returncode == 1
    assert bad.stdout.startswith(f"condition 1 violated {W} times: ")
    wrong = command("run", "--dsn", "host=/nowhere")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("error: psql ended with code 2: ")
    assert wrong.stderr.count("\n") == 1


def test_a_run_of_nothing_is_refused(loaded: Database) -> None:
    with pytest.raises(ConfigError, match="found 0 s and 1 clients, expected 1 s, 1 client"):
        tpcc.run(loaded, seconds=0, clients=1)
    with pytest.raises(ConfigError, match="found 3 transactions and 4 clients"):
        tpcc.run(loaded, clients=4, transactions=3)


def test_a_run_of_transactions_has_as_many(loaded: Database) -> None:
    shown = []

    def show(_share: float, what: str, done: int, unit: str) -> None:
        shown.append((what, done, unit))

    result = tpcc.run(loaded, clients=4, transactions=4003, pace=Pace(show, Control()))
    assert result.transactions == 4000
    assert result.is_consistent
    assert shown[0] == ("running TPC-C", 0, "transactions")
    control = Control()
    control.cancel()
    with pytest.raises(KeyboardInterrupt):
        tpcc.run(loaded, clients=4, transactions=10**9, pace=Pace(show, control))
