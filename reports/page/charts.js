// The charts as Python drew them show the whole run; here they follow the focus.

const drawings = new Map(); // svg -> its elements as they were written

function keepDrawings() {
  document.querySelectorAll("#charts svg").forEach((svg) => drawings.set(svg, [...svg.childNodes].map((one) => one.cloneNode(true))));
}

function restore(svg) {
  svg.replaceChildren(...drawings.get(svg).map((one) => one.cloneNode(true)));
}

function chartParts() {
  return [...document.querySelectorAll("#charts .part")].filter((part) => Number(part.dataset.corpus) === state.corpus);
}

function drawCharts() {
  const chosen = new Set(focused());
  const lines = draws.has(corpus().key) ? standings().lines.map((line) => line.t) : [...state.shown];
  state.dots = state.dots.filter((t) => state.shown.has(t));
  if (!state.dots.length) state.dots = lines.slice(0, 4);
  for (const part of chartParts()) {
    for (const figure of part.querySelectorAll("figure")) {
      follow(figure);
      for (const mark of figure.querySelectorAll("[data-t]")) {
        const t = Number(mark.dataset.t);
        const color = state.dots.indexOf(t);
        const off = !state.shown.has(t) || (figure.dataset.figure === "premium" && color < 0);
        mark.classList.toggle("hidden", off);
        if (figure.dataset.figure === "premium") for (let c = 0; c < 4; c++) mark.classList.toggle(`c${c}`, c === color);
      }
      if (figure.dataset.figure === "premium") layRows(figure, 30, (row) => chosen.has(Number(row.dataset.l)));
      else if (figure.dataset.figure.startsWith("loss"))
        layRows(figure, 40, (row) =>
          row.querySelector(".mark:not(.hidden)") && (row.dataset.l === undefined || chosen.has(Number(row.dataset.l))));
      if (figure.dataset.figure === "loss-language") tellUndrawn(figure, chosen);
    }
    drawLegend(part);
  }
}

// Small losses have no bar; how many are in focus is said.
function tellUndrawn(figure, chosen) {
  const lost = grid("lost_byte_share");
  const bars = figure.querySelectorAll(".rows > g:not(.hidden)").length;
  const all = lost ? sum([...state.shown].map((t) => [...chosen].filter((l) => lost.value[t][l] > 0).length)) : bars;
  figure.querySelector(".undrawn")?.remove();
  if (all <= bars) return;
  const text = ` ${number(all - bars, 0)} smaller losses in focus have no bar: see “bytes lost” by language.`;
  figure.querySelector("figcaption").append(node("span", { class: "undrawn" }, text));
}

