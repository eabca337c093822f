"""The rows of TPC-C's tables after a load, and the distributions of its random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.postgres.conftest import database, is_binomial, needs_postgres

from flashgc import ConfigError
from flashgc._core import Control
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError, tpcc
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.postgres.tpcc.size import constants_of_load, constants_of_run

pytestmark = needs_postgres()

W, ITEMS, CUSTOMERS = 2, 500, 30
SIZE = tpcc.Size(W, ITEMS, CUSTOMERS)

#: The number of samples of a distribution.
SAMPLES = 100_000


@pytest.fixture(scope="module")
def loaded(cluster: Cluster) -> Database:
    made = database(cluster, "rows")
    tpcc.load(made, SIZE, seed=5)
    return made


def test_the_standard_has_so_many_rows() -> None:
    # Clause 4.3.3.1, for one warehouse.
    assert tpcc.Size().rows() == {
        "warehouse": 1,
        "district": 10,
        "customer": 30_000,
        "history": 30_000,
        "orders": 30_000,
        "new_order": 9_000,
        "item": 100_000,
        "stock": 100_000,
    }
    assert tpcc.Size(warehouses=7).reduced() == []
    assert len(SIZE.reduced()) == 3


def test_a_load_makes_as_many_rows_as_its_size_says(loaded: Database) -> None:
    expected = {
        "warehouse": 2,
        "district": 20,
        "customer": 20 * 30,
        "history": 20 * 30,
        "orders": 20 * 30,
        "new_order": 20 * 9,
        "item": 500,
        "stock": 2 * 500,
    }
    assert SIZE.rows() == expected
    for table, rows in expected.items():
        assert int(loaded.ask(f"SELECT count(*) FROM tpcc.{table}")) == rows, table
    lines = "SELECT min(n), max(n), sum(n) FROM (SELECT o_ol_cnt AS n FROM tpcc.orders) AS x"
    least, most, total = map(int, loaded.ask(lines).split("|"))
    assert (least, most) == (5, 15)
    assert int(loaded.ask("SELECT count(*) FROM tpcc.order_line")) == total
    assert all(condition.holds for condition in tpcc.check(loaded))


def test_the_first_orders_are_those_of_the_standard(loaded: Database) -> None:
    def ask(query: str) -> list[str]:
        return loaded.ask(query).split("|")

    # Each customer has one order; the first 21 of 30 of a district are delivered.
    orders = "SELECT count(DISTINCT (o_w_id, o_d_id, o_c_id)), max(o_id) FROM tpcc.orders"
    assert ask(orders) == ["600", "30"]
    split = "o_carrier_id IS NOT NULL, min(o_id), max(o_id), count(*)"
    assert loaded.ask(f"SELECT {split} FROM tpcc.orders GROUP BY 1 ORDER BY 1").split() == [
        "f|22|30|180",
        "t|1|21|420",
    ]
    waiting = "SELECT count(*) FROM tpcc.new_order JOIN tpcc.orders ON (no_w_id, no_d_id, no_o_id)"
    assert ask(f"{waiting} = (o_w_id, o_d_id, o_id) WHERE o_carrier_id IS NULL") == ["180"]
    lines = (
        "FROM tpcc.order_line JOIN tpcc.orders "
        "ON (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id)"
    )
    wrong = "(ol_delivery_d IS NULL) <> (o_carrier_id IS NULL) OR (ol_amount = 0) <> (o_id <= 21)"
    assert ask(f"SELECT count(*) {lines} WHERE {wrong}") == ["0"]
    # The foreign keys of clause 1.3 hold.
    assert ask(f"SELECT count(*) {lines}") == ask("SELECT count(*) FROM tpcc.order_line")
    strays = "FROM tpcc.order_line LEFT JOIN tpcc.stock ON (s_w_id, s_i_id)"
    assert ask(f"SELECT count(*) {strays} = (ol_supply_w_id, ol_i_id) WHERE s_i_id IS NULL") == [
        "0"
    ]
    # The order of customers differs between districts.
    first = "SELECT count(DISTINCT o_c_id) > 5 FROM tpcc.orders WHERE o_id = 1"
    assert ask(first) == ["t"]


def test_the_texts_are_those_of_the_standard(loaded: Database) -> None:
    originals = "SELECT count(*) FROM tpcc.stock WHERE s_data LIKE '%ORIGINAL%'"
    assert is_binomial(int(loaded.ask(originals)), W * ITEMS, 0.1)
    bad = "SELECT count(*) FROM tpcc.customer WHERE c_credit = 'BC'"
    assert is_binomial(int(loaded.ask(bad)), 600, 0.1)
    for table, column, least, most in (
        ("customer", "c_data", 300, 500),
        ("customer", "c_first", 8, 16),
        ("customer", "c_phone", 16, 16),
        ("stock", "s_dist_07", 24, 24),
        ("stock", "s_data", 26, 50),
        ("item", "i_name", 14, 24),
    ):
        lengths = f"SELECT min(length({column})), max(length({column})) FROM tpcc.{table}"
        low, high = map(int, loaded.ask(lengths).split("|"))
        assert least <= low <= high <= most, column
        assert high - low >= (most - least) * 0.8, column
    odd = "SELECT count(*) FROM tpcc.stock WHERE s_dist_01 || s_dist_02 || s_data ~ '[^0-9A-Za-z]'"
    assert loaded.ask(odd) == "0"
    same = "SELECT count(DISTINCT s_dist_01), count(DISTINCT s_dist_10) FROM tpcc.stock"
    assert loaded.ask(same) == "1000|1000"


def test_last_names_follow_the_rule_of_syllables(loaded: Database) -> None:
    # 371 is the example of clause 4.3.2.3.
    for number, name in (
        (0, "BARBARBAR"),
        (371, "PRICALLYOUGHT"),
        (40, "BARPRESBAR"),
        (256, "ABLEESEANTI"),
        (889, "ATIONATIONEING"),
        (999, "EINGEINGEING"),
    ):
        assert loaded.ask(f"SELECT tpcc.last_name({number})") == name
    names = "SELECT count(DISTINCT c_last) FROM tpcc.customer WHERE c_w_id = 1 AND c_d_id = 1"
    assert loaded.ask(names) == str(CUSTOMERS)


def test_of_customers_of_one_name_the_middle_one_is_chosen(loaded: Database) -> None:
    # Of three customers, the second by first name is chosen; of four, too (clause 2.5.2.2).
    for ids, middle in (((9, 5, 12), 5), ((9, 5, 12, 3), 5), ((9, 5, 12, 3, 7), 12)):
        values = ", ".join(f"({c}, 'first {rank}')" for rank, c in enumerate(ids))
        chosen = loaded.ask(
            "BEGIN; UPDATE tpcc.customer SET c_last = 'other' WHERE c_w_id = 2 AND c_d_id = 4;"
            "UPDATE tpcc.customer SET c_last = 'BARBARBAR', c_first = first "
            f"FROM (VALUES {values}) AS v (c, first) WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = c;"
            # With a size of one customer, the only number is 1 and the only name is BARBARBAR.
            "SELECT DISTINCT tpcc.chosen_customer(2, 4, 1, 7, 8) FROM generate_series(1, 60);"
            "ROLLBACK"
        )
        assert {int(line) for line in chosen.splitlines()} == {1, middle}


def naive(a: int, lo: int, hi: int, c: int) -> np.ndarray:
    """The probability of each number from ``lo`` to ``hi``, by counting all pairs of draws."""
    ends = np.zeros(hi - lo + 1)
    ranks = np.arange(lo, hi + 1)
    for first in range(a + 1):
        ends += np.bincount(((first | ranks) + c) % (hi - lo + 1), minlength=len(ends))
    return ends / ends.sum()


@pytest.mark.parametrize(
    ("a", "lo", "hi", "c"), [(255, 0, 999, 157), (1023, 1, 3000, 987), (8191, 1, 500, 5000)]
)
def test_nurand_falls_as_two_draws_do(loaded: Database, a: int, lo: int, hi: int, c: int) -> None:
    drawn = "WITH drawn AS (SELECT tpcc.nurand(:a, :lo, :hi, :c) AS n FROM generate_series(1, :s))"
    loaded_counts = loaded.ask(
        f"SELECT setseed(0.5) \\g /dev/null\n{drawn} SELECT n, count(*) FROM drawn GROUP BY n",
        a=a,
        lo=lo,
        hi=hi,
        c=c,
        s=SAMPLES,
    )
    found = np.zeros(hi - lo + 1)
    for line in loaded_counts.splitlines():
        number, count = map(int, line.split("|"))
        found[number - lo] = count
    chances = naive(a, lo, hi, c)
    assert found[chances == 0].sum() == 0
    # Rare numbers are counted together, so that chi square is valid.
    order = np.argsort(chances)
    bins = np.minimum((np.cumsum(chances[order]) * 100).astype(int), 99)
    expected = np.bincount(bins, chances[order], 100) * SAMPLES
    counted = np.bincount(bins, found[order], 100)
    used = expected > 0
    square = ((counted - expected)[used] ** 2 / expected[used]).sum()
    free = used.sum() - 1
    assert abs(square - free) <= 5 * math.sqrt(2 * free)


def test_the_constant_of_a_run_is_as_far_from_its_loads_as_the_standard_says() -> None:
    for seed in range(200):
        delta = abs(constants_of_run(seed, 1).c_last - constants_of_load(seed).c_last)
        assert 65 <= delta <= 119
        assert delta not in (96, 112)
    assert constants_of_run(1, 1) != constants_of_run(1, 2)


def test_the_same_seed_makes_the_same_rows(cluster: Cluster) -> None:
    tables = [*SIZE.rows(), "order_line"]

    def digests(name: str, seed: int) -> list[str]:
        made = database(cluster, name)
        # `load` accepts a cluster, a database or a connection string.
        tpcc.load(made.dsn, tpcc.Size(1, 100, 10), seed)
        text = "SELECT md5(string_agg(x::text, ';' ORDER BY x::text)) FROM tpcc."
        return made.ask(";".join(f"{text}{table} AS x" for table in tables)).splitlines()

    first, again, other = digests("a", 1), digests("b", 1), digests("c", 2)
    assert first == again
    differ = [one != two for one, two in zip(first, other, strict=True)]
    # The waiting orders are the same in all loads.
    assert differ == [table != "new_order" for table in tables]


def test_a_load_that_is_stopped_counts_as_incomplete(cluster: Cluster) -> None:
    made = database(cluster, "stopped")
    control, seen = Control(), []

    def show(share: float, what: str, done: int, unit: str) -> None:
        seen.append((share, what, done, unit))
        if share > 0.5:
            control.cancel()

    with pytest.raises(PostgresError, match="has no TPC-C tables; hint: load them first"):
        tpcc.check(made)
    with pytest.raises(PostgresError, match="the load of TPC-C was stopped"):
        tpcc.load(made, tpcc.Size(1, 100, 10), pace=Pace(show, control))
    # Rows: 100 items; 1 + 10 + 100 with stock; 200 of customers; then orders, where it is stopped.
    assert [done for _, _, done, _ in seen] == [0, 100, 211, 411, 411 + 10 * (10 + 3 + 100)]
    assert {(what, unit) for _, what, _, unit in seen} == {("loading TPC-C", "rows")}
    with pytest.raises(PostgresError, match="the TPC-C tables are incomplete"):
        tpcc.run(made, seconds=1)
    with pytest.raises(PostgresError, match="has a schema tpcc already; hint: replace"):
        tpcc.load(made, tpcc.Size(1, 100, 10))
    tpcc.load(made, tpcc.Size(1, 100, 10), replace=True)
    assert all(condition.holds for condition in tpcc.check(made))


def test_sizes_that_hold_no_transaction_are_refused() -> None:
    for name in ("warehouses", "items", "customers"):
        with pytest.raises(ConfigError, match=f"{name} of TPC-C: found 0, expected 1"):
            tpcc.Size(**{name: 0})
