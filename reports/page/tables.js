"use strict";
// Tables that are sorted by a click on a heading: figures by size, other cells by spelling, the
// largest first; a third click brings the first order back.

function figureOf(text) {
  const found = /^[+−-]?[\d,]*\.?\d+/.exec(text.trim());
  return found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : null;
}

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => Number(a.dataset.place) - Number(b.dataset.place));
  if (direction !== "none") {
    const sign = direction === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [a, b].map((row) => row.cells[column].textContent);
      const [m, n] = [figureOf(x), figureOf(y)];
      if (m !== null && n !== null) return sign * (m - n);
      if (m !== null || n !== null) return (m === null) - (n === null);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  }
  body.append(...rows);
}

function listenTo(table) {
  [...table.tBodies[0].rows].forEach((row, place) => {
    row.dataset.place = place;
  });
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort")];
      heads.forEach((one) => one.setAttribute("aria-sort", one === head ? next : "none"));
      sortTable(table, column, next);
    });
  });
}

document.querySelectorAll("table.sorted").forEach(listenTo);
document.documentElement.dataset.ready = "yes";
