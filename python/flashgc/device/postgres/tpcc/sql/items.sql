-- The items (clause 4.3.3.1). Variables: seed, items.
SELECT setseed(:seed) \g /dev/null
INSERT INTO tpcc.item
SELECT i, tpcc.uniform(1, 10000), tpcc.a_string(14, 24), tpcc.uniform(100, 10000) / 100.0, tpcc.data()
FROM generate_series(1, :items) AS i;
