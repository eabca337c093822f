// Numbers and elements: what every other part uses.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A number with at most `digits` of them and no zeros at its end. */
const digits = (value, most = 6) => {
  const size = Math.abs(value);
  return size >= 1e15 || (size && size < 1e-6) ? value.toExponential(3) : String(Number(value.toPrecision(most)));
};

/** A whole number, with thin spaces between thousands. */
const count = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** Bytes in binary units. */
const size = (bytes) => {
  let unit = 0;
  while (bytes >= 999.5 && unit < UNITS.length - 1) { bytes /= 1024; unit += 1; }
  return `${unit ? digits(bytes, 3) : bytes} ${UNITS[unit]}`;
};

/** A number and its noun. */
const several = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Seconds, as short as they can be told. */
const duration = (seconds) => seconds < 60 ? `${digits(seconds, 3)} s`
  : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`
    : `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;

/** How the values of a column are written, by what its `show` says. */
const SHOWN = {
  share: (value) => `${digits(100 * value, 4)}%`,
  size,
  count: (value) => Number.isInteger(value) ? count(value) : digits(value),
  seconds: duration,
  time: (value) => new Date(1000 * value).toISOString().slice(0, 16).replace("T", " "),
  number: (value) => Math.abs(value) >= 1e4 && Math.abs(value) < 1e15 ? count(Number(value.toPrecision(5))) : digits(value, 5),
  exact: (value) => value.toFixed(4),
  flag: (value) => value ? "yes" : "no",
  text: String,
};

/** An element with attributes, of which functions are listeners, and what is in it. */
const make = (tag, attributes = {}, ...inside) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...inside);
  return element;
};

/** An element of a picture. */
const draw = (tag, attributes = {}, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
};

const at = (id) => document.getElementById(id);

/** Waits until nothing was asked for during `milliseconds`. */
const calm = (work, milliseconds) => {
  let waiting = 0;
  return () => { clearTimeout(waiting); waiting = setTimeout(work, milliseconds); };
};
