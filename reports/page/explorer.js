
// ---- token explorer --------------------------------------------------------------------------
// Documents are unpacked language by language, when somebody looks at them. Positions of tokens
// are bytes of the text's UTF-8.

const stored = document.getElementById("texts") ? JSON.parse($("texts").textContent) : [];
const chunks = new Map(); // packed text -> promise of its documents
const explorer = { corpus: -1, language: null, document: 0, columns: [], shown: null };
let explorerDrawn = Promise.resolve();

const storedCorpus = () => stored.find((one) => one.corpus === corpus().key) || null;
const utf8 = new TextEncoder();
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

// The same as `visible` in bench/markup.py.
const HIDDEN = /^[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}␣◌]$/u;
const MARK = /^\p{M}$/u;

function visible(text) {
  let alone = true; // whether a mark would have nothing to stand on
  let shown = "";
  for (const c of text) {
    let written = c;
    if (c === " ") written = "␣";
    else if (c === "\\") written = "\\\\";
    else if (HIDDEN.test(c)) written = `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`;
    shown += alone && MARK.test(c) ? `◌${written}` : written;
    alone = written !== c;
  }
  return shown;
}

// Whole characters as text, other bytes as \xNN.
function shownBytes(bytes) {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let shown = "";
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at];
    const size = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    try {
      if (!size || at + size > bytes.length) throw new TypeError("no whole character");
      text += strict.decode(bytes.subarray(at, at + size));
      at += size;
    } catch {
      shown += visible(text) + `\\x${first.toString(16).toUpperCase().padStart(2, "0")}`;
      text = "";
      at += 1;
    }
  }
  return shown + visible(text);
}

// By the first letter of the text itself: escapes of bytes begin with a Latin one.
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Mandaic}\p{Script=Samaritan}]/u;

function directionOf(text) {
  const letter = /\p{L}/u.exec(text);
  return letter && RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}

function unpackTexts(packed) {
  if (!chunks.has(packed)) {
    chunks.set(packed, unpack(packed).then((buffer) => JSON.parse(new TextDecoder().decode(buffer))));
  }
  return chunks.get(packed);
}

// Where tokens lie: [{id, start, end}], places undefined where nobody knows them.
function tokensOf(cut) {
  const [ids, lengths, gaps] = cut;
  let at = 0;
  return ids.map((id, i) => {
    if (!lengths) return { id };
    const start = at + (gaps ? gaps[i] : 0);
    at = start + lengths[i];
    return { id, start, end: at };
  });
}

// The same as `derived` in reports/page/texts.py.
const LEVEL = (() => {
  const plain = (b) => (b >= 0x21 && b < 0x7f) || (b >= 0xa1 && b < 0xad) || b >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(plain(b) ? b : next++));
})();

function derivedSpelling(rule, bytes) {
  if (rule === "level") return [...bytes].map((byte) => LEVEL[byte]).join("");
  if (rule === "space") return new TextDecoder().decode(bytes).replaceAll(" ", "▁");
  return null;
}

function detailsOfToken(element) {
  const { chunk, columns } = explorer.shown;
  const t = Number(element.dataset.t);
  const column = columns.find((one) => one.t === t);
  const i = Number(element.dataset.i);
  const token = column.tokens[i];
  const odd = chunk.odd[t][token.id];
  const span = token.start === undefined ? null : column.bytes.subarray(token.start, token.end);
  const spelling = odd ? odd[0] : derivedSpelling(storedCorpus().rules[t], span || []);
  const content = odd ? odd[1] : span && hex(span);
  const lines = [`${data.tokenizers[t].key}, token ${i + 1} of ${column.tokens.length}`, `id ${token.id}`];
  lines.push(`text ${span ? shownBytes(span) || "(none)" : "unknown"}`);
  lines.push(`bytes ${content === null ? "(none)" : odd ? content.replace(/(..)(?!$)/g, "$1 ") : content}`);
  if (spelling !== null) lines.push(`spelling ${visible(spelling)}`);
  if (odd && odd[2] !== "ordinary") lines.push(odd[2].replace("_", " "));
  return lines.join("\n");
}

function drawToken(column, i, reference) {
  const token = column.tokens[i];
  const bytes = token.start === undefined ? null : column.bytes.subarray(token.start, token.end);
  const entry = column.odd[token.id];
  const text = bytes && bytes.length ? shownBytes(bytes) : entry && entry[0] !== null ? `[${visible(entry[0])}]` : "∅";
  const differs = reference && token.start !== undefined && !reference.has(`${token.start}:${token.end}`);
  const escaped = /\\[xu]/.test(text);
  const names = ["token", `k${i % 4}`, differs ? "differs" : "", escaped ? "escaped" : ""].filter(Boolean).join(" ");
  return node(
    "span",
    {
      class: names, role: "option", tabindex: i ? "-1" : "0", "aria-selected": "false", "data-t": column.t, "data-i": i,
      "aria-label": `${text}, id ${token.id}${differs ? ", differs" : ""}`,
    },
    text,
  );
}

