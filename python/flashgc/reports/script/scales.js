// Scales of axes and their ticks.

/** The step of ticks: 1, 2 or 5 times a power of ten, for at most `most` of them. */
const stepOf = (span, most) => {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return power * [1, 2, 5, 10].find((step) => (step * power * most) >= span * (1 - 1e-9));
};

/** Round numbers from `low` to `high`. */
const ticksOf = (low, high, most) => {
  if (!(high > low)) return [low];
  const step = stepOf(high - low, most), found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + 1e-9 * step; place += 1) found.push(place * step);
  return found;
};

/** Powers of ten, with 2 and 5 between them where there are few. */
const powersOf = (low, high) => {
  const found = [];
  const few = Math.log10(high / low) < 2.5;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of few ? [1, 2, 5] : [1]) {
      const tick = step * 10 ** power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) found.push(tick);
    }
  }
  return found.length > 1 ? found : ticksOf(low, high, 5);
};

/** A scale from `domain` to pixels: numbers, powers, or places of words. */
const scaleOf = (domain, range, { log = false, most = 6, column, own = [] }) => {
  const [low, high] = domain, [from, to] = range;
  const way = log ? Math.log : (value) => value;
  const share = (value) => (way(value) - way(low)) / ((way(high) - way(low)) || 1);
  const back = (pixel) => {
    const along = way(low) + ((pixel - from) / (to - from)) * (way(high) - way(low));
    return log ? Math.exp(along) : along;
  };
  const at_ = (value) => from + share(value) * (to - from);
  // Few values are their own ticks, if there is room for their words.
  const few = own.filter((value) => value !== null && value >= low && value <= high);
  const fit = few.length && few.length <= 8 && few.every((value, place) => !place || at_(value) - at_(few[place - 1]) > 48);
  const ticks = fit ? few : log ? powersOf(low, high) : ticksOf(low, high, most);
  return { domain, at: at_, back, ticks, words: tickWords(ticks, column) };
};

/** A scale of the places of words, which begin at 0. */
const scaleOfPlaces = (domain, range, values, column) => {
  const scale = scaleOf(domain, range, { column: { show: "number" } });
  const ticks = values.map((_, place) => place).filter((place) => place >= domain[0] && place <= domain[1]);
  return { ...scale, ticks, words: ticks.map((place) => column.text(values[place])) };
};

/** Ticks in words, all with the same number of places behind the point. */
const tickWords = (ticks, column) => {
  if (["size", "time"].includes(column.show)) return ticks.map((tick) => SHOWN[column.show](tick));
  const factor = column.show === "share" ? 100 : 1;
  const most = Math.max(...ticks.map((tick) => Math.abs(tick * factor)));
  const [divided, mark] = most >= 1e9 ? [1e9, " G"] : most >= 1e6 ? [1e6, " M"] : most >= 1e4 ? [1e3, " k"] : [1, ""];
  const behind = Math.max(0, ...ticks.map((tick) => (digits((tick * factor) / divided, 6).split(".")[1] ?? "").length));
  return ticks.map((tick) => `${((tick * factor) / divided).toFixed(Math.min(behind, 8))}${tick ? mark : ""}${factor === 100 ? "%" : ""}`);
};

/** From the least to the most of values, with some room beside them. */
const extent = (values, room, log) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(high >= low)) return log ? [1, 10] : [0, 1];
  if (log) {
    const wide = Math.max((high / low) ** room, 1.02);
    return [low / wide, high * wide];
  }
  const more = high > low || !room ? (high - low) * room : Math.abs(high) * 0.05 || 1;
  return [low - more, high + more];
};
