// The overview, the table, and what happens when.

// ---- the overview ----------------------------------------------------------------------------------------------

function drawChoices() {
  byId("kinds").replaceChildren(...Object.keys(NAMES).map((kind) => {
    const button = element("button", { type: "button", "aria-pressed": kind === state.kind }, NAMES[kind]);
    button.addEventListener("click", () => choose({ kind }));
    return button;
  }));
  byId("units").replaceChildren(...[[false, "Subwords"], [true, "Words"]].map(([words, text]) => {
    const button = element("button", { type: "button", "aria-pressed": words === state.words }, text);
    button.addEventListener("click", () => choose({ words }));
    return button;
  }));
  byId("views").replaceChildren(...[["map", "Map"], ["lines", "Lines"]].map(([view, text]) => {
    const button = element("button", { type: "button", "aria-pressed": view === state.view }, text);
    button.addEventListener("click", () => choose({ view }));
    return button;
  }));
}

function drawGrid() {
  const kind = chosenKind(), grid = byId("grid");
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

// ---- the table -------------------------------------------------------------------------------------------------

const COLUMNS = [
  ["layer", "layer", (value) => value],
  ["head", "head", (value) => value],
  ["distance", "distance", (value) => value.toFixed(2)],
  ["entropy", "entropy, nats", (value) => value.toFixed(3)],
  ["entropy_share", "of widest", percent],
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
  const heads = [...chosenKind().heads], sign = state.down ? -1 : 1;
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
  const kindChanges = ["kind", "words"].some((key) => key in change && change[key] !== state[key]);
  Object.assign(state, change);
  const kind = chosenKind();
  state.layer = Math.min(Math.max(state.layer, 0), kind.layers - 1);
  const hadFocus = document.activeElement?.closest?.("#kinds, #units, #views, #grid")?.id;
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
  const count = chosenKind().count;
  const place = state.head === MEAN ? count : state.head; // the mean stands after the last head
  const heads = { ArrowLeft: place - 1, ArrowRight: place + 1 }, layers = { ArrowUp: state.layer - 1, ArrowDown: state.layer + 1 };
  if (event.key in heads) {
    const next = Math.min(Math.max(heads[event.key], 0), count);
    choose({ head: next === count ? MEAN : next });
  } else if (event.key in layers) choose({ layer: layers[event.key] });
  else return;
  event.preventDefault();
});

addEventListener("beforeprint", redraw); // a sheet of paper has another width
addEventListener("afterprint", redraw);
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
redraw();