function drawColumn(column, reference) {
  const box = node("div", { class: "column" });
  const name = data.tokenizers[column.t].key;
  if (typeof column.cut === "string") {
    box.append(node("h3", {}, name), node("p", { class: "problem" }, column.cut));
    return box;
  }
  const n = column.tokens.length;
  const size = column.bytes.length;
  box.append(
    node("h3", {}, name),
    node("p", { class: "note" }, `${number(n, 0)} tokens, ${number(n ? size / n : null)} bytes/token`),
  );
  const flow = node("div", { class: "flow", dir: column.direction, role: "listbox", "aria-label": `Tokens of ${name}`, "aria-orientation": "horizontal" });
  let end = 0;
  for (let i = 0; i < n; i++) {
    const token = column.tokens[i];
    if (token.start > end) flow.append(node("span", { class: "gap", role: "presentation" }, shownBytes(column.bytes.subarray(end, token.start))));
    if (token.end !== undefined) end = Math.max(end, token.end);
    const made = drawToken(column, i, reference);
    if (made.textContent.startsWith("␣") || made.classList.contains("escaped")) flow.append(node("wbr"));
    flow.append(made);
    if (made.textContent.endsWith("\\u{A}")) flow.append(node("br"));
  }
  if (column.tokens.some((token) => token.end !== undefined) && end < size) {
    flow.append(node("span", { class: "gap", role: "presentation" }, shownBytes(column.bytes.subarray(end))));
  }
  box.append(flow);
  return box;
}

function chosenColumns() {
  const able = [...state.shown].sort((a, b) => a - b);
  explorer.columns = explorer.columns.filter((t) => able.includes(t));
  if (!explorer.columns.length) explorer.columns = (draws.has(corpus().key) ? standings().lines.map((line) => line.t) : able).slice(0, 2);
  return explorer.columns;
}

function drawChoice() {
  const box = $("text-tokenizers");
  const legend = box.querySelector("legend");
  box.replaceChildren(
    legend,
    ...[...state.shown].sort((a, b) => a - b).map((t) => {
      const at = explorer.columns.indexOf(t);
      const input = node("input", { type: "checkbox", checked: at >= 0, disabled: at < 0 && explorer.columns.length >= 4, "data-t": t });
      input.addEventListener("change", () => {
        explorer.columns = input.checked ? [...explorer.columns, t] : explorer.columns.filter((one) => one !== t);
        drawExplorer().then(() => box.querySelector(`[data-t="${t}"]`).focus());
      });
      return node("label", {}, input, " ", data.tokenizers[t].key, at === 0 ? " (first)" : "");
    }),
  );
}

// Places of documents by tokens per byte under the first tokenizer: the worst first.
function byCost(chunk, t) {
  const cost = chunk.documents.map(([, , text], d) => {
    const cut = chunk.cuts[d][t];
    return typeof cut === "string" || !text ? null : cut[0].length / utf8.encode(text).length;
  });
  return cost.map((value, d) => [value, d]).filter(([value]) => value !== null).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, d]) => d);
}

function drawJumps(chunk) {
  const t = explorer.columns[0];
  const order = byCost(chunk, t);
  const name = data.tokenizers[t].key;
  const jump = (label, d) => {
    const button = node("button", { type: "button" }, label);
    button.addEventListener("click", () => go(explorer.language, d));
    return button;
  };
  const lossy = chunk.documents.map(([id, why], d) => [id, why, d]).filter(([, why]) => why === "witness");
  $("text-jumps").replaceChildren(
    ...(order.length ? [jump(`Worst of ${name}`, order[0]), jump(`Median of ${name}`, order[Math.floor(order.length / 2)])] : []),
    ...lossy.slice(0, 20).map(([id, , d]) => jump(`Lossy: ${id}`, d)),
  );
}

function drawPickers(chunk, languages) {
  $("text-language").replaceChildren(...languages.map((l) => node("option", { value: l, selected: l === explorer.language }, languageName(l))));
  $("text-document").replaceChildren(
    ...chunk.documents.map(([id, why, text], d) =>
      node("option", { value: d, selected: d === explorer.document }, `${id}${why === "witness" ? " (lossy)" : ""}: ${visible(text.slice(0, 60)).replaceAll("␣", " ")}`),
    ),
  );
}

