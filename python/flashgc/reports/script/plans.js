// What the reader has chosen to see, and the menus for it.
const KINDS = { lines: "Lines", heatmap: "Heat map", pareto: "Pareto" };
const options = columns.filter((one) => one.role === "option" && one.varied);
const figures = columns.filter((one) => one.role === "figure" && one.numeric && (one.values ?? one.words).some(isNumber));

class Plan {
  constructor(change) {
    this.change = change;
    const kinds = Object.keys(KINDS).filter((kind) => source.usual[kind] && (kind === "pareto" ? figures.length > 1 : (options.length >= (kind === "heatmap" ? 2 : 1))));
    this.kinds = kinds;
    this.fixed = new Map();
    if (kinds.length) this.show(kinds[0]);
  }

  /** Begins with the usual columns of a kind of picture. */
  show(kind) {
    const usual = source.usual[kind];
    const of = (place) => named(usual[place]) ?? null;
    const y = this.y ?? named("write_amplification") ?? figures[0];
    Object.assign(this, { kind, x: of("x"), by: of("by"), panels: of("panels"), y: figures.includes(y) ? y : figures[0] });
    if (kind === "pareto") {
      this.x = this.y;
      this.y = ["read_p99_us", "write_p99_us", "all_p99_us", "wear_max_erases"].map(named)
        .find((one) => figures.includes(one) && one !== this.x) ?? figures.find((one) => one !== this.x);
    }
    this.start();
  }

  /** Forgets what belongs to other columns. */
  start() {
    this.hidden = new Set();
    this.zoom = null;
  }

  /** The rows that agree with what was fixed, of those found; options that are left over are fixed. */
  rows(found) {
    if (this.kind === "pareto") return found;
    const shown = [this.x, this.by, this.panels].filter(Boolean);
    const results = found.filter((row) => this.kind === "heatmap" || named("status").at(row) === "result");
    this.left = leftOver(results, shown);
    const held = this.left.map((column) => [column, this.value(column, results)]);
    return found.filter((row) => held.every(([column, value]) => column.at(row) === value));
  }

  /** The value at which an option is held: the reader's, or the one with the most results. */
  value(column, rows) {
    const there = column.different(rows);
    if (this.fixed.has(column) && there.includes(this.fixed.get(column))) return this.fixed.get(column);
    const counts = new Map();
    for (const row of rows) counts.set(column.at(row), (counts.get(column.at(row)) ?? 0) + 1);
    const most = Math.max(...counts.values());
    this.fixed.set(column, there.find((value) => counts.get(value) === most));
    return this.fixed.get(column);
  }

  /** Draws the menus. */
  menus(root, kinds, found) {
    kinds.replaceChildren(...this.kinds.map((kind) => make("button", {
      type: "button", "aria-pressed": String(kind === this.kind), "data-kind": kind,
      click: () => { this.show(kind); this.change(); },
    }, KINDS[kind])));
    const pareto = this.kind === "pareto";
    const names = pareto ? { y: "up", x: "across", by: "colours", panels: "panels" }
      : this.kind === "heatmap" ? { y: "figure", x: "across", by: "up", panels: "panels" }
        : { y: "figure", x: "over", by: "a line each", panels: "panels" };
    const menu = (place, from, empty) => this.menu(names[place], place, from, this[place], (one) => {
      this.put(place, one);
      this.start();
      this.change();
    }, empty);
    const results = found.filter((row) => this.kind === "heatmap" || named("status").at(row) === "result");
    const held = pareto ? [] : this.left.map((column) => this.held(column, results));
    const zoom = make("span", { class: "views zoom", role: "group", "aria-label": "Zoom" },
      ...[["in", "+", "Zoom in"], ["out", "−", "Zoom out"], ["less", "◂", "To the left"], ["more", "▸", "To the right"], ["all", "all", "Show all"]]
        .map(([way, word, title]) => make("button", { type: "button", title, "aria-label": title, "data-zoom": way, click: () => this.zoomed(way) }, word)));
    const ticks = [["log", "log scale", !["heatmap"].includes(this.kind)], ["own", "own scales", Boolean(this.panels)]]
      .filter(([, , there]) => there)
      .map(([name, word]) => make("label", { class: "tickbox" },
        make("input", { type: "checkbox", "data-tick": name, checked: Boolean(this[name]), change: (event) => { this[name] = event.target.checked; this.change(); } }), word));
    root.replaceChildren(
      menu("y", pareto ? figures.filter((one) => one !== this.x) : figures),
      menu("x", pareto ? figures.filter((one) => one !== this.y) : options),
      menu("by", options, this.kind !== "heatmap"), menu("panels", options, true),
      ...held, ...ticks, zoom,
    );
  }

  /** Gives a place a column. The place that had it gets what was here, for each has one of its own. */
  put(place, column) {
    const other = ["x", "by", "panels"].find((one) => one !== place && column && this[one] === column);
    const before = this[place];
    this[place] = column;
    if (!other) return;
    const free = options.find((one) => one.name !== SEED && ![this.x, this.by, this.panels].includes(one));
    this[other] = before ?? (other === "x" || (other === "by" && this.kind === "heatmap") ? free ?? null : null);
  }

  menu(word, place, from, chosen, choose, empty = false) {
    const list = empty ? [null, ...from] : from;
    return make("label", {}, make("span", {}, word), make("select", {
      "data-place": place, change: (event) => choose(list[event.target.selectedIndex]),
    }, ...list.map((one) => make("option", { selected: one === chosen }, one ? one.title : "none"))));
  }

  /** The menu of an option that the picture shows one value of. */
  held(column, rows) {
    const values = column.different(rows);
    return make("label", { class: "held" }, make("span", {}, `${column.title} is`), make("select", {
      "data-held": column.name,
      change: (event) => { this.fixed.set(column, values[event.target.selectedIndex]); this.zoom = null; this.change(); },
    }, ...values.map((value) => make("option", { selected: value === this.fixed.get(column) }, column.text(value)))));
  }
}
