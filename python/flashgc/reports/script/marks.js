// One panel: its axes, lines, points and cells. It answers with the points that a reader may ask for.
const SHAPES = [
  "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0Z", "M-3-3H3V3H-3Z", "M0-4L3.8 3H-3.8Z", "M0-4.4L4.4 0L0 4.4L-4.4 0Z",
  "M0 4L3.8-3H-3.8Z", "M-1.3-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z",
  "M-4-2.2L-2.2-4L0-1.8L2.2-4L4-2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z",
  "M0-4.8L1.3-1.5L4.7-1.5L2 .7L3 4L0 2L-3 4L-2 .7L-4.7-1.5L-1.3-1.5Z",
];
/** Colours and dashes, so that 42 lines differ. */
const look = (index) => `c${index % 7} d${Math.floor(index / 7) % 6}`;
const shape = (index) => SHAPES[index % SHAPES.length];

/** About how wide a text is in the small letters of pictures, in pixels. */
const wide = (text) => 6.3 * text.length;
const cut = (text, letters) => text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;
const translate = (x, y) => `translate(${x.toFixed(1)} ${y.toFixed(1)})`;

/** Places of labels near `wanted` ones that do not touch each other. */
const spread = (wanted, apart, low, high) => {
  const order = wanted.map((y, place) => ({ y, place })).sort((a, b) => a.y - b.y);
  order.forEach((one, place) => { one.y = Math.max(one.y, place ? order[place - 1].y + apart : low); });
  for (let place = order.length - 1; place >= 0; place -= 1) {
    const most = place === order.length - 1 ? high : order[place + 1].y - apart;
    order[place].y = Math.min(order[place].y, most);
  }
  const made = [];
  for (const one of order) made[one.place] = one.y;
  return made;
};

/** The frame of a panel: its room, scales, grid and words at the axes. */
const frame = (svg, { width, height, x, y, heads, right, view, id }) => {
  const left = Math.max(34, 12 + Math.max(...y.words.map(wide)));
  const room = { left, right: width - right, top: 8, bottom: height - 36 };
  const parts = [];
  const across = x.make([room.left, room.right], Math.max(2, Math.floor((room.right - room.left) / 64)));
  const up = y.make([room.bottom, room.top]);
  up.ticks.forEach((tick, place) => {
    if (y.grid) parts.push(draw("line", { class: "grid", x1: room.left, x2: room.right, y1: up.at(tick), y2: up.at(tick) }));
    parts.push(draw("text", { x: room.left - 7, y: up.at(tick) + 4, "text-anchor": "end" }, y.words[place]));
  });
  const fits = Math.floor((room.right - room.left) / across.ticks.length / 6.3);
  across.ticks.forEach((tick, place) => {
    const word = across.words[place], some = x.numeric ? word : cut(word, Math.max(fits, 3));
    const text = draw("text", { x: across.at(tick), y: room.bottom + 16, "text-anchor": "middle" }, some);
    if (some !== word) text.append(draw("title", {}, word));
    parts.push(text);
    if (y.grid) parts.push(draw("line", { class: "tick", x1: across.at(tick), x2: across.at(tick), y1: room.bottom, y2: room.bottom + 4 }));
  });
  if (y.grid) parts.push(draw("line", { class: "axis", x1: room.left, x2: room.right, y1: room.bottom, y2: room.bottom }));
  parts.push(draw("text", { class: "name", x: (room.left + room.right) / 2, y: height - 5, "text-anchor": "middle" }, view.x.title));
  const clip = draw("clipPath", { id }, draw("rect", { x: room.left - 5, y: room.top - 5, width: Math.max(0, room.right - room.left + 10), height: room.bottom - room.top + 10 }));
  svg.replaceChildren(clip, ...parts);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", heads);
  return { room, across, up };
};

