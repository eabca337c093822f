// The map of all blocks: one cell a block, or a cell for several where there are more than fit.
import { count, percent, several } from "/format.js";

export const STATES = ["erased", "open", "closed", "bad"];
const [ERASED, OPEN, CLOSED, BAD] = [0, 1, 2, 3];
/** What the colour of a cell says. */
export const VIEWS = { valid: "valid pages", class: "class", zombies: "zombies", wear: "wear", state: "state" };
const SHADES = 64;
/** Sides of a cell with its gap, in CSS pixels. */
const SMALLEST = 3, LARGEST = 22;

/** The columns of an answer of /blocks. Throws where it is none. */
export function decode(buffer) {
  const head = new DataView(buffer);
  if (buffer.byteLength < 16 || head.getUint32(0) !== 0x46474342 || head.getUint32(4, true) !== 2) {
    throw new Error("the answer of /blocks has another version; reload the page");
  }
  const length = head.getUint32(8, true);
  const at = (offset, Kind) => new Kind(buffer, 16 + offset * length, length);
  return {
    length, pages: head.getUint32(12, true),
    erases: at(0, Uint32Array), valid: at(4, Uint32Array), zombies: at(8, Uint32Array),
    state: at(12, Uint8Array), cls: at(13, Uint8Array),
  };
}

/** How `length` blocks are laid out on `width` x `height` device pixels, of `scale` a CSS pixel. */
export function arrange(length, width, height, scale) {
  const least = Math.max(2, Math.round(SMALLEST * scale));
  let each = 1;
  while (Math.ceil(length / each) > Math.floor(width / least) * Math.floor(height / least)) each *= 2;
  const cells = Math.ceil(length / each);
  let step = Math.min(Math.round(LARGEST * scale), Math.floor(Math.sqrt((width * height) / Math.max(cells, 1))));
  const fits = (side) => Math.ceil(cells / Math.floor(width / side)) * side <= height;
  while (step > least && !fits(step)) step -= 1;
  const columns = Math.max(1, Math.floor(width / step));
  return { each, cells, step, columns, rows: Math.ceil(cells / columns) };
}

/** Sums over the blocks from `from` up to `to`. */
export function sums(blocks, from, to) {
  const sum = { blocks: to - from, states: [0, 0, 0, 0], valid: 0, zombies: 0, erases: 0, least: Infinity, most: 0 };
  for (let at = from; at < to; at += 1) {
    sum.states[blocks.state[at]] += 1;
    sum.valid += blocks.valid[at];
    sum.zombies += blocks.zombies[at];
    sum.erases += blocks.erases[at];
    sum.least = Math.min(sum.least, blocks.erases[at]);
    sum.most = Math.max(sum.most, blocks.erases[at]);
  }
  sum.written = sum.states[OPEN] + sum.states[CLOSED];
  return sum;
}

/** Open if one of its blocks is, erased or bad if all are, and else closed. */
function stateOf(sum) {
  if (sum.states[OPEN]) return OPEN;
  if (sum.states[BAD] === sum.blocks) return BAD;
  return sum.written ? CLOSED : ERASED;
}

function packed(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Colours from the first of `stops` to the last. */
export function ramp(stops, shades = SHADES) {
  return Array.from({ length: shades }, (_, shade) => {
    const at = (shade / (shades - 1)) * (stops.length - 1);
    const left = Math.min(Math.floor(at), stops.length - 2);
    const channels = [1, 3, 5].map((place) => {
      const [a, b] = [0, 1].map((side) => parseInt(stops[left + side].slice(place, place + 2), 16));
      return Math.round(a + (b - a) * (at - left)).toString(16).padStart(2, "0");
    });
    return `#${channels.join("")}`;
  });
}

/** A histogram of other bins: a bin has its part of every level that it overlaps. */
export function spread(levels, bins) {
  const found = new Float64Array(bins), wide = bins / levels.length;
  levels.forEach((blocks, level) => {
    const end = (level + 1) * wide;
    for (let at = level * wide; blocks && at < end - 1e-9;) {
      const bin = Math.min(bins - 1, Math.floor(at + 1e-9)), to = Math.min(end, bin + 1);
      found[bin] += (blocks * (to - at)) / wide;
      at = to;
    }
  });
  return found;
}

const make = (tag, attributes = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...children);
  return element;
};

