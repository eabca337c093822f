// Asks the drive once a second and shows what it says. Pauses while nobody looks.
import { BlockMap, decode } from "/blocks.js";
import { Charts } from "/charts.js";
import { Stalls } from "/stall.js";
import { handles, hosts, latencies } from "/tables.js";
import { count, duration, mega, percent, ratio, several, short, size } from "/format.js";

const PERIOD = 1000;
/** Milliseconds after which a request without an answer is given up. */
const PATIENCE = 10000;
/** Samples that are kept: as many as the server keeps. */
const KEPT = 900;
/** Blocks are asked for at most so often that it takes one part in this many of the time. */
const EASE = 5;

const element = (id) => document.getElementById(id);
const put = (id, text) => { const one = element(id); if (one.textContent !== text) one.textContent = text; };

const charts = new Charts(element("charts"), [
  {
    id: "wa", title: "Write amplification", unit: "flash / host", from: 1, format: ratio,
    lines: [
      { key: "write_amplification", name: "each second", colour: "accent" },
      { key: "write_amplification_since_made", name: "since made", colour: "soft", dashed: true },
    ],
  },
  {
    id: "rates", title: "Rates", unit: "MB/s", format: mega, tick: (value) => String(Number((value / 1e6).toPrecision(3))),
    lines: [
      { key: "flash_written_bytes_per_second", name: "flash writes", colour: "flash" },
      { key: "host_written_bytes_per_second", name: "host writes", colour: "host" },
      { key: "host_read_bytes_per_second", name: "host reads", colour: "read", dashed: true },
    ],
  },
  {
    id: "latency", title: "Mean latency", unit: "µs", log: true, format: (value) => short(value), tick: count,
    lines: [
      { key: "write_us", name: "write", colour: "host" },
      { key: "read_us", name: "read", colour: "read", dashed: true },
      { key: "flush_us", name: "flush", colour: "flash" },
    ],
  },
  {
    id: "free", title: "Free blocks", unit: "", format: count,
    lines: [{ key: "free_blocks", name: "erased", colour: "accent" }],
  },
]);

const stalls = new Stalls(element("slowest"));

let samples = [], run = null, answered = null, blocksDue = 0, timer = null, busy = false;

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.ok) return answer;
  const text = await answer.text();
  let why = text.trim();
  try { why = JSON.parse(text).error; } catch { /* the text says why */ }
  throw Object.assign(new Error(why), { told: true });
}

const json = async (path) => (await ask(path)).json();

function showStat(stat) {
  const { smart, ocp, counters, page_bytes: page } = stat;
  const name = stat.file.split("/").at(-1);
  put("name", name);
  document.title = `${name} · flashgc`;
  put("about", [
    `${size(stat.capacity_bytes)} on ${several(stat.blocks, "block")} of ${size(stat.pages_per_block * page)}`,
    `victims by ${stat.victim}`,
    ...(stat.placement === "none" ? [] : [`placement by ${stat.placement}`]),
    `durability ${stat.durability}`,
    stat.serving.length ? `served as ${stat.serving.join(" and ")}` : "served to no host",
    `open for ${duration(stat.uptime_seconds)}`,
  ].join(" · "));
  put("wa-all", ratio(stat.write_amplification));
  put("host-all", `${size(counters.host_bytes_written)} in all`);
  put("flash-all", `${size(ocp.physical_media_units_written)} in all`);
  put("read-all", `${size(counters.host_bytes_read)} in all`);
  put("erases-all", `${ocp.user_data_erase_count_min} to ${ocp.user_data_erase_count_max} a block`);
  put("free-now", count(stat.free_blocks));
  put("free-all", `${percent(stat.free_blocks / stat.blocks)} of ${count(stat.blocks)}`);
  facts(element("health"), [
    ["drive with data", percent(stat.mapped_pages * page / stat.capacity_bytes)],
    ["zombies", stat.zombie_pages === null ? "not kept" : count(stat.zombie_pages)],
    ["pages copied", count(counters.copied_pages)],
    ["pages discarded", count(counters.trimmed_pages)],
    ["mean erases", short(ocp.nand_avg_erase_count)],
    ["endurance used", `${smart.percentage_used}%`],
    ["spare left", `${smart.available_spare}%`],
    ["bad blocks", count(ocp.bad_user_nand_blocks)],
    ["media errors", count(smart.media_errors)],
    ["unsafe shutdowns", count(smart.unsafe_shutdowns)],
    ["syncs", count(counters.syncs)],
    ["checkpoints", count(counters.checkpoints)],
  ]);
  latencies(element("latency"), stat.latency_us);
  hosts(element("hosts"), stat.connections);
  handles(element("handles"), stat.fdp);
  stalls.set(stat.realtime?.worst ?? []);
  alarm(alarms(stat));
}

