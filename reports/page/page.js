"use strict";
// The page works on the JSON that was written into it and asks for nothing else. Text enters the
// document through textContent only.

const data = JSON.parse(document.getElementById("data").textContent);
const packedDraws = JSON.parse(document.getElementById("draws").textContent);
const $ = (id) => document.getElementById(id);

const state = {
  corpus: 0,
  weights: new Map(), // place of a language -> its share, in the order they were added
  shown: new Set(data.tokenizers.map((_, t) => t)),
  dots: [],
  metric: null,
  order: "script",
  sort: null, // {t: place of a tokenizer, or null for languages; down: boolean}
};
const draws = new Map(); // corpus key -> {unit, measured, at(b, t, l), spread(t, l)}

// ---- small helpers ---------------------------------------------------------------------------

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const number = (value, digits = 2) =>
  value === null || value === undefined
    ? "–"
    : value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function percent(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || value === 1) return `${value * 100} %`;
  const smallest = 10 ** -digits;
  if (value * 100 < smallest) return `< ${smallest.toFixed(digits)} %`;
  if (100 - smallest < value * 100) return `> ${(100 - smallest).toFixed(digits)} %`;
  return `${(value * 100).toFixed(digits)} %`;
}

function shownValue(metric, value) {
  if (data.metrics[metric].unit === "share") return percent(value);
  return number(value, metric === "tokens" ? 0 : 2);
}

function withInterval(value, low, high, write = number) {
  return low === null || low === undefined ? write(value) : `${write(value)} (${write(low)} to ${write(high)})`;
}

function quantile(sorted, level) {
  const place = level * (sorted.length - 1);
  const left = Math.floor(place);
  const right = Math.min(left + 1, sorted.length - 1);
  return sorted[left] + (sorted[right] - sorted[left]) * (place - left);
}

const median = (values) => (values.length ? quantile([...values].sort((a, b) => a - b), 0.5) : null);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const corpus = () => data.corpora[state.corpus];
const grid = (metric) => corpus().grids.find((one) => one.metric === metric) || null;
const languageName = (l) => corpus().languages[l][0];
const focused = () => (state.weights.size ? [...state.weights.keys()] : corpus().languages.map((_, l) => l));
const premiumMetric = () => (corpus().kind === "code" ? "program_premium" : "premium");

