-- The consistency conditions 1 to 4 of clause 3.3.2: a row each with the number of violations.
SELECT 1, count(*) FROM tpcc.warehouse
WHERE w_ytd IS DISTINCT FROM (SELECT sum(d_ytd) FROM tpcc.district WHERE d_w_id = w_id);

-- A district without new orders has only the other maximum.
SELECT 2, count(*) FROM (
  SELECT d_next_o_id - 1 AS last,
    (SELECT max(o_id) FROM tpcc.orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS ordered,
    (SELECT max(no_o_id) FROM tpcc.new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS waiting
  FROM tpcc.district
) AS found
WHERE last IS DISTINCT FROM ordered OR last <> waiting;

SELECT 3, count(*) FROM (
  SELECT FROM tpcc.new_order GROUP BY no_w_id, no_d_id
  HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
) AS found;

SELECT 4, count(*) FROM (
  SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS said
  FROM tpcc.orders GROUP BY o_w_id, o_d_id
) AS ordered FULL JOIN (
  SELECT ol_w_id AS w, ol_d_id AS d, count(*) AS found
  FROM tpcc.order_line GROUP BY ol_w_id, ol_d_id
) AS lines USING (w, d)
WHERE said IS DISTINCT FROM found;
