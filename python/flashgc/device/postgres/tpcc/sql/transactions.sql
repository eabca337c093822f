-- The five transactions (clauses 2.4 to 2.8), each a function. `draw`, of 0 to 1, is the seed of all
-- that somebody would have typed at a terminal, the warehouse among it. What a terminal would show is read, and not sent.

-- The customer of a payment or an order status: 60% by last name, the middle one by first name.
CREATE FUNCTION tpcc.chosen_customer(
  warehouse int, district int, customers int, c_last_name int, c_customer int
) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  name text; ids int[];
BEGIN
  IF tpcc.uniform(1, 100) > 60 THEN
    RETURN tpcc.nurand(1023, 1, customers, c_customer);
  END IF;
  -- Where a district has fewer than 1000 customers, so many names are there.
  name := tpcc.last_name(tpcc.nurand(255, 0, least(customers, 1000) - 1, c_last_name));
  SELECT array_agg(c_id ORDER BY c_first) INTO ids FROM tpcc.customer
  WHERE c_w_id = warehouse AND c_d_id = district AND c_last = name;
  RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

-- Another warehouse, each as likely; the same where there is one.
CREATE FUNCTION tpcc.other_warehouse(home int, warehouses int) RETURNS int LANGUAGE sql VOLATILE AS
$$ SELECT CASE WHEN warehouses = 1 THEN home
   ELSE (home + tpcc.uniform(0, warehouses - 2)) % warehouses + 1 END $$;