function joined(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

// ---- draws and standings ---------------------------------------------------------------------

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function unpackDraws() {
  for (const one of packedDraws) {
    const steps = new Int8Array(await unpack(one.steps));
    const spreads = new Uint16Array(await unpack(one.spreads)); // little-endian, as all browsers are
    const languages = one.measured[0].length;
    const places = new Map(one.tokenizers.map((key, i) => [key, i]));
    const index = data.tokenizers.map((tokenizer) => places.get(tokenizer.key));
    draws.set(one.corpus, {
      unit: one.unit,
      measured: (t, l) => (index[t] === undefined ? null : one.measured[index[t]][l]),
      at: (b, t, l) => {
        const i = index[t];
        if (one.scale[i][l] === null) return NaN; // a single document has no draws
        const step = steps[(i * languages + l) * data.draws + b];
        return one.measured[i][l] * (1 + (one.scale[i][l] * step) / 127);
      },
      spread: (t, l) => spreads.subarray((t * languages + l) * data.bins, (t * languages + l + 1) * data.bins),
    });
  }
}

// The same as `standings` in reports/focus.py.
function standings() {
  const found = draws.get(corpus().key);
  const chosen = focused();
  const given = chosen.map((l) => (state.weights.size ? state.weights.get(l) : 1));
  const total = sum(given);
  const shares = given.map((w) => w / total);
  const cost = data.tokenizers.map((_, t) => {
    const parts = chosen.map((l) => found.measured(t, l));
    return parts.includes(null) ? null : sum(parts.map((part, i) => part * shares[i]));
  });
  const drawn = data.tokenizers.map((_, t) =>
    cost[t] === null
      ? null
      : Array.from({ length: data.draws }, (_, b) => sum(chosen.map((l, i) => found.at(b, t, l) * shares[i]))),
  );
  const placed = [...state.shown].filter(
    (t) => cost[t] !== null && chosen.every((l) => corpus().places[t][l][0] !== null),
  );
  const interval = (a, b) => {
    const ratios = drawn[a].map((value, i) => value / drawn[b][i]).sort((x, y) => x - y);
    return [quantile(ratios, 0.025), quantile(ratios, 0.975)];
  };
  const best = placed.reduce((first, t) => (first === null || cost[t] < cost[first] ? t : first), null);
  const better = (a, b) => interval(a, b)[1] < 1;
  const lines = [...state.shown].map((t) => ({
    t,
    cost: cost[t],
    ratio: best === null || cost[t] === null ? null : cost[t] / cost[best],
    interval: best === null || cost[t] === null ? [null, null] : interval(t, best),
    rank: placed.includes(t) ? 1 + placed.filter((other) => other !== t && better(other, t)).length : null,
  }));
  lines.sort((a, b) => (a.rank === null) - (b.rank === null) || (a.cost ?? Infinity) - (b.cost ?? Infinity));
  return { lines, placed, better, unit: found.unit };
}

// ---- focus -----------------------------------------------------------------------------------

function drawFocus() {
  const list = $("weights");
  list.replaceChildren(
    ...[...state.weights].map(([l, weight]) => {
      const id = `weight-${l}`;
      const input = node("input", { id, type: "number", min: "0", step: "any", value: weight, "data-language": languageName(l) });
      input.addEventListener("change", () => {
        const value = Number(input.value);
        if (value > 0) state.weights.set(l, value);
        else state.weights.delete(l);
        refresh();
      });
      const remove = node("button", { type: "button", "aria-label": `Remove ${languageName(l)}` }, "×");
      remove.addEventListener("click", () => {
        state.weights.delete(l);
        refresh();
      });
      return node("li", {}, node("label", { for: id }, languageName(l)), input, remove);
    }),
  );
  const add = $("add-language");
  add.replaceChildren(node("option", { value: "" }, "choose"));
  corpus().languages.forEach(([key], l) => {
    if (!state.weights.has(l)) add.append(node("option", { value: l }, key));
  });
  drawSentence();
}

function focusName() {
  if (corpus().languages.length === 1) return languageName(0);
  if (!state.weights.size) return `all ${corpus().languages.length} languages, equally`;
  const total = sum([...state.weights.values()]);
  return joined([...state.weights].map(([l, w]) => `${number((100 * w) / total, 0)} % ${languageName(l)}`));
}

function drawSentence() {
  if (!draws.has(corpus().key)) {
    $("focus-sentence").textContent = "";
    return;
  }
  const { lines, unit } = standings();
  const [best, ...rest] = lines.filter((line) => line.rank !== null);
  const name = (line) => data.tokenizers[line.t].key;
  let text = `For ${focusName()}: no tokenizer shown has a place.`;
  if (best) {
    const others = rest.filter((line) => data.tokenizers[line.t].fingerprint !== data.tokenizers[best.t].fingerprint);
    const ties = others.filter((line) => line.rank === 1);
    const next = others.find((line) => line.rank !== 1);
    const kinds = new Set([best, ...rest].map((line) => data.tokenizers[line.t].fingerprint));
    text = `For ${focusName()}: ${name(best)} needs `;
    text += kinds.size > 1 ? `the fewest tokens, ${number(best.cost)} per ${unit}.` : `${number(best.cost)} tokens per ${unit}.`;
    if (ties.length) text += ` ${joined(ties.map(name))} cannot be told apart from it.`;
    if (next) {
      const [low, high] = next.interval.map((end) => number(100 * (end - 1), 1));
      text += ` Next is ${name(next)}, with ${number(100 * (next.ratio - 1), 1)} % more (95 % interval ${low} to ${high} %).`;
    }
  }
  $("focus-sentence").textContent = text;
  $("focus-note").textContent =
    `Shares are shares of the ${unit === "document" ? "documents, which say the same in every language" : "text's bytes"}. ` +
    `Intervals are paired and recomputed from ${data.draws} of the run's own bootstrap draws, stored here in steps of 1/127 of their range.`;
}

// ---- the table by tokenizer ------------------------------------------------------------------

function pooled(values, weights) {
  const known = values.map((v, i) => [v, weights[i]]).filter(([v]) => v !== null && v !== undefined);
  const total = sum(known.map(([, w]) => w));
  return total ? sum(known.map(([v, w]) => v * w)) / total : null;
}

// Whether two different tokenizers have a place in a language: one alone wins nothing.
function contested(l) {
  const placed = data.tokenizers.filter((_, t) => corpus().places[t][l][0] !== null);
  return new Set(placed.map((tokenizer) => tokenizer.fingerprint)).size > 1;
}

function summaryOf(t) {
  const chosen = focused();
  const pivot = corpus().languages.findIndex(([key]) => key === corpus().pivot);
  const cell = (metric, l) => (grid(metric) ? grid(metric).value[t][l] : null);
  const premiums = chosen.filter((l) => l !== pivot).map((l) => [l, cell(premiumMetric(), l)]).filter(([, v]) => v !== null);
  const tokens = chosen.map((l) => cell("tokens", l));
  const placed = chosen.filter((l) => corpus().places[t][l][0] !== null);
  const ranks = placed.filter(contested).map((l) => corpus().places[t][l][0]);
  const highest = premiums.reduce((top, one) => (top === null || one[1] > top[1] ? one : top), null);
  const documents = chosen.map((l) => corpus().languages[l][3]);
  const bytes = chosen.map((l) => corpus().languages[l][4]);
  return {
    entries: number(data.tokenizers[t].entries, 0),
    tokens: tokens.includes(null) ? "–" : number(sum(tokens), 0),
    bytes_per_token: number(cell("bytes_per_token", pivot < 0 ? 0 : pivot)),
    median_premium: number(median(premiums.map(([, v]) => v))),
    highest_premium: highest ? `${languageName(highest[0])} ${number(highest[1])}` : "–",
    first_in: ranks.length ? `${ranks.filter((rank) => rank === 1).length} of ${ranks.length}` : placed.length ? "–" : "not ranked",
    exact: percent(pooled(chosen.map((l) => cell("round_trip", l)), documents)),
    lost: percent(pooled(chosen.map((l) => cell("lost_byte_share", l)), bytes)),
  };
}

function drawTables() {
  const part = document.querySelector(`#tokenizers .part[data-corpus="${state.corpus}"]`);
  const columns = [...part.querySelectorAll("thead th")].map((th) => th.dataset.column);
  for (const row of part.querySelectorAll("tbody tr")) {
    const t = Number(row.dataset.t);
    row.classList.toggle("hidden", !state.shown.has(t));
    const summary = summaryOf(t);
    [...row.children].forEach((cell, i) => {
      if (columns[i] in summary) cell.textContent = summary[columns[i]];
    });
  }
  document.querySelectorAll(".part").forEach((one) => {
    one.classList.toggle("hidden", Number(one.dataset.corpus) !== state.corpus);
  });
}

// ---- heat map --------------------------------------------------------------------------------

function heatRows() {
  const found = grid(state.metric);
  const rows = focused().map((l) => ({ l, key: languageName(l), script: corpus().languages[l][2] || "" }));
  if (state.sort) {
    const { t, down } = state.sort;
    const value = (row) => (t === null ? row.key : found.value[t][row.l]);
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
  } else if (state.order === "script") {
    rows.sort((a, b) => (a.script < b.script ? -1 : a.script > b.script ? 1 : a.key < b.key ? -1 : 1));
  } else rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  return rows;
}

function depth(value, row, found, direction) {
  const ranked = [...state.shown].filter((t) => corpus().places[t][row.l][0] !== null);
  const values = ranked.map((t) => found.value[t][row.l]).filter((v) => v !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high === low) return 8;
  const share = (value - low) / (high - low);
  return Math.round(8 * (direction === "lower" ? 1 - share : share));
}

function sortButton(label, t) {
  const button = node("button", { type: "button" }, label);
  button.addEventListener("click", () => {
    const same = state.sort && state.sort.t === t;
    state.sort = same && !state.sort.down ? null : { t, down: !same };
    drawHeat();
  });
  const sorted = state.sort && state.sort.t === t ? (state.sort.down ? "descending" : "ascending") : "none";
  return node("th", { scope: "col", "aria-sort": sorted, "data-t": t }, button);
}

function heatCell(row, t, found, spec) {
  const value = found.value[t][row.l];
  const [rank, why] = corpus().places[t][row.l];
  const cell = node("td", { tabindex: "0", "data-t": t, "data-l": row.l });
  if (value === null) {
    cell.textContent = "–";
    cell.className = "none";
  } else {
    cell.textContent = shownValue(state.metric, value) + (rank === null && why ? " †" : "");
    if (spec.direction !== "none" && rank !== null) cell.className = `d${depth(value, row, found, spec.direction)}`;
    if (rank === 1 && contested(row.l) && state.metric === "bytes_per_token") cell.classList.add("first");
  }
  return cell;
}

function drawHeat() {
  const metrics = $("heat-metric");
  const grids = corpus().grids;
  if (!grid(state.metric)) state.metric = grids.length ? grids[0].metric : null;
  $("heat-panel").hidden = state.metric === null;
  if (state.metric === null) return;
  metrics.replaceChildren(...grids.map((one) => node("option", { value: one.metric, selected: one.metric === state.metric }, one.title)));
  $("heat-term").dataset.metric = state.metric;
  const found = grid(state.metric);
  const spec = data.metrics[state.metric];
  const shown = [...state.shown].sort((a, b) => a - b);
  const head = node("tr", {}, sortButton("language", null), ...shown.map((t) => sortButton(data.tokenizers[t].key, t)));
  const body = node("tbody");
  let script = null;
  for (const row of heatRows()) {
    if (!state.sort && state.order === "script" && row.script !== script) {
      script = row.script;
      body.append(node("tr", { class: "script-row" }, node("th", { scope: "rowgroup", colspan: shown.length + 1 }, script || "code")));
    }
    body.append(node("tr", {}, node("th", { scope: "row" }, row.key), ...shown.map((t) => heatCell(row, t, found, spec))));
  }
  const caption = node("caption", { class: "away" }, `${found.title} by language and tokenizer`);
  $("heat").replaceChildren(caption, node("thead", {}, head), body);
  const better = { higher: "Higher is better.", lower: "Lower is better.", none: "" }[spec.direction];
  $("heat-note").textContent = `${better} Colour compares tokenizers within a row, never rows. Underlined: no other tokenizer is significantly better. Without colour and with †: not ranked there; the reason is in the cell's details.`;
}

function drawPairs() {
  const panel = $("pairs-panel");
  panel.hidden = !draws.has(corpus().key);
  if (panel.hidden) return;
  const { lines, placed, better } = standings();
  const order = lines.map((line) => line.t).filter((t) => placed.includes(t));
  const name = (t) => data.tokenizers[t].key;
  const head = node("tr", {}, node("th", { scope: "col" }, "row against column"), ...order.map((t) => node("th", { scope: "col" }, name(t))));
  const body = node("tbody");
  const same = [];
  for (const a of order) {
    const cells = order.map((b) => {
      if (a === b) return node("td", { class: "none" }, "");
      if (better(a, b)) return node("td", { class: "d7" }, "better");
      if (better(b, a)) return node("td", { class: "d1" }, "worse");
      if (a < b) same.push(`${name(a)} and ${name(b)}`);
      return node("td", { class: "none" }, "≈");
    });
    body.append(node("tr", {}, node("th", { scope: "row" }, name(a)), ...cells));
  }
  $("pairs").replaceChildren(node("caption", { class: "away" }, "Pairs of tokenizers"), node("thead", {}, head), body);
  $("pairs-note").textContent =
    `For ${focusName()}: ` +
    (same.length ? `cannot be told apart: ${same.join("; ")}.` : "every pair can be told apart.") +
    " Better: fewer tokens, and the whole paired 95 % interval agrees.";
}

// ---- details on hover and focus --------------------------------------------------------------

// The metric whose values, by language, a chart draws.
function metricOf(figure) {
  return { premium: premiumMetric(), "loss-language": "lost_byte_share" }[figure.dataset.figure] || null;
}

function detailsOf(element) {
  const t = Number(element.dataset.t);
  const lines = [data.tokenizers[t].key];
  const figure = element.closest("figure");
  const metric = figure ? metricOf(figure) : state.metric;
  if (element.dataset.part) lines.push(`class: ${element.dataset.part}`);
  if (element.dataset.l !== undefined && metric) {
    const l = Number(element.dataset.l);
    const found = grid(metric);
    const [rank, why] = corpus().places[t][l];
    const value = found.value[t][l];
    lines[0] += `, ${languageName(l)}`;
    if (value === null) lines.push(found.why[t][l] || "no value");
    else lines.push(`${found.title}: ${withInterval(value, found.low[t][l], found.high[t][l], (v) => shownValue(metric, v))}`);
    lines.push(`n = ${number(corpus().languages[l][3], 0)} documents`);
    lines.push(rank === null ? why || "not ranked" : `rank ${rank}`);
  } else if (figure) {
    const summary = summaryOf(t);
    lines.push(`entries: ${summary.entries}`, `tokens: ${summary.tokens}`, `lost: ${summary.lost}`);
  }
  return lines.join("\n");
}

function showTip(event) {
  const element = event.target.closest && event.target.closest("#heat td[data-t], figure .mark[data-t], #columns .token");
  const tip = $("tip");
  tip.hidden = !element;
  if (!element) return;
  tip.textContent = element.matches(".token") ? detailsOfToken(element) : detailsOf(element);
  const box = element.getBoundingClientRect();
  tip.style.left = `${Math.min(box.left, window.innerWidth - tip.offsetWidth - 12)}px`;
  tip.style.top = `${box.bottom + 6 + tip.offsetHeight > window.innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
}

// A mark of a chart leads to its row: a cell of the heat map, or the line of the tokenizer.
function openRow(event) {
  const mark = event.target.closest && event.target.closest("figure .mark[data-t]");
  if (!mark || (event.type === "keydown" && event.key !== "Enter")) return;
  const { t, l } = mark.dataset;
  const metric = metricOf(mark.closest("figure"));
  if (l !== undefined && state.metric !== metric && grid(metric)) {
    state.metric = metric;
    drawHeat();
  }
  const row = l === undefined
    ? document.querySelector(`#tokenizers .part[data-corpus="${state.corpus}"] tr[data-t="${t}"]`)
    : document.querySelector(`#heat td[data-t="${t}"][data-l="${l}"]`);
  if (!row) return;
  if (l === undefined) row.setAttribute("tabindex", "-1");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

function openDefinition(event) {
  const term = event.target.closest(".term[data-metric]");
  if (!term) return;
  const definition = document.getElementById(`metric-${term.dataset.metric}`);
  if (!definition) return;
  definition.open = true;
  definition.querySelector("summary").focus();
  definition.scrollIntoView({ block: "center" });
}

// ---- start -----------------------------------------------------------------------------------

function refresh() {
  drawFocus();
  drawTables();
  drawHeat();
  drawPairs();
  drawCharts();
  drawExplorer();
  remember();
}

function remember() {
  const parts = [...state.weights].map(([l, w]) => `${encodeURIComponent(languageName(l))}:${w}`);
  const hash = parts.length ? `#focus=${corpus().key};${parts.join(",")}` : "";
  if (hash || window.location.hash.startsWith("#focus=")) {
    window.history.replaceState(null, "", hash || window.location.pathname);
  }
}

function recall() {
  const found = /^#focus=([^;]*);(.*)$/.exec(window.location.hash);
  const given = found ? { corpus: found[1], weights: found[2].split(",").map((part) => part.split(":")) } : data.focus;
  if (!given) return;
  const at = data.corpora.findIndex((one) => one.key === given.corpus);
  if (at < 0) return;
  state.corpus = at;
  for (const [key, weight] of given.weights) {
    const l = corpus().languages.findIndex(([name]) => name === decodeURIComponent(key));
    if (l >= 0 && Number(weight) > 0) state.weights.set(l, Number(weight));
  }
}

function listen() {
  $("corpus").addEventListener("change", (event) => {
    state.corpus = Number(event.target.value);
    state.weights.clear();
    state.sort = null;
    refresh();
  });
  $("add-language").addEventListener("change", (event) => {
    if (event.target.value !== "") state.weights.set(Number(event.target.value), 50);
    refresh();
  });
  $("all-languages").addEventListener("click", () => {
    state.weights.clear();
    refresh();
  });
  $("heat-metric").addEventListener("change", (event) => {
    state.metric = event.target.value;
    state.sort = null;
    drawHeat();
  });
  $("heat-order").addEventListener("change", (event) => {
    state.order = event.target.value;
    state.sort = null;
    drawHeat();
  });
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, showTip);
  document.addEventListener("click", openDefinition);
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, openRow);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") $("tip").hidden = true;
  });
  $("choose-tokenizers").append(
    ...data.tokenizers.map(({ key }, t) => {
      const box = node("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) state.shown.add(t);
        else state.shown.delete(t);
        refresh();
      });
      return node("label", {}, box, " ", key);
    }),
  );
  document.querySelectorAll("figure .mark").forEach((mark) => mark.setAttribute("tabindex", "0"));
  keepDrawings();
}

async function start() {
  recall();
  listen();
  $("focus-panel").hidden = false;
  $("corpus").value = String(state.corpus);
  $("corpus-label").classList.toggle("hidden", data.corpora.length < 2);
  await unpackDraws();
  listenToExplorer();
  refresh();
  await explorerDrawn;
  document.documentElement.dataset.ready = "yes";
}