async function redrawExplorer() {
  const held = storedCorpus();
  $("explorer-none").hidden = held !== null;
  $("explorer-panel").hidden = held === null;
  if (held === null) return;
  const languages = Object.keys(held.languages).map(Number);
  if (explorer.corpus !== state.corpus) Object.assign(explorer, { corpus: state.corpus, language: null, document: 0 });
  if (!languages.includes(explorer.language)) {
    explorer.language = focused().find((l) => languages.includes(l)) ?? languages[0];
    explorer.document = 0;
  }
  const wanted = explorer.language;
  const chunk = await unpackTexts(held.languages[wanted]);
  if (wanted !== explorer.language || held !== storedCorpus()) return;
  const [id, why, text] = chunk.documents[explorer.document];
  const bytes = utf8.encode(text);
  const columns = chosenColumns().map((t) => {
    const cut = chunk.cuts[explorer.document][t];
    return { t, cut, bytes, direction: directionOf(text), odd: chunk.odd[t], tokens: typeof cut === "string" ? [] : tokensOf(cut) };
  });
  explorer.shown = { chunk, columns };
  const reference = columns.length > 1 ? new Set(columns[0].tokens.map((token) => `${token.start}:${token.end}`)) : null;
  drawPickers(chunk, languages);
  drawChoice();
  drawJumps(chunk);
  $("text-note").textContent = `${languageName(wanted)}, document ${id}: ${number(bytes.length, 0)} bytes${why === "witness" ? "; an example of what a round trip loses" : ""}. Worst and median are of the ${chunk.documents.length} documents held here.`;
  $("columns").replaceChildren(...columns.map((column, i) => drawColumn(column, i ? reference : null)));
}

function drawExplorer() {
  if (stored.length) explorerDrawn = redrawExplorer();
  return explorerDrawn;
}

function go(language, place) {
  explorer.language = language;
  explorer.document = place;
  return drawExplorer();
}

// A cell of the heat map opens the document that is worst there.
async function openCell(cell) {
  const held = storedCorpus();
  const l = Number(cell.dataset.l);
  if (!held || !(l in held.languages)) return;
  const t = Number(cell.dataset.t);
  explorer.columns = [t, ...chosenColumns().filter((one) => one !== t)].slice(0, 4);
  const chunk = await unpackTexts(held.languages[l]);
  await go(l, byCost(chunk, t)[0] ?? 0);
  $("explorer").scrollIntoView();
  const first = document.querySelector("#columns .token");
  if (first) first.focus({ preventScroll: true });
}

async function search(words) {
  const held = storedCorpus();
  const wanted = words.toLowerCase();
  const found = [];
  for (const [l, packed] of wanted ? Object.entries(held.languages) : []) {
    const chunk = await unpackTexts(packed);
    chunk.documents.forEach(([id, , text], d) => {
      if (found.length < 30 && text.toLowerCase().includes(wanted)) found.push([Number(l), d, id, text]);
    });
  }
  if ($("text-search").value !== words) return;
  $("text-found").replaceChildren(
    ...found.map(([l, d, id, text]) => {
      const at = text.toLowerCase().indexOf(wanted);
      const button = node("button", { type: "button", dir: "auto" }, `${languageName(l)} ${id}: … ${visible(text.slice(Math.max(0, at - 20), at + 40)).replaceAll("␣", " ")} …`);
      button.addEventListener("click", () => go(l, d));
      return node("li", {}, button);
    }),
    ...(wanted && !found.length ? [node("li", {}, "nothing found")] : []),
  );
}

function moveAmongTokens(event) {
  const token = event.target.closest("#columns .token");
  if (!token) return;
  const all = [...token.parentElement.querySelectorAll(".token")];
  const rightToLeft = getComputedStyle(token.parentElement).direction === "rtl";
  const steps = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1, ArrowDown: 1, ArrowUp: -1 };
  const at = all.indexOf(token);
  const next = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : event.key in steps ? at + steps[event.key] : null;
  if (next === null || !all[next]) return;
  event.preventDefault();
  token.setAttribute("tabindex", "-1");
  all[next].setAttribute("tabindex", "0");
  all[next].focus();
}

function listenToExplorer() {
  if (!stored.length) return;
  $("text-language").addEventListener("change", (event) => go(Number(event.target.value), 0));
  $("text-document").addEventListener("change", (event) => go(explorer.language, Number(event.target.value)));
  $("text-search").addEventListener("input", (event) => search(event.target.value));
  $("columns").addEventListener("keydown", moveAmongTokens);
  for (const [kind, chosen] of [["focusin", "true"], ["focusout", "false"]]) {
    $("columns").addEventListener(kind, (event) => {
      if (event.target.matches(".token")) event.target.setAttribute("aria-selected", chosen);
    });
  }
  $("heat").addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-t]");
    if (cell) openCell(cell);
  });
  $("heat").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("td[data-t]")) openCell(event.target);
  });
}

