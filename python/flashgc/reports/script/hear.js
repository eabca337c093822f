// The mouse, fingers and keys of a panel.
/** Pixels that a press may move and still is no drag; pixels around a point that belong to it. */
const STILL = 6, NEAR = 60;

/** The point of a panel nearest to a place; `null` if none is near. */
const nearest = (panel, x, y, far = NEAR) => {
  let best = null, least = far * far;
  for (const hit of panel.hits) {
    const away = (hit.x - x) ** 2 + (hit.y - y) ** 2;
    if (away < least) { best = hit; least = away; }
  }
  return best;
};

/** The point that a key goes to from another one. */
const beside = (panel, hit, key) => {
  const { hits } = panel;
  if (!hit || !hits.includes(hit)) return hits[0];
  const inLine = hits.filter((one) => one.line === hit.line);
  const place = inLine.indexOf(hit);
  if (key === "ArrowRight") return inLine[Math.min(place + 1, inLine.length - 1)];
  if (key === "ArrowLeft") return inLine[Math.max(place - 1, 0)];
  if (key === "Home") return inLine[0];
  if (key === "End") return inLine.at(-1);
  const lines = [...new Set(hits.map((one) => one.line))];
  const column = lines.map((line) => hits.filter((one) => one.line === line)
    .reduce((a, b) => (Math.abs(b.x - hit.x) < Math.abs(a.x - hit.x) ? b : a)))
    .sort((a, b) => b.y - a.y || lines.indexOf(a.line) - lines.indexOf(b.line));
  const own = column.findIndex((one) => one.line === hit.line);
  return column[Math.max(0, Math.min(column.length - 1, own + (key === "ArrowUp" ? 1 : -1)))];
};

const hear = (pictures, panel) => {
  const { svg, room, across } = panel;
  const pointers = new Map();
  let begin = null, pinch = null, soon = 0;
  const where = (event) => {
    const box = svg.getBoundingClientRect();
    return { x: (event.clientX - box.left) * (panel.width / box.width), y: (event.clientY - box.top) * (panel.height / box.height) };
  };
  const inside = (x) => Math.max(room.left, Math.min(room.right, x));
  const brush = draw("rect", { class: "brush", y: room.top, height: room.bottom - room.top });
  const tell = (place, far) => {
    const hit = nearest(panel, place.x, place.y, far);
    if (hit) pictures.point(panel, hit);
    else pictures.hide();
  };

  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, where(event));
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()];
      pinch = { a: across.back(a.x), b: across.back(b.x) };
      begin = null;
    } else begin = where(event);
    if (event.pointerType === "mouse") svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const place = where(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, place);
    if (pinch) return;
    if (begin && event.pointerType === "mouse" && Math.abs(place.x - begin.x) > STILL) {
      pictures.hide();
      const [from, to] = [begin.x, place.x].map(inside).sort((a, b) => a - b);
      brush.setAttribute("x", from);
      brush.setAttribute("width", to - from);
      if (!brush.parentNode) svg.append(brush);
      return;
    }
    tell(place);
  });
  const end = (event) => {
    const place = where(event);
    pointers.delete(event.pointerId);
    if (pinch && event.type === "pointerup") {
      // What was under the fingers is under them again: two equations of a straight line.
      const [other] = pointers.values();
      if (other && Math.abs(other.x - place.x) > 2) {
        const moved = [...pointers.values(), place].map((one) => one.x).sort((a, b) => a - b);
        const [a, b] = [pinch.a, pinch.b].sort((one, two) => one - two);
        const slope = (b - a) / (moved[1] - moved[0]);
        pinch = null;
        pictures.zoom([a + (room.left - moved[0]) * slope, a + (room.right - moved[0]) * slope]);
        return;
      }
    }
    pinch = null;
    brush.remove();
    if (event.type === "pointerup" && begin) {
      if (event.pointerType === "mouse" && Math.abs(place.x - begin.x) > STILL) {
        const range = [begin.x, place.x].map((x) => across.back(inside(x))).sort((a, b) => a - b);
        begin = null;
        pictures.zoom(range);
        return;
      }
      const hit = nearest(panel, place.x, place.y, 30);
      if (hit && event.pointerType === "mouse") soon = setTimeout(() => pictures.show(hit.point.rows), 300);
      else tell(place);
    }
    begin = null;
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !begin) pictures.hide(); });
  svg.addEventListener("dblclick", () => { clearTimeout(soon); pictures.zoom(null); });
  svg.addEventListener("blur", () => pictures.hide());
  svg.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow") || ["Home", "End"].includes(event.key)) {
      if (panel.hits.length) pictures.point(panel, beside(panel, pictures.hit, event.key));
    } else if (event.key === "Enter" && pictures.hit) pictures.show(pictures.hit.point.rows);
    else if (event.key === "Escape") pictures.hide();
    else return;
    event.preventDefault();
  });
};
