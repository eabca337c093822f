-- The customers of a warehouse, and a payment of each. Variables: seed, w, customers, c_last.
-- The first 1000 of a district have the last names 0 to 999, the others NURand(255, 0, 999).
-- A load happens on 2026-01-01, so that the same seed makes the same rows on any day.
SELECT setseed(:seed) \g /dev/null
INSERT INTO tpcc.customer
SELECT c, d, :w, tpcc.a_string(8, 16), 'OE',
  tpcc.last_name(CASE WHEN c <= 1000 THEN c - 1 ELSE tpcc.nurand(255, 0, 999, :c_last) END),
  tpcc.a_string(10, 20), tpcc.a_string(10, 20), tpcc.a_string(10, 20), tpcc.state(), tpcc.zip(),
  tpcc.n_string(16), timestamp '2026-01-01', CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END,
  50000, tpcc.uniform(0, 5000) / 10000.0, -10, 10, 1, 0,
  left(tpcc.letters() || tpcc.letters() || tpcc.letters() || tpcc.letters() || tpcc.letters()
    || tpcc.letters() || tpcc.letters(), tpcc.uniform(300, 500))
FROM generate_series(1, 10) AS d, generate_series(1, :customers) AS c;
INSERT INTO tpcc.history
SELECT c, d, :w, d, :w, timestamp '2026-01-01', 10, tpcc.a_string(12, 24)
FROM generate_series(1, 10) AS d, generate_series(1, :customers) AS c;
