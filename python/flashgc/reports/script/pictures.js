// The pictures: panels side by side, with zoom, values at the pointer, and keys.
/** Panels that are drawn, and lines of a panel that are named at their ends. */
const PANELS = 24, NAMED = 10;
/** Lines that look different. */
const LOOKS = 42;

class Pictures {
  /** `show` is called with a row that the reader wants to see. */
  constructor(show) {
    this.show = show;
    this.root = at("panels");
    this.found = everything;
    this.plan = new Plan(() => this.update());
    this.plan.zoomed = (way) => this.zoomed(way);
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    if (!this.plan.kinds.length) return;
    at("pictures").hidden = false;
    let width = 0;
    new ResizeObserver(() => {
      if (this.root.clientWidth !== width && !this.paper) { width = this.root.clientWidth; this.draw(); }
    }).observe(this.root);
    this.update();
  }

  /** Shows these rows. */
  set(found) {
    this.found = found;
    if (this.plan.kinds.length) this.update();
  }

  /** Computes what is to be seen, and draws it. */
  update() {
    const { plan } = this;
    const said = [];
    this.view = null;
    try {
      const rows = plan.rows(this.found);
      if (!plan.x || (plan.kind === "heatmap" && !plan.by)) throw new Refused("it has no other option to go over");
      const view = viewOf(rows, plan);
      const points = view.panes.flatMap((pane) => pane.lines.flatMap((line) => line.points));
      said.push(this.caption());
      if (!points.some((one) => one.y !== null)) throw new Refused(`no cell here has a number for ${plan.y.title}`);
      this.view = view;
      const drawn = points.filter((one) => one.y !== null);
      const counts = drawn.filter((one) => one.same === 1).map((one) => one.count);
      const [few, many] = extent(counts, 0);
      if (many > 1) said.push(`means of ${few === many ? many : `${few} to ${many}`} seeds, with 95% intervals`);
      const exact = drawn.filter((one) => one.same > 1).length;
      if (exact) said.push(`${exact < drawn.length ? `${exact} of ${drawn.length} points ${exact > 1 ? "are" : "is"} ` : ""}exact: all ${exact === 1 ? "its" : "their"} seeds give the same, and count once`);
      if (plan.kind === "pareto") said.push(`the line joins the points that no other one betters in both figures`);
      if (view.without) said.push(`${several(view.without, "cell")} without a result`);
      if (view.older) said.push(`${several(view.older, "cell")} left out: newer ones have the same command, of another build or another content of a file`);
      if (plan.kind !== "heatmap" && view.lines.length > LOOKS) said.push(`some of the ${view.lines.length} lines look alike: search for fewer`);
      if (view.panes.length > PANELS) said.push(`the first ${PANELS} of ${view.panes.length} panels: search for fewer`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      said.push(`Nothing is drawn: ${error.message}.`);
    }
    plan.left ??= [];
    plan.menus(at("choices"), at("kinds"), this.found);
    at("said").textContent = said.join("; ");
    this.draw();
  }

  /** What is over what, in words: on paper there are no menus. */
  caption() {
    const { plan } = this;
    const over = { lines: "over", heatmap: "by", pareto: "against" }[plan.kind];
    const held = plan.kind === "pareto" ? [] : plan.left.map((column) => `${column.title} is ${column.text(plan.fixed.get(column))}`);
    const by = plan.kind === "heatmap" ? ` and ${plan.by.title}` : "";
    return [`${plan.y.title} ${over} ${plan.x.title}${by}`, ...held].join(", ");
  }

  /** The lines by name, to hide and show them. */
  legend() {
    const { view, plan } = this;
    const some = view && view.by && plan.kind !== "heatmap" ? view.lines.filter((value) => view.panes.some((pane) => pane.lines.some((line) => line.by === value && line.points.length))) : [];
    at("legend").replaceChildren(...some.map((value) => {
      const index = view.lines.indexOf(value), word = view.by.text(value);
      const sample = draw("svg", { viewBox: "0 0 30 12", class: "sample", "aria-hidden": "true" });
      if (plan.kind === "lines" && view.numeric) sample.append(draw("path", { class: `line ${look(index)}`, d: "M1 6H29" }));
      sample.append(draw("path", { class: `mark ${look(index)}`, d: shape(index), transform: "translate(15 6)" }));
      return make("button", {
        type: "button", "aria-pressed": String(!plan.hidden.has(value)), title: word,
        click: () => {
          if (!plan.hidden.delete(value)) plan.hidden.add(value);
          this.draw();
          at("legend").children[some.indexOf(value)].focus();
        },
      }, sample, make("span", {}, word));
    }));
  }

  draw() {
    const { view, plan } = this;
    this.legend();
    this.hide();
    const panes = view ? view.panes.slice(0, PANELS) : [];
    const wide_ = this.paper ?? this.root.clientWidth;
    const some = Math.min(panes.length, wide_ < 560 ? 1 : wide_ < 1000 ? 2 : 3) || 1;
    this.root.style.gridTemplateColumns = `repeat(${some}, minmax(0, 1fr))`;
    const width = Math.floor((wide_ - 18 * (some - 1)) / some);
    const names = view?.by ? view.lines.map((value) => view.by.text(value)) : [];
    const room = Math.min(Math.floor(width * 0.28 / 6.3), Math.max(0, ...names.map((name) => name.length)));
    const direct = plan.kind === "lines" && view?.by && names.length - plan.hidden.size <= NAMED && width >= 420 ? room : 0;
    const right = direct ? wide("x".repeat(direct)) + 14 : 12;
    const all = view ? this.domains(panes) : null;
    this.panels = panes.map((pane, index) => {
      const heads = [plan.y.title, "over", view.x.title, view.panels ? `, ${view.panels.title} ${view.panels.text(pane.at)}` : ""].join(" ");
      const svg = draw("svg", { role: "group", tabindex: "0", class: plan.kind });
      const height = plan.kind === "heatmap" ? 44 + Math.min(46, Math.max(22, 360 / pane.lines.length)) * view.lines.length
        : Math.round(Math.min(440, Math.max(250, width * (some === 1 ? 0.5 : 0.68))));
      svg.style.height = `${height}px`;
      const own = plan.own ? this.domains([pane]) : all;
      const axes = this.axes(own);
      const id = `clip-${index}`;
      const framed = frame(svg, { width, height, ...axes, heads, right: plan.kind === "heatmap" ? 6 : right, view, id });
      const better = plan.kind === "pareto" ? front(view, { lines: pane.lines.filter((line) => !plan.hidden.has(line.by)) }) : null;
      const parts = { view, pane, frame: framed, id, domain: own.z, direct, better, hidden: plan.hidden };
      const hits = plan.kind === "heatmap" ? drawHeat(svg, parts) : drawLines(svg, parts);
      hits.sort((a, b) => a.x - b.x || a.y - b.y);
      // For a reader with a console.
      svg.hits = hits;
      const panel = { svg, hits, ...framed, width, height };
      hear(this, panel);
      const head = view.panels ? [make("figcaption", { title: String(pane.at) }, view.panels.text(pane.at))] : [];
      return { ...panel, figure: make("figure", { class: "panel" }, ...head, svg) };
    });
    this.root.replaceChildren(...this.panels.map((panel) => panel.figure), ...(view && plan.kind === "heatmap" ? [this.ramp(all.z)] : []), this.tip);
  }

  /** What the colours of a heat map say. */
  ramp([low, high]) {
    const { y } = this.view;
    return make("p", { class: "ramp small soft" }, y.title, make("span", {}, SHOWN[y.show](low)), make("i", { "aria-hidden": "true" }), make("span", {}, SHOWN[y.show](high)));
  }

  /** From where to where the axes of some panes go. */
  domains(panes) {
    const { view, plan } = this;
    const lines = panes.flatMap((pane) => pane.lines.filter((line) => !plan.hidden.has(line.by)));
    const points = lines.flatMap((line) => line.points).filter((one) => one.y !== null);
    const place = (one) => view.numeric && plan.kind !== "heatmap" ? one.x : view.across.indexOf(one.x);
    const many = view.across.length;
    const positive = (value) => !plan.log || value > 0;
    const byPlace = plan.kind === "heatmap" || !view.numeric;
    const x = plan.zoom ?? (byPlace ? [-0.5, many - 0.5] : extent(points.map(place), plan.kind === "pareto" ? 0.05 : 0.02));
    const seen = points.filter((one) => place(one) >= x[0] && place(one) <= x[1]);
    const values = seen.flatMap((one) => [one.y, one.low, one.high]).filter((value) => value !== null && positive(value));
    return { x, y: extent(values, 0.06, plan.log), z: extent(seen.map((one) => one.y), 0) };
  }

  /** The scales of a panel, made when its room is known. */
  axes({ x, y }) {
    const { view, plan } = this;
    const places = (list, column) => ({
      numeric: false, grid: false, words: list.map((value) => cut(column.text(value), 22)),
      make: (range) => scaleOfPlaces([-0.5, list.length - 0.5], range, list, column),
    });
    const heat = plan.kind === "heatmap", byPlace = heat || !view.numeric;
    const across = byPlace
      ? { numeric: view.x.numeric, make: (range) => scaleOfPlaces(x, range, view.across, view.x) }
      : { numeric: true, make: (range, most) => scaleOf(x, range, { most, column: view.x, own: view.across }) };
    if (heat) return { x: across, y: { ...places(view.lines, view.by), grid: false } };
    const up = scaleOf(y, [1, 0], { log: plan.log, most: 6, column: view.y });
    return { x: across, y: { grid: true, words: up.words, make: (range) => scaleOf(y, range, { log: plan.log, most: 6, column: view.y }) } };
  }

  /** Changes what part of the horizontal axis is shown. */
  zoomed(way) {
    if (!this.view) return;
    const [low, high] = this.domains(this.view.panes).x, span = high - low;
    const by = { in: [0.25, -0.25], out: [-0.5, 0.5], less: [-0.25, -0.25], more: [0.25, 0.25] }[way];
    this.zoom(by ? [low + by[0] * span, high + by[1] * span] : null);
  }

  /** Shows a range of the horizontal axis, or with `null` all of it. */
  zoom(range) {
    const { plan } = this;
    plan.zoom = null;
    const [low, high] = this.domains(this.view.panes).x;
    if (range && (range[0] > low || range[1] < high) && range[1] - range[0] > (high - low) * 1e-4) {
      plan.zoom = [Math.max(range[0], low), Math.min(range[1], high)];
    }
    this.draw();
  }

  /** Tells the values of a point, beside it. */
  point(panel, hit) {
    const { view, plan } = this;
    this.hit = hit;
    const { point, line } = hit;
    const rows = [[view.x.title, plan.kind === "pareto" ? SHOWN[view.x.show](point.x) : view.x.text(point.x)], [view.y.title, point.y === null ? "no result" : view.y.text(point.y)]];
    if (point.low !== null) rows.push(["95% interval", `${view.y.text(point.low)} to ${view.y.text(point.high)}`]);
    if (point.count > 1) rows.push(["mean of", `${point.count} seeds`]);
    if (point.same > 1) rows.push(["exact", `${point.same} seeds give the same`]);
    if (plan.kind === "heatmap") rows.unshift([view.by.title, view.by.text(line.by)]);
    for (const [column, value] of point.at ?? []) rows.push([column.title, column.text(value)]);
    if (point.reason) rows.push(["because", cut(point.reason, 160)]);
    const head = view.by && plan.kind !== "heatmap" ? [make("b", {}, view.by.text(line.by))] : [];
    this.tip.replaceChildren(...head, make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
    this.tip.hidden = false;
    for (const ring of this.root.querySelectorAll(".ring")) ring.remove();
    panel.svg.append(draw("circle", { class: "ring", cx: hit.x, cy: hit.y, r: 8 }));
    const box = this.root.getBoundingClientRect(), own = panel.svg.getBoundingClientRect();
    const x = own.left - box.left + hit.x, y = own.top - box.top + hit.y;
    const { offsetWidth, offsetHeight } = this.tip;
    const left = x + 16 + offsetWidth > box.width ? x - 16 - offsetWidth : x + 16;
    this.tip.style.left = `${Math.max(0, Math.min(left, box.width - offsetWidth))}px`;
    this.tip.style.top = `${Math.max(0, y - offsetHeight / 2)}px`;
  }

  hide() {
    this.tip.hidden = true;
    this.hit = null;
    for (const ring of this.root.querySelectorAll(".ring")) ring.remove();
  }
}
