// The rows, by columns, as the page has them.
const source = JSON.parse(at("data").textContent);

/** A column; see columns.py for what its parts mean. */
class Column {
  constructor(raw) {
    Object.assign(this, raw);
    this.numeric = !["text", "flag"].includes(this.show);
    this.short = this.labels && new Map(this.words.map((word, place) => [word, this.labels[place]]));
  }

  /** The value in a row; `null` where there is none. */
  at(row) { return this.words ? this.words[this.places[row]] : this.values[row]; }

  /** A value for people. */
  text(value) {
    if (value === null || value === undefined) return this.role === "option" ? "default" : "–";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (this.name === "status") return STATUSES[value];
    if (typeof value !== "number") return this.short?.get(value) ?? String(value);
    return this.numeric ? SHOWN[this.show](value) : digits(value);
  }

  /** Its different values in some rows: numbers by size, others as they come. */
  different(rows) {
    const found = [...new Set(rows.map((row) => this.at(row)))];
    const order = (value) => value === null ? -Infinity : value;
    return this.numeric ? found.sort((a, b) => order(a) - order(b)) : found;
  }

  /** For each row a number by which it is sorted; `NaN` goes last. */
  get ranks() {
    if (!this.kept) {
      const rows = [...Array(source.rows).keys()];
      const words = this.numeric ? null : this.different(rows).filter((word) => word !== null);
      words?.sort((a, b) => COLLATOR.compare(String(a), String(b)));
      const places = words && new Map(words.map((word, place) => [word, place]));
      this.kept = Float64Array.from(rows, (row) => {
        const value = this.at(row);
        return value === null ? NaN : places ? places.get(value) : value;
      });
    }
    return this.kept;
  }
}

const STATUSES = { result: "result", failed: "failed", cannot: "cannot run", missing: "not run" };
const COLLATOR = new Intl.Collator("en", { numeric: true });
const columns = source.columns.map((raw) => new Column(raw));
const everything = [...Array(source.rows).keys()];
const named = (name) => columns.find((column) => column.name === name);
