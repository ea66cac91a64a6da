"use strict";
// Draws what the data element holds. Text from the data only ever becomes textContent, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const NOTES = {
  encoder: "Each source subword (row) attends to the source (columns).",
  decoder: "The position that produces a subword (row) attends to what has been produced before it (columns).",
  cross: "The position that produces a subword (row) attends to the source (columns).",
};
const SIDES = { encoder: ["source", "source"], decoder: ["produces", "was given"], cross: ["produces", "source"] };
const NAMES = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };
const MEAN = -1;
const FAINT = 0.01; // a line below this weight is not drawn

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const state = { kind: "cross", layer: 0, head: MEAN, view: "map", sort: "layer", down: false };

// ---- the weights -----------------------------------------------------------------------------------------------

function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const width = data.bits / 8, weights = new Float32Array(bytes.length / width), most = 2 ** data.bits - 1;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = ((width === 1 ? bytes[i] : bytes[2 * i] + 256 * bytes[2 * i + 1]) / most) ** 2; // roots are stored
  }
  return weights;
}

for (const kind of Object.values(data.kinds)) {
  kind.values = decoded(kind.weights);
  [kind.layers, kind.count, kind.rows, kind.columns] = kind.shape;
  kind.means = [];
}

function weightsOf(kind, layer, head) {
  const size = kind.rows * kind.columns;
  if (head !== MEAN) return kind.values.subarray((layer * kind.count + head) * size, (layer * kind.count + head + 1) * size);
  kind.means[layer] ??= Float32Array.from({ length: size }, (_, i) => {
    let sum = 0;
    for (let h = 0; h < kind.count; h++) sum += kind.values[(layer * kind.count + h) * size + i];
    return sum / kind.count;
  });
  return kind.means[layer];
}

// ---- colours: the square root of the weight, so that weak attention can be seen --------------------------------

function colourTable() {
  const colours = data.colours[prefersDark.matches && !printing ? "dark" : "light"];
  const channels = colours.map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  const table = new Uint8ClampedArray(3 * 256);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (channels.length - 1), low = Math.min(Math.floor(place), channels.length - 2);
    for (let c = 0; c < 3; c++) table[3 * i + c] = channels[low][c] + (place - low) * (channels[low + 1][c] - channels[low][c]);
  }
  return table;
}

