-- A warehouse, its districts and its stock. Variables: seed, w, items, customers.
SELECT setseed(:seed) \g /dev/null
INSERT INTO tpcc.warehouse
SELECT :w, tpcc.a_string(6, 10), tpcc.a_string(10, 20), tpcc.a_string(10, 20), tpcc.a_string(10, 20),
  tpcc.state(), tpcc.zip(), tpcc.uniform(0, 2000) / 10000.0, 10 * 10.00 * :customers;
INSERT INTO tpcc.district
SELECT d, :w, tpcc.a_string(6, 10), tpcc.a_string(10, 20), tpcc.a_string(10, 20),
  tpcc.a_string(10, 20), tpcc.state(), tpcc.zip(), tpcc.uniform(0, 2000) / 10000.0,
  10.00 * :customers, :customers + 1
FROM generate_series(1, 10) AS d;
INSERT INTO tpcc.stock
SELECT i, :w, tpcc.uniform(10, 100),
  substr(a, 1, 24), substr(a, 25, 24), substr(a, 49, 24),
  substr(b, 1, 24), substr(b, 25, 24), substr(b, 49, 24),
  substr(c, 1, 24), substr(c, 25, 24), substr(c, 49, 24), left(d, 24),
  0, 0, 0, tpcc.data()
FROM (
  SELECT i, tpcc.letters() AS a, tpcc.letters() AS b, tpcc.letters() AS c, tpcc.letters() AS d
  FROM generate_series(1, :items) AS i
) AS drawn;
