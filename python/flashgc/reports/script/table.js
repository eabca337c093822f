// The table: a window of rows in a box, so that ten thousand of them scroll as well as ten.
/** Rows outside the box that are there as well, so that scrolling never shows a gap. */
const SPARE_ROWS = 12;
/** Letters of the widest column. */
const WIDEST = 26;

class Table {
  constructor() {
    this.shown = columns.filter((one) => (one.role === "option" && one.varied)
      || ["write_amplification", "write_amplification_ci95", "erases", "seconds"].includes(one.name)
      || (one.name === "status" && one.varied) || (one.name.endsWith("_p99_us")));
    this.rows = everything;
    this.found = everything;
    this.sorted = null;
    this.open = null;
    this.current = 0;
    this.box = at("box");
    at("rows").hidden = false;
    this.body = make("tbody");
    this.head = make("thead");
    this.widths = make("colgroup");
    this.table = make("table", { "aria-labelledby": "rows-title" }, this.widths, this.head, this.body);
    this.box.append(this.table);
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw(true)).observe(this.box);
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    this.menu();
    this.heads();
  }

  /** Shows these rows, in the order that was chosen. */
  set(found) {
    this.found = found;
    this.order();
    if (!found.includes(this.open)) this.open = null;
    this.current = 0;
    this.box.scrollTop = 0;
    this.draw(true);
  }

  order() {
    if (!this.sorted) { this.rows = this.found; return; }
    const { column, down } = this.sorted, { ranks } = column, sign = down ? -1 : 1;
    this.rows = [...this.found].sort((a, b) => {
      const one = ranks[a], two = ranks[b];
      if (one === two) return a - b;
      if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) ? (Number.isNaN(two) ? a - b : 1) : -1;
      return sign * (one - two);
    });
  }

  /** Sorts by a column: upwards, then downwards, then as it was. */
  sort(column) {
    const before = this.sorted?.column === column ? this.sorted : null;
    this.sorted = !before ? { column, down: false } : before.down ? null : { column, down: true };
    this.order();
    this.box.scrollTop = 0;
    this.current = 0;
    this.heads();
    this.head.querySelector(`[data-column="${column.name}"] button`)?.focus({ preventScroll: true });
  }

  heads() {
    const row = make("tr", { "aria-rowindex": "1" }, make("th", { class: "opens", scope: "col" }, make("span", { class: "unseen" }, "details")));
    for (const column of this.shown) {
      const sorted = this.sorted?.column === column ? (this.sorted.down ? "descending" : "ascending") : "none";
      const mark = { ascending: "▲", descending: "▼", none: "" }[sorted];
      row.append(make("th", { scope: "col", "aria-sort": sorted, class: column.numeric ? "number" : "", "data-column": column.name, title: column.name },
        make("button", { type: "button", click: () => this.sort(column) }, make("span", {}, column.title), make("i", { "aria-hidden": "true" }, mark))));
    }
    this.head.replaceChildren(row);
    this.widths.replaceChildren(...[2.2, ...this.shown.map((column) => this.letters(column) * 0.56 + 1.2)].map((em) => {
      const col = make("col");
      col.style.width = `${em}rem`;
      return col;
    }));
    this.table.style.width = `${3 + this.shown.reduce((all, column) => all + this.letters(column) * 0.56 + 1.2, 0)}rem`;
    this.draw(true);
  }

  /** Letters of the widest value of a column. */
  letters(column) {
    column.letters ??= Math.min(WIDEST, Math.max(5, Math.min(16, column.title.length + 2),
      ...(column.words ?? column.values.filter((_, row) => row % 7 === 0 || row < 100)).map((value) => column.text(value).length)));
    return column.letters;
  }

  /** Draws the rows that are in the box; nothing if these are there already, but with `anew`. */
  draw(anew = false) {
    const tall = this.tall, above = this.head.offsetHeight;
    const openAt = this.open === null ? -1 : this.rows.indexOf(this.open);
    const begin = Math.max(0, Math.floor((this.box.scrollTop - (openAt >= 0 ? this.openTall ?? 0 : 0)) / tall) - SPARE_ROWS);
    const end = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight - above) / tall) + SPARE_ROWS);
    if (!anew && begin === this.begin && end === this.end) return;
    Object.assign(this, { begin, end });
    const focused = this.body.contains(document.activeElement);
    const before = openAt >= 0 && openAt < begin ? this.openTall ?? 0 : 0;
    const after = openAt >= end ? this.openTall ?? 0 : 0;
    const made = [this.gap(begin * tall + before)];
    for (let place = begin; place < end; place += 1) {
      made.push(this.row(this.rows[place], place));
      if (place === openAt) made.push(this.detail(this.rows[place]));
    }
    made.push(this.gap((this.rows.length - end) * tall + after));
    if (!this.rows.length) made.push(make("tr", {}, make("td", { class: "soft", colspan: String(this.shown.length + 1) }, "No cell matches.")));
    this.body.replaceChildren(...made);
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.table.setAttribute("aria-colcount", String(this.shown.length + 1));
    const detail = this.body.querySelector(".detail");
    if (detail) {
      detail.firstChild.firstChild.style.width = `${this.box.clientWidth - 2}px`;
      this.openTall = detail.offsetHeight;
    }
    if (focused) this.focus();
  }

  get tall() {
    this.rowTall ??= parseFloat(getComputedStyle(document.documentElement).fontSize) * 2;
    return this.rowTall;
  }

  gap(pixels) {
    const row = make("tr", { class: "gap", "aria-hidden": "true" }, make("td", { colspan: String(this.shown.length + 1) }));
    row.firstChild.style.height = `${pixels}px`;
    row.hidden = !pixels;
    return row;
  }

  row(row, place) {
    const open = row === this.open;
    const cells = this.shown.map((column) => {
      const value = column.at(row), text = column.text(value);
      const cell = document.createElement("td");
      cell.textContent = text;
      if (column.numeric) cell.className = "number";
      if (text.length > WIDEST - 2 || (column.short && text !== String(value))) cell.title = String(value ?? text);
      if (column.name === "status") cell.className = `status ${value}`;
      return cell;
    });
    return make("tr", { "data-row": String(row), "aria-rowindex": String(place + 2), class: open ? "open" : "" },
      make("td", { class: "opens" }, make("button", {
        type: "button", tabindex: place === this.current ? "0" : "-1", "aria-expanded": String(open), "aria-label": `details of row ${place + 1}`,
      }, open ? "▾" : "▸")), ...cells);
  }

  /** All that is known of a row. */
  detail(row) {
    const part = (title, some) => {
      const known = some.filter((column) => column.at(row) !== null && column.at(row) !== undefined);
      return known.length ? [make("div", {}, make("h3", {}, title), make("dl", {}, ...known.flatMap((column) => [
        make("dt", {}, column.title), make("dd", {}, column.short ? String(column.at(row)) : column.text(column.at(row))),
      ])))] : [];
    };
    const command = named("command").at(row), reason = named("reason").at(row);
    const again = command === null
      ? make("p", { class: "soft" }, "The command is not known: nobody typed this simulation's options.")
      : make("div", { class: "again" }, make("pre", { tabindex: "0", "aria-label": "command" }, command), make("button", { type: "button", class: "copy", "data-copy": command }, "Copy"));
    const about = columns.filter((one) => one.role === "about" && !["command", "reason"].includes(one.name)).concat(named("digest") ?? []);
    const inside = make("div", { class: "inside" }, ...(reason ? [make("p", { class: "reason" }, reason)] : []),
      make("h3", {}, "Run it again"), again, make("div", { class: "parts" },
        ...part("Options", columns.filter((one) => one.role === "option")),
        ...part("Figures", columns.filter((one) => one.role === "figure" && one.name !== "digest")),
        ...part("Result", about)));
    return make("tr", { class: "detail" }, make("td", { colspan: String(this.shown.length + 1) }, inside));
  }

  /** Opens or closes a row. */
  toggle(row) {
    this.open = this.open === row ? null : row;
    this.current = this.rows.indexOf(row);
    this.draw(true);
  }

  /** Opens a row and brings it into view. */
  reveal(row) {
    const place = this.rows.indexOf(row);
    if (place < 0) return;
    this.open = row;
    this.current = place;
    this.box.scrollTop = Math.max(0, (place - 1) * this.tall);
    this.draw(true);
    at("rows").scrollIntoView({ block: "start" });
    this.focus();
  }

  focus() { this.body.querySelector("button[tabindex='0']")?.focus({ preventScroll: true }); }

  click(event) {
    const copy = event.target.closest("[data-copy]");
    if (copy) { copied(copy); return; }
    const row = event.target.closest("tr[data-row]");
    // A click that ends the marking of a text opens nothing.
    if (row && (event.target.closest("button") || !String(getSelection()))) { this.toggle(Number(row.dataset.row)); this.focus(); }
  }

  key(event) {
    if (!event.target.closest("tr[data-row]")) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.tall) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + by));
    const extra = this.open !== null && this.rows.indexOf(this.open) < this.current ? this.openTall ?? 0 : 0;
    const top = this.current * this.tall + extra, seen = this.box.clientHeight - this.head.offsetHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.tall > this.box.scrollTop + seen) this.box.scrollTop = top + this.tall - seen;
    this.draw(true);
    this.focus();
  }

  /** The boxes with which columns are chosen. */
  menu() {
    at("which").replaceChildren(...columns.filter((one) => one.name !== "command").map((column) => make("label", { title: column.name },
      make("input", {
        type: "checkbox", checked: this.shown.includes(column), "data-which": column.name,
        change: (event) => {
          const chosen = new Set(this.shown);
          if (event.target.checked) chosen.add(column);
          else if (chosen.size > 1) chosen.delete(column);
          else event.target.checked = true;
          this.shown = columns.filter((one) => chosen.has(one));
          this.heads();
        },
      }), column.title)));
  }
}
