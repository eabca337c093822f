// Tables: latencies, the hosts that are connected, the placement handles.
import { count, ratio, several, short } from "/format.js";

/** Fills a table. The first cell of a row names it. */
function fill(table, names, rows) {
  const line = (kind, texts) => {
    const row = document.createElement("tr");
    texts.forEach((text, index) => {
      const cell = document.createElement(index && kind === "td" ? "td" : "th");
      cell.textContent = text;
      cell.scope = kind === "th" ? "col" : index ? "" : "row";
      row.append(cell);
    });
    return row;
  };
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(line("th", names));
  body.append(...rows.map((row) => line("td", row)));
  table.replaceChildren(head, body);
}

export function latencies(table, all) {
  const keys = { mean: "mean", p50: "p50", p90: "p90", p99: "p99", "p99.9": "p999", max: "max" };
  const row = (operation) => {
    const of = all[operation];
    return [operation, count(of.count), ...Object.values(keys).map((key) => (of.count ? short(of[key]) : "–"))];
  };
  fill(table, ["", "commands", ...Object.keys(keys)], ["read", "write", "flush", "trim"].map(row));
}

const sum = (all) => all.reduce((total, one) => total + one.under_way, 0);

/** Shows the hosts that are connected by a network in `section`, or hides it. */
export function hosts(section, connections) {
  const rows = (connections ?? []).flatMap(({ clients = [], hosts: all = [] }) => [
    ...(clients.length ? [[several(clients.length, "client"), "NBD", "–", count(sum(clients))]] : []),
    ...all.filter((one) => !one.discovers).map((one) => [
      one.host, "NVMe/TCP", count(one.queues.filter((queue) => queue.queue).length), count(sum(one.queues)),
    ]),
  ]);
  section.hidden = !rows.length;
  fill(section.querySelector("table"), ["", "by", "queues", "under way"], rows);
}

/** Shows the placement handles of a drive in `section`, or hides it. */
export function handles(section, fdp) {
  section.hidden = !fdp;
  const row = (one) => [
    `handle ${one.handle}`, count(one.host_pages), count(one.copied_pages),
    one.host_pages ? ratio(one.write_amplification) : "–",
  ];
  fill(section.querySelector("table"), ["", "pages written", "copied", "amplification"], (fdp?.handles ?? []).map(row));
}
