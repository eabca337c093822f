-- The first orders of a warehouse: one a customer, of which the last three of ten wait for delivery.
-- Variables: seed, w, items, customers.
SELECT setseed(:seed) \g /dev/null
WITH placed AS (
  INSERT INTO tpcc.orders
  SELECT o, d, :w, c, timestamp '2026-01-01',
    CASE WHEN o <= :customers - :customers * 3 / 10 THEN tpcc.uniform(1, 10) END,
    tpcc.uniform(5, 15), 1
  FROM (
    SELECT d, c, row_number() OVER (PARTITION BY d ORDER BY place) AS o
    FROM (
      SELECT d, c, random() AS place
      FROM generate_series(1, 10) AS d, generate_series(1, :customers) AS c
    ) AS drawn
  ) AS permuted
  RETURNING o_id, o_d_id, o_entry_d, o_carrier_id, o_ol_cnt
), waiting AS (
  INSERT INTO tpcc.new_order SELECT o_id, o_d_id, :w FROM placed WHERE o_carrier_id IS NULL
)
INSERT INTO tpcc.order_line
SELECT o_id, o_d_id, :w, line, tpcc.uniform(1, :items), :w,
  CASE WHEN o_carrier_id IS NOT NULL THEN o_entry_d END, 5,
  CASE WHEN o_carrier_id IS NOT NULL THEN 0 ELSE tpcc.uniform(1, 999999) / 100.0 END,
  left(tpcc.letters(), 24)
FROM placed, generate_series(1, o_ol_cnt) AS line;