function painted(canvas, weights, rows, columns) {
  const table = colourTable();
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const pixels = image.data;
  for (let i = 0; i < weights.length; i++) {
    const at = 3 * Math.round(255 * Math.sqrt(weights[i]));
    for (let c = 0; c < 3; c++) pixels[4 * i + c] = table[at + c];
    pixels[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// ---- small makers ----------------------------------------------------------------------------------------------

function element(name, attributes = {}, text = null, parent = null) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent?.append(made);
  return made;
}

const SVG = byId("picture").namespaceURI;
function shape(parent, name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

function label(parent, text, attributes) {
  const made = shape(parent, "text", attributes), spaces = text.match(/^·*/)[0];
  if (spaces) shape(made, "tspan", { class: "space" }, spaces);
  made.append(text.slice(spaces.length));
  return made;
}

const shown = (weight) => (weight === 0 ? "0" : weight < 0.0005 ? "< 0.001" : weight.toFixed(3));
const isolated = (text) => `\u2068${text}\u2069`;
const headName = (head) => (head === MEAN ? "mean of heads" : `head ${head + 1}`);

// ---- the overview ----------------------------------------------------------------------------------------------

function drawChoices() {
  byId("kinds").replaceChildren(...Object.keys(NAMES).map((kind) => {
    const button = element("button", { type: "button", "aria-pressed": kind === state.kind }, NAMES[kind]);
    button.addEventListener("click", () => choose({ kind }));
    return button;
  }));
  byId("views").replaceChildren(...[["map", "Map"], ["lines", "Lines"]].map(([view, text]) => {
    const button = element("button", { type: "button", "aria-pressed": view === state.view }, text);
    button.addEventListener("click", () => choose({ view }));
    return button;
  }));
}

function drawGrid() {
  const kind = data.kinds[state.kind], grid = byId("grid");
  const heads = [...Array(kind.count).keys(), MEAN];
  grid.replaceChildren();
  grid.style.gridTemplateColumns = `1.2rem repeat(${heads.length}, minmax(18px, 1fr))`;
  element("span", {}, "", grid);
  for (const head of heads) {
    const name = element("span", { "aria-hidden": "true" }, head === MEAN ? "mean" : head + 1, grid);
    name.classList.toggle("mean", head === MEAN);
  }
  for (let layer = 0; layer < kind.layers; layer++) {
    element("span", { "aria-hidden": "true" }, layer + 1, grid);
    for (const head of heads) {
      const button = element("button", { type: "button", "data-layer": layer, "data-head": head }, null, grid);
      button.setAttribute("aria-label", `Layer ${layer + 1}, ${headName(head)}`);
      button.title = button.getAttribute("aria-label");
      const canvas = painted(element("canvas", {}, null, button), weightsOf(kind, layer, head), kind.rows, kind.columns);
      canvas.style.aspectRatio = Math.min(Math.max(kind.columns / kind.rows, 0.5), 2);
      canvas.style.imageRendering = Math.max(kind.rows, kind.columns) < 48 ? "pixelated" : "auto";
      button.addEventListener("click", () => choose({ layer, head }));
    }
  }
  byId("kind-note").textContent = NOTES[state.kind] + " Rows: layers; columns: heads.";
}

function markGrid() {
  for (const button of byId("grid").querySelectorAll("button")) {
    const chosen = Number(button.dataset.layer) === state.layer && Number(button.dataset.head) === state.head;
    button.setAttribute("aria-pressed", chosen);
    button.tabIndex = chosen ? 0 : -1; // one stop for the Tab key; arrows do the rest
  }
}

function drawScale() {
  const svg = byId("scale-picture"), canvas = document.createElement("canvas");
  const ramp = Float32Array.from({ length: 220 }, (_, i) => (i / 219) ** 2);
  svg.replaceChildren();
  shape(svg, "image", { width: 220, height: 12, href: painted(canvas, ramp, 1, 220).toDataURL(), preserveAspectRatio: "none" });
  for (const weight of [0, 0.01, 0.1, 0.25, 0.5, 1]) {
    const x = 220 * Math.sqrt(weight);
    shape(svg, "text", { x, y: 25, "font-size": 10.5, class: "soft", "text-anchor": "middle" }, weight);
  }
}

// ---- the chosen head -------------------------------------------------------------------------------------------

function drawChosen() {
  const kind = data.kinds[state.kind], weights = weightsOf(kind, state.layer, state.head);
  byId("chosen-title").textContent = `${NAMES[state.kind]}, layer ${state.layer + 1}, ${headName(state.head)}`;
  const facts = kind.heads.find((head) => head.layer === state.layer + 1 && head.head === state.head + 1);
  byId("numbers").textContent = facts
    ? `distance ${facts.distance.toFixed(2)}, entropy ${facts.entropy.toFixed(2)} nats (${percent(facts.entropy_share)} of even)`
    : "";
  byId("picture").replaceChildren();
  byId("picture").setAttribute("aria-label", byId("chosen-title").textContent);
  (state.view === "map" ? drawMap : drawLines)(byId("picture"), kind, weights);
}

const percent = (share) => `${Math.round(100 * share)} %`;

function hint(text) {
  byId("readout").className = `${state.view} hint`;
  byId("readout").replaceChildren(element("span", { class: "note" }, text));
}

function widest(texts, size) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${size}px system-ui, sans-serif`;
  return Math.max(...texts.map((text) => context.measureText(text).width));
}

function sized(svg, width, height) {
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
  svg.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`);
}

function mapMeasures(kind) {
  const room = byId("frame").clientWidth, [rowTitle, columnTitle] = SIDES[state.kind];
  let cell = 11, size = 10, slanted = false, left = 0, top = 0, right = 0;
  for (const tried of [36, 32, 28, 24, 21, 18, 16, 14, 12, 11]) {
    cell = tried;
    size = Math.min(13, Math.max(9.5, cell * 0.72));
    slanted = cell >= 16;
    left = Math.max(widest(kind.queries, size), widest([rowTitle], 12)) + 10;
    const reach = widest(kind.keys, size);
    top = 22 + (slanted ? reach * 0.71 + size : reach + 4);
    right = slanted ? Math.max(4, reach * 0.71 - cell / 2) : 4;
    if (left + cell * kind.columns + right <= room) break;
  }
  right = Math.max(right, widest([columnTitle], 12) + 8 - cell * kind.columns);
  return { cell, size, slanted, left, top, right, rowTitle, columnTitle };
}

function drawMap(svg, kind, weights) {
  const m = mapMeasures(kind), width = m.cell * kind.columns, height = m.cell * kind.rows;
  sized(svg, m.left + width + m.right, m.top + height + 6);
  shape(svg, "text", { x: m.left - 8, y: m.top - 6, class: "soft", "font-size": 12, "text-anchor": "end" }, m.rowTitle);
  shape(svg, "text", { x: m.left, y: 12, class: "soft", "font-size": 12 }, m.columnTitle + " →");
  const rows = kind.queries.map((text, row) =>
    label(svg, text, { x: m.left - 6, y: m.top + m.cell * (row + 0.5) + m.size * 0.35, "font-size": m.size, "text-anchor": "end" }));
  const columns = kind.keys.map((text, column) => {
    const x = m.left + m.cell * (column + 0.5) + m.size * (m.slanted ? 0.1 : 0.35), y = m.top - 5;
    return label(svg, text, { "font-size": m.size, transform: `translate(${x} ${y}) rotate(${m.slanted ? -45 : -90})` });
  });
  const href = painted(document.createElement("canvas"), weights, kind.rows, kind.columns).toDataURL();
  shape(svg, "image", { x: m.left, y: m.top, width, height, href, preserveAspectRatio: "none" });
  const frame = shape(svg, "rect", { x: m.left, y: m.top, width, height, class: "frame", "pointer-events": "all" });
  const bands = shape(svg, "g", { visibility: "hidden" });
  const across = shape(bands, "rect", { x: m.left, width, height: m.cell, class: "band" });
  const down = shape(bands, "rect", { y: m.top, width: m.cell, height, class: "band" });
  hint("Point at a cell to read its weight.");

  function point(event) {
    const box = frame.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * kind.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * kind.rows);
    if (row < 0 || column < 0 || row >= kind.rows || column >= kind.columns) return;
    across.setAttribute("y", m.top + row * m.cell);
    down.setAttribute("x", m.left + column * m.cell);
    bands.setAttribute("visibility", "visible");
    rows.forEach((text, i) => text.classList.toggle("strong", i === row));
    columns.forEach((text, i) => text.classList.toggle("strong", i === column));
    read(kind.queries[row], [[kind.keys[column], weights[row * kind.columns + column]]]);
  }
  frame.addEventListener("pointermove", point);
  frame.addEventListener("pointerdown", point);
}