export class BlockMap {
  /** `palette` is that of palette.json; `parts` are the elements that it draws on. */
  constructor(palette, parts) {
    Object.assign(this, { palette, parts, blocks: null, view: "valid", selected: null });
    this.counts = new Uint32Array(256);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(parts.map);
    const { canvas } = parts;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.point(event));
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.select(null); });
    canvas.addEventListener("blur", () => this.select(null));
    canvas.addEventListener("keydown", (event) => this.press(event));
    for (const [view, name] of Object.entries(VIEWS)) {
      const button = make("button", { type: "button", textContent: name });
      button.dataset.view = view;
      button.addEventListener("click", () => this.show(view));
      parts.views.append(button);
    }
  }

  show(view) {
    this.view = view in VIEWS ? view : "valid";
    for (const button of this.parts.views.children) {
      button.setAttribute("aria-pressed", String(button.dataset.view === this.view));
    }
    this.parts.still.href = `/still.svg?view=${this.view}`;
    this.draw();
  }

  set(blocks) {
    this.blocks = blocks;
    this.draw();
  }

  draw() {
    const { blocks, parts: { canvas, map, note } } = this;
    if (!blocks || !map.clientWidth) return;
    const scale = window.devicePixelRatio || 1;
    const room = Math.min(620, Math.max(190, innerHeight * 0.5));
    const width = Math.floor(map.clientWidth * scale);
    this.total = sums(blocks, 0, blocks.length);
    this.colours = this.palette[this.dark.matches ? "dark" : "light"];
    this.layout = arrange(blocks.length, width, Math.floor(room * scale), scale);
    const { step, rows, each } = this.layout;
    Object.assign(canvas, { width, height: rows * step });
    canvas.style.height = `${(rows * step) / scale}px`;
    this.paint(canvas.getContext("2d"), scale);
    note.textContent = each > 1
      ? `Each cell is ${each} blocks: their mean, and open if one of them is. `
      : "";
    const { states, blocks: all } = this.total;
    canvas.setAttribute("aria-label", `map of ${several(all, "block")} by ${VIEWS[this.view]}: ${
      STATES.map((name, state) => `${count(states[state])} ${name}`).join(", ")}`);
    this.legend();
    this.tip();
  }

  paint(context, scale) {
    const { blocks, layout: { each, cells, step, columns }, colours, view } = this;
    const { width, height } = context.canvas;
    if (!width || !height) return;
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const box = (x, y, wide, tall, colour) => {
      for (let line = y; line < y + tall; line += 1) pixels.fill(colour, line * width + x, line * width + x + wide);
    };
    const gap = step >= 4 * scale ? Math.max(1, Math.round(scale)) : 0;
    const side = step - gap;
    const rim = side >= 9 * scale ? Math.round(2 * scale) : Math.max(1, Math.round(scale));
    const hollow = side > 2 * rim + 1;
    const shades = (colours[view] ?? []).length && view in colours ? ramp(colours[view]).map(packed) : null;
    const [erased, edge, bad, closed] = ["erased", "edge", "bad", "closed"].map((name) => packed(colours[name]));
    const open = packed(this.rim());
    const apart = side >= 9 * scale ? Math.max(1, Math.round(scale)) : 0;
    const classes = colours.classes.map(packed);
    for (let cell = 0; cell < cells; cell += 1) {
      const from = cell * each, to = Math.min(from + each, blocks.length);
      const sum = sums(blocks, from, to);
      const state = stateOf(sum);
      const x = (cell % columns) * step, y = Math.floor(cell / columns) * step;
      let fill = closed;
      if (view === "class") fill = classes[this.mostly(from, to) % classes.length];
      else if (shades) fill = shades[Math.round(this.share(sum) * (SHADES - 1))];
      if (state === ERASED) {
        box(x, y, side, side, edge);
        if (hollow) box(x + rim, y + rim, side - 2 * rim, side - 2 * rim, erased);
        continue;
      }
      if (state === OPEN && view === "state") fill = open;
      box(x, y, side, side, state === BAD ? bad : state === OPEN ? open : fill);
      if (state === OPEN && hollow) {
        if (apart) box(x + rim, y + rim, side - 2 * rim, side - 2 * rim, erased);
        box(x + rim + apart, y + rim + apart, side - 2 * (rim + apart), side - 2 * (rim + apart), fill);
      }
      if (state === BAD && hollow) {
        for (let at = rim; at < side - rim; at += 1) {
          pixels[(y + at) * width + x + at] = erased;
          pixels[(y + at) * width + x + side - 1 - at] = erased;
        }
      }
    }
    context.putImageData(image, 0, 0);
  }

  /** The colour around an open block: one that the view does not use. */
  rim() {
    return ["class", "wear"].includes(this.view) ? this.colours.ink : this.colours.open;
  }

  /** Where a cell is on the scale of the view, from 0 to 1. */
  share(sum) {
    const { total, view, blocks } = this;
    if (view === "valid") return Math.min(1, sum.valid / Math.max(1, sum.written * blocks.pages));
    if (view === "zombies") return Math.min(1, sum.zombies / Math.max(1, sum.valid));
    return (sum.erases / sum.blocks - total.least) / Math.max(1, total.most - total.least);
  }

  /** The class that most written blocks have. */
  mostly(from, to) {
    const { state, cls } = this.blocks;
    if (to === from + 1) return cls[from];
    let most = cls[from];
    for (let at = from; at < to; at += 1) {
      if (state[at] !== OPEN && state[at] !== CLOSED) continue;
      const found = (this.counts[cls[at]] += 1);
      if (found > this.counts[most] || (found === this.counts[most] && cls[at] < most)) most = cls[at];
    }
    for (let at = from; at < to; at += 1) this.counts[cls[at]] = 0;
    return most;
  }

  legend() {
    const { colours, total, view, blocks } = this;
    const key = (name, fill, rim = fill) => {
      const swatch = make("i", { className: "swatch" });
      Object.assign(swatch.style, { background: fill, borderColor: rim });
      return make("span", {}, swatch, name);
    };
    const keys = [];
    if (view in colours) keys.push(this.scale());
    if (view === "class") {
      const of = new Uint32Array(256);
      for (let at = 0; at < blocks.length; at += 1) {
        if (blocks.state[at] === OPEN || blocks.state[at] === CLOSED) of[blocks.cls[at]] += 1;
      }
      of.forEach((found, cls) => {
        if (found) keys.push(key(`class ${cls}: ${count(found)}`, colours.classes[cls % colours.classes.length]));
      });
    }
    if (view === "state") keys.push(key(`closed ${count(total.states[CLOSED])}`, colours.closed));
    keys.push(key(`open ${count(total.states[OPEN])}`, view === "state" ? colours.open : "transparent", this.rim()));
    keys.push(key(`erased ${count(total.states[ERASED])}`, colours.erased, colours.edge));
    if (total.states[BAD]) keys.push(key(`bad ${count(total.states[BAD])}`, colours.bad));
    this.parts.legend.replaceChildren(...keys);
  }

  /** The scale of the view, under a histogram of the blocks along it. */
  scale() {
    const { blocks, colours, total, view } = this;
    const bins = 48;
    // Zombies have as many values as they may be shares of valid pages; the others, whole numbers.
    const values = { valid: blocks.pages + 1, zombies: bins, wear: total.most - total.least + 1 }[view];
    const levels = new Uint32Array(Math.min(values, 1 << 16));
    const sum = { blocks: 1, written: 1 };
    for (let at = 0; at < blocks.length; at += 1) {
      if (view !== "wear" && blocks.state[at] !== CLOSED) continue;
      [sum.valid, sum.zombies, sum.erases] = [blocks.valid[at], blocks.zombies[at], blocks.erases[at]];
      levels[Math.round(this.share(sum) * (levels.length - 1))] += 1;
    }
    const found = spread(levels, bins);
    const most = found.reduce((one, other) => Math.max(one, other), 1e-9);
    const wide = 240, tall = 48, foot = 9;
    const drawing = make("canvas", { width: wide * 2, height: tall * 2, role: "img" });
    const what = view === "wear" ? "blocks" : "closed blocks";
    drawing.setAttribute("aria-label", `how many ${what} are where on the scale`);
    const context = drawing.getContext("2d");
    context.scale(2, 2);
    ramp(colours[view], bins).forEach((colour, bin) => {
      const x = (bin * wide) / bins;
      context.fillStyle = colour;
      context.fillRect(x, tall - foot, wide / bins + 0.5, foot);
      context.fillStyle = getComputedStyle(document.body).color;
      context.globalAlpha = 0.55;
      const high = found[bin] ? Math.max(1, (found[bin] / most) * (tall - foot - 3)) : 0;
      context.fillRect(x + 0.5, tall - foot - 2 - high, wide / bins - 1, high);
      context.globalAlpha = 1;
    });
    const ends = view === "wear" ? [count(total.least), several(total.most, "erase")] : ["0%", `100% ${view === "valid" ? "valid" : "of valid"}`];
    return make("span", { className: "scale" }, ends[0], drawing, ends[1]);
  }

  point(event) {
    const { canvas } = this.parts;
    if (!this.layout) return;
    const { step, columns, cells } = this.layout;
    const frame = canvas.getBoundingClientRect(), scale = canvas.width / frame.width;
    const column = Math.floor(((event.clientX - frame.left) * scale) / step);
    const cell = Math.floor(((event.clientY - frame.top) * scale) / step) * columns + column;
    this.select(column < columns && cell >= 0 && cell < cells ? cell : null);
  }

  press(event) {
    if (!this.layout) return;
    const { columns, cells } = this.layout;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (event.key === "Escape") this.select(null);
    if (by === undefined) return;
    event.preventDefault();
    const next = this.selected === null ? 0 : this.selected + by;
    if (next >= 0 && next < cells) this.select(next);
  }

  select(cell) {
    this.selected = cell;
    this.tip();
  }

  /** What the selected cell holds, beside it. */
  tip() {
    const { parts: { tip, cursor, canvas, map }, blocks, selected } = this;
    tip.hidden = cursor.hidden = selected === null || selected >= this.layout.cells;
    if (tip.hidden) return;
    const { each, step, columns } = this.layout;
    const from = selected * each, to = Math.min(from + each, blocks.length);
    const sum = sums(blocks, from, to);
    const pages = sum.written * blocks.pages;
    const rows = each === 1
      ? [["state", STATES[blocks.state[from]]], ["class", sum.written ? blocks.cls[from] : "–"]]
      : STATES.map((name, state) => [name, count(sum.states[state])]).filter(([, found]) => found !== "0");
    rows.push(["valid pages", sum.written ? `${count(sum.valid)} of ${count(pages)}, ${percent(sum.valid / pages)}` : "–"]);
    rows.push(["zombies", count(sum.zombies)]);
    rows.push(["erases", each === 1 || sum.least === sum.most ? count(sum.least) : `${count(sum.least)} to ${count(sum.most)}`]);
    tip.replaceChildren(
      make("b", { textContent: to - from === 1 ? `Block ${count(from)}` : `Blocks ${count(from)} to ${count(to - 1)}` }),
      make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })])),
    );
    const scale = canvas.width / canvas.clientWidth;
    const [x, y, side] = [(selected % columns) * step, Math.floor(selected / columns) * step, step - 1].map((length) => length / scale);
    Object.assign(cursor.style, { left: `${x}px`, top: `${y}px`, width: `${side}px`, height: `${side}px` });
    const beside = x + side + 12 + tip.offsetWidth > map.clientWidth ? x - 12 - tip.offsetWidth : x + side + 12;
    tip.style.left = `${Math.max(0, beside)}px`;
    tip.style.top = `${y + tip.offsetHeight > canvas.clientHeight + 40 ? y - tip.offsetHeight : y}px`;
  }
}
