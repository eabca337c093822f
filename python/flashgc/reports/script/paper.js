// What leaves the page: the clipboard, a table as CSV, and paper.
/** Rows and columns that are printed. */
const PRINTED = 100, ACROSS = 10;
/** Width of a page of paper, in pixels of the screen. */
const PAPER = 680;

/** Copies the command beside a button; where that is not allowed, marks it. */
const copied = async (button) => {
  const mark = () => {
    const range = document.createRange();
    range.selectNodeContents(button.parentNode.querySelector("pre"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  };
  let done = true;
  try { await navigator.clipboard.writeText(button.dataset.copy); } catch { done = mark(); }
  button.textContent = done ? "Copied" : "Marked: press Ctrl-C";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
};

/** A value as CSV has it. */
const field = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Rows as CSV, with all columns and all digits. */
const csvOf = (rows) => [columns.map((column) => field(column.name)), ...rows.map((row) => columns.map((column) => field(column.at(row))))]
  .map((line) => `${line.join(",")}\n`).join("");

/** Gives the reader a file. */
const save = (name, text) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

/** What was opened for paper. */
const opened = [];
const closed = () => {
  opened.push(...document.querySelectorAll("[aria-labelledby='asked-title'] details:not([open])"));
  return opened;
};

/** Makes pictures and table for paper. */
const toPaper = (pictures, table) => {
  const shown = table.shown.slice(0, ACROSS), rows = table.rows.slice(0, PRINTED);
  const left = [];
  if (rows.length < table.rows.length) left.push(`the first ${rows.length} of ${count(table.rows.length)} cells`);
  if (shown.length < table.shown.length) left.push(`the first ${shown.length} of ${table.shown.length} columns`);
  if (table.rows.length < source.rows) left.push(`of ${count(source.rows)} cells those that were searched for: ${at("find").value}`);
  at("paper").replaceChildren(
    ...(left.length ? [make("p", { class: "small soft" }, `Printed are ${left.join("; ")}.`)] : []),
    make("table", {}, make("thead", {}, make("tr", {}, ...shown.map((column) => make("th", { class: column.numeric ? "number" : "" }, column.title)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...shown.map((column) => make("td", { class: column.numeric ? "number" : "" }, column.text(column.at(row)))))))),
  );
  for (const one of closed()) one.open = true;
  pictures.paper = PAPER;
  pictures.draw();
};

/** Makes them for the screen again. */
const toScreen = (pictures) => {
  for (const one of opened.splice(0)) one.open = false;
  pictures.paper = undefined;
  at("paper").replaceChildren();
  pictures.draw();
};