function read(query, pairs, arrow = "→") {
  const out = byId("readout");
  out.className = state.view;
  out.replaceChildren(element("b", {}, isolated(query)), ` ${arrow} `);
  pairs.forEach(([key, weight], i) => out.append(i ? ", " : "", isolated(key), ": ", element("b", {}, shown(weight))));
}

// ---- lines -----------------------------------------------------------------------------------------------------

function drawLines(svg, kind, weights) {
  const step = Math.max(kind.rows, kind.columns) > 40 ? 17 : 24, size = step > 20 ? 13.5 : 12;
  const [rowTitle, columnTitle] = SIDES[state.kind];
  const numbers = 48, top = 30; // room for a weight beside each label
  const left = widest([...kind.keys, columnTitle], size) + numbers, right = widest([...kind.queries, rowTitle], size) + numbers;
  const width = Math.max(left + right + 90, Math.min(byId("frame").clientWidth - 4, left + right + 360));
  const height = Math.max(kind.rows, kind.columns) * step;
  sized(svg, width, top + height + 6);
  // The shorter side is spread over the height of the longer one, so that a diagonal is a level line.
  const place = (i, count) => top + ((i + 0.5) * height) / count;
  shape(svg, "text", { x: left - 6, y: 14, class: "soft", "font-size": 12, "text-anchor": "end" }, columnTitle);
  shape(svg, "text", { x: width - right + 6, y: 14, class: "soft", "font-size": 12 }, rowTitle);
  const lines = drawnLines(svg, kind, weights, left, width - right, place);
  hint("Point at a subword, or step to it with the Tab key, to see its lines alone.");

  const tokens = { key: [], query: [] };
  function isolate(side, index) {
    const other = side === "query" ? "key" : "query", names = { query: kind.queries, key: kind.keys };
    const weightOf = (i) => (side === "query" ? weights[index * kind.columns + i] : weights[i * kind.columns + index]);
    // Alone, weak lines may be seen too.
    const opacity = (line) => (side === null ? line.weight : line[side] === index ? Math.sqrt(line.weight) : 0);
    for (const line of lines) line.node.setAttribute("opacity", opacity(line));
    for (const name of ["key", "query"]) for (const token of tokens[name]) token.mark("", false);
    if (side === null) return;
    tokens[side][index].mark("", true);
    tokens[other].forEach((token, i) => weightOf(i) >= FAINT && token.mark(shown(weightOf(i)), false));
    const best = names[other].map((text, i) => [text, weightOf(i)]).sort((a, b) => b[1] - a[1]);
    read(names[side][index], best.slice(0, 5).filter(([, weight], i) => i === 0 || weight >= FAINT), side === "query" ? "→" : "←");
  }
  kind.keys.forEach((text, i) => tokens.key.push(token(svg, text, { x: left - 6, y: place(i, kind.columns), size, step, end: true }, () => isolate("key", i))));
  kind.queries.forEach((text, i) => tokens.query.push(token(svg, text, { x: width - right + 6, y: place(i, kind.rows), size, step, end: false }, () => isolate("query", i))));
  svg.onpointerleave = () => isolate(null, 0);
}

