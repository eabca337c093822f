// Small charts of the last minutes. They share a hair line: what it points at is in the legends.
const NS = "http://www.w3.org/2000/svg";
/** Room for the numbers at the left and for the times below, in pixels. */
const LEFT = 44, BELOW = 18, ABOVE = 6;
/** The shortest and the longest span that is shown, in seconds. */
const SPANS = [60, 120, 300, 600, 900];

const draw = (tag, attributes) => {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

/** The smallest of 1, 1.5, 2, 3, 4, 5, 8, 10 times a power of ten that is not below `value`. */
export function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 8, 10].find((step) => step * power >= value * (1 - 1e-9));
}

/** The top of a scale: above nearly all values, so that one outlier does not flatten the rest. */
export function top(values) {
  if (!values.length) return 1;
  const sorted = [...values].sort((a, b) => a - b);
  const usual = sorted[Math.floor(0.98 * (sorted.length - 1))];
  return sorted.at(-1) > 2 * usual && usual > 0 ? usual * 1.25 : sorted.at(-1);
}

export class Charts {
  /** `plans` say what each chart shows; see page.js. */
  constructor(root, plans) {
    this.samples = [];
    this.hair = null;
    this.charts = plans.map((plan) => new Chart(root, plan, (at) => this.point(at)));
    new ResizeObserver(() => this.draw()).observe(root);
  }

  set(samples) {
    this.samples = samples;
    this.draw();
  }

  point(at) {
    this.hair = at;
    this.draw();
  }

  draw() {
    const { samples } = this;
    const last = samples.at(-1)?.at ?? Date.now() / 1000;
    const age = last - (samples[0]?.at ?? last);
    const span = SPANS.find((one) => one >= age) ?? SPANS.at(-1);
    const chosen = this.hair === null ? samples.at(-1)
      : samples.reduce((best, one) => {
        const at = last - span * (1 - this.hair);
        return !best || Math.abs(one.at - at) < Math.abs(best.at - at) ? one : best;
      }, null);
    for (const chart of this.charts) chart.draw(samples, { last, span, chosen, hair: this.hair !== null });
  }
}

class Chart {
  constructor(root, plan, point) {
    this.plan = plan;
    const section = document.createElement("section");
    section.className = "card chart";
    const header = document.createElement("header");
    const title = document.createElement("h2");
    title.append(plan.title, " ");
    const unit = document.createElement("span");
    unit.className = "soft small";
    unit.textContent = plan.unit;
    title.append(unit);
    const list = document.createElement("ul");
    this.values = plan.lines.map((line) => {
      const item = document.createElement("li"), key = document.createElement("i"), value = document.createElement("b");
      key.className = line.dashed ? "key dashed" : "key";
      key.style.setProperty("--colour", `var(--${line.colour})`);
      if (!line.dashed) key.style.background = `var(--${line.colour})`;
      item.append(key, `${line.name} `, value);
      list.append(item);
      return value;
    });
    header.append(title, list);
    this.svg = draw("svg", { role: "img" });
    section.append(header, this.svg);
    root.append(section);
    this.clip = `clip-${plan.id}`;
    this.svg.addEventListener("pointermove", (event) => {
      const frame = this.svg.getBoundingClientRect();
      const share = (event.clientX - frame.left - LEFT) / (frame.width - LEFT);
      point(Math.min(1, Math.max(0, share)));
    });
    this.svg.addEventListener("pointerleave", () => point(null));
  }

  draw(samples, { last, span, chosen, hair }) {
    const { plan, svg } = this;
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!width || !height) return;
    const inner = height - BELOW - ABOVE;
    const shown = samples.filter((sample) => sample.at >= last - span);
    const values = plan.lines.flatMap((line) => shown.map((sample) => sample[line.key])).filter((value) => value !== null && value !== undefined);
    const scale = plan.log ? logarithmic(values) : linear(values, plan.from ?? 0);
    const x = (at) => LEFT + (1 - (last - at) / span) * (width - LEFT - 4);
    const y = (value) => ABOVE + (1 - scale.at(value)) * inner;
    const parts = [];
    for (const tick of scale.ticks) {
      parts.push(draw("line", { class: "grid", x1: LEFT, x2: width, y1: y(tick), y2: y(tick) }));
      const text = draw("text", { x: LEFT - 7, y: y(tick) + 4, "text-anchor": "end" });
      text.textContent = (plan.tick ?? plain)(tick);
      parts.push(text);
    }
    for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
      const ago = span * (1 - share);
      const text = draw("text", { x: LEFT + share * (width - LEFT - 4), y: height - 3, "text-anchor": anchor });
      text.textContent = ago === 0 ? "now" : ago < 120 ? `${ago} s ago` : `${ago / 60} min ago`;
      parts.push(text);
    }
    const clip = draw("clipPath", { id: this.clip });
    clip.append(draw("rect", { x: LEFT, y: ABOVE - 2, width: Math.max(0, width - LEFT), height: inner + 4 }));
    parts.push(clip);
    for (const line of plan.lines) {
      for (const [kind, d] of [[line.dashed ? "line dashed" : "line", track(shown, line.key, x, y)], ["line dots", dots(shown, line.key, x, y)]]) {
        const path = draw("path", { class: kind, d, "clip-path": `url(#${this.clip})` });
        path.style.stroke = `var(--${line.colour})`;
        parts.push(path);
      }
    }
    if (hair && chosen) parts.push(draw("line", { class: "hair", x1: x(chosen.at), x2: x(chosen.at), y1: ABOVE, y2: height - BELOW }));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("aria-label", `${plan.title}${plan.unit && `, ${plan.unit},`} over the last ${span} seconds`);
    svg.replaceChildren(...parts);
    plan.lines.forEach((line, index) => { this.values[index].textContent = plan.format(chosen?.[line.key]); });
  }
}

/** A tick, without the zeros of a fraction. */
const plain = (value) => String(Number(value.toPrecision(3)));

/** Lines through neighbours that have a value. */
function track(samples, key, x, y) {
  let path = "", drawn = false;
  for (const sample of samples) {
    const value = sample[key];
    if (value === null || value === undefined) { drawn = false; continue; }
    const place = `${x(sample.at).toFixed(1)} ${y(value).toFixed(1)}`;
    path += drawn ? `L${place}` : `M${place}`;
    drawn = true;
  }
  return path;
}

/** Dots for samples that have a value and no neighbour with one. */
function dots(samples, key, x, y) {
  const known = (sample) => sample !== undefined && sample[key] !== null && sample[key] !== undefined;
  return samples
    .filter((sample, index) => known(sample) && !known(samples[index - 1]) && !known(samples[index + 1]))
    .map((sample) => `M${x(sample.at).toFixed(1)} ${y(sample[key]).toFixed(1)}h.01`)
    .join("");
}

function linear(values, from) {
  const least = Math.min(from, ...values.slice(0, 1));
  const most = least + nice(Math.max(top(values) - least, 1e-9));
  return { at: (value) => (value - least) / (most - least), ticks: [0, 0.5, 1].map((share) => least + share * (most - least)) };
}

function logarithmic(values) {
  const positive = values.filter((value) => value > 0);
  const least = Math.floor(Math.log10(Math.min(...positive, 10)));
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(...positive, 100))));
  const step = Math.ceil((most - least) / 4);
  const ticks = [];
  for (let power = least; power <= most; power += step) ticks.push(10 ** power);
  return { at: (value) => (Math.log10(Math.max(value, 10 ** least)) - least) / (most - least), ticks };
}
