// Numbers as people read them. `null` is what cannot be told, shown as a dash.
const NONE = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A whole number, with thin spaces between thousands. */
export function count(value) {
  return value == null ? NONE : Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number with `digits` of them, at most two behind the point unless it is small. */
export function short(value, digits = 3) {
  if (value == null) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return count(value);
  return value.toFixed(Math.min(3, Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
}

/** A ratio such as write amplification. */
export const ratio = (value) => (value == null ? NONE : value.toFixed(value < 100 ? 2 : 0));

/** Bytes a second, in MB/s. */
export const mega = (value) => (value == null ? NONE : short(value / 1e6));

/** Bytes in binary units. */
export function size(bytes) {
  let unit = 0;
  while (bytes >= 999.5 && unit < UNITS.length - 1) { bytes /= 1024; unit += 1; }
  return `${unit ? Number(bytes.toPrecision(3)) : bytes} ${UNITS[unit]}`;
}

/** A share of 1, in percent. */
export const percent = (share) => share > 0 && share < 0.001 ? "<0.1%" : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;

/** Seconds in words. */
export function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${(seconds / 86400).toFixed(1)} days`;
}

/** A number and its noun. */
export const several = (value, noun, plural = `${noun}s`) => `${count(value)} ${value === 1 ? noun : plural}`;