/** Lines with bands over an option, or the points of two figures. */
const drawLines = (svg, { view, pane, frame: { room, across, up }, id, domain, direct, better, hidden }) => {
  const inside = draw("g", { "clip-path": `url(#${id})` });
  const hits = [], ends = [];
  const place = (one) => across.at(view.numeric ? one.x : view.across.indexOf(one.x));
  for (const line of pane.lines) {
    const index = view.lines.indexOf(line.by);
    if (hidden.has(line.by)) continue;
    const dots = line.points.map((point) => ({ x: place(point), y: up.at(point.y), point, line, pane }));
    const joined = view.kind === "lines" && view.numeric;
    const known = dots.filter(({ point }) => point.low !== null);
    if (joined && known.length > 1) {
      const path = (side) => (dot) => `${dot.x.toFixed(1)} ${up.at(dot.point[side]).toFixed(1)}`;
      inside.append(draw("path", { class: `band ${look(index)}`, d: `M${known.map(path("high")).join("L")}L${known.reverse().map(path("low")).join("L")}Z` }));
    } else {
      for (const dot of known) inside.append(draw("line", { class: `bar ${look(index)}`, x1: dot.x, x2: dot.x, y1: up.at(dot.point.low), y2: up.at(dot.point.high) }));
    }
    if (joined) inside.append(draw("path", { class: `line ${look(index)}`, d: `M${dots.map((dot) => `${dot.x.toFixed(1)} ${dot.y.toFixed(1)}`).join("L")}` }));
    const many = dots.length > 300;
    const marks = dots.filter(({ x }) => x >= room.left - 1 && x <= room.right + 1);
    for (const dot of marks) {
      const faint = better && !better.includes(dot.point) ? " faint" : "";
      inside.append(draw("path", { class: `mark ${look(index)}${faint}${many ? " small" : ""}`, d: shape(index), transform: translate(dot.x, dot.y) }));
    }
    hits.push(...marks);
    const last = marks.at(-1);
    if (direct && last) ends.push({ x: last.x, y: last.y, index, text: view.by ? view.by.text(line.by) : "" });
  }
  if (better?.length > 1) {
    const steps = better.map((one, index) => `${index ? `H${across.at(one.x).toFixed(1)}V` : `M${across.at(one.x).toFixed(1)} `}${up.at(one.y).toFixed(1)}`);
    inside.prepend(draw("path", { class: "front", d: steps.join("") }));
  }
  svg.append(inside);
  const places = spread(ends.map((one) => one.y), 13, room.top + 4, room.bottom);
  ends.forEach((one, place_) => {
    if (Math.abs(places[place_] - one.y) > 9) svg.append(draw("path", { class: `lead ${look(one.index)}`, d: `M${one.x + 5} ${one.y}L${room.right + 5} ${places[place_]}` }));
    const text = draw("text", { class: `end ${look(one.index)}`, x: room.right + 8, y: places[place_] + 4 }, cut(one.text, direct));
    if (one.text.length > direct) text.append(draw("title", {}, one.text));
    svg.append(text);
  });
  return hits;
};

/** A number in a cell: three digits, as many for all. */
const short = (value) => {
  const away = Math.abs(value);
  const [divided, mark] = away >= 1e9 ? [1e9, "G"] : away >= 1e6 ? [1e6, "M"] : away >= 1e4 ? [1e3, "k"] : [1, ""];
  return away >= 100 && away < 1e4 ? value.toFixed(0) : (value / divided).toPrecision(3) + mark;
};

/** Cells of two options, with the figure in them where it fits. */
const drawHeat = (svg, { view, pane, frame: { across, up, room }, id, domain }) => {
  const inside = draw("g", { "clip-path": `url(#${id})` }), hits = [];
  const half = Math.abs(across.at(1) - across.at(0)) / 2, tall = Math.abs(up.at(1) - up.at(0)) / 2;
  for (const line of pane.lines) {
    for (const point of line.points) {
      const x = across.at(view.across.indexOf(point.x)), y = up.at(view.lines.indexOf(line.by));
      if (x < room.left || x > room.right) continue;
      const share = point.y === null ? null : (point.y - domain[0]) / ((domain[1] - domain[0]) || 1);
      const cell = draw("rect", { class: share === null ? "cell none" : "cell", x: x - half + 0.5, y: y - tall + 0.5, width: Math.max(1, 2 * half - 1), height: Math.max(1, 2 * tall - 1) });
      if (share !== null) cell.style.fill = `color-mix(in oklab, var(--heat-low), var(--heat-high) ${(100 * share).toFixed(1)}%)`;
      inside.append(cell);
      const word = point.y === null ? "–" : short(point.y * (view.y.show === "share" ? 100 : 1));
      if (wide(word) < 2 * half - 4 && tall > 7) inside.append(draw("text", { class: share > 0.5 ? "in over" : "in", x, y: y + 4, "text-anchor": "middle" }, word));
      hits.push({ x, y, point, line, pane });
    }
  }
  svg.append(inside);
  return hits;
};