/** What is wrong with the drive, in a line; null if nothing is. */
function alarms({ read_only: readOnly, faults }) {
  const told = [];
  if (readOnly !== null) told.push(`The drive is read-only: ${readOnly}`);
  if (faults?.set.length || faults?.met) {
    const there = faults.set.filter((one) => !one.over).length;
    told.push(`Somebody lets it fail on demand: ${several(there, "fault")} set, ${several(faults.met, "command")} met one`);
  }
  return told.length ? told.join(". ") : null;
}

function facts(list, rows) {
  list.replaceChildren(...rows.map(([name, value]) => {
    const group = document.createElement("div"), term = document.createElement("dt"), told = document.createElement("dd");
    term.textContent = name;
    told.textContent = value;
    group.append(term, told);
    return group;
  }));
}

function showNow(now) {
  put("wa-now", ratio(now?.write_amplification));
  put("host-now", mega(now?.host_written_bytes_per_second));
  put("flash-now", mega(now?.flash_written_bytes_per_second));
  put("read-now", mega(now?.host_read_bytes_per_second));
  put("erases-now", short(now?.erases_per_second));
}

function alarm(text) {
  element("alert").hidden = text === null;
  put("alert", text ?? "");
}

function status(state, text) {
  element("status").dataset.state = state;
  put("status-text", text);
  element("main").classList.toggle("stale", state === "gone");
}

const clock = (date) => date.toLocaleTimeString([], { hour12: false });

function gone(error) {
  const last = answered === null ? "it has not answered yet" : `its last answer was at ${clock(answered)}`;
  status("gone", "gone");
  alarm(error.told
    ? `The drive is gone: ${error.message}; ${last}. The page goes on when it is back.`
    : `No answer from ${location.host}; ${last}. The page goes on when the drive is served again.`);
}

async function look(map) {
  const known = samples.at(-1)?.number ?? 0;
  const [stat, series] = await Promise.all([json("/stat.json"), json(`/series.json?after=${known}`)]);
  if (series.run !== run) {
    samples = run === null || known === 0 ? [] : (await json("/series.json")).samples;
    if (samples.length) series.samples = [];
    run = series.run;
  }
  samples = [...samples, ...series.samples].slice(-KEPT);
  showStat(stat);
  showNow(samples.at(-1));
  charts.set(samples);
  if (Date.now() >= blocksDue) {
    const began = Date.now();
    map.set(decode(await (await ask("/blocks")).arrayBuffer()));
    // A large drive, or one that is far away, is not kept busy by those who look at it.
    blocksDue = began + Math.max(PERIOD, EASE * (Date.now() - began)) - PERIOD / 2;
  }
  answered = new Date();
  status("live", "live");
}

async function tick(map) {
  if (busy || document.hidden) return;
  busy = true;
  const began = Date.now();
  try {
    await look(map);
  } catch (error) {
    gone(error);
  }
  busy = false;
  if (document.hidden) status("paused", "paused");
  clearTimeout(timer);
  timer = setTimeout(tick, Math.max(100, PERIOD - (Date.now() - began)), map);
}

const parts = Object.fromEntries(["canvas", "map", "cursor", "tip", "legend", "note", "views", "still"].map((id) => [id, element(id)]));
const map = new BlockMap(await json("/palette.json"), parts);
map.show(new URLSearchParams(location.search).get("view") ?? "valid");
document.addEventListener("visibilitychange", () => {
  if (document.hidden) status("paused", "paused");
  else tick(map);
});
addEventListener("resize", () => map.draw());
tick(map);