function drawnLines(svg, kind, weights, x1, x2, place) {
  const lines = [];
  for (let query = 0; query < kind.rows; query++) {
    for (let key = 0; key < kind.columns; key++) {
      const weight = weights[query * kind.columns + key];
      if (weight < FAINT) continue;
      const at = { x1, y1: place(key, kind.columns), x2, y2: place(query, kind.rows) };
      const node = shape(svg, "line", { ...at, class: "line", opacity: weight, "stroke-width": 1 + 2 * weight });
      lines.push({ node, query, key, weight });
    }
  }
  return lines;
}

function token(svg, text, { x, y, size, step, end }, isolate) {
  const group = shape(svg, "g", { class: "token", tabindex: 0, role: "img", "aria-label": text });
  const wide = widest([text], size) + 4;
  shape(group, "rect", { x: end ? x - wide : x - 2, y: y - step / 2, width: wide + 2, height: step, class: "touch" });
  const anchor = end ? "end" : "start";
  const name = label(group, text, { x, y: y + size * 0.35, "font-size": size, "text-anchor": anchor });
  const number = shape(group, "text", {
    x: end ? x - wide - 2 : x + wide + 2, y: y + size * 0.35, "font-size": size - 2, "text-anchor": anchor, class: "weight",
  });
  group.addEventListener("pointerenter", isolate);
  group.addEventListener("focus", isolate);
  return {
    mark(weight, strong) {
      number.textContent = weight;
      name.classList.toggle("strong", strong);
    },
  };
}

// ---- the table -------------------------------------------------------------------------------------------------

const COLUMNS = [
  ["layer", "layer", (value) => value],
  ["head", "head", (value) => value],
  ["distance", "distance", (value) => value.toFixed(2)],
  ["entropy", "entropy, nats", (value) => value.toFixed(3)],
  ["entropy_share", "of even", percent],
];