function layRows(figure, top, wanted) {
  let at = 0;
  for (const row of figure.querySelectorAll(".rows > g")) {
    const off = !wanted(row);
    row.classList.toggle("hidden", off);
    if (!off) row.setAttribute("transform", `translate(0 ${top + 17 * at++})`);
  }
  const svg = figure.querySelector("svg");
  const height = top + 8 + 17 * at;
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${height}`);
}

function drawLegend(part) {
  const legend = part.querySelector("[data-legend]");
  if (!legend) return;
  legend.replaceChildren(
    ...[...state.shown].sort((a, b) => a - b).map((t) => {
      const color = state.dots.indexOf(t);
      const box = node("input", { type: "checkbox", checked: color >= 0, disabled: color < 0 && state.dots.length >= 4 });
      box.addEventListener("change", () => {
        state.dots = box.checked ? [...state.dots, t] : state.dots.filter((one) => one !== t);
        drawCharts();
      });
      return node("label", {}, box, node("span", { class: `key c${color}` }), data.tokenizers[t].key);
    }),
  );
}

// ---- charts of numbers over all languages, for those in focus --------------------------------

function follow(figure) {
  const kind = figure.dataset.figure;
  const focus = state.weights.size > 0 && draws.has(corpus().key);
  // what is said of all languages is not said of some
  figure.classList.toggle("hidden", focus && (kind === "loss" || kind === "trade-gini"));
  if (!kind.startsWith("trade-") && kind !== "sizes" && kind !== "spread") return;
  restore(figure.querySelector("svg"));
  if (!focus) return;
  if (kind === "spread") drawRidges(figure);
  else if (kind === "sizes") place(figure, compactness());
  else {
    const { lines, placed } = standings();
    place(figure, new Map(lines.map(({ t, ratio }) => [t, ratio])));
    drawFront(figure, placed, kind === "trade-speed");
    layLabels(figure, placed);
  }
}

// Bytes per token over the languages in focus, by tokenizer.
function compactness() {
  const tokens = grid("tokens").value;
  const chosen = focused();
  const bytes = sum(chosen.map((l) => corpus().languages[l][4]));
  return new Map(data.tokenizers.map((_, t) => {
    const parts = chosen.map((l) => tokens[t][l]);
    return [t, parts.includes(null) ? null : bytes / sum(parts)];
  }));
}

// The same as `ticks` in reports/charts.py.
function ticks(low, high, n = 6) {
  const rough = (high - low || 1) / n;
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => base * m).find((one) => one >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k <= Math.floor(high / step + 1e-9); k++) found.push(Number((k * step).toFixed(10)));
  return found;
}

// Moves marks to new heights over a new axis.
function place(figure, values) {
  const marks = [...figure.querySelectorAll(".mark[data-t]")];
  const known = marks.map((mark) => values.get(Number(mark.dataset.t))).filter((v) => v !== null && v !== undefined);
  if (!known.length) return;
  const axis = figure.querySelector(".down");
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const margin = (high - low) * 0.08 || 1;
  const [start, end] = [Number(axis.dataset.start), Number(axis.dataset.end)];
  const at = (value) => start + ((value - low + margin) / (high - low + 2 * margin)) * (end - start);
  drawAxis(axis, ticks(low - margin, high + margin), at);
  for (const mark of marks) {
    const value = values.get(Number(mark.dataset.t));
    mark.classList.toggle("absent", value === null || value === undefined);
    if (mark.classList.contains("absent")) continue;
    mark.dataset.value = value;
    mark.querySelector("circle").setAttribute("cy", at(value));
  }
  figure.querySelectorAll(".series").forEach(drawSeries);
}

function drawAxis(axis, values, at) {
  const [grid, tick] = ["path", "text"].map((name) => axis.querySelector(name));
  const across = grid.getAttribute("d").match(/M([\d.]+) [\d.]+H([\d.]+)/);
  axis.replaceChildren(...values.flatMap((value) => {
    const [line, label] = [grid.cloneNode(), tick.cloneNode()];
    line.setAttribute("d", `M${across[1]} ${at(value)}H${across[2]}`);
    label.setAttribute("y", at(value) + 4);
    label.textContent = String(value);
    return [line, label];
  }));
}

function drawSeries(series) {
  const circles = [...series.querySelectorAll(".mark:not(.absent) circle")];
  const points = circles.map((one) => `${one.getAttribute("cx")} ${one.getAttribute("cy")}`);
  series.querySelector(".curve").setAttribute("d", points.length ? `M${points.join("L")}` : "");
  if (points.length) series.querySelector(":scope > text").setAttribute("y", Number(circles.at(-1).getAttribute("cy")) + 4);
}

// The same as `front` in reports/charts.py; a place across is as good as its value.
function drawFront(figure, placed, larger) {
  const marks = [...figure.querySelectorAll(".mark[data-t]")].map((mark) => ({
    mark,
    t: Number(mark.dataset.t),
    x: Number(mark.querySelector("circle").getAttribute("cx")) * (larger ? -1 : 1),
    y: Number(mark.dataset.value),
  }));
  const compared = marks.filter(({ t, mark }) => placed.includes(t) && !mark.classList.contains("absent"));
  for (const one of marks) {
    const beaten = compared.some((o) => o.x <= one.x && o.y <= one.y && (o.x < one.x || o.y < one.y));
    one.mark.classList.toggle("front", compared.includes(one) && !beaten);
    one.mark.classList.toggle("unranked", !placed.includes(one.t));
  }
}

// The same as `_points` in reports/charts.py: right of the mark, left, above, below.
function layLabels(figure, placed) {
  const marks = [...figure.querySelectorAll(".mark[data-t]:not(.absent)")].filter((mark) => state.shown.has(Number(mark.dataset.t)));
  const middle = (mark) => ["cx", "cy"].map((name) => Number(mark.querySelector("circle").getAttribute(name)));
  const taken = marks.map(middle).map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
  const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  for (const mark of marks) {
    const [x, y] = middle(mark);
    const label = mark.querySelector("text");
    const t = Number(mark.dataset.t);
    label.textContent = data.tokenizers[t].key + (placed.includes(t) ? "" : " †");
    const wide = 6.2 * label.textContent.length;
    const places = [[x + 8, y + 4], [x - 8 - wide, y + 4], ...[-12, 12, -24, 24, -36, 36].map((d) => [x + 8, y + 4 + d])];
    const boxes = places.map(([left, base]) => [left, base - 9, left + wide, base + 3]);
    const chosen = Math.max(0, boxes.findIndex((box) => box[0] > 0 && !taken.some((other) => meets(box, other))));
    taken.push(boxes[chosen]);
    label.setAttribute("x", places[chosen][0]);
    label.setAttribute("y", places[chosen][1]);
  }
}

// Each language counts as its share says, whatever the number of its documents.
function drawRidges(figure) {
  const chosen = focused();
  for (const ridge of figure.querySelectorAll(".ridge")) {
    const hill = new Array(data.bins).fill(0);
    for (const l of chosen) {
      const counts = draws.get(corpus().key).spread(Number(ridge.dataset.t), l);
      const total = sum([...counts]) || 1;
      counts.forEach((n, i) => (hill[i] += (state.weights.get(l) * n) / total));
    }
    const [start, base] = ridge.getAttribute("d").match(/M([\d.]+) ([\d.]+)/).slice(1).map(Number);
    const ends = [...ridge.getAttribute("d").matchAll(/H([\d.]+)/g)].map((found) => found[1]);
    const top = Math.max(...hill) || 1;
    const steps = hill.map((n, i) => `V${base - (Number(ridge.dataset.tall) * n) / top}H${ends[i]}`);
    ridge.setAttribute("d", `M${start} ${base}${steps.join("")}V${base}Z`);
  }
}
