-- Random numbers and texts as clauses 2.1.5, 2.1.6 and 4.3.2 have them.

-- A whole number of lo to hi, each as likely.
CREATE FUNCTION tpcc.uniform(lo int, hi int) RETURNS int LANGUAGE sql VOLATILE AS
$$ SELECT lo + floor(random() * (hi - lo + 1))::int $$;

-- NURand(a, lo, hi) with its constant c (clause 2.1.6): not uniform.
CREATE FUNCTION tpcc.nurand(a int, lo int, hi int, c int) RETURNS int LANGUAGE sql VOLATILE AS
$$ SELECT ((tpcc.uniform(0, a) | tpcc.uniform(lo, hi)) + c) % (hi - lo + 1) + lo $$;

-- The last name of a number of three digits (clause 4.3.2.3).
CREATE FUNCTION tpcc.last_name(number int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT s[number / 100 % 10 + 1] || s[number / 10 % 10 + 1] || s[number % 10 + 1]
   FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES',
                      'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS s) AS syllables $$;

-- 80 letters and digits: base 64 of a hash of a random number, its two other signs replaced.
CREATE FUNCTION tpcc.letters() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT left(translate(encode(sha512(random()::text::bytea), 'base64'), E'+/\n', 'xy'), 80) $$;

-- A text of lo to hi letters and digits, of at most 80.
CREATE FUNCTION tpcc.a_string(lo int, hi int) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT left(tpcc.letters(), tpcc.uniform(lo, hi)) $$;

-- A text of `length` digits, of at most 16.
CREATE FUNCTION tpcc.n_string(length int) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT lpad(floor(random() * 10 ^ length)::bigint::text, length, '0') $$;

CREATE FUNCTION tpcc.zip() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT tpcc.n_string(4) || '11111' $$;

CREATE FUNCTION tpcc.state() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT chr(65 + tpcc.uniform(0, 25)) || chr(65 + tpcc.uniform(0, 25)) $$;

-- The data of an item or of stock: in one of ten there is ORIGINAL at a random place.
CREATE FUNCTION tpcc.data() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  made text := tpcc.a_string(26, 50);
BEGIN
  IF random() < 0.1 THEN
    made := overlay(made placing 'ORIGINAL' FROM tpcc.uniform(1, length(made) - 7));
  END IF;
  RETURN made;
END $$;