function drawTable() {
  const table = byId("table"), focused = document.activeElement?.dataset?.sort;
  table.replaceChildren();
  const header = element("tr", {}, null, element("thead", {}, null, table));
  for (const [key, text] of COLUMNS) {
    const sorted = state.sort === key;
    const cell = element("th", { scope: "col", "aria-sort": sorted ? (state.down ? "descending" : "ascending") : "none" }, null, header);
    const button = element("button", { type: "button", "data-sort": key }, text + (sorted ? (state.down ? " ↓" : " ↑") : ""), cell);
    button.addEventListener("click", () => {
      Object.assign(state, { sort: key, down: sorted && !state.down });
      drawTable();
    });
    if (focused === key) button.focus();
  }
  const heads = [...data.kinds[state.kind].heads], sign = state.down ? -1 : 1;
  heads.sort((a, b) => sign * (a[state.sort] - b[state.sort]) || a.layer - b.layer || a.head - b.head);
  const body = element("tbody", {}, null, table);
  for (const head of heads) {
    const row = element("tr", { "data-layer": head.layer - 1, "data-head": head.head - 1 }, null, body);
    for (const [key, , form] of COLUMNS) {
      const cell = element("td", {}, key === "head" ? null : form(head[key]), row);
      if (key === "head") {
        element("button", { type: "button", "aria-label": `Show layer ${head.layer}, head ${head.head}` }, head.head, cell);
      }
    }
    row.addEventListener("click", () => choose({ layer: head.layer - 1, head: head.head - 1 }));
  }
  markTable();
}

function markTable() {
  for (const row of byId("table").querySelectorAll("tbody tr")) {
    const chosen = Number(row.dataset.layer) === state.layer && Number(row.dataset.head) === state.head;
    row.setAttribute("aria-current", chosen);
  }
}

// ---- what happens when ------------------------------------------------------------------------------------------

function choose(change) {
  const kindChanges = "kind" in change && change.kind !== state.kind;
  Object.assign(state, change);
  const kind = data.kinds[state.kind];
  state.layer = Math.min(Math.max(state.layer, 0), kind.layers - 1);
  const hadFocus = document.activeElement?.closest?.("#kinds, #views, #grid")?.id;
  if (kindChanges) {
    drawGrid();
    drawTable();
  }
  drawChoices();
  markGrid();
  markTable();
  drawChosen();
  if (hadFocus) byId(hadFocus).querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
}

function redraw() {
  drawChoices();
  drawGrid();
  markGrid();
  drawScale();
  drawChosen();
  drawTable();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  // There the arrows scroll.
  if (event.target.closest?.(".scroll")) return;
  const count = data.kinds[state.kind].count;
  const place = state.head === MEAN ? count : state.head; // the mean stands after the last head
  const heads = { ArrowLeft: place - 1, ArrowRight: place + 1 }, layers = { ArrowUp: state.layer - 1, ArrowDown: state.layer + 1 };
  if (event.key in heads) {
    const next = Math.min(Math.max(heads[event.key], 0), count);
    choose({ head: next === count ? MEAN : next });
  } else if (event.key in layers) choose({ layer: layers[event.key] });
  else return;
  event.preventDefault();
});

prefersDark.addEventListener("change", redraw);
addEventListener("beforeprint", () => { printing = true; redraw(); });
addEventListener("afterprint", () => { printing = false; redraw(); });
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) drawChosen(); // a phone's address bar changes the height alone
  width = innerWidth;
});

byId("source").textContent = data.source;
byId("target").textContent = data.target;
byId("score").textContent = [
  data.score === null ? "" : data.score.toFixed(4),
  data.log_probability === null ? "" : `log-probability ${data.log_probability.toFixed(4)}`,
].filter(Boolean).join(", ").replaceAll(/-(?=\d)/g, "−");
byId("precision").textContent = `, kept here to within ${(1 / (2 ** data.bits - 1)).toPrecision(1)}, small ones more exactly`;
state.layer = Math.max(0, data.kinds.cross.layers - 2); // where alignments are mostly clearest
redraw();
