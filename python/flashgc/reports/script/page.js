// Puts the page together.
const table = new Table();
const pictures = new Pictures((rows) => table.reveal(rows[0]));
const later = calm(() => pictures.set(table.found), 200);

/** Shows what is searched for. */
const find = () => {
  const { rows, wrong } = search(at("find").value);
  const found = rows === everything ? several(rows.length, "cell") : `${count(rows.length)} of ${several(everything.length, "cell")}`;
  at("found").textContent = [found, ...wrong].join("; ");
  table.set(rows);
  if (rows !== pictures.found) later();
};

at("find").addEventListener("input", find);
at("save").addEventListener("click", () => save(`${document.title.split(" ")[0]}.csv`, csvOf(table.rows)));
addEventListener("beforeprint", () => toPaper(pictures, table));
addEventListener("afterprint", () => toScreen(pictures));
find();
document.documentElement.dataset.ready = "yes";
