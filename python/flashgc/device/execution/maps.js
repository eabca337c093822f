// The maps of the blocks: a bar for each cell, cut by the owners of its pages.
(() => {
  "use strict";
  /** Heights of a bar with its gap, and the height of a map that bars get smaller for, in CSS pixels. */
  const LARGEST = 14, SMALLEST = 3, MOST = 560;
  const { owners, keys, pages, each, maps } = JSON.parse(document.getElementById("maps").textContent);
  const whole = pages * each;
  const column = (text) => text.split(",").map(Number);
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  /** So many bars say more in the order of their owners. */
  const MANY = 2000;

  /** The columns and the sizes of bars, for so many cells on this width. */
  const arrange = (cells, width) => {
    for (let tall = LARGEST; ; tall -= 1) {
      const columns = Math.max(1, Math.floor(width / Math.max(16, 5 * tall)));
      const rows = Math.ceil(cells / columns);
      if (rows * tall <= MOST || tall === SMALLEST) return { tall, columns, rows, wide: width / columns };
    }
  };

  class Drawn {
    constructor(figure, { live, invalid }) {
      this.figure = figure;
      this.canvas = figure.querySelector("canvas");
      this.tip = figure.querySelector(".tip span");
      this.parts = [...live.map(column), column(invalid)];
      this.cells = this.parts.at(-1).length;
      this.orders = { number: [...Array(this.cells).keys()] };
      this.orders.owner = this.sorted();
      this.place = null;
      const { canvas } = this;
      const point = (event) => this.point(event);
      canvas.addEventListener("pointermove", point);
      canvas.addEventListener("pointerdown", point);
      canvas.addEventListener("pointerleave", () => this.select(null));
      canvas.addEventListener("blur", () => this.select(null));
      canvas.addEventListener("keydown", (event) => this.press(event));
      const save = figure.querySelector("a.save");
      save.hidden = false;
      save.addEventListener("click", () => { save.href = this.picture(); });
      new ResizeObserver(() => this.draw()).observe(figure);
    }

    /** The cells by the owner with most of their pages, those with more of it first. */
    sorted() {
      const share = (cell) => {
        const found = this.parts.map((part) => part[cell]);
        const most = Math.max(...found.slice(0, -1));
        return most ? [found.indexOf(most), -most, -found.at(-1)] : [owners.length, 0, -found.at(-1)];
      };
      const of = this.orders.number.map(share);
      return [...this.orders.number].sort((a, b) =>
        of[a][0] - of[b][0] || of[a][1] - of[b][1] || of[a][2] - of[b][2] || a - b);
    }

    draw() {
      const { canvas, cells } = this;
      const width = canvas.clientWidth;
      if (!width) return;
      const scale = window.devicePixelRatio || 1;
      const { tall, rows } = this.layout = arrange(cells, width);
      Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(rows * tall * scale) });
      canvas.style.height = `${rows * tall}px`;
      this.paint(canvas.getContext("2d"), scale, this.layout);
      this.mark();
    }

    /** Draws the bars below `above`, which is in the pixels of `context`. */
    paint(context, scale, { tall, columns, wide }, above = 0) {
      const colours = [...keys, "ki"].map(colour);
      const line = colour("line");
      const length = (css) => Math.round(css * scale);
      const gap = length(tall >= 6 ? 2 : tall >= 4 ? 1 : 0);
      this.orders[order].forEach((cell, at) => {
        const left = length((at % columns) * wide);
        const right = length((at % columns + 1) * wide) - length(2);
        const top = above + length(Math.floor(at / columns) * tall), high = length(tall) - gap;
        let sum = 0;
        const edge = () => left + Math.round((right - left) * sum / whole);
        this.parts.forEach((part, owner) => {
          const from = edge();
          sum += part[cell];
          context.fillStyle = colours[owner];
          context.fillRect(from, top, edge() - from, high);
        });
        // Erased pages are an empty place with a floor.
        context.fillStyle = line;
        context.fillRect(edge(), top + high - 1, right - edge(), 1);
      });
    }

    /** The map with its words and its legend as a picture of its own: the address of a PNG. */
    picture() {
      const scale = 2, width = 1000, margin = 20, step = 22;
      const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
      const font = "13px system-ui, sans-serif";
      context.font = font;
      // The legend's entries, in lines.
      const entries = [...owners.map((name, at) => [name, keys[at]]), ["invalid", "ki"], ["erased", "ke"]];
      const placed = [];
      let x = 0, row = 0;
      for (const [name, key] of entries) {
        const long = 18 + context.measureText(name).width + 18;
        if (x && x + long > width) { x = 0; row += 1; }
        placed.push([name, key, x, row]);
        x += long;
      }
      const layout = arrange(this.cells, width);
      const top = margin + 2 * step, foot = top + layout.rows * layout.tall + step / 2;
      Object.assign(canvas, { width: (width + 2 * margin) * scale, height: (foot + (row + 1) * step + margin) * scale });
      context.fillStyle = colour("back");
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.translate(margin * scale, 0);
      this.paint(context, scale, layout, top * scale);
      context.scale(scale, scale);
      const write = (text, at, line, name, bold = "") => {
        context.font = bold + font;
        context.fillStyle = colour(name);
        context.fillText(text, at, line, width - at);
      };
      write(`${document.title}: ${this.figure.querySelector("b").textContent}`, 0, margin + 12, "ink", "bold ");
      write(this.figure.querySelector("small").textContent.trim(), 0, margin + 12 + step, "soft");
      for (const [name, key, at, line] of placed) {
        const y = foot + line * step;
        context.fillStyle = key === "ke" ? colour("back") : colour(key);
        context.fillRect(at, y, 12, 12);
        context.strokeStyle = colour("line");
        if (["ke", "ki"].includes(key)) context.strokeRect(at + 0.5, y + 0.5, 11, 11);
        write(name, at + 18, y + 11, "ink");
      }
      return canvas.toDataURL("image/png");
    }

    mark() {
      const { place, layout } = this;
      if (place === null) return;
      const { tall, columns, wide } = layout;
      const scale = this.canvas.width / this.canvas.clientWidth;
      const context = this.canvas.getContext("2d");
      context.strokeStyle = colour("ink");
      context.lineWidth = 2 * scale;
      context.strokeRect((place % columns) * wide * scale, Math.floor(place / columns) * tall * scale,
        (wide - 2) * scale, Math.max(tall - 2, 3) * scale);
    }

    point(event) {
      if (!this.layout) return;
      const { tall, columns, wide } = this.layout;
      const frame = this.canvas.getBoundingClientRect();
      const across = Math.floor((event.clientX - frame.left) / wide);
      const place = Math.floor((event.clientY - frame.top) / tall) * columns + across;
      this.select(across >= 0 && across < columns && place >= 0 && place < this.cells ? place : null);
    }

    press(event) {
      if (!this.layout) return;
      const { columns } = this.layout;
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      if (event.key === "Escape") this.select(null);
      if (by === undefined) return;
      event.preventDefault();
      const next = this.place === null ? 0 : this.place + by;
      if (next >= 0 && next < this.cells) this.select(next);
    }

    select(place) {
      if (place === this.place) return;
      this.place = place;
      this.draw();
      this.tip.textContent = place === null ? "" : this.said(this.orders[order][place]);
    }

    /** The contents of a cell, in words. */
    said(cell) {
      const held = [...owners, "invalid"].map((name, owner) => [name, this.parts[owner][cell]]);
      const free = whole - held.reduce((sum, [, found]) => sum + found, 0);
      const told = [...held, ["erased", free]].filter(([, found]) => found > 0);
      const blocks = each === 1 ? `Block ${count(cell)}` : `Blocks ${count(cell * each)} to ${count((cell + 1) * each - 1)}`;
      return `${blocks}: ${told.map(([name, found]) => `${name} ${count(found)}`).join(", ")} pages`;
    }
  }

  let order;
  const figures = [...document.querySelectorAll("figure")].filter((one) => one.querySelector("canvas"));
  const drawn = figures.map((figure, at) => new Drawn(figure, maps[at]));
  const all = () => drawn.forEach((one) => one.draw());
  dark.addEventListener("change", all);
  const orders = document.getElementById("orders");
  const put = (name) => {
    order = name;
    for (const button of orders.children) button.setAttribute("aria-pressed", String(button.dataset.order === order));
    drawn.forEach((one) => one.select(null));
    all();
  };
  orders.hidden = false;
  orders.addEventListener("click", (event) => {
    if (event.target.dataset.order) put(event.target.dataset.order);
  });
  put(drawn[0].cells > MANY ? "owner" : "number");
})();
