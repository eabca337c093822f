// Words and conditions that a reader types, and the rows for which they hold.
const PIECE = /([\p{L}_][\p{L}\d_-]*)\s*(<=|>=|!=|=|<|>)\s*("[^"]*"|[^\s"]+)|"([^"]*)"|(\S+)/gu;
/** Other names of columns. */
const ALIASES = { wa: "write_amplification", trace: "workload", source: "workload", policy: "victim" };
const SIZES = Object.fromEntries(UNITS.map((unit, power) => [unit.toLowerCase(), 1024 ** power]));

/** The column that a reader means; a unit at its end may be left out. */
const meant = (text) => {
  const name = text.toLowerCase().replaceAll("-", "_");
  const wanted = ALIASES[name] ?? name;
  return columns.find((one) => one.name === wanted)
    ?? columns.find((one) => ["_bytes", "_us", "_seconds", "_terabytes"].some((unit) => one.name === wanted + unit));
};

/** The number that a text is, with `%` or a unit of bytes; `NaN` if it is none. */
const quantity = (text) => {
  const [, number, unit] = /^([-+\d.e]+)\s*(%|[kmgtp]?i?b)?$/i.exec(text) ?? [];
  if (number === undefined) return NaN;
  return Number(number) * (unit === "%" ? 0.01 : unit ? SIZES[unit.toLowerCase()] ?? NaN : 1);
};

const COMPARED = {
  "=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b,
  "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
};

/** Whether a word is meant by `text`: a bare name stands for a policy with any parameters. */
const stands = (word, text) => word === text || word.startsWith(`${text}:`);

/** A test of rows for a condition; or what is wrong with it. */
const condition = (column, compared, text) => {
  const holds = COMPARED[compared];
  if (column.numeric) {
    const number = quantity(text);
    if (Number.isNaN(number)) return `${column.title} is a number, found '${text}'`;
    const close = (value) => Math.abs(value - number) <= 1e-9 * Math.abs(number) ? number : value;
    return (row) => {
      const value = column.at(row);
      return value === null ? compared === "!=" : holds(close(value), number);
    };
  }
  if (!["=", "!="].includes(compared)) return `${column.title} has words: = and != compare them`;
  const wanted = text.toLowerCase();
  return (row) => {
    const value = column.at(row);
    const same = value !== null && [String(value), column.text(value)].some((word) => stands(word.toLowerCase(), wanted));
    return same === (compared === "=");
  };
};

/** For each row all words in which is searched. */
const haystack = () => {
  haystack.kept ??= (() => {
    const read = columns.filter((one) => one.role === "option" || ["status", "reason", "key", "digest", "version"].includes(one.name));
    return everything.map((row) => read.map((column) => {
      const value = column.at(row);
      return value === null ? "" : `${value}\n${column.text(value)}`;
    }).join("\n").toLowerCase());
  })();
  return haystack.kept;
};

/** The rows for which all of `text` holds, in the order of the file, and what is wrong with it. */
const search = (text) => {
  const tests = [], wrong = [];
  for (const [piece, name, compared, value, quoted, word] of text.matchAll(PIECE)) {
    const column = name && meant(name);
    const test = column ? condition(column, compared, value.replaceAll('"', "")) : null;
    if (typeof test === "string") wrong.push(test);
    else if (test) tests.push(test);
    else {
      if (name && compared) wrong.push(`there is no column '${name}': taken as a word`);
      const wanted = (quoted ?? word ?? piece).toLowerCase();
      const all = haystack();
      tests.push((row) => all[row].includes(wanted));
    }
  }
  return { rows: tests.length ? everything.filter((row) => tests.every((test) => test(row))) : everything, wrong };
};