-- Whether the order is good. If not, one of its items is unused and the caller rolls back.
CREATE FUNCTION tpcc.new_order(
  draw float8, warehouses int, items int, customers int, c_item int, c_customer int
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  w int; d int; c int; o int; lines int; is_good boolean; number int := 0;
  total numeric := 0; price numeric; amount numeric; taxes numeric; discount numeric;
  typed int[]; line int; supplier int; quantity int; info text; suppliers int[];
BEGIN
  PERFORM setseed(draw);
  w := tpcc.uniform(1, warehouses);
  d := tpcc.uniform(1, 10);
  c := tpcc.nurand(1023, 1, customers, c_customer);
  lines := tpcc.uniform(5, 15);
  is_good := tpcc.uniform(1, 100) > 1;
  FOR i IN 1..lines LOOP
    typed[i] := tpcc.nurand(8191, 1, items, c_item);
    suppliers[i] := CASE WHEN tpcc.uniform(1, 100) > 1 THEN w
      ELSE tpcc.other_warehouse(w, warehouses) END;
  END LOOP;
  IF NOT is_good THEN
    typed[lines] := items + 1;
  END IF;

  SELECT w_tax INTO taxes FROM tpcc.warehouse WHERE w_id = w;
  UPDATE tpcc.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
  RETURNING d_next_o_id - 1, taxes + d_tax INTO o, taxes;
  SELECT c_discount INTO discount FROM tpcc.customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  INSERT INTO tpcc.orders VALUES (
    o, d, w, c, localtimestamp, NULL, lines, (w = ALL (suppliers))::int
  );
  INSERT INTO tpcc.new_order VALUES (o, d, w);
  -- In one order in all sessions, so that no two wait for each other. The unused item is the last.
  FOR line, supplier IN
    SELECT * FROM unnest(typed, suppliers) AS both_of (item, warehouse) ORDER BY item, warehouse
  LOOP
    SELECT i_price INTO price FROM tpcc.item WHERE i_id = line;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    quantity := tpcc.uniform(1, 10);
    UPDATE tpcc.stock SET
      s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
      s_ytd = s_ytd + quantity,
      s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (supplier <> w)::int
    WHERE s_w_id = supplier AND s_i_id = line
    RETURNING (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                     s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[d] INTO info;
    number := number + 1;
    amount := quantity * price;
    total := total + amount;
    INSERT INTO tpcc.order_line VALUES (
      o, d, w, number, line, supplier, NULL, quantity, amount, info
    );
  END LOOP;
  total := total * (1 - discount) * (1 + taxes);
  RETURN true;
END $$;

CREATE FUNCTION tpcc.payment(
  draw float8, warehouses int, customers int, c_last_name int, c_customer int
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w int; d int; home int; district int; c int; amount numeric; w_is text; d_is text;
BEGIN
  PERFORM setseed(draw);
  w := tpcc.uniform(1, warehouses);
  d := tpcc.uniform(1, 10);
  home := w;
  district := d;
  IF tpcc.uniform(1, 100) > 85 AND warehouses > 1 THEN
    home := tpcc.other_warehouse(w, warehouses);
    district := tpcc.uniform(1, 10);
  END IF;
  amount := tpcc.uniform(100, 500000) / 100.0;
  c := tpcc.chosen_customer(home, district, customers, c_last_name, c_customer);
  UPDATE tpcc.warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO w_is;
  UPDATE tpcc.district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
  RETURNING d_name INTO d_is;
  UPDATE tpcc.customer SET
    c_balance = c_balance - amount,
    c_ytd_payment = c_ytd_payment + amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC'
      THEN left(concat_ws(' ', c, district, home, d, w, amount, c_data), 500) ELSE c_data END
  WHERE c_w_id = home AND c_d_id = district AND c_id = c;
  INSERT INTO tpcc.history VALUES (
    c, district, home, d, w, localtimestamp, amount, w_is || '    ' || d_is
  );
END $$;

-- The lines of the customer's last order.
CREATE FUNCTION tpcc.order_status(
  draw float8, warehouses int, customers int, c_last_name int, c_customer int
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  w int; d int; c int; balance numeric; o int;
BEGIN
  PERFORM setseed(draw);
  w := tpcc.uniform(1, warehouses);
  d := tpcc.uniform(1, 10);
  c := tpcc.chosen_customer(w, d, customers, c_last_name, c_customer);
  SELECT c_balance INTO balance FROM tpcc.customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  SELECT o_id INTO o FROM tpcc.orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c
  ORDER BY o_id DESC LIMIT 1;
  RETURN (SELECT count(ol_amount) FROM tpcc.order_line
          WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o);
END $$;

-- The oldest order of each district that waits is delivered, all in one transaction and at once.
CREATE FUNCTION tpcc.delivery(draw float8, warehouses int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  w int; carrier int; o int; c int; total numeric; delivered int := 0;
BEGIN
  PERFORM setseed(draw);
  w := tpcc.uniform(1, warehouses);
  carrier := tpcc.uniform(1, 10);
  FOR d IN 1..10 LOOP
    -- Behind another delivery of this warehouse, the lock is given for the next order.
    SELECT no_o_id INTO o FROM tpcc.new_order WHERE no_w_id = w AND no_d_id = d
    ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM tpcc.new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
    UPDATE tpcc.orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o
    RETURNING o_c_id INTO c;
    WITH changed AS (
      UPDATE tpcc.order_line SET ol_delivery_d = localtimestamp
      WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o RETURNING ol_amount
    )
    SELECT sum(ol_amount) INTO total FROM changed;
    UPDATE tpcc.customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
    WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    delivered := delivered + 1;
  END LOOP;
  RETURN delivered;
END $$;

-- How many items of a district's last 20 orders are low in stock.
CREATE FUNCTION tpcc.stock_level(draw float8, warehouses int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  w int; d int; threshold int; next_order int;
BEGIN
  PERFORM setseed(draw);
  w := tpcc.uniform(1, warehouses);
  d := tpcc.uniform(1, 10);
  threshold := tpcc.uniform(10, 20);
  SELECT d_next_o_id INTO next_order FROM tpcc.district WHERE d_w_id = w AND d_id = d;
  RETURN (SELECT count(DISTINCT s_i_id) FROM tpcc.order_line, tpcc.stock
          WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
            AND s_w_id = w AND s_i_id = ol_i_id AND s_quantity < threshold);
END $$;
