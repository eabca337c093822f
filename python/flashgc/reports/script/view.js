// What a picture shows: the mean and interval of each point. The same as flashgc.reports.view.
const SEED = "seed";
class Refused extends Error {}

const isNumber = (value) => typeof value === "number";

/** The sum of numbers, without what rounding loses. */
const sum = (values) => {
  let total = 0, lost = 0;
  for (const value of values) {
    const next = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
  }
  return total + lost;
};

const mean = (values) => sum(values) / values.length;

/** Half the 95% interval of a mean, by Student's t; `null` of fewer than two values. */
const halfWidth = (values) => {
  if (values.length < 2) return null;
  const centre = mean(values);
  const variance = sum(values.map((one) => (one - centre) ** 2)) / (values.length - 1);
  return source.quantiles[values.length - 2] * Math.sqrt(variance / values.length);
};

/** Rows by their value in a column, in the order of `values`. */
const parted = (column, rows, values) => {
  if (!column) return [[null, rows]];
  const made = new Map(values.map((value) => [value, []]));
  for (const row of rows) made.get(column.at(row)).push(row);
  return [...made].filter(([, some]) => some.length);
};

/** Options that vary in some rows. */
const varying = (rows) => columns.filter((one) => one.role === "option" && one.varied && one.different(rows).length > 1);

/** Whether the value of `other` says that of `column`. */
const follows = (column, other, rows) => {
  const told = new Map();
  return rows.every((row) => {
    const value = other.at(row);
    if (!told.has(value)) told.set(value, column.at(row));
    return told.get(value) === column.at(row);
  });
};

/** Options that vary and that a picture with these columns does not show. */
const leftOver = (rows, shown) => {
  const left = [];
  for (const column of varying(rows)) {
    const before = [...shown, ...left];
    if (column.name !== SEED && !before.some((one) => follows(column, one, rows))) left.push(column);
  }
  return left;
};

/** The rows of one point, one a seed; refused where they differ in more. */
const oneASeed = (rows, apart, others) => {
  for (const column of others) {
    if (rows.some((row) => column.at(row) !== column.at(rows[0]))) {
      throw new Refused(`${column.title} varies as well, and a mean over it would mislead`);
    }
  }
  const seed = named(SEED), seeds = rows.map((row) => (seed ? seed.at(row) : null));
  if (new Set(seeds).size < rows.length) {
    throw new Refused("some rows differ in no option, and a mean over them would mislead");
  }
  return rows;
};

/** Of rows with the same command the last one, and one with a result before one without. */
const newest = (rows) => {
  const command = named("command"), chosen = new Map();
  const hasResult = (row) => named("status").at(row) === "result";
  for (const row of rows) {
    const earlier = chosen.get(command.at(row));
    if (earlier === undefined || hasResult(row) || !hasResult(earlier)) chosen.set(command.at(row), row);
  }
  return rows.filter((row) => !command.at(row) || chosen.get(command.at(row)) === row);
};

/** The mean of a figure over rows, with its interval. */
const point = (x, y, rows) => {
  const known = rows.filter((row) => isNumber(y.at(row)));
  if (!known.length) return { x, y: null, low: null, high: null, count: 0, same: 1, rows, reason: rows.length ? named("reason").at(rows[0]) : null };
  const values = known.map((row) => y.at(row));
  // Seeds that nothing was drawn from say nothing of what is by chance, and count as one.
  const amplification = named("write_amplification");
  const alike = new Set(values).size === 1 && new Set(known.map((row) => amplification?.at(row))).size === 1;
  const own = y.name === "write_amplification" ? named("write_amplification_ci95")?.at(known[0]) : null;
  const half = !alike ? halfWidth(values) : isNumber(own) ? own : null;
  const middle = alike ? values[0] : mean(values);
  return { x, y: middle, low: half === null ? null : middle - half, high: half === null ? null : middle + half, count: alike ? 1 : values.length, same: alike ? values.length : 1, rows: known };
};

/** What to draw of some rows; raises `Refused`. `by` and `panels` may be missing. */
const viewOf = (every, { kind, x, y, by, panels }) => {
  const rows = newest(every);
  const results = rows.filter((row) => named("status").at(row) === "result");
  const used = kind === "heatmap" ? rows : results;
  const varied = varying(used);
  const apart = varied.filter((one) => one.name !== SEED);
  const others = apart.filter((one) => ![x, by, panels].includes(one));
  const seeds = (some) => oneASeed(some, apart, kind === "pareto" ? [] : others);
  const over = (some) => parted(x, some, across).filter(([value]) => !(x.numeric && value === null))
    .map(([value, there]) => point(value, y, seeds(there)))
    .filter((one) => kind === "heatmap" || one.y !== null);
  const across = kind === "pareto" ? [] : x.different(used);
  const scattered = (some) => {
    const cells = new Map();
    for (const row of some) {
      const key = JSON.stringify(apart.map((one) => one.at(row)));
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(row);
    }
    const made = [];
    for (const cell of cells.values()) {
      const both = seeds(cell).filter((row) => isNumber(x.at(row)) && isNumber(y.at(row)));
      if (both.length) made.push({ ...point(mean(both.map((row) => x.at(row))), y, both), at: others.map((one) => [one, one.at(both[0])]) });
    }
    return made.sort((a, b) => a.x - b.x);
  };
  const lines = by ? by.different(used) : [null];
  const panes = parted(panels, used, panels ? panels.different(used) : []).map(([at, part]) => ({
    at,
    lines: parted(by, part, lines).map(([value, some]) => ({
      by: value, points: kind === "pareto" ? scattered(some) : over(some),
    })),
  }));
  return { kind, x, y, by, panels, panes, across, lines, numeric: kind === "pareto" || x.numeric, without: rows.length - results.length, older: every.length - rows.length };
};

/** The points of a pane that no other one betters in both figures, by `x`. */
const front = (view, pane) => {
  const signs = [view.x, view.y].map((column) => (column.more_is_better ? -1 : 1));
  const rank = (one) => [signs[0] * one.x, signs[1] * one.y];
  const known = pane.lines.flatMap((line) => line.points).sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
  const found = [];
  for (const one of known) {
    const [across, up] = rank(one), last = found.length ? rank(found.at(-1)) : null;
    if (!last || up < last[1] || (across === last[0] && up === last[1])) found.push(one);
  }
  return found.sort((a, b) => a.x - b.x);
};
