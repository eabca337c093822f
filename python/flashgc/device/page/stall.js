// The slowest requests of a drive with a clock, and what held each: a lane for every collection and request
// that its die worked for while it waited, and its own time at the top, split into its causes.
import { count, several, short, size } from "/format.js";

const NS = "http://www.w3.org/2000/svg";
/** Lanes of a request at most, its own among them: those with the most work. */
const LANES = 8;
/** Units that a lane is wide, whatever its width on the screen. */
const WIDE = 1000;
const PARTS = [["queue_us", "queue"], ["collection_us", "collections"], ["bus_us", "bus"], ["cell_us", "cells"]];
const LEGEND = [["read", "read"], ["program", "program"], ["erase", "erase"], ["bus", "bus"], ["queue", "waits for requests"], ["collection", "waits for collections"]];

/** Microseconds in the unit that fits. */
export function time(us) {
  if (us >= 1e6) return `${short(us / 1e6)} s`;
  return us >= 1e3 ? `${short(us / 1e3)} ms` : `${short(us)} µs`;
}

const make = (tag, name, text = "") => Object.assign(document.createElement(tag), { className: name, textContent: text });

function lane(label, bars) {
  const row = make("div", "lane"), svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDE} 10`);
  svg.setAttribute("preserveAspectRatio", "none");
  for (const [from, to, kind] of bars) {
    const bar = document.createElementNS(NS, "rect");
    const at = Math.min(Math.max(from, 0), 1) * WIDE;
    const values = { class: kind, x: at, y: 0, height: 10, width: Math.max(Math.min(to, 1) * WIDE - at, 1) };
    for (const [name, value] of Object.entries(values)) bar.setAttribute(name, value);
    svg.append(bar);
  }
  row.append(make("span", "soft", label), svg);
  return row;
}

/** A lane for each that the die worked for, in the order of their begins; the request's own is the last. */
function lanes(worst) {
  const owners = new Map(), whole = worst.response_us, place = (us) => (us - worst.arrived_us) / whole;
  const own = `${worst.kind} ${count(worst.number)}`;
  // Collections are known whole, also where what they did is not.
  for (const { number, began_us: began, ended_us: ended } of worst.collections) {
    owners.set(`collection ${count(number)}`, [[place(began), ended === null ? 1 : place(ended), "span"]]);
  }
  for (const one of worst.operations ?? []) {
    const name = one.collection !== null ? `collection ${count(one.collection)}`
      : one.request === null ? "write cache or map"
        : one.request === worst.number ? own : `request ${count(one.request)}`;
    const bar = [place(one.began_us), place(one.ended_us), one.place === "bus" ? "bus" : one.work];
    if (!owners.has(name)) owners.set(name, []);
    owners.get(name).push(bar);
  }
  const mine = owners.get(own) ?? [];
  owners.delete(own);
  const work = ([, bars]) => bars.reduce((sum, [from, to]) => sum + to - from, 0);
  const kept = [...owners].sort((a, b) => work(b) - work(a)).slice(0, LANES - 1);
  const left = owners.size - kept.length;
  kept.sort((a, b) => a[1][0][0] - b[1][0][0]);
  return [...kept, ...(left ? [[`and ${several(left, "other")}`, []]] : []), [own, mine]];
}

function figure(worst) {
  const made = make("figure", "stall"), caption = document.createElement("figcaption");
  const where = worst.die === null ? "no die" : `die ${worst.die}`;
  const held = worst.held_by === null ? "" : `, held by collection ${count(worst.held_by)}`;
  caption.append(
    make("b", "", `${time(worst.response_us)} `),
    `${worst.kind} of ${size(worst.bytes)} at ${time(worst.arrived_us)}; ${where}${held}`,
    make("br", ""),
    make("span", "soft", PARTS.map(([key, name]) => `${name} ${time(worst[key])}`).join(" + ")),
  );
  let from = 0;
  const parts = PARTS.map(([key]) => {
    const to = from + worst[key] / worst.response_us, bar = [from, to, key.replace("_us", "")];
    from = to;
    return bar;
  });
  made.append(caption, lane("its time", parts.filter(([begin, end]) => end > begin)));
  if (worst.operations?.length) for (const [name, bars] of lanes(worst)) made.append(lane(name, bars));
  if (worst.is_cut) made.append(make("p", "soft small", "Earlier operations of the die are not kept."));
  return made;
}

/** Shows the slowest requests in `root`, a section that is hidden without any. */
export class Stalls {
  constructor(root) {
    this.root = root;
    this.list = root.querySelector(".stalls");
    this.shown = "";
    root.querySelector(".legend").append(...LEGEND.map(([kind, name]) => {
      const one = make("span", "");
      one.append(make("i", `swatch ${kind}`), name);
      return one;
    }));
  }

  set(worst) {
    const now = JSON.stringify(worst.map((one) => [one.kind, one.number, one.response_us]));
    this.root.hidden = worst.length === 0;
    if (now === this.shown) return;
    this.shown = now;
    this.list.replaceChildren(...worst.map(figure));
  }
}
